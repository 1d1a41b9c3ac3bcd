"""The results that this process has made and may find again."""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, TypeGuard, cast
from weakref import ref

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import _thread, os, sys
from suspectra_recorder.instrumentation.thread_captures import Capture, Captures, Making

if TYPE_CHECKING:
    from suspectra_recorder.instrumentation.loaded_file import LoadedFile

__builtins__ = library_references.builtins
__tracebackhide__ = True  # pytest omits these frames from tracebacks

_OWNERS = 50
"""A place in more objects than these is in objects that live for one test, and is watched no more."""

SlotValues = tuple[str, tuple[int, ...], tuple[int, ...], object, tuple[object, ...], bool]
"""What code says of a place where it makes a result: its text, the cells that lead to that, those that lead to a result
that is there, the owner, the keys in it, and whether the owner lasts.

A variable has no owner, and a key only if it belongs to a call."""
_Key = tuple[object, ...]
_BY_VALUE = (str, int, float, bytes, bool, type(None))
_bases = type.__dict__["__mro__"].__get__


class _Result(NamedTuple):
    making: Making
    value: int  # identity of what was stored in a variable
    owner: ref[object] | None  # to forget the result with its owner; None where it lasts, or there can't be one


@dataclass(eq=False)
class _Watched:
    """A place in a source where results are kept."""

    results: dict[_Key, _Result] = field(default_factory=dict)
    owners: set[int] = field(default_factory=set)  # by identity
    gone: int = 0  # how many owners there are no more

    @property
    def in_many(self) -> bool:
        """Whether it is in too many objects."""
        return len(self.owners) + self.gone > _OWNERS


class KeptResults:
    """What made the results of this process, by the places where they are kept."""

    def __init__(self, captures: Captures):
        self.captures = captures  # the captures of this process
        self._process = os.getpid()
        self._places: dict[tuple[LoadedFile, str], _Watched] = {}
        self._same: dict[frozenset[tuple[LoadedFile, bytes]], Making] = {}
        self._silent: list[tuple[LoadedFile, str]] = []  # places that were found since a test or a capture began
        captures.hook.give_results = self._attach
        captures.on_change = self._listen

    def _attach(self, file: LoadedFile) -> None:
        file.make, file.find, file.stored = partial(self.make, file), partial(self.find, file), self.stored

    @property
    def active(self) -> bool:
        """Whether this is the process that runs the tests, and not a fork of it."""
        return os.getpid() == self._process

    def make(self, file: LoadedFile, place: SlotValues) -> AbstractContextManager[object]:
        """Return the context in which a result is about to be made."""
        watched = self._places.setdefault((file, place[0]), _Watched())
        if watched.in_many or not self.active:
            return nullcontext()
        return _Storing(self.captures, self, file, place)

    def find(self, file: LoadedFile, text: str, owner: object, keys: tuple[object, ...], value: object = None) -> None:
        """Note that a result was found at a place."""
        # arguments of the program's own types: nothing of them may run
        self.captures.hook.guard.attempt("a result that was found", self._find, file, text, owner, keys, value)

    def _find(self, file: LoadedFile, text: str, owner: object, keys: tuple[object, ...], value: object) -> None:
        results = self._places[file, text].results
        result = results.get(_key(owner, keys, value))
        if owner is None:
            if result is None or result.value != id(value):
                return  # it was replaced
        elif result is None:
            # a class finds what its bases keep, and an object what its class keeps
            for base in _bases(owner if _is_class(owner) else type(owner)):
                if (result := results.get(_key(base, keys, value))) is not None:
                    break
            else:
                return
        self.captures.uses.found.add(result.making)
        if len(results) == 1 and not _thread._count():
            file.found.discard(text)
            self._silent.append((file, text))

    def _listen(self) -> None:
        while self._silent:
            file, text = self._silent.pop()
            if self._places[file, text].results:
                file.found.add(text)

    def stored(self, text: str, value: object) -> bool:
        """Note that something was stored at a place, for all captures that wait for it, as guards may be nested."""
        capture = self.captures.innermost
        while capture is not None:
            if isinstance(capture, _Storing) and capture.text == text:
                capture.value, capture.kept = value, True
            capture = capture.outer
        return False

    def keep(self, file: LoadedFile, text: str, owner: object, keys: _Key, value: object, making: Making) -> None:
        """Keep what made a result."""
        watched = self._places[file, text]
        key = _key(owner, keys, value)
        reference: ref[object] | None = None
        if owner is not None and not _is_class(owner):
            watched.owners.add(id(owner))
            with suppress(TypeError):  # a dictionary, say
                reference = ref(owner, lambda gone: self._forget(file, text, key, gone))
        result = _Result(making, id(value), reference)
        if watched.in_many:
            watched.results.clear()
            file.found.discard(text)
        else:
            watched.results[key] = result
            file.found.add(text)

    def _forget(self, file: LoadedFile, text: str, key: _Key, gone: object) -> None:
        watched = self._places[file, text]
        results = watched.results
        if key in results and results[key].owner is gone:
            del results[key]
            watched.gone += key[0] in watched.owners
            watched.owners.discard(cast(int, key[0]))
        if not results:
            file.found.discard(text)

    def making(self, cells: Mapping[LoadedFile, Sequence[int]]) -> Making:
        """Return what was executed; equal ones are one object, unless they count."""
        if self.captures.hook.counting:
            return Making({file: tuple(there) for file, there in cells.items() if any(there)})
        parts = {file: bytes(there) for file, there in cells.items() if any(there)}
        return self._same.setdefault(frozenset(parts.items()), Making(parts))


