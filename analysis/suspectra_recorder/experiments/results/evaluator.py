"""An evaluator of expressions that can have no effect.

It reads variables, items, and attributes that are stored in objects; it calculates and compares values of Python's own
types, and calls some functions and methods of these. Whatever could run code of the program is `Unknown`: a property, a
comparison with an object, a call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MemberDescriptorType, ModuleType
from typing import Any

from suspectra_recorder.experiments.values.literals import LITERAL_TYPES, from_text
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

_MAX_ITEMS, _MAX_BITS, _MAX_DEPTH, _MAX_TEXT = 200, 4096, 4, 20_000
_PLAIN = frozenset(map(id, (*LITERAL_TYPES, range, complex, bytearray, slice)))
_CONTAINERS = frozenset(map(id, (list, tuple, dict, set, frozenset)))
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_CALLED = {
    one.__name__: one
    for one in (abs, bool, float, frozenset, int, len, list, max, min, range, round, set, sorted, str, sum, tuple)
}
# fmt: off
_METHODS = frozenset({
    "strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "split", "rsplit", "splitlines",
    "startswith", "endswith", "replace", "find", "rfind", "index", "count", "isdigit", "isalpha", "isalnum", "isspace",
    "isupper", "islower", "join", "zfill", "removeprefix", "removesuffix", "partition", "rpartition", "casefold",
    "get", "keys", "values", "items", "copy", "union", "intersection", "difference", "issubset", "issuperset",
})
# fmt: on


ONE_DAY = "__one_day__"
"""The name of what makes a date one day later."""


_DAY = from_text("l1 0 0")


class UnknownResult(Exception):
    """An expression whose value can't be known without running code of the program."""


class RaisedInstead(Exception):
    """An expression raises an exception of Python's own: its type."""


class Evaluator:
    """Evaluates expressions with the variables of a function that is being executed."""

    def __init__(
        self, own: Mapping[str, object], module: Mapping[str, object], known: frozenset[str], unnamed: str = ""
    ):
        self._own, self._module, self._known, self._unnamed = own, module, known, unnamed
        self._names: dict[int, str] = {}  # by the identity of what they refer to

    def identity(self, value: object) -> str:
        """A name of an object: that of a variable that refers to it, which other runs of the test have, too."""
        if not self._names:
            itself = self._own.get("self")
            for name, one in (*vars_of(itself), *self._own.items()):
                self._names[id(one)] = name
        return self._names.get(id(value)) or f"{self._unnamed}{id(value)}"

    def value(self, node: ast.expr) -> object:
        """The value of an expression.

        Raises UnknownResult when it can't be known, RaisedInstead when it has none.
        """
        method = _NODES.get(type(node))
        if method is None:
            raise UnknownResult
        try:
            return method(self, node)
        except (UnknownResult, RaisedInstead):
            raise
        except MemoryError:
            raise UnknownResult from None
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise RaisedInstead(type(error).__name__) from None

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        name = node.id
        if name == ONE_DAY:
            return _DAY
        if name in self._own:
            return self._own[name]
        if name in self._known:
            raise RaisedInstead("UnboundLocalError")
        if name in self._module:
            return self._module[name]
        if name in _CALLED:
            return _CALLED[name]
        raise UnknownResult

    def _attribute(self, node: ast.Attribute) -> Any:
        return stored(self.value(node.value), node.attr)

    def _item(self, node: ast.Subscript) -> Any:
        whole: Any = self.value(node.value)
        part = self.value(node.slice)
        _require_plain(part)
        if id(type(whole)) not in _CONTAINERS and id(type(whole)) not in _PLAIN:
            raise UnknownResult
        return whole[part]

    def _slice(self, node: ast.Slice) -> slice:
        return slice(*(None if one is None else self.value(one) for one in (node.lower, node.upper, node.step)))

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        _require_plain(left)
        _require_plain(right)
        _require_small(node.op, left, right)
        return _BINARY[type(node.op)](left, right) if type(node.op) in _BINARY else _unknown()

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return not truth(value)
        _require_plain(value)
        return _UNARY[type(node.op)](value)

    def _boolean(self, node: ast.BoolOp) -> Any:
        ends_with = isinstance(node.op, ast.Or)
        value: Any = None
        for one in node.values:
            value = self.value(one)
            if truth(value) is ends_with:
                return value
        return value

    def _conditional(self, node: ast.IfExp) -> Any:
        return self.value(node.body if truth(self.value(node.test)) else node.orelse)

    def _compare(self, node: ast.Compare) -> Any:
        left = self.value(node.left)
        for kind, one in zip(node.ops, node.comparators, strict=True):
            right = self.value(one)
            if isinstance(kind, ast.Is):
                result = left is right
            elif isinstance(kind, ast.IsNot):
                result = left is not right
            elif left is None or right is None:
                result = _with_none(kind, left, right)
            else:
                _require_plain(left)
                _require_plain(right)
                result = _COMPARED[type(kind)](left, right)
            if not result:
                return result
            left = right
        return result

    def _display(self, node: ast.List | ast.Tuple | ast.Set) -> Any:
        values = [self.value(one) for one in node.elts]
        kind = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
        if kind is set:
            _require_plain(tuple(values))
        return kind(values)

    def _dictionary(self, node: ast.Dict) -> Any:
        if any(key is None for key in node.keys):
            raise UnknownResult
        keys = [self.value(key) for key in node.keys if key is not None]
        _require_plain(tuple(keys))
        return dict(zip(keys, (self.value(one) for one in node.values), strict=True))

    def _call(self, node: ast.Call) -> Any:
        if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
            raise UnknownResult
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in _METHODS:
            itself = self.value(function.value)
            if type(itself) not in (str, bytes, list, dict, set, frozenset, tuple):
                raise UnknownResult
            _require_plain(itself)
            called = getattr(itself, function.attr)
        elif isinstance(function, ast.Name) and function.id in _CALLED:
            called = self.value(function)
            if called is not _CALLED[function.id]:
                raise UnknownResult
        else:
            raise UnknownResult
        given = [self.value(one) for one in node.args]
        for one in given:
            _require_plain(one)
            if type(one) is range and len(one) > _MAX_ITEMS:
                raise UnknownResult
        return called(*given)


