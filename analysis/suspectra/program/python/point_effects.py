"""What a point of an evaluation may change outside of its function, as far as the source tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from suspectra.program.python.named_paths import MUTATORS, Path, called_name, evaluated_parts, path_of


class NamedCall(NamedTuple):
    """A call of something that has a name."""

    name: str  # the last part of it
    given: frozenset[Path]  # the arguments, and the object whose method it may be


class Effects(NamedTuple):
    """What a part of a source does with objects that others may know, too."""

    attributes: frozenset[str] = frozenset()  # the attributes that it reads, of any object
    stored: frozenset[str] = frozenset()  # the attributes that it gives another value
    mutated: frozenset[Path] = frozenset()  # what contains something else afterwards
    copied: frozenset[Path] = frozenset()  # what may have one more name afterwards
    calls: frozenset[NamedCall] = frozenset()
    taken: frozenset[Path] = frozenset()  # what contains the value that a loop gives its target

    @classmethod
    def from_nodes(cls, *nodes: ast.AST) -> Effects:
        """Read parts of a source.

        Without what functions in it do when they are called.
        """
        attributes: set[str] = set()
        stored: set[str] = set()
        mutated: set[Path] = set()
        copied: set[Path] = set()
        calls: set[NamedCall] = set()
        for part in (part for node in nodes for part in evaluated_parts(node)):
            if isinstance(part, ast.Attribute):
                (attributes if isinstance(part.ctx, ast.Load) else stored).add(part.attr)
            elif isinstance(part, ast.Call):
                calls.update(_called(part))
            calls.update(_called_by_syntax(part))
            mutated.update(_mutated(part))
            copied.update(_copied(part))
        return cls(frozenset(attributes), frozenset(stored), frozenset(mutated), frozenset(copied), frozenset(calls))

    def taking_from(self, node: ast.expr) -> Effects:
        """The same, where a loop takes one after the other from an expression."""
        return self._replace(taken=frozenset(_reached(node)))


NO_EFFECTS = Effects()


def _mutated(node: ast.AST) -> Iterator[Path]:
    container: ast.AST | None = None
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        container = node.value
    elif isinstance(node, ast.AugAssign):
        container = node.target
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
        container = node.func.value
    yield from _reached(container)


def _reached(node: ast.AST | None) -> Iterator[Path]:
    """The path of an object, or of that whose method gave it, as of ``rows.setdefault(key, [])``."""
    while isinstance(node, ast.Call):
        node = node.func.value if isinstance(node.func, ast.Attribute) else None
    path = None if node is None else path_of(node)
    if path is not None:
        yield path


def _called(node: ast.Call) -> Iterator[NamedCall]:
    given = {path for part in (*node.args, *[one.value for one in node.keywords]) for path in _named(part)}
    if isinstance(node.func, ast.Attribute):
        given.update(_reached(node.func.value))
    if name := called_name(node):
        yield NamedCall(name, frozenset(given))


_BY_SYNTAX = {ast.Store: "__setitem__", ast.Del: "__delitem__"}


def _called_by_syntax(node: ast.AST) -> Iterator[NamedCall]:
    """The methods that a part may call without naming them."""
    if isinstance(node, ast.Subscript) and (name := _BY_SYNTAX.get(type(node.ctx))):
        yield NamedCall(name, frozenset(_reached(node.value)))
    elif isinstance(node, ast.withitem):
        yield NamedCall("__enter__", frozenset())
        yield NamedCall("__exit__", frozenset())


def _copied(node: ast.AST) -> Iterator[Path]:
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
        yield from _named(node.value)


def _named(node: ast.AST | None) -> Iterator[Path]:
    """The paths of which an expression may be the object itself."""
    if isinstance(node, ast.IfExp):
        yield from _named(node.body)
        yield from _named(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for part in node.values:
            yield from _named(part)
    elif isinstance(node, ast.Starred | ast.NamedExpr | ast.Await):
        yield from _named(node.value)
    elif node is not None and (path := path_of(node)) is not None:
        yield path
