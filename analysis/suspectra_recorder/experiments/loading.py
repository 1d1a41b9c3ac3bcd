"""The import hook: modules of the workspace ask the switchboard once they are loaded, test code excepted."""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import nullcontext
from types import CodeType
from typing import TYPE_CHECKING

from suspectra_recorder.assertions import instrument_rewritten
from suspectra_recorder.experiments.decisions import instrument
from suspectra_recorder.experiments.switchboard import Switchboard
from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.cells import with_cells
from suspectra_recorder.instrumentation.compiling import CompileHook
from suspectra_recorder.instrumentation.guard import Guard, like_an_import
from suspectra_recorder.instrumentation.loaded_file import SOURCE_LOADER, placeholder
from suspectra_recorder.instrumentation.own import hashlib
from suspectra_recorder.scope import Scope

if TYPE_CHECKING:
    from importlib.abc import SourceLoader

__builtins__ = own.builtins
__tracebackhide__ = True  # pytest leaves out what stands between the program and its error


class SwitchingHook:
    """Instruments the decisions of what `scope` wants.

    Parameters
    ----------
    scope : Scope
        The workspace. Its test code stays as it is: it says what is right.
    board : Switchboard
        What decisions ask.

    Attributes
    ----------
    guard : Guard
        Knows which files could not be instrumented; they run as they are.
    """

    def __init__(self, scope: Scope, board: Switchboard):
        self._scope, self._board = scope, board
        self.guard = Guard()
        self._compiling = CompileHook(self.scope, self._compiled, self.guard)

    def scope(self, path: str) -> str | None:
        """The name of a file whose decisions can be switched, None for any other.

        Parameters
        ----------
        path : str
            Absolute.

        Returns
        -------
        str or None
            Relative to the workspace.
        """
        name = self._scope(path)
        return None if name is None or self._scope.is_test_code(path) else name

    def install(self) -> None:
        """Instrument what is loaded from now on, by Python's loaders and by pytest's."""
        from _pytest.assertion import rewrite

        original, plain = SOURCE_LOADER.get_code, SOURCE_LOADER.source_to_code
        attempt, loaded = self.guard.attempt, self._loaded

        def get_code(loader: SourceLoader, fullname: str) -> CodeType | None:
            # a loader with its own way to make code is another tool's hook: what it does must stay
            code = attempt(fullname, loaded, loader, fullname) if type(loader).source_to_code is plain else None
            return original(loader, fullname) if code is None else code

        SOURCE_LOADER.get_code = like_an_import(get_code)
        self._compiling.install()
        instrument_rewritten(rewrite, self, lambda module: nullcontext())

    def _loaded(self, loader: SourceLoader, fullname: str) -> CodeType | None:
        path = loader.get_filename(fullname)
        name = self.scope(path)
        return None if name is None else self.code(path, name, loader.get_data(path))

    def _compiled(self, path: str, source: bytes, flags: int) -> CodeType | None:
        name = self.scope(path)
        return None if name is None else self.code(path, name, source, flags=flags)

    def code(
        self,
        path: str,
        name: str,
        source: bytes,
        rewrite: Callable[[ast.Module], None] | None = None,
        variant: str = "",
        flags: int = 0,
    ) -> CodeType | None:
        """Make the code of a source whose decisions ask the board.

        Parameters
        ----------
        path : str
            Of the file.
        name : str
            Relative to the workspace.
        source : bytes
            The file as it is on disk.
        rewrite : callable, optional
            Changes the tree further.
        variant : str
            Of no use here, where no code is kept.
        flags : int
            Those of ``compile``.

        Returns
        -------
        CodeType or None
            None when the source can't be instrumented.
        """
        return self.guard.attempt(name, self._code, path, name, source, rewrite, flags)

    def _code(
        self, path: str, name: str, source: bytes, rewrite: Callable[[ast.Module], None] | None, flags: int
    ) -> CodeType | None:
        board = placeholder(name, hashlib.sha256(source).hexdigest())
        try:
            tree, sites = instrument(source, path, board, self._board.next, asserts=rewrite is None)
        except SyntaxError:
            return None  # Python's own loader reports it best
        if rewrite is not None:
            rewrite(tree)
        code = compile(tree, path, "exec", flags, dont_inherit=True)
        self._board.add(name, sites)
        return with_cells(code, board, self._board)
