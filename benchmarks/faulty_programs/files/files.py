"""Names of files."""


def extension(name):
    base, dot, end = name.rpartition(".")
    return end if base and dot else ""


def stem(name):
    end = extension(name)
    if not end:
        return name
    return name.rstrip("." + end)


def numbered(name, number):
    end = extension(name)
    return f"{stem(name)}-{number}" + (f".{end}" if end else "")


def unused(name, names):
    number = 1
    chosen = name
    while chosen in names:
        number += 1
        chosen = numbered(name, number)
    return chosen
