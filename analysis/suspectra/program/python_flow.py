"""Control flow of Python source text, in the terms coverage.py's arcs speak of it.

An arc joins two logical lines, or a line and the entry or exit of its scope: the code of a module, a class body or a
function. The flow of each scope is read from the syntax tree first at the grain of logical lines. *Usual* arcs are
decisions and sequence; *rare* arcs are exceptions, which any line can raise, and ways only some versions of Python
take. A rare arc counts when a test took it, since otherwise every statement would be a block of its own.

What arcs can't tell is listed in :attr:`PythonFlow.undecided`: branches inside one line leave no arc.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import tokenize
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from suspectra.arrays import Bools, Ints
from suspectra.program.file_parts import arc_codes
from suspectra.program.python_source import Positioned, last_line, start_line
from suspectra_recorder.instrumentation.source import LogicalLines, parse, without_collecting

Arc = tuple[int, int]
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_ScopeNode = ast.Module | _Definition
_FirstLine = Callable[[int], int]  # of the logical line a line is part of
_Ends = dict[int, bool]  # lines that control is about to leave, and whether only rarely

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_YIELDS = (ast.Yield, ast.YieldFrom)
_NO_CODE = (ast.Global, ast.Nonlocal)
_ON_ONE_LINE = frozenset(
    {ast.If, ast.While, ast.For, ast.AsyncFor, *_DEFINITIONS}
)  # where no arc leads from head to body then
_HEADED = _ON_ONE_LINE | {ast.With, ast.AsyncWith, ast.ClassDef}  # all but the head are statements of their own
_SIMPLE = frozenset({ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Raise})  # and some more
_CLAUSES = (ast.excepthandler, ast.match_case)


# words that a decision inside an expression needs, and the one that suspends a function
_WORDS = re.compile(r"\b(?:and|or|else|if|yield)\b")


class Scope(NamedTuple):
    """One code object: that of the module, a class body or a function.

    Parameters
    ----------
    line : int
        Line of the ``def`` or ``class``, 1 for the module.
    start : int
        First line of the code object, decorators included: ``-start`` is its entry, and its exit, in arcs.
    header : int
        Last line that belongs to the scope around it: that of the ``def`` or ``class`` itself, 0 for the module.
    is_function : bool
        Whether it is neither the module nor a class body.
    """

    line: int
    start: int
    header: int
    is_function: bool


@dataclass(frozen=True, eq=False)
class PythonFlow:
    r"""The flow of all scopes of one source file.

    Parameters
    ----------
    scopes : tuple of Scope
        The module first, then as they begin.
    ends : ndarray of int32, shape (k, 2)
        Every way control can go, each once in its scope, one scope after the other.
    rare, decides : ndarray of bool, shape (k,)
        Whether each of these arcs is rare, and whether it leaves a line where control is decided: a condition, a loop,
        a case or an ``except`` clause.
    scope_of_arc : ndarray of int32, shape (k,)
        The number of the scope of each of these arcs.
    undecided : tuple of (int, str)
        Lines that hold decisions no arc shows, ascending, and what kind they are.

    Examples
    --------
    >>> flow = PythonFlow.parse(b"def f(a):\n    if a:\n        a = 0\n    return a\n")
    >>> [arc for arc, rare in sorted(flow.arcs_of(1).items()) if not rare]
    [(-1, 2), (2, 3), (2, 4), (3, 4), (4, -1)]
    """

    scopes: tuple[Scope, ...]
    ends: Ints
    rare: Bools
    decides: Bools
    scope_of_arc: Ints
    undecided: tuple[tuple[int, str], ...]

    @classmethod
    def parse(cls, data: bytes) -> PythonFlow:
        """Read a source file's bytes; nothing of it is executed.

        Parameters
        ----------
        data : bytes
            The whole file, in the encoding it declares.

        Returns
        -------
        PythonFlow
            Every way control can go, scope by scope.

        Raises
        ------
        SyntaxError
            When this Python can't compile the source, or it is nested too deeply.
        """
        try:
            with without_collecting():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    text = importlib.util.decode_source(data)
                    tree = parse(text)
                return cls._of(tree, _Text.from_source(text), _first_line(tree, text, data))
        except SyntaxError:
            raise
        except (ValueError, RecursionError, MemoryError, tokenize.TokenError) as error:
            raise SyntaxError(str(error) or type(error).__name__) from None

    @classmethod
    def _of(cls, tree: ast.Module, text: _Text, first: _FirstLine) -> PythonFlow:
        builders: list[_Builder] = []
        undecided: list[tuple[int, str]] = []
        waiting: list[_ScopeNode] = [tree]
        while waiting:
            builder = _Builder(waiting.pop(), first, text, undecided)
            builder.build()
            builders.append(builder)
            waiting += builder.inner
        builders[1:] = sorted(builders[1:], key=lambda builder: (builder.scope.start, builder.scope.line))
        sizes = [len(builder.arcs) for builder in builders]
        count = sum(sizes)
        # arrays for all scopes at once, as one for each would take longer than to parse the source
        ends = np.fromiter(chain.from_iterable(chain.from_iterable(b.arcs for b in builders)), np.int32, 2 * count)
        return cls(
            tuple([builder.scope for builder in builders]),
            ends.reshape(-1, 2),
            np.fromiter(chain.from_iterable(b.arcs.values() for b in builders), bool, count),
            np.fromiter((source in b.decisions for b in builders for source, _ in b.arcs), bool, count),
            np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
            tuple(sorted(set(undecided))),
        )

    def arcs_of(self, scope: int) -> dict[Arc, bool]:
        """Every way control can go in a scope, and whether it is rare.

        Parameters
        ----------
        scope : int
            Index into `scopes`.

        Returns
        -------
        dict of Arc to bool
            By the first and last line of the arc.
        """
        own = self.scope_of_arc == scope
        return dict(zip(map(tuple, self.ends[own].tolist()), self.rare[own].tolist(), strict=True))

    def can_go(self, ends: Ints) -> Bools:
        """Whether control can go each way in any scope, or the arc is one of an expression's own code.

        A lambda or a comprehension is code of its own: it is entered from, and left to, the line it stands on. Line 0
        is what an empty file runs.

        Parameters
        ----------
        ends : ndarray of int32, shape (k, 2)
            First and last line of each arc.

        Returns
        -------
        ndarray of bool, shape (k,)
            In the order of `ends`.
        """
        wanted, codes = arc_codes(ends), np.sort(arc_codes(self.ends))  # even an empty module is entered
        known = np.equal(codes[np.minimum(codes.searchsorted(wanted), len(codes) - 1)], wanted)
        of_line = np.equal(ends[:, 0], -ends[:, 1])
        return known | of_line | np.equal(ends, 0).any(axis=1)


def of_expression(arc: Arc) -> bool:
    """Whether an arc enters or leaves code that stands on one line: a lambda, a comprehension, a one-line ``def``.

    Parameters
    ----------
    arc : Arc
        First and last line.

    Returns
    -------
    bool
        True where one end is minus the other.

    Examples
    --------
    >>> of_expression((-3, 3)), of_expression((-3, 4))
    (True, False)
    """
    return arc[0] + arc[1] == 0


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


class _Builder:
    """Follows control through the statements of one scope.

    `stack` holds what encloses the statement at hand, the innermost last; an exit (return, break, continue, raise)
    unwinds it.
    """

    def __init__(self, node: _ScopeNode, first: _FirstLine, text: _Text, undecided: list[tuple[int, str]]):
        self.node, self.first, self.text, self.undecided = node, first, text, undecided
        self.start = 1 if isinstance(node, ast.Module) else first(start_line(node))
        self.suspends = isinstance(node, ast.AsyncFunctionDef) or (
            isinstance(node, ast.FunctionDef)
            and not text.suspending.isdisjoint(range(node.lineno, last_line(node) + 1))
            and any(isinstance(part, _YIELDS) for part in ast.walk(node))
        )
        line = 0 if isinstance(node, ast.Module) else node.lineno
        self.scope = Scope(max(line, 1), self.start, first(line), isinstance(node, _DEFINITIONS))
        self.arcs: dict[Arc, bool] = {}
        self.decisions: set[int] = set()
        self.inner: list[_Definition] = []
        self.stack: list[_Loop | _Handlers | _With | _Finally] = []

    def build(self) -> None:
        """Find the arcs of the scope."""
        ends: _Ends = {-self.start: False}
        body = self.node.body
        if isinstance(self.node, ast.ClassDef):
            ends = self.enter(self.start, ends)  # sets __module__ and __qualname__
        elif isinstance(self.node, _DEFINITIONS) and _is_docstring(body[0]):
            body = body[1:]
            if not body:
                ends = self.enter(self.line(self.node.body[0]), ends)
        if isinstance(self.node, _DEFINITIONS):  # instructions without a line of their own have that of the `def`
            ends = _join(ends, {self.first(self.node.lineno): True})
        self.leave("return", self.run(body, ends))

    def line(self, node: Positioned) -> int:
        return self.first(start_line(node))

    def connect(self, ends: _Ends, target: int) -> None:
        for line, rare in ends.items():
            if line != target or target < 0:  # what stays within a line leaves no arc
                self.arcs[line, target] = self.arcs.get((line, target), True) and rare

    def enter(self, line: int, ends: _Ends) -> _Ends:
        """Go to a line; whatever stands there can raise."""
        self.connect(ends, line)
        if self.stack:
            self.leave("raise", {line: True})
        else:
            self.arcs.setdefault((line, -self.start), True)
        if self.suspends:  # an exception thrown into a suspended generator enters where it is handled
            self.leave("raise", {-self.start: True})
        return {line: False}

    def leave(self, kind: str, ends: _Ends) -> None:
        """Go where an exit leads: through what encloses it, to the loop, the handlers or the end of the scope."""
        if not ends:
            return
        for frame in reversed(self.stack):
            if isinstance(frame, _Finally):
                frame.pending[kind] = _join(frame.pending.get(kind, {}), ends)
                return
            if isinstance(frame, _With):
                self.connect(ends, frame.line)
                # before 3.10, and for a recorder, the way out does not lead through the `with` line again
                ends = _join({frame.line: all(ends.values())}, dict.fromkeys(ends, True))
            elif isinstance(frame, _Handlers) and kind == "raise":
                self.connect(ends, frame.line)
                return
            elif isinstance(frame, _Loop) and kind == "break":
                frame.breaks = _join(frame.breaks, ends)
                return
            elif isinstance(frame, _Loop) and kind == "continue":
                self.connect(ends, frame.top)
                return
        self.connect(ends, -self.start)

    def run(self, body: Iterable[ast.stmt], ends: _Ends) -> _Ends:
        for statement in body:
            kind = type(statement)
            self.note(statement, kind)
            if kind not in _NO_CODE:
                visit = _VISITS.get(kind)
                ends = visit(self, statement, ends) if visit else self.enter(self.first(statement.lineno), ends)
        return ends

    def note(self, node: ast.stmt, kind: type) -> None:
        """Note the decisions of a statement that no arc shows; those of the statements in it are noted with these."""
        line = node.lineno
        if kind in _SIMPLE and line == node.end_lineno and line not in self.text.deciding:
            return  # as nearly all do
        body: list[ast.stmt] = getattr(node, "body", [])
        if kind in _ON_ONE_LINE and self.first(body[0].lineno) == self.first(line):
            what = "function's body stands on the line of its `def`"
            what = what if kind in _DEFINITIONS else "body stands on the line of its condition"
            self.undecided.append((self.first(line), f"the {what}"))
        words = self.text.deciding
        first, last = line, last_line(node)
        if kind in _HEADED:
            last = start_line(body[0]) - 1
            if kind is ast.If:
                words = self.text.deciding_besides
            else:
                first = start_line(node)
        if first in words or (last > first and not self.text.deciding.isdisjoint(range(first + 1, last + 1))):
            for part in (node,) if not body and kind is not ast.Match else _own_parts(node):
                self.undecided += _undecided(part, self.first)

    def _simple(self, node: ast.stmt, ends: _Ends) -> _Ends:
        return self.enter(self.line(node), ends)

    def _decide(self, node: Positioned, ends: _Ends) -> _Ends:
        self.decisions.add(self.line(node))
        return self.enter(self.line(node), ends)

    def _Expr(self, node: ast.Expr, ends: _Ends) -> _Ends:
        after = self._simple(node, ends)
        if isinstance(node.value, ast.Constant):  # some versions compile nothing for it
            after = _join(after, dict.fromkeys(ends, True))
        return after

    def _ImportFrom(self, node: ast.ImportFrom, ends: _Ends) -> _Ends:
        after = self._simple(node, ends)
        # nothing can be put in front of it, so a recorder may pass it over
        return _join(after, dict.fromkeys(ends, True)) if node.module == "__future__" else after

    def _Return(self, node: ast.Return, ends: _Ends) -> _Ends:
        self.leave("return", self._simple(node, ends))
        return {}

    def _Raise(self, node: ast.Raise, ends: _Ends) -> _Ends:
        self.leave("raise", self._simple(node, ends))
        return {}

    def _Break(self, node: ast.Break, ends: _Ends) -> _Ends:
        self.leave("break", self._simple(node, ends))
        return {}

    def _Continue(self, node: ast.Continue, ends: _Ends) -> _Ends:
        self.leave("continue", self._simple(node, ends))
        return {}

    def _If(self, node: ast.If, ends: _Ends) -> _Ends:
        test = self._decide(node, ends)
        return _join(self.run(node.body, test), self.run(node.orelse, test))

    def _While(self, node: ast.While, ends: _Ends) -> _Ends:
        test = self._decide(node, ends)
        loop = _Loop(self.line(node))
        self.stack.append(loop)
        self.connect(self.run(node.body, test), loop.top)
        self.stack.pop()
        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return _join({} if forever else self.run(node.orelse, test), loop.breaks)

    def _For(self, node: ast.For | ast.AsyncFor, ends: _Ends) -> _Ends:
        head = self._decide(node, ends)
        loop = _Loop(self.line(node))
        self.stack.append(loop)
        self.connect(self.run(node.body, head), loop.top)
        self.stack.pop()
        return _join(self.run(node.orelse, head), loop.breaks)

    _AsyncFor = _For

    def _With(self, node: ast.With | ast.AsyncWith, ends: _Ends) -> _Ends:
        head = self._simple(node, ends)
        line = self.line(node)
        self.stack.append(_With(line))
        after = self.run(node.body, head)
        self.stack.pop()
        self.connect(after, line)
        return _join({line: not after}, dict.fromkeys(after, True))

    _AsyncWith = _With

    def _Try(self, node: ast.Try, ends: _Ends) -> _Ends:
        several = type(node).__name__ == "TryStar"
        final = _Finally()
        if node.finalbody:
            self.stack.append(final)
        after = self.run(node.body, self._guarded(node, ends))
        if node.handlers:
            self.stack.pop()
        after = self.run(node.orelse, after)
        unmatched: _Ends = {}
        for handler in node.handlers:
            line = self.line(handler)
            matched = self._decide(handler, unmatched)
            unmatched = matched if handler.type else {}
            done = self.run(handler.body, matched)
            # forgetting the exception's name happens on the handler's line in some versions
            self.connect(dict.fromkeys(done, True), line)
            after = _join(_join(after, done), {line: True} if handler.name else {})
            if several:
                unmatched = _join(unmatched, dict.fromkeys(done, True))
        self.leave("raise", unmatched)
        if not node.finalbody:
            return after
        self.stack.pop()
        entering = after
        for pending in final.pending.values():
            entering = _join(entering, pending)
        done = self.run(node.finalbody, entering)
        for kind, pending in final.pending.items():
            rare = all(pending.values())
            self.leave(kind, {line: rare or seldom for line, seldom in done.items()})
        return done if after else {}

    _TryStar = _Try

    def _guarded(self, node: ast.Try, ends: _Ends) -> _Ends:
        """Enter the ``try`` line itself, then the protection of its handlers."""
        head = self._simple(node, ends)
        if node.handlers:
            self.stack.append(_Handlers(self.line(node.handlers[0])))
        return head

    def _Match(self, node: ast.Match, ends: _Ends) -> _Ends:
        unmatched = self._simple(node, ends)
        after: _Ends = {}
        for case in node.cases:
            head = self._decide(case.pattern, unmatched)
            after = _join(after, self.run(case.body, head))
            certain = _always_matches(case)
            if certain:  # some versions compile nothing for `case _:`
                after = _join(after, self.run(case.body, dict.fromkeys(unmatched, True)))
            unmatched = {} if certain else head
        return _join(after, unmatched)

    def _FunctionDef(self, node: _Definition, ends: _Ends) -> _Ends:
        self.inner.append(node)
        decorators = [self.line(decorator) for decorator in node.decorator_list]
        for line in decorators:
            ends = self.enter(line, ends)
        after = self.enter(self.first(node.lineno), ends)
        # since 3.11 calling the decorators, the innermost first, and binding the name return to their lines
        returning = after
        for line in (*reversed(decorators), self.first(node.lineno)):
            returning = dict.fromkeys(self.enter(line, dict.fromkeys(returning, True)), True)
        return _join(after, returning)

    _AsyncFunctionDef = _FunctionDef
    _ClassDef = _FunctionDef


def _join(ends: _Ends, more: _Ends) -> _Ends:
    """Both: rare only what is rare in both."""
    both = dict(ends)
    for line, rare in more.items():
        both[line] = both.get(line, True) and rare
    return both


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _always_matches(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def _undecided(tree: ast.AST, first: _FirstLine) -> Iterator[tuple[int, str]]:
    """Decisions that lie within expressions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp):
            yield first(node.lineno), "a conditional expression"
        elif isinstance(node, ast.BoolOp):
            yield first(node.lineno), "`and` and `or` stop early"
        elif isinstance(node, ast.comprehension) and node.ifs:
            yield first(node.ifs[0].lineno), "a condition in a comprehension"


