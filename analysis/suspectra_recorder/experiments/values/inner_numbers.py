"""Numbers inside values, and copies of values in which one of them is another. No code of the program is called.

Attributes are read from where they are stored, not by ``getattr``, which may call the program. Copies are made of parts
that Python itself understands: lists, tuples, dictionaries with plain keys, and instances of classes whose attributes
are in a dictionary or in slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from suspectra_recorder.experiments.values.literals import as_number
from suspectra_recorder.experiments.values.stored_attributes import UNCHANGED, Stores
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

MAX_PARTS = 8
"""Numbers of a value, and parts of one object that are looked at."""

DEPTH = 2
"""Levels of a value that are looked at."""

Path = tuple[str, ...]
_Rebuild = Callable[[object], object]

_mro = type.__dict__["__mro__"].__get__


def numbers(value: object) -> dict[Path, object]:
    """The numbers and dates inside a value.

    By their paths: steps such as `.cents`, `[0]` or `['rate']`; the empty path if the value is a number.
    """
    found: dict[Path, object] = {}
    _collect(value, (), DEPTH, found)
    return found


def _collect(value: object, path: Path, depth: int, found: dict[Path, object]) -> None:
    if len(found) >= MAX_PARTS:
        return
    if as_number(value) is not None:
        found[path] = value
    elif depth:
        for step, part, _ in _parts(value):
            _collect(part, (*path, step), depth - 1, found)


def changed(value: object, path: Path, number: object) -> object:
    """A copy of a value in which one number is another.

    `UNCHANGED` if the value has no such part, or can't be copied.
    """
    if not path:
        return number
    for step, part, rebuild in _parts(value):
        if step == path[0]:
            new = changed(part, path[1:], number)
            return UNCHANGED if new is UNCHANGED else rebuild(new)
    return UNCHANGED


def _parts(value: object) -> Iterator[tuple[str, object, _Rebuild]]:
    """The first parts of a value, each with what makes a copy with another one in its place."""
    cls = type(value)
    bases = _mro(cls)
    if cls is list:
        for index, item in enumerate(value[:MAX_PARTS]):  # type: ignore[index]
            yield f"[{index}]", item, lambda new, index=index: _item(list(value), index, new)  # type: ignore
    elif any(base is tuple for base in bases):
        # a class that is derived from tuple may iterate over something else
        items: list[Any] = list(tuple.__iter__(value))  # type: ignore[arg-type]
        for index, item in enumerate(items[:MAX_PARTS]):
            yield f"[{index}]", item, lambda new, index=index: tuple.__new__(cls, _item([*items], index, new))  # type: ignore
    elif cls is dict:
        keys: list[Any] = list(dict.keys(value))  # type: ignore[arg-type]
        # keys of other types may have a `__hash__` of the program
        if all(type(key) is str or type(key) is int for key in keys):
            for key in keys[:MAX_PARTS]:
                if type(key) is int or len(key) <= MAX_PARTS * 4:
                    yield f"[{key!r}]", value[key], lambda new, key=key: {**value, key: new}  # type: ignore
    else:
        yield from _attributes(value, cls, bases)


def _item(items: list[object], index: int, new: object) -> list[object]:
    items[index] = new
    return items


def _attributes(value: object, cls: type, bases: tuple[type, ...]) -> Iterator[tuple[str, object, _Rebuild]]:
    stores = Stores.from_class(cls, bases)
    if stores.final:
        return
    attributes = stores.read(value)
    for name in list(attributes)[:MAX_PARTS]:

        def rebuild(new: object, name: str = name) -> object:
            return stores.copy(cls, {**attributes, name: new})

        yield f".{name}", attributes[name], rebuild
