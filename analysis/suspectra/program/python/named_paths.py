"""Paths by which a source names objects: a variable, or an attribute of an attribute ... of one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

Path = tuple[str, ...]
"""A variable, or an attribute of one: ``("self", "total")``."""

MUTATORS = frozenset(
    [
        "add",
        "append",
        "appendleft",
        "clear",
        "difference_update",
        "discard",
        "extend",
        "extendleft",
        "insert",
        "intersection_update",
        "move_to_end",
        "pop",
        "popitem",
        "popleft",
        "remove",
        "reverse",
        "rotate",
        "send",
        "setdefault",
        "sort",
        "subtract",
        "symmetric_difference_update",
        "update",
        "write",
    ]
)
"""Methods that change the object that has them."""

LATER = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)
"""Their bodies are evaluated when they are called."""


def evaluated_parts(node: ast.AST, is_whole: Callable[[ast.AST], bool] = lambda part: False) -> Iterator[ast.AST]:
    """Iterate over all parts that are evaluated with a node.

    Without what functions in it evaluate when they are called.
    """
    return _parts([node], is_whole)


def own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Iterate over all parts of a function, without those of functions in it."""
    return _parts([*ast.iter_child_nodes(node)], lambda part: False)


def _parts(waiting: list[ast.AST], is_whole: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, LATER) and not is_whole(part):
            waiting += ast.iter_child_nodes(part)


def called_name(node: ast.Call) -> str:
    """Return the last part of the name of what is called.

    Empty where it has none.
    """
    called = node.func
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def path_of(node: ast.AST) -> Path | None:
    """Return the path that an expression names.

    None where it is more than names. Of an item, that of its container.
    """
    names: list[str] = []
    while True:
        if isinstance(node, ast.Name):
            return (node.id, *reversed(names))
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
        elif isinstance(node, ast.Subscript | ast.Starred):
            names.clear()
        else:
            return None
        node = node.value


def overlap(one: Path, other: Path) -> bool:
    """Whether a path leads to another one, or to the same.

    True also where one is a variable and the other an attribute of it.
    """
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
