"""The user's decisions about failure groups: that tests belong together, or apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Bools


@dataclass(frozen=True)
class GroupDecision:
    """That tests belong together, or apart."""

    together: bool  # whether each test of `left` belongs to the group of each test of `right`, or to another one
    # names of tests
    left: frozenset[str]
    right: frozenset[str]

    def covers(self, other: GroupDecision) -> bool:
        """Whether this decision is about every pair of tests that another one is about."""
        return (other.left <= self.left and other.right <= self.right) or (
            other.left <= self.right and other.right <= self.left
        )


@dataclass(frozen=True)
class GroupDecisions:
    """All decisions, the oldest first. The newest one about a pair of tests counts.

    Decisions name tests, so they apply to every later run in which these tests fail.
    """

    made: tuple[GroupDecision, ...] = ()  # in the order in which they were made

    def merge(self, tests: Iterable[str]) -> GroupDecisions:
        """Decide that tests belong together.

        With the new decision last.
        """
        names = frozenset(tests)
        return self._with(GroupDecision(True, names, names))

    def split(self, tests: Iterable[str], rest: Iterable[str]) -> GroupDecisions:
        """Decide that some tests of a group do not belong to the others.

        With the new decision last.
        """
        left = frozenset(tests)
        return self._with(GroupDecision(False, left, frozenset(rest) - left))

    def _with(self, decision: GroupDecision) -> GroupDecisions:
        return GroupDecisions((*(made for made in self.made if not decision.covers(made)), decision))

    def between(self, tests: Sequence[str]) -> tuple[list[tuple[int, int]], Bools]:
        """Return which failing tests belong together or apart.

        Indices of tests that belong together, newest decision first.

        Of shape (tests, tests).
        """
        newest = np.zeros((len(tests), len(tests)), np.int64)  # number, from 1, of the newest decision about two tests
        for number, decision in enumerate(self.made, 1):
            left = [i for i, name in enumerate(tests) if name in decision.left]
            right = [i for i, name in enumerate(tests) if name in decision.right]
            newest[np.ix_(left, right)] = number
            newest[np.ix_(right, left)] = number
        says = np.array([False, *(decision.together for decision in self.made)])
        apart = (newest > 0) & ~says[newest]
        one, other = np.nonzero(np.triu(says[newest], 1))
        order = np.argsort(-newest[one, other], kind="stable")
        return list(zip(one[order].tolist(), other[order].tolist(), strict=True)), apart

    def as_list(self) -> list[dict[str, object]]:
        """Return the decisions in a form that JSON can represent.

        The oldest first.
        """
        return [
            {"together": decision.together, "left": sorted(decision.left), "right": sorted(decision.right)}
            for decision in self.made
        ]

    @classmethod
    def from_list(cls, given: object) -> GroupDecisions:
        """Make decisions from the result of :meth:`as_list`.

        Raises LookupError, TypeError, ValueError when `given` has another form.
        """
        if not isinstance(given, list):
            raise TypeError("the decisions are not a list")
        return cls(
            tuple(GroupDecision(bool(one["together"]), _names(one["left"]), _names(one["right"])) for one in given)
        )


def _names(given: object) -> frozenset[str]:
    if not isinstance(given, list):
        raise TypeError("the names of tests are not a list")
    return frozenset(map(str, given))
