"""Terms of truths: what is asked of several symbols at once."""

from __future__ import annotations

from collections.abc import Sequence

from suspectra_recorder.experiments.symbols import SymbolicPath, Term
from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins


def all_of(terms: Sequence[Term]) -> Term:
    """Whether all truths hold.

    Parameters
    ----------
    terms : sequence of term or bool
        Truths.

    Returns
    -------
    term or bool
        A plain truth if that is known.

    Examples
    --------
    >>> all_of([True, True]), all_of([("<", 1, 2), True]), all_of([("<", 1, 2), False])
    (True, ('<', 1, 2), False)
    """
    if any(term is False for term in terms):
        return False
    return _chained("and", [term for term in terms if term is not True], True)


def any_of(terms: Sequence[Term]) -> Term:
    """Whether one of some truths holds.

    Parameters
    ----------
    terms : sequence of term or bool
        Truths.

    Returns
    -------
    term or bool
        A plain truth if that is known.

    Examples
    --------
    >>> any_of([]), any_of([("<", 1, 2), False])
    (False, ('<', 1, 2))
    """
    if any(term is True for term in terms):
        return True
    return _chained("or", [term for term in terms if term is not False], False)


def ask(path: SymbolicPath, term: Term, truth: bool) -> bool:
    """Note a constraint, unless it is known how it comes out.

    Parameters
    ----------
    path : SymbolicPath
        Where it is noted.
    term : term or bool
        What was asked.
    truth : bool
        How that came out.

    Returns
    -------
    bool
        The same truth.

    Examples
    --------
    >>> path = SymbolicPath()
    >>> ask(path, True, True), path.constraints
    (True, [])
    """
    return path.ask(term, truth) if isinstance(term, tuple) else truth


def _chained(sign: str, terms: Sequence[Term], otherwise: bool) -> Term:
    joined: Term = otherwise
    for number, term in enumerate(reversed(terms)):
        joined = (sign, term, joined) if number else term
    return joined


def equal(left: Term, right: Term) -> Term:
    """Whether two numbers are equal.

    Parameters
    ----------
    left, right : term
        Numbers.

    Returns
    -------
    term or bool
        A plain truth if that is known.

    Examples
    --------
    >>> equal(97, 98), equal(("symbol", "t", "int"), 98)
    (False, ('==', ('symbol', 't', 'int'), 98))
    """
    if isinstance(left, tuple) or isinstance(right, tuple):
        return True if left == right else ("==", left, right)
    return left == right


def within(code: Term, *ranges: tuple[int, int]) -> Term:
    """Whether a number is in one of some ranges.

    Parameters
    ----------
    code : term
        The number.
    *ranges : (int, int)
        First and last number of each.

    Returns
    -------
    term or bool
        A plain truth if that is known.

    Examples
    --------
    >>> within(50, (48, 57)), within(("symbol", "t", "int"), (48, 57))[0]
    (True, 'and')
    """
    if not isinstance(code, tuple):
        return any(first <= code <= last for first, last in ranges)
    return any_of([("and", (">=", code, first), ("<=", code, last)) for first, last in ranges])


def negated(term: Term) -> Term:
    """The opposite of a truth.

    Parameters
    ----------
    term : term or bool
        A truth.

    Returns
    -------
    term or bool
        A plain truth if that is known.

    Examples
    --------
    >>> negated(True), negated(("<", 1, 2))
    (False, ('not', ('<', 1, 2)))
    """
    return ("not", term) if isinstance(term, tuple) else not term
