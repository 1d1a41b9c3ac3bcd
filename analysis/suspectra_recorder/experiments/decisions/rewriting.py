"""Letting each decision of a source be asked of a switchboard, without changing what the code does.

A *decision* is where Python asks for a truth to know what comes next: the test of ``if``, ``while`` and conditional
expressions, the operands of ``and`` and ``or``, conditions of comprehensions, the arms of ``match`` whose pattern fits,
and each round of ``for``.

The test ``t`` becomes ``board.decide(number, True if t else False)``: truth is asked for once, and where it was before,
so that tracebacks stay what they are. An operand whose value may be that of the whole, the ``t`` of ``t or u``, becomes
``board.take() if board.choose(number, True if board.keep(t) else False) else board.drop() or u``. The board is a
constant of the code, as cells are in recorded code, so no namespace gets a name.
"""

from __future__ import annotations

from typing import NamedTuple

from suspectra_recorder.experiments.decisions.inserted_calls import Located, call_on_first_line
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import sys
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

_SKIPPED_FIELDS = frozenset({"annotation", "returns", "type_params", "pattern", "ctx", "op", "ops"})
_EVALUATED_LATER = getattr(ast, "TypeAlias", ())
_VAGUE = (ast.JoinedStr,) if sys.version_info < (3, 12) else ()  # what is inside has no place of its own


CHOOSES = "suspectra_chooses"
"""The attribute of a node whose test is not a decision of the program: it chooses between variants of it."""


class InstrumentedDecision(NamedTuple):
    """A decision in a source: lines from 1, columns in bytes from 0, the last one not included."""

    kind: str  # `if`, `while`, `for`, `conditional`, `operand`, `comprehension` or `case`
    line: int  # where what decides begins
    column: int
    end_line: int  # where what decides ends
    end_column: int
    # with which outcomes an arm of its `if` ends by raising an exception: 1 for false, 2 for true, 3 for both, and 0
    # for none. For an operand: with which of its outcomes it can come to that
    guard: int


def instrument(tree: ast.Module, name: str, first: int, *, asserts: bool = True) -> list[InstrumentedDecision]:
    """Let the decisions of a source ask a switchboard.

    Its decisions, by number from `first` on.

    Raises RecursionError when the source is nested too deeply.
    """
    rewriting = _Rewriting(name, first, asserts=asserts)
    rewriting.visit(tree)
    return rewriting.sites


