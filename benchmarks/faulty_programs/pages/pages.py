"""Shows a list in pages, numbered from 1."""


class Pages:
    def __init__(self, items, size):
        self.items = items
        self.size = size

    def count(self):
        return max(1, -(-len(self.items) // self.size))

    def page(self, number):
        if not 1 <= number <= self.count():
            raise IndexError(number)
        start = number * self.size
        return self.items[start : start + self.size]

    def links(self, number):
        result = []
        if number > 1:
            result.append(number - 1)
        if number < self.count():
            result.append(number + 1)
        return result


def shown(items, size, number):
    pages = Pages(items, size)
    lines = [f"- {item}" for item in pages.page(number)]
    lines.append(f"page {number} of {pages.count()}")
    return lines
