"""What was stored in objects, and what code that is not traced reads and changes. No code of the program is called.

Types are compared by identity, since even a class can have a ``__hash__`` of its own.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from functools import lru_cache
from itertools import islice
from typing import Any
from weakref import ref

from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

WHOLE = "*"
"""Stands for everything in an object that has no node of its own."""

_module: Any = type(library_references.sys.modules["builtins"])

_CONTAINERS = {id(cls) for cls in (list, dict, set, bytearray, deque, defaultdict, OrderedDict, Counter)}
_SEEN_INTO = {id(cls) for cls in (list, tuple, dict, set, frozenset)}
_IMMUTABLE = {
    id(cls)
    for cls in (
        *(type(None), bool, int, float, complex, str, bytes, tuple, frozenset, range, slice, type, _module),
        *(type(len), type(lambda: None), type(Ellipsis), object),
    )
}
_IMMUTABLE_NAMES = {
    *("re.Pattern", "re.Match", "decimal.Decimal", "datetime.date", "datetime.datetime", "datetime.time"),
    *("datetime.timedelta", "fractions.Fraction", "uuid.UUID", "pathlib.PosixPath", "pathlib.Path"),
}
_MUTATORS = frozenset(
    (
        *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault"),
        *("popitem", "add", "discard", "appendleft", "popleft", "extendleft", "rotate", "move_to_end"),
        *("subtract", "difference_update", "intersection_update", "symmetric_difference_update"),
        *("__setitem__", "__delitem__", "__iadd__", "__ior__"),
    )
)
_MUTATING_MODULES = frozenset(("_heapq", "heapq", "_bisect", "bisect", "random"))
_SHALLOW = {
    id(one)
    for one in (
        *(len, isinstance, issubclass, id, iter, next, enumerate, zip, map, filter, reversed, bool, type, callable),
        *(hasattr, getattr, setattr, list, tuple, dict, set, frozenset, range, any, all),
    )
}
_MAX_ITEMS, _MAX_DEPTH = 60, 2

_name = type.__dict__["__name__"].__get__
_module_name = type.__dict__["__module__"].__get__
_mro = type.__dict__["__mro__"].__get__
_names_in = type.__dict__["__dict__"].__get__
_MAKERS = frozenset(("__init__", "__new__"))


class Heap:
    """The nodes that stored into objects: by the identity of the object, and by attribute or key.

    What is known of an object is forgotten when that goes. Objects that can't say when they go, such as lists, are kept
    as long as the heap, so that no other one gets their identity.
    """

    def __init__(self) -> None:
        # the nodes by the identity of the object, and by attribute or key
        self.stored: dict[int, dict[object, int]] = {}
        self.classes: dict[int, dict[str, int]] = {}  # the nodes that bodies of classes have bound to names
        self.of_classes: set[str] = set()  # all these names
        self._kept: dict[int, object] = {}  # weak references, or the objects themselves
        self._classes_kept: dict[int, object] = {}

    def _know(self, thing: object, stored: dict[object, int]) -> None:
        identity, forget = id(thing), self._forget
        self.stored[identity] = stored
        try:
            self._kept[identity] = ref(thing, lambda _: forget(identity))
        except TypeError:
            self._kept[identity] = thing

    def _forget(self, identity: int) -> None:
        self.stored.pop(identity, None)
        self._kept.pop(identity, None)

    def born(self, thing: object, node: int) -> None:
        """Code that is not traced gave an object, which may be new: all that is in it came from there."""
        known = id(type(thing)) in _CONTAINERS or id(thing) in self.stored
        if not known and not _is_immutable(thing):
            self._know(thing, {WHOLE: node})

    def write(self, thing: object, key: object, node: int) -> None:
        """A node stored into an attribute or an item with a plain key; into anything, with `WHOLE`."""
        known = self.stored.get(id(thing))
        if known is None:
            self._know(thing, {key: node})
        # all that was known of its parts is outdated
        elif key is WHOLE:
            self.stored[id(thing)] = {WHOLE: node}
        else:
            known[key] = node

    def content(self, thing: object, sources: list[int]) -> None:
        """Add what stored into an object, and into the objects in it."""
        known = self.stored.get(id(thing))
        if known is not None:
            sources.extend(known.values())
        if id(type(thing)) in _SEEN_INTO:
            self._inner(thing, sources, _MAX_DEPTH)

    def _inner(self, thing: Any, sources: list[int], depth: int) -> None:
        for one in islice(thing.values() if type(thing) is dict else thing, _MAX_ITEMS):
            known = self.stored.get(id(one))
            if known is not None:
                sources.extend(known.values())
            if depth and id(type(one)) in _SEEN_INTO:
                self._inner(one, sources, depth - 1)

    def called(self, function: object, given: list[object], sources: list[int]) -> None:
        """Add what a call of code that is not traced reads."""
        receiver = _receiver(function)
        # a function that keeps its results gives back what an earlier call computed
        if type(function) is _CACHED:
            self.content(function, sources)
        elif (bound := self.classes.get(id(function))) is not None and not _is_plain(function):
            sources.extend(bound.values())
        if receiver is not None:
            if given and item_key(given[0]) is not None and _called_name(function) in ("get", "pop", "__getitem__"):
                self.item(receiver, given[0], sources)
            else:
                self.content(receiver, sources)
        # these look at their arguments, but not into them
        if id(function) in _SHALLOW:
            for one in given:
                known = self.stored.get(id(one))
                if known is not None:
                    sources.extend(known.values())
        else:
            for one in given:
                self.content(one, sources)

    def item(self, thing: object, key: object, sources: list[int]) -> None:
        """Add what stored an item with a plain key."""
        known = self.stored.get(id(thing))
        if known is None:
            return
        if type(key) is int and key < 0 and type(thing) is list:
            # the same item under the number that it has from the beginning
            key += len(thing)
        found = known.get(item_key(key))
        if found is None:
            found = known.get(WHOLE)
        if found is not None:
            sources.append(found)

    def bind(self, cls: type, name: str, node: int) -> None:
        """The body of a class has bound a name."""
        known = self.classes.get(id(cls))
        if known is None:
            forget, identity = self.classes.pop, id(cls)
            known = self.classes[identity] = {}
            self._classes_kept[identity] = ref(cls, lambda _: forget(identity, None))
        known[name] = node
        self.of_classes.add(name)

    def attribute(self, thing: object, key: str) -> int:
        """The node that bound an attribute of a class, as it is read from the class or from an instance.

        -1 if no class is known to have it.
        """
        cls = type(thing)
        for one in (*_mro(thing), *_mro(cls)) if issubclass(cls, type) else _mro(cls):
            known = self.stored.get(id(one))
            found = known.get(key, -1) if known is not None else -1
            bound = self.classes.get(id(one))
            if bound is not None:
                found = max(found, bound.get(key, -1))
            if found >= 0:
                return found
        return -1

    def remember(self, function: object, node: int) -> None:
        """What is called may give the same again, without calling traced code."""
        if type(function) is _CACHED:
            known = self.stored.get(id(function))
            self.write(function, node if known else WHOLE, node)  # beside what it gave before

    def changed(self, function: object, given: list[object], node: int, *, native: bool) -> None:
        """A call of code that is not traced may have changed objects."""
        receiver = _receiver(function)
        # methods of containers that only read are known by name, those of other classes are not
        can_change = receiver is not None and not _is_immutable(receiver)
        if can_change and (id(type(receiver)) not in _CONTAINERS or _called_name(function) in _MUTATORS):
            self.write(receiver, WHOLE, node)
        # their first argument changes, though it is no container
        if function is setattr or function is delattr:
            if len(given) > 1 and type(given[1]) is str:
                self.write(given[0], given[1], node)
        elif not native or (type(function) is _BUILTIN and function.__module__ in _MUTATING_MODULES):
            for one in given:
                if id(type(one)) in _CONTAINERS:
                    self.write(one, WHOLE, node)


def item_key(key: object) -> object:
    """The key by which an item is stored: a number, or a string apart from attributes; None if it may be user code."""
    return key if type(key) is int else ("[", key) if type(key) is str else None


def _receiver(function: Any) -> object | None:
    """The object whose method is called, None for a function of a module."""
    cls = type(function)
    if cls is _BUILTIN or cls is _METHOD or cls is _WRAPPER:
        receiver: object = function.__self__
        return None if type(receiver) is _module else receiver
    return None


def _is_plain(cls: Any) -> bool:
    """Whether a class makes instances as `object` does, so that its attributes are not read."""
    return next(one for one in _mro(cls) if not _MAKERS.isdisjoint(_names_in(one))) is object


def _called_name(function: Any) -> str:
    return str(function.__name__) if type(function) in (_BUILTIN, _WRAPPER) else ""


def _is_immutable(thing: object) -> bool:
    cls = type(thing)
    if id(cls) in _IMMUTABLE:
        return True
    return f"{_module_name(cls)}.{_name(cls)}" in _IMMUTABLE_NAMES if type(cls) is type else False


class _Example:
    def method(self) -> None:
        """Has a type."""


_BUILTIN: Any = type(len)
_METHOD: Any = type(_Example().method)
_WRAPPER: Any = type([].__len__)
_CACHED: Any = type(lru_cache(lambda: None))
_CLASSES = {
    id(cls)
    for cls in (
        *(int, float, complex, bool, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, slice, type),
        *(object, enumerate, zip, map, filter, reversed, deque, defaultdict, OrderedDict, Counter),
    )
}


def is_native(function: object) -> bool:
    """Whether what is called is surely no traced function itself."""
    cls = type(function)
    return cls is _BUILTIN or cls is _WRAPPER or id(function) in _CLASSES