class _Rewriting:
    def __init__(self, name: str, first: int, *, asserts: bool):
        self.sites: list[InstrumentedDecision] = []
        self._name, self._first, self._asserts = name, first, asserts
        self._vague: ast.expr | None = None

    def visit(self, node: ast.AST) -> None:
        """Rewrite what a node contains. What can be a decision itself is replaced in the node that contains it."""
        if isinstance(node, _EVALUATED_LATER):
            return
        if getattr(node, CHOOSES, False):
            self._fields(node, besides="test")
            return
        if isinstance(node, (ast.If, ast.While)):
            kind = "if" if isinstance(node, ast.If) else "while"
            node.test = self._decision(node.test, kind, node, guard=_raising(node))
            self._fields(node, besides="test")
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._fields(node)
            self._rounds(node)
        elif isinstance(node, ast.IfExp):
            node.test = self._decision(node.test, "conditional", node)
            self._fields(node, besides="test")
        elif isinstance(node, ast.comprehension):
            node.ifs = [self._decision(test, "comprehension", test) for test in node.ifs]
            self._fields(node, besides="ifs")
        elif isinstance(node, ast.match_case):
            self._arm(node)
            self._fields(node, besides="guard")
        elif isinstance(node, ast.Assert):
            # else pytest rewrites them afterwards
            if self._asserts:
                node.test = self._truth(node.test, node, guard=0)
                self._fields(node, besides="test")
        elif isinstance(node, _VAGUE) and self._vague is None:
            self._vague = node
            self._fields(node)
            self._vague = None
        else:
            self._fields(node)

    def _fields(self, node: ast.AST, besides: str = "") -> None:
        for name, value in ast.iter_fields(node):
            if name == besides or name in _SKIPPED_FIELDS:
                continue
            if isinstance(value, list):
                value[:] = [self._replaced(child) for child in value]
            elif isinstance(value, ast.AST):
                setattr(node, name, self._replaced(value))

    def _replaced(self, node: object) -> object:
        if isinstance(node, ast.BoolOp):
            return self._value(node)
        if isinstance(node, ast.AST):
            self.visit(node)
        return node

    # where only truth matters

    def _decision(self, test: ast.expr, kind: str, asker: Located, *, guard: int = 0) -> ast.expr:
        """A test that is a decision; the compiler knows constants. `asker` is what asks for its truth."""
        if isinstance(test, ast.Constant) or (isinstance(test, ast.Name) and test.id == "__debug__"):
            return test
        number = self._site(test, kind, guard)
        return self._decide(number, asker, self._truth(test, asker, guard=guard))

    def _truth(self, test: ast.expr, asker: Located, *, guard: int) -> ast.expr:
        """A test of which only the truth is used, with its operands as decisions of their own."""
        if isinstance(test, ast.BoolOp):
            test.values = [
                self._truth(value, asker, guard=guard)
                if isinstance(value, ast.BoolOp)
                else self._decision(value, "operand", asker, guard=guard)
                for value in test.values
            ]
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            # the guard is about the whole, which `not` turns around
            opposite = {1: 2, 2: 1}.get(guard, guard)
            test.operand = self._truth(test.operand, asker, guard=opposite)
        else:
            self.visit(test)
        return test

    # where the value matters

    def _value(self, node: ast.BoolOp) -> ast.expr:
        """``a or b`` as a conditional expression; the last operand is a value and decides nothing."""
        *operands, last = node.values
        asked: list[tuple[ast.expr, ast.expr]] = []
        for operand in operands:
            number = self._site(operand, "operand", guard=0)
            value = self._replaced(operand)
            assert isinstance(value, ast.expr)
            asked.append((operand, self._decide(number, node, self._call("keep", operand, value), "choose")))
        rest = self._replaced(last)
        assert isinstance(rest, ast.expr)
        for operand, question in reversed(asked):
            taken = self._call("take", operand)
            goes_on = ast.copy_location(ast.BoolOp(ast.Or(), [self._call("drop", operand), rest]), operand)
            arms = (taken, goes_on) if isinstance(node.op, ast.Or) else (goes_on, taken)
            rest = ast.copy_location(ast.IfExp(question, *arms), operand)
        return rest

    # statements

    def _rounds(self, node: ast.For | ast.AsyncFor) -> None:
        """Another round, or the end: ``if not board.decide(number, True): break`` in front of the body."""
        number = self._site(node.iter, "for", guard=0)
        more = self._decide(number, node.iter, None)
        ends = ast.copy_location(ast.UnaryOp(ast.Not(), more), node.iter)
        leave = ast.copy_location(ast.Break(), node.iter)
        node.body.insert(0, ast.copy_location(ast.If(ends, [leave], []), node.iter))

    def _arm(self, node: ast.match_case) -> None:
        """Whether an arm whose pattern fits is taken."""
        place = node.guard or node.pattern
        number = self._site(place, "case", guard=0)
        guard = None if node.guard is None else self._truth(node.guard, place, guard=0)
        node.guard = self._decide(number, place, guard)

    # what they share

    def _decide(self, number: int, place: Located, test: ast.expr | None, method: str = "decide") -> ast.expr:
        """Ask the board about a test, None for one that is true."""
        true, false, at = (ast.copy_location(ast.Constant(value), place) for value in (True, False, number))
        truth = true if test is None else ast.copy_location(ast.IfExp(test, true, false), place)
        return self._call(method, place, at, truth)

    def _call(self, method: str, place: Located, *arguments: ast.expr) -> ast.expr:
        return call_on_first_line(place, self._name, method, *arguments)

    def _site(self, node: ast.expr | ast.pattern, kind: str, guard: int) -> int:
        place = self._vague or node
        end_line, end_column = place.end_lineno, place.end_col_offset
        assert end_line is not None  # the parser sets both
        assert end_column is not None
        self.sites.append(InstrumentedDecision(kind, place.lineno, place.col_offset, end_line, end_column, guard))
        return self._first + len(self.sites) - 1


def _raising(node: ast.If | ast.While) -> int:
    """With which outcomes an arm of an ``if`` ends by raising: not to take it may hide the symptom alone."""
    if isinstance(node, ast.While):
        return 0
    arms = (1, node.orelse), (2, node.body)
    return sum(outcome for outcome, arm in arms if arm and isinstance(arm[-1], ast.Raise))
