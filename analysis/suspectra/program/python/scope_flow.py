"""The control flow of one scope: arcs between lines, read from the syntax tree.

A scope is the code of a module, a class body or a function. Usual arcs are decisions and sequence; rare arcs are
exceptions, which any line can raise, and arcs of only some versions of Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from suspectra.program.python.source import Positioned, last_line, start_line
from suspectra.program.python.source_lines import FirstLine, WordLines

Arc = tuple[int, int]
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Ends = dict[int, bool]  # lines that control leaves next, and whether only rarely

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_YIELDS = (ast.Yield, ast.YieldFrom)
_NO_CODE = (ast.Global, ast.Nonlocal)
_ON_ONE_LINE = frozenset(
    {ast.If, ast.While, ast.For, ast.AsyncFor, *_DEFINITIONS}
)  # if head and body are on one line, no arc connects them
_HEADED = _ON_ONE_LINE | {ast.With, ast.AsyncWith, ast.ClassDef}  # all parts but the head are statements of their own
_SIMPLE = frozenset({ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Raise})  # the most common ones
_CLAUSES = (ast.excepthandler, ast.match_case)


class CodeScope(NamedTuple):
    """One code object: that of the module, a class body or a function."""

    line: int  # line of the `def` or `class`, 1 for the module
    start: int  # first line of the code object, with decorators. In arcs, `-start` is its entry and its exit
    header: int  # last line that belongs to the enclosing scope: that of the `def` or `class` itself; 0 for the module
    is_function: bool  # whether it is a function


@dataclass
class _Loop:
    top: int
    breaks: _Ends = field(default_factory=dict)


@dataclass
class _Handlers:
    line: int


@dataclass
class _With:
    line: int


@dataclass
class _Finally:
    pending: dict[str, _Ends] = field(default_factory=dict)


class ScopeFlow:
    """Follows control through the statements of one scope."""

    def __init__(
        self, node: ast.Module | Definition, first: FirstLine, words: WordLines, undecided: list[tuple[int, str]]
    ):
        self.node, self.first, self.words, self.undecided = node, first, words, undecided
        self.start = 1 if isinstance(node, ast.Module) else first(start_line(node))
        self.suspends = isinstance(node, ast.AsyncFunctionDef) or (
            isinstance(node, ast.FunctionDef)
            and not words.suspending.isdisjoint(range(node.lineno, last_line(node) + 1))
            and any(isinstance(part, _YIELDS) for part in ast.walk(node))
        )
        line = 0 if isinstance(node, ast.Module) else node.lineno
        self.scope = CodeScope(max(line, 1), self.start, first(line), isinstance(node, _DEFINITIONS))
        self.arcs: dict[Arc, bool] = {}
        self.decisions: set[int] = set()
        self.inner: list[Definition] = []
        # what encloses the current statement, innermost last; an exit (return, break, continue, raise) unwinds it
        self.stack: list[_Loop | _Handlers | _With | _Finally] = []

    def build(self) -> None:
        """Find the arcs of the scope."""
        ends: _Ends = {-self.start: False}
        body = self.node.body
        if isinstance(self.node, ast.ClassDef):
            ends = self._enter(self.start, ends)  # sets __module__ and __qualname__
        elif isinstance(self.node, _DEFINITIONS) and _is_docstring(body[0]):
            body = body[1:]
            if not body:
                ends = self._enter(self._line(self.node.body[0]), ends)
        if isinstance(self.node, _DEFINITIONS):  # instructions without a line of their own have the line of the `def`
            ends = _join(ends, {self.first(self.node.lineno): True})
        self._leave("return", self._run(body, ends))

    def _line(self, node: Positioned) -> int:
        return self.first(start_line(node))

    def _connect(self, ends: _Ends, target: int) -> None:
        for line, rare in ends.items():
            if line != target or target < 0:  # a jump within a line leaves no arc
                self.arcs[line, target] = self.arcs.get((line, target), True) and rare

    def _enter(self, line: int, ends: _Ends) -> _Ends:
        """Go to a line; any line can raise."""
        self._connect(ends, line)
        if self.stack:
            self._leave("raise", {line: True})
        else:
            self.arcs.setdefault((line, -self.start), True)
        if self.suspends:  # an exception thrown into a suspended generator enters at its handler
            self._leave("raise", {-self.start: True})
        return {line: False}

    def _leave(self, kind: str, ends: _Ends) -> None:
        """Follow an exit through the enclosing statements to the loop, the handlers or the end of the scope."""
        if not ends:
            return
        for frame in reversed(self.stack):
            if isinstance(frame, _Finally):
                frame.pending[kind] = _join(frame.pending.get(kind, {}), ends)
                return
            if isinstance(frame, _With):
                self._connect(ends, frame.line)
                # before 3.10, and with the recorder, the exit does not visit the `with` line again
                ends = _join({frame.line: all(ends.values())}, dict.fromkeys(ends, True))
            elif isinstance(frame, _Handlers) and kind == "raise":
                self._connect(ends, frame.line)
                return
            elif isinstance(frame, _Loop) and kind == "break":
                frame.breaks = _join(frame.breaks, ends)
                return
            elif isinstance(frame, _Loop) and kind == "continue":
                self._connect(ends, frame.top)
                return
        self._connect(ends, -self.start)

    def _run(self, body: Iterable[ast.stmt], ends: _Ends) -> _Ends:
        for statement in body:
            kind = type(statement)
            self._note(statement, kind)
            if kind not in _NO_CODE:
                visit = _VISITS.get(kind)
                ends = visit(self, statement, ends) if visit else self._enter(self.first(statement.lineno), ends)
        return ends

    def _note(self, node: ast.stmt, kind: type) -> None:
        """Note the decisions of a statement that leave no arc, but not those of nested statements."""
        line = node.lineno
        if kind in _SIMPLE and line == node.end_lineno and line not in self.words.deciding:
            return  # nearly always the case
        body: list[ast.stmt] = getattr(node, "body", [])
        if kind in _ON_ONE_LINE and self.first(body[0].lineno) == self.first(line):
            what = "function's body is on the line of its `def`"
            what = what if kind in _DEFINITIONS else "body is on the line of its condition"
            self.undecided.append((self.first(line), f"the {what}"))
        words = self.words.deciding
        first, last = line, last_line(node)
        if kind in _HEADED:
            last = start_line(body[0]) - 1
            if kind is ast.If:
                words = self.words.deciding_besides
            else:
                first = start_line(node)
        if first in words or (last > first and not self.words.deciding.isdisjoint(range(first + 1, last + 1))):
            for part in (node,) if not body and kind is not ast.Match else _own_parts(node):
                self.undecided += _undecided(part, self.first)

    def _simple(self, node: ast.stmt, ends: _Ends) -> _Ends:
        return self._enter(self._line(node), ends)

    def _decide(self, node: Positioned, ends: _Ends) -> _Ends:
        self.decisions.add(self._line(node))
        return self._enter(self._line(node), ends)

    def _Expr(self, node: ast.Expr, ends: _Ends) -> _Ends:
        after = self._simple(node, ends)
        if isinstance(node.value, ast.Constant):  # some versions generate no code for it
            after = _join(after, dict.fromkeys(ends, True))
        return after

    def _ImportFrom(self, node: ast.ImportFrom, ends: _Ends) -> _Ends:
        after = self._simple(node, ends)
        # nothing may precede it, so a recorder may skip it
        return _join(after, dict.fromkeys(ends, True)) if node.module == "__future__" else after

    def _Return(self, node: ast.Return, ends: _Ends) -> _Ends:
        self._leave("return", self._simple(node, ends))
        return {}

    def _Raise(self, node: ast.Raise, ends: _Ends) -> _Ends:
        self._leave("raise", self._simple(node, ends))
        return {}

    def _Break(self, node: ast.Break, ends: _Ends) -> _Ends:
        self._leave("break", self._simple(node, ends))
        return {}

    def _Continue(self, node: ast.Continue, ends: _Ends) -> _Ends:
        self._leave("continue", self._simple(node, ends))
        return {}

    def _If(self, node: ast.If, ends: _Ends) -> _Ends:
        test = self._decide(node, ends)
        return _join(self._run(node.body, test), self._run(node.orelse, test))

    def _While(self, node: ast.While, ends: _Ends) -> _Ends:
        test = self._decide(node, ends)
        loop = _Loop(self._line(node))
        self.stack.append(loop)
        self._connect(self._run(node.body, test), loop.top)
        self.stack.pop()
        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return _join({} if forever else self._run(node.orelse, test), loop.breaks)

    def _For(self, node: ast.For | ast.AsyncFor, ends: _Ends) -> _Ends:
        head = self._decide(node, ends)
        loop = _Loop(self._line(node))
        self.stack.append(loop)
        self._connect(self._run(node.body, head), loop.top)
        self.stack.pop()
        return _join(self._run(node.orelse, head), loop.breaks)

    _AsyncFor = _For

    def _With(self, node: ast.With | ast.AsyncWith, ends: _Ends) -> _Ends:
        head = self._simple(node, ends)
        line = self._line(node)
        self.stack.append(_With(line))
        after = self._run(node.body, head)
        self.stack.pop()
        self._connect(after, line)
        return _join({line: not after}, dict.fromkeys(after, True))

    _AsyncWith = _With

    def _Try(self, node: ast.Try, ends: _Ends) -> _Ends:
        several = type(node).__name__ == "TryStar"
        final = _Finally()
        if node.finalbody:
            self.stack.append(final)
        after = self._run(node.body, self._guarded(node, ends))
        if node.handlers:
            self.stack.pop()
        after = self._run(node.orelse, after)
        unmatched: _Ends = {}
        for handler in node.handlers:
            line = self._line(handler)
            matched = self._decide(handler, unmatched)
            unmatched = matched if handler.type else {}
            done = self._run(handler.body, matched)
            # some versions delete the exception's name on the handler's line
            self._connect(dict.fromkeys(done, True), line)
            after = _join(_join(after, done), {line: True} if handler.name else {})
            if several:
                unmatched = _join(unmatched, dict.fromkeys(done, True))
        self._leave("raise", unmatched)
        if not node.finalbody:
            return after
        self.stack.pop()
        entering = after
        for pending in final.pending.values():
            entering = _join(entering, pending)
        done = self._run(node.finalbody, entering)
        for kind, pending in final.pending.items():
            rare = all(pending.values())
            self._leave(kind, {line: rare or seldom for line, seldom in done.items()})
        return done if after else {}

    _TryStar = _Try

    def _guarded(self, node: ast.Try, ends: _Ends) -> _Ends:
        """Enter the ``try`` line, then the part that its handlers guard."""
        head = self._simple(node, ends)
        if node.handlers:
            self.stack.append(_Handlers(self._line(node.handlers[0])))
        return head

    def _Match(self, node: ast.Match, ends: _Ends) -> _Ends:
        unmatched = self._simple(node, ends)
        after: _Ends = {}
        for case in node.cases:
            head = self._decide(case.pattern, unmatched)
            after = _join(after, self._run(case.body, head))
            certain = _always_matches(case)
            if certain:  # some versions generate no code for `case _:`
                after = _join(after, self._run(case.body, dict.fromkeys(unmatched, True)))
            unmatched = {} if certain else head
        return _join(after, unmatched)

    def _FunctionDef(self, node: Definition, ends: _Ends) -> _Ends:
        self.inner.append(node)
        decorators = [self._line(decorator) for decorator in node.decorator_list]
        for line in decorators:
            ends = self._enter(line, ends)
        after = self._enter(self.first(node.lineno), ends)
        # since 3.11, calling the decorators (innermost first) and binding the name visit their lines again
        returning = after
        for line in (*reversed(decorators), self.first(node.lineno)):
            returning = dict.fromkeys(self._enter(line, dict.fromkeys(returning, True)), True)
        return _join(after, returning)

    _AsyncFunctionDef = _FunctionDef
    _ClassDef = _FunctionDef


def _join(ends: _Ends, more: _Ends) -> _Ends:
    """Unite two sets of ends; a line is rare if it is rare in both."""
    both = dict(ends)
    for line, rare in more.items():
        both[line] = both.get(line, True) and rare
    return both


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _always_matches(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def _undecided(tree: ast.AST, first: FirstLine) -> Iterator[tuple[int, str]]:
    """The decisions inside expressions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp):
            yield first(node.lineno), "a conditional expression"
        elif isinstance(node, ast.BoolOp):
            yield first(node.lineno), "`and` and `or` stop early"
        elif isinstance(node, ast.comprehension) and node.ifs:
            yield first(node.ifs[0].lineno), "a condition in a comprehension"


def _own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a statement without nested statements."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, _CLAUSES):
            yield from _own_parts(part)
        elif not isinstance(part, ast.stmt):
            yield part


# the method for each kind of statement; all others are simple
_VISITS: dict[type[ast.stmt], Callable[[ScopeFlow, ast.stmt, _Ends], _Ends]] = {
    getattr(ast, name[1:]): visit
    for name, visit in vars(ScopeFlow).items()
    if name[:1] == "_" and isinstance(getattr(ast, name[1:], None), type)
}
