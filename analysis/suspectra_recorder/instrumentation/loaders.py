"""Instrumenting what Python's loaders of sources load, for any finder.

Every loader of sources inherits ``get_code`` from one class of :mod:`importlib`, where it is replaced while the hook is
installed. Module specs and loaders are not changed, and modules that are loaded by path, by editable installs or by
``runpy`` are instrumented like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import TYPE_CHECKING, Any

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.bytecode_readers import BytecodeReaders
from suspectra_recorder.instrumentation.compiling import CompileHook, MakeCode, file_with
from suspectra_recorder.instrumentation.failure_guard import Guard, like_an_import
from suspectra_recorder.instrumentation.loaded_file import SOURCE_LOADER

if TYPE_CHECKING:
    from importlib.abc import SourceLoader

__builtins__ = library_references.builtins
__tracebackhide__ = True  # pytest omits these frames from tracebacks


class LoaderHook:
    """Instruments what is loaded from an unchanged file."""

    def __init__(
        self,
        scope: Callable[[str], str | None],
        instrument: MakeCode,
        guard: Guard,
        compiling: CompileHook | None = None,
    ):
        self.scope = scope
        self.guard = guard  # catches failures of the hook
        self.instrument = instrument  # makes the code of a file
        self.compiling = compiling  # instruments what other loaders compile
        self.readers = BytecodeReaders(guard)  # gives functions whose bytecode is read their own code
        # the function that all loaders have while the hook is installed
        self.get_code: Callable[..., Any] | None = None
        self._original: Callable[..., Any] | None = None

    def install(self) -> None:
        """Start instrumenting modules that are loaded."""
        original, plain = SOURCE_LOADER.get_code, SOURCE_LOADER.source_to_code
        attempt, instrumented, changed = self.guard.attempt, self._code, self._from_another_tool
        loaded = self.readers.loaded
        self.readers.install()

        def get_code(loader: SourceLoader, fullname: str) -> CodeType | None:
            # a loader with its own source_to_code is another tool's hook, which must not be bypassed
            make = instrumented if type(loader).source_to_code is plain else changed
            # Python's own loader takes over where it fails, and reports what is wrong with the source
            code = attempt(fullname, make, loader, fullname)
            if code is None:
                code = original(loader, fullname)
            attempt(fullname, loaded, fullname, code)
            return code

        self._original = original
        self.get_code = SOURCE_LOADER.get_code = like_an_import(get_code)

    def uninstall(self) -> None:
        """Stop."""
        if self._original is not None:
            SOURCE_LOADER.get_code = self._original
            self._original = self.get_code = None
            self.readers.uninstall()

    def _code(self, loader: SourceLoader, fullname: str) -> CodeType | None:
        path = loader.get_filename(fullname)
        name = self.scope(path)
        source = None if name is None else _source(loader, path)
        return None if name is None or source is None else self.instrument(path, name, source)

    def _from_another_tool(self, loader: SourceLoader, fullname: str) -> CodeType | None:
        """Let a tool make its code, but not store it: probes can't be stored."""
        path = loader.get_filename(fullname)
        if self.compiling is None or self.scope(path) is None:
            return None
        # the tool compiles by the builtin, which is replaced: that says whether the code has probes
        made = self.compiling.made
        try:
            code: CodeType = loader.source_to_code(loader.get_data(path), path)
        except SyntaxError:
            return None  # it reports it best itself
        return code if self.compiling.made > made else None


def _source(loader: SourceLoader, path: str) -> bytes | None:
    """The source that a loader loads; None if it differs from the file."""
    source = loader.get_data(path)
    return source if isinstance(loader, SourceFileLoader) else file_with(path, source)
