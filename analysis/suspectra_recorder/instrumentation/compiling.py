"""Instrumenting code of files that a program compiles itself.

``runpy.run_path``, loaders that are not Python's own and ``exec(compile(source, path, "exec"))`` all call the builtin
``compile``, which is replaced while the hook is installed. ``exec`` is not replaced, because it may use the frame of
its caller.
"""

from __future__ import annotations
import __future__

import builtins
import functools
import importlib
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.failure_guard import Guard
from suspectra_recorder.instrumentation.library_references import os, sys
from suspectra_recorder.instrumentation.standard_library import StandardLibrary

if TYPE_CHECKING:
    import ast

__builtins__ = library_references.builtins
__tracebackhide__ = True  # pytest leaves out what stands between the program and its error


class MakeCode(Protocol):
    """Makes the instrumented code of a file."""

    def __call__(self, path: str, name: str, source: bytes, *, flags: int = 0) -> CodeType | None:
        """Make it.

        None to not instrument it.
        """


_OTHER_SYNTAX = __future__.barry_as_FLUFL.compiler_flag
_KNOWN = functools.reduce(
    int.__or__,
    (
        getattr(__future__, name).compiler_flag
        for name in __future__.all_feature_names
        if name not in ("nested_scopes", "barry_as_FLUFL")  # the former's flag means that a function is inside another
    ),
)
_IMPORT_SYSTEM = vars(importlib._bootstrap_external)


class CompileHook:
    """Instruments what is compiled from an unchanged file."""

    def __init__(
        self,
        scope: Callable[[str], str | None],
        instrument: MakeCode,
        guard: Guard,
        instrument_tree: Callable[[str, str, ast.Module, int, str], CodeType | None] | None = None,
    ):
        self.scope = scope
        self.guard = guard  # catches failures of the hook
        self.instrument = instrument  # makes the code of a file
        # makes the code of a tree that another tool has changed, given the path, the recorded name, the tree, the flags
        # of `compile`, and the name of the tool
        self.instrument_tree = instrument_tree
        self.made = 0  # how many times code was instrumented
        self._original: Callable[..., Any] | None = None

    def install(self) -> None:
        """Start instrumenting code that is compiled."""
        original = self._original = builtins.compile
        # looked up once: the wrapper below runs in the middle of the program
        attempt, instrumented = self.guard.attempt, self._code

        @functools.wraps(original)
        def compile(
            source: Any,
            filename: Any,
            mode: str,
            flags: int = 0,
            dont_inherit: bool = False,
            optimize: int = -1,
            **others: Any,
        ) -> Any:
            caller = sys._getframe(1)
            if not dont_inherit and type(flags) is int:  # inherit flags from the caller's frame, not from this one
                flags |= caller.f_code.co_flags & (_KNOWN | _OTHER_SYNTAX)
            if mode == "exec" and not flags & ~_KNOWN and optimize == -1 and not others:
                about = filename if type(filename) is str else "<code>"
                # to say who compiles a tree of its own where that can't be instrumented
                tool = str(caller.f_globals.get("__name__", "")).partition(".")[0]
                code = attempt(about, instrumented, source, filename, flags, tool)
                if code is not None:
                    self.made += 1
                    return code
            return original(source, filename, mode, flags, True, optimize, **others)

        builtins.compile = compile
        # the import system gets the original, as its results may be written to __pycache__
        _IMPORT_SYSTEM["compile"] = original

    def uninstall(self) -> None:
        """Stop; a hook that another tool has installed over this one continues."""
        if self._original is not None:
            builtins.compile = self._original
            _IMPORT_SYSTEM.pop("compile", None)
            self._original = None

    def _code(self, source: Any, filename: Any, flags: int, tool: str) -> CodeType | None:
        if type(source).__name__ == "Module" and type(filename) is str and filename.endswith(".py"):
            return self._from_tree(source, filename, flags, tool)
        if type(source) not in (str, bytes) or type(filename) is not str or not filename.endswith(".py"):
            return None
        # other sources may be compiled under the name of a file
        name = self.scope(filename)
        data = None if name is None else file_with(os.path.abspath(filename), source)
        return None if name is None or data is None else self.instrument(filename, name, data, flags=flags)

    def _from_tree(self, tree: Any, filename: str, flags: int, tool: str) -> CodeType | None:
        # what pytest compiles may get into __pycache__, and has probes in another way
        name = self.scope(filename) if self.instrument_tree is not None and tool != "_pytest" else None
        return (
            None
            if name is None or self.instrument_tree is None
            else self.instrument_tree(filename, name, tree, flags, tool)
        )


def file_with(path: str, source: str | bytes) -> bytes | None:
    """Read a file if its content is a certain source.

    The bytes of the file; None if it has another content, or can't be read.
    """
    try:
        with open(path, "rb") as stream:
            data = stream.read()
        if isinstance(source, bytes):
            return data if data == source else None
        with StandardLibrary():  # seldom needed, and slow to import
            from suspectra_recorder.instrumentation.parser_references import decode_source
        text = decode_source(data)
        return data if text == source.replace("\r\n", "\n").replace("\r", "\n") else None
    except (OSError, SyntaxError, ValueError):
        return None
