"""The order in which a scope evaluates its statements and the parts of its expressions that decisions guard."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from suspectra.program.python.named_paths import called_name, own_parts
from suspectra.program.python.names_used import NamesUsed

ENTRY, EXIT = 0, 1
"""The first two points of each scope."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SUPPRESSING = frozenset({"suppress", "raises", "assertRaises", "assertRaisesRegex"})  # they end exceptions
_BRANCHING = (ast.BoolOp, ast.IfExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Ends = frozenset[int]
_NOWHERE: _Ends = frozenset()


class Span(NamedTuple):
    """A part of a source: lines from 1, columns in bytes from 0, the last one not included."""

    # where it begins and ends
    line: int
    column: int
    end_line: int
    end_column: int

    @classmethod
    def from_node(cls, node: ast.expr | ast.stmt | ast.pattern | ast.excepthandler) -> Span:
        """Where a node of a syntax tree is.

        From its first to its last character.
        """
        assert node.end_lineno is not None  # the parser sets both
        assert node.end_col_offset is not None
        return cls(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


class PointKind(Enum):
    """What is evaluated."""

    STATEMENT = "statement"
    """A statement, or the head of a compound one."""
    DECISION = "decision"
    """Something whose truth says what comes next."""
    PART = "part"
    """A part of an expression: what a decision guards, or an argument."""
    END = "end"
    """The end of a function that gives a value elsewhere: here it gives None."""
    JOIN = "join"
    """Nothing: ways meet, or part, without anything of the source."""


@dataclass(frozen=True)
class Point:
    """One step of the evaluation."""

    kind: PointKind  # what it is
    span: Span | None  # where it is in the source, None for a join. A decision has the span of what it decides by
    names: NamesUsed = field(default_factory=NamesUsed)  # what it reads and writes
    inside: tuple[int, ...] = ()  # the decisions within its own expressions, which say what its value is


@dataclass(frozen=True)
class ScopePoints:
    """The points of one function, or of a module outside its functions."""

    points: tuple[Point, ...]  # the first is where the scope is entered, the second where it is left
    edges: frozenset[tuple[int, int]]  # what can come right after what
    node: ast.Module | Definition  # the module or function itself
    outer: int  # the number of the scope around it; -1 for a module


def scopes_of(tree: ast.Module) -> list[ScopePoints]:
    """Find the points of a source.

    Raises RecursionError when the source is nested too deeply.
    """
    found: list[ScopePoints] = []
    waiting: list[ast.Module | Definition] = [tree]
    outer = [-1]
    for node in waiting:
        reading = _Reading(waiting)
        reading.read(node)
        outer += [len(found)] * (len(waiting) - len(outer))
        found.append(ScopePoints(tuple(reading.points), frozenset(reading.edges), node, outer[len(found)]))
    return found


@dataclass
class _Loop:
    top: int
    breaks: set[int] = field(default_factory=set)


@dataclass
class _Handlers:
    first: int


@dataclass
class _Finally:
    pending: dict[str, set[int]] = field(default_factory=dict)


class _Reading:
    """Follows the evaluation of one scope; functions in it are left for later."""

    def __init__(self, later: list[ast.Module | Definition]):
        self.points = [Point(PointKind.JOIN, None), Point(PointKind.JOIN, None)]
        self.edges: set[tuple[int, int]] = set()
        self._later = later
        self._decisions: list[int] = []
        # what encloses the present point, innermost last; an exit (return, break, continue, raise) unwinds it
        self._stack: list[_Loop | _Handlers | _Finally] = []

    def read(self, node: ast.Module | Definition) -> None:
        start: _Ends = frozenset({ENTRY})
        if isinstance(node, ast.Lambda):
            self._leave("return", self._value(node.body, start, NamesUsed.from_nodes(node.body)))
        else:
            ends = self._run(node.body, start)
            gives = any(isinstance(one, ast.Return) and one.value for one in own_parts(node))
            if ends and gives and not isinstance(node, ast.Module):
                ends = self._point(PointKind.END, Span.from_node(node), ends, NamesUsed(), len(self._decisions))
            self._leave("return", ends)

    # points

    def _point(self, kind: PointKind, span: Span | None, ends: _Ends, names: NamesUsed, since: int) -> _Ends:
        """Go to a new point, whose value depends on the decisions made since."""
        number = len(self.points)
        self.points.append(Point(kind, span, names, tuple(self._decisions[since:])))
        self._connect(ends, number)
        self._may_raise(number)
        if kind is PointKind.DECISION:
            self._decisions.append(number)
        return frozenset({number})

    def _may_raise(self, number: int) -> None:
        """Any point of a ``try`` can be the last one before its handlers."""
        if any(isinstance(frame, _Handlers) for frame in self._stack):
            self._leave("raise", frozenset({number}))

    def _join(self, ends: _Ends) -> int:
        self.points.append(Point(PointKind.JOIN, None))
        self._connect(ends, len(self.points) - 1)
        return len(self.points) - 1

    def _connect(self, ends: Iterable[int], target: int) -> None:
        self.edges.update((end, target) for end in ends)

    def _leave(self, kind: str, ends: Iterable[int]) -> None:
        """Follow an exit through the enclosing statements to the loop, the handlers or the end of the scope."""
        for frame in reversed(self._stack):
            if isinstance(frame, _Finally):
                frame.pending.setdefault(kind, set()).update(ends)
                return
            if isinstance(frame, _Handlers) and kind == "raise":
                self._connect(ends, frame.first)
                return
            if isinstance(frame, _Loop) and kind == "break":
                frame.breaks.update(ends)
                return
            if isinstance(frame, _Loop) and kind == "continue":
                self._connect(ends, frame.top)
                return
        self._connect(ends, EXIT)

    # expressions

    def _value(self, node: ast.expr, ends: _Ends, names: NamesUsed) -> _Ends:
        """A part that is a point of its own."""
        since = len(self._decisions)
        ends = self._evaluate(node, ends)
        return self._point(PointKind.PART, Span.from_node(node), ends, names, since)

    def _decide(self, place: ast.expr | ast.pattern, ends: _Ends, names: NamesUsed, since: int) -> _Ends:
        return self._point(PointKind.DECISION, Span.from_node(place), ends, names, since)

    def _evaluate(self, node: ast.AST, ends: _Ends) -> _Ends:
        """Go through the decisions of an expression."""
        if isinstance(node, ast.Constant | ast.Name):
            return ends
        if isinstance(node, ast.Lambda):
            self._later.append(node)
            return self._evaluate_children(node.args, ends)
        if isinstance(node, ast.BoolOp):
            return self._operands(node, ends)
        if isinstance(node, ast.IfExp):
            since = len(self._decisions)
            ends = self._evaluate(node.test, ends)
            if not isinstance(node.test, ast.Constant):
                ends = self._decide(node.test, ends, NamesUsed.from_nodes(node.test), since)
            return self._guarded(node.body, ends) | self._guarded(node.orelse, ends)
        if isinstance(node, _COMPREHENSIONS):
            return self._comprehension(node, ends)
        return self._evaluate_children(node, ends)

    def _evaluate_children(self, node: ast.AST, ends: _Ends) -> _Ends:
        for child in ast.iter_child_nodes(node):
            ends = self._evaluate(child, ends)
        return ends

    def _guarded(self, node: ast.expr, ends: _Ends) -> _Ends:
        return self._value(node, ends, NamesUsed.from_nodes(node))

    def _operands(self, node: ast.BoolOp, ends: _Ends) -> _Ends:
        """Each operand but the last decides whether the next one is evaluated."""
        done: _Ends = _NOWHERE
        for number, operand in enumerate(node.values):
            since = len(self._decisions)
            ends = self._guarded(operand, ends) if number else self._evaluate(operand, ends)
            if operand is not node.values[-1] and not isinstance(operand, ast.Constant):
                ends = self._decide(operand, ends, NamesUsed.from_nodes(operand), since)
                done |= ends
        return done | ends

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, ends: _Ends) -> _Ends:
        """Rounds within rounds; only the conditions of a comprehension are decisions of the source."""
        tops: list[int] = []
        for generator in node.generators:
            ends = self._evaluate(generator.iter, ends)
            tops.append(self._join(ends))
            ends = frozenset({tops[-1]})
            for test in generator.ifs:
                since = len(self._decisions)
                ends = self._decide(test, self._evaluate(test, ends), NamesUsed.from_nodes(test), since)
                self._connect(ends, tops[-1])
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            ends = self._guarded(part, ends)
        self._connect(ends, tops[-1])
        for outer, inner in pairwise(tops):
            self._connect({inner}, outer)
        return frozenset({tops[0]})

    # statements

    def _run(self, body: Iterable[ast.stmt], ends: _Ends) -> _Ends:
        for statement in body:
            visit = _VISITS.get(type(statement))
            ends = visit(self, statement, ends) if visit else self._simple(statement, ends)
        return ends

    def _simple(self, node: ast.stmt, ends: _Ends) -> _Ends:
        since = len(self._decisions)
        for child in ast.iter_child_nodes(node):
            if any(isinstance(part, _BRANCHING) for part in ast.walk(child)):
                ends = self._evaluate(child, ends)
        return self._point(PointKind.STATEMENT, Span.from_node(node), ends, NamesUsed.from_nodes(node), since)

    def _head(self, node: ast.stmt, parts: Iterable[ast.AST], ends: _Ends) -> tuple[_Ends, int]:
        """The head of a compound statement; also says which decisions were made before."""
        since = len(self._decisions)
        parts = list(parts)
        for part in parts:
            ends = self._evaluate(part, ends)
        body: list[ast.stmt] = getattr(node, "body", [])
        span = Span.from_node(node)
        if body:
            span = span._replace(end_line=body[0].lineno, end_column=body[0].col_offset)
        return self._point(PointKind.STATEMENT, span, ends, NamesUsed.from_nodes(*parts), since), since

    def _Expr(self, node: ast.Expr, ends: _Ends) -> _Ends:
        """The arguments of a call that is a statement are points of their own."""
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if not isinstance(call, ast.Call):
            return self._simple(node, ends)
        since = len(self._decisions)
        ends = self._evaluate(call.func, ends)
        for argument in (*call.args, *[keyword.value for keyword in call.keywords]):
            ends = self._guarded(argument, ends)
        return self._point(PointKind.STATEMENT, Span.from_node(node), ends, NamesUsed.from_nodes(node), since)

    def _Return(self, node: ast.Return, ends: _Ends) -> _Ends:
        self._leave("return", self._simple(node, ends))
        return _NOWHERE

    def _Raise(self, node: ast.Raise, ends: _Ends) -> _Ends:
        self._leave("raise", self._simple(node, ends))
        return _NOWHERE

    def _Break(self, node: ast.Break, ends: _Ends) -> _Ends:
        self._leave("break", self._simple(node, ends))
        return _NOWHERE

    def _Continue(self, node: ast.Continue, ends: _Ends) -> _Ends:
        self._leave("continue", self._simple(node, ends))
        return _NOWHERE

    def _test(self, node: ast.If | ast.While, ends: _Ends) -> _Ends:
        ends, since = self._head(node, [node.test], ends)
        if _is_constant(node.test):
            return ends
        return self._decide(node.test, ends, NamesUsed.from_nodes(node.test), since)

    def _If(self, node: ast.If, ends: _Ends) -> _Ends:
        ends = self._test(node, ends)
        return self._run(node.body, ends) | self._run(node.orelse, ends)

    def _While(self, node: ast.While, ends: _Ends) -> _Ends:
        loop = _Loop(self._join(ends))
        ends = self._test(node, frozenset({loop.top}))
        self._stack.append(loop)
        self._connect(self._run(node.body, ends), loop.top)
        self._stack.pop()
        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return (_NOWHERE if forever else self._run(node.orelse, ends)) | loop.breaks

    def _For(self, node: ast.For | ast.AsyncFor, ends: _Ends) -> _Ends:
        ends, since = self._head(node, [node.iter], ends)
        top = self._decide(node.iter, ends, NamesUsed.from_loop(node), since)
        (loop,) = (_Loop(number) for number in top)
        self._stack.append(loop)
        self._connect(self._run(node.body, top), loop.top)
        self._stack.pop()
        return self._run(node.orelse, top) | loop.breaks

    _AsyncFor = _For

    def _With(self, node: ast.With | ast.AsyncWith, ends: _Ends) -> _Ends:
        ends, _ = self._head(node, node.items, ends)
        managers = [item.context_expr for item in node.items]
        if not any(isinstance(one, ast.Call) and called_name(one) in _SUPPRESSING for one in managers):
            return self._run(node.body, ends)
        after = self._join(_NOWHERE)
        self._stack.append(_Handlers(after))
        ends = self._run(node.body, ends)
        self._stack.pop()
        self._connect(ends, after)
        return frozenset({after})

    _AsyncWith = _With

    def _Try(self, node: ast.Try, ends: _Ends) -> _Ends:
        final = _Finally()
        if node.finalbody:
            self._stack.append(final)
        first = self._join(_NOWHERE)
        if node.handlers:
            self._stack.append(_Handlers(first))
        ends = self._run(node.body, ends)
        if node.handlers:
            self._stack.pop()
        after = self._run(node.orelse, ends)
        unmatched: _Ends = frozenset({first}) if node.handlers else _NOWHERE
        for handler in node.handlers:
            names = NamesUsed.from_handler(handler)
            body = handler.body[0]
            span = Span.from_node(handler)._replace(end_line=body.lineno, end_column=body.col_offset)
            matched = self._point(PointKind.STATEMENT, span, unmatched, names, len(self._decisions))
            unmatched = matched if handler.type else _NOWHERE
            after |= self._run(handler.body, matched)
        if unmatched:
            self._leave("raise", unmatched)
        if not node.finalbody:
            return after
        self._stack.pop()
        return self._finally(node, after, final)

    _TryStar = _Try

    def _finally(self, node: ast.Try, after: _Ends, final: _Finally) -> _Ends:
        pending = {end for ends in final.pending.values() for end in ends}
        entered = frozenset({self._join(after | pending)})
        done = self._run(node.finalbody, entered)
        for kind in final.pending:
            self._leave(kind, done)
        return done if after else _NOWHERE

    def _Match(self, node: ast.Match, ends: _Ends) -> _Ends:
        since = len(self._decisions)
        ends = self._evaluate(node.subject, ends)
        span = Span.from_node(node.subject)._replace(line=node.lineno, column=node.col_offset)
        ends = self._point(PointKind.STATEMENT, span, ends, NamesUsed.from_nodes(node.subject), since)
        after: _Ends = _NOWHERE
        for case in node.cases:
            since = len(self._decisions)
            if case.guard is not None:
                fits = frozenset({self._join(ends)})  # a guard is evaluated only if the pattern fits
                guarded = self._evaluate(case.guard, fits)
                decision = self._decide(case.guard, guarded, NamesUsed.from_case(case, node.subject), since)
                unmatched = decision | fits
            else:
                decision = unmatched = self._decide(case.pattern, ends, NamesUsed.from_case(case, node.subject), since)
            after |= self._run(case.body, decision)
            ends = unmatched
        return after | ends

    def _FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, ends: _Ends) -> _Ends:
        self._later.append(node)
        parts = [*node.decorator_list, *node.args.defaults, *[part for part in node.args.kw_defaults if part]]
        ends, _ = self._head(node, parts, ends)
        return ends

    _AsyncFunctionDef = _FunctionDef

    def _ClassDef(self, node: ast.ClassDef, ends: _Ends) -> _Ends:
        ends, _ = self._head(node, [*node.decorator_list, *node.bases, *node.keywords], ends)
        return self._run(node.body, ends)


def _is_constant(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) or (isinstance(test, ast.Name) and test.id == "__debug__")


def _visits() -> Iterator[tuple[type[ast.stmt], Callable[[_Reading, ast.stmt, _Ends], _Ends]]]:
    """The method for each kind of statement; all others are simple."""
    for name, visit in vars(_Reading).items():
        if name[:1] == "_" and isinstance(getattr(ast, name[1:], None), type):
            yield getattr(ast, name[1:]), visit


_VISITS = dict(_visits())
