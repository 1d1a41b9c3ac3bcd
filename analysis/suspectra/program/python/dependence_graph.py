"""The program dependence graph of Python sources (Ferrante, Ottenstein and Warren 1987; Horwitz and Reps 1992).

Control dependences, and data dependences between local variables, are exact up to exceptions: only inside of a ``try``
may a statement be the last one. What functions have in common is found by names. A name stands for every function or
class of the sources that has it, and an attribute for every attribute of that name. What is left out: methods that
operators, loops and ``with`` call, what other names of the same object give it, and dependences through C code.
"""

from __future__ import annotations

import ast
from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.program.dominance import control_dependences
from suspectra.program.python.points import EXIT, Definition, PointKind, ScopePoints, Span, scopes_of
from suspectra.program.python.reaching_writes import ReachingWrites
from suspectra_recorder.instrumentation.source import parse

_NO_NODE = -1
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_RESULTS = (ast.Return, ast.Yield, ast.YieldFrom, ast.Raise)


@dataclass(frozen=True, eq=False)
class ProgramDependenceGraph:
    """Statements, and on which others each depends.

    A compound statement is the node of its head, and a ``def`` that of its function's entry too.
    """

    places: tuple[tuple[str, Span], ...]  # the file of each node, and where it is in it
    edges: Ints  # pairs of nodes, ascending, of which the second depends on the first; shape (k, 2)

    @classmethod
    def from_sources(cls, sources: Mapping[str, bytes]) -> ProgramDependenceGraph:
        """Find the dependences of a program."""
        modules: list[_Module] = []
        for file, source in sources.items():
            try:
                tree = parse(source)
                scopes = scopes_of(tree)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            modules.append(_Module(file, tree, scopes, sum(len(module.spans) for module in modules)))
        linked = _Linked(modules)
        edges = {edge for module in modules for edge in module.edges()} | set(linked.edges())
        kept = sorted((one, other) for one, other in edges if one != other and _NO_NODE not in (one, other))
        places = tuple((module.file, span) for module in modules for span in module.spans)
        return cls(places, np.array(kept, np.int64).reshape(-1, 2))

    def __len__(self) -> int:
        return len(self.places)

    def at(self, file: str, line: int) -> list[int]:
        """Find the statements of a line.

        The nodes that begin on the line, or else the one around it; none where no statement is.
        """
        on = [node for node, (name, span) in enumerate(self.places) if name == file and span.line == line]
        return on or [
            node for node, (name, span) in enumerate(self.places) if name == file and span.line < line <= span.end_line
        ]


class _Scope:
    """One function of a module, or what is outside of its functions."""

    def __init__(self, number: int, points: ScopePoints, nodes: list[int], entry: int):
        self.number, self.points, self.nodes, self.entry = number, points, nodes, entry
        self.parameters = _parameters(points.node)
        self.imported = _imported(points.node)
        self.declared = {name for part in _own(points.node) if isinstance(part, ast.Global) for name in part.names}
        self.outer_names = {name for part in _own(points.node) if isinstance(part, ast.Nonlocal) for name in part.names}
        self.writes: dict[str, set[int]] = defaultdict(set)
        """The nodes that write a variable, or change what it has, by its name."""
        self.bound: set[str] = set()
        for point, node in zip(points.points, nodes, strict=True):
            for path in point.names.writes | point.names.changes:
                self.writes[path[0]].add(node)
            self.bound |= {path[0] for path in point.names.writes if len(path) == 1}
        self.bound -= self.declared | self.outer_names

    def control(self) -> Iterator[tuple[int, int]]:
        size = len(self.points.points)
        direct: list[list[int]] = [[] for _ in range(size)]
        for decision, point in control_dependences(size, sorted(self.points.edges), [EXIT]):
            direct[point].append(decision)
        for point, node in enumerate(self.nodes):
            deciding, seen = set(), {point}
            pending = list(direct[point])
            while pending:
                one = pending.pop()
                if one in seen:
                    continue
                seen.add(one)
                if self.nodes[one] == _NO_NODE:  # a join is no node, so what it depends on takes its place
                    pending += direct[one]
                else:
                    deciding.add(self.nodes[one])
            for one in deciding - {node} or {self.entry}:
                yield one, node


