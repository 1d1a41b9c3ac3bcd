"""First imports: what runs while a module is imported for the first time, kept apart from everything else.

A process executes a module once, for whoever happens to import it first. So this says nothing about the one who does,
and is handed over by itself. An import that raises leaves nothing behind, so what it ran stays with who asked for it; a
reload and a second import are ordinary work, and so is a module that is executed without being entered in
``sys.modules``, as its next user executes it again.

While such an import runs, probes store into :class:`_CellsByThread` instead of cells, because other threads go on with
what they do.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING, Any

from suspectra.instrumentation import own
from suspectra.instrumentation.guard import like_an_import
from suspectra.instrumentation.own import _thread, sys

if TYPE_CHECKING:
    from suspectra.instrumentation.imports import ImportHook, LoadedFile

__builtins__ = own.builtins

LOADER = next(cls for cls in SourceFileLoader.__mro__ if "exec_module" in vars(cls))
"""What loaders of sources have their ``exec_module`` from."""


@dataclass(eq=False)
class FirstImport(AbstractContextManager[None]):
    """The execution of a module that is imported for the first time; a context manager around it.

    Parameters
    ----------
    imports : FirstImports
    name, path : str
        Of the module.
    """

    imports: FirstImports
    name: str
    path: str
    cells: dict[LoadedFile, MutableSequence[int]] = field(default_factory=dict)
    outer: FirstImport | None = None
    apart: bool = False

    def __enter__(self) -> None:
        self.imports.hook.guard.attempt(self.name, self.imports._begin, self)

    def __exit__(self, kind: object, *_: object) -> None:
        self.imports.hook.guard.attempt(self.name, self.imports._end, self, kind is not None)


Room = Callable[[FirstImport, "LoadedFile"], MutableSequence[int]]
"""Gives cells for what a first import runs of a source, all zero."""


def _plain_room(_: FirstImport, file: LoadedFile) -> MutableSequence[int]:
    return [0] * len(file.cells)


class FirstImports:
    """The first imports of this process.

    Parameters
    ----------
    hook : ImportHook
        Whose probes they pass.
    ended : callable
        Called with each :class:`FirstImport` that was kept apart, when it has ended well.
    room : callable, optional
        Where their cells come from, by default lists.

    Attributes
    ----------
    apart : bool
        Whether imports that begin from now on are kept apart; at first they are only noted.
    """

    def __init__(self, hook: ImportHook, ended: Callable[[FirstImport], None], room: Room = _plain_room):
        self.hook = hook
        self.apart = False
        self._ended = ended
        self._room = room
        self._imported: set[str] = set()
        self._running: dict[int, FirstImport] = {}  # by thread, the innermost one of each
        self._older_threads: frozenset[int] = frozenset()
        self._lock = _thread.RLock()
        self._original: Callable[..., None] | None = None
        self._after: dict[str, Callable[[], None]] = {}

    def install(self) -> None:
        """Watch the loaders of sources from now on."""
        if self._original is not None:
            return
        self._imported.update(name for name, module in list(sys.modules.items()) if not _initializing(module))
        original, of, attempt, after = LOADER.exec_module, self.of, self.hook.guard.attempt, self._after
        self._original = original

        def exec_module(loader: object, module: ModuleType) -> None:
            with attempt("a module", of, module) or nullcontext():
                original(loader, module)
            if after and module.__name__ in after:
                attempt("a module", after.pop(module.__name__))

        LOADER.exec_module = like_an_import(exec_module)

    def when_executed(self, name: str, do: Callable[[], None]) -> None:
        """Call something once a module of this name has been executed."""
        self._after[name] = do

    def uninstall(self) -> None:
        """Stop."""
        if self._original is not None:
            LOADER.exec_module = self._original
            self._original = None

    def of(self, module: ModuleType) -> AbstractContextManager[None]:
        """The context to execute a module in."""
        spec = module.__spec__
        name = module.__name__ if spec is None else spec.name
        if name in self._imported or sys.modules.get(name) is not module:
            return nullcontext()
        return FirstImport(self, name, str(spec.origin) if spec else "")

    def move(self, ended: Callable[[FirstImport], None], room: Room) -> None:
        """Go on in a forked process, whose other threads are not there any more."""
        self._lock = _thread.RLock()
        self._ended, self._room = ended, room
        here = _thread.get_ident()
        running = first = self._running.get(here)
        while first is not None:  # the process that this one was forked from tells what they ran so far
            first.cells.clear()
            first = first.outer
        self._running = {} if running is None else {here: running}
        self.hook.store_into(None if running is None else self._cells_by_thread)

    def cells_of_thread(self, file: LoadedFile) -> MutableSequence[int]:
        """Where the probes of a source store what this thread passes."""
        thread = _thread.get_ident()
        first = self._running.get(thread)
        if first is None and thread not in self._older_threads:
            first = next(iter(self._running.values()), None)  # most likely it was started by that import
        return file.cells if first is None else self._cells(first, file)

    def _cells_by_thread(self, file: LoadedFile) -> Any:
        return _CellsByThread(self, file)

    def _cells(self, first: FirstImport, file: LoadedFile) -> MutableSequence[int]:
        cells = first.cells.get(file)
        if cells is None:
            with self._lock:
                cells = first.cells.get(file)
                if cells is None:
                    cells = first.cells[file] = self._room(first, file)
        return cells

    def _begin(self, first: FirstImport) -> None:
        first.apart = self.apart
        if first.apart:
            with self._lock:
                here = _thread.get_ident()
                first.outer = self._running.get(here)
                if not self._running:
                    self._older_threads = frozenset(sys._current_frames())
                    self.hook.store_into(self._cells_by_thread)
                self._running[here] = first

    def _end(self, first: FirstImport, failed: bool) -> None:
        if not failed:
            self._imported.add(first.name)
        if not first.apart:
            return
        with self._lock:
            self._remove(first)
            if failed:
                self._give_back(first)
        if not failed:
            self._ended(first)

    def _remove(self, first: FirstImport) -> None:
        here = _thread.get_ident()
        innermost = self._running.get(here)
        if innermost is first:
            if first.outer is None:
                del self._running[here]
            else:
                self._running[here] = first.outer
        while innermost is not None and innermost.outer is not first:  # greenlets end in any order
            innermost = innermost.outer
        if innermost is not None:
            innermost.outer = first.outer
        if not self._running:
            self.hook.store_into(None)

    def _give_back(self, first: FirstImport) -> None:
        """Let what a failed import ran belong to whoever asked for it."""
        for file, cells in first.cells.items():
            there = file.cells if first.outer is None else self._cells(first.outer, file)
            for cell, count in enumerate(cells):
                if count > 0:
                    there[cell] = there[cell] + count if self.hook.counting else 1
                    cells[cell] = 0


class _CellsByThread:
    """Stands in for the cells of a source while modules are imported; it stays usable ever after."""

    __slots__ = ("_file", "_imports")

    def __init__(self, imports: FirstImports, file: LoadedFile):
        self._imports = imports
        self._file = file

    def __getitem__(self, cell: int) -> int:
        return self._imports.cells_of_thread(self._file)[cell]

    def __setitem__(self, cell: int, value: int) -> None:
        self._imports.cells_of_thread(self._file)[cell] = value


def _initializing(module: object) -> bool:
    """Whether a module is still being imported; nothing of the module's own is run to find out."""
    if not issubclass(type(module), ModuleType):
        return False
    spec = ModuleType.__getattribute__(module, "__dict__").get("__spec__")
    return bool(getattr(spec, "_initializing", False))
