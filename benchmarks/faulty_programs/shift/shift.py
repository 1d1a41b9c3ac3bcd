"""When somebody works."""


def parse(text):
    hours, _, minutes = text.partition(":")
    return int(hours) * 60 + int(minutes or 0)


def overlap(first, second):
    begin = max(first[0], second[0])
    end = min(first[1], second[1])
    if begin < end:
        return end - begin
    return 0


def shift(text):
    begin, _, end = text.partition("-")
    begin, end = parse(begin), parse(end)
    if end <= begin:
        parts = [(begin, 24 * 60), (0, end)]
    else:
        return [(begin, end)]


def minutes(text):
    return sum(end - begin for begin, end in shift(text))


def at_night(text, night=(0, 6 * 60)):
    return sum(overlap(part, night) for part in shift(text))
