"""What the functions of a source may change that is read elsewhere, and where it is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from suspectra.program.python.named_paths import Path, own_parts
from suspectra.program.python.names_used import NamesUsed
from suspectra.program.python.points import ScopePoints

ANYWHERE = -1
"""In place of a scope: an attribute of some object."""


class ScopeEffect(NamedTuple):
    """Something that one function may write and another one read."""

    # the function whose variable it is; `ANYWHERE` for an attribute, as variables of modules and of bodies of classes
    # are
    scope: int
    name: str  # of the variable, or of the attribute after a dot
    content: bool  # whether it is what the object contains that is named so, and not which object that is


GIVEN = ScopeEffect(ANYWHERE, "", content=True)
"""What an argument contains: which one that is says the call."""


class PointEffects(NamedTuple):
    """What one point reads and may change."""

    # what it reads, what it certainly gives another value, and what may be another one afterwards
    reads: frozenset[ScopeEffect]
    # what it reads, what it certainly gives another value, and what may be another one afterwards
    writes: frozenset[ScopeEffect]
    # what it reads, what it certainly gives another value, and what may be another one afterwards
    changes: frozenset[ScopeEffect]
    # the names of what it calls, each with what a called function may change in its arguments
    calls: tuple[tuple[str, frozenset[ScopeEffect]], ...]


@dataclass(frozen=True, eq=False)
class ScopeEffects:
    """The effects of the points of one source."""

    # in the order in which `suspectra.program.python.point_dependences.PointDependences` numbers the points
    points: list[PointEffects]
    scope: list[int]  # the scope of each point
    names: list[list[str]]  # the names by which each scope may be called

    @classmethod
    def from_scopes(cls, scopes: Sequence[ScopePoints]) -> ScopeEffects:
        """Find the effects in one source."""
        known = _Variables(scopes)
        points = [known.effects(number, at) for number, scope in enumerate(scopes) for at in range(len(scope.points))]
        numbers = [number for number, scope in enumerate(scopes) for _ in scope.points]
        classes = _classes(scopes[0].node) if scopes else {}
        return cls(points, numbers, [_names(scope.node, classes) for scope in scopes])


_CONSTRUCTORS = ("__init__", "__new__", "__post_init__")
_PROPERTIES = frozenset({"property", "cached_property", "setter", "deleter", "getter"})


def _names(node: ast.AST, classes: dict[ast.AST, str]) -> list[str]:
    """What a function is called: of a constructor the class, too; of a property its name after a dot."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    found = [node.name]
    if node.name in _CONSTRUCTORS and node in classes:
        found.append(classes[node])
    for one in node.decorator_list:
        if isinstance(one, ast.Name | ast.Attribute):
            name = one.id if isinstance(one, ast.Name) else one.attr
            if name in _PROPERTIES:
                found.append("." + node.name)
    return found


def _classes(module: ast.AST) -> dict[ast.AST, str]:
    """The name of the class of each method."""
    return {part: node.name for node in ast.walk(module) if isinstance(node, ast.ClassDef) for part in node.body}


