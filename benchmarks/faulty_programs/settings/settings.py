"""Reads settings of the form `name = value  # remark`."""


def without_remark(line):
    return line.partition("#")[0]


def value_of(text):
    if text in ("yes", "no"):
        return text == "yes"
    if text.lstrip("-").isdigit():
        return int(text)
    return text


def read(lines):
    section = ""
    found = {}
    for line in lines:
        line = without_remark(line).strip()
        if not line:
            continue
        if line.startswith("["):
            section = line.strip("[]") + "."
            continue
        name, _, text = line.partition("=")
        found[section + name.strip()] = value_of(text)
    return found


def changed(old, new):
    names = sorted({*old, *new})
    return [name for name in names if old.get(name) != new.get(name)]
