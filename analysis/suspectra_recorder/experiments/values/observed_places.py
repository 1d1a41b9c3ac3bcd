"""Letting the values of a source be observed by `Observations`, without changing what the code does.

``x = e`` becomes ``x = observations.put(number, e, a, b)``, where ``a`` and ``b`` are variables of the function that
are certainly bound there; so do returned and yielded values, and the arguments of calls whose result is not used.
Functions begin with ``observations.enter(number, a, b)``, which has the values of their parameters, and the body of
``for x in …`` with ``observations.put(number, x, a, b)``.

Variables that several statements of a function bind have definitions and uses: behind a statement that binds one stands
``observations.define(number)``, and in front of one that reads it ``observations.use(number)``.
"""

from __future__ import annotations

from typing import NamedTuple

from suspectra_recorder.experiments.decisions.inserted_calls import call_on_first_line
from suspectra_recorder.experiments.values.assignments import Rewriting
from suspectra_recorder.experiments.values.bound_variables import BoundVariables, scope_of, target_names
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

MAX_NAMES = 10
"""Other variables with which the value of a place is compared: those that were bound last."""

_WithBody = ast.For | ast.AsyncFor | ast.With | ast.AsyncWith
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class ObservedPlace(NamedTuple):
    """A place in a source where values are observed. Lines are counted from 1."""

    kind: str  # those of assignments, `parameter`, `loop`, `define` or `use`
    name: str  # what has the value; empty where `names` says it
    line: int  # where its statement begins
    end_line: int  # where that ends; of compound ones the same line
    names: tuple[str, ...]  # the variables that it is compared with, or that are parameters, defined or used


def observe(tree: ast.Module, name: str, first: int) -> list[ObservedPlace]:
    """Let the values of a source be observed.

    By number from `first` on.
    """
    rewriting = _Observing(name, first)
    for node in tree.body:
        rewriting.outside(node)
    return rewriting.places


class _Observing(Rewriting):
    def __init__(self, name: str, first: int):
        super().__init__(name, first)
        self.places: list[ObservedPlace] = []
        self._scope = BoundVariables(())
        self._bound: tuple[str, ...] = ()

    def _function(self, node: ast.AST) -> None:
        scope, bound = self._scope, self._bound
        self._bound = ()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._scope = scope_of(node)
            entry = self._entry(node, self._scope)
            super()._function(node)
            documented = int(ast.get_docstring(node, clean=False) is not None)
            # behind the docstring, which has to stay the first statement
            node.body[documented:documented] = entry
        else:
            super()._function(node)
        self._scope, self._bound = scope, bound

    def _entry(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: BoundVariables) -> list[ast.stmt]:
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        names = scope.parameters[:MAX_NAMES]
        tracked = set(scope.parameters) & scope.tracked
        names += tuple(name for name in scope.parameters[MAX_NAMES:] if name in tracked)
        if not body or not (names or scope.tracked):
            return []
        return [self._ask("enter", "parameter", body[0], names, names)]

    def _statement(self, statement: ast.stmt) -> list[ast.stmt]:
        bound, self._bound = self._bound, self._scope.bound.get(id(statement), ())
        used = self._scope.uses.get(id(statement), ())
        defined = tuple(name for name in _defined(statement) if name in self._scope.tracked)
        found = super()._statement(statement)
        # its test is evaluated again before each round, and a statement in front of it only once
        if isinstance(statement, ast.While) and used:
            number = self._place("use", "", statement, used)
            statement.test = call_on_first_line(statement.test, self._name, "used", number, statement.test)
        elif used:
            found = [self._ask("use", "use", statement, used, ()), *found]
        if isinstance(statement, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)):
            statement.body[:0] = self._begin(statement, defined)
        elif defined:
            found.append(self._ask("define", "define", statement, defined, ()))
        self._bound = bound
        return found

    def _begin(self, statement: _WithBody, defined: tuple[str, ...]) -> list[ast.stmt]:
        """What the body of a loop or a ``with`` begins with."""
        begin = [self._ask("define", "define", statement, defined, ())] if defined else []
        if isinstance(statement, (ast.For, ast.AsyncFor)):
            for name in target_names(statement.target):
                number = self._place("loop", name, statement, self._others(name))
                value = ast.copy_location(ast.Name(name, ast.Load()), statement.target)
                begin.append(_alone(self._observed(number, value)))
        return begin

    def _inside(self, node: ast.AST) -> None:
        """What is inside a comprehension can't read the variables without making them variables of a closure."""
        bound = self._bound
        if isinstance(node, _COMPREHENSIONS):
            self._bound = ()
        super()._inside(node)
        self._bound = bound

    def _compare(self, node: ast.Compare) -> None:
        """Comparisons are not observed."""

    def _put(self, value: ast.expr, kind: str, name: str, place: ast.expr | ast.stmt) -> ast.expr:
        if isinstance(value, (ast.Lambda, ast.GeneratorExp)):
            return value
        return self._observed(self._place(kind, name, place, self._others(name)), value)

    def _others(self, name: str) -> tuple[str, ...]:
        return tuple(other for other in self._bound if other != name)[:MAX_NAMES]

    def _observed(self, number: int, value: ast.expr) -> ast.expr:
        names = self.places[number - self._first].names
        return call_on_first_line(
            value, self._name, "put", number, value, *(ast.Name(name, ast.Load()) for name in names)
        )

    def _ask(
        self, method: str, kind: str, statement: ast.stmt, names: tuple[str, ...], read: tuple[str, ...]
    ) -> ast.stmt:
        """A statement that only calls the observations."""
        number = self._place(kind, "", statement, names)
        variables = (ast.Name(name, ast.Load()) for name in read)
        return _alone(call_on_first_line(statement, self._name, method, number, *variables))

    def _place(self, kind: str, name: str, place: ast.expr | ast.stmt, names: tuple[str, ...]) -> int:
        body = getattr(place, "body", None)
        end = place.lineno if isinstance(body, list) else place.end_lineno
        assert end is not None  # the parser sets it
        self.places.append(ObservedPlace(kind, name, place.lineno, end, names))
        return self._first + len(self.places) - 1


def _alone(call: ast.expr) -> ast.stmt:
    return ast.copy_location(ast.Expr(call), call)


def _defined(statement: ast.stmt) -> tuple[str, ...]:
    """The variables that a statement binds, in itself or before its body."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AugAssign, ast.For, ast.AsyncFor)):
        targets = [statement.target]
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target] if statement.value is not None else []
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        targets = [item.optional_vars for item in statement.items if item.optional_vars is not None]
    return tuple(name for target in targets for name in target_names(target))
