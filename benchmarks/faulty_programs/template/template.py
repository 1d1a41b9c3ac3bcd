"""Fills in templates."""


def names(text):
    found = []
    while "{" in text:
        _, _, text = text.partition("{")
        name, _, text = text.partition("}")
        found.append(name)
    return found


def escape(value):
    text = str(value)
    for plain, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(escaped, plain)
    return text


def fill(text, values, default=""):
    for name in names(text):
        bare = name.removesuffix("!")
        value = values.get(bare, default)
        text = text.replace("{" + name + "}", value if name.endswith("!") else escape(value))
    return text


def rows(text, several):
    return "".join(fill(text, values) for values in several)