def _own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a statement without the statements in it."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, _CLAUSES):
            yield from _own_parts(part)
        elif not isinstance(part, ast.stmt):
            yield part


@dataclass(frozen=True)
class _Text:
    """What the text of a source tells sooner than its tree: on which lines a search in the tree is worth while.

    Parameters
    ----------
    deciding : frozenset of int
        Lines with a word that decisions inside expressions need.
    deciding_besides : frozenset of int
        Lines with such a word besides the ``if`` of a statement.
    suspending : frozenset of int
        Lines with a ``yield``.
    """

    deciding: frozenset[int]
    deciding_besides: frozenset[int]
    suspending: frozenset[int]

    @classmethod
    def from_source(cls, text: str) -> _Text:
        found: dict[str, list[int]] = {"and": [], "or": [], "else": [], "if": [], "yield": []}
        line, counted = 1, 0
        for match in _WORDS.finditer(text):
            line += text.count("\n", counted, match.start())
            counted = match.start()
            found[match.group()].append(line)
        inside = {*found["and"], *found["or"], *found["else"]}
        twice = {line for line, next_line in pairwise(found["if"]) if line == next_line}
        return cls(frozenset(inside.union(found["if"])), frozenset(inside | twice), frozenset(found["yield"]))


def _first_line(tree: ast.Module, text: str, data: bytes) -> _FirstLine:
    """What tells the first line of the logical line that a line is part of."""
    firsts = _first_lines(tree, text)
    if firsts is None:  # the tokens tell it always, but to read them takes longer than to parse the source
        return LogicalLines(data).first
    return lambda line: firsts.get(line, line)


