"""Splits expressions into tokens."""


def kind_of(character):
    if character.isdigit():
        return "number"
    if character.isalpha():
        return "name"
    return "sign"


def tokens(text):
    found = []
    start = None
    for position, character in enumerate(text):
        kind = kind_of(character) if character != " " else None
        if start is not None and (kind is None or kind != kind_of(text[start])):
            found.append((kind_of(text[start]), text[start:position]))
            start = None
        if kind == "sign":
            found.append((kind, character))
        elif kind is not None and start is None:
            start = position
    return found


def names(text):
    return [word for kind, word in tokens(text) if kind == "name"]
