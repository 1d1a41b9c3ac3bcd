"""Where objects store their attributes: read and written there, not by ``getattr``, which may call the program."""

from __future__ import annotations

from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

UNCHANGED = object()
"""Stands for a copy that can't be made."""

_names = type.__dict__["__dict__"].__get__


class Stores:
    """Where the attributes of a class's instances are stored."""

    def __init__(self, bases: tuple[type, ...]):
        self.dictionary: Any = None
        self.slots: dict[str, Any] = {}
        self.final = False  # a copy would do something when it goes, or would be a member that no enumeration has
        for base in bases:
            names = _names(base)
            self.final |= "__del__" in names or "_member_map_" in names
            for name, descriptor in names.items():
                if type(name) is not str:
                    continue
                if name == "__dict__" and type(descriptor) is GetSetDescriptorType:
                    self.dictionary = self.dictionary or descriptor
                # of `__slots__`
                elif type(descriptor) is MemberDescriptorType and not name.startswith("__"):
                    self.slots.setdefault(name, descriptor)
        self.final |= self.dictionary is None and not self.slots

    @classmethod
    def from_class(cls, owner: type, bases: tuple[type, ...]) -> Stores:
        """Look at a class once."""
        if id(owner) not in _known:
            _known[id(owner)] = owner, cls(bases)
        return _known[id(owner)][1]

    def read(self, value: object) -> dict[str, object]:
        """What an instance has stored."""
        attributes: dict[str, object] = {}
        if self.dictionary is not None:
            stored = self.dictionary.__get__(value)
            if type(stored) is dict and all(type(name) is str for name in stored):
                attributes.update(stored)
        for name, descriptor in self.slots.items():
            try:
                attributes[name] = descriptor.__get__(value)
            except AttributeError:
                continue
        return attributes

    def copy(self, cls: type, attributes: dict[str, object]) -> object:
        """Make an instance that has stored something.

        `UNCHANGED` where Python has to be asked by the class.
        """
        try:
            # neither `__new__` nor `__init__` of the program is called
            made: Any = object.__new__(cls)
            for name, value in attributes.items():
                self.put(made, name, value)
        except (TypeError, AttributeError):
            return UNCHANGED
        return made

    def put(self, value: object, name: str, new: object) -> None:
        """Let an instance store something.

        Raises AttributeError when there is no place for it.
        """
        if name in self.slots:
            self.slots[name].__set__(value, new)
        elif self.dictionary is None:
            raise AttributeError(name)
        else:
            self.dictionary.__get__(value)[name] = new

    def remove(self, value: object, name: str) -> None:
        """Let an instance store an attribute no more.

        Raises AttributeError when it has none, or no place for any.
        """
        if name in self.slots:
            self.slots[name].__delete__(value)
        elif self.dictionary is None or name not in self.dictionary.__get__(value):
            raise AttributeError(name)
        else:
            del self.dictionary.__get__(value)[name]


_known: dict[int, tuple[type, Stores]] = {}  # by identity, since a class may have a hash of its own
