"""Compares versions such as 1.10 and 1.9b."""


def parts(version):
    numbers, _, label = version.partition("-")
    return numbers.split("."), label


def key(version):
    numbers, label = parts(version)
    while len(numbers) > 1 and numbers[-1] == "0":
        numbers.pop()
    return numbers, label == "", label


def newest(versions):
    return max(versions, key=key, default=None)


def matches(version, pattern):
    wanted, _ = parts(pattern)
    numbers, label = parts(version)
    if label:
        return False
    for own, other in zip(numbers, wanted):
        if other == "*":
            return True
        if own != other:
            return False
    return len(numbers) == len(wanted)


def choose(versions, pattern):
    return newest([version for version in versions if matches(version, pattern)])
