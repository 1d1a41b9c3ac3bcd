"""Putting probes into a syntax tree without changing what the code does.

A probe is ``cells[i] = 1`` in front of a statement, or, where only an expression can stand, a call that gives
None in ``probe or expression``. The list is an attribute of a constant of the code, so neither modules nor builtins get
a name, and the code runs wherever Python lets it run: with other globals, with no builtins, in another process. What
is compiled has a string for that constant, and :func:`~suspectra_recorder.instrumentation.cells.with_cells` exchanges
it.

A statement needs no store of its own where it is reached exactly when its predecessor is, because nothing
before it can raise; an arm needs none where the first statement behind it is reached on no other way. So the sum
of the cells of a probe is also how often what it stands for happened, when cells count: ``cells[i] += 1``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.cells import CELLS
from suspectra_recorder.instrumentation.conditions import Condition, ConditionProbes
from suspectra_recorder.instrumentation.outline import Outline
from suspectra_recorder.instrumentation.own_syntax import ast
from suspectra_recorder.instrumentation.probes import FunctionSpan, Kind, ModuleMap, Probe, Statement
from suspectra_recorder.instrumentation.source import (
    LogicalLines,
    docstring,
    parse,
    statement_lines,
    without_collecting,
)

__builtins__ = own.builtins

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))
_WITHS = (ast.With, ast.AsyncWith)
_CASES = 16  # so many patterns get their facts from one cell
_COMPOUND = (ast.If, *_LOOPS, *_DEFINITIONS, *_TRIES, *_WITHS, ast.Match)


def instrument(
    source: bytes, path: str, name: str, *, counting: bool = False, asserts: bool = True
) -> tuple[ast.Module, ModuleMap]:
    """The tree of a source with probes in it, and the map of those probes.

    Parameters
    ----------
    source : bytes
        The file as it is on disk.
    path : str
        Its name for compiler messages.
    name : str
        The string that stands for what has the list of cells; nowhere else in the source.
    counting : bool
        Let cells count how often they are passed, and conditions how they come out.
    asserts : bool
        Whether the conditions of asserts may be changed.

    Raises
    ------
    SyntaxError, ValueError, RecursionError
        When Python itself cannot compile the source, or it is nested too deeply to be rewritten.
    """
    with without_collecting():
        tree = parse(source, path)
        import warnings  # the compiler asks the module that goes by this name now

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say is said when the tree with probes is compiled
            untouched = compile(tree, path, "exec", dont_inherit=True)
        lines = LogicalLines(source)
        inserter = _Inserter(lines, statement_lines(tree, untouched, lines), name, counting)
        outline = Outline.from_tree(tree)
        if counting:
            inserter.put_into_expressions(tree, asserts)
        inserter.module(tree)
        return tree, replace(inserter.map(), outline=outline)


if TYPE_CHECKING:
    from typing import TypedDict

    class _Position(TypedDict):
        lineno: int
        end_lineno: int
        col_offset: int
        end_col_offset: int


@dataclass(frozen=True)
class _Arc:
    """How a block is entered."""

    kind: Kind
    source: int


@dataclass(frozen=True)
class _Scope:
    """The code object a block belongs to."""

    function: int
    name: str  # dotted, empty for the module
    sure_names: frozenset[str] | None = None  # in a function, the local names that are always bound


@dataclass(eq=False)
class _Behind:
    """What comes behind a ``finally``: `normal` where nothing was on its way out, else `abrupt`.

    An arm that leads there sets a cell of its own, the last thing that happens inside. What is next takes it back and
    sets the cell of the arm: the code behind the statement, or the start of the ``finally`` when it is entered again.
    """

    normal: int | None
    abrupt: int | None
    arms: list[tuple[_Arc, int]] = field(default_factory=list)  # and the cells that are taken back


_Target = int | _Behind | None


@dataclass(frozen=True)
class _Way:
    """Where control goes from a block: the line behind it, and those of return, continue, break and exceptions.

    None where that is not known.
    """

    follow: _Target
    exit: int | None
    head: _Target = None
    after: _Target = None
    error: int | None = None

    def to(self, follow: _Target) -> _Way:
        return replace(self, follow=follow)

    def left_by(self, last: ast.stmt) -> _Target:
        """Where control goes once the last statement of the block is done."""
        if isinstance(last, ast.Return):
            return self.exit
        if isinstance(last, ast.Continue):
            return self.head
        if isinstance(last, ast.Break):
            return self.after
        return None if isinstance(last, ast.Raise) else self.follow


class _Inserter:
    def __init__(self, lines: LogicalLines, firsts: list[int], name: str, counting: bool):
        self.lines = lines
        self.name = name
        self.counting = counting
        self.number = {line: i for i, line in enumerate(firsts)}
        self.function_of: dict[int, int] = {}
        self.functions: list[FunctionSpan] = []
        self.facts: dict[Probe, None] = {}  # an ordered set
        self.cells = len(firsts)
        self.conditions: list[Condition] = []

    def map(self) -> ModuleMap:
        firsts = list(self.number)
        checksums = self.lines.checksums(firsts)
        statements = [
            Statement(line, self.lines.last(line), self.function_of.get(line, -1), checksum)
            for line, checksum in zip(firsts, checksums, strict=True)
        ]
        return ModuleMap(statements, self.functions, self.conditions, list(self.facts), self.cells)

    # what is recorded

    def fact(self, kind: Kind, cell: int, line: int, target: int, scope: _Scope) -> None:
        self.facts.setdefault(Probe(kind, cell, line, target, scope.function))

    def arc(self, arc: _Arc | None, cell: int, target: _Target, scope: _Scope) -> None:
        if arc is not None and arc.source != target:
            self.fact(arc.kind, cell, arc.source, target if isinstance(target, int) else 0, scope)

    def statement(self, line: int, cell: int, scope: _Scope) -> None:
        # a function written on one line is a statement of the code that defines it: first come, first kept
        self.function_of.setdefault(line, scope.function)
        self.fact(Kind.STATEMENT, cell, line, 0, scope)

    # what is inserted

    def store(self, cell: int, line: int) -> ast.stmt:
        """``cells[cell] = 1``, or ``+= 1``, on an existing line so that no trace shows a new one."""
        place: _Position = {"lineno": line, "end_lineno": line, "col_offset": 0, "end_col_offset": 0}
        target = ast.Subscript(self.cells_of(place), ast.Constant(cell, **place), ast.Store(), **place)
        one = ast.Constant(1, **place)
        return ast.AugAssign(target, ast.Add(), one, **place) if self.counting else ast.Assign([target], one, **place)

    def cells_of(self, place: _Position) -> ast.expr:
        """The list of cells."""
        return ast.Attribute(ast.Constant(self.name, **place), CELLS, ast.Load(), **place)

    def store_expression(self, cell: int, line: int, step: int = 1) -> ast.expr:
        """An expression that sets the cell, or adds to it, and gives None."""
        place: _Position = {"lineno": line, "end_lineno": line, "col_offset": 0, "end_col_offset": 0}
        cells = self.cells_of(place)
        setter = ast.Attribute(cells, "__setitem__", ast.Load(), **place)
        value: ast.expr = ast.Constant(step, **place)
        if self.counting:
            before = ast.Subscript(cells, ast.Constant(cell, **place), ast.Load(), **place)
            value = ast.BinOp(before, ast.Add(), value, **place)
        return ast.Call(setter, [ast.Constant(cell, **place), value], [], **place)

    def put(self, cell: int, line: int, value: int) -> ast.expr:
        """An expression that gives the cell a value, whatever it counted."""
        place: _Position = {"lineno": line, "end_lineno": line, "col_offset": 0, "end_col_offset": 0}
        setter = ast.Attribute(self.cells_of(place), "__setitem__", ast.Load(), **place)
        return ast.Call(setter, [ast.Constant(cell, **place), ast.Constant(value, **place)], [], **place)

    def take_back(self, cell: int, line: int, instead: int) -> ast.stmt:
        """``if name[cell]: name[cell] = 0; name[instead] = 1``."""
        place: _Position = {"lineno": line, "end_lineno": line, "col_offset": 0, "end_col_offset": 0}
        is_set = ast.Subscript(self.cells_of(place), ast.Constant(cell, **place), ast.Load(), **place)
        reset = ast.Expr(self.put(cell, line, 0), **place)
        return ast.If(is_set, [reset, self.store(instead, line)], [], **place)

    def before(self, expression: ast.expr, cell: int, line: int) -> ast.BoolOp:
        """``probe or expression``: the cell is set before the expression is evaluated."""
        probe = self.store_expression(cell, line)
        return ast.copy_location(ast.BoolOp(ast.Or(), [probe, expression]), expression)

    def guarded(self, guard: ast.expr, cell: int, line: int) -> ast.expr:
        """A guard with the probe of its case in front.

        Where the guard fails a later case's cell stands for this pattern too, so this one must not count it as well:
        ``probe or guard or probe undone``.
        """
        probed = self.before(guard, cell, line)
        if self.counting:
            probed.values.append(self.store_expression(cell, line, -1))
        return probed

    def after(self, expression: ast.expr, cell: int, line: int) -> ast.expr:
        """``(expression, probe)[0]``: the cell is set once the expression has been evaluated."""
        pair = ast.Tuple([expression, self.store_expression(cell, line)], ast.Load())
        zero = ast.copy_location(ast.Constant(0), expression)
        ast.copy_location(pair, expression)
        return ast.copy_location(ast.Subscript(pair, zero, ast.Load()), expression)

    # the walk

    def put_into_expressions(self, tree: ast.Module, asserts: bool) -> None:
        """The probes of conditions; before all others, which change expressions too."""
        probes = ConditionProbes(self.lines, self.number, self.cells, self.store_expression, asserts=asserts)
        probes.visit(tree)
        self.conditions, self.cells = probes.conditions, probes.cells
        for number, condition in enumerate(self.conditions):
            for kind, cell in ((Kind.FALSE, condition.false), (Kind.TRUE, condition.true)):
                self.facts.setdefault(Probe(kind, cell, condition.statement, number))

    def module(self, tree: ast.Module) -> None:
        scope = _Scope(-1, "")
        head = _head(tree.body)
        rest = tree.body[len(head) :]
        # nothing may stand before a __future__ import, so its probe comes behind it
        probes: list[ast.stmt] = []
        for line in dict.fromkeys(self.line(s) for s in head if _is_future(s)):
            if line in self.number:
                self.statement(line, self.number[line], scope)
                probes.append(self.store(self.number[line], line))
        tree.body = head + probes + self.block(rest, scope, _Way(-1, None, error=-1), _Arc(Kind.ENTRY, -1))

    def line(self, statement: ast.stmt) -> int:
        """First line of a statement, its decorators included."""
        decorators = getattr(statement, "decorator_list", None)
        return self.lines.first(decorators[0].lineno if decorators else statement.lineno)

    def first_line(self, block: Sequence[ast.stmt], otherwise: _Target) -> _Target:
        """The line control reaches when it enters a block."""
        return next((line for s in block if (line := self.line(s)) in self.number), otherwise)

    def following(self, statements: Sequence[ast.stmt]) -> list[ast.stmt | None]:
        """For each statement of a block the next one behind it that has code."""
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
        way: _Way,
        entered: _Arc | None = None,
        reached: int | None = None,
    ) -> list[ast.stmt]:
        """The statements of a block with probes between them.

        `entered` is how control comes in, and `reached` the line of the statement that is being executed when
        it does.
        """
        out: list[ast.stmt] = []
        arc = entered
        sure: int | None = None  # the cell that is set whenever control gets here
        last: list[ast.stmt] = []
        for statement, following in zip(statements, self.following(statements), strict=True):
            line = self.line(statement)
            if line not in self.number:
                out += [statement, *self.inside(statement, scope, way, following, None)]
                continue
            cell = self.number[line] if sure is None else sure
            if arc is not None and line == arc.source:  # all on one line
                target = way.left_by(statements[-1])
                # what leads behind a `finally` must be the last that happens in it
                (last if isinstance(target, _Behind) else out).extend(self.own_arm(arc, target, scope))
                arc = None
            elif arc is not None and not self.is_clean(statement):
                out += self.own_arm(arc, line, scope)
                arc = None
            if line != reached:
                self.statement(line, cell, scope)
                self.arc(arc, cell, line, scope)
                if sure is None:
                    out.append(self.store(cell, line))
                sure = cell if _cannot_raise(statement, scope) else None
            out += [statement, *self.inside(statement, scope, way, following, line)]
            reached = line
            arc = None if isinstance(statement, _COMPOUND) else _Arc(Kind.FLOW, line)
        if statements and not any(self.line(s) in self.number for s in statements):
            out += self.own_arm(entered, way.follow, scope)
        at = len(out) - isinstance(statements[-1], (ast.Break, ast.Continue)) if last else len(out)
        return [*out[:at], *last, *out[at:]]

    def own_arm(self, arc: _Arc | None, target: _Target, scope: _Scope) -> list[ast.stmt]:
        """A store for an arm alone, where no statement can stand for it."""
        if arc is None or arc.kind is not Kind.ARM or arc.source == target:
            return []
        if isinstance(target, _Behind):
            cell = self.arm_cell(arc, target.abrupt, scope)
            target.arms.append((arc, cell))
            # not the statement, of which a monitor reports the first pass alone
            return [ast.copy_location(ast.Expr(probe := self.put(cell, arc.source, 1)), probe)]
        return [self.store(self.arm_cell(arc, target, scope), arc.source)]

    def arm_cell(self, arc: _Arc, target: _Target, scope: _Scope) -> int:
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
        if isinstance(statement, _FUNCTIONS):
            lines = {self.lines.first(inner.lineno) for inner in statement.body}
            if self.line(statement) in lines or (len(statement.body) == 1 and docstring(statement.body)):
                return False
        return not any(isinstance(node, ast.Lambda) for node in _expressions(statement))

    def inside(
        self, node: ast.stmt, scope: _Scope, way: _Way, following: ast.stmt | None, line: int | None
    ) -> list[ast.stmt]:
        """Probes into all a statement holds, and those that must stand behind it.

        `following` is the next sibling with code, and `line` is None without code.
        """
        if following is not None:
            way = way.to(self.line(following))
        for expression in list(_expressions(node)):
            if isinstance(expression, ast.Lambda):
                self.function_expression(expression, scope)
        if isinstance(node, ast.If):
            self.branches(node, scope, way, following, line)
        elif isinstance(node, _LOOPS):
            self.loop(node, scope, way, following, line)
        elif isinstance(node, _FUNCTIONS):
            self.function(node, scope)
        elif isinstance(node, ast.ClassDef):
            self.class_body(node, scope)
        elif isinstance(node, _WITHS):
            # it may swallow exceptions
            node.body = self.block(node.body, scope, replace(way, error=None), _arc(Kind.FLOW, line), line)
        elif isinstance(node, _TRIES):
            return self.handlers(node, scope, way, line)
        elif isinstance(node, ast.Match):
            self.cases(node, scope, way, line)
        return []

    def function_expression(self, node: ast.Lambda, scope: _Scope) -> None:
        """Calling a lambda reaches the statement it is written in."""
        line = self.lines.first(node.body.lineno)
        if line in self.number:
            self.statement(line, self.number[line], scope)
            node.body = self.before(node.body, self.number[line], line)

    def branches(self, node: ast.If, scope: _Scope, way: _Way, following: ast.stmt | None, line: int | None) -> None:
        constant = _constant_test(node.test)
        arm = _arc(Kind.ARM if constant is None else Kind.FLOW, line)
        leaves = _leaves(node.body)
        node.body = self.block(node.body, scope, way, None if constant is False else arm, line)
        if node.orelse:
            node.orelse = self.block(node.orelse, scope, way, None if constant is True else arm, line)
        elif constant is None:
            node.orelse = self.missing_arm(arm, way.follow, scope, following if leaves else None)

    def loop(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        scope: _Scope,
        way: _Way,
        following: ast.stmt | None,
        line: int | None,
    ) -> None:
        constant = _constant_test(node.test) if isinstance(node, ast.While) else None
        arm = _arc(Kind.ARM if constant is None else Kind.FLOW, line)
        inner = _Way(line, way.exit, line, way.follow, way.error)
        breaks = _has_break(node.body)
        node.body = self.block(node.body, scope, inner, None if constant is False else arm, line)
        if node.orelse:
            node.orelse = self.block(node.orelse, scope, way, None if constant is True else arm, line)
        elif constant is None:
            node.orelse = self.missing_arm(arm, way.follow, scope, None if breaks else following)

    def missing_arm(
        self, arm: _Arc | None, target: _Target, scope: _Scope, following: ast.stmt | None
    ) -> list[ast.stmt]:
        """The ``else`` that the source does not have.

        Where the arm is the only way to the statement `following`, that statement's cell stands for it.
        """
        if arm is None or following is None or not self.is_clean(following):
            return self.own_arm(arm, target, scope)
        self.arc(arm, self.number[self.line(following)], target, scope)
        return []

    def handlers(self, node: ast.Try, scope: _Scope, way: _Way, line: int | None) -> list[ast.stmt]:
        final = self.first_line(node.finalbody, None)
        final = final if isinstance(final, int) else None
        # what leaves the statement goes through `finally` first
        inner = way if not node.finalbody else _Way(final, final, final, final, final)
        body = inner.to(self.first_line(node.orelse, inner.follow))
        behind = self.behind(node, way)
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
                    bare = [self.store(cell, place)]
                else:
                    handler.type = self.before(handler.type, cell, place)
            handler.body = bare + self.block(handler.body, scope, inner, _Arc(Kind.ARM, place), place)
        node.orelse = self.block(node.orelse, scope, inner)
        node.finalbody = self.block(node.finalbody, scope, way.to(behind))
        return self.settled(node, behind, scope)

    def behind(self, node: ast.Try, way: _Way) -> _Behind:
        """Where control goes from the ``finally`` of a statement."""
        ways = {ast.Return: way.exit, ast.Continue: way.head, ast.Break: way.after}
        parts = [*node.body, *node.orelse, *(s for handler in node.handlers for s in handler.body)]
        targets = {way.error, *(ways[kind] for kind in _exits(parts, frozenset(ways)))}
        normal, abrupt = way.follow, targets.pop() if len(targets) == 1 else None
        return _Behind(normal if isinstance(normal, int) else None, abrupt if isinstance(abrupt, int) else None)

    def settled(self, node: ast.Try, behind: _Behind, scope: _Scope) -> list[ast.stmt]:
        """Take back what arms set, at the start of the ``finally`` and, in the statements given, behind it."""
        again: list[ast.stmt] = []
        out: list[ast.stmt] = []
        for arc, cell in behind.arms:
            again.append(self.take_back(cell, arc.source, self.arm_cell(arc, behind.abrupt, scope)))
            out.append(self.take_back(cell, arc.source, self.arm_cell(arc, behind.normal, scope)))
        node.finalbody[:0] = again
        return out

    def cases(self, node: ast.Match, scope: _Scope, way: _Way, line: int | None) -> None:
        arc = _arc(Kind.FLOW, line)
        tried: list[int] = []  # the lines of the patterns that no other cell speaks for, up to the present one
        cases: list[ast.match_case] = []
        for case in node.cases:
            if len(tried) == _CASES:  # else every case would speak for all that come before it
                cell = self.new_cell()
                self.patterns(arc, tried, cell, scope)
                cases.append(_no_case(cases[-1], self.store_expression(cell, tried[-1])))
                arc, tried = _Arc(Kind.ARM, tried[-1]), []
            place = self.lines.first(case.pattern.lineno)
            tried.append(place)
            head: list[ast.stmt] = []
            if place in self.number:
                cell = self.number[place]
                self.patterns(arc, tried, cell, scope)
                if case.guard is None:
                    head = [self.store(cell, place)]
                else:
                    case.guard = self.guarded(case.guard, cell, place)
            inner = _Arc(Kind.FLOW if _always_matches(case) else Kind.ARM, place)
            case.body = head + self.block(case.body, scope, way, inner, place)
            cases.append(case)
        if not _always_matches(node.cases[-1]):
            cell, last = self.new_cell(), _Arc(Kind.ARM, tried[-1])
            self.patterns(arc, tried, cell, scope)
            probes = [self.store(cell, tried[-1])]
            if isinstance(way.follow, _Behind):
                probes += self.own_arm(last, way.follow, scope)
            else:
                self.arc(last, cell, way.follow, scope)
            cases.append(_any_case(node, probes))
        node.cases = cases

    def patterns(self, arc: _Arc | None, tried: list[int], cell: int, scope: _Scope) -> None:
        """Who comes to the last of these patterns has seen the others fail; `arc` leads to the first."""
        for place in tried:
            if place in self.number:
                self.statement(place, cell, scope)
                self.arc(arc, cell, place, scope)
            arc = _Arc(Kind.ARM, place)

    def decorators(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, scope: _Scope) -> None:
        """Each decorator is a statement, and so is the line of the name, reached once they are evaluated."""
        places = [self.lines.first(d.lineno) for d in node.decorator_list]
        following = [*places[1:], self.lines.first(node.lineno)]
        for i, (place, target) in enumerate(zip(places, following, strict=False)):
            if place != target and target in self.number:
                cell = self.number[target]
                self.statement(target, cell, scope)
                self.arc(_Arc(Kind.FLOW, place), cell, target, scope)
                node.decorator_list[i] = self.after(node.decorator_list[i], cell, target)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope) -> None:
        first = self.line(node)
        self.decorators(node, scope)
        name = f"{scope.name}.{node.name}" if scope.name else node.name
        self.functions.append(FunctionSpan(name, node.lineno, node.end_lineno or node.lineno))
        inner = _Scope(len(self.functions) - 1, name, _sure_names(node))
        head: list[ast.stmt] = [doc] if (doc := docstring(node.body)) else []
        entry = _Arc(Kind.ENTRY, -first)
        body = self.block(node.body[len(head) :], inner, _Way(-first, -first, error=-first), entry)
        if len(node.body) == len(head) and first in self.number:
            body = [self.store(self.number[first], first)]  # all that calling it runs is its first line
        node.body = head + body

    def class_body(self, node: ast.ClassDef, scope: _Scope) -> None:
        first = self.line(node)
        self.decorators(node, scope)
        name = f"{scope.name}.{node.name}" if scope.name else node.name
        inner = _Scope(scope.function, name)
        head: list[ast.stmt] = [doc] if (doc := docstring(node.body)) else []
        body = self.block(
            node.body[len(head) :], inner, _Way(-first, None, error=-first), None, self.lines.first(node.lineno)
        )
        node.body = [*head, *body]


def _arc(kind: Kind, line: int | None) -> _Arc | None:
    return None if line is None else _Arc(kind, line)


def _head(body: list[ast.stmt]) -> list[ast.stmt]:
    """What nothing may stand before: the docstring and the imports from __future__."""
    head: list[ast.stmt] = [doc] if (doc := docstring(body)) else []
    while len(head) < len(body) and _is_future(body[len(head)]):
        head.append(body[len(head)])
    return head


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """All nodes of a statement outside the statements it holds, and outside its annotations.

    Annotations may be turned into strings or never be evaluated, so nothing is put into them.
    """
    waiting: list[ast.AST] = [statement]
    while waiting:
        for name, value in ast.iter_fields(waiting.pop()):
            if name in ("annotation", "returns", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not isinstance(child, ast.stmt):
                    yield child
                    waiting.append(child)


def _constant_test(test: ast.expr) -> bool | None:
    """The value of a condition that the compiler knows, None for any other."""
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Name(id="__debug__"):
            return __debug__
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = _constant_test(operand)
            return None if value is None else not value
        case ast.BoolOp(op=op, values=operands):
            values = [_constant_test(operand) for operand in operands]
            if None not in values:
                return any(values) if isinstance(op, ast.Or) else all(values)
    return None


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether control never comes out at the end of a block."""
    match body:
        case [*_, ast.Return() | ast.Raise() | ast.Break() | ast.Continue()]:
            return True
        case [*_, ast.If(body=then, orelse=[_, *_] as other)]:
            return _leaves(then) and _leaves(other)
    return False


