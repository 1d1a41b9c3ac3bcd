"""A report of lines with numbers."""


def numbers(lines):
    for line in lines:
        for word in line.split():
            if word.isdigit():
                yield int(word)


def histogram(values, width):
    counts = {}
    for value in values:
        start = value // width * width
        counts[start] = counts.get(start, 0) + 1
    return counts


def report(lines, width=10):
    values = numbers(lines)
    counts = histogram(values, width)
    result = [f"{start}: {'*' * counts[start]}" for start in sorted(counts)]
    total = sum(values)
    if counts:
        result.append(f"total {total}")
    return result


def largest_bar(lines, width=10):
    counts = histogram(numbers(lines), width)
    return max(counts.values(), default=0)
