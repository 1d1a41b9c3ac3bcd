"""Sequences with an item for each test, of which a change copies only a small part.

As tuples, 10,000 records, results, names and rows were copied after each test that ran again, and compared one by one.
As chunks, the states before and after a change share all parts but two, and what they share is not looked at.
`PerChunk` does the same for what is derived from each test.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, compress, groupby, islice, zip_longest
from operator import is_
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np

from suspectra.base.arrays import Bools

T = TypeVar("T")
Result = TypeVar("Result")
_SIZE = 128  # items of a chunk: fewer make changes quicker, and reading slower
_FEW = 100  # items that are quickly left out one by one
_SPARE = 4  # so many times the chunks that are needed may be there before all are made again


class Chunks(Sequence[T]):
    """A sequence that does not change, kept in parts that sequences made from it share.

    After one of 10,000 tests has run again, a tuple of them would have to be copied, which touches each item. Here two
    parts are copied, and where two sequences share a part, no item of it need be compared.
    """

    __slots__ = ("_ends", "chunks")

    def __init__(self, chunks: Sequence[tuple[T, ...]] = ()):
        self.chunks = tuple(chunks)  # the parts, in order; some may be empty
        self._ends = list(accumulate(map(len, self.chunks)))

    @classmethod
    def from_items(cls, items: Iterable[T]) -> Chunks[T]:
        """Make a sequence that shares nothing.

        The same object if the items are in chunks already.
        """
        if isinstance(items, Chunks):
            return items
        every = tuple(items)
        return cls([every[start : start + _SIZE] for start in range(0, len(every), _SIZE)])

    def without(self, places: Sequence[int]) -> Chunks[T]:
        """Leave items out."""
        if not places:
            return self
        chunks = list(self.chunks)
        for place in reversed(places):
            number = bisect_right(self._ends, place)
            at = place - self._start(number)
            chunks[number] = chunks[number][:at] + chunks[number][at + 1 :]
        return Chunks(chunks)

    def with_more(self, items: Iterable[T]) -> Chunks[T]:
        """Append items.

        All chunks are the same objects, but for the last one if it had room.
        """
        more = tuple(items)
        if not more:
            return self
        needed = (len(self) + len(more)) // _SIZE + 1
        if len(self.chunks) > _SPARE * needed:
            return Chunks.from_items((*self, *more))
        chunks = list(self.chunks)
        if chunks and len(chunks[-1]) < _SIZE:
            more = chunks.pop() + more
        return Chunks([*chunks, *Chunks.from_items(more).chunks])

    def where(self, wanted: Bools) -> Chunks[T]:
        """Keep some of the items."""
        left_out = np.flatnonzero(~wanted)
        if len(left_out) <= _FEW:
            return self.without(left_out.tolist())
        kept = []
        for end, chunk in zip(self._ends, self.chunks, strict=True):
            stays = wanted[end - len(chunk) : end]
            kept.append(chunk if stays.all() else tuple(compress(chunk, stays.tolist())))
        return Chunks(kept)

    def _start(self, number: int) -> int:
        return self._ends[number - 1] if number else 0

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(self.chunks)

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[T, ...]: ...

    def __getitem__(self, place: int | slice) -> T | tuple[T, ...]:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            return self._between(start, max(start, stop)) if step == 1 else tuple(self)[place]
        if place < 0:
            place += len(self)
        number = bisect_right(self._ends, place)
        return self.chunks[number][place - self._ends[number]]  # counted from the end of the chunk

    def _between(self, start: int, stop: int) -> tuple[T, ...]:
        number = bisect_right(self._ends, start)
        rest = chain.from_iterable(self.chunks[number:])
        return tuple(islice(rest, start - self._start(number), stop - self._start(number)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Chunks) and len(self.chunks) == len(other.chunks):
            pairs = zip(self.chunks, other.chunks, strict=True)
            if all(one is two or one == two for one, two in pairs):
                return True
        return isinstance(other, (Chunks, tuple)) and len(self) == len(other) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class PerChunk(Generic[T, Result]):
    """What a function makes of each chunk of a sequence; chunks that the last sequence had are not asked again."""

    def __init__(self, function: Callable[[tuple[T, ...]], Result]):
        self._function = function
        self._known: dict[int, tuple[tuple[T, ...], Result]] = {}  # by identity, with the chunk so that it stays unique

    def __call__(self, items: Sequence[T]) -> list[Result]:
        """Ask about all chunks.

        In the order of the chunks.
        """
        chunks = items.chunks if isinstance(items, Chunks) else (tuple(items),)
        known = self._known
        self._known = {id(c): known[id(c)] if id(c) in known else (c, self._function(c)) for c in chunks}
        return [self._known[id(c)][1] for c in chunks]


class Chunk(NamedTuple):
    """Some of the items of a sequence."""

    places: list[int]  # where they are, ascending
    items: list[Any]  # what is there


def unshared(
    previous: Sequence[object], now: Sequence[object], agree: Callable[[slice, slice], bool] | None = None
) -> tuple[Chunk, Chunk]:
    """Leave out what two sequences share.

    The items in chunks that are not shared; all items, unless both sequences are in chunks.
    """
    if not (isinstance(previous, Chunks) and isinstance(now, Chunks)):
        return Chunk([*range(len(previous))], [*previous]), Chunk([*range(len(now))], [*now])
    parts = Chunk([], []), Chunk([], [])
    for shared, spans, chunks in _runs(previous.chunks, now.chunks):
        if not shared or (agree is not None and not agree(*spans)):
            for part, span, own in zip(parts, spans, chunks, strict=True):
                part.places.extend(range(span.start, span.stop))
                part.items.extend(chain.from_iterable(own))
    return parts


def _runs(
    previous: Sequence[tuple[Any, ...]], now: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[bool, list[slice], list[list[tuple[Any, ...]]]]]:
    """Consecutive chunks that two sequences share or do not share: whether, the places in either, and the chunks."""
    ends = [0, 0]
    for shared, group in groupby(zip_longest(previous, now, fillvalue=()), lambda pair: pair[0] is pair[1]):
        chunks = [list(own) for own in zip(*group, strict=True)]
        spans = [slice(end, end + sum(map(len, own))) for end, own in zip(ends, chunks, strict=True)]
        ends = [span.stop for span in spans]
        yield shared, spans, chunks


def chosen(items: Sequence[T], wanted: Bools) -> Sequence[T]:
    """Keep some of the items of a sequence."""
    if isinstance(items, Chunks):
        return items.where(wanted)
    return tuple(items) if wanted.all() else tuple(compress(items, wanted.tolist()))


def are_same(one: Sequence[object], other: Sequence[object]) -> bool:
    """Whether two sequences have the same objects; what they share is not looked at.

    Equal objects do not suffice.
    """
    if len(one) != len(other):
        return False
    then, now = unshared(one, other)
    return then.places == now.places and all(map(is_, then.items, now.items))
