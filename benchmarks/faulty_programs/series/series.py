"""Values over time, and copies of them."""


class Series:
    def __init__(self, name, values=()):
        self.name = name
        self.values = list(values)

    def add(self, value):
        self.values.append(value)

    def copy(self, name):
        other = Series(name)
        other.values = self.values
        return other

    def scaled(self, factor):
        result = self.copy(self.name)
        result.values = [factor * value for value in self.values]
        return result

    def padded(self, length, value=0):
        result = self.copy(self.name + "+")
        while len(result.values) < length:
            result.add(value)
        return result


def aligned(several):
    length = max((len(series.values) for series in several), default=0)
    return [series.padded(length) for series in several]


def total(several):
    return [sum(values) for values in zip(*(series.values for series in aligned(several)))]
