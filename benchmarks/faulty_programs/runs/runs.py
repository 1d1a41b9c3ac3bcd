"""Run-length encoding."""


def runs(items):
    result = []
    previous = None
    count = 0
    for item in items:
        if count and item != previous:
            count = 1
            result.append((previous, count))
            count = 0
        count += 1
        previous = item
    if count:
        result.append((previous, count))
    return result


def longest(items):
    return max((count for _, count in runs(items)), default=0)


def packed(text):
    return "".join(f"{count}{item}" if count > 1 else item for item, count in runs(text))


def unpacked(text):
    result, count = "", ""
    for character in text:
        if character.isdigit():
            count += character
        else:
            result += character * int(count or 1)
            count = ""
    return result
