"""Symbolic texts of a fixed length: each character is a number, and may be a symbol.

Solvers find numbers much faster than texts, and a text that differs in one character is near to another one. What a
method asks of each character is noted as constraints of the path. A result whose characters are known is a symbolic
text again; what is not known here gives a plain value. Classes of characters are those of ASCII.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from suspectra_recorder.experiments.inputs.symbols import SymbolicPath, Term, number_of, plain_number
from suspectra_recorder.experiments.inputs.truth_terms import all_of, any_of, ask, equal, negated, within
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

FIRST, LAST = 32, 126
"""The code points that a symbol can have."""

MAX_CHARACTERS = 200
"""Characters of a symbolic text."""

_DIGITS, _UPPER, _LOWER = (48, 57), (65, 90), (97, 122)
_SPACES = ((9, 13), (28, 32))


def text_of(path: SymbolicPath, value: str, codes: Sequence[Term]) -> Any:
    """Make a symbolic text.

    A plain text if it is too long, or has no symbol.
    """
    if len(codes) > MAX_CHARACTERS or path.closed or not any(isinstance(code, tuple) for code in codes):
        return value
    made = _SymbolicText.__new__(_SymbolicText, value)
    made.path, made.codes = path, tuple(codes)
    return made


def codes_of(value: object) -> tuple[Term, ...]:
    """The code points of a text."""
    # `str.__str__`, since the class of another text may be one of the program's
    return value.codes if isinstance(value, _SymbolicText) else tuple(map(ord, str.__str__(value)))


def path_of(value: object) -> SymbolicPath | None:
    """Where the constraints of a text are noted.

    None for anything but a symbolic text.
    """
    return value.path if isinstance(value, _SymbolicText) else None


def plain(value: Any) -> Any:
    """The value that a symbolic one has in this run.

    Of Python's own type where it was symbolic.
    """
    return str.__str__(value) if isinstance(value, _SymbolicText) else plain_number(value)


def same(left: Sequence[Term], right: Sequence[Term]) -> Term:
    """Whether two texts are equal.

    A plain truth if that is known.
    """
    if len(left) != len(right):
        return False
    return all_of([equal(*pair) for pair in zip(left, right, strict=True)])


def _shifted(code: Term, letters: tuple[int, int], by: int) -> Term:
    if not isinstance(code, tuple):
        return code + by if letters[0] <= code <= letters[1] else code
    return ("if", within(code, letters), ("+", code, by), code)


class _SymbolicText(str):
    """A text whose characters have terms."""

    path: SymbolicPath
    codes: tuple[Term, ...]

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self

    def __reduce__(self) -> Any:
        return str, (str.__str__(self),)

    def __str__(self) -> str:
        return self

    __hash__ = str.__hash__  # what looks it up asks then whether it is equal

    # parts

    def __getitem__(self, key: Any) -> Any:
        path, term, _ = number_of(key)
        if path is not None:
            path.ask(("==", term, int.__int__(key)), True)
            key = int.__int__(key)
        codes = self.codes[key]
        return self._part(str.__getitem__(self, key), codes if isinstance(key, slice) else (codes,))

    def __iter__(self) -> Iterator[Any]:
        # not by `str.__iter__`, which gives plain characters
        for place in range(len(self.codes)):
            yield self[place]

    def _part(self, value: str, codes: Sequence[Term]) -> Any:
        return text_of(self.path, value, codes)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, str):
            return NotImplemented
        return self._part(str.__add__(_plain(self), _plain(other)), (*self.codes, *codes_of(other)))

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, str):
            return NotImplemented
        return self._part(str.__add__(_plain(other), _plain(self)), (*codes_of(other), *self.codes))

    def __mul__(self, times: Any) -> Any:
        return self._part(str.__mul__(_plain(self), times), self.codes * max(0, int(times)))

    __rmul__ = __mul__

    # questions

    def _ask(self, term: Term, truth: bool) -> bool:
        return ask(self.path, term, truth)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, str):
            return NotImplemented
        return self._ask(same(self.codes, codes_of(other)), str.__eq__(_plain(self), _plain(other)))

    def __ne__(self, other: object) -> Any:
        return not self == other if isinstance(other, str) else NotImplemented

    def _before(self, other: Any, truth: bool, *, or_equal: bool) -> bool:
        """Whether it comes before another text: the first character that differs decides."""
        mine, theirs = self.codes, codes_of(other)
        shared = min(len(mine), len(theirs))
        rest: Term = len(mine) < len(theirs) or (or_equal and len(mine) == len(theirs))
        # from the end, so that the term of each character contains that of the rest
        for left, right in zip(reversed(mine[:shared]), reversed(theirs[:shared]), strict=True):
            less = ("<", left, right) if isinstance(left, tuple) or isinstance(right, tuple) else left < right
            rest = any_of([less, all_of([equal(left, right), rest])])
        return self._ask(rest, truth)

    def __lt__(self, other: Any) -> Any:
        return self._before(other, str.__lt__(_plain(self), _plain(other)), or_equal=False)

    def __le__(self, other: Any) -> Any:
        return self._before(other, str.__le__(_plain(self), _plain(other)), or_equal=True)

    def __gt__(self, other: Any) -> Any:
        return not self._before(other, str.__le__(_plain(self), _plain(other)), or_equal=True)

    def __ge__(self, other: Any) -> Any:
        return not self._before(other, str.__lt__(_plain(self), _plain(other)), or_equal=False)

    def __contains__(self, other: Any) -> bool:
        return self._ask(any_of(self._matches(other)), str.__contains__(_plain(self), _plain(other)))

    def _matches(self, part: Any) -> list[Term]:
        """For each place whether a text is there."""
        codes = codes_of(part)
        places = range(len(self.codes) - len(codes) + 1)
        return [same(self.codes[place : place + len(codes)], codes) for place in places]

    def startswith(self, prefix: Any, *bounds: Any) -> bool:
        found = str.startswith(_plain(self), prefix, *bounds)
        if bounds:
            return found
        each = prefix if isinstance(prefix, tuple) else (prefix,)
        return self._ask(any_of([same(self.codes[: len(one)], codes_of(one)) for one in each]), found)

    def endswith(self, suffix: Any, *bounds: Any) -> bool:
        found = str.endswith(_plain(self), suffix, *bounds)
        if bounds:
            return found
        each = suffix if isinstance(suffix, tuple) else (suffix,)
        ends = [same(self.codes[max(0, len(self.codes) - len(one)) :], codes_of(one)) for one in each]
        return self._ask(any_of(ends), found)

    def _all(self, found: bool, *ranges: tuple[int, int]) -> bool:
        return self._ask(all_of([bool(self.codes), *[within(code, *ranges) for code in self.codes]]), found)

    def isdigit(self) -> bool:
        return self._all(str.isdigit(self), _DIGITS)

    def isdecimal(self) -> bool:
        return self._all(str.isdecimal(self), _DIGITS)

    def isnumeric(self) -> bool:
        return self._all(str.isnumeric(self), _DIGITS)

    def isalpha(self) -> bool:
        return self._all(str.isalpha(self), _UPPER, _LOWER)

    def isalnum(self) -> bool:
        return self._all(str.isalnum(self), _DIGITS, _UPPER, _LOWER)

    def isspace(self) -> bool:
        return self._all(str.isspace(self), *_SPACES)

    def _cased(self, found: bool, wanted: tuple[int, int], unwanted: tuple[int, int]) -> bool:
        none = [negated(within(code, unwanted)) for code in self.codes]
        return self._ask(all_of([any_of([within(code, wanted) for code in self.codes]), *none]), found)

    def isupper(self) -> bool:
        return self._cased(str.isupper(self), _UPPER, _LOWER)

    def islower(self) -> bool:
        return self._cased(str.islower(self), _LOWER, _UPPER)

    # places; each character before the one that is found is asked for

    def _first(self, part: Any, begin: int, step: int) -> int:
        matches = self._matches(part)
        size = len(part)
        places = range(begin, len(matches)) if step > 0 else range(len(matches) - 1, -1, -1)
        for place in places:
            if self._ask(matches[place], str.__getitem__(self, slice(place, place + size)) == _plain(part)):
                return place
        return -1

    def find(self, part: Any, *bounds: Any) -> int:
        return self._first(part, 0, 1) if not bounds else str.find(_plain(self), part, *bounds)

    def rfind(self, part: Any, *bounds: Any) -> int:
        return self._first(part, 0, -1) if not bounds else str.rfind(_plain(self), part, *bounds)

    def index(self, part: Any, *bounds: Any) -> int:
        place = self.find(part, *bounds)
        return place if place >= 0 else str.index(_plain(self), part, *bounds)

    def count(self, part: Any, *bounds: Any) -> int:
        if not bounds and len(part) == 1:
            self._places(part)
        return str.count(_plain(self), part, *bounds)

    def _places(self, part: Any) -> list[int]:
        """Where a text is, without overlaps."""
        places, begin = [], 0
        while part and (place := self._first(part, begin, 1)) >= 0:
            places.append(place)
            begin = place + len(part)
        return places

    # texts

    def upper(self) -> Any:
        return self._same_length(str.upper(_plain(self)), [_shifted(code, _LOWER, -32) for code in self.codes])

    def lower(self) -> Any:
        return self._same_length(str.lower(_plain(self)), [_shifted(code, _UPPER, 32) for code in self.codes])

    def casefold(self) -> Any:
        return self._same_length(str.casefold(_plain(self)), [_shifted(code, _UPPER, 32) for code in self.codes])

    def _same_length(self, value: str, codes: Sequence[Term]) -> Any:
        return self._part(value, codes) if len(value) == len(codes) else value

    def strip(self, characters: Any = None) -> Any:
        return self._stripped(characters, left=True, right=True)

    def lstrip(self, characters: Any = None) -> Any:
        return self._stripped(characters, left=True, right=False)

    def rstrip(self, characters: Any = None) -> Any:
        return self._stripped(characters, left=False, right=True)

    def _stripped(self, characters: Any, *, left: bool, right: bool) -> Any:
        begin, end = 0, len(self.codes)
        while left and begin < end and self._goes(begin, characters):
            begin += 1
        while right and end > begin and self._goes(end - 1, characters):
            end -= 1
        return self[begin:end]

    def _goes(self, place: int, characters: Any) -> bool:
        """Whether a character is one of those that are stripped."""
        code, value = self.codes[place], str.__getitem__(self, place)
        if characters is None:
            return self._ask(within(code, *_SPACES), value.isspace())
        return self._ask(any_of([equal(code, one) for one in codes_of(characters)]), value in _plain(characters))

    def split(self, sep: Any = None, maxsplit: Any = -1) -> list[Any]:
        if not sep:
            return self._words(maxsplit) if sep is None else str.split(self, sep, maxsplit)
        parts: list[Any] = []
        begin = 0
        for place in self._places(sep):
            if 0 <= maxsplit <= len(parts):
                break
            parts.append(self[begin:place])
            begin = place + len(sep)
        return [*parts, self[begin:]]

    def _words(self, most: int) -> list[Any]:
        parts: list[Any] = []
        begin, end = 0, len(self.codes)
        while True:
            while begin < end and self._goes(begin, None):
                begin += 1
            if begin == end:
                return parts
            if 0 <= most <= len(parts):
                return [*parts, self[begin:]]
            last = begin
            while last < end and not self._goes(last, None):
                last += 1
            parts.append(self[begin:last])
            begin = last

    def partition(self, sep: Any) -> tuple[Any, Any, Any]:
        place = self._first(sep, 0, 1) if sep else -1
        if place < 0:
            return str.partition(self, sep) if not sep else (self, "", "")
        return self[:place], sep, self[place + len(sep) :]

    def rpartition(self, sep: Any) -> tuple[Any, Any, Any]:
        place = self._first(sep, 0, -1) if sep else -1
        if place < 0:
            return str.rpartition(self, sep) if not sep else ("", "", self)
        return self[:place], sep, self[place + len(sep) :]

    def replace(self, old: Any, new: Any, count: Any = -1) -> Any:
        if not old:
            return str.replace(_plain(self), old, new, count)
        parts = self.split(old, count)
        result = parts[0]
        for part in parts[1:]:
            result = result + new + part
        return result


def _plain(value: str) -> str:
    return str.__str__(value)
