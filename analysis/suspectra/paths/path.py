"""The path of one run: its events in order, and which events of two runs correspond."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from suspectra.base.arrays import Bools, Ints

Hashes = npt.NDArray[np.uint64]
"""Execution indices."""

NO_BRANCH = -1
"""The outcome of an event that is not a branch."""

_ROOT = np.uint64(0x243F6A8885A308D3)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplying by it loses nothing


@dataclass(frozen=True, eq=False)
class Path:
    """The events of one run: executions of statements, or of decisions and calls alone."""

    statement: Ints  # what each event executes; the same number in every run; shape (events,)
    # the position of the event that each one is dynamically control dependent on (paper 001, Definition 1): the last
    # before it whose statement decides whether its own is executed, for the first of a function the calling one; -1 for
    # none; shape (events,)
    depends_on: Ints
    outcome: Ints  # how each branch came out, as a number of its arms; `NO_BRANCH` for other events; shape (events,)

    @classmethod
    def from_events(cls, events: Iterable[tuple[int, int, int]]) -> Path:
        """Make a path from (statement, depends on, outcome) tuples.

        Raises ValueError when an event depends on itself or on a later one.
        """
        table = np.array(list(events), np.int64).reshape(-1, 3)
        if np.any(table[:, 1] >= np.arange(len(table))):
            raise ValueError("an event depends on earlier ones only")
        return cls(table[:, 0], table[:, 1], table[:, 2])

    def __len__(self) -> int:
        return len(self.statement)

    @cached_property
    def is_branch(self) -> Bools:
        """Whether each event is a branch; shape (events,)."""
        return np.not_equal(self.outcome, NO_BRANCH)

    @cached_property
    def execution_index(self) -> Hashes:
        """For each event a number that corresponding events of other runs have too; uint64, shape (events,).

        It stands for the statement, the event that this one depends on, and how often the statement was executed before
        for the same reason. So events have the same number exactly if they align (paper 001, Definition 2), but for
        collisions: among ten million events there is one with a probability of about one in a million.
        """
        return _execution_index(self.statement, self.depends_on)

    @cached_property
    def _by_index(self) -> Ints:
        return np.argsort(self.execution_index)

    def aligned(self, other: Path) -> Ints:
        """Find the corresponding events of another run.

        Of shape (events,). The position of each event's counterpart; -1 where there is none.
        """
        if not len(other):
            return np.full(len(self), -1, np.int64)
        theirs, ours = other._by_index, self._by_index
        # both in order, so that long runs are searched in one go through memory
        found = np.searchsorted(other.execution_index[theirs], self.execution_index[ours])
        counterpart = theirs[np.minimum(found, len(theirs) - 1)]
        same = other.execution_index[counterpart] == self.execution_index[ours]
        aligned = np.full(len(self), -1, np.int64)
        aligned[ours[same]] = counterpart[same]
        return aligned

    def same_flow(self, other: Path) -> bool:
        """Say whether another run executes the same statements in the same order.

        Also False where only the outcome of the last event differs.
        """
        return np.array_equal(self.statement, other.statement) and np.array_equal(self.outcome, other.outcome)

    def dependents(self, position: int) -> Bools:
        """Find the events that are only executed because of how one event came out, directly or not.

        Of shape (events,).
        """
        return dependents(self.depends_on.tolist(), position)


def dependents(depends_on: Sequence[int], position: int) -> Bools:
    """Find the events that are transitively dependent on one event.

    Of shape (events,).
    """
    found = np.zeros(len(depends_on), bool)
    inside = {position}
    for event in range(position + 1, len(depends_on)):
        if depends_on[event] in inside:
            inside.add(event)
            found[event] = True
    return found


def _execution_index(statement: Ints, depends_on: Ints) -> Hashes:
    """Chains of dependences as hashes: each event's own number, plus that of its reason times a constant.

    This is a linear function, and linear functions of linear functions are linear. So the chains are halved in each
    round, for all events at once, however deep loops nest them.
    """
    own = _mixed(statement.astype(np.uint64) * np.uint64(2) + np.uint64(1)) ^ _mixed(
        _times_before(statement, depends_on).astype(np.uint64) * np.uint64(2)
    )
    reason = depends_on.astype(np.int64)
    with np.errstate(over="ignore"):
        factor = np.full(len(own), _FACTOR)
        index = np.where(reason < 0, own + _FACTOR * _ROOT, own)
        open_ = np.flatnonzero(reason >= 0)
        while len(open_):
            nearer = reason[open_]
            index[open_] += factor[open_] * index[nearer]
            factor[open_] *= factor[nearer]
            reason[open_] = reason[nearer]
            open_ = open_[reason[open_] >= 0]
    return _mixed(index)


def _times_before(statement: Ints, depends_on: Ints) -> Ints:
    """How often the same statement was executed before for the same reason, as in two calls of one line."""
    order = np.lexsort((statement, depends_on))
    is_first = np.ones(len(order), bool)
    is_first[1:] = (np.diff(statement[order]) != 0) | (np.diff(depends_on[order]) != 0)
    starts = np.flatnonzero(is_first)
    times = np.empty(len(order), np.int64)
    times[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return times


def _mixed(values: Hashes) -> Hashes:
    """A permutation of the numbers in which similar ones are far apart (Steele, Lea and Flood 2014, SplitMix64)."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
