"""First imports: what runs while a module is imported for the first time, captured apart from everything else.

A process executes a module once, for whoever happens to import it first. So this says nothing about the one who does,
and is handed over by itself. An import that raises leaves nothing behind, so what it ran stays with who asked for it; a
reload and a second import are ordinary work, and so is a module that is executed without being entered in
``sys.modules``, as its next user executes it again.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from contextlib import AbstractContextManager, nullcontext
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING, Any

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.captures import Capture, Captures
from suspectra_recorder.instrumentation.guard import like_an_import
from suspectra_recorder.instrumentation.own import sys

if TYPE_CHECKING:
    from suspectra_recorder.instrumentation.imports import ImportHook
    from suspectra_recorder.instrumentation.loaded_file import LoadedFile

__builtins__ = own.builtins
__tracebackhide__ = True  # pytest leaves out what stands between the program and its error

LOADER: Any = next(cls for cls in SourceFileLoader.__mro__ if "exec_module" in vars(cls))
"""What loaders of sources have their ``exec_module`` from."""


class FirstImport(Capture):
    """The execution of a module that is imported for the first time; a context manager around it.

    Parameters
    ----------
    imports : FirstImports
        Those of this process.
    name, path : str
        Of the module.
    """

    def __init__(self, imports: FirstImports, name: str, path: str):
        super().__init__(imports.captures, name)
        self.imports = imports
        self.path = path
        self.apart = False

    def begin(self) -> None:
        """Begin, if imports are captured by now."""
        self.apart = self.imports.apart
        if self.apart:
            super().begin()

    def end(self, failed: bool) -> None:
        """End; an import that failed belongs to whoever asked for it."""
        if not failed:
            self.imports.done(self.name)
        if self.apart:
            self.captures.remove(self, give_back=failed)
        if self.apart and not failed:
            self.imports.ended(self)  # of the process that it ends in, which may be a forked one

    def room(self, file: LoadedFile) -> MutableSequence[int]:
        """Cells for what the import runs of a source, all zero."""
        return super().room(file) if self.imports.room is None else self.imports.room(self, file)


Room = Callable[[FirstImport, "LoadedFile"], MutableSequence[int]]
"""Gives cells for what a first import runs of a source, all zero."""


class FirstImports:
    """The first imports of this process.

    Parameters
    ----------
    hook : ImportHook
        Whose probes they pass.
    ended : callable
        Called with each :class:`FirstImport` that was captured, when it has ended well.
    room : callable, optional
        Where their cells come from, by default lists.

    Attributes
    ----------
    captures : Captures
        Those of this process, of imports and of anything else.
    apart : bool
        Whether imports that begin from now on are captured; at first they are only noted.
    """

    def __init__(self, hook: ImportHook, ended: Callable[[FirstImport], None], room: Room | None = None):
        self.captures = Captures(hook)
        self.apart = False
        self.ended, self.room = ended, room
        self._guard = hook.guard
        self._imported: set[str] = set()
        self._original: Callable[..., None] | None = None
        self._after: dict[str, Callable[[], None]] = {}

    def install(self) -> None:
        """Watch the loaders of sources from now on."""
        if self._original is not None:
            return
        self._imported.update(name for name, module in list(sys.modules.items()) if not _initializing(module))
        original, capture, attempt, after = LOADER.exec_module, self.capture, self._guard.attempt, self._after
        self._original = original

        def exec_module(loader: object, module: ModuleType) -> None:
            with attempt("a module", capture, module) or nullcontext():
                original(loader, module)
            if after and module.__name__ in after:
                attempt("a module", after.pop(module.__name__))

        LOADER.exec_module = like_an_import(exec_module)

    def when_executed(self, name: str, do: Callable[[], None]) -> None:
        """Call something once a module of this name has been executed.

        Parameters
        ----------
        name : str
            Of the module.
        do : callable
            Called without arguments, once.
        """
        self._after[name] = do

    def uninstall(self) -> None:
        """Stop."""
        if self._original is not None:
            LOADER.exec_module = self._original
            self._original = None

    def capture(self, module: ModuleType) -> AbstractContextManager[None]:
        """The context to execute a module in.

        Parameters
        ----------
        module : module
            It is about to be executed.

        Returns
        -------
        context manager
            A `FirstImport`; where it is none, one that does nothing.
        """
        spec = module.__spec__
        name = module.__name__ if spec is None else spec.name
        if name in self._imported or sys.modules.get(name) is not module:
            return nullcontext()
        return FirstImport(self, name, str(spec.origin) if spec else "")

    def done(self, name: str) -> None:
        """Note that a module has been imported; what comes after that is a second import.

        Parameters
        ----------
        name : str
            Of the module.
        """
        self._imported.add(name)

    def move(self, ended: Callable[[FirstImport], None], room: Room) -> None:
        """Go on in a forked process.

        Parameters
        ----------
        ended : callable
            Called from now on with each import that has ended well.
        room : callable
            Where their cells come from now on, as `Room` says.
        """
        self.ended, self.room = ended, room
        self.captures.move()


def _initializing(module: object) -> bool:
    """Whether a module is still being imported; nothing of the module's own is run to find out."""
    if not issubclass(type(module), ModuleType):
        return False
    spec = ModuleType.__getattribute__(module, "__dict__").get("__spec__")
    return bool(getattr(spec, "_initializing", False))
