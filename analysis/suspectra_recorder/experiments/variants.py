"""Many edits of a function in one code: which of them is executed is chosen before each run.

Compiling a function takes longer than most tests take to run. So edits of the same function are compiled together: an
expression `e` with edits becomes `e1 if choice.number == 1 else e2 if choice.number == 2 else e`, and so do statements.
An edit that would change what the names of the function are, such as the assignment of a new variable, or that is
neither an expression nor statements, is left to be compiled alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from suspectra_recorder.experiments.decisions.rewriting import CHOOSES
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

EditTuple = tuple[int, int, int, int, str, bool]
_Span = tuple[int, int, int, int]
_UNFIT = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import,
    ast.ImportFrom, ast.Global, ast.Nonlocal,
)  # fmt: skip
"""What makes another kind of function of the one that it is in, or binds names."""


class Choice:
    """Which variant is executed: 0 for the function as it is."""

    def __init__(self) -> None:
        self.number = 0


class ForkingChoice(Choice):
    """Forks the process when it is first asked, once for each variant: what comes before is the same for all."""

    def __init__(self, numbers: Sequence[int], fork: Callable[[int], bool]):
        self._numbers, self._fork = numbers, fork
        self._chosen: int | None = None

    @property
    def number(self) -> int:  # type: ignore[override]  # an attribute in the other, which is quicker
        """The number of the variant of this process."""
        if self._chosen is None:
            self._chosen = 0
            for job, number in enumerate(self._numbers):
                if number and self._fork(job):
                    self._chosen = number
                    break
        return self._chosen


class _Edited(NamedTuple):
    number: int
    nodes: Any  # an expression, or a list of statements


class _Block(NamedTuple):
    statements: list[ast.stmt]
    at: int


class Variants:
    """A function with edits, as a tree."""

    def __init__(self, tree: ast.Module, source: str, names: Collection[str], name: str):
        self.chosen: dict[EditTuple, int] = {}  # the number of each edit
        self._lines, self._names, self._name = source.split("\n"), frozenset(names), name
        self._expressions: dict[_Span, tuple[ast.AST, str, int, ast.expr]] = {}
        self._statements: dict[_Span, _Block] = {}
        self._begins: dict[tuple[int, int], _Block] = {}
        self._ends: dict[tuple[int, int, int], _Block] = {}  # with the column where the statement begins
        self._instead: dict[_Span, list[_Edited]] = {}  # of expressions
        self._stead: dict[_Span, list[_Edited]] = {}  # of statements
        self._before: dict[_Span, list[_Edited]] = {}
        self._after: dict[_Span, list[_Edited]] = {}
        self._index(tree)

    def _index(self, tree: ast.Module) -> None:
        for parent in _walk(tree):
            for name, value in ast.iter_fields(parent):
                for at, child in enumerate(value if isinstance(value, list) else [value]):
                    if isinstance(child, ast.stmt) and isinstance(value, list):
                        span, block = _span(child), _Block(value, at)
                        self._statements[span] = block
                        self._begins[span[:2]] = self._ends[span[2], span[3], span[1]] = block
                    elif isinstance(child, ast.expr) and isinstance(getattr(child, "ctx", ast.Load()), ast.Load):
                        number = at if isinstance(value, list) else -1
                        self._expressions[_span(child)] = parent, name, number, child

    def add(self, edits: Sequence[EditTuple]) -> None:
        """Take all edits that can be."""
        # those of one place have numbers in a row
        for edit in sorted(set(edits), key=lambda one: (one[:4], one[5], one[4])):
            taken = self._add_statements(edit) if edit[5] else self._add_expression(edit)
            if taken:
                self.chosen[edit] = len(self.chosen) + 1

    def _add_expression(self, edit: EditTuple) -> bool:
        span = edit[:4]
        if span not in self._expressions:
            return False
        *_, old = self._expressions[span]
        try:
            new = ast.parse(f"({edit[4]}\n)", mode="eval").body
        except (SyntaxError, ValueError, RecursionError):
            return False
        if not self._fits(new) or any(isinstance(one, _UNFIT) for one in ast.walk(old)):
            return False
        self._instead.setdefault(span, []).append(_Edited(len(self.chosen) + 1, _placed(new, old)))
        return True

    def _add_statements(self, edit: EditTuple) -> bool:
        line, column, *_ = span = edit[:4]
        begin, end = span[:2], span[2:]
        text = edit[4]
        if begin == end and begin in self._begins:
            block, known = self._begins[begin], self._before
        elif begin == end and (after := (line, column, _indentation(text))) in self._ends:
            block, known = self._ends[after], self._after
        elif span in self._statements:
            block, known = self._statements[span], self._stead
        else:
            return False
        old = block.statements[block.at]
        indent = self._lines[old.lineno - 1].encode()[: old.col_offset].decode()
        if indent.strip():
            return False
        try:
            whole = text if known is self._after else indent + text
            new = ast.parse(textwrap.dedent(whole)).body
        except (SyntaxError, ValueError, RecursionError):
            return False
        unfit = any(isinstance(one, _UNFIT) for one in ast.walk(old)) and known is self._stead
        if not new or unfit or not all(map(self._fits, new)):
            return False
        placed = [_placed(one, old) for one in new]
        known.setdefault(_span(old), []).append(_Edited(len(self.chosen) + 1, placed))
        return True

    def _fits(self, node: ast.AST) -> bool:
        """Whether it leaves all names what they are."""
        inner = _own_names(node)
        for one in ast.walk(node):
            if isinstance(one, _UNFIT):
                return False
            bound = one.id if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load) else None
            if bound is not None and bound not in self._names and bound not in inner:
                return False
            if isinstance(one, ast.ExceptHandler) and one.name:
                return False
        return True

    def finish(self) -> None:
        """Put all edits into the tree."""
        for span, several in self._instead.items():
            parent, name, at, old = self._expressions[span]
            new = self._asked(several, old, self._chosen_expression)
            if at < 0:
                setattr(parent, name, new)
            else:
                getattr(parent, name)[at] = new
        for statements in {id(block.statements): block.statements for block in self._statements.values()}.values():
            statements[:] = [made for one in list(statements) for made in self._around(one)]

    def _around(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        span = _span(statement) if hasattr(statement, "lineno") else None
        for known, other in ((self._before, []), (self._stead, [statement]), (self._after, [])):
            several = known.get(span, []) if span else []
            if several:
                yield self._asked(several, other, self._chosen_statements, at=statement)
            else:
                yield from other

    def _asked(
        self, several: Sequence[_Edited], other: Any, make: Callable[..., Any], at: ast.AST | None = None
    ) -> Any:
        """What asks whether one of these is chosen, and if so, which."""
        at = other if at is None else at
        inside = self._which(several, make, at)
        low, high = several[0].number, several[-1].number
        return make(self._compare(at, (ast.GtE, low), (ast.LtE, high)), inside, other, at)

    def _which(self, several: Sequence[_Edited], make: Callable[..., Any], at: ast.AST) -> Any:
        if len(several) == 1:
            return several[0].nodes
        middle = len(several) // 2
        first, second = (self._which(half, make, at) for half in (several[:middle], several[middle:]))
        made = make(self._compare(at, (ast.Lt, several[middle].number)), first, second, at)
        return made if isinstance(made, ast.expr) else [made]

    def _compare(self, at: ast.AST, *asked: tuple[type[ast.cmpop], int]) -> ast.expr:
        """Ask for the number of what is chosen."""
        parts = []
        for kind, number in asked:
            chosen = ast.Attribute(ast.Constant(self._name), "number", ast.Load())
            parts.append(ast.Compare(chosen, [kind()], [ast.Constant(number)]))
        test: ast.expr = parts[0] if len(parts) == 1 else ast.IfExp(parts[0], parts[1], ast.Constant(False))
        setattr(test, CHOOSES, True)
        _placed(test, at)
        return test

    @staticmethod
    def _chosen_expression(test: ast.expr, one: ast.expr, other: ast.expr, at: ast.AST) -> ast.expr:
        made = ast.copy_location(ast.IfExp(test, one, other), at)
        setattr(made, CHOOSES, True)
        return made

    @staticmethod
    def _chosen_statements(test: ast.expr, one: list[ast.stmt], other: list[ast.stmt], at: ast.AST) -> ast.stmt:
        made = ast.copy_location(ast.If(test, one, other), at)
        setattr(made, CHOOSES, True)
        return made


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those inside of f-strings, whose places are not always known."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.JoinedStr):
            yield node
            waiting += ast.iter_child_nodes(node)


def _indentation(text: str) -> int:
    """How far the first line that has something is indented, in bytes."""
    line = text.lstrip("\n").partition("\n")[0]
    return len(line.encode()) - len(line.lstrip().encode())


def _span(node: ast.expr | ast.stmt) -> _Span:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _placed(node: Any, at: ast.AST) -> Any:
    """A new node, which stands where another one is."""
    for one in ast.walk(node):
        if "lineno" in one._attributes:
            ast.copy_location(one, at)
    return node


def _own_names(node: ast.AST) -> set[str]:
    """The variables of comprehensions in a node."""
    return {
        name.id
        for one in ast.walk(node)
        if isinstance(one, ast.comprehension)
        for name in ast.walk(one.target)
        if isinstance(name, ast.Name)
    }
