"""Finding the places in which a function looks for a result before it makes one.

A guard is a statement that asks whether something is there, and without which it would not be stored::

    if _table is None:                  if key in self._found:              try:
        _table = _load()                    return self._found[key]             return _parsers[name]
    return _table                       self._found[key] = _search(key)     except KeyError:
                                        return self._found[key]                 _parsers[name] = _make(name)

What is stored may also be stored by a function that is called there. The *making arm* runs until the result is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.block_control import DEFINITIONS, FUNCTIONS, leaves
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

_NONLOCAL = "nonlocal "
_BLOCKS = ("body", "orelse", "finalbody")
_CONTAINERS = frozenset({"dict", "set", "list", "defaultdict", "OrderedDict", "Counter"})
_FRESH = (ast.Dict, ast.Set, ast.List, ast.DictComp, ast.SetComp, ast.ListComp)
_SUSPENDS = (ast.Await, ast.Yield, ast.YieldFrom, ast.AsyncFor, ast.AsyncWith)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Block = list[ast.stmt]


class Arm(Enum):
    """Where a result is made."""

    BODY = "body"
    ORELSE = "orelse"
    HANDLERS = "handlers"
    REST = "the statements that follow"


@dataclass(frozen=True)
class Slot:
    """Where a result is kept: in a variable, or in attributes and items of an object."""

    text: str  # what the source calls it
    owner: ast.expr | None = None  # the object, None for a variable
    keys: tuple[
        ast.expr, ...
    ] = ()  # the attributes and items in it, or the name of a variable of an enclosing function
    lasts: bool = True  # whether the object is known to last

    @property
    def value(self) -> ast.expr:
        """What is in a variable; nothing for another place, since to look there might run code."""
        return ast.Name(self.text.removeprefix(_NONLOCAL), ast.Load()) if self.owner is None else ast.Constant(None)


@dataclass(frozen=True)
class ResultCheck:
    """A statement that decides whether a result has to be made."""

    place: Slot
    arm: Arm  # where it is made
    plain: bool  # whether nothing but to return or read it is done outside of the making arm


@dataclass
class ResultChecks:
    """What a source does to keep results."""

    guards: dict[ast.stmt, ResultCheck] = field(default_factory=dict)
    stores: dict[ast.stmt, list[Slot]] = field(default_factory=dict)  # by the statements that store them

    @classmethod
    def from_tree(cls, tree: ast.Module) -> ResultChecks:
        """Find them."""
        scopes = list(_scopes(tree.body, None))
        stored: dict[str, set[str]] = {}  # by the names of functions
        shared = {name for scope in scopes for name in scope.globals}
        for scope in scopes:
            scope.shared = shared
            for statement in _inside(scope.function.body):
                named = {place.text: place for place in map(scope.place, _stored(statement)) if place is not None}
                if named:
                    scope.stores[statement] = list(named.values())
                    stored.setdefault(scope.function.name, set()).update(named)
        found = cls()
        for scope in scopes:
            for block in _blocks(scope.function.body):
                found.guards.update(_guards(block, scope, stored))
        wanted = {guard.place.text for guard in found.guards.values()}
        for scope in scopes:
            for statement, places in scope.stores.items():
                if kept := [place for place in places if place.text in wanted]:
                    found.stores[statement] = kept
        return found


class _Scope:
    """The names of a function."""

    def __init__(self, function: _Function, outer: _Scope | None):
        self.function, self.outer = function, outer
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.stores: dict[ast.stmt, list[Slot]] = {}
        self.shared: set[str] = set()  # globals that functions of the module assign
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        self.parameters = {argument.arg for argument in every if argument is not None}
        self.assigned: set[str] = set()
        self.fresh: set[str] = set()  # names of containers that it makes
        for statement in _inside(function.body):
            if isinstance(statement, ast.Global):
                self.globals.update(statement.names)
            elif isinstance(statement, ast.Nonlocal):
                self.nonlocals.update(statement.names)
            elif isinstance(statement, DEFINITIONS):
                self.assigned.add(statement.name)
            elif isinstance(statement, ast.Assign | ast.AnnAssign) and _is_fresh(statement.value):
                self.fresh.update(_names(_targets(statement)))
            self.assigned.update(_names(_own(statement)))

    def is_local(self, name: str) -> bool:
        return (name in self.parameters or name in self.assigned) and name not in self.globals | self.nonlocals

    def is_global(self, name: str) -> bool:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.globals:
                return True
            if name in scope.nonlocals or scope.is_local(name):
                return False
            scope = scope.outer
        return name in self.shared

    def place(self, expression: ast.expr, *, sure: bool = True) -> Slot | None:
        """What an expression names; `sure` if it has been evaluated where its names are used."""
        if isinstance(expression, ast.Name):
            name = expression.id
            if name in self.nonlocals:
                return Slot(_NONLOCAL + name, keys=(ast.Constant(name),))
            return Slot(name) if self.is_global(name) else None
        keys: list[ast.expr] = []
        base = expression
        while True:
            if isinstance(base, ast.Attribute) and base.attr != "__class__":
                keys.append(ast.Constant("." + base.attr))
            elif isinstance(base, ast.Subscript) and _is_simple(base.slice):
                keys.append(base.slice)
            else:
                break
            base = base.value
        match base:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name)):
                pass
            case ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=name)], keywords=[]):
                pass
            case _:
                return None
        if not keys or name in self.fresh:
            return None
        used = {name, *(node.id for key in keys for node in ast.walk(key) if isinstance(node, ast.Name))}
        if not sure and not used <= self.parameters:
            return None
        return Slot(ast.unparse(expression), base, tuple(reversed(keys)), not self.is_local(name))


def _guards(block: _Block, scope: _Scope, stored: Mapping[str, set[str]]) -> Iterator[tuple[ast.stmt, ResultCheck]]:
    aliases: dict[str, ast.expr] = {}
    for number, statement in enumerate(block):
        rest = block[number + 1 :]
        if isinstance(statement, ast.If):
            follows = rest if leaves(statement.body) and not statement.orelse else []
            without = [(Arm.BODY, statement.body, [*statement.orelse, *follows])]
            present = [(Arm.ORELSE, statement.orelse, statement.body)]
            if not statement.orelse and isinstance(statement.body[-1], ast.Return):
                present = [(Arm.REST, rest, statement.body)]
            places = [
                (place, without if absent else present)
                for one, absent, sure in _sought(statement.test, aliases)
                if (place := scope.place(one, sure=sure)) is not None
            ]
        elif isinstance(statement, ast.Try) and statement.handlers and not statement.finalbody:
            handled = [inner for handler in statement.handlers for inner in handler.body]
            returns = isinstance(statement.body[-1], ast.Return)
            arms = [(Arm.HANDLERS, handled, rest if returns else statement.orelse)]
            if returns:
                arms.append((Arm.REST, rest, []))
            read = getattr(statement.body[0], "value", None)
            looked = scope.place(read) if isinstance(read, ast.expr) else None
            places = [(looked, arms)] if looked is not None else []
        else:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                aliases.update(dict.fromkeys(_names(_targets(statement)), statement.value))
            continue
        made = next(
            (
                ResultCheck(place, arm, all(map(_is_plain, other)))
                for place, arms in places
                for arm, making, other in arms
                if place.text in _stored_by(making, scope, stored) and not _suspends(making)
            ),
            None,
        )
        if made is not None:
            yield statement, made


def _sought(
    test: ast.expr, aliases: Mapping[str, ast.expr], *, absent: bool = False, sure: bool = True
) -> Iterator[tuple[ast.expr, bool, bool]]:
    """What a condition asks for, whether that is absent where it is true, and whether it is sure to be evaluated.

    With `absent`, the condition is negated.
    """
    match test:
        case ast.BoolOp(values=values):
            for number, value in enumerate(values):
                yield from _sought(value, aliases, absent=absent, sure=sure and not number)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _sought(operand, aliases, absent=not absent, sure=sure)
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[container]):
            yield _item(container, left), absent ^ isinstance(op, ast.NotIn), sure
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant() | ast.Name() | ast.Attribute()]):
            if isinstance(op, ast.Is | ast.Eq | ast.IsNot | ast.NotEq):
                yield from _sought(left, aliases, absent=absent ^ isinstance(op, ast.Is | ast.Eq), sure=sure)
        case ast.NamedExpr(value=value):
            yield from _sought(value, aliases, absent=absent, sure=sure)
        case ast.Call(func=ast.Name(id="hasattr" | "getattr"), args=[owner, ast.Constant(value=str(name)), *_]):
            yield ast.Attribute(owner, name, ast.Load()), absent, sure
        case ast.Call(func=ast.Attribute(value=container, attr="get"), args=[key, *_]):
            yield _item(container, key), absent, sure
        case ast.Name(id=name) if name in aliases:
            yield from _sought(aliases[name], {}, absent=absent, sure=sure)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            yield test, absent, sure


def _item(container: ast.expr, key: ast.expr) -> ast.expr:
    """What is in a container; in the namespace of an object it is an attribute."""
    match container, key:
        case (
            ast.Attribute(value=owner, attr="__dict__") | ast.Call(func=ast.Name(id="vars"), args=[owner]),
            ast.Constant(value=str(name)),
        ):
            return ast.Attribute(owner, name, ast.Load())
    return ast.Subscript(container, key, ast.Load())


def _stored(statement: ast.stmt) -> Iterator[ast.expr]:
    """What a statement stores, but for None."""
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Assign | ast.AnnAssign) and not _is_none(value):
        for target in _targets(statement):
            if isinstance(target, ast.Subscript):
                yield _item(target.value, target.slice)
            elif isinstance(target, ast.Name | ast.Attribute):
                yield target
    match value:
        case ast.Call(func=ast.Attribute(value=container, attr="setdefault" | "add"), args=[key, *_]):
            yield _item(container, key)
        case (
            ast.Call(func=ast.Name(id="setattr"), args=[owner, ast.Constant(value=str(name)), _])
            | ast.Call(func=ast.Attribute(attr="__setattr__"), args=[owner, ast.Constant(value=str(name)), _])
        ):
            yield ast.Attribute(owner, name, ast.Load())


def _stored_by(block: _Block, scope: _Scope, stored: Mapping[str, set[str]]) -> set[str]:
    """The places in which a block stores something, by itself or by functions of the module."""
    found: set[str] = set()
    for statement in _inside(block):
        found.update(place.text for place in scope.stores.get(statement, ()))
        for node in _own(statement):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name != scope.function.name:
                    found |= stored.get(name, set())
    return found


def _scopes(body: Iterable[ast.stmt], outer: _Scope | None) -> Iterator[_Scope]:
    for statement in _inside(body):
        if isinstance(statement, FUNCTIONS):
            scope = _Scope(statement, outer)
            yield scope
            yield from _scopes(statement.body, scope)
        elif isinstance(statement, ast.ClassDef):
            yield from _scopes(statement.body, outer)


def _blocks(block: _Block) -> Iterator[_Block]:
    """A block and those in it, but for those of functions and classes."""
    if block:
        yield block
    for statement in block:
        if not isinstance(statement, DEFINITIONS):
            parts: list[Any] = [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
            for part in parts:
                for name in _BLOCKS:
                    yield from _blocks(getattr(part, name, []))


def _inside(block: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for one in _blocks(list(block)):
        yield from one


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement without those of other statements and functions."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        if node is statement and isinstance(node, DEFINITIONS):
            continue
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt | ast.Lambda)]


def _targets(statement: ast.Assign | ast.AnnAssign) -> Sequence[ast.expr]:
    if isinstance(statement, ast.AnnAssign):
        return [] if statement.value is None else [statement.target]
    found: list[ast.expr] = []
    for target in statement.targets:
        found += target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return found


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name


def _is_fresh(value: ast.expr | None) -> bool:
    return isinstance(value, _FRESH) or (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _CONTAINERS
    )


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _is_simple(key: ast.expr) -> bool:
    """Whether a key can be evaluated again."""
    match key:
        case ast.Constant() | ast.Name():
            return True
        case ast.Attribute(value=value):
            return _is_simple(value)
        case ast.Tuple(elts=items):
            return all(map(_is_simple, items))
        case ast.Call(func=ast.Name(id="type" | "id"), args=[one], keywords=[]):
            return _is_simple(one)
    return False


def _is_plain(statement: ast.stmt) -> bool:
    """Whether a statement does nothing but to return or read something, so it is executed as a whole."""
    if not isinstance(statement, ast.Return | ast.Assign | ast.Pass):
        return False
    return not any(isinstance(node, ast.Call | ast.BinOp | ast.Lambda | ast.IfExp) for node in ast.walk(statement))


def _suspends(block: _Block) -> bool:
    """Whether other code may run before the end of a block, that of another task, say."""
    return any(isinstance(node, _SUSPENDS) for statement in _inside(block) for node in _own(statement))
