"""Options of a command, its configuration and defaults."""

DEFAULTS = {"width": 80, "retries": 3, "color": True, "name": "report"}


def first_given(*values):
    for value in values:
        if value:
            return value
    return None


def resolve(options, config):
    result = {}
    for name, default in DEFAULTS.items():
        result[name] = first_given(options.get(name), config.get(name), default)
    return result


def described(options, config):
    found = resolve(options, config)
    changed = [name for name in sorted(found) if found[name] != DEFAULTS[name]]
    return ", ".join(f"{name}={found[name]}" for name in changed) or "defaults"