def _first_lines(tree: ast.Module, text: str) -> dict[int, int] | None:
    """The first line of each logical line that takes several, by each of its other lines, as far as nodes stand there.

    None where the tree does not tell it: where a logical line holds more than one statement, or goes on behind a
    backslash, and in a ``match``, whose cases have no line of their own.
    """
    firsts: dict[int, int] = {}
    if "\\\n" in text or text.endswith("\\"):
        return None
    lines = text.split("\n")
    waiting: list[ast.stmt | ast.excepthandler] = list(tree.body)
    while waiting:
        node = waiting.pop()
        line = node.lineno
        column = node.col_offset
        if isinstance(node, ast.Match) or (column and not lines[line - 1][:column].isspace()):
            return None
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        for decorator in decorators:
            if not lines[decorator.lineno - 1].lstrip().startswith("@"):
                return None
            firsts.update(dict.fromkeys(range(decorator.lineno + 1, last_line(decorator) + 1), decorator.lineno))
        body: list[ast.stmt] = getattr(node, "body", [])
        last = last_line(node)
        if body:
            last = start_line(body[0]) - 1
            for name in ("body", "handlers", "orelse", "finalbody"):
                waiting += getattr(node, name, ())
        if last > line:
            firsts.update(dict.fromkeys(range(line + 1, last + 1), line))
    return firsts


# how to go through each kind of statement; others are simple
_VISITS: dict[type[ast.stmt], Callable[[_Builder, ast.stmt, _Ends], _Ends]] = {
    getattr(ast, name[1:]): visit
    for name, visit in vars(_Builder).items()
    if name[:1] == "_" and isinstance(getattr(ast, name[1:], None), type)
}