class _Variables:
    """Which names of a source stand for what."""

    def __init__(self, scopes: Sequence[ScopePoints]):
        self._scopes = scopes
        self._elsewhere = [set(_declared(scope.node)) for scope in scopes]
        self._parameters = [set(_parameters(scope.node)) for scope in scopes]
        self._bound = [self._bound_in(number) for number in range(len(scopes))]
        self._aliases = [self._aliases_in(scope) for scope in scopes]
        self._taken = [_taken_in(scope) for scope in scopes]

    def _bound_in(self, number: int) -> set[str]:
        points = self._scopes[number].points
        written = {path[0] for point in points for path in point.names.writes if len(path) == 1}
        return (written | self._parameters[number]) - self._elsewhere[number]

    def _aliases_in(self, scope: ScopePoints) -> dict[str, set[Path]]:
        """The objects that variables may be other names of."""
        found: dict[str, set[Path]] = {}
        for point in scope.points:
            if copied := point.names.effects.copied:
                for path in point.names.writes:
                    if len(path) == 1:
                        found.setdefault(path[0], set()).update(copied)
                for path in copied:  # what is stored in an attribute may be changed by its first name
                    found.setdefault(path[0], set()).update(("", name) for name in point.names.effects.stored)
        return found

    def _owner(self, number: int, name: str) -> int:
        """The function whose variable a name is."""
        while number >= 0 and self._scopes[number].outer >= 0:
            if name in self._bound[number]:
                return number
            number = self._scopes[number].outer
        return ANYWHERE

    def _content(
        self, number: int, path: Path, *, rounds: bool = True, seen: frozenset[str] = frozenset()
    ) -> Iterator[ScopeEffect]:
        """What a path, or what it may be another name of, contains; with `rounds` also what loops take from others."""
        name = path[0]
        if len(path) > 1:
            yield ScopeEffect(ANYWHERE, "." + path[-1], content=True)
            return
        owner = self._owner(number, name)
        yield _variable(owner, name, content=True)
        if owner != number or name in seen:
            return
        if name in self._parameters[number]:
            yield GIVEN
        for other in self._aliases[number].get(name, ()):
            yield from self._content(number, other, rounds=rounds, seen=seen | {name})
        if rounds:
            for other in self._taken[number].get(name, ()):
                yield from self._content(number, other, seen=seen | {name})

    def _made_by_constructor(self, number: int, names: NamesUsed) -> set[ScopeEffect]:
        """The attributes that a constructor gives the object that nobody else knows yet."""
        node = self._scopes[number].node
        if not isinstance(node, ast.FunctionDef) or node.name not in _CONSTRUCTORS or not node.args.args:
            return set()
        own = node.args.args[0].arg
        stored = [path[1] for path in names.writes if path[0] == own and len(path) == 2]
        return {ScopeEffect(ANYWHERE, "." + name, content=False) for name in stored}

    def effects(self, number: int, at: int) -> PointEffects:
        """What a point of a scope does."""
        names = self._scopes[number].points[at].names
        effects = names.effects
        used = names.reads | {path for call in effects.calls for path in call.given}
        reads = {one for path in used for one in self._content(number, path, rounds=False)} - {GIVEN}
        for name in {path[0] for path in names.reads}:
            owner = self._owner(number, name)
            if owner != number:
                reads.add(_variable(owner, name, content=False))
        for name in effects.attributes:
            reads.add(ScopeEffect(ANYWHERE, "." + name, content=False))
        writes = {ScopeEffect(ANYWHERE, "." + name, content=False) for name in effects.stored}
        for path in names.writes:
            if len(path) == 1:
                writes.add(_variable(self._owner(number, path[0]), path[0], content=False))
        changes = {one for path in effects.mutated for one in self._content(number, path)}
        changes |= {one for one in writes if one.scope != number} - self._made_by_constructor(number, names)
        called = [
            (call.name, frozenset(one for path in call.given for one in self._content(number, path)))
            for call in sorted(effects.calls, key=lambda call: call.name)
        ]
        called += [("." + name, frozenset()) for name in sorted(effects.attributes | effects.stored)]
        return PointEffects(frozenset(reads), frozenset(writes), frozenset(changes), tuple(called))


def _variable(scope: int, name: str, *, content: bool) -> ScopeEffect:
    return ScopeEffect(scope, name if scope >= 0 else "." + name, content)


def _taken_in(scope: ScopePoints) -> dict[str, set[Path]]:
    """What the targets of loops are taken from."""
    found: dict[str, set[Path]] = {}
    for point in scope.points:
        if taken := point.names.effects.taken:
            for path in point.names.writes:
                if len(path) == 1:
                    found.setdefault(path[0], set()).update(taken)
    return found


def _declared(node: ast.AST) -> Iterator[str]:
    """The names that a function declares to be variables of others."""
    for part in own_parts(node):
        if isinstance(part, ast.Global | ast.Nonlocal):
            yield from part.names


def _parameters(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        given = node.args
        for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if one is not None:
                yield one.arg
