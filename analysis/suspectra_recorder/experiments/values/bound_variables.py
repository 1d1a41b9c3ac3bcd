"""The local variables of a function: which are certainly bound at a statement, and which reach it on several ways.

Code is inserted that reads local variables, so a name counts as bound only if no execution can make reading it fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

Function = ast.FunctionDef | ast.AsyncFunctionDef

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_OTHER_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, *_COMPREHENSIONS)
_TRIES: tuple[type, ...] = tuple(getattr(ast, name) for name in ("Try", "TryStar") if hasattr(ast, name))
_LOOPS = (ast.For, ast.AsyncFor)
_WITHS = (ast.With, ast.AsyncWith)
_Bound = dict[str, None]  # in the order in which they were bound last


@dataclass
class BoundVariables:
    """The local variables of one function."""

    parameters: tuple[str, ...]  # those that have a value of their own, the first one first
    # by the identity of a statement, the names that are certainly bound before it, the one bound last first
    bound: dict[int, tuple[str, ...]] = field(default_factory=dict)
    # by the identity of a statement, the names that it reads and that more than one statement binds
    uses: dict[int, tuple[str, ...]] = field(default_factory=dict)
    tracked: frozenset[str] = frozenset()  # these names; all statements that bind one can be seen


def scope_of(function: Function) -> BoundVariables:
    """Look at the local variables of a function."""
    return _Analysis(function).scope


def target_names(target: ast.expr) -> tuple[str, ...]:
    """The variables that a target binds."""
    if isinstance(target, ast.Name):
        return (target.id,)
    if isinstance(target, (ast.Tuple, ast.List)):
        return tuple(name for item in target.elts for name in target_names(item))
    return target_names(target.value) if isinstance(target, ast.Starred) else ()


class _Analysis:
    def __init__(self, function: Function):
        arguments = function.args
        several = [arguments.vararg, arguments.kwarg]
        ordinary = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        names = [one.arg for one in (*ordinary, *several) if one is not None]
        self._hidden = frozenset(_hidden(function))
        self.scope = BoundVariables(tuple(name for name in names if name not in self._hidden))
        self._definitions = Counter(self.scope.parameters)
        self._block(function.body, dict.fromkeys(self.scope.parameters))
        # a variable that one statement binds has one definition, so nothing is learnt from it
        tracked = frozenset(name for name, times in self._definitions.items() if times > 1)
        self.scope.tracked = tracked
        self.scope.uses = {
            statement: kept
            for statement, read in self.scope.uses.items()
            if (kept := tuple(name for name in read if name in tracked))
        }

    def _block(self, statements: Iterable[ast.stmt], bound: _Bound | None) -> _Bound | None:
        """The names that are bound behind a block; None where nothing gets there."""
        for statement in statements:
            if bound is None:  # never executed, but compiled
                bound = {}
            self.scope.bound[id(statement)] = tuple(reversed(bound))
            self.scope.uses[id(statement)] = tuple(dict.fromkeys(_read(statement)))
            bound = self._after(statement, bound)
        return bound

    def _after(self, statement: ast.stmt, bound: _Bound) -> _Bound | None:
        if isinstance(statement, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
            return None
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            return self._assigned(statement, bound)
        if isinstance(statement, ast.If):
            return _either(self._block(statement.body, bound), self._block(statement.orelse, bound))
        if isinstance(statement, ast.While):
            self._block(statement.body, bound)
            # the body may be executed no time, and may be left anywhere
            return _either(bound, self._block(statement.orelse, bound))
        if isinstance(statement, _LOOPS):
            self._block(statement.body, self._with(target_names(statement.target), bound))
            return _either(bound, self._block(statement.orelse, bound))
        if isinstance(statement, _WITHS):
            targets = [item.optional_vars for item in statement.items if item.optional_vars is not None]
            names = tuple(name for target in targets for name in target_names(target))
            self._block(statement.body, self._with(names, bound))
            return bound  # an exception may be suppressed
        if isinstance(statement, _TRIES):
            return self._tried(statement, bound)  # type: ignore[arg-type]
        if isinstance(statement, ast.Match):
            ends = [self._block(case.body, bound) for case in statement.cases]
            for end in ends:
                bound = _either(bound, end) or {}
        return bound

    def _assigned(self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign, bound: _Bound) -> _Bound:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            return bound
        return self._with(tuple(name for target in targets for name in target_names(target)), bound)

    def _tried(self, statement: ast.Try, bound: _Bound) -> _Bound | None:
        body = self._block(statement.body, bound)
        end = None if body is None else self._block(statement.orelse, body)
        if body is None:
            self._block(statement.orelse, None)
        for handler in statement.handlers:
            end = _either(end, self._block(handler.body, bound))
        # an exception may come before anything in the body was bound
        final = self._block(statement.finalbody, bound)
        if end is None or final is None:
            return None
        return {**end, **{name: None for name in final if name not in end}}

    def _with(self, names: tuple[str, ...], bound: _Bound) -> _Bound:
        known = [name for name in names if name not in self._hidden]
        self._definitions.update(known)
        return {**{name: None for name in bound if name not in known}, **dict.fromkeys(known)}


def _either(one: _Bound | None, other: _Bound | None) -> _Bound | None:
    if one is None or other is None:
        return other if one is None else one
    return {name: None for name in one if name in other}


def _hidden(function: Function) -> Iterator[str]:
    """Names that may be bound or unbound in other ways than by assignments, loops and ``with``."""
    for node in ast.walk(function):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            yield from node.names
        elif isinstance(node, ast.Delete):
            yield from (name for target in node.targets for name in target_names(target))
        elif isinstance(node, ast.NamedExpr):
            yield node.target.id
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            if node.name is not None:
                yield node.name
        elif isinstance(node, ast.MatchMapping):
            if node.rest is not None:
                yield node.rest
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node is not function:
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)


def _read(statement: ast.stmt) -> Iterator[str]:
    """The variables that a statement itself reads, without the statements and scopes inside it."""
    if isinstance(statement, _OTHER_SCOPES):
        return
    if isinstance(statement, ast.AugAssign):
        yield from target_names(statement.target)
    waiting: list[ast.AST] = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        if not isinstance(node, (*_OTHER_SCOPES, ast.ExceptHandler, ast.match_case)):
            waiting += ast.iter_child_nodes(node)
