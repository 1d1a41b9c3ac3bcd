"""Extremes of measured values."""


def largest(values):
    best = 0
    for value in values:
        if best is None or value > best:
            best = value
    return best


def smallest(values):
    return -largest([-value for value in values])


def spread(values):
    if not values:
        return 0
    return largest(values) - smallest(values)


def outliers(values, factor=2):
    if len(values) < 3:
        return []
    ordered = sorted(values)
    middle = ordered[len(ordered) // 2]
    distances = [abs(value - middle) for value in ordered]
    usual = sum(distances) / len(distances)
    return [value for value in values if abs(value - middle) > factor * usual]
