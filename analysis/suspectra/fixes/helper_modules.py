"""Modules that a project has for its tests, outside of the folders of tests, such as ``project/testing.py``.

Such a module is called like one, or uses a framework for tests, and only tests import it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import PurePosixPath

_CALLED = re.compile(r"(?:^|_)(?:unit)?tests?(?:$|_)|(?:^|_)test(?:ing|utils?|lib|case|kit|helpers?)(?:$|_)|^conftest$")
_FRAMEWORKS = frozenset({"pytest", "unittest", "hypothesis", "nose", "mock", "testtools", "faker", "factory"})


def helper_modules(
    sources: Mapping[str, ast.Module], program: Collection[str], read: Callable[[str], ast.Module | None]
) -> set[str]:
    """Those of some files that exist for tests; none if all would.

    `program` are all files of the program, of which `read` gives those that are looked at.
    """
    found: dict[str, PurePosixPath] = {}
    for path, tree in sources.items():
        parts = [PurePosixPath(path), *PurePosixPath(path).parents]
        called = next((part for part in reversed(parts) if _CALLED.search(part.stem)), None)
        if called is not None or _FRAMEWORKS.intersection(name.partition(".")[0] for name in _imported(tree)):
            found[path] = called or PurePosixPath(path)
    if len(found) == len(sources):
        return set()
    new = [path for path in program if path not in found]
    while new:  # what a module of the program imports is one, too
        trees = filter(None, map(read, new))
        imported = {part for tree in trees for name in _imported(tree) for part in name.split(".")}
        new = [path for path, called in found.items() if _module_name(called) in imported]
        found = {path: called for path, called in found.items() if path not in new}
    return set(found)


def _module_name(path: PurePosixPath) -> str:
    return path.parent.name if path.name == "__init__.py" else path.stem


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module or ''}.{one.name}" for one in node.names)
