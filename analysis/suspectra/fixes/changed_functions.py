"""What a changed text of a file means for a process that has loaded the file: functions get other code.

That is quick, and right where nothing else changes: functions do something else, or something new is defined beside
them. Whatever the file does while it is imported can only be seen by importing it anew.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from suspectra.fixes.patches import PatchRefused
from suspectra.mutation.excerpt import first_line
from suspectra_recorder.experiments.messages import RunRequest
from suspectra_recorder.instrumentation.source import compile_silently

_DEFINING = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class ChangedFile(NamedTuple):
    """How the new text of a file gets into a process."""

    job: RunRequest | None  # None where the file has to be imported anew
    lines: tuple[tuple[int, int], ...] = ()  # the first and last lines of the changed functions, as they were


def changed_functions(path: str, old: str, new: str, at_import: Collection[int] = ()) -> ChangedFile:
    """Find the functions that differ, and what is defined beside them; `at_import` are lines that run at import.

    Raises PatchRefused when the new text is no Python, or does the same.
    """
    try:
        before, after = ast.parse(old), ast.parse(new)
        compile_silently(ast.parse(new), path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # or too deeply nested
        raise PatchRefused(f"{path} would be no Python: {error}") from None
    if ast.dump(before) == ast.dump(after):
        raise PatchRefused(f"it changes nothing that is executed in {path}")
    definitions = _new_definitions(before, after)
    known, now = dict(_functions(before)), dict(_functions(after))
    changed = [name for name in known if name in now and ast.dump(known[name]) != ast.dump(now[name])]
    lines = tuple((first_line(known[name]), known[name].end_lineno or 0) for name in changed)
    imported = any(_runs(known[name], at_import) for name in changed)
    if definitions is None or imported or any(len(name) > first_line(known[name]) for name in changed):
        return ChangedFile(None)
    requests = [_request(path, new, name, known[name], now[name]) for name in changed]
    first: RunRequest = requests.pop(0) if requests else {"kind": "mutant", "file": path, "source": "", "functions": []}
    return ChangedFile({**first, "others": requests, "definitions": definitions}, lines)


def _functions(tree: ast.Module) -> Iterator[tuple[tuple[str, ...], _Function]]:
    """Functions of a module and of its classes, by their names with those of the classes."""
    waiting: list[tuple[tuple[str, ...], ast.AST]] = [((), tree)]
    while waiting:
        name, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield (*name, child.name), child
            elif isinstance(child, ast.ClassDef):
                waiting.append(((*name, child.name), child))


def _runs(function: _Function, lines: Collection[int]) -> bool:
    """Whether some lines are in the body of a function."""
    return any(function.body[0].lineno <= line <= (function.end_lineno or 0) for line in lines)


def _request(path: str, text: str, name: tuple[str, ...], old: _Function, new: _Function) -> RunRequest:
    """The new text of a function, where the old one begins, with the classes around it."""
    begins = first_line(old)
    lines = text.split("\n")[first_line(new) - 1 : new.end_lineno]
    headers = [f"{' ' * number}class {one}:" for number, one in enumerate(name[:-1])]
    source = "\n".join([*headers, *[""] * (begins - 1 - len(headers)), *lines])
    return {"kind": "mutant", "file": path, "source": source, "functions": [(old.name, begins)]}


def _new_definitions(before: ast.Module, after: ast.Module) -> list[str] | None:
    """The statements of the module that define new names; None if anything else is different outside of bodies."""
    bound = Counter(name for node in before.body for name in _bound(node))
    known = [_skeleton(node) for node in before.body]
    if max(Counter(name for name, _ in _functions(before)).values(), default=0) > 1:
        return None  # which of them runs is decided at import
    found, kept = [], []
    for node in after.body:
        skeleton = _skeleton(node)
        names = _bound(node)
        if isinstance(node, _DEFINING) and names and not any(name in bound for name in names):
            found.append(ast.unparse(node))
        else:
            kept.append(skeleton)
    return found if kept == known else None


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement binds."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(one.asname or one.name).partition(".")[0] for one in node.names}
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _skeleton(node: ast.stmt) -> str:
    """A statement without what its functions do."""
    copy = ast.parse(ast.unparse(node))
    for one in ast.walk(copy):
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            one.body = [ast.Pass()]
    return ast.dump(copy)