_NODES: dict[type[ast.expr], Callable[[Evaluator, Any], Any]] = {
    ast.Constant: Evaluator._constant,
    ast.Name: Evaluator._name,
    ast.Attribute: Evaluator._attribute,
    ast.Subscript: Evaluator._item,
    ast.Slice: Evaluator._slice,
    ast.BinOp: Evaluator._binary,
    ast.UnaryOp: Evaluator._unary,
    ast.BoolOp: Evaluator._boolean,
    ast.IfExp: Evaluator._conditional,
    ast.Compare: Evaluator._compare,
    ast.List: Evaluator._display,
    ast.Tuple: Evaluator._display,
    ast.Set: Evaluator._display,
    ast.Dict: Evaluator._dictionary,
    ast.Call: Evaluator._call,
}


def truth(value: object) -> bool:
    """Whether a value counts as true.

    Raises UnknownResult where only code of the program can tell.
    """
    if id(type(value)) in _CONTAINERS or id(type(value)) in _PLAIN:
        return bool(value)
    if isinstance(type(value), type) and not any(
        name in vars(kind) for kind in type(value).__mro__ for name in ("__bool__", "__len__")
    ):
        return True
    raise UnknownResult


def stored(value: object, name: str) -> object:
    """What an object has as an attribute, if it is stored there.

    Raises UnknownResult where code would be called, RaisedInstead where there is no such attribute.
    """
    if isinstance(value, ModuleType):
        if name in vars(value):
            return vars(value)[name]
        raise UnknownResult
    kind = type(value)
    if id(kind) in _PLAIN or id(kind) in _CONTAINERS or value is None:
        raise RaisedInstead("AttributeError") if not hasattr(kind, name) else UnknownResult
    kinds = kind.__mro__
    if any("__getattribute__" in vars(one) for one in kinds[:-1]) or isinstance(value, type):
        raise UnknownResult
    found = next((vars(one)[name] for one in kinds if name in vars(one)), _NOTHING)
    if type(found) is MemberDescriptorType:
        return found.__get__(value, kind)
    own = getattr(value, "__dict__", {})
    if found is not _NOTHING and hasattr(type(found), "__get__"):
        raise UnknownResult  # a property runs code, and a method is not the same object each time
    if name in own:
        return own[name]
    if found is not _NOTHING:
        return found
    raise UnknownResult if any("__getattr__" in vars(one) for one in kinds) else RaisedInstead("AttributeError")


