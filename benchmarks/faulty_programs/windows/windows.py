"""Averages over a moving window."""


def windows(items, size):
    if size < 1:
        raise ValueError("a window holds at least one item")
    result = []
    for start in range(len(items) - size):
        result.append(items[start : start + size])
    return result


def averages(items, size):
    return [sum(window) / size for window in windows(items, size)]


def rising(items):
    return [later > earlier for earlier, later in zip(items, items[1:])]


def trend(items, size):
    smooth = averages(items, size)
    if len(smooth) < 2:
        return "unknown"
    up = sum(rising(smooth))
    if 2 * up > len(smooth) - 1:
        return "up"
    return "down"