def _has_break(body: Sequence[ast.AST]) -> bool:
    """Whether a loop's body holds a ``break`` of that loop."""
    for node in body:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, _DEFINITIONS):
            continue
        inner = node.orelse if isinstance(node, _LOOPS) else list(ast.iter_child_nodes(node))
        if not isinstance(node, ast.expr) and _has_break(inner):
            return True
    return False


def _exits(body: Sequence[ast.AST], kinds: frozenset[type]) -> Iterator[type]:
    """The kinds of jumps that lead out of a block, of those that are asked for."""
    for node in body:
        if type(node) in kinds:
            yield type(node)
        elif isinstance(node, _LOOPS):
            yield from _exits(node.body, kinds - {ast.Break, ast.Continue})
            yield from _exits(node.orelse, kinds)
        elif not isinstance(node, (*_DEFINITIONS, ast.expr)):
            yield from _exits(list(ast.iter_child_nodes(node)), kinds)


def _always_matches(case: ast.match_case) -> bool:
    pattern: ast.pattern | None = case.pattern
    while isinstance(pattern, ast.MatchOr) or (isinstance(pattern, ast.MatchAs) and pattern.pattern):
        pattern = pattern.patterns[-1] if isinstance(pattern, ast.MatchOr) else pattern.pattern
    return case.guard is None and isinstance(pattern, ast.MatchAs)