_NOTHING = object()


def vars_of(value: object) -> list[tuple[str, object]]:
    """The attributes that an object has of its own; none where asking could run code of the program."""
    try:
        return [(f".{name}", one) for name, one in object.__getattribute__(value, "__dict__").items()]
    except (AttributeError, TypeError):
        return []


def key_of(value: object, node: ast.expr, identity: Callable[[object], object] = id) -> object:
    """What has to be the same of two results, so that nothing can tell them apart.

    Objects and containers that exist are themselves; what an expression makes anew is what is in it. Raises
    UnknownResult where that can't be known.
    """
    if id(type(value)) in _PLAIN and type(value) not in (tuple, bytearray):
        _require_plain(value)
        return type(value).__name__, repr(value)
    if isinstance(node, (ast.Name, ast.Attribute)) or (
        isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice)
    ):
        return "same", identity(value)
    if isinstance(node, (ast.IfExp, ast.BoolOp)):
        return "same", identity(value)
    return "new", _structure(value, _MAX_DEPTH, identity)


def _structure(value: Any, depth: int, identity: Callable[[object], object]) -> object:
    kind = type(value)
    if id(kind) in _PLAIN and kind not in (tuple, bytearray):
        _require_plain(value)
        return kind.__name__, repr(value)
    if id(kind) not in _CONTAINERS:
        return "same", identity(value)
    if depth == 0 or len(value) > _MAX_ITEMS:
        raise UnknownResult
    parts = value.items() if kind is dict else value
    inside = [_structure(part, depth - 1, identity) for part in parts]
    return kind.__name__, tuple(sorted(inside, key=repr) if kind in (set, frozenset) else inside)


def _unknown() -> Any:
    raise UnknownResult


def _with_none(kind: ast.cmpop, left: Any, right: Any) -> bool:
    other = right if left is None else left
    if isinstance(kind, (ast.Eq, ast.NotEq)) and (other is None or id(type(other)) in _PLAIN):
        return (other is None) is isinstance(kind, ast.Eq)
    if isinstance(kind, (ast.In, ast.NotIn)) and left is None and right is not None:
        _require_plain(right)
        return bool(_COMPARED[type(kind)](left, right))
    if other is None or id(type(other)) in _PLAIN:
        raise RaisedInstead("TypeError")
    raise UnknownResult


def _require_plain(value: Any, depth: int = _MAX_DEPTH) -> None:
    """Refuse values whose behaviour a program decides, and those with which nothing is quick."""
    kind = id(type(value))
    if type(value) in (str, bytes, bytearray) and len(value) > _MAX_TEXT:
        raise UnknownResult
    if type(value) is int and value.bit_length() > _MAX_BITS:
        raise UnknownResult
    if kind in _CONTAINERS:
        if depth == 0 or len(value) > _MAX_ITEMS:
            raise UnknownResult
        for part in (*value, *value.values()) if type(value) is dict else value:
            _require_plain(part, depth - 1)
    elif kind not in _PLAIN:
        raise UnknownResult


def _require_small(kind: ast.operator, left: Any, right: Any) -> None:
    """Refuse to make what may be huge."""
    if isinstance(kind, (ast.Pow, ast.LShift)):
        if type(left) is int and type(right) is int and left.bit_length() * max(right, 0) > _MAX_BITS:
            raise UnknownResult
        if type(right) is int and right > _MAX_BITS:
            raise UnknownResult
    elif isinstance(kind, ast.Mult):
        for one, times in ((left, right), (right, left)):
            if type(times) is int and hasattr(one, "__len__") and len(one) * times > _MAX_ITEMS * 10:
                raise UnknownResult
        if type(left) is int and type(right) is int and left.bit_length() + right.bit_length() > _MAX_BITS:
            raise UnknownResult
