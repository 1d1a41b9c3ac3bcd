"""Who knows whether the outcome of another input is right: the test, the exception that is gone, or the user."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from suspectra_recorder.instrumentation.source import parse


def judges_any_input(source: bytes, test: str, parameters: Collection[str]) -> bool:
    """Say whether a parametrized test knows for any values of its parameters what is right.

    It does if it computes what it expects: from its parameters, and by calls. It does not if an expected value is a
    constant or a parameter of its own, or if it expects an exception.

    False where that can't be known.
    """
    function = _function(source, test)
    if function is None or not parameters:
        return False
    given = set(_names_in_calls(function))
    if not set(parameters) <= given:
        return False  # the others are expected values
    asserts = [node for node in ast.walk(function) if isinstance(node, ast.Assert)]
    expects_exception = any(_is_raises(node) for node in ast.walk(function))
    computed = _Computed(function, parameters)
    return bool(asserts) and not expects_exception and all(computed.judges(node.test) for node in asserts)


def _function(source: bytes, test: str) -> ast.FunctionDef | None:
    try:
        node: ast.AST = parse(source)
    except (SyntaxError, ValueError):
        return None
    for name in test.partition("[")[0].split("::")[1:]:
        found = [child for child in ast.iter_child_nodes(node) if getattr(child, "name", None) == name]
        if not found:
            return None
        node = found[-1]
    return node if isinstance(node, ast.FunctionDef) else None


def _names_in_calls(function: ast.FunctionDef) -> Iterator[str]:
    """The names that are arguments of calls, or inside them."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
                yield from (part.id for part in ast.walk(argument) if isinstance(part, ast.Name))


def _is_raises(node: ast.AST) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "raises") or (
        isinstance(node, ast.Name) and node.id == "raises"
    )


class _Computed:
    """Knows which names of a test are computed from its parameters."""

    def __init__(self, function: ast.FunctionDef, parameters: Collection[str]):
        self._names = set(parameters)
        for node in ast.walk(function):  # in the order of the lines, as far as that matters
            if isinstance(node, ast.Assign) and self(node.value):
                self._names |= {part.id for target in node.targets for part in ast.walk(target) if _is_name(part)}  # type: ignore[attr-defined]

    def __call__(self, node: ast.expr) -> bool:
        return any(isinstance(part, ast.Name) and part.id in self._names for part in ast.walk(node))

    def judges(self, test: ast.expr) -> bool:
        """Whether no side of an equality is a constant."""
        for node in ast.walk(test):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                for number, sign in enumerate(node.ops):
                    if isinstance(sign, (ast.Eq, ast.In, ast.Is)) and not all(map(self, sides[number : number + 2])):
                        return False
        return self(test)


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)
