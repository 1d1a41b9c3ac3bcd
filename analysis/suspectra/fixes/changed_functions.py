"""What a changed text of a file means for a process that has loaded the file: functions get other code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from suspectra.fixes.patches import PatchRefused
from suspectra.mutation.excerpt import first_line
from suspectra_recorder.experiments.messages import RunRequest

_DEFINING = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class ChangedFile(NamedTuple):
    """How the new text of a file gets into a process."""

    job: RunRequest
    lines: tuple[tuple[int, int], ...]  # the first and last lines of the changed functions, as they were


def changed_functions(path: str, old: str, new: str) -> ChangedFile:
    """Find the functions that differ, and what is defined beside them.

    Raises PatchRefused when the new text is no Python, or changes what else runs when the file is imported.
    """
    try:
        before, after = ast.parse(old), ast.parse(new)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # or too deeply nested
        raise PatchRefused(f"{path} would be no Python: {error}") from None
    known, now = dict(_functions(before)), dict(_functions(after))
    requests: list[RunRequest] = []
    lines = []
    for name, function in now.items():
        if name in known and ast.dump(known[name]) != ast.dump(function):
            if ast.dump(known[name].args) != ast.dump(function.args):
                raise PatchRefused(f"it changes the parameters of {name[-1]}")
            requests.append(_request(path, new, name, known[name], function))
            requests += _inner_requests(path, new, name, known[name], function)
            lines.append((first_line(known[name]), known[name].end_lineno or 0))
    if gone := [".".join(name) for name in known if name not in now]:
        raise PatchRefused(f"it removes {gone[0]}, which can't be tried")
    definitions = _definitions(before, after, path)
    if not requests and not definitions:
        raise PatchRefused(f"it changes nothing that is executed in {path}")
    first: RunRequest = requests.pop(0) if requests else {"kind": "mutant", "file": path, "source": "", "functions": []}
    job: RunRequest = {**first, "others": requests, "definitions": definitions}
    return ChangedFile(job, tuple(lines))


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


def _request(path: str, text: str, name: tuple[str, ...], old: _Function, new: _Function) -> RunRequest:
    """The new text of a function, where the old one begins, with the classes around it."""
    begins = first_line(old)
    if len(name) > begins:
        raise PatchRefused(f"{name[-1]} stands on the line of its class")
    return _request_at(path, text, name, new, [(old.name, begins)], begins)


def _request_at(
    path: str, text: str, name: tuple[str, ...], new: _Function, functions: list[tuple[str, int]], begins: int
) -> RunRequest:
    lines = text.split("\n")[first_line(new) - 1 : new.end_lineno]
    headers = [f"{' ' * number}class {one}:" for number, one in enumerate(name[:-1])]
    source = "\n".join([*headers, *[""] * (begins - 1 - len(headers)), *lines])
    return {"kind": "mutant", "file": path, "source": source, "functions": functions}


def _inner_requests(
    path: str, text: str, name: tuple[str, ...], old: _Function, new: _Function
) -> Iterator[RunRequest]:
    """The same for each function inside, which may exist already, as those that a decorator has made.

    The text is moved so far that the inner function is where it was.
    """
    before, now = dict(_inner(old)), dict(_inner(new))
    for key, chain in now.items():
        known = before.get(key)
        if known is None or ast.dump(known[-1]) == ast.dump(chain[-1]):
            continue
        moved = first_line(known[-1]) - first_line(chain[-1])
        begins = first_line(new) + moved
        if begins >= len(name) and ast.dump(known[-1].args) == ast.dump(chain[-1].args):
            functions = [(one.name, first_line(one) + moved) for one in (new, *chain)]
            yield _request_at(path, text, name, new, functions, begins)


def _inner(
    function: _Function, around: tuple[_Function, ...] = ()
) -> Iterator[tuple[tuple[str, ...], tuple[_Function, ...]]]:
    """The functions inside of one, each with those around it, by their names."""
    waiting: list[ast.AST] = [function]
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                chain = (*around, child)
                yield tuple(one.name for one in chain), chain
                yield from _inner(child, chain)
            elif not isinstance(child, (ast.ClassDef, ast.Lambda)):
                waiting.append(child)


def _definitions(before: ast.Module, after: ast.Module, path: str) -> list[str]:
    """The statements of the module that are new or others, and only define something."""
    known = {_skeleton(node) for node in before.body}
    found = []
    for node in after.body:
        if _skeleton(node) in known:
            continue
        if not isinstance(node, _DEFINING):
            raise PatchRefused(f"it changes what runs when {path} is imported")
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(
            one.name == node.name for one in before.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
        ):
            raise PatchRefused(f"it changes the decorators of {node.name}")
        found.append(ast.unparse(node))
    return found


def _skeleton(node: ast.stmt) -> str:
    """A statement without what its functions do."""
    copy = ast.parse(ast.unparse(node))
    for one in ast.walk(copy):
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            one.body = [ast.Pass()]
    return ast.dump(copy)
