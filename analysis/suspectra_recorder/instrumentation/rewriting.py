"""Inserting probes into a syntax tree without changing the behaviour of the code.

A probe is ``cells[i] = 1`` before a statement, or, if only an expression is possible, a call that returns None in
``probe or expression``. The list is an attribute of a constant of the code, so no name is added to modules or builtins,
and the code runs in any environment: with other globals, without builtins, in another process. It is compiled with a
string in place of that constant, which :func:`~suspectra_recorder.instrumentation.cell_constants.with_cells` replaces.

A statement needs no store of its own if it is reached exactly when its predecessor is, because that can't raise. An arm
needs none if its first statement can't be reached in another way. So with counts, the sum of the cells of a probe is
how often its fact occurred: ``cells[i] += 1``.

Some functions that do nothing have no probe, and what is in them is no statement: a decorator may compare their code
with that of another empty function (:func:`~suspectra_recorder.instrumentation.block_control.left_alone`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.block_control import (
    DEFINITIONS,
    FUNCTIONS,
    LOOPS,
    always_matches,
    cannot_raise,
    constant_test,
    exits,
    expressions,
    has_break,
    leaves,
    left_alone,
    outside_of,
    sure_names,
    tests_in,
)
from suspectra_recorder.instrumentation.conditions import ConditionProbes, ProbedCondition
from suspectra_recorder.instrumentation.kept_results.guards import Arm, ResultCheck, ResultChecks
from suspectra_recorder.instrumentation.outline import Outline
from suspectra_recorder.instrumentation.parser_references import ast
from suspectra_recorder.instrumentation.probe_code import ProbeCode
from suspectra_recorder.instrumentation.probes import FunctionSpan, Kind, ModuleMap, Probe, ProbedStatement
from suspectra_recorder.instrumentation.source import (
    LogicalLines,
    compile_silently,
    docstring,
    parse,
    statement_lines,
    without_collecting,
)
from suspectra_recorder.instrumentation.successors import AfterFinally, Arc, Successors, Target

__builtins__ = library_references.builtins

_TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))
_WITHS = (ast.With, ast.AsyncWith)
_CASES = 16  # the largest number of patterns that share a cell
_COMPOUND = (ast.If, *LOOPS, *DEFINITIONS, *_TRIES, *_WITHS, ast.Match)


def instrument(
    source: bytes,
    path: str,
    name: str,
    *,
    counting: bool = False,
    asserts: bool = True,
    mixed: bool = False,
    kept: bool = False,
) -> tuple[ast.Module, ModuleMap]:
    """Instrument a source: return its tree with probes, and the map of the probes; of a mixed one without its tests.

    If asked for, it also notes what makes results that are kept (`suspectra_recorder.instrumentation.kept_results`).

    Raises SyntaxError, ValueError, RecursionError when Python itself cannot compile the source, or it is nested too
    deeply to be rewritten.
    """
    with without_collecting():
        tree = parse(source, path)
        # before the tree is changed: its lines say which statements there are
        untouched = compile_silently(tree, path)
        lines = LogicalLines(source)
        # a source that mentions bytecode may compare functions by it
        alone = left_alone(tree, compares=b"co_code" in source)
        tests = tests_in(tree) if mixed else set()
        firsts = outside_of(alone, tests, statement_lines(tree, untouched, lines), lines.first)
        guards = ResultChecks.from_tree(tree) if kept else ResultChecks()
        inserter = _Inserter(lines, firsts, name, counting, alone | tests, guards)
        outline = Outline.from_tree(tree)
        if counting:
            inserter.put_into_expressions(tree, asserts)
        inserter.module(tree)
        return tree, replace(inserter.map(), outline=outline)


@dataclass(frozen=True)
class _Scope:
    """The code object of a block."""

    function: int
    name: str  # dotted, empty for the module
    sure_names: frozenset[str] | None = None  # in a function, the local names that are always bound


class _Inserter:
    def __init__(
        self,
        lines: LogicalLines,
        firsts: list[int],
        name: str,
        counting: bool,
        alone: Collection[ast.AST],
        guards: ResultChecks,
    ):
        self.guards = guards
        self.lines = lines
        self.alone = alone  # functions without probes
        self.code = ProbeCode(name, counting)
        self.number = {line: i for i, line in enumerate(firsts)}
        self.function_of: dict[int, int] = {}
        self.functions: list[FunctionSpan] = []
        self.facts: dict[Probe, None] = {}  # an ordered set
        self.cells = len(firsts)
        self.conditions: list[ProbedCondition] = []

    def map(self) -> ModuleMap:
        firsts = list(self.number)
        checksums = self.lines.checksums(firsts)
        statements = [
            ProbedStatement(line, self.lines.last(line), self.function_of.get(line, -1), checksum)
            for line, checksum in zip(firsts, checksums, strict=True)
        ]
        return ModuleMap(statements, self.functions, self.conditions, list(self.facts), self.cells)

    # what is recorded

    def fact(self, kind: Kind, cell: int, line: int, target: int, scope: _Scope) -> None:
        self.facts.setdefault(Probe(kind, cell, line, target, scope.function))

    def arc(self, arc: Arc | None, cell: int, target: Target, scope: _Scope) -> None:
        if arc is not None and arc.source != target:
            self.fact(arc.kind, cell, arc.source, target if isinstance(target, int) else 0, scope)

    def statement(self, line: int, cell: int, scope: _Scope) -> None:
        # a one-line function is a statement of the code that defines it, which comes first
        self.function_of.setdefault(line, scope.function)
        self.fact(Kind.STATEMENT, cell, line, 0, scope)

    # the walk

    def put_into_expressions(self, tree: ast.Module, asserts: bool) -> None:
        """Insert the probes of conditions; before all others, which change expressions too."""
        probes = ConditionProbes(self.lines, self.number, self.cells, self.code.expression, asserts=asserts)
        probes.visit(tree)
        self.conditions, self.cells = probes.conditions, probes.cells
        for number, condition in enumerate(self.conditions):
            for kind, cell in ((Kind.FALSE, condition.false), (Kind.TRUE, condition.true)):
                self.facts.setdefault(Probe(kind, cell, condition.statement, number))

    def module(self, tree: ast.Module) -> None:
        scope = _Scope(-1, "")
        head = _head(tree.body)
        rest = tree.body[len(head) :]
        # nothing may precede a __future__ import, so its probe follows it
        probes: list[ast.stmt] = []
        for line in dict.fromkeys(self.line(s) for s in head if _is_future(s)):
            if line in self.number:
                self.statement(line, self.number[line], scope)
                probes.append(self.code.store(self.number[line], line))
        tree.body = head + probes + self.block(rest, scope, Successors(-1, None, error=-1), Arc(Kind.ENTRY, -1))

    def line(self, statement: ast.stmt) -> int:
        """The first line of a statement, including decorators."""
        decorators = getattr(statement, "decorator_list", None)
        return self.lines.first(decorators[0].lineno if decorators else statement.lineno)

    def first_line(self, block: Sequence[ast.stmt], otherwise: Target) -> Target:
        """The first line that control reaches in a block."""
        return next((line for s in block if (line := self.line(s)) in self.number), otherwise)

    def following(self, statements: Sequence[ast.stmt]) -> list[ast.stmt | None]:
        """For each statement of a block the next one with code."""
        found: list[ast.stmt | None] = []
        next_one: ast.stmt | None = None
        for statement in reversed(statements):
            found.append(next_one)
            if self.line(statement) in self.number:
                next_one = statement
        return found[::-1]

    def block(
        self,
        statements: list[ast.stmt],
        scope: _Scope,
        successors: Successors,
        entered: Arc | None = None,
        reached: int | None = None,
    ) -> list[ast.stmt]:
        """Insert probes between the statements of a block.

        `entered` is the arc into the block, and `reached` the line of the statement that is being executed then.
        """
        out: list[ast.stmt] = []
        arc = entered
        sure: int | None = None  # the cell that is always set when control gets here
        last: list[ast.stmt] = []
        kept: list[tuple[ast.stmt, int]] = []  # guards, and where what follows them begins
        for statement, following in zip(statements, self.following(statements), strict=True):
            line = self.line(statement)
            if line not in self.number:
                out += [statement, *self.inside(statement, scope, successors, following, None)]
                continue
            # its predecessor can't raise, so one store is enough for both
            cell = self.number[line] if sure is None else sure
            if arc is not None and line == arc.source:  # all on one line
                target = successors.left_by(statements[-1])
                # the probe of an arc out of a `finally` must be its last statement
                (last if isinstance(target, AfterFinally) else out).extend(self.own_arm(arc, target, scope))
                arc = None
            elif arc is not None and not self.is_clean(statement):
                out += self.own_arm(arc, line, scope)
                arc = None
            if line != reached:
                self.statement(line, cell, scope)
                self.arc(arc, cell, line, scope)
                if sure is None:
                    out.append(self.code.store(cell, line))
                sure = cell if cannot_raise(statement, scope.sure_names) else None
            out += [statement, *self.inside(statement, scope, successors, following, line)]
            out += self.stores(statement, line)
            if statement in self.guards.guards:
                kept.append((statement, len(out)))
            reached = line
            arc = None if isinstance(statement, _COMPOUND) else Arc(Kind.FLOW, line)
        # nothing in it has bytecode, so only this says that the block was entered
        if statements and not any(self.line(s) in self.number for s in statements):
            out += self.own_arm(entered, successors.follow, scope)
        # behind `break` and `continue` nothing is executed
        at = len(out) - isinstance(statements[-1], (ast.Break, ast.Continue)) if last else len(out)
        out = [*out[:at], *last, *out[at:]]
        for statement, rest in reversed(kept):
            out[rest:] = self.making(statement, self.guards.guards[statement], out[rest:])
        return out

    def stores(self, statement: ast.stmt, line: int) -> list[ast.stmt]:
        """The statements that note what a statement has stored."""
        notes = [self.code.stored(place, line) for place in self.guards.stores.get(statement, ())]
        if not isinstance(statement, ast.Return):
            return list(notes)
        for note in notes:
            pair = ast.Tuple([statement.value or note.value, note.value], ast.Load())
            zero = ast.Constant(0)
            for node in (zero, pair, made := ast.Subscript(pair, zero, ast.Load())):
                ast.copy_location(node, statement.value or note.value)
            statement.value = made
        return []

    def making(self, statement: Any, guard: ResultCheck, rest: list[ast.stmt]) -> list[ast.stmt]:
        """Put the making arm of a guard into the context that captures it; return what follows the guard."""
        line, place, code = self.line(statement), guard.place, self.code
        found, outside = [*statement.orelse], list[int]()  # where the result is there, and what leads to its making
        looking = statement.body
        if isinstance(statement, ast.Try):
            outside = [self.number[at] for h in statement.handlers if (at := self.lines.first(h.lineno)) in self.number]
            # nothing else leads there if the body returns
            outside += code.cells_of(rest) if guard.plain and leaves(statement.body) else []
        elif guard.arm is Arm.BODY:
            found += rest if leaves(statement.body) else []
            looking = statement.orelse
        else:
            found, outside = [*statement.body], code.cells_of(statement.orelse if guard.arm is Arm.REST else [])

        def make(block: list[ast.stmt]) -> list[ast.stmt]:
            return [code.make(place, outside, code.cells_of(found) if guard.plain else [], block, line)]

        if guard.arm is Arm.REST:
            rest = make(rest)
        elif guard.arm is Arm.HANDLERS:
            for handler in statement.handlers:
                handler.body = make(handler.body)
        elif guard.arm is Arm.BODY:
            statement.body = make(statement.body)
        else:
            statement.orelse = make(statement.orelse)
        looking.insert(0, code.find(place, line))
        return rest

    def own_arm(self, arc: Arc | None, target: Target, scope: _Scope) -> list[ast.stmt]:
        """A store only for an arm, if no statement has the same fact."""
        if arc is None or arc.kind is not Kind.ARM or arc.source == target:
            return []
        # where it leads depends on how the `finally` was entered
        if isinstance(target, AfterFinally):
            cell = self.arm_cell(arc, target.abrupt, scope)
            target.arms.append((arc, cell))
            # not a statement, since a monitor reports only the first pass of these
            return [ast.copy_location(ast.Expr(probe := self.code.put(cell, arc.source, 1)), probe)]
        return [self.code.store(self.arm_cell(arc, target, scope), arc.source)]

    def arm_cell(self, arc: Arc, target: Target, scope: _Scope) -> int:
        cell = self.new_cell()
        self.arc(arc, cell, target, scope)
        return cell

    def new_cell(self) -> int:
        self.cells += 1
        return self.cells - 1

    def is_clean(self, statement: ast.stmt) -> bool:
        """Whether the statement's cell is set only when control reaches it from its own block.

        It is not when functions or lambdas on the same logical line set it each time they are called.
        """
        if isinstance(statement, FUNCTIONS):
            lines = {self.lines.first(inner.lineno) for inner in statement.body}
            if self.line(statement) in lines or (len(statement.body) == 1 and docstring(statement.body)):
                return False
        return not any(isinstance(node, ast.Lambda) for node in expressions(statement))

    def inside(
        self, node: ast.stmt, scope: _Scope, successors: Successors, following: ast.stmt | None, line: int | None
    ) -> list[ast.stmt]:
        """Insert probes into the parts of a statement; return those that must follow it.

        `following` is the next sibling with code, and `line` is None without code.
        """
        if following is not None:
            successors = successors.to(self.line(following))
        for expression in list(expressions(node)):
            if isinstance(expression, ast.Lambda):
                self.function_expression(expression, scope)
        if isinstance(node, ast.If):
            self.branches(node, scope, successors, following, line)
        elif isinstance(node, LOOPS):
            self.loop(node, scope, successors, following, line)
        elif isinstance(node, FUNCTIONS):
            self.function(node, scope)
        elif isinstance(node, ast.ClassDef):
            self.class_body(node, scope)
        elif isinstance(node, _WITHS):
            # it may swallow exceptions
            node.body = self.block(node.body, scope, replace(successors, error=None), _arc(Kind.FLOW, line), line)
        elif isinstance(node, _TRIES):
            return self.handlers(node, scope, successors, line)
        elif isinstance(node, ast.Match):
            self.cases(node, scope, successors, line)
        return []

    def function_expression(self, node: ast.Lambda, scope: _Scope) -> None:
        """Insert a probe into a lambda, as calling it reaches the statement that contains it."""
        line = self.lines.first(node.body.lineno)
        if line in self.number:
            self.statement(line, self.number[line], scope)
            node.body = self.code.before(node.body, self.number[line], line)

    def branches(
        self, node: ast.If, scope: _Scope, successors: Successors, following: ast.stmt | None, line: int | None
    ) -> None:
        constant = constant_test(node.test)
        arm = _arc(Kind.ARM if constant is None else Kind.FLOW, line)
        # then what follows is reached by the other arm alone, and can stand for it
        left = leaves(node.body)
        node.body = self.block(node.body, scope, successors, None if constant is False else arm, line)
        if node.orelse:
            node.orelse = self.block(node.orelse, scope, successors, None if constant is True else arm, line)
        elif constant is None:
            node.orelse = self.missing_arm(arm, successors.follow, scope, following if left else None)

    def loop(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        scope: _Scope,
        successors: Successors,
        following: ast.stmt | None,
        line: int | None,
    ) -> None:
        constant = constant_test(node.test) if isinstance(node, ast.While) else None
        arm = _arc(Kind.ARM if constant is None else Kind.FLOW, line)
        inner = Successors(line, successors.exit, line, successors.follow, successors.error)
        # a `break` leads to what follows, too
        breaks = has_break(node.body)
        node.body = self.block(node.body, scope, inner, None if constant is False else arm, line)
        if node.orelse:
            node.orelse = self.block(node.orelse, scope, successors, None if constant is True else arm, line)
        elif constant is None:
            node.orelse = self.missing_arm(arm, successors.follow, scope, None if breaks else following)

    def missing_arm(self, arm: Arc | None, target: Target, scope: _Scope, following: ast.stmt | None) -> list[ast.stmt]:
        """Make the ``else`` of a statement without one.

        If the statement `following` is only reached by this arm, its cell is used.
        """
        if arm is None or following is None or not self.is_clean(following):
            return self.own_arm(arm, target, scope)
        self.arc(arm, self.number[self.line(following)], target, scope)
        return []

    def handlers(self, node: ast.Try, scope: _Scope, successors: Successors, line: int | None) -> list[ast.stmt]:
        final = self.first_line(node.finalbody, None)
        final = final if isinstance(final, int) else None
        # what leaves the statement goes through `finally` first
        inner = successors if not node.finalbody else Successors(final, final, final, final, final)
        body = inner.to(self.first_line(node.orelse, inner.follow))
        after = self.after_finally(node, successors)
        if node.handlers:
            body = replace(body, error=self.lines.first(node.handlers[0].lineno))
        node.body = self.block(node.body, scope, body, _arc(Kind.FLOW, line), line)
        for handler in node.handlers:
            place = self.lines.first(handler.lineno)
            bare: list[ast.stmt] = []
            if place in self.number:
                cell = self.number[place]
                self.statement(place, cell, scope)
                if handler.type is None:
                    # a handler without a type has no expression for a probe
                    bare = [self.code.store(cell, place)]
                else:
                    handler.type = self.code.before(handler.type, cell, place)
            handler.body = bare + self.block(handler.body, scope, inner, Arc(Kind.ARM, place), place)
        node.orelse = self.block(node.orelse, scope, inner)
        node.finalbody = self.block(node.finalbody, scope, successors.to(after))
        return self.settled(node, after, scope)

    def after_finally(self, node: ast.Try, successors: Successors) -> AfterFinally:
        """Where control goes after the ``finally`` of a statement."""
        targets_of = {ast.Return: successors.exit, ast.Continue: successors.head, ast.Break: successors.after}
        parts = [*node.body, *node.orelse, *(s for handler in node.handlers for s in handler.body)]
        targets = {successors.error, *(targets_of[kind] for kind in exits(parts, frozenset(targets_of)))}
        normal, abrupt = successors.follow, targets.pop() if len(targets) == 1 else None
        return AfterFinally(normal if isinstance(normal, int) else None, abrupt if isinstance(abrupt, int) else None)

    def settled(self, node: ast.Try, after: AfterFinally, scope: _Scope) -> list[ast.stmt]:
        """Correct the cells of arms: at the start of the ``finally`` and, by the returned statements, after it."""
        at_start: list[ast.stmt] = []
        out: list[ast.stmt] = []
        for arc, cell in after.arms:
            at_start.append(self.code.take_back(cell, arc.source, self.arm_cell(arc, after.abrupt, scope)))
            out.append(self.code.take_back(cell, arc.source, self.arm_cell(arc, after.normal, scope)))
        node.finalbody[:0] = at_start
        return out

    def cases(self, node: ast.Match, scope: _Scope, successors: Successors, line: int | None) -> None:
        arc = _arc(Kind.FLOW, line)
        tried: list[int] = []  # lines of the patterns so far that no other cell covers
        cases: list[ast.match_case] = []
        for case in node.cases:
            if len(tried) == _CASES:  # otherwise every case would cover all previous ones
                cell = self.new_cell()
                self.patterns(arc, tried, cell, scope)
                cases.append(_no_case(cases[-1], self.code.expression(cell, tried[-1])))
                arc, tried = Arc(Kind.ARM, tried[-1]), []
            place = self.lines.first(case.pattern.lineno)
            tried.append(place)
            head: list[ast.stmt] = []
            if place in self.number:
                cell = self.number[place]
                self.patterns(arc, tried, cell, scope)
                if case.guard is None:
                    head = [self.code.store(cell, place)]
                else:
                    case.guard = self.code.guarded(case.guard, cell, place)
            inner = Arc(Kind.FLOW if always_matches(case) else Kind.ARM, place)
            case.body = head + self.block(case.body, scope, successors, inner, place)
            cases.append(case)
        if not always_matches(node.cases[-1]):
            cell, last = self.new_cell(), Arc(Kind.ARM, tried[-1])
            self.patterns(arc, tried, cell, scope)
            probes = [self.code.store(cell, tried[-1])]
            if isinstance(successors.follow, AfterFinally):
                probes += self.own_arm(last, successors.follow, scope)
            else:
                self.arc(last, cell, successors.follow, scope)
            cases.append(_any_case(node, probes))
        node.cases = cases

    def patterns(self, arc: Arc | None, tried: list[int], cell: int, scope: _Scope) -> None:
        """Add the facts of some patterns: at the last one, all others have failed; `arc` leads to the first."""
        for place in tried:
            if place in self.number:
                self.statement(place, cell, scope)
                self.arc(arc, cell, place, scope)
            arc = Arc(Kind.ARM, place)

    def decorators(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, scope: _Scope) -> None:
        """Insert probes for decorators: each is a statement, and so is the line of the name, reached after them."""
        places = [self.lines.first(d.lineno) for d in node.decorator_list]
        following = [*places[1:], self.lines.first(node.lineno)]
        for i, (place, target) in enumerate(zip(places, following, strict=False)):
            if place != target and target in self.number:
                cell = self.number[target]
                self.statement(target, cell, scope)
                self.arc(Arc(Kind.FLOW, place), cell, target, scope)
                node.decorator_list[i] = self.code.after(node.decorator_list[i], cell, target)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope) -> None:
        first = self.line(node)
        self.decorators(node, scope)
        name = f"{scope.name}.{node.name}" if scope.name else node.name
        self.functions.append(FunctionSpan(name, node.lineno, node.end_lineno or node.lineno))
        # its bytecode stays that of an empty function
        if node in self.alone:
            return
        inner = _Scope(len(self.functions) - 1, name, sure_names(node))
        head: list[ast.stmt] = [doc] if (doc := docstring(node.body)) else []
        entry = Arc(Kind.ENTRY, -first)
        body = self.block(node.body[len(head) :], inner, Successors(-first, -first, error=-first), entry)
        if len(node.body) == len(head) and first in self.number:
            body = [self.code.store(self.number[first], first)]  # a call of it only runs its first line
        node.body = head + body

    def class_body(self, node: ast.ClassDef, scope: _Scope) -> None:
        first = self.line(node)
        self.decorators(node, scope)
        name = f"{scope.name}.{node.name}" if scope.name else node.name
        inner = _Scope(scope.function, name)
        head: list[ast.stmt] = [doc] if (doc := docstring(node.body)) else []
        body = self.block(
            node.body[len(head) :], inner, Successors(-first, None, error=-first), None, self.lines.first(node.lineno)
        )
        node.body = [*head, *body]


def _arc(kind: Kind, line: int | None) -> Arc | None:
    return None if line is None else Arc(kind, line)


def _head(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements that must come first: the docstring and the imports from __future__."""
    head: list[ast.stmt] = [doc] if (doc := docstring(body)) else []
    while len(head) < len(body) and _is_future(body[len(head)]):
        head.append(body[len(head)])
    return head


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _no_case(before: ast.match_case, probe: ast.expr) -> ast.match_case:
    """A case that is never taken, whose guard is a probe."""
    place = before.pattern
    return ast.match_case(ast.copy_location(ast.MatchAs(), place), probe, [ast.copy_location(ast.Pass(), place)])


def _any_case(node: ast.Match, probes: list[ast.stmt]) -> ast.match_case:
    return ast.match_case(ast.copy_location(ast.MatchAs(), node), None, probes)
