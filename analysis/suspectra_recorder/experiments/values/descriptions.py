"""Values in short, for people. No code of the program is called.

Other than a literal, the text may stand for several values; it begins like one: with a bracket, or the name of a type.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from suspectra_recorder.experiments.values.inner_numbers import numbers
from suspectra_recorder.experiments.values.literals import CONTAINER_TYPES, LITERAL_TYPES, shown, to_text
from suspectra_recorder.experiments.values.stored_attributes import Stores
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

MAX_LENGTH = 200
"""Characters of a text: two values may differ behind what is shown of them."""

_MAX_DEPTH = 2

_LITERALS = {id(cls) for cls in LITERAL_TYPES}
_BRACKETS = {id(tuple): ("(", ")"), id(list): ("[", "]"), id(set): ("{", "}")}
_CONTAINERS = {id(cls) for cls in CONTAINER_TYPES} | _BRACKETS.keys()
_function = type(lambda: None)
_function_name = _function.__dict__["__name__"].__get__
_type_name = type.__dict__["__name__"].__get__
_mro = type.__dict__["__mro__"].__get__


def is_cheap(cls: type) -> bool:
    """Whether values of a type are described without a look at what is in them."""
    return cls is _function or cls is str or cls is type


def described(value: object, depth: int = _MAX_DEPTH) -> str:
    """A value in short; empty where no more than the name of its type is known."""
    return _described(value, type(value), depth)


def _described(value: Any, cls: type, depth: int) -> str:
    if cls is str:
        return _string(value)
    if cls is _function:
        return f"<function {_function_name(value)}>"
    bases = _mro(cls)
    if any(base is type for base in bases):  # `in` would call the `__eq__` of a metaclass
        return f"<class {_type_name(value)}>"
    if id(cls) in _LITERALS or id(cls) in _CONTAINERS:
        if to_text(value):
            return shown(value, MAX_LENGTH)
        return _container(value, cls, depth) if depth and id(cls) in _CONTAINERS else ""
    name = _type_name(cls)
    if depth and any(base is tuple for base in bases):
        items = [named(item, depth - 1) for item in islice(tuple.__iter__(value), MAX_LENGTH)]
        return _within(f"{name}(", items, ")")
    found = ["".join(path).removeprefix(".") + f"={shown(number)}" for path, number in numbers(value).items()]
    if not found:
        stored = Stores.from_class(cls, bases).read(value)
        member = stored.get("_name_")  # of an enumeration
        if type(member) is str and "_value_" in stored:
            return f"{name}.{member}"
        found = [f"{key}={_string(text)}" for key, text in stored.items() if type(text) is str]
    return _within(f"{name}(", found, ")") if found else ""


def named(value: object, depth: int) -> str:
    """A value in short, or the name of its type."""
    return described(value, depth) or _type_name(type(value))


def _string(value: str) -> str:
    return repr(value) if len(value) <= MAX_LENGTH else f"{repr(value[:MAX_LENGTH])[: MAX_LENGTH - 2]}…'"


def _container(value: Any, cls: type, depth: int) -> str:
    """A container with what is in it."""
    if cls is dict:
        pairs = (f"{named(key, depth - 1)}: {named(item, depth - 1)}" for key, item in [*islice(value.items(), 9)])
        return _within("{", pairs, "}")
    opening, closing = _BRACKETS[id(cls)]
    items = (named(item, depth - 1) for item in [*islice(value, MAX_LENGTH)])
    return _within(opening, items, ",)" if cls is tuple and len(value) == 1 else closing)


def _within(opening: str, parts: Iterable[str], closing: str) -> str:
    """As many of the parts as there is room for."""
    text = opening
    for number, part in enumerate(parts):
        more = f", {part}" if number else part
        if len(text) + len(more) + len(closing) > MAX_LENGTH:
            return f"{text}{', ' if number else part[: max(MAX_LENGTH - len(opening) - 3, 1)]}…{closing}"
        text += more
    return text + closing
