"""Solving constraints with Z3, which the extra ``suspectra[smt]`` installs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

from suspectra.base.errors import Problem
from suspectra.dependences.exploration import Constraint, Term, Values

TIMEOUT_MS = 1_000
"""How long the solver may take for the constraints of one path."""

_DIGITS = 9  # of an irrational number
_CONSTANT = "constant"  # the sign of a term that is one


def is_available() -> bool:
    """Whether Z3 is installed; it is not imported for that.

    True if `SmtSolver` can be used.
    """
    return find_spec("z3") is not None


def missing_solver() -> Problem:
    """Say that Z3 is missing.

    With what is done instead, and the cure.
    """
    cause = "Z3 is not installed, so only values seen before, those of comparisons, and roots of lines are tried"
    return Problem("", "", cause, "install suspectra[smt]")


class SmtSolver:
    """Finds values for the symbols of a path."""

    def __init__(self) -> None:
        import z3

        self._z3: Any = z3
        self._known: dict[Term, tuple[Any, tuple[Any, ...]]] = {}  # by term; and what must not be 0 in it

    def solve(self, constraints: Sequence[Constraint]) -> Values | None:
        """Find values with which all constraints come out as given.

        None where there are none, or none are found in time, or Z3 does not know an operator.
        """
        z3 = self._z3
        solver = z3.Solver()
        solver.set("timeout", TIMEOUT_MS)
        try:
            for term, truth in constraints:
                solver.add(*self._conditions(term, truth))
            if solver.check() != z3.sat:
                return None
            model = solver.model()
            symbols = (known for known in model.decls() if not known.arity())  # others say what x / 0 may be
            return {str(known): self._value(model[known]) for known in symbols}
        except (z3.Z3Exception, KeyError, TypeError, OverflowError, ValueError):
            return None

    def contradict(self, constraints: Sequence[Constraint]) -> bool:
        """Whether no values fulfil all constraints; those with an operator that Z3 does not know are left out.

        False also where that is not known in time.
        """
        solver = self._z3.Solver()
        solver.set("timeout", TIMEOUT_MS)
        for term, truth in constraints:
            self._add(solver, term, truth)
        return bool(solver.check() == self._z3.unsat)

    def alternatives(
        self, constraints: Sequence[Constraint], places: Sequence[int], near: Values, domain: Sequence[Constraint] = ()
    ) -> Iterator[tuple[int, Values | None]]:
        """Let one constraint after the other come out the other way, with those before it as they are.

        Those that change; None where there are none, or none are found in time.
        """
        z3 = self._z3
        solver = z3.Solver()
        solver.set("timeout", TIMEOUT_MS)
        added = 0
        known = True
        for term, truth in domain:
            known &= self._add(solver, term, truth)
        for place in places:
            for term, truth in constraints[added:place]:
                known &= self._add(solver, term, truth)
            added = place
            term, truth = constraints[place]
            solver.push()
            try:
                possible = self._add(solver, term, not truth) and known and solver.check() == z3.sat
                yield place, self._nearest(solver, near, _symbols(term)) if possible else None
            except (z3.Z3Exception, OverflowError, ValueError):
                yield place, None
            solver.pop()

    def _add(self, solver: Any, term: Term, truth: bool) -> bool:
        """Add a constraint; whether its operators are known."""
        try:
            solver.add(*self._conditions(term, truth))
        except (self._z3.Z3Exception, KeyError, TypeError, OverflowError, ValueError):
            return False
        return True

    def _conditions(self, term: Term, truth: bool) -> Iterator[Any]:
        """A constraint as Z3 has it."""
        expression, divisors = self._expression(_frozen(term))
        yield expression if truth else self._z3.Not(expression)
        yield from (divisor != 0 for divisor in divisors)

    def _nearest(self, solver: Any, near: Values, first: Collection[str]) -> Values:
        """The values that must change in what a solver was given, which is satisfiable."""
        z3 = self._z3
        model = solver.model()
        kinds = {str(symbol): symbol() for symbol in model.decls() if not symbol.arity() and str(symbol) in near}
        same = {name: symbol == self._constant(near[name]) for name, symbol in kinds.items()}
        stay = {name: equation for name, equation in same.items() if name not in first}
        while stay and solver.check(*stay.values()) != z3.sat:  # those that contradict each other may change, too
            core = {one.get_id() for one in solver.unsat_core()}
            stay = {name: one for name, one in stay.items() if core and one.get_id() not in core}
        kept, changed = list(stay.values()), {}
        for name, symbol in kinds.items():
            if name in stay:
                continue
            if solver.check(*kept, same[name]) == z3.sat:
                kept.append(same[name])
                continue
            if solver.check(*kept) != z3.sat:  # it was a moment ago
                break
            value = self._value(solver.model()[symbol])
            if isinstance(value, int):
                value = self._least_change(solver, kept, symbol, int(near[name]), value)
            changed[name] = value
            kept.append(symbol == self._constant(value))
        return changed

    def _least_change(self, solver: Any, kept: Sequence[Any], symbol: Any, near: int, value: int) -> int:
        """The integer nearest to a given one, by bisection; first it is asked whether this one is it: often it is."""
        z3 = self._z3
        least, most = 0, abs(value - near)  # it can't stay, and it can change by `most`
        middle = most - 1
        while most - least > 1:
            if solver.check(*kept, symbol >= near - middle, symbol <= near + middle) == z3.sat:
                value = int(self._value(solver.model()[symbol]))
                most = abs(value - near)
            else:
                least = middle
            middle = (least + most) // 2
        return value

    def _expression(self, term: Any) -> tuple[Any, tuple[Any, ...]]:
        """A frozen term as Z3 has it, and what it divides by.

        Runs along near paths meet the same terms, and terms the same parts, so each is translated once.
        """
        if term not in self._known:
            self._known[term] = self._translated(*term)
        return self._known[term]

    def _translated(self, sign: str, *operands: Any) -> tuple[Any, tuple[Any, ...]]:
        z3 = self._z3
        if sign == _CONSTANT:  # of a type, and a value
            return self._constant(operands[1]), ()
        if sign == "symbol":  # of a name, and a type
            return {"int": z3.Int, "float": z3.Real, "str": z3.String}[operands[1]](operands[0]), ()
        found = [self._expression(operand) for operand in operands]
        expressions = [expression for expression, _ in found]
        divisors = [divisor for _, inside in found for divisor in inside]
        if sign in _DIVISIONS:
            divisors.append(expressions[1])
        return _OPERATORS[sign](z3, *expressions), tuple(divisors)

    def _constant(self, value: object) -> Any:
        z3 = self._z3
        if isinstance(value, bool):
            return z3.BoolVal(value)
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


def _frozen(term: Term) -> Term:
    """A term that can be looked up: without lists, and with the types of constants, since ``1`` equals ``True``."""
    if not isinstance(term, (list, tuple)):
        return _CONSTANT, type(term).__name__, term
    sign, *operands = term
    return (sign, *operands) if sign == "symbol" else (sign, *map(_frozen, operands))


def _symbols(term: Term) -> set[str]:
    """The names of the symbols in a term."""
    if not isinstance(term, (tuple, list)):
        return set()
    if term[0] == "symbol":
        return {str(term[1])}
    return set().union(*map(_symbols, term[1:]))


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
    "and": lambda z3, left, right: z3.And(left, right),
    "or": lambda z3, left, right: z3.Or(left, right),
    "not": lambda z3, truth: z3.Not(truth),
    "if": lambda z3, truth, yes, no: z3.If(truth, yes, no),
    "negative": lambda z3, number: -number,
    "absolute": lambda z3, number: z3.If(number >= 0, number, -number),
    "join": lambda z3, left, right: z3.Concat(left, right),
    "contains": lambda z3, text, part: z3.Contains(text, part),
    "starts": lambda z3, text, part: z3.PrefixOf(part, text),
    "ends": lambda z3, text, part: z3.SuffixOf(part, text),
}
