"""Capturing first imports: what runs while a module is imported for the first time.

A process executes a module only once, for the test that happens to import it first. So the import does not count for
this test, and is recorded separately. An import that raises leaves no module, so it counts for its importer. So do a
reload, a second import, and the execution of a module that is not in ``sys.modules``, as its next user executes it
again.

In a run of some tests another test may come first, so the same test would seem to execute something else. Probes do not
know their thread; during such an import they find an object that does instead of their cells (`thread_captures`), which
costs nothing at any other time. A child process writes the cells of each first import separately, with a mark when the
import has ended, so nothing is lost if it is killed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, MutableSequence
from contextlib import AbstractContextManager, nullcontext
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING, Any

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.failure_guard import like_an_import
from suspectra_recorder.instrumentation.library_references import sys
from suspectra_recorder.instrumentation.thread_captures import Capture, Captures

if TYPE_CHECKING:
    from suspectra_recorder.instrumentation.imports import ImportHook
    from suspectra_recorder.instrumentation.loaded_file import LoadedFile

__builtins__ = library_references.builtins
__tracebackhide__ = True  # pytest omits these frames from tracebacks

LOADER: Any = next(cls for cls in SourceFileLoader.__mro__ if "exec_module" in vars(cls))
"""The class from which loaders of sources inherit ``exec_module``."""


class FirstImport(Capture):
    """The first execution of an imported module, as a context manager."""

    def __init__(self, imports: FirstImports, name: str, path: str):
        super().__init__(imports.captures, name)
        self.imports = imports  # those of this process
        self.path = path  # the name and the path of the module
        self.apart = False
        self.mark = 0

    def begin(self) -> None:
        """Begin, if imports are captured."""
        self.apart = self.imports.apart
        if self.apart:
            super().begin()
        self.mark = self.imports.entered(self.path)

    def end(self, failed: bool) -> None:
        """End; a failed import counts for its importer."""
        self.imports.left(self.mark)
        if not failed:
            self.imports.done(self.name)
        if self.apart:
            self.captures.remove(self, give_back=failed)
        if self.apart and not failed:
            self.imports.ended(self)  # `imports` of the process in which it ends, which may be a forked one

    def room(self, file: LoadedFile) -> MutableSequence[int]:
        """Allocate cells for what the import runs of a source."""
        return super().room(file) if self.imports.room is None else self.imports.room(self, file)


Room = Callable[[FirstImport, "LoadedFile"], MutableSequence[int]]
"""Given a first import and a source, returns cells for it, all zero."""


class FirstImports:
    """The first imports of this process."""

    def __init__(self, hook: ImportHook, ended: Callable[[FirstImport], None], room: Room | None = None):
        self.captures = Captures(hook)  # all captures of this process
        self.apart = False  # whether imports are captured; at first they are only noted
        self.ended, self.room = ended, room
        # called with the path of a module before its first import, and with what that returned after it
        self.entered: Callable[[str], int] = lambda path: 0
        self.left: Callable[[int], None] = lambda mark: None
        self._guard = hook.guard
        self._imported: set[str] = set()
        self._original: Callable[..., None] | None = None
        self._after: dict[str, Callable[[], None]] = {}

    def install(self) -> None:
        """Start watching the loaders of sources."""
        if self._original is not None:
            return
        # a module that is being imported right now is not there yet
        self._imported.update(name for name, module in list(sys.modules.items()) if not _initializing(module))
        original, capture, attempt, after = LOADER.exec_module, self.capture, self._guard.attempt, self._after
        self._original = original

        def exec_module(loader: object, module: ModuleType) -> None:
            # a failure of the recorder leaves the import as it is
            with attempt("a module", capture, module) or nullcontext():
                original(loader, module)
            if after and module.__name__ in after:
                attempt("a module", after.pop(module.__name__))

        LOADER.exec_module = like_an_import(exec_module)

    def when_executed(self, name: str, do: Callable[[], None]) -> None:
        """Call a function once a module of this name has been executed."""
        self._after[name] = do

    def uninstall(self) -> None:
        """Stop."""
        if self._original is not None:
            LOADER.exec_module = self._original
            self._original = None

    def capture(self, module: ModuleType) -> AbstractContextManager[None]:
        """Return the context in which to execute a module.

        A `FirstImport`; if it is not a first import, a context that does nothing.
        """
        first = first_import(module, self._imported)
        return nullcontext() if first is None else FirstImport(self, *first)

    def done(self, name: str) -> None:
        """Note that a module has been imported; any later import is a second one."""
        self._imported.add(name)

    def move(self, ended: Callable[[FirstImport], None], room: Room) -> None:
        """Continue in a forked process."""
        self.ended, self.room = ended, room
        self.captures.move()


def first_import(module: ModuleType, imported: Container[str]) -> tuple[str, str] | None:
    """Say whether a module that will be executed is imported for the first time.

    Its name and its path; None if it was imported before, or will not stay in `sys.modules`.
    """
    spec = module.__spec__
    name = module.__name__ if spec is None else spec.name
    # a module that is not in `sys.modules` is executed again by its next user
    if name in imported or sys.modules.get(name) is not module:
        return None
    return name, str(spec.origin) if spec else ""


def _initializing(module: object) -> bool:
    """Whether a module is still being imported; no code of the module runs to find out."""
    if not issubclass(type(module), ModuleType):
        return False
    spec = ModuleType.__getattribute__(module, "__dict__").get("__spec__")
    return bool(getattr(spec, "_initializing", False))
