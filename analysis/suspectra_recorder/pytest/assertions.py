"""Instrumenting modules that pytest's own loader loads, because pytest rewrites their asserts."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Protocol

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.bytecode_readers import BytecodeReaders
from suspectra_recorder.instrumentation.failure_guard import Guard, like_an_import

__builtins__ = library_references.builtins
__tracebackhide__ = True  # pytest omits these frames from tracebacks


class _Hook(Protocol):
    """What instruments modules of the workspace."""

    guard: Guard

    readers: BytecodeReaders

    @property
    def scope(self) -> Callable[[str], str | None]:
        """Gives the name of a file that is wanted, None for any other."""

    def code(
        self, path: str, name: str, source: bytes, rewrite: Callable[[ast.Module], None] | None, variant: str
    ) -> CodeType | None:
        """Make the instrumented code of a file.

        None when it can't be instrumented.
        """


def instrument_rewritten(
    rewrite: ModuleType, hook: _Hook, capture: Callable[[ModuleType], AbstractContextManager[object]]
) -> Callable[[], None]:
    """Instrument modules that pytest's loader loads from now on."""
    from _pytest import __version__

    loader = rewrite.AssertionRewritingHook
    original = loader.exec_module

    def instrumented(self: Any, path: str) -> CodeType | None:
        name = hook.scope(path)
        if name is None:
            return None
        with open(path, "rb") as stream:
            source = stream.read()

        def rewrite_asserts(tree: ast.Module) -> None:
            rewrite.rewrite_asserts(tree, source, path, self.config)

        # what the code depends on besides the source, for the key of the cache
        variant = f"asserts {__version__} {self.config.getini('enable_assertion_pass_hook')}"
        return hook.code(path, name, source, rewrite_asserts, variant)

    @functools.wraps(original)
    @like_an_import
    def exec_module(self: Any, module: ModuleType) -> None:
        with capture(module):
            execute(self, module)

    @like_an_import
    def execute(self: Any, module: ModuleType) -> None:
        path = str(module.__spec__.origin) if module.__spec__ else ""
        code = hook.guard.attempt(path, instrumented, self, path)
        if code is None:
            original(self, module)
            hook.guard.attempt(path, hook.readers.executed, module.__name__, vars(module))
        else:
            hook.readers.loaded(module.__name__, code)
            # as pytest's own loader does; else it warns that they can't be rewritten any more
            self._rewritten_names[module.__name__] = Path(path)
            vars(module).setdefault("__builtins__", vars(builtins))  # otherwise exec would set those of the recorder
            exec(code, vars(module))

    loader.exec_module = exec_module

    def undo() -> None:
        loader.exec_module = original

    return undo
