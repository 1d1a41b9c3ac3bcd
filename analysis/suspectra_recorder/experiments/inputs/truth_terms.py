"""Terms of truths: what is asked of several symbols at once."""

from __future__ import annotations

from collections.abc import Sequence

from suspectra_recorder.experiments.inputs.symbols import SymbolicPath, Term
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins


def all_of(terms: Sequence[Term]) -> Term:
    """Whether all truths hold.

    A plain truth if that is known.
    """
    if any(term is False for term in terms):
        return False
    return _chained("and", [term for term in terms if term is not True], True)


def any_of(terms: Sequence[Term]) -> Term:
    """Whether one of some truths holds.

    A plain truth if that is known.
    """
    if any(term is True for term in terms):
        return True
    return _chained("or", [term for term in terms if term is not False], False)


def ask(path: SymbolicPath, term: Term, truth: bool) -> bool:
    """Note a constraint, unless it is known how it comes out."""
    return path.ask(term, truth) if isinstance(term, tuple) else truth


def _chained(sign: str, terms: Sequence[Term], otherwise: bool) -> Term:
    joined: Term = otherwise
    for number, term in enumerate(reversed(terms)):
        joined = (sign, term, joined) if number else term
    return joined


def equal(left: Term, right: Term) -> Term:
    """Whether two numbers are equal.

    A plain truth if that is known.
    """
    if isinstance(left, tuple) or isinstance(right, tuple):
        return True if left == right else ("==", left, right)
    return left == right


def within(code: Term, *ranges: tuple[int, int]) -> Term:
    """Whether a number is in one of some ranges.

    A plain truth if that is known.
    """
    if not isinstance(code, tuple):
        return any(first <= code <= last for first, last in ranges)
    return any_of([("and", (">=", code, first), ("<=", code, last)) for first, last in ranges])


def negated(term: Term) -> Term:
    """The opposite of a truth.

    A plain truth if that is known.
    """
    return ("not", term) if isinstance(term, tuple) else not term
