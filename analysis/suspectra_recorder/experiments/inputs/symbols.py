"""Symbolic numbers and texts: values that note how comparisons depend on them, as terms of plain tuples.

Each is an instance of a class derived from ``int``, ``float`` or ``str``, so the program and C code use it as they use
any other, with the value that it has in this run. Arithmetic gives a symbolic number again. A comparison gives plain
True or False, and is noted as a constraint of the path (Li et al. 2016, Section 4.2). What is not known here gives a
plain value: a solver may then propose values that don't do what it expects, which another run shows.

A term is a symbol ``("symbol", name, type)``, a constant, or a tuple of an operator and its operands.

The classes are derived from Python's own since C code and `isinstance` do not accept proxies. Since a symbol is not
exactly an ``int`` all the same, a result counts only after a run with the plain value. Terms are sent to the process
that asked, and its solver runs there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

MAX_CONSTRAINTS = 300
"""How many constraints of a path are noted."""

MAX_SIZE = 300
"""Operators of a term; a larger one is dropped, and its value is a plain one."""

MAX_LENGTH = 80
"""Characters of a text in a term."""

_MAX_BITS = 256

Term = Any
"""A tuple, or a constant."""


class SymbolicPath:
    """The constraints of one run."""

    def __init__(self, position: Callable[[], int] = int) -> None:
        self.constraints: list[tuple[Term, bool]] = []  # each once: a term, and whether it was true
        self.positions: list[int] = []  # for each constraint how many events the run had when it was met
        self.last = -1  # the index of the one that was met last; -1 for none
        self.closed = False
        self._position = position
        self._index: dict[tuple[Term, bool], int] = {}

    def symbol(self, name: str, value: object) -> object:
        """Make a value symbolic.

        The value itself unless it is an `int`, a `float` or a `str`.
        """
        cls = _SYMBOLIC.get(type(value)) if type(value) in _SYMBOLIC else None
        return value if cls is None else _made(cls, value, ("symbol", name, type(value).__name__), 1, self)

    def flag(self, name: str, value: bool) -> object:
        """Make a truth symbolic."""
        return _made(_SymbolicBool, value, ("symbol", name, "int"), 1, self)

    def number(self, value: int, term: Term, size: int) -> object:
        """Make an integer that was computed from symbols in another way than by arithmetic.

        A plain one if the term is too large.
        """
        return _made(_SymbolicInt, value, term, size, self)

    def ask(self, term: Term, truth: bool) -> bool:
        """Note a constraint."""
        # to describe a failure may compare more, which is no part of the path
        if not self.closed:
            key = (term, truth)
            # each once, since a loop asks the same in each round
            index = self._index.get(key)
            if index is None and len(self.constraints) < MAX_CONSTRAINTS:
                index = self._index[key] = len(self.constraints)
                self.constraints.append(key)
                self.positions.append(self._position())
            if index is not None:
                self.last = index
        return truth


class _Symbolic:
    """What symbolic values share: a term, its size, and the path; copies are the same value."""

    term: Term
    size: int
    path: SymbolicPath

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self

    def __reduce__(self) -> Any:
        return _BASE[type(self)], (_plain(self),)


class _SymbolicInt(_Symbolic, int):
    """An integer with a term."""

    __hash__ = int.__hash__

    def __bool__(self) -> bool:
        return self.path.ask(("!=", self.term, 0), int.__bool__(self))


class _SymbolicBool(_SymbolicInt):
    """A truth with a term; no class can be derived from ``bool``, so it says that it is one."""

    __class__ = bool  # type: ignore[assignment]
    __hash__ = int.__hash__

    def __repr__(self) -> str:
        return repr(int.__bool__(self))

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return format(int.__bool__(self), form)

    def __reduce__(self) -> Any:
        return bool, (int.__int__(self),)


class _SymbolicFloat(_Symbolic, float):
    """A floating-point number with a term."""

    __hash__ = float.__hash__

    def __bool__(self) -> bool:
        return self.path.ask(("!=", self.term, 0), float.__bool__(self))


class _SymbolicStr(_Symbolic, str):
    """A text with a term."""

    __hash__ = str.__hash__

    def __add__(self, other: Any) -> Any:
        return _joined(self, other, self, other)

    def __radd__(self, other: Any) -> Any:
        return _joined(other, self, self, other)

    def __bool__(self) -> bool:
        return self.path.ask(("!=", self.term, ""), str.__len__(self) > 0)

    def __contains__(self, other: Any) -> bool:
        found = str.__contains__(self, other)
        return self._ask("contains", other, found)

    def startswith(self, *arguments: Any) -> bool:
        """Whether it begins with a text."""
        found = str.startswith(self, *arguments)
        return self._ask("starts", arguments[0], found) if len(arguments) == 1 else found

    def endswith(self, *arguments: Any) -> bool:
        """Whether it ends with a text."""
        found = str.endswith(self, *arguments)
        return self._ask("ends", arguments[0], found) if len(arguments) == 1 else found

    def _ask(self, what: str, other: Any, found: bool) -> bool:
        known, term, _ = _term_of(other, str)
        return self.path.ask((what, self.term, term), found) if known else found


_SYMBOLIC: dict[type, Any] = {int: _SymbolicInt, float: _SymbolicFloat, str: _SymbolicStr}
_BASE: dict[type, Any] = {symbolic: base for base, symbolic in _SYMBOLIC.items()}


def _plain(value: Any) -> Any:
    """The value that a symbolic one has in this run."""
    for symbolic, convert in _PLAIN:
        if isinstance(value, symbolic):
            return convert(value)
    return value


_PLAIN: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (_SymbolicInt, int.__int__),
    (_SymbolicFloat, float.__float__),
    (_SymbolicStr, str.__str__),
)


def plain_number(value: Any) -> Any:
    """The value that a symbolic one has in this run.

    Of Python's own type where it was symbolic.
    """
    return int.__bool__(value) if isinstance(value, _SymbolicBool) else _plain(value)


def number_of(value: object) -> tuple[SymbolicPath | None, Term, int]:
    """What a symbolic integer is computed from.

    None for anything but a symbolic integer.
    """
    return (value.path, value.term, value.size) if isinstance(value, _SymbolicInt) else (None, value, 1)


def _made(cls: Any, value: Any, term: Term, size: int, path: SymbolicPath) -> Any:
    # a plain value: nothing more is noted of it
    if size > MAX_SIZE or path.closed:
        return value
    made = cls.__new__(cls, value)
    made.term, made.size, made.path = term, size, path
    return made


def _term_of(value: Any, *bases: type) -> tuple[bool, Term, int]:
    """Whether a value can be part of a term, its own term, and the size of that."""
    if isinstance(value, _Symbolic):
        return True, value.term, value.size
    if not isinstance(value, bases):
        return False, None, 0
    if isinstance(value, int):
        small = int.bit_length(value) <= _MAX_BITS
        return small, int.__int__(value), 1
    if isinstance(value, float):
        plain = float.__float__(value)
        return plain - plain == 0, plain, 1  # neither infinite nor NaN
    text: str = str.__str__(value)
    return len(text) <= MAX_LENGTH, text, 1


def _joined(left: Any, right: Any, symbolic: _SymbolicStr, other: Any) -> Any:
    if not isinstance(other, str):
        return NotImplemented
    joined = str.__add__(_plain(left), _plain(right))
    known_left, first, size = _term_of(left, str)
    known_right, second, more = _term_of(right, str)
    if not (known_left and known_right):
        return joined
    return _made(_SymbolicStr, joined, ("join", first, second), size + more + 1, symbolic.path)


def _arithmetic(sign: str, compute: Callable[[Any, Any], Any], *, swapped: bool) -> Callable[[Any, Any], Any]:
    """A method for an operator between numbers."""

    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        left, right = (other, self) if swapped else (self, other)
        result = compute(_plain(left), _plain(right))
        known_left, first, size = _term_of(left, int, float)
        known_right, second, more = _term_of(right, int, float)
        cls = _SYMBOLIC.get(type(result))
        if not (known_left and known_right) or cls is None:
            return result
        return _made(cls, result, (sign, first, second), size + more + 1, self.path)

    return method


def _comparison(sign: str, compute: Callable[[Any, Any], Any], *bases: type) -> Callable[[Any, Any], Any]:
    """A method for a comparison."""

    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, bases):
            return NotImplemented
        truth: bool = compute(_plain(self), _plain(other))
        known, term, _ = _term_of(other, *bases)
        return self.path.ask((sign, self.term, term), truth) if known else truth

    return method


def _single(sign: str, compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        result = compute(_plain(self))
        return _made(_SYMBOLIC[type(result)], result, (sign, self.term), self.size + 1, self.path)

    return method


_ARITHMETIC: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "add": ("+", operator.add),
    "sub": ("-", operator.sub),
    "mul": ("*", operator.mul),
    "floordiv": ("//", operator.floordiv),
    "mod": ("%", operator.mod),
    "truediv": ("/", operator.truediv),
}
_COMPARISONS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "lt": ("<", operator.lt),
    "le": ("<=", operator.le),
    "gt": (">", operator.gt),
    "ge": (">=", operator.ge),
    "eq": ("==", operator.eq),
    "ne": ("!=", operator.ne),
}
# one way for all operators, of both classes
for _name, (_sign, _compute) in _ARITHMETIC.items():
    for _class in (_SymbolicInt, _SymbolicFloat):
        setattr(_class, f"__{_name}__", _arithmetic(_sign, _compute, swapped=False))
        setattr(_class, f"__r{_name}__", _arithmetic(_sign, _compute, swapped=True))
for _name, (_sign, _compute) in _COMPARISONS.items():
    for _class in (_SymbolicInt, _SymbolicFloat):
        setattr(_class, f"__{_name}__", _comparison(_sign, _compute, int, float))
    setattr(_SymbolicStr, f"__{_name}__", _comparison(_sign, _compute, str))
for _class in (_SymbolicInt, _SymbolicFloat):
    setattr(_class, "__neg__", _single("negative", operator.neg))  # noqa: B010 - for the sake of one way
    setattr(_class, "__abs__", _single("absolute", abs))  # noqa: B010
