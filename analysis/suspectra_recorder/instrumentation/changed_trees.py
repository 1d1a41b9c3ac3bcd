"""Putting the probes of a source into a tree of it that another tool has changed.

Such tools check types at run time, for example: they parse a source, insert calls, and compile the tree. What they
leave of the source is found again by its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.block_control import DEFINITIONS, expressions
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

_Extent = tuple[int, int, int, int]
_BLOCKS = ("body", "orelse", "finalbody")


class ProbedTree:
    """The tree of a source with its probes."""

    def __init__(self, tree: ast.Module):
        self._body = tree.body
        statements = [node for node in _statements(tree.body) if not _is_probe(node)]
        self._places = frozenset(map(_extent, statements))
        self._definitions = frozenset(_definitions(statements))
        self._with_lambda = {_extent(node) for node in statements if _has_lambda(node)}

    def put_into(self, changed: ast.Module) -> ast.Module | None:
        """Copy a changed tree, with the probes.

        None if statements were moved, so that it is not known which probes belong to them.
        """
        result = ast.Module(self._copied(changed.body), changed.type_ignores)
        statements = list(_statements(result.body))
        there = frozenset(_definitions(statements))
        known: set[_Extent] = set()
        try:
            result.body = _merged(self._body, result.body, known)
        except _Moved:
            return None
        moved = any((place := _extent(node)) in self._places and place not in known for node in statements)
        # else it is another source that is compiled under the name of this file
        is_this_source = there <= self._definitions if there else known == self._places
        return result if is_this_source and not moved else None

    def _copied(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """A copy that may be changed; the other tool may still use its tree, which may be large."""
        return [self._copy(node) for node in block]

    def _copy(self, node: Any) -> Any:
        # the bodies of its lambdas get probes, and a shallow copy would share them with the tool's tree
        made: Any = _deeply(node) if _extent(node) in self._with_lambda else _shallow(node)
        for name in _BLOCKS:
            if hasattr(node, name):
                setattr(made, name, self._copied(getattr(node, name)))
        for name in ("handlers", "cases"):
            if hasattr(node, name):
                setattr(made, name, [self._copy(part) for part in getattr(node, name)])
        if hasattr(node, "decorator_list"):
            made.decorator_list = list(made.decorator_list)
        return made


def _statements(block: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Those of a block and of all blocks in it."""
    waiting: list[Any] = list(block)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        for name in (*_BLOCKS, "handlers", "cases"):
            waiting += getattr(node, name, ())


def _has_lambda(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Lambda) for node in expressions(statement))


def _definitions(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, _Extent]]:
    """The functions and classes, none of which other tools add."""
    return ((node.name, _extent(node)) for node in statements if isinstance(node, DEFINITIONS))


class _Moved(Exception):
    """Parts of a statement are not where they were."""


def _merged(probed: list[ast.stmt], changed: list[ast.stmt], known: set[_Extent]) -> list[ast.stmt]:
    """A block of the changed tree with the probes of the same block."""
    probes: list[ast.stmt] = []
    before: dict[int, list[ast.stmt]] = {}  # by id of the statement of the changed tree
    last = -1
    for statement in probed:
        if _is_probe(statement):
            probes.append(statement)
            continue
        at = _found(statement, changed, last + 1)
        if at is not None:
            known.add(_extent(statement))
            _put_into(statement, changed[at], known)
            before[at], last = probes, at
        probes = []
    out: list[ast.stmt] = [] if last >= 0 else probes
    for at, statement in enumerate(changed):
        out += [*before.get(at, ()), statement, *(probes if at == last else ())]
    return out


def _found(statement: ast.stmt, block: Sequence[ast.stmt], start: int) -> int | None:
    """Where a statement is in a changed block. What is inserted may have its place, but comes before it."""
    alike = [at for at in range(start, len(block)) if _extent(block[at]) == _extent(statement)]
    same = [at for at in alike if type(block[at]) is type(statement)]
    if not alike and (target := _target(statement)) is not None:  # `x += 1` may have become `x = check(x + 1)`
        alike = [at for at in range(start, len(block)) if _target(block[at]) == target]
    return (same or alike)[-1] if alike else None


