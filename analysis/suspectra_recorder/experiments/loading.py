"""The import hook of experiments: it instruments the modules of the workspace, except test code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from types import CodeType
from typing import Protocol

from suspectra_recorder.assertions import instrument_rewritten
from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.cells import with_cells
from suspectra_recorder.instrumentation.compiling import CompileHook
from suspectra_recorder.instrumentation.control import left_alone
from suspectra_recorder.instrumentation.guard import Guard
from suspectra_recorder.instrumentation.loaded_file import placeholder
from suspectra_recorder.instrumentation.loaders import LoaderHook
from suspectra_recorder.instrumentation.own import hashlib
from suspectra_recorder.instrumentation.source import parse, without_collecting
from suspectra_recorder.scope import Scope

__builtins__ = own.builtins
__tracebackhide__ = True  # pytest leaves out what stands between the program and its error


class Instrument(Protocol):
    r"""Inserts calls of itself into sources; instrumented code has it as a constant, so no namespace gets a name.

    Attributes
    ----------
    tests : bool
        Whether test code is instrumented, too.
    last : bool
        Whether it gets the code that all others have finished.

    Examples
    --------
    >>> class Count(Instrument):
    ...     lines = 0
    ...     def insert(self, tree, path, placeholder, *, asserts):
    ...         Count.lines += len(tree.body)
    ...         return lambda: print("inserted into", path)
    >>> code = ExperimentHook(Scope(str(folder)), [Count()]).code("/work/price.py", "price.py", b"vat = 20\n")
    inserted into price.py
    >>> Count.lines, Count().finish(code, "no such string", "price.py") == code
    (1, True)
    """

    tests: bool = False
    last: bool = False

    def insert(self, tree: ast.Module, path: str, placeholder: str, *, asserts: bool) -> Callable[[], None]:
        """Change a source, without changing what it does.

        Parameters
        ----------
        tree : ast.Module
            Changed in place.
        path : str
            Relative to the workspace.
        placeholder : str
            The string that stands for the instrument in the tree.
        asserts : bool
            Whether asserts may be changed; they must stay where another tool will take them apart.

        Returns
        -------
        callable
            Called when the source could be compiled, before it is executed.
        """

    def finish(self, code: CodeType, placeholder: str, path: str) -> CodeType:
        """Put this instrument into compiled code.

        Parameters
        ----------
        code : CodeType
            Of the module.
        placeholder : str
            The string that stands for the instrument.
        path : str
            Relative to the workspace.

        Returns
        -------
        CodeType
            Code that calls the instrument.
        """
        return with_cells(code, placeholder, self)


class ExperimentHook:
    r"""Instruments the files in `scope`.

    Parameters
    ----------
    scope : Scope
        The workspace. Its test code stays as it is, unless an instrument asks for it: it says what is right.
    instruments : sequence of Instrument
        What is inserted, the first one first.

    Attributes
    ----------
    guard : Guard
        Knows which files could not be instrumented; they run as they are.
    changed : dict of str to str
        By file: which other tool compiles functions of it from a tree that it has changed; they run as they are.

    Examples
    --------
    >>> from suspectra_recorder.experiments.switchboard import Switchboard
    >>> board = Switchboard()
    >>> hook = ExperimentHook(Scope(str(folder), include_tests=True), [board])
    >>> hook.scope(str(folder / "price.py")), hook.scope(str(folder / "test_price.py"))
    ('price.py', None)
    >>> hook.is_test_code(str(folder / "test_price.py"))
    True
    >>> space = {}
    >>> exec(hook.code(str(folder / "price.py"), "price.py", b"price = 0 if free else 20\n"), {"free": True}, space)
    >>> space["price"], [source.path for source in board.sources.loaded]
    (0, ['price.py'])
    >>> hook.move(Scope(str(folder), include_tests=True, patterns=("*.py",)))
    >>> hook.is_test_code(str(folder / "price.py"))
    True
    >>> hook.install()  # so that it is used for what is imported
    >>> hook.uninstall()
    """

    def __init__(self, scope: Scope, instruments: Sequence[Instrument]):
        self._scope, self._instruments = scope, tuple(sorted(instruments, key=lambda one: one.last))
        self.guard = Guard()
        self.changed: dict[str, str] = {}
        self._tests = any(instrument.tests for instrument in instruments)
        self._compiling = CompileHook(self.scope, self.code, self.guard, self._refuse)
        self._loading = LoaderHook(self.scope, self.code, self.guard, self._compiling)
        self._undo_rewritten: Callable[[], None] = lambda: None

    def scope(self, path: str) -> str | None:
        """The name of a file that is instrumented, None for any other.

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
        return None if name is None or (not self._tests and self.is_test_code(path)) else name

    def is_test_code(self, path: str) -> bool:
        """Whether a file is test code.

        Parameters
        ----------
        path : str
            Absolute.

        Returns
        -------
        bool
            It is never altered.
        """
        return self._scope.is_test_code(path)

    def move(self, scope: Scope) -> None:
        """Take other files, or others as test code, from now on.

        Parameters
        ----------
        scope : Scope
            Of the same workspace.
        """
        self._scope = scope

    def install(self) -> None:
        """Instrument what is loaded from now on, by Python's loaders and by pytest's."""
        from _pytest.assertion import rewrite

        self._loading.install()
        self._compiling.install()
        self._undo_rewritten = instrument_rewritten(rewrite, self, lambda module: nullcontext())

    def uninstall(self) -> None:
        """Stop; what is loaded stays instrumented."""
        self._undo_rewritten()
        self._compiling.uninstall()
        self._loading.uninstall()

    def code(
        self,
        path: str,
        name: str,
        source: bytes,
        rewrite: Callable[[ast.Module], None] | None = None,
        variant: str = "",
        flags: int = 0,
    ) -> CodeType | None:
        """Make the instrumented code of a source.

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

    def _refuse(self, path: str, name: str, tree: ast.Module, flags: int, tool: str) -> None:
        """Note a file of which another tool compiles a tree that it has changed: decisions and values are not found."""
        self.changed.setdefault(name, tool)

    def _code(
        self, path: str, name: str, source: bytes, rewrite: Callable[[ast.Module], None] | None, flags: int
    ) -> CodeType | None:
        digest = hashlib.sha256(source).hexdigest()
        is_test = self.is_test_code(path)
        instruments = [one for one in self._instruments if one.tests or not is_test]
        names = [placeholder(name, f"{digest} {number}") for number in range(len(instruments))]
        try:
            with without_collecting():
                tree = parse(source, path)
                alone = {node: node.body for node in left_alone(tree, compares=b"co_code" in source)}
                for node, body in alone.items():
                    node.body = [ast.copy_location(ast.Pass(), body[0])]
                inserted = [
                    instrument.insert(tree, name, own_name, asserts=rewrite is None)
                    for instrument, own_name in zip(instruments, names, strict=True)
                ]
                for node, body in alone.items():
                    node.body = body
        except SyntaxError:
            return None  # Python's own loader reports it best
        if rewrite is not None:
            rewrite(tree)
        code: CodeType = compile(tree, path, "exec", flags, dont_inherit=True)
        for add in inserted:
            add()
        for instrument, own_name in zip(instruments, names, strict=True):
            code = instrument.finish(code, own_name, name)
        return code
