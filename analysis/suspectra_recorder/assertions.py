"""Modules whose asserts pytest rewrites are loaded by pytest's own loader, which gets probes here."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.first_imports import FirstImports
from suspectra_recorder.instrumentation.guard import like_an_import
from suspectra_recorder.instrumentation.imports import ImportHook

__builtins__ = own.builtins
__tracebackhide__ = True  # pytest leaves out what stands between the program and its error


def instrument_rewritten(rewrite: Any, hook: ImportHook, imports: FirstImports) -> Callable[[], None]:
    """Instrument what pytest's loader loads from now on.

    Parameters
    ----------
    rewrite : module
        ``_pytest.assertion.rewrite``, of which nothing more of pytest need be there.
    hook : ImportHook
        What makes the code with probes.
    imports : FirstImports
        What executes modules, so that first imports are told apart here too.

    Returns
    -------
    callable
        Undoes it.
    """
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

        variant = f"asserts {__version__} {self.config.getini('enable_assertion_pass_hook')}"
        return hook.code(path, name, source, rewrite_asserts, variant)

    @functools.wraps(original)
    @like_an_import
    def exec_module(self: Any, module: ModuleType) -> None:
        with imports.capture(module):
            execute(self, module)

    @like_an_import
    def execute(self: Any, module: ModuleType) -> None:
        path = str(module.__spec__.origin) if module.__spec__ else ""
        code = hook.guard.attempt(path, instrumented, self, path)
        if code is None:
            original(self, module)
        else:
            self._rewritten_names[module.__name__] = Path(path)
            vars(module).setdefault("__builtins__", vars(builtins))  # exec would set the recorder's own
            exec(code, vars(module))

    loader.exec_module = exec_module

    def undo() -> None:
        loader.exec_module = original

    return undo
