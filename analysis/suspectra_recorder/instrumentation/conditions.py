"""Probes for conditions inside expressions, in recordings with counts.

A *condition* is an expression whose truth value decides what Python evaluates next: the test of a conditional
expression, the ``if`` of a comprehension, an operand of ``and`` and ``or``, an ``assert``, the guard of a ``case``. The
tests of ``if`` and ``while`` are not, as the arms show their outcome, but their operands are. A chained comparison is
one condition.

The truth value is still computed once. If only the truth value matters, ``t`` becomes ``not probe if t else probe`` (a
probe returns None). An operand whose value may be that of the whole, the ``t`` of ``t or u``, becomes ``(t, probe)[0]
or probe undone or other probe or u``: it counts as true until ``u`` is reached, and also where asking for its truth
raises.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import sys
from suspectra_recorder.instrumentation.parser_references import ast
from suspectra_recorder.instrumentation.source import LogicalLines

__builtins__ = library_references.builtins

_NO_EXPRESSIONS = frozenset({"annotation", "returns", "type_params", "pattern", "ctx", "op", "ops"})
_EVALUATED_LATER = getattr(ast, "TypeAlias", ())
_VAGUE = (ast.JoinedStr,) if sys.version_info < (3, 12) else ()  # expressions inside have no position of their own

Probe = Callable[[int, int, int], ast.expr]
"""Given a cell, a line and a number, returns an expression at that line that adds the number to the cell."""


@dataclass(frozen=True)
class ProbedCondition:
    """A condition, by its position: lines from 1, columns in characters from 0, end exclusive."""

    line: int  # where it begins
    column: int
    end_line: int  # where it ends
    end_column: int
    statement: int  # the first line of the statement it is in
    false: int  # the cell that counts how often it was false
    true: int  # the one that counts how often it was true


class ConditionProbes:
    """Inserts the probes of conditions into a tree."""

    def __init__(
        self, lines: LogicalLines, statements: dict[int, int], cells: int, probe: Probe, *, asserts: bool = True
    ):
        self.conditions: list[ProbedCondition] = []
        self.cells = cells  # the index of the first free cell
        self._lines = lines
        self._text = [line.encode("utf-8", "surrogatepass") for line in lines.text.split("\n")]
        self._columns: dict[int, list[int] | None] = {}  # where the characters of a line start, None if it is ASCII
        self._statements = statements
        self._probe = probe
        self._asserts = asserts
        self._vague: ast.expr | None = None

    def visit(self, node: ast.AST) -> None:
        """Insert probes into the children of a node."""
        if isinstance(node, _EVALUATED_LATER):
            return
        if isinstance(node, ast.BoolOp):
            node.values = self._operands(node)
        elif isinstance(node, ast.IfExp):
            self._arms(node)
        elif isinstance(node, (ast.If, ast.While)):
            node.test = self._truth(node.test, observed=True)
            self._fields(node, besides="test")
        elif isinstance(node, ast.Assert):
            if self._asserts:
                node.test = self._truth(node.test)
            self._fields(node, besides="test")
        elif isinstance(node, ast.comprehension):
            node.ifs = [self._truth(test) for test in node.ifs]
            self._fields(node, besides="ifs")
        elif isinstance(node, ast.match_case):
            if node.guard is not None:
                node.guard = self._truth(node.guard)
            self._fields(node, besides="guard")
        elif isinstance(node, _VAGUE) and self._vague is None:
            self._vague = node
            self._fields(node)
            self._vague = None
        else:
            self._fields(node)

    def _fields(self, node: ast.AST, besides: str = "") -> None:
        for name, value in ast.iter_fields(node):
            if name != besides and name not in _NO_EXPRESSIONS:
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        self.visit(child)

    # where only truth matters

    def _truth(self, node: ast.expr, *, observed: bool = False) -> ast.expr:
        """Instrument a node of which only the truth value is used; `observed` if that is recorded in another way."""
        # inside of another condition its outcome is known from that
        condition = None if observed else self._condition(node)
        if isinstance(node, ast.BoolOp):
            inner = [self._truth(value, observed=isinstance(value, ast.BoolOp)) for value in node.values]
            node.values = inner
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self._truth(node.operand, observed=True)
        else:
            self.visit(node)
        return node if condition is None else self._observed(node, condition)

    def _observed(self, node: ast.expr, condition: ProbedCondition) -> ast.expr:
        true = ast.copy_location(ast.UnaryOp(ast.Not(), self._add(node, condition.true)), node)
        return ast.copy_location(ast.IfExp(node, true, self._add(node, condition.false)), node)

    # where the value matters

    def _arms(self, node: ast.IfExp) -> None:
        condition = self._condition(node.test)
        node.test = self._truth(node.test, observed=True)
        self.visit(node.body)
        self.visit(node.orelse)
        if condition is not None:
            node.body = self._before(node.body, condition.true)
            node.orelse = self._before(node.orelse, condition.false)

    def _before(self, node: ast.expr, cell: int) -> ast.expr:
        return ast.copy_location(ast.BoolOp(ast.Or(), [self._add(node, cell), node]), node)

    def _operands(self, node: ast.BoolOp) -> list[ast.expr]:
        out: list[ast.expr] = []
        for value in node.values:
            # in `(a and b) or c` Python tests a and b themselves, not the value in parentheses
            asked = value is not node.values[-1] and not isinstance(value, (ast.BoolOp, ast.IfExp))
            condition = self._condition(value) if asked else None
            self.visit(value)
            out += [value] if condition is None else self._operand(value, condition, isinstance(node.op, ast.Or))
        return out

    def _operand(self, node: ast.expr, condition: ProbedCondition, ends_if_true: bool) -> Iterator[ast.expr]:
        ends, goes_on = (condition.true, condition.false) if ends_if_true else (condition.false, condition.true)
        pair = ast.copy_location(ast.Tuple([node, self._add(node, ends)], ast.Load()), node)
        zero = ast.copy_location(ast.Constant(0), node)
        yield ast.copy_location(ast.Subscript(pair, zero, ast.Load()), node)
        for cell, step in ((ends, -1), (goes_on, 1)):
            probe = self._add(node, cell, step)
            yield probe if ends_if_true else ast.copy_location(ast.UnaryOp(ast.Not(), probe), node)

    def _add(self, node: ast.expr, cell: int, step: int = 1) -> ast.expr:
        return self._probe(cell, node.lineno, step)

    def _condition(self, node: ast.expr) -> ProbedCondition | None:
        """Add a condition; None if the compiler knows its value, or it is not in a statement."""
        shown = self._vague or node
        statement = self._lines.first(shown.lineno)
        if statement not in self._statements or isinstance(node, ast.Constant) or _is_debug(node):
            return None
        end_line, end_offset = shown.end_lineno, shown.end_col_offset
        assert end_line is not None  # the parser sets both
        assert end_offset is not None
        start, end = self._column(shown.lineno, shown.col_offset), self._column(end_line, end_offset)
        place = (shown.lineno, start, end_line, end)
        self.conditions.append(ProbedCondition(*place, statement, self.cells, self.cells + 1))
        self.cells += 2
        return self.conditions[-1]

    def _column(self, line: int, offset: int) -> int:
        if line not in self._columns:
            text = self._text[line - 1]
            starts = None if text.isascii() else [i for i, byte in enumerate(text) if byte & 0xC0 != 0x80]
            self._columns[line] = starts
        starts = self._columns[line]
        return offset if starts is None else bisect_left(starts, offset)


def _is_debug(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "__debug__"
