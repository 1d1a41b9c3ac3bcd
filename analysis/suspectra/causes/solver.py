"""Solving constraints with Z3, which the extra ``suspectra[smt]`` installs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

from suspectra.dependences.exploration import Constraint, Term, Values
from suspectra.errors import Problem

TIMEOUT_MS = 1_000
"""How long the solver may take for the constraints of one path."""

_DIGITS = 9  # of an irrational number


def is_available() -> bool:
    """Whether Z3 is installed; it is not imported for that.

    Returns
    -------
    bool
        True if `SmtSolver` can be used.

    Examples
    --------
    >>> is_available()
    True
    """
    return find_spec("z3") is not None


def missing_solver() -> Problem:
    """Say that Z3 is missing.

    Returns
    -------
    Problem
        With what is done instead, and the cure.

    Examples
    --------
    >>> missing_solver().cure
    'install suspectra[smt]'
    """
    cause = "Z3 is not installed, so only values seen before, those of comparisons, and roots of lines are tried"
    return Problem("", "", cause, "install suspectra[smt]")


class SmtSolver:
    """Finds values for the symbols of a path.

    Examples
    --------
    >>> a = ("symbol", "a", "int")
    >>> SmtSolver().solve([(("<", a, 3), False), (("==", ("%", a, 5), 2), True), (("<", a, 10), True)])
    {'a': 7}
    >>> print(SmtSolver().solve([(("<", a, a), True)]))
    None
    """

    def __init__(self) -> None:
        import z3

        self._z3: Any = z3

    def solve(self, constraints: Sequence[Constraint]) -> Values | None:
        """Find values with which all constraints come out as given.

        Parameters
        ----------
        constraints : sequence of (term, bool)
            Terms as `suspectra_recorder.experiments.symbols` has them; lists may stand for tuples.

        Returns
        -------
        dict of str to int, float or str, or None
            None where there are none, or none are found in time, or Z3 does not know an operator.
        """
        z3 = self._z3
        solver = z3.Solver()
        solver.set("timeout", TIMEOUT_MS)
        try:
            for term, truth in constraints:
                divisors: list[Any] = []
                solver.add(self._expression(term, divisors) == truth, *(divisor != 0 for divisor in divisors))
            if solver.check() != z3.sat:
                return None
            model = solver.model()
            symbols = (known for known in model.decls() if not known.arity())  # others say what x / 0 may be
            return {str(known): self._value(model[known]) for known in symbols}
        except (z3.Z3Exception, KeyError, TypeError, OverflowError, ValueError):
            return None

    def _expression(self, term: Term, divisors: list[Any]) -> Any:
        """A term as Z3 has it; what it divides by is added to the divisors."""
        z3 = self._z3
        if not isinstance(term, (tuple, list)):
            return self._constant(term)
        sign, *operands = term
        if sign == "symbol":
            return {"int": z3.Int, "float": z3.Real, "str": z3.String}[operands[1]](operands[0])
        expressions = [self._expression(operand, divisors) for operand in operands]
        if sign in _DIVISIONS:
            divisors.append(expressions[1])
        return _OPERATORS[sign](z3, *expressions)

    def _constant(self, value: object) -> Any:
        z3 = self._z3
        if isinstance(value, int):
            return z3.IntVal(int(value))
        if isinstance(value, float):
            return z3.RealVal(str(Fraction(value)))
        return z3.StringVal(value)

    def _value(self, value: Any) -> int | float | str:
        z3 = self._z3
        if z3.is_int_value(value):
            return int(value.as_long())
        if z3.is_rational_value(value):
            return float(value.as_fraction())
        if z3.is_algebraic_value(value):
            return round(float(value.approx(_DIGITS + 1).as_fraction()), _DIGITS)
        return str(value.py_value())


def _floor(z3: Any, left: Any, right: Any) -> Any:
    """Python's ``//``: Z3 rounds such that the rest is not negative."""
    if left.is_int() and right.is_int():
        return z3.If(right > 0, left / right, -left / -right)
    return z3.ToReal(z3.ToInt(_real(z3, left) / _real(z3, right)))


def _real(z3: Any, number: Any) -> Any:
    return z3.ToReal(number) if number.is_int() else number


_DIVISIONS = frozenset({"/", "//", "%"})
_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": lambda z3, left, right: left + right,
    "-": lambda z3, left, right: left - right,
    "*": lambda z3, left, right: left * right,
    "/": lambda z3, left, right: _real(z3, left) / _real(z3, right),
    "//": _floor,
    "%": lambda z3, left, right: left - right * _floor(z3, left, right),
    "<": lambda z3, left, right: left < right,
    "<=": lambda z3, left, right: left <= right,
    ">": lambda z3, left, right: left > right,
    ">=": lambda z3, left, right: left >= right,
    "==": lambda z3, left, right: left == right,
    "!=": lambda z3, left, right: left != right,
    "negative": lambda z3, number: -number,
    "absolute": lambda z3, number: z3.If(number >= 0, number, -number),
    "join": lambda z3, left, right: z3.Concat(left, right),
    "contains": lambda z3, text, part: z3.Contains(text, part),
    "starts": lambda z3, text, part: z3.PrefixOf(part, text),
    "ends": lambda z3, text, part: z3.SuffixOf(part, text),
}
