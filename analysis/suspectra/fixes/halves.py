"""Edits that do a part of what a fix does: any two of them may be one together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, product

from suspectra.fixes.candidate import Candidate
from suspectra.fixes.judge import JudgingTest

_MAX_REFUSED = 1_000
"""Edits that are tried with another test, if some edits repair a part of the tests."""

_MAX_PAIRED, _MAX_ALIKE, _MAX_PAIRS = 40, 6, 1_000
"""Edits of which any two are tried together, places of which any two get the same edit, and so many pairs at most."""

_OTHER_FAILURE = 1.0
"""What it costs to repair no test, but to change how one fails."""

CandidatePair = tuple[Candidate, Candidate]


class Halves:
    """What was found out about edits each of which repairs some tests, or changes how one fails."""

    def __init__(self) -> None:
        self._almost: list[tuple[float, Candidate]] = []
        self._refused: list[Candidate] = []  # those with which the first test still fails
        # those with which the first test passes, by a test with which one fails
        self._repairing_first: dict[JudgingTest, list[Candidate]] = defaultdict(list)
        # whether another test passes with those that the first one refuses, by that test
        self._repairs: dict[JudgingTest, dict[Candidate, bool]] = defaultdict(dict)
        self._tried: set[frozenset[object]] = set()

    def refused_by_first(self, one: Candidate) -> None:
        """The quickest failing test fails with it."""
        if len(self._refused) < _MAX_REFUSED:
            self._refused.append(one)

    def fails_otherwise(self, one: Candidate) -> None:
        """The quickest failing test fails with it in another way."""
        self._almost.append((one.cost + _OTHER_FAILURE, one))

    def refused_by(self, judge: JudgingTest, one: Candidate) -> None:
        """It repairs the quickest failing test, and not this one."""
        self._almost.append((one.cost, one))
        self._repairing_first[judge].append(one)

    def twice_the_same(self) -> list[CandidatePair]:
        """The same edit at two places."""
        alike: dict[tuple[str, str, str], list[Candidate]] = defaultdict(list)
        for one in self._by_place():
            alike[one.file, one.edit.replaced(one.source.text), one.edit.text].append(one)
        twice = [pair for several in alike.values() for pair in combinations(several[:_MAX_ALIKE], 2)]
        return sorted(twice, key=cost)[:_MAX_PAIRS]

    def each_for_a_part(self, end: float) -> list[CandidatePair]:
        """Edits with which some failing tests pass, each with one that repairs another test alone."""
        if not self._repairing_first:
            return []
        judge = max(self._repairing_first, key=lambda one: len(self._repairing_first[one]))
        known = self._repairs[judge]
        tried = sorted((one for one in self._refused if one not in known), key=lambda one: one.cost)
        for one, answer in zip(tried, judge.accepts([one.to_json() for one in tried], end), strict=True):
            if answer is not None:
                known[one] = answer["outcome"] == "passed"
        others = sorted((one for one, passes in known.items() if passes), key=lambda one: one.cost)
        halves = sorted(self._repairing_first[judge], key=lambda one: one.cost)
        return sorted(product(halves[:_MAX_PAIRED], others[:_MAX_PAIRED]), key=cost)

    def any_two(self) -> list[CandidatePair]:
        """All pairs of the likeliest ones."""
        return sorted(combinations(self._by_place()[:_MAX_PAIRED], 2), key=cost)

    def new(self, pairs: Sequence[CandidatePair]) -> Iterator[CandidatePair]:
        """Those at two places that were not tried yet, and now are."""
        for one, other in pairs:
            key = frozenset((one.key, other.key))
            if not one.overlaps(other) and key not in self._tried:
                self._tried.add(key)
                yield one, other

    def _by_place(self) -> list[Candidate]:
        """Each edit once, the likeliest first."""
        best: dict[object, Candidate] = {}
        for _, one in sorted(self._almost, key=lambda two: two[0]):
            best.setdefault(one.key, one)
        return [*best.values()]


def cost(several: Sequence[Candidate]) -> float:
    """What several edits cost together."""
    return sum(one.cost for one in several)
