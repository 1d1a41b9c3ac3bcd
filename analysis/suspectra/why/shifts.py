"""Shifts: a value that makes several failing tests pass, each with its own, by the same difference in all of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal, DecimalException
from typing import NamedTuple

from suspectra.base.english import many
from suspectra.experiments.alterations.alternates import Alternate
from suspectra.experiments.alterations.replacing import NotedValues, Part, Replacement, ValuePlace, parts_of
from suspectra.runs.experiment import EVERY, Experiment


def in_words(by: object) -> str:
    """How a value differs by a number or a time: ``one day later``, ``less by 2``."""
    if isinstance(by, timedelta):
        return f"{_span(abs(by))} {'later' if by > timedelta() else 'earlier'}"
    less = isinstance(by, (int, float, Decimal)) and by < 0
    return f"{'less' if less else 'greater'} by {str(by).removeprefix('-')}"


class NeededDifference(NamedTuple):
    """By how much a value that made one test pass differs from what it was."""

    name: str  # what has the value
    by: object  # a number, or a time
    instance: int  # the time at which it was replaced


def differences(one: Experiment, noted: NotedValues) -> Iterator[NeededDifference]:
    """By how much the value of an experiment differs from what was assigned then."""
    for place, part, old in _values(one.file, one.line, one.column, one.instance, noted):
        if Replacement(place, one.instance, part, Alternate("", None)).name == one.place:
            new = _parsed(one.detail, old)
            if new is not None and (by := _minus(new, old)):
                yield NeededDifference(one.place, by, one.instance)


def shifted(one: Experiment, wanted: NeededDifference, noted: NotedValues) -> Replacement | None:
    """The same difference in another test, at the place of an experiment; None where it has no such value."""
    for place, part, old in _values(one.file, one.line, one.column, wanted.instance, noted):
        if Replacement(place, wanted.instance, part, Alternate("", None)).name == wanted.name:
            try:
                new = old + wanted.by  # type: ignore[operator]
            except (TypeError, ArithmeticError):
                return None
            return Replacement(place, wanted.instance, part, Alternate("shifted", new))
    return None


def _values(
    file: str, line: int, column: int, instance: int, noted: NotedValues
) -> Iterator[tuple[ValuePlace, Part, object]]:
    """What was assigned at a place at a time, the first time for each time, and the numbers in it."""
    for place, texts in noted.values.items():
        number = 0 if instance == EVERY else instance - 1
        if (place.file, place.line, place.column) == (file, line, column) and number < len(texts):
            yield from ((place, part, old) for part, old in parts_of(texts[number]).items())


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
