"""Shifts: a value that makes several failing tests pass, each with its own, by the same difference in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal, DecimalException
from typing import NamedTuple

from suspectra.base.english import every, many
from suspectra.experiments.alterations.alternates import Alternate
from suspectra.experiments.alterations.replacing import NotedValues, Replacement, parts_of
from suspectra.runs.experiment import EVERY, Experiment


class Shift(NamedTuple):
    """How a value has to differ so that all of some tests pass."""

    name: str  # what has the value, such as `ends[1]`
    by: object  # a number, or a time
    tests: int

    def __str__(self) -> str:
        whose = f"{every(self.tests).capitalize()} failing tests pass"
        if isinstance(self.by, timedelta):
            return f"{whose} if {self.name} is {_span(abs(self.by))} {'later' if self.by > timedelta() else 'earlier'}."
        less = isinstance(self.by, (int, float, Decimal)) and self.by < 0
        size = str(self.by).removeprefix("-")
        return f"{whose} if {self.name} is {'less' if less else 'greater'} by {size}."


def shift_of(found: Iterable[Experiment], noted: Mapping[str, NotedValues]) -> Shift | None:
    """The difference that all tests with noted values have in common, at one statement; the smallest of several."""
    shifts: dict[str, set[tuple[str, object]]] = {test: set() for test in noted}
    for one in found:
        if one.test in shifts:
            shifts[one.test].update(_differences(one, noted[one.test]))
    common = set.intersection(*shifts.values()) if shifts else set()
    name, by = min(common, key=lambda shift: (len(str(shift[1])), str(shift)), default=("", None))
    return Shift(name, by, len(shifts)) if name else None


def _differences(one: Experiment, noted: NotedValues) -> Iterator[tuple[str, object]]:
    """By how much a replacement differs from what was assigned then."""
    for place, texts in noted.values.items():
        if (place.file, place.line, place.column) != (one.file, one.line, one.column):
            continue
        times = range(len(texts)) if one.instance == EVERY else (one.instance - 1,)
        for number in times:
            for part, old in parts_of(texts[number]).items() if number < len(texts) else ():
                if Replacement(place, one.instance, part, Alternate("", None)).name == one.place:
                    new = _parsed(one.detail, old)
                    if new is not None and (by := _minus(new, old)):
                        yield one.place, by


def _parsed(text: str, like: object) -> object:
    """A value of the type of another one; None if the text is no such value."""
    try:
        if type(like) in (int, float, Decimal):
            return type(like)(text)  # type: ignore[call-arg]
        if type(like) in (date, datetime):
            return type(like).fromisoformat(text)  # type: ignore[attr-defined]
    except (ValueError, DecimalException):
        pass
    return None


def _minus(new: object, old: object) -> object:
    try:
        return new - old  # type: ignore[operator]
    except (TypeError, ArithmeticError):
        return None


def _span(time: timedelta) -> str:
    if time % timedelta(days=1):
        return str(time)
    return "one day" if time.days == 1 else many(time.days, "day")
