"""Changing what variables refer to: containers in place, and the variables of functions that are being executed.

A list that was exchanged for another one would be seen by one function only, so that what has changed are its items.
No code of the program is called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import FrameType
from typing import Any

from suspectra_recorder.experiments.messages import MemoryChange, MemoryNode
from suspectra_recorder.experiments.values.literals import from_text
from suspectra_recorder.experiments.values.memory_graph import (
    ATTRIBUTE,
    MEMBER,
    Container,
    by_global_name,
    container_of,
)
from suspectra_recorder.experiments.values.stored_attributes import UNCHANGED, Stores
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, sys

__builtins__ = library_references.builtins

_mro = type.__dict__["__mro__"].__get__
_OWN_BASES: dict[str, Any] = {"list": list, "tuple": tuple, "dict": dict, "set": set, "frozenset": frozenset}


class NotChanged(Exception):
    """A place is not there, or its value can't be made."""


def change(frames: Sequence[FrameType], changes: Sequence[MemoryChange]) -> None:
    """Change what the variables of functions refer to.

    Raises NotChanged when a place is not there, or its value can't be made; some changes may have been made then.
    """
    try:
        made = [_Making(frames, one["nodes"]) for one in changes]  # before any place is another
        for one, making in zip(changes, made, strict=True):
            _change(frames[one["depth"]], one, making)
    # what is there may be of another type than in the run that it was read from
    except (LookupError, AttributeError, TypeError, ValueError) as error:
        raise NotChanged(type(error).__name__) from None


def look_up_functions() -> None:
    """Look up what Python has in C, before runs are watched in which that is refused."""
    if sys.version_info < (3, 13):
        import ctypes

        assert ctypes.pythonapi.PyFrame_LocalsToFast


def _assign(frame: FrameType, name: str, value: object) -> None:
    """Let a function have another value in a variable, and at once: functions inside of it may share the variable."""
    frame.f_locals[name] = value
    if sys.version_info < (3, 13):
        import ctypes

        # up to Python 3.12 `f_locals` is a copy, which is written back only by this
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


def _change(frame: FrameType, one: MemoryChange, making: _Making) -> None:
    name, steps = one["name"], one["steps"]
    if one["what"] == "length":
        _set_length(_at(frame.f_locals[name], steps), one["length"], making.tail())
    elif one["what"] == "remove":
        _remove(frame.f_locals[name], steps)
    elif not steps:
        _assign(frame, name, making.root())
    else:
        old = frame.f_locals[name]
        changed = _with(old, steps, making.root() if making.nodes else None)
        if changed is not old:
            _assign(frame, name, changed)


def _at(value: Any, steps: Sequence[str]) -> Any:
    """What is at the end of some steps."""
    for step in steps:
        value = _part(value, step)
    return value


def _part(value: Any, step: str) -> Any:
    cls = type(value)
    if step[0] == ATTRIBUTE:
        return Stores.from_class(cls, _mro(cls)).read(value)[step[1:]]
    return _container(value).base.__getitem__(value, from_text(step[1:]))


def _container(value: Any) -> Container:
    container = container_of(type(value))
    if container is None:
        raise LookupError
    return container


def _with(value: Any, steps: Sequence[str], new: Any) -> Any:
    """The value with another one at the end of some steps: the same object, unless it is a tuple."""
    step, cls = steps[0], type(value)
    if step[0] == MEMBER:
        _container(value).base.add(value, from_text(step[1:]))
        return value
    if len(steps) > 1:
        part = _part(value, step)
        new = _with(part, steps[1:], new)
        if new is part:
            return value
    if step[0] == ATTRIBUTE:
        Stores.from_class(cls, _mro(cls)).put(value, step[1:], new)
        return value
    container, key = _container(value), from_text(step[1:])
    if container.kind == "tuple":
        items = list(tuple.__iter__(value))
        items[key] = new  # type: ignore[call-overload]
        return tuple.__new__(cls, items)
    container.base.__setitem__(value, key, new)
    return value


def _remove(value: Any, steps: Sequence[str]) -> None:
    """Let there be nothing at the end of some steps."""
    holder, step = _at(value, steps[:-1]), steps[-1]
    cls = type(holder)
    if step[0] == ATTRIBUTE:
        Stores.from_class(cls, _mro(cls)).remove(holder, step[1:])
    elif step[0] == MEMBER:
        _container(holder).base.discard(holder, from_text(step[1:]))
    else:
        _container(holder).base.__delitem__(holder, from_text(step[1:]))


def _set_length(value: Any, length: int, tail: Sequence[Any]) -> None:
    base = _container(value).base
    # in place, since others may refer to the list
    while base.__len__(value) > length:
        base.pop(value)
    base.extend(value, tail)


class _Making:
    """Makes values from nodes; each node is one object."""

    def __init__(self, frames: Sequence[FrameType], nodes: Sequence[MemoryNode]):
        self.nodes = nodes
        self._made: dict[int, Any] = {}
        for number, (kind, text, _, _) in enumerate(nodes):
            if kind == "live":
                depth, name, *steps = json.loads(text)
                self._made[number] = _at(frames[depth].f_locals[name], steps)

    def root(self) -> Any:
        """The value of the first node."""
        return self._value(0)

    def tail(self) -> list[Any]:
        """The items of the first node, which is a list; nothing if there is none."""
        return [self._value(part) for _, part in self.nodes[0][2]] if self.nodes else []

    def _value(self, number: int) -> Any:
        if number not in self._made:
            kind, text, parts, _ = self.nodes[number]
            if kind == "value":
                self._made[number] = from_text(text)
            elif kind == "name":
                self._made[number] = by_global_name(text)
            else:
                self._make(number, kind, text, parts)
        return self._made[number]

    def _make(self, number: int, kind: str, text: str, parts: Sequence[tuple[str, int]]) -> None:
        cls: Any = by_global_name(text) if text else _OWN_BASES.get(kind)
        if cls is None:
            raise LookupError
        container = container_of(cls)
        items = [(step, part) for step, part in parts if step[0] != ATTRIBUTE]
        if container is None:
            made: Any = Stores.from_class(cls, _mro(cls)).copy(cls, {})
            if made is UNCHANGED:
                raise LookupError
        elif kind in ("tuple", "frozenset"):
            made = container.base.__new__(cls, [self._item(step, part) for step, part in items])
        else:
            # an empty one first: its parts may refer to it
            made = (Counter if issubclass(cls, Counter) else container.base).__new__(cls)
        self._made[number] = made
        if container is not None and kind in ("list", "dict", "set"):
            self._fill(made, container, items)
        stores = Stores.from_class(cls, _mro(cls))
        for step, part in parts:
            if step[0] == ATTRIBUTE:
                stores.put(made, step[1:], self._value(part))

    def _item(self, step: str, part: int) -> Any:
        return from_text(step[1:]) if step[0] == MEMBER else self._value(part)

    def _fill(self, made: Any, container: Container, items: Sequence[tuple[str, int]]) -> None:
        for step, part in items:
            if container.kind == "list":
                container.base.append(made, self._value(part))
            elif container.kind == "set":
                container.base.add(made, from_text(step[1:]))
            else:
                container.base.__setitem__(made, from_text(step[1:]), self._value(part))
