"""Giving the functions of a program the code of other texts of it, where that is enough: nothing is imported again.

It is enough where only bodies of functions differ, or data that nothing has read yet. What a function did while modules
were imported, such as filling a table, was done by its old code: whoever asks has to make sure in a process that loads
the program anew.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import NamedTuple

from suspectra_recorder.experiments.opened_files import OpenedFiles
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, sys
from suspectra_recorder.instrumentation.outline import Outline, difference
from suspectra_recorder.instrumentation.source import parse, without_collecting
from suspectra_recorder.warm.live_code import heads

__builtins__ = library_references.builtins

_IS_FUNCTION = 0x01  # CO_OPTIMIZED: what code of functions has, and that of modules and classes has not

Exchanged = list[tuple[FunctionType, CodeType]]
"""Functions, each with its new code."""


class _Text(NamedTuple):
    """A text of a file."""

    outline: Outline
    heads: list[tuple[str, str | None]]
    codes: dict[tuple[tuple[str, int], ...], CodeType]  # of functions that are in no other one, by their place


class LoadedProgram:
    """The files of a program that this process loads, and whose texts may become others."""

    def __init__(self, workspace: str, files: list[str]):
        self._paths = {file: os.path.join(workspace, file) for file in files}
        self._loaded = self._read()
        self._opened = OpenedFiles(workspace, (file for file in files if not file.endswith(".py")))
        self._has: set[str] = set()  # data that was read while the program was loaded
        self._modules: set[str] = set()
        self._functions: dict[str, list[FunctionType]] = {}  # by path
        self._known: dict[tuple[str, bytes], Exchanged | None] = {}
        self._texts: dict[str, _Text] = {}

    def _read(self) -> dict[str, bytes | None]:
        return {file: _bytes(path) for file, path in self._paths.items()}

    def look(self) -> None:
        """Find the functions and data that were loaded."""
        self._has = set(self._opened.names)
        paths = frozenset(self._paths.values())
        files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        self._modules = {file for file in files if file in paths}
        for thing in gc.get_objects():
            if type(thing) is FunctionType and thing.__code__.co_filename in paths:
                self._functions.setdefault(thing.__code__.co_filename, []).append(thing)

    def newer(self, files: list[str]) -> Exchanged | None:
        """The functions whose code differs in the present texts of these files and those that are known from before.

        None if the program has to be loaded for these.
        """
        found: Exchanged = []
        if not self._paths.keys() >= set(files):
            return None
        for file, text in self._read().items():
            loaded = self._loaded[file]
            if text == loaded:
                continue
            if text is None or loaded is None:
                return None
            if not file.endswith(".py"):
                if file in self._has or self._paths[file] in self._modules:
                    return None
                continue  # a test reads it, if anything does
            if (file, text) not in self._known:
                with without_collecting():
                    self._known[file, text] = self._exchanged(file, loaded, text)
            one = self._known[file, text]
            if one is None:
                return None
            found += one
        return found

    def _exchanged(self, file: str, loaded: bytes, text: bytes) -> Exchanged | None:
        path = self._paths[file]
        if path not in self._modules:
            return None if path in self._functions else []  # it is loaded by the run, if at all
        try:
            if file not in self._texts:
                self._texts[file] = _text(path, loaded)
            old, new = self._texts[file], _text(path, text)
        except (SyntaxError, ValueError, RecursionError):
            return None
        changed = difference(old.outline, new.outline)
        if changed.around or changed.plain or old.heads != new.heads or old.codes.keys() != new.codes.keys():
            return None
        found: Exchanged = []
        for place, code in old.codes.items():
            other = new.codes[place]
            if _same(code, other):
                continue
            # code that another tool has altered, such as asserts by pytest, is not that of the text
            live = [function for function in self._functions.get(path, ()) if function.__code__ == code]
            if not live or (code.co_freevars, code.co_flags) != (other.co_freevars, other.co_flags):
                return None
            found += [(function, other) for function in live]
        return found


def _bytes(path: str) -> bytes | None:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return None


def _text(path: str, text: bytes) -> _Text:
    tree = parse(text, path)
    code: CodeType = compile(tree, path, "exec", dont_inherit=True)
    return _Text(Outline.from_tree(tree), list(heads(tree)), dict(_functions(code, ())))


def _functions(
    code: CodeType, place: tuple[tuple[str, int], ...]
) -> Iterator[tuple[tuple[tuple[str, int], ...], CodeType]]:
    """The code of functions in that of a module or class, without functions inside of these."""
    count: dict[str, int] = {}
    for constant in code.co_consts:
        if type(constant) is CodeType:
            name = constant.co_name
            inside = (*place, (name, count.setdefault(name, 0)))
            count[name] += 1
            if constant.co_flags & _IS_FUNCTION:
                yield inside, constant
            else:
                yield from _functions(constant, inside)


def _same(code: CodeType, other: CodeType) -> bool:
    """Whether two functions do the same, though they may be at other lines."""
    return _does(code) == _does(other) and all(
        _same(one, another) if type(one) is CodeType and type(another) is CodeType else _equal(one, another)
        for one, another in zip(code.co_consts, other.co_consts, strict=True)
    )


def _does(code: CodeType) -> tuple[object, ...]:
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    handlers = getattr(code, "co_exceptiontable", b"")
    return code.co_name, code.co_code, handlers, code.co_flags, len(code.co_consts), code.co_argcount, names


def _equal(one: object, other: object) -> bool:
    """Whether two constants are the same: 1, 1.0 and True are equal, and 0.0 and -0.0, too."""
    return type(one) is type(other) and repr(one) == repr(other)
