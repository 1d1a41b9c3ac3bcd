"""The import hook of experiments: it instruments the modules of the workspace, except test code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from types import CodeType, MappingProxyType
from typing import Protocol

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.block_control import left_alone, tests_in
from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.instrumentation.compiling import CompileHook
from suspectra_recorder.instrumentation.failure_guard import Guard
from suspectra_recorder.instrumentation.library_references import hashlib, os
from suspectra_recorder.instrumentation.loaded_file import placeholder
from suspectra_recorder.instrumentation.loaders import LoaderHook
from suspectra_recorder.instrumentation.source import parse, without_collecting
from suspectra_recorder.pytest.assertions import instrument_rewritten
from suspectra_recorder.recorded_files import RecordedFiles

__builtins__ = library_references.builtins
__tracebackhide__ = True  # pytest leaves out what stands between the program and its error


class Instrument(Protocol):
    """Inserts calls of itself into sources; instrumented code has it as a constant, so no namespace gets a name."""

    tests: bool = False  # whether test code is instrumented, too
    last: bool = False  # whether it gets the code that all others have finished

    def insert(self, tree: ast.Module, path: str, placeholder: str, *, asserts: bool) -> Callable[[], None]:
        """Change a source, without changing what it does.

        Called when the source could be compiled, before it is executed.
        """

    def finish(self, code: CodeType, placeholder: str, path: str) -> CodeType:
        """Put this instrument into compiled code."""
        return with_cells(code, placeholder, self)


class ExperimentHook:
    """Instruments the files in `scope`, some of which may have other texts than on the disk."""

    def __init__(
        self,
        scope: RecordedFiles,
        instruments: Sequence[Instrument],
        altered: Mapping[str, str] = MappingProxyType({}),  # by name
    ):
        self._altered = altered
        self.loaded_altered: set[str] = set()  # the names of those that were loaded
        # what exchanges finished code comes last
        self._scope, self._instruments = scope, tuple(sorted(instruments, key=lambda one: one.last))
        self.guard = Guard()  # knows which files could not be instrumented; they run as they are
        # by file: which other tool compiles functions of it from a tree that it has changed; they run as they are
        self.changed: dict[str, str] = {}
        self._tests = any(instrument.tests for instrument in instruments)
        self._compiling = CompileHook(self.scope, self.code, self.guard, self._refuse)
        self._loading = LoaderHook(self.scope, self.code, self.guard, self._compiling)
        self.readers = self._loading.readers
        self._undo_rewritten: Callable[[], None] = lambda: None

    def scope(self, path: str) -> str | None:
        """The name of a file that is instrumented, None for any other."""
        name = self._scope(path)
        return None if name is None or (not self._tests and self.is_test_code(path)) else name

    def is_test_code(self, path: str) -> bool:
        """Whether a file is test code.

        It is never altered.
        """
        return self._scope.is_test_code(path)

    def move(self, scope: RecordedFiles) -> None:
        """Take other files, or others as test code, from now on."""
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
        variant: str = "",  # of no use here, where no code is kept
        flags: int = 0,
    ) -> CodeType | None:
        """Make the instrumented code of a source.

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
        # each instrument has a name of its own in the code, until it takes its place
        names = [placeholder(name, f"{digest} {number}") for number in range(len(instruments))]
        try:
            with without_collecting():
                tree = parse(self._altered.get(name, source), path)
                # these get no calls, since a decorator may compare their bytecode: see `left_alone`
                found = left_alone(tree, compares=b"co_code" in source)
                if not self._tests and self._scope.is_mixed(os.path.realpath(path)):
                    found |= tests_in(tree)
                alone = {node: node.body for node in found}
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
        self.readers.instrumented(path, digest, flags)
        code: CodeType = compile(tree, path, "exec", flags, dont_inherit=True)
        # only now is it certain that the source can be compiled, and its points get their numbers
        for add in inserted:
            add()
        for instrument, own_name in zip(instruments, names, strict=True):
            code = instrument.finish(code, own_name, name)
        if name in self._altered:
            self.loaded_altered.add(name)
        return code
