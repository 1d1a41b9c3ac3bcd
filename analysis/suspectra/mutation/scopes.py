"""The names and attributes that a function uses, with where it does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

NEAREST = 3
"""Names that are tried in place of another: those that were used last before it, besides those that nothing reads."""


class NamePosition(NamedTuple):
    """Where something begins."""

    line: int  # from 1
    column: int  # in bytes from 0


def position(node: ast.expr | ast.stmt | ast.arg) -> NamePosition:
    """Where a node begins.

    Of its first character.
    """
    return NamePosition(node.lineno, node.col_offset)


class Variables:
    """The local variables of a function; global ones, and those of other functions, are not among them."""

    def __init__(self, function: Function, *, method: bool):
        self._bound: dict[str, NamePosition] = {}
        self._used: list[tuple[NamePosition, str]] = []
        self._skipped: set[str] = set()
        self._read_somewhere = {
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        arguments = function.args
        parameters = [*arguments.posonlyargs, *arguments.args]
        if method and parameters:
            self._skipped.add(parameters[0].arg)
        for parameter in (*parameters, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if parameter is not None:
                self._use(parameter.arg, position(parameter), binds=True)
        if not isinstance(function, ast.Lambda):
            for statement in function.body:
                self._read(statement)
        self._used.sort()

    def _use(self, name: str, place: NamePosition, *, binds: bool) -> None:
        self._used.append((place, name))
        if binds:
            self._bound[name] = min(place, self._bound.get(name, place))

    def _read(self, node: ast.AST) -> None:
        if isinstance(node, (*_SCOPES, *_COMPREHENSIONS)):
            return
        if isinstance(node, ast.Name):
            self._use(node.id, position(node), binds=isinstance(node.ctx, ast.Store))
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            self._skipped.update(node.names)
        for child in ast.iter_child_nodes(node):
            self._read(child)

    def __contains__(self, name: str) -> bool:
        return name in self._bound and name not in self._skipped

    def bound_before(self, name: str, place: NamePosition) -> bool:
        """Whether a variable has a value at a place."""
        return name in self and self._bound[name] < place

    def readable(self, place: NamePosition) -> list[str]:
        """The variables that have a value at a place.

        Those first that are used last before it.
        """
        earlier = [name for used, name in reversed(self._used) if used < place]
        return [name for name in dict.fromkeys(earlier) if self.bound_before(name, place)]

    def others(self, node: ast.Name) -> list[str]:
        """The variables that can be read where another one is.

        Those that have a value by then: at most `NEAREST`, that used last first, and then those that nothing reads, as
        what should read them may read another one. A name that begins with `_` is meant to be read nowhere.
        """
        place = position(node)
        earlier = [name for used, name in reversed(self._used) if used < place]
        found = [name for name in dict.fromkeys(earlier) if name != node.id and name in self]
        found = [name for name in found if self.bound_before(name, place)]
        # a forgotten parameter is a strong hint at the fault
        unread = [name for name in found[NEAREST:] if name not in self._read_somewhere and not name.startswith("_")]
        return found[:NEAREST] + unread


class Attributes:
    """The attributes that code uses, by the name of the object."""

    def __init__(self, scope: ast.AST):
        called = {id(node.func) for node in ast.walk(scope) if isinstance(node, ast.Call)}
        self._called = called
        self._used: dict[tuple[str, bool], list[tuple[NamePosition, str]]] = {}
        for node in ast.walk(scope):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                key = node.value.id, id(node) in called
                self._used.setdefault(key, []).append((position(node), node.attr))
        for uses in self._used.values():
            uses.sort()

    def read(self, attribute: str, name: str) -> bool:
        """Whether an attribute of an object is used, other than by calling it.

        Also where it is only assigned.
        """
        return any(used == attribute for _, used in self._used.get((name, False), ()))

    def others(self, node: ast.Attribute, name: str) -> list[str]:
        """The attributes that can be read of an object in place of another.

        Those that are called, if that is, and else those that are not; the nearest first, at most `NEAREST`.
        """
        uses = self._used.get((name, id(node) in self._called), [])
        place = position(node)
        by_distance = sorted(uses, key=lambda use: (abs(use[0].line - place.line), use))
        return [attribute for attribute in dict.fromkeys(use[1] for use in by_distance) if attribute != node.attr][
            :NEAREST
        ]


class Keys:
    """The texts by which code reads and writes items, as of dictionaries."""

    def __init__(self, scope: ast.AST):
        self._used = [
            (position(node.slice), node.slice.value)
            for node in ast.walk(scope)
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
            if isinstance(node.slice.value, str)
        ]

    def others(self, node: ast.expr) -> list[str]:
        """The keys that can be used in place of another.

        The nearest first, at most `NEAREST`.
        """
        own = getattr(node, "value", None)
        by_distance = sorted(self._used, key=lambda use: (abs(use[0].line - node.lineno), use))
        return [key for key in dict.fromkeys(use[1] for use in by_distance) if key != own][:NEAREST]


_OF_CONTAINERS = frozenset(
    {"len", "sorted", "list", "tuple", "set", "frozenset", "dict", "enumerate", "zip", "any", "all", "iter", "reversed"}
)


def not_counted(scope: ast.AST) -> frozenset[str]:
    """The names and attributes that are used as nothing is that can be counted by ones."""
    used: list[ast.expr] = []
    for node in ast.walk(scope):
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
            used.append(node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            used.append(node.iter)
        elif isinstance(node, ast.Compare):
            pairs = zip(node.ops, node.comparators, strict=True)
            used += [right for operator, right in pairs if isinstance(operator, (ast.In, ast.NotIn))]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            used += [node.func, *(node.args if node.func.id in _OF_CONTAINERS else ())]
    return frozenset(ast.unparse(one) for one in used if isinstance(one, (ast.Name, ast.Attribute)))


def bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of statements that a node contains directly.

    Such as the two arms of an `if`.
    """
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield block
    for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield inner.body
