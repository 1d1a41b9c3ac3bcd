"""The variables of a source: which scope each name belongs to.

Names are resolved as Python does: in the scope itself, then in the functions around it, then in the module. The body of
a class is seen only from itself. A comprehension is a scope of its own, in which walrus targets do not stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
ComprehensionNode = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def is_suspended(node: FunctionNode) -> bool:
    """Whether calls of a function can be suspended: generators and coroutines.

    True also for asynchronous functions that never wait.
    """
    return isinstance(node, ast.AsyncFunctionDef) or any(
        isinstance(one, (ast.Yield, ast.YieldFrom)) for one in own_nodes(node)
    )


def own_nodes(node: FunctionNode) -> Iterator[ast.AST]:
    """What a function executes itself, without the functions inside of it."""
    pending: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    while pending:
        one = pending.pop()
        yield one
        if not isinstance(one, Function):
            pending += ast.iter_child_nodes(one)


class TracedScope:
    """A scope, with its names."""

    def __init__(self, number: int, kind: str, outer: TracedScope | None):
        self.number, self.kind, self.outer = number, kind, outer
        self.names: set[str] = set()  # what is bound in it
        self.globals: set[str] = set()
        self.outside: set[str] = set()  # nonlocal
        shares = kind in ("class", "comprehension") and outer is not None
        # the module, function or generator expression in whose calls it is executed
        self.frame: TracedScope = outer.frame if shares and outer is not None else self
        self.captured: set[str] = set()  # its names that functions inside of it read or bind
        self.captures: set[str] = set()  # names of functions around it

    def find(self, name: str) -> TracedScope:
        """The scope that a name belongs to.

        The module where no other one binds it.
        """
        scope: TracedScope = self
        while scope.outer is not None:
            if name in scope.globals:
                break
            # functions in a class do not see the names of its body
            visible = scope is self or scope.kind != "class"
            if visible and name in scope.names and name not in scope.outside:
                return self._captured(name, scope)
            scope = scope.outer
        while scope.outer is not None:
            scope = scope.outer
        return scope

    def _captured(self, name: str, owner: TracedScope) -> TracedScope:
        inner: TracedScope = self
        # each function between them passes the cell on
        while inner.frame is not owner.frame:
            inner.frame.captures.add(name)
            owner.captured.add(name)
            assert inner.frame.outer is not None
            inner = inner.frame.outer
        return owner


def bound_names(target: ast.AST | None) -> Iterator[str]:
    """The names that a target or pattern binds."""
    if target is None:
        return
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest


def parameters(arguments: ast.arguments) -> list[str]:
    """The names of parameters.

    Those by position first.
    """
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    found += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return [one.arg for one in found]


class Scopes:
    """The scopes of one source."""

    def __init__(self, tree: ast.Module, first: int):
        self._next = first
        self.by_node: dict[ast.AST, TracedScope] = {}
        self.module = self._new(tree, "module", None)
        for child in tree.body:
            self._collect(child, self.module)

    @property
    def next(self) -> int:
        """The number after those of all its scopes."""
        return self._next

    def _new(self, node: ast.AST, kind: str, outer: TracedScope | None) -> TracedScope:
        scope = self.by_node[node] = TracedScope(self._next, kind, outer)
        self._next += 1
        return scope

    def _collect(self, node: ast.AST, scope: TracedScope) -> None:
        if isinstance(node, Function):
            self._function(node, scope)
        elif isinstance(node, ast.ClassDef):
            scope.names.add(node.name)
            self._all((*node.decorator_list, *node.bases, *node.keywords), scope)
            self._all(node.body, self._new(node, "class", scope))
        elif isinstance(node, Comprehension):
            self._comprehension(node, scope)
        else:
            self._bind(node, scope)
            self._all(ast.iter_child_nodes(node), scope)

    def _all(self, nodes: Iterable[ast.AST], scope: TracedScope) -> None:
        for node in nodes:
            self._collect(node, scope)

    def _function(self, node: FunctionNode, scope: TracedScope) -> None:
        inner = self._new(node, "function", scope)
        inner.names.update(parameters(node.args))
        if not isinstance(node, ast.Lambda):
            scope.names.add(node.name)
            self._all(node.decorator_list, scope)
        self._all((one for one in (*node.args.defaults, *node.args.kw_defaults) if one is not None), scope)
        self._all(node.body if isinstance(node.body, list) else [node.body], inner)

    def _comprehension(self, node: ComprehensionNode, scope: TracedScope) -> None:
        kind = "generator" if isinstance(node, ast.GeneratorExp) else "comprehension"
        inner = self._new(node, kind, scope)
        # Python evaluates it in the scope around the comprehension
        self._collect(node.generators[0].iter, scope)
        for number, part in enumerate(node.generators):
            inner.names.update(bound_names(part.target))
            self._all([part.target, *[part.iter][:number], *part.ifs], inner)
        self._all((node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,), inner)

    def _bind(self, node: ast.AST, scope: TracedScope) -> None:
        """The names that a node by itself binds."""
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            if not (scope.kind in ("comprehension", "generator") and node.id in scope.names):
                scope.names.add(node.id)
        elif isinstance(node, ast.NamedExpr):
            outer = scope
            # a walrus binds outside of comprehensions
            while outer.kind in ("comprehension", "generator") and outer.outer is not None:
                outer = outer.outer
            outer.names.add(node.target.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            scope.names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            scope.names.update((alias.asname or alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            scope.names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            scope.names.add(node.rest)
        elif isinstance(node, ast.Global):
            scope.globals.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            scope.outside.update(node.names)