class MakingCapture(Capture):
    """Captures what makes a result; it counts for the test, too, in which that happens."""

    def __init__(self, captures: Captures, results: KeptResults, name: str):
        super().__init__(captures, name)
        self.results = results  # those of this process
        self.kept = False  # whether the result was kept
        self.making: Making | None = None  # what made it, once it is there

    def end(self, failed: bool) -> None:
        """End the capture, and give what was executed to the test or capture around it."""
        try:
            if self.kept:
                self.captures.settle(self)
                self.making = self.results.making(self.executed())
        finally:
            self.captures.remove(self, give_back=True)
        if self.making is not None:
            self.captures.uses.made.add(self.making)

    def executed(self) -> Mapping[LoadedFile, Sequence[int]]:
        """Return the cells of what made the result."""
        return self.cells

    def room(self, file: LoadedFile) -> MutableSequence[int]:
        """Allocate cells for a source."""
        # what a fork of this process executes is in its own cells
        return super().room(file) if self.results.active else file.cells


class _Storing(MakingCapture):
    """Captures what makes a result, until it has been stored at a place."""

    def __init__(self, captures: Captures, results: KeptResults, file: LoadedFile, place: SlotValues):
        super().__init__(captures, results, place[0])
        self.text, self._outside, self._found, self._owner, self._keys, self._lasts = place
        self._file = file
        self.value: object = None  # what was stored

    def end(self, failed: bool) -> None:
        """End, and keep what made the result if there is one."""
        super().end(failed)
        if self.making is not None:
            self._owner = _holder(self._owner, self._keys)
            self.results.keep(self._file, self.text, self._owner, self._keys, self.value, self.making)
            if self._found and (self._lasts or _lasts(self._owner)):
                self._mark(self._file.cells if self.outer is None else self.captures.cells_of(self.outer, self._file))
        self.value = None

    def executed(self) -> Mapping[LoadedFile, Sequence[int]]:
        """Add what leads to the making of the result: it is in the cells of the test already."""
        cells = [*self.captures.cells_of(self, self._file)]
        for cell in self._outside:
            cells[cell] += 1
        return {**self.cells, self._file: cells if self.captures.hook.counting else [*map(bool, cells)]}

    def _mark(self, cells: MutableSequence[int]) -> None:
        """Add what leads to a result that is there."""
        for cell in self._found:
            cells[cell] = cells[cell] + 1 if self.captures.hook.counting else 1


def _lasts(owner: object) -> bool:
    """Whether an object is a class, or in a variable of a class or module, so that other tests find it."""
    kind = type(owner)
    if _is_class(owner):
        return True
    module = sys.modules.get(str(type.__getattribute__(kind, "__module__")))
    namespaces = [vars(base) for base in _bases(kind) if base is not object]
    if type(module) is ModuleType:
        namespaces.append(module.__dict__)
    return any(value is owner for names in namespaces for value in list(names.values()))


def _is_class(owner: object) -> TypeGuard[type]:
    """Whether an object is a class; a proxy is not asked for what it stands."""
    return issubclass(type(owner), type)


def _holder(owner: object, keys: tuple[object, ...]) -> object:
    """The object that has the first of the keys: it may be an attribute of a class that all its objects share."""
    if owner is None or not keys or not isinstance(keys[0], str) or not keys[0].startswith("."):
        return owner
    name, kind = keys[0][1:], type(owner)
    if _is_class(owner) or name in _namespace(owner):
        return owner
    for base in _bases(kind):
        if name in vars(base):
            return owner if hasattr(type(vars(base)[name]), "__get__") else base
    return owner


def _namespace(owner: object) -> Mapping[str, object]:
    try:
        found: Mapping[str, object] = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return {}
    return found


def _key(owner: object, keys: tuple[object, ...], value: object) -> _Key:
    if owner is None:
        # a variable of a function has a value in each call of it
        return (id(value),) if keys else ()
    return (id(owner), *map(_by_value, keys))


def _by_value(key: object) -> object:
    """A key as it is compared; no code of the program runs to find out."""
    if type(key) in _BY_VALUE:
        return type(key), key
    return tuple(map(_by_value, key)) if type(key) is tuple else id(key)
