"""Other values for one that was assigned, in the order in which they are tried.

The first four are those of value replacement (Jeffrey, Gupta & Gupta 2008), as Li et al. 2016 define them for the
value that a statement assigns: of the values seen at that statement the lowest, the highest, and the nearest on each
side. The others come from a pool: what the failing comparison expected (also what stands in the place of the value
there, and for a number those in an expected text), the opposite of a truth, further values of the statement, an empty
one and None. At last a number is moved by one; if that moves a comparison, a line through both distances says which
number would make its sides equal.

A solver would need proxies for the numbers inside objects, which C code does not accept; a line needs none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal, DecimalException
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

from suspectra.experiments.alterations.counterparts import Counterparts
from suspectra_recorder.experiments.values.literals import CONTAINER_TYPES, as_number, to_text

MAX_POOL = 6
"""Values of a statement that are tried because they were seen there in any run."""

MAX_ROOTS = 8
"""Numbers that are tried because they may make the sides of a comparison equal."""

MAX_NUMBERS = 4
"""Numbers of an expected text that are tried."""

_NUMBER = re.compile(r"(?<![\w.])-?\d{1,18}(?:\.\d{1,9})?(?![\w.]*\d)")
_DAY = timedelta(days=1)
_DIGITS = 9


class Alternate(NamedTuple):
    """Another value."""

    role: str  # why it is tried, such as `next below`
    value: object  # what `suspectra_recorder.experiments.values.literals` can write down


def published(value: object, seen: Iterable[object]) -> list[Alternate]:
    """The four alternates of value replacement.

    At most four, each value once; none if values of the kind have no order.
    """
    kind = _kind(value)
    if kind is None:
        return []
    others = sorted({one for one in seen if _kind(one) == kind and one != value})  # type: ignore[type-var]
    if not others:
        return []
    below = [one for one in others if one < value]  # type: ignore[operator]
    above = [one for one in others if one > value]  # type: ignore[operator]
    found = [Alternate("lowest", others[0]), Alternate("highest", others[-1])]
    if below:
        found.append(Alternate("next below", below[-1]))
    if above:
        found.append(Alternate("next above", above[0]))
    return _distinct(found, value)


def pool(value: object, seen: Iterable[object], expected: Iterable[object]) -> list[Alternate]:
    """Further values that may be right."""
    expected = list(expected)
    found = [Alternate("expected", one) for one in expected if value is None or _family(one) == _family(value)]
    found += [Alternate("expected", one) for one in Counterparts(expected).for_value(value)]
    if type(value) in (int, float):
        found += [Alternate("expected", one) for one in _numbers_in(expected) if type(one) is type(value)]
    if isinstance(value, bool):
        found.append(Alternate("opposite", not value))
    found += [Alternate("seen", one) for one in seen][: MAX_POOL + 1]
    if isinstance(value, (str, bytes, tuple, *CONTAINER_TYPES)):
        found.append(Alternate("empty", type(value)()))
    found.append(Alternate("None", None))
    return _distinct(found, value)


def _numbers_in(expected: Iterable[object]) -> Iterator[int | float]:
    """The first numbers of each text: what was expected may be a number that was written into it."""
    for one in expected:
        for digits in islice(_NUMBER.findall(one) if isinstance(one, str) else (), MAX_NUMBERS):
            yield float(digits) if "." in digits else int(digits)


def one_more(value: object) -> object:
    """The next number or day.

    Of the same type; None if there is none, or too large.
    """
    try:
        if as_number(value) is None or _is_nan(value):
            return None
        more = value + (_DAY if isinstance(value, (date, timedelta)) else 1)  # type: ignore[operator]
    except (OverflowError, DecimalException):
        return None
    return more if more != value and to_text(more) else None


def roots(value: object, before: Mapping[str, float], after: Mapping[str, float]) -> list[Alternate]:
    """The numbers that would make the sides of a comparison equal, if its distance changed along a line.

    Each root, and the numbers beside it; the roots of the last comparisons first, `MAX_ROOTS` at most.
    """
    number = as_number(value)
    if number is None or not math.isfinite(number):
        return []
    found: list[Alternate] = []
    for key in reversed(list(after)):
        slope = after[key] - before.get(key, after[key])
        if slope:
            found += [Alternate("root", near) for near in _near(value, number - before[key] / slope)]
    more = one_more(value)
    kept = [alternate for alternate in _distinct(found, value) if more is None or alternate.value != more]
    return kept[:MAX_ROOTS]


def _near(value: object, root: float) -> Iterator[object]:
    """A root as a value of the same type, and those beside it."""
    try:
        if isinstance(value, (date, timedelta)):
            here = as_number(value)
            assert here is not None
            for step in (0, 1, -1):
                yield value + timedelta(days=round(root - here) + step)
        elif isinstance(value, float):
            yield from (root, float(round(root)), root + 1, root - 1)
        elif isinstance(value, Decimal):
            digits = value.as_tuple().exponent
            smallest = Decimal(1).scaleb(min(digits, 0)) if isinstance(digits, int) else Decimal(1)
            exact = Decimal(repr(round(root, _DIGITS))).quantize(smallest)
            yield from (exact, exact + 1, exact - 1)
        elif isinstance(value, Fraction):
            exact_root = Fraction(root).limit_denominator(10**_DIGITS)
            yield from (exact_root, exact_root + 1, exact_root - 1)
        else:
            yield from (round(root), round(root) + 1, round(root) - 1)
    except (OverflowError, ValueError, DecimalException):
        return


def _family(value: object) -> str:
    """Values of a family can stand for each other."""
    if isinstance(value, bool) or value is None:
        return "truth"
    if isinstance(value, (int, float, Fraction, Decimal)):
        return "number"
    return type(value).__name__


def _kind(value: object) -> object:
    """Values of the same kind have an order; None for those that have none."""
    if isinstance(value, bool) or value is None or _is_nan(value):
        return None
    if isinstance(value, (int, float, Fraction)):
        return "number"
    if isinstance(value, datetime):
        return "datetime", value.tzinfo is None
    if isinstance(value, tuple):
        kinds = tuple(map(_kind, value))
        return None if None in kinds else kinds
    if isinstance(value, (str, bytes, Decimal)) or as_number(value) is not None:
        return type(value).__name__
    return None


def _is_nan(value: object) -> bool:
    return value.is_nan() if isinstance(value, Decimal) else isinstance(value, float) and math.isnan(value)


def _distinct(found: Sequence[Alternate], value: object) -> list[Alternate]:
    """Each value once, without the one that was assigned, and those that can't be written down."""
    texts = {to_text(value)}
    kept = []
    for alternate in found:
        text = to_text(alternate.value)
        if text and text not in texts:
            texts.add(text)
            kept.append(alternate)
    return kept
