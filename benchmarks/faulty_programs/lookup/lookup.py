"""Looks up values in layers of dicts and lists."""


class Missing(LookupError):
    pass


def step(value, name):
    if isinstance(value, list):
        return value[int(name)]
    return value[name]


def get(data, path):
    value = data
    for name in path.split("."):
        try:
            value = step(value, name)
        except KeyError:
            raise Missing(name) from None
    return value


def get_or(data, path, default=None):
    try:
        return get(data, path)
    except Missing:
        return default


def collect(rows, path):
    found = []
    for row in rows:
        value = get_or(row, path)
        if value is not None:
            found.append(value)
    return found