class _Module:
    """The nodes of one source, and the dependences within its scopes."""

    def __init__(self, file: str, tree: ast.Module, scopes: list[ScopePoints], first: int):
        self.file, self.tree, self._first = file, tree, first
        self.spans = _statements(scopes)
        self.scopes: list[_Scope] = []
        for points in scopes:
            nodes = [self._node_of(point.span) for point in points.points]
            entry = _NO_NODE if isinstance(points.node, ast.Module) else self.node(points.node)
            self.scopes.append(_Scope(len(self.scopes), points, nodes, entry))

    def node(self, part: ast.expr | ast.stmt) -> int:
        """The statement that a part of the syntax tree belongs to."""
        return self._node_of(Span(part.lineno, part.col_offset, part.lineno, part.col_offset))

    def _node_of(self, span: Span | None) -> int:
        place = _NO_NODE if span is None else _around(self.spans, span)
        return place if place == _NO_NODE else self._first + place

    def owner(self, scope: _Scope, name: str) -> _Scope | None:
        """The scope that a variable belongs to; None for a name that none of the module binds."""
        if name in scope.declared:
            return self.scopes[0]
        number = scope.points.outer if name in scope.outer_names else scope.number
        while number >= 0:
            one = self.scopes[number]
            if name in one.bound or name in one.parameters:
                return one
            number = one.points.outer
        return None

    def edges(self) -> Iterator[tuple[int, int]]:
        shared = self._written_from_inside()
        for scope in self.scopes:
            yield from scope.control()
            reaching = ReachingWrites(scope.points)
            for point, (node, names) in enumerate(
                zip(scope.nodes, (point.names for point in scope.points.points), strict=True)
            ):
                for path in names.reads:
                    yield from ((scope.nodes[one], node) for one in reaching.for_point(point, path))
                    owner = self.owner(scope, path[0])
                    if owner is None:
                        continue
                    yield from ((one, node) for one in shared[id(owner), path[0]])
                    if owner is not scope:
                        yield from ((one, node) for one in owner.writes.get(path[0], ()))
                    if path[0] in owner.parameters and (owner is not scope or reaching.from_before(point, path)):
                        yield owner.entry, node

    def _written_from_inside(self) -> dict[tuple[int, str], set[int]]:
        """Variables that a scope inside of their own one writes, or changes."""
        found: dict[tuple[int, str], set[int]] = defaultdict(set)
        for scope in self.scopes:
            for name, nodes in scope.writes.items():
                owner = self.owner(scope, name)
                if owner is not None and owner is not scope:
                    found[id(owner), name] |= nodes
        return found


