"""Values that can be written down: short ones, of types whose behaviour no program can change.

A program's own classes decide what ``repr``, ``==`` and ``hash`` do. So a value counts only if its type is exactly one
of a few; types are compared by identity, since even a class can have a ``__hash__`` of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json

__builtins__ = library_references.builtins

if TYPE_CHECKING:
    import datetime
    import decimal
    import fractions
else:
    # no names of modules or classes: tools that fake a clock would find them
    datetime, decimal, fractions = map(library_references.copied, ("datetime", "decimal", "fractions"))

MAX_TEXT = 80
"""Characters or bytes of a string."""

LITERAL_TYPES = (
    *(type(None), bool, int, float, str, bytes, tuple, decimal.Decimal, fractions.Fraction),
    *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
)
"""The types whose values can be written down, if they are short, and never change."""

CONTAINER_TYPES = (list, dict, set)
"""The types of containers that can be written down, if all that is in them can be."""

_MAX_BITS, _MAX_SIZE = 256, 200
_MAX_ITEMS, _MAX_DEPTH = 8, 3
_MAX_SHOWN = 40
_SECONDS_A_DAY = 86_400


def to_text(value: object, depth: int = _MAX_DEPTH) -> str:
    """Write a value down.

    A letter for its type, and its content; empty if the value can't be written down.
    """
    write = _WRITERS.get(id(type(value)))
    return "" if write is None else write(value, depth)


def from_text(text: str) -> object:
    """The value that was written down.

    Raises ValueError if it is no such text.
    """
    try:
        return _READERS[text[:1]](text[1:])
    except (LookupError, TypeError, ArithmeticError):
        raise ValueError(f"not a value: {text!r}") from None


def shown(value: object, most: int = _MAX_SHOWN) -> str:
    """A value for people: as the program would write it, or as it is read best; so many characters of it."""
    plain = type(value) in (decimal.Decimal, datetime.date, datetime.datetime, datetime.time, fractions.Fraction)
    text = str(value) if plain or type(value) is datetime.timedelta else repr(value)
    return text if len(text) <= most else f"{text[: most - 2]}…{text[-1]}"


def as_number(value: object) -> float | None:
    """A value as a number that can be compared with others of its kind; days for dates.

    None if it is no number, or too large.
    """
    cls = type(value)
    try:
        for known in _FLOATS:
            if cls is known:
                return float(value)  # type: ignore[arg-type]
        if cls is datetime.date:
            return float(value.toordinal())  # type: ignore[attr-defined]
        if cls is datetime.timedelta:
            return value.days + value.seconds / _SECONDS_A_DAY  # type: ignore[attr-defined,no-any-return]
        if cls is datetime.datetime:
            seconds = (value.hour * 60 + value.minute) * 60 + value.second  # type: ignore[attr-defined]
            return float(value.toordinal() + seconds / _SECONDS_A_DAY)  # type: ignore[attr-defined]
    except (OverflowError, ValueError):
        pass
    return None


_FLOATS = (int, float, decimal.Decimal, fractions.Fraction)


def _int(value: int, depth: int) -> str:
    return f"i{value}" if value.bit_length() <= _MAX_BITS else ""


def _str(value: str, depth: int) -> str:
    return "s" + value if len(value) <= MAX_TEXT else ""


def _bytes(value: bytes, depth: int) -> str:
    return "y" + value.hex() if len(value) <= MAX_TEXT else ""


def _decimal(value: decimal.Decimal, depth: int) -> str:
    return f"m{value!s}" if value.__sizeof__() <= _MAX_SIZE else ""


def _fraction(value: fractions.Fraction, depth: int) -> str:
    small = value.numerator.bit_length() <= _MAX_BITS and value.denominator.bit_length() <= _MAX_BITS
    return f"r{value.numerator}/{value.denominator}" if small else ""


def _datetime(value: datetime.datetime, depth: int) -> str:
    # other classes of time zones may be the program's
    known = value.tzinfo is None or type(value.tzinfo) is datetime.timezone
    return f"t{value.isoformat()}" if known and not value.fold else ""


def _time(value: datetime.time, depth: int) -> str:
    return f"c{value.isoformat()}" if value.tzinfo is None and not value.fold else ""


def _tuple(value: tuple[object, ...], depth: int) -> str:
    return _items("u", value, depth)


def _list(value: list[object], depth: int) -> str:
    return _items("a", value, depth)


def _set(value: set[object], depth: int) -> str:
    return _items("e", value, depth)


def _items(letter: str, value: tuple[object, ...] | list[object] | set[object], depth: int) -> str:
    if not depth or len(value) > _MAX_ITEMS:
        return ""
    items = [to_text(item, depth - 1) for item in value]
    return letter + json.dumps(items) if all(items) else ""


def _dict(value: dict[object, object], depth: int) -> str:
    if not depth or len(value) > _MAX_ITEMS:
        return ""
    items = [(to_text(key, depth - 1), to_text(item, depth - 1)) for key, item in value.items()]
    return "k" + json.dumps(items) if all(key and item for key, item in items) else ""


_WRITERS: dict[int, Callable[[Any, int], str]] = {
    id(type(None)): lambda value, depth: "n",
    id(bool): lambda value, depth: "b1" if value else "b0",
    id(int): _int,
    id(float): lambda value, depth: f"f{value!r}",
    id(str): _str,
    id(bytes): _bytes,
    id(decimal.Decimal): _decimal,
    id(fractions.Fraction): _fraction,
    id(datetime.date): lambda value, depth: f"d{value.isoformat()}",
    id(datetime.datetime): _datetime,
    id(datetime.time): _time,
    id(datetime.timedelta): lambda value, depth: f"l{value.days} {value.seconds} {value.microseconds}",
    id(tuple): _tuple,
    id(list): _list,
    id(set): _set,
    id(dict): _dict,
}
_READERS: dict[str, Callable[[str], object]] = {
    "n": lambda text: None,
    "b": lambda text: text == "1",
    "i": int,
    "f": float,
    "s": lambda text: text,
    "y": bytes.fromhex,
    "m": decimal.Decimal,
    "r": fractions.Fraction,
    "d": datetime.date.fromisoformat,
    "t": datetime.datetime.fromisoformat,
    "c": datetime.time.fromisoformat,
    "l": lambda text: datetime.timedelta(*map(int, text.split())),
    "u": lambda text: tuple(map(from_text, json.loads(text))),
    "a": lambda text: list(map(from_text, json.loads(text))),
    "e": lambda text: set(map(from_text, json.loads(text))),
    "k": lambda text: {from_text(key): from_text(item) for key, item in json.loads(text)},
}
