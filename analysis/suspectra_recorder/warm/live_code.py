"""Giving the functions of this process the code of newer sources, so that nothing is imported again.

That is right only where a fresh process would differ in nothing but the bodies of functions that have not run yet. So
it is refused wherever anything else may differ: see `LiveCode.replace`.
"""

from __future__ import annotations

import gc
import linecache
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import AsyncGeneratorType, CodeType, CoroutineType, FunctionType, GeneratorType

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.imports import ImportHook
from suspectra_recorder.instrumentation.loaded_file import LoadedCode, LoadedFile
from suspectra_recorder.instrumentation.outline import Outline, difference
from suspectra_recorder.instrumentation.parser_references import ast
from suspectra_recorder.instrumentation.probes import cells_of_functions
from suspectra_recorder.instrumentation.source import parse, without_collecting

__builtins__ = library_references.builtins

_SUSPENDED = (GeneratorType, CoroutineType, AsyncGeneratorType)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DOCUMENTED = (ast.Module, ast.ClassDef, *_FUNCTIONS)

_CodePath = tuple[tuple[str, int], ...]
"""Where code is: for each code around it, and itself, its name and how many of that name come before."""


class NotReplaceable(Exception):
    """A fresh process is needed; the text says why."""


class LiveCode:
    """The functions of this process that were loaded from recorded sources."""

    def __init__(self, hook: ImportHook):
        self._hook = hook
        self._loaded = hook.kept or {}
        self._trees = {name: list(_codes(found[0].code)) for name, found in self._loaded.items()}
        known = {id(code) for tree in self._trees.values() for _, code in tree}
        paths = {found[0].path: name for name, found in self._loaded.items()}
        self._functions: dict[int, list[FunctionType]] = {}  # by the identity of their code
        self._refused: dict[str, str] = {}
        # before the objects are frozen: after that it does not list them
        for thing in gc.get_objects():
            kind = type(thing)
            if kind is FunctionType:
                code = thing.__code__
                if id(code) in known:
                    self._functions.setdefault(id(code), []).append(thing)
                elif code.co_filename in paths:
                    self._refused[paths[code.co_filename]] = f"{code.co_name} has code that was altered"
            elif kind in _SUSPENDED:
                code = _code_of(thing)
                if code is not None and code.co_filename in paths:
                    self._refused[paths[code.co_filename]] = f"{code.co_name} is a suspended generator or coroutine"
        self._refused.update({n: "it was loaded more than once" for n, found in self._loaded.items() if len(found) > 1})

    def replace(self, names: Iterable[str]) -> None:
        """Replace the code of all functions of some files, which are read again.

        Of each file all functions are replaced, since lines may have moved.

        Raises NotReplaceable when anything differs but the bodies of functions: what runs at import, the functions
        there are, parameters, decorators, annotations, docstrings; when such a function ran before the first test, or
        uses variables of other functions than before; and when code is in use that is not that of a function of the
        file. Then some functions may have been replaced.
        """
        with without_collecting():
            for name in names:
                if name in self._refused:
                    raise NotReplaceable(f"{name}: {self._refused[name]}")
                self._replace(name, self._loaded[name][0])
        # tracebacks show the lines as they are now
        linecache.checkcache()

    def _replace(self, name: str, loaded: LoadedCode) -> None:
        if loaded.variant:
            raise NotReplaceable(f"{name}: its asserts were rewritten")
        try:
            with open(loaded.path, "rb") as stream:
                source = stream.read()
            old, new = parse(loaded.source, loaded.path), parse(source, loaded.path)
        except (OSError, SyntaxError, ValueError, RecursionError) as error:
            raise NotReplaceable(f"{name}: {error}") from None
        outline, cells = cells_of_functions(loaded.file.map)
        changed = difference(outline, Outline.from_tree(new))
        if changed.around or changed.whole or changed.plain:
            raise NotReplaceable(f"{name}: what runs when it is imported changed")
        if list(heads(old)) != list(heads(new)):
            raise NotReplaceable(f"{name}: a docstring or a parameter changed")
        for key in changed.bodies:
            # what it did, such as filling a table, was done by its old code
            if any(loaded.file.cells[cell] for cell in cells.get(key, ())) or not cells.get(key):
                raise NotReplaceable(f"{name}: {key[0]} ran before the first test")
        code = self._hook.code(loaded.path, name, source)
        file = next((file for file in self._hook.files if file.path == name and file is not loaded.file), None)
        if code is None or file is None:
            raise NotReplaceable(f"{name}: it could not be instrumented")
        newer = dict(_codes(code))
        for place, known in self._trees[name]:
            for function in self._functions.get(id(known), ()):
                other = newer.get(place)
                if other is None or (other.co_freevars, other.co_flags) != (known.co_freevars, known.co_flags):
                    raise NotReplaceable(f"{name}: {known.co_name} is another kind of function now")
                function.__code__ = other
        _carry_over(loaded.file, cells, file)
        self._hook.exchange(loaded.file, file)


def _codes(code: CodeType) -> Iterator[tuple[_CodePath, CodeType]]:
    """All code inside of a module's code, with its place."""
    pending: list[tuple[_CodePath, CodeType]] = [((), code)]
    while pending:
        place, outer = pending.pop()
        yield place, outer
        count = Counter[str]()
        for constant in outer.co_consts:
            if type(constant) is CodeType:
                pending.append(((*place, (constant.co_name, count[constant.co_name])), constant))
                count[constant.co_name] += 1


def _code_of(suspended: object) -> CodeType | None:
    for name in ("gi_code", "cr_code", "ag_code"):
        if (code := getattr(suspended, name, None)) is not None:
            return code if getattr(suspended, name.replace("code", "frame")) is not None else None
    return None


def heads(tree: ast.Module) -> Iterator[tuple[str, str | None]]:
    """What a function or class has besides its body: parameters and annotations, and its docstring."""
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED):
            head = (
                [ast.dump(part) for part in (node.args, node.returns, *node.decorator_list) if part is not None]
                if isinstance(node, _FUNCTIONS)
                else []
            )
            yield "\n".join(head), ast.get_docstring(node, clean=False)


def _carry_over(old: LoadedFile, cells: Mapping[tuple[str, int], list[int]], new: LoadedFile) -> None:
    """Let what ran before be known of the new version: function by function it is the same."""
    _, newer = cells_of_functions(new.map)
    for key, places in cells.items():
        others = newer.get(key, [])
        if len(others) == len(places):
            for before, after in zip(places, others, strict=True):
                new.cells[after] = old.cells[before]
