"""Test modules that are not called like ones: a runner loads them since they are named, or by a pattern of its own."""

from __future__ import annotations

import importlib.machinery
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, sys
from suspectra_recorder.instrumentation.standard_library import StandardLibrary

if TYPE_CHECKING:
    import ast

    from suspectra_recorder.recorded_files import RecordedFiles

__builtins__ = library_references.builtins

_CASE = re.compile(r"Test|Case")  # in the names of unittest's classes, and of those that others derive from them


def take_tests(scope: RecordedFiles, files: Iterable[str], folder: str) -> None:
    """Let a scope take files for test modules that have tests of unittest for other files of the workspace.

    Such a file may have code of its own, which is not ranked then. One that imports nothing of the workspace has in
    itself what it tests.
    """
    for name in dict.fromkeys(file.partition("::")[0] for file in files):
        path = os.path.realpath(os.path.join(folder, name))
        # asserts of tests would otherwise be ranked, and altered in experiments
        ours = path.endswith(".py") and scope.contains(os.path.dirname(path))
        if ours and not scope.is_test_code(path) and _tests_others(path, scope):
            scope.take_as_test(path)


def _tests_others(path: str, scope: RecordedFiles) -> bool:
    try:
        with open(path, "rb") as stream:
            source = stream.read()
    except OSError:
        return False
    with StandardLibrary():
        from suspectra_recorder.instrumentation.parser_references import ast
    try:
        nodes = list(ast.walk(ast.parse(source, path)))
    except (SyntaxError, ValueError, RecursionError):
        return False
    cases = (base for node in nodes if isinstance(node, ast.ClassDef) for base in node.bases)
    if not any(_CASE.search(ast.unparse(base)) for base in cases):
        return False
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    return any(_is_of_program(found, path, scope) for node in imports for found in _imported(node, path, scope))


def _imported(node: ast.Import | ast.ImportFrom, path: str, scope: RecordedFiles) -> Iterator[str]:
    """The files and folders that an import may lead to, without importing anything."""
    module, level = getattr(node, "module", None), getattr(node, "level", 0)
    folder = os.path.dirname(path)
    above = os.path.join(folder, *[os.pardir] * (level - 1))
    where = [above] if level else [folder, scope.root, *sys.path]
    for name in [module] if module else [one.name for one in node.names]:
        spec = importlib.machinery.PathFinder.find_spec(name.partition(".")[0], where)
        if spec is not None:
            yield from [spec.origin] if spec.origin else spec.submodule_search_locations or ()


def _is_of_program(found: str, path: str, scope: RecordedFiles) -> bool:
    real = os.path.realpath(found)
    ours = real if os.path.isdir(real) else os.path.dirname(real)
    return real != path and scope.contains(ours) and not scope.is_test_code(real)
