"""A mutant, and all mutants of a source."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from suspectra.mutation.edit import Edit
from suspectra.mutation.operators import OPERATORS
from suspectra.mutation.parsed_source import ParsedSource
from suspectra.mutation.scopes import Attributes, Function, Keys, Variables, bodies, not_counted
from suspectra.mutation.site import MutationSite

_MAX_LENGTH = 40  # characters of code in a description
_MAX_ALIKE = 20  # of these, with which both sides begin
_NOT_EVALUATED = frozenset({"annotation", "returns", "type_params", "ctx", "op", "ops", "pattern"})
_SKIPPED = (ast.JoinedStr, *(getattr(ast, name) for name in ("TemplateStr", "TypeAlias") if hasattr(ast, name)))


@dataclass(frozen=True)
class Mutant:
    """A program with one small change in a function."""

    edit: Edit  # the change of the source
    before: str  # what it replaces
    operator: str  # the mutation operator, a key of `suspectra.mutation.operators.OPERATORS`
    # those around the change, from the outermost to the innermost
    functions: tuple[Function, ...] = field(repr=False, compare=False)
    # the statements around the outermost function, from the outermost to the innermost: classes, and such as `if`
    owners: tuple[ast.stmt, ...] = field(repr=False, compare=False)

    # the change is in a condition that leads to an exception, or removes a `raise` or an `assert`, which may hide the
    # symptom alone
    guard: bool = False

    @property
    def description(self) -> str:
        """The change in a few words of code, such as ``> → >=`` with both sides in backticks."""
        return change_in_words(self.before, self.edit.text)


def change_in_words(before: str, after: str) -> str:
    """Write what code became, such as ``> → >=`` with both sides in backticks."""
    before, after = (" ".join(code.split()) for code in (before, after))
    # both sides of a long condition could otherwise be shortened to the same text
    start = _first_shown(before, after)
    return f"`{_shortened(before, start)}` → `{_shortened(after, start)}`"


def mutants(source: ParsedSource, lines: Container[int] | None = None) -> Iterator[Mutant]:
    """All mutants of a source, in a stable order: as their nodes are in the text, then as operators are listed.

    Only what functions do can be changed: code that runs while a module is imported is left as it is.
    """
    walk = _Walk(source)
    walk.visit(source.tree, source.tree)
    seen: set[Edit] = set()
    for site, functions, owners, guard in walk.sites:
        for name, operator in OPERATORS.items():
            for span, text in operator(site):
                before = source.part(span)
                edit = source.edit(span, text)
                if text != before and edit not in seen and (lines is None or edit.line in lines):
                    seen.add(edit)
                    raises = isinstance(site.node, (ast.Raise, ast.Assert)) and name == "deletion"
                    yield Mutant(edit, before, name, functions, owners, guard or raises)


class _Walk:
    """Collects the nodes that can be changed, with what is around them."""

    def __init__(self, source: ParsedSource):
        self.sites: list[tuple[MutationSite, tuple[Function, ...], tuple[ast.stmt, ...], bool]] = []
        self._source = source
        self._functions: tuple[Function, ...] = ()
        self._owners: tuple[ast.stmt, ...] = ()
        self._class: ast.ClassDef | None = None
        self._variables: list[Variables] = []
        self._attributes: list[Attributes] = []
        self._keys: list[Keys] = []
        self._not_counted: list[frozenset[str]] = [frozenset()]
        self._of_class: dict[int, Attributes] = {}
        self._itself = ""
        self._own: Attributes | None = None
        self._last: set[int] = set()
        self._guard = False

    def visit(self, node: ast.AST, parent: ast.AST) -> None:
        """Visit what is evaluated of a node, in the order of the text."""
        if isinstance(node, _SKIPPED) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            return
        before, guarded = self._owners, self._guard
        if isinstance(node, ast.expr) and _leads_to_exception(parent, node):
            self._guard = True
        if isinstance(node, ast.stmt) and not self._functions:
            self._owners = (*before, node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            self._function(node)
        elif isinstance(node, ast.ClassDef):
            outer, self._class = self._class, node
            self._not_counted.append(frozenset(one for one in not_counted(node) if "." in one))
            self._children(node)
            self._not_counted.pop()
            self._class = outer
        else:
            if self._functions and isinstance(node, (ast.expr, ast.stmt)):
                self._add(node, parent)
            self._children(node)
        self._owners, self._guard = before, guarded

    def _children(self, node: ast.AST, besides: frozenset[str] = frozenset()) -> None:
        for name, value in ast.iter_fields(node):
            if name not in _NOT_EVALUATED and name not in besides:
                for child in value if isinstance(value, list) else (value,):
                    if isinstance(child, ast.AST):
                        self.visit(child, node)

    def _function(self, node: Function) -> None:
        self._children(node, besides=frozenset({"body"}))  # decorators and defaults belong to what is around it
        state = self._functions, self._class, self._itself, self._own
        method = self._class is not None and not isinstance(node, ast.Lambda)
        if method:
            parameters = [*node.args.posonlyargs, *node.args.args]
            self._itself = parameters[0].arg if parameters else ""
            self._own = self._attributes_of(self._class)
        self._functions, self._class = (*self._functions, node), None
        self._variables.append(Variables(node, method=method))
        self._attributes.append(Attributes(node))
        self._keys.append(Keys(node))
        self._not_counted.append(self._not_counted[-1] | not_counted(node))
        if isinstance(node, ast.Lambda):
            self.visit(node.body, node)
        else:
            self._mark_last(node.body, ast.Return)
            for statement in node.body:
                self.visit(statement, node)
        self._variables.pop()
        self._attributes.pop()
        self._keys.pop()
        self._not_counted.pop()
        self._functions, self._class, self._itself, self._own = state

    def _attributes_of(self, node: ast.ClassDef | None) -> Attributes:
        assert node is not None
        if id(node) not in self._of_class:
            self._of_class[id(node)] = Attributes(node)
        return self._of_class[id(node)]

    def _mark_last(self, block: list[ast.stmt], jump: type[ast.stmt]) -> None:
        """Find the jumps after which nothing would follow anyway."""
        last = block[-1]
        if isinstance(last, jump):
            self._last.add(id(last))
        elif isinstance(last, (ast.If, ast.With, ast.AsyncWith, ast.Match)):
            for inner in bodies(last):
                self._mark_last(inner, jump)

    def _add(self, node: ast.expr | ast.stmt, parent: ast.AST) -> None:
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            self._mark_last(node.body, ast.Continue)
        site = MutationSite(
            node,
            parent,
            self._source,
            self._variables[-1],
            self._attributes[-1],
            self._own,
            self._itself,
            id(node) in self._last,
            self._keys[-1],
            self._not_counted[-1],
        )
        self.sites.append((site, self._functions, self._owners, self._guard))


def _leads_to_exception(parent: ast.AST, node: ast.expr) -> bool:
    """Whether a node is the condition of an assert, or of an ``if`` with an arm that ends by raising."""
    if isinstance(parent, ast.If) and node is parent.test:
        return any(arm and isinstance(arm[-1], ast.Raise) for arm in (parent.body, parent.orelse))
    return isinstance(parent, ast.Assert) and node is parent.test


def _first_shown(before: str, after: str) -> int:
    """Where the parts of two lines begin that are shown, so that these differ."""
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    if alike <= _MAX_ALIKE or max(len(before), len(after)) <= _MAX_LENGTH:
        return 0
    word = before.rfind(" ", alike - _MAX_ALIKE, alike) + 1
    return word or alike - _MAX_ALIKE


def _shortened(line: str, start: int) -> str:
    shown = f"…{line[start:]}" if start else line
    return shown if len(shown) <= _MAX_LENGTH else shown[: _MAX_LENGTH - 1] + "…"