def _target(statement: ast.stmt) -> _Extent | None:
    """Where the name is that an assignment binds."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    return None if targets[0] is None else _extent(targets[0])


def _put_into(probed: Any, changed: Any, known: set[_Extent]) -> None:
    """Put the probes inside of a statement into its changed form."""
    lambdas = {_extent(node): node for node in expressions(changed) if isinstance(node, ast.Lambda)}
    for node in expressions(probed):
        if isinstance(node, ast.Lambda) and _extent(node) in lambdas:
            there = lambdas[_extent(node)]
            there.body = _wrapped(node.body, there.body)
    if type(probed) is not type(changed):
        if any(hasattr(probed, name) for name in _BLOCKS):
            raise _Moved
        return
    decorators = {_extent(node): node for node in getattr(probed, "decorator_list", ())}
    for number, node in enumerate(getattr(changed, "decorator_list", ())):
        if _extent(node) in decorators:
            changed.decorator_list[number] = _wrapped(decorators[_extent(node)], node)
    for name in _BLOCKS:
        if hasattr(probed, name):
            setattr(changed, name, _merged(getattr(probed, name), getattr(changed, name), known))
    for one, other in _pairs(getattr(probed, "handlers", ()), getattr(changed, "handlers", ())):
        other.type = _wrapped(one.type, other.type) if other.type is not None else None
        other.body = _merged(one.body, other.body, known)
    if isinstance(probed, ast.Match):
        changed.cases = list(_cases(probed, changed, known))


def _cases(probed: ast.Match, changed: ast.Match, known: set[_Extent]) -> Iterator[ast.match_case]:
    rest = iter(changed.cases)
    for case in probed.cases:
        if _is_own(case):
            yield case
            continue
        other = next(rest, None)
        if other is None or _extent(other.pattern) != _extent(case.pattern):
            raise _Moved
        other.guard = _wrapped(case.guard, other.guard) if other.guard is not None else None
        other.body = _merged(case.body, other.body, known)
        yield other
    if next(rest, None) is not None:
        raise _Moved


def _is_own(case: ast.match_case) -> bool:
    """Whether a case is there for its probes alone."""
    guard = case.guard
    return (guard is not None and _is_probe(guard)) or (guard is None and all(map(_is_probe, case.body)))


def _pairs(some: Sequence[Any], others: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    if len(some) != len(others):
        raise _Moved
    return zip(some, others, strict=True)


def _wrapped(probed: ast.expr | None, changed: ast.expr) -> ast.expr:
    """The changed form of an expression with the probe that stands before it, or after it."""
    if isinstance(probed, ast.BoolOp) and _is_probe(probed.values[0]):
        rest = [node for node in probed.values[1:] if _is_probe(node)]
        return ast.copy_location(ast.BoolOp(probed.op, [probed.values[0], changed, *rest]), changed)
    if isinstance(probed, ast.Subscript) and isinstance(probed.value, ast.Tuple) and _is_probe(probed.value.elts[-1]):
        pair = ast.copy_location(ast.Tuple([changed, probed.value.elts[-1]], ast.Load()), changed)
        return ast.copy_location(ast.Subscript(pair, probed.slice, ast.Load()), changed)
    return changed


def _extent(node: Any) -> _Extent:
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    return line, column, getattr(node, "end_lineno", None) or 0, getattr(node, "end_col_offset", None) or 0


def _is_probe(node: Any) -> bool:
    """Whether it is a probe: they are the only code that has no width."""
    line, column, end_line, end_column = _extent(node)
    # `probe_code._position` gives them none
    return line == end_line and column == end_column == 0


def _shallow(node: Any) -> Any:
    made = type(node)(**dict(ast.iter_fields(node)))
    return ast.copy_location(made, node) if "lineno" in node._attributes else made


def _deeply(node: Any) -> Any:
    if isinstance(node, list):
        return [_deeply(one) for one in node]
    if not isinstance(node, ast.AST):
        return node
    made: Any = _shallow(node)
    for name, value in ast.iter_fields(node):
        setattr(made, name, _deeply(value))
    return made
