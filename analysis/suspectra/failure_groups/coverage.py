"""The coverage of failing tests, in a form in which any two tests are compared quickly.

Statements and branches that the same failing tests execute form one class. Classes come from partition refinement: all
columns start in one class, and each failing test splits every class into what it executes and what it does not. A
changed test splits them again, so the cost of an update depends only on what that test executes.

A million statements make some ten thousand classes. They are sorted by the passing tests that execute them, so two
tests are compared class by class only until the next class would keep them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from suspectra.base.arrays import Bools, Ints, Row
from suspectra.base.cached_property import CachedProperty
from suspectra.base.cancellation import check, checked
from suspectra.spectrum import Derived, Spectrum

Bits: TypeAlias = NDArray[np.uint64]

_SLOTS = 64  # slots for tests are allocated in multiples of this
_WORN = 4096  # this many classes may become unused before all are computed anew
_EXCHANGES = tuple(
    (np.uint64(shift), np.uint64(mask))
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0))
)


@dataclass(frozen=True, eq=False)
class FailingCoverage:
    """The statements and branches that failing tests execute, in classes with equal sets of failing tests.

    Only what may be a suspect counts: candidates, and the edges in their files.
    """

    spectrum: Spectrum  # whose failing tests they are
    tests: tuple[str, ...]  # the failing tests by name
    slot: dict[str, int]  # the bit of each test in a signature
    rows: dict[str, tuple[Ints, ...]]  # the rows of each test, to notice whether it changed
    class_of: Ints  # the class of each column; shape (elements + edges,)
    signature: NDArray[np.uint8]  # the failing tests that execute each class, as bits; shape (classes, slots / 8)
    size: Ints  # how many columns each class has; shape (classes,)
    fresh: int  # the number of classes when they were last computed anew

    @classmethod
    def from_spectrum(cls, spectrum: Spectrum, previous: FailingCoverage | None = None) -> FailingCoverage:
        """Compute the coverage of a spectrum's failing tests.

        The same as without `previous`, except for the order of classes.
        """
        places = sorted(np.flatnonzero(spectrum.failed).tolist(), key=spectrum.tests.__getitem__)
        names = tuple(spectrum.tests[place] for place in places)
        rows = dict(zip(names, map(_Rows(spectrum), places), strict=True))
        if previous is None or not previous._fits(spectrum, len(names)):
            previous = None
            refinement = _Refinement.nothing(len(spectrum.elements) + _edges(spectrum), len(names))
        else:
            gone = [name for name, before in previous.rows.items() if not _same(before, rows.get(name))]
            if not gone and len(rows) == len(previous.rows):
                same = replace(previous, spectrum=spectrum, rows=rows)
                same._follow(previous)
                return same
            refinement = _Refinement(
                dict(previous.slot), previous.class_of.copy(), previous.signature.copy(), previous.size.copy()
            )
            for name in gone:
                refinement.remove(name)
        wanted = _wanted(spectrum)
        for name, place in checked(zip(names, places, strict=True)):
            if name not in refinement.slot:
                refinement.add(name, _columns(spectrum, place, wanted))
        fresh = previous.fresh if previous is not None else len(refinement.size)
        coverage = cls(
            spectrum, names, refinement.slot, rows, refinement.class_of, refinement.signature, refinement.size, fresh
        )
        if previous is not None:
            coverage._follow(previous)
        return coverage

    def _fits(self, spectrum: Spectrum, tests: int) -> bool:
        """Whether the classes of this state can be updated to another state."""
        before = self.spectrum
        return (
            before.elements is spectrum.elements
            and before.edges is spectrum.edges
            and before.candidates is spectrum.candidates
            and len(self.size) < 2 * self.fresh + _WORN
            and tests <= 8 * self.signature.shape[1]
        )

    @cached_property
    def covered(self) -> Bools:
        """Whether each failing test executes any candidate; shape (tests,)."""
        return self._executing(self.size > 0)

    def executing(self, file: str, line: int, end_line: int) -> Bools:
        """Whether each failing test executes any candidate on some lines; shape (tests,)."""
        elements = self.spectrum.elements
        inside = elements.in_file(file)
        here = (elements.line[inside] <= end_line) & (elements.end_line[inside] >= line)
        here &= self.spectrum.candidates[inside]
        return self._executing(self.class_of[inside][here])

    def _executing(self, classes: Ints | Bools) -> Bools:
        executed = np.bitwise_or.reduce(self.signature[classes], axis=0)
        has: Bools = np.asarray(np.unpackbits(executed) > 0)
        return has[np.array([self.slot[name] for name in self.tests], np.int64)]

    def same_until(self, other: FailingCoverage, classes: int) -> bool:
        """Whether another state has the same failing tests, executing the same, and the same first classes.

        Also False where the classes were computed anew.
        """
        return (
            self.tests == other.tests
            and self.signature is other.signature
            and self.passing[-1] == other.passing[-1]
            and np.array_equal(self._order[:classes], other._order[:classes])
            and np.array_equal(self.passing[: classes + 1], other.passing[: classes + 1])
        )

    @cached_property
    def _executed(self) -> Bools:
        """Whether any failing test executes each class."""
        executed: Bools = self.signature.view(np.uint64).any(axis=1) & (self.size > 0)
        return executed

    @cached_property
    def _order(self) -> Ints:
        """The classes that failing tests execute, sorted by the number of passing tests that execute them."""
        executed = np.flatnonzero(self._executed)
        fewest = self._fewest[executed]
        if self.spectrum.counts.passed < 1 << 16:
            fewest = fewest.astype(np.uint16)  # numpy sorts small integers by their digits
        order: Ints = executed[np.argsort(fewest, kind="stable")]
        return order

    @CachedProperty
    def _fewest(self) -> Ints:
        """For each class that failing tests execute the fewest passing tests that execute one of its columns."""
        return self._with_fewest(np.zeros(len(self.size), np.int32), self._executed)

    def _with_fewest(self, known: Ints, wanted: Bools) -> Ints:
        """Find the fewest passing tests of some classes; of others they are known."""
        fewest = np.where(wanted, np.int32(self.spectrum.counts.passed), known)
        columns = np.flatnonzero(wanted[self.class_of])
        np.minimum.at(fewest, self.class_of[columns], _passing(self.spectrum)[columns])
        return fewest

    def _follow(self, previous: FailingCoverage) -> None:
        """Take the fewest passing tests from the previous state, for classes in which no column has changed."""
        if (fewest := FailingCoverage._fewest.peek(previous)) is None:
            return
        now, then = _passing(self.spectrum), _passing(previous.spectrum)
        wanted = self._executed.copy()
        wanted[: len(previous.size)] &= ~previous._executed
        differs = now != then
        if self.class_of is not previous.class_of:
            moved = self.class_of != previous.class_of
            wanted[previous.class_of[moved]] = True
            differs |= moved
        wanted[self.class_of[differs]] = True
        known = np.zeros(len(self.size), np.int32)
        known[: len(previous.size)] = fewest
        FailingCoverage._fewest.give(self, self._with_fewest(known, wanted & self._executed))

    @cached_property
    def passing(self) -> Ints:
        """Passing tests of each class, ascending, then the number of all passing tests; int64, shape (classes + 1,)."""
        return np.append(self._fewest[self._order], self.spectrum.counts.passed).astype(np.int64)

    @cached_property
    def bits(self) -> Bits:
        """For each failing test the set of classes that it executes, in the order of `passing`; shape (tests, words).

        The lowest bit of a word comes first.
        """
        executed = np.zeros((max(1, -(-len(self._order) // 64)) * 64, self.signature.shape[1]), np.uint8)
        executed[: len(self._order)] = self.signature[self._order]
        packed = _transposed(executed)[[self.slot[name] for name in self.tests]]
        return packed.view("<u8").astype(np.uint64, copy=False)

    def first(self, bits: Bits, start: int = 0) -> Ints:
        """Return the first class of each of several sets of classes: the one that the fewest passing tests execute.

        Of shape (k,). Indices into `passing`. Where all the words are empty, the next class; behind the last one, the
        end.
        """
        word = (bits != 0).argmax(axis=1)
        value = bits[np.arange(len(bits)), word]
        lowest = value & (~value + np.uint64(1))
        bit = np.frexp(lowest.astype(np.float64))[1] - 1  # exact: it is a power of two
        behind = min(64 * (start + bits.shape[1]), len(self.passing) - 1)
        first: Ints = np.where(value > 0, (start + word) * 64 + bit, behind)
        return first


def _transposed(bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Transpose a matrix of bits whose number of rows is a multiple of 8.

    Blocks of 8 × 8 bits, each in a word, are transposed by three exchanges (Warren 2012, Hacker's Delight, 7-3).

    Of shape (columns, rows / 8). The lowest bit of a byte comes first.
    """
    rows, width = bits.shape
    blocks = np.ascontiguousarray(bits.reshape(rows // 8, 8, width).transpose(2, 0, 1)).view("<u8")[:, :, 0]
    for shift, mask in _EXCHANGES:
        moved = (blocks ^ (blocks >> shift)) & mask
        blocks = blocks ^ moved ^ (moved << shift)
    of_column = blocks.astype("<u8", copy=False)[:, :, None].view(np.uint8)[:, :, ::-1]
    return np.ascontiguousarray(of_column.transpose(0, 2, 1)).reshape(8 * width, rows // 8)


class _Refinement:
    """Classes of columns while they are being made."""

    def __init__(self, slot: dict[str, int], class_of: Ints, signature: NDArray[np.uint8], size: Ints):
        self.slot, self.class_of, self.signature, self.size = slot, class_of, signature, size

    @classmethod
    def nothing(cls, columns: int, tests: int) -> _Refinement:
        slots = -(-(tests + _SLOTS // 2) // _SLOTS) * _SLOTS
        return cls({}, np.zeros(columns, np.int32), np.zeros((1, slots // 8), np.uint8), np.array([columns]))

    def remove(self, name: str) -> None:
        """Remove a test. Classes that are equal now are not merged, which does no harm."""
        slot = self.slot.pop(name)
        self.signature[:, slot >> 3] &= np.uint8(255 ^ 128 >> (slot & 7))

    def add(self, name: str, columns: Ints) -> None:
        """Add a test that executes some columns."""
        used = set(self.slot.values())
        slot = self.slot[name] = next(number for number in range(len(used) + 1) if number not in used)
        of_column = self.class_of[columns]
        met = np.bincount(of_column, minlength=len(self.size))
        whole = np.flatnonzero((met > 0) & (met == self.size))
        split = np.flatnonzero((met > 0) & (met < self.size))
        number = np.arange(len(self.size), dtype=np.int32)
        number[split] = np.arange(len(self.size), len(self.size) + len(split), dtype=np.int32)
        self.class_of[columns] = number[of_column]
        parts = self.signature[split]
        bit = np.uint8(128 >> (slot & 7))
        parts[:, slot >> 3] |= bit
        self.signature[whole, slot >> 3] |= bit
        self.signature = np.concatenate([self.signature, parts])
        self.size[split] -= met[split]
        self.size = np.concatenate([self.size, met[split]])


class _Rows:
    """The arrays by which a test's rows are recognized: the rows themselves, or what they are derived from."""

    def __init__(self, spectrum: Spectrum):
        given: list[Sequence[Ints]] = [rows for rows in (spectrum.rows, spectrum.edge_rows) if rows is not None]
        self._of = [rows.source if isinstance(rows, Derived) else rows for rows in given]

    def __call__(self, test: int) -> tuple[Ints, ...]:
        return tuple([rows[test] for rows in self._of])


def _same(before: tuple[Ints, ...], now: tuple[Ints, ...] | None) -> bool:
    """Whether a test that ran again executed the same."""
    return now is not None and all(a is b or np.array_equal(a, b) for a, b in zip(before, now, strict=True))


def _edges(spectrum: Spectrum) -> int:
    return len(spectrum.edges) if spectrum.edges is not None else 0


def _passing(spectrum: Spectrum) -> Ints:
    """The passing tests that execute each column."""
    counts = spectrum.counts.ep
    return np.concatenate([counts, spectrum.edge_hit_counts.ep]) if spectrum.edges is not None else counts


def _wanted(spectrum: Spectrum) -> Bools:
    """Whether each column counts: candidates do, and edges in their files."""
    return np.concatenate([spectrum.candidates, spectrum.candidate_edges])


def _columns(spectrum: Spectrum, test: int, wanted: Bools) -> Ints:
    check()
    row: Row = spectrum.rows[test]
    if spectrum.edge_rows is not None:
        row = np.concatenate([row, spectrum.edge_rows[test] + np.int32(len(spectrum.elements))])
    return row[wanted[row]]
