"""A property that is computed once, whose value can also be given, or looked at, before that."""

from __future__ import annotations

from functools import cached_property
from typing import TypeVar

Value = TypeVar("Value")


class CachedProperty(cached_property[Value]):
    """A `functools.cached_property` that says what it has kept: `Class.name.peek(one)`, `Class.name.give(one, value)`.

    Immutable objects pass on so what they know to the state after a change.
    """

    def peek(self, owner: object) -> Value | None:
        """The value, if it is known already; it is not computed."""
        value: Value | None = vars(owner).get(self.attrname or "")
        return value

    def give(self, owner: object, value: Value) -> None:
        """Keep a value that was found in a quicker way."""
        vars(owner)[self.attrname or ""] = value

    def share(self, known: object, owner: object) -> None:
        """Keep the value of another object, if it is known there."""
        if (value := self.peek(known)) is not None:
            self.give(owner, value)