def _no_case(before: ast.match_case, probe: ast.expr) -> ast.match_case:
    """A case that is never taken, whose guard is a probe."""
    place = before.pattern
    return ast.match_case(ast.copy_location(ast.MatchAs(), place), probe, [ast.copy_location(ast.Pass(), place)])


def _any_case(node: ast.Match, probes: list[ast.stmt]) -> ast.match_case:
    return ast.match_case(ast.copy_location(ast.MatchAs(), node), None, probes)


def _sure_names(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """The parameters that stay bound while the function runs."""
    arguments = node.args
    names = {a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
    names |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Del):
            names.discard(inner.id)
        elif isinstance(inner, ast.ExceptHandler) and inner.name:
            names.discard(inner.name)
    return frozenset(names)


def _cannot_raise(statement: ast.stmt, scope: _Scope) -> bool:
    """Whether the next statement is reached whenever this one is."""
    if scope.sure_names is None:
        return False  # at module and class level names live in mappings that may be anything
    match statement:
        case ast.Pass():
            return True
        case ast.Assign(targets=targets, value=value):
            return all(isinstance(t, ast.Name) for t in targets) and _is_plain(value, scope.sure_names)
        case ast.AnnAssign(target=ast.Name(), value=value):
            return value is None or _is_plain(value, scope.sure_names)
    return False


def _is_plain(value: ast.expr, sure: frozenset[str]) -> bool:
    match value:
        case ast.Constant() | ast.Dict(keys=[]):
            return True
        case ast.Name(id=name):
            return name in sure
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return all(_is_plain(item, sure) for item in items)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return True
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[right]):
            return _is_plain(left, sure) and _is_plain(right, sure)
    return False