class _Linked:
    """What functions and modules have in common, by names."""

    def __init__(self, modules: list[_Module]):
        self._modules = modules
        self._functions: dict[str, list[tuple[_Module, _Scope]]] = defaultdict(list)
        self._classes: dict[str, set[int]] = defaultdict(set)
        self._attributes: dict[str, set[int]] = defaultdict(set)
        for module in modules:
            for scope in module.scopes:
                if isinstance(scope.points.node, ast.FunctionDef | ast.AsyncFunctionDef):
                    self._functions[scope.points.node.name].append((module, scope))
                self._add_attributes(scope)
            for part in ast.walk(module.tree):
                if isinstance(part, ast.ClassDef):
                    self._add_class(module, part)
                elif isinstance(part, ast.Attribute) and not isinstance(part.ctx, ast.Load):
                    self._attributes[part.attr].add(module.node(part))

    def _add_attributes(self, scope: _Scope) -> None:
        for point, node in zip(scope.points.points, scope.nodes, strict=True):
            for path in point.names.changes:
                if len(path) > 1:
                    self._attributes[path[-1]].add(node)

    def _add_class(self, module: _Module, part: ast.ClassDef) -> None:
        initial = [scope for scope in module.scopes if scope.points.node in part.body and _name(scope) == "__init__"]
        self._functions[part.name] += [(module, scope) for scope in initial]
        if not initial:
            self._classes[part.name].add(module.node(part))
        for statement in part.body:
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                for target in ast.walk(statement):
                    if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                        self._attributes[target.id].add(module.node(statement))

    def edges(self) -> Iterator[tuple[int, int]]:
        results = {id(scope): _results(module, scope) for module in self._modules for scope in module.scopes}
        for module in self._modules:
            for node, name in self._uses(module):
                yield from ((one, node) for one in self._classes[name])
                for _, scope in self._functions[name]:
                    yield node, scope.entry
                    yield from ((one, node) for one in results[id(scope)])
            for part in ast.walk(module.tree):
                if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load):
                    yield from ((one, module.node(part)) for one in self._attributes[part.attr])
                    if isinstance(part.value, ast.Name):
                        yield from ((one, module.node(part)) for one in self._globals(part.value.id, part.attr))
                elif isinstance(part, ast.ImportFrom):
                    source = (part.module or "").rpartition(".")[2]
                    for alias in part.names:
                        yield from ((one, module.node(part)) for one in self._globals(source, alias.name))

    def _uses(self, module: _Module) -> Iterator[tuple[int, str]]:
        """The statements that use what may be a function or a class, with its name."""
        for scope in module.scopes:
            for point, node in zip(scope.points.points, scope.nodes, strict=True):
                for path in point.names.reads:
                    owner = module.owner(scope, path[0])
                    if owner is None or path[0] in owner.imported:
                        yield node, path[0]
        for part in ast.walk(module.tree):
            if isinstance(part, ast.Attribute):
                yield module.node(part), part.attr

    def _globals(self, stem: str, name: str) -> Iterator[int]:
        """The nodes that write a variable of a module."""
        for module in self._modules:
            parts = module.file.removesuffix(".py").removesuffix("/__init__").rpartition("/")
            if parts[2] == stem:
                yield from module.scopes[0].writes.get(name, ())


def _statements(scopes: list[ScopePoints]) -> list[Span]:
    """Where the statements are; what a ``case`` decides by is outside of any, and counts as one."""
    points = [point for scope in scopes for point in scope.points if point.span is not None]
    spans = sorted({point.span for point in points if point.kind is PointKind.STATEMENT and point.span is not None})
    decisions = {point.span for point in points if point.kind is PointKind.DECISION and point.span is not None}
    for span in sorted(decisions, key=lambda span: (span.line, span.column, -span.end_line, -span.end_column)):
        if _around(spans, span) == _NO_NODE:
            insort(spans, span)
    return spans


def _around(spans: list[Span], span: Span) -> int:
    """The number of the span that contains where another one begins; statements do not overlap."""
    place = bisect_right(spans, span[:2], key=lambda one: one[:2]) - 1
    return place if place >= 0 and span[:2] < spans[place][2:] else _NO_NODE


def _parameters(node: ast.Module | Definition) -> frozenset[str]:
    if isinstance(node, ast.Module):
        return frozenset()
    return frozenset(part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg))


def _own(node: ast.Module | Definition) -> Iterator[ast.AST]:
    """The parts of a scope, without those of functions in it."""
    pending: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
    while pending:
        part = pending.pop()
        yield part
        if not isinstance(part, _FUNCTIONS):
            pending += ast.iter_child_nodes(part)


def _imported(node: ast.Module | Definition) -> frozenset[str]:
    return frozenset(
        alias.asname or alias.name for part in _own(node) if isinstance(part, ast.ImportFrom) for alias in part.names
    )


def _name(scope: _Scope) -> str:
    return getattr(scope.points.node, "name", "")


def _results(module: _Module, scope: _Scope) -> set[int]:
    """What a call of a function gives its caller: what it returns, yields and raises, and changes of its arguments."""
    found = {
        module.node(part)
        for part in _own(scope.points.node)
        if isinstance(part, _RESULTS) and not (isinstance(part, ast.Return) and part.value is None)
    }
    for point, node in zip(scope.points.points, scope.nodes, strict=True):
        found |= {node for path in point.names.changes if path[0] in scope.parameters and len(path) == 1}
    return found
