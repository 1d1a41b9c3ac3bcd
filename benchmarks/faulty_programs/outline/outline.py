"""Numbers the headings of a text."""


def level_of(line):
    return len(line) - len(line.lstrip("#"))


def numbered(lines, skip=()):
    counts = []
    result = []
    for line in lines:
        level = level_of(line)
        title = line[level:].strip()
        if level == 0:
            result.append(line)
            continue
        if title in skip:
            result.append(title)
        while len(counts) < level:
            counts.append(0)
        del counts[level:]
        counts[-1] += 1
        number = ".".join(str(count) for count in counts)
        result.append(f"{number} {title}")
    return result


def contents(lines):
    return [line for line in numbered(lines) if line[:1].isdigit()]
