"""Group failing tests by the fault that they probably share, by their coverage alone.

Let a group have a failing tests. Of the statements and branches that all of these execute, take the one that the fewest
passing tests execute; let e be their number. The cost of the group is ln((a + e + 1)! / (a! e!)): the nats needed to
say which of the a + e tests failed. Two groups are merged if the cost of their union is little more than the sum of
their costs. A test alone also joins a group if what it shares with the group explains it as well as anything that it
executes: then it is no sign of another fault. Groups that share no statement or branch are never merged: they can't
have executed the same fault. Nor are tests that a change broke and tests that failed before it, unless the user says
so.

Many tests of one fault are compared in many ways, so some pair of them seems apart by chance; a few are not, and each
says less. So a group of a few tests is looked at again, with less patience for what the union costs, but only parted
where every part is explained much better alone: by a place that few passing tests execute.

Experiments refine this (:mod:`suspectra.failure_groups.experiment_links`): tests that they keep apart are not merged,
and groups that they put together are.

Exceptions and stacks give titles, and have no say here. Tests that execute nothing join the largest group. What a user
merged is merged last, so that a decision about two groups does not change a third one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from suspectra.base.arrays import Bools, Floats, Ints, Row
from suspectra.base.cancellation import check
from suspectra.failure_groups.coverage import Bits, FailingCoverage
from suspectra.failure_groups.decisions import GroupDecisions
from suspectra.failure_groups.experiment_links import ExperimentLinks
from suspectra.failure_groups.since import Since
from suspectra.failure_groups.since import apart as fail_apart
from suspectra.spectrum import Spectrum

FEW_TESTS = 6
"""Groups of at most so many tests are looked at again."""
SURE = 1.5
"""A group is sure if what its passing tests cost one test is at most so much more than any of its tests costs alone."""
MAX_COVERAGES = 1000
"""Largest number of different coverages that are compared with each other; more of them form one group."""
_PAIRS = 1 << 16  # pairs that are compared at once
_WORDS = 8  # words of a pair's classes that are compared first, at least
_WORDS_AT_ONCE = 1 << 13  # of all pairs
_DECIMALS = 10  # costs that are equal on paper may differ in the last bits


@dataclass(frozen=True)
class Patience:
    """What is put together although several places explain it better than one; in nats."""

    nats: float  # groups are kept apart if their union costs this much more than both
    share: float  # unless the difference is a smaller share than this of the cost of the union
    # and unless this alone is less: what the union's passing tests cost one failing test more than its own ones do,
    # for the one of the two groups for which that is less
    alone: float
    single: bool  # whether `alone` is about groups of one test only


USUAL = Patience(9.0, 0.2, 1.0, single=True)
WITH_FEW = Patience(5.0, 0.0, 4.0, single=False)


@dataclass(frozen=True)
class PartOfTests:
    """Failing tests that probably share a fault."""

    tests: tuple[int, ...]  # indices into FailingCoverage.tests, ascending
    # where one statement or branch explains them hardly better than two, the passing tests that execute each of the
    # two; else empty
    halves: tuple[int, ...] = ()
    alike: bool = True  # whether what all share explains each test about as well as anything that it executes


@dataclass(frozen=True, eq=False)
class Partition:
    """Failing tests in groups."""

    parts: tuple[PartOfTests, ...]  # in the order of the first test of each
    coverage: FailingCoverage  # the coverage of the failing tests
    decisions: GroupDecisions | None  # the user's decisions about them
    words: int  # how many words of the coverage's bits were compared. Later classes had no influence
    since: Mapping[str, Since]  # since when the tests fail, as far as it is known
    links: ExperimentLinks  # what experiments say of them

    def holds_for(
        self,
        coverage: FailingCoverage,
        decisions: GroupDecisions | None,
        since: Mapping[str, Since],
        links: ExperimentLinks,
    ) -> bool:
        """Whether the groups are also those of another state, because all that they depend on is the same.

        Also False where only grouping again would tell.
        """
        given = (decisions, since, links)
        return (self.decisions, self.since, self.links) == given and self.coverage.same_until(coverage, 64 * self.words)


def partition(
    coverage: FailingCoverage,
    decisions: GroupDecisions | None = None,
    since: Mapping[str, Since] | None = None,
    links: ExperimentLinks | None = None,
) -> Partition:
    """Group failing tests.

    Every failing test is in one part. Tests without coverage are in the largest one that they may be in unless the user
    decided otherwise.
    """
    since, links = since or {}, links or ExperimentLinks(coverage.tests, ())
    tests = np.arange(len(coverage.tests))
    if len(tests) == 1:
        return Partition((PartOfTests((0,)),), coverage, decisions, 0, since, links)
    together, split = (decisions or GroupDecisions()).between(coverage.tests)
    apart = split | _not_together(fail_apart(coverage.tests, since), together)
    never = apart.copy()  # whatever experiments say
    apart |= _not_together(links.apart(), together)
    decided = _decided(tests, together, apart)
    covered = coverage.covered
    open_ = [tests[[test]] for test in np.flatnonzero(covered)]
    merging = _Merging(coverage, _equal(coverage.bits, open_, covered, apart), covered, apart, USUAL)
    if len(merging.clusters) > MAX_COVERAGES:
        merging.merge_all()
    parts: list[PartOfTests] = []
    unopposed, words = np.zeros_like(apart), 0
    for part in merging.run():
        if 1 < len(part.tests) <= FEW_TESTS:
            each = _equal(coverage.bits, [tests[[test]] for test in part.tests], covered, unopposed)
            again = _Merging(coverage, each, covered, unopposed, WITH_FEW)
            parts, words = [*parts, *again.run()], max(words, again.words)
        else:
            parts.append(part)
    parts = _put_together(parts, [cluster[covered[cluster]] for cluster in decided], apart)
    for joined in links.joining():
        parts = _joined(parts, joined, never)
    for cluster in decided:
        idle = cluster[~covered[cluster]]
        if not len(idle):
            continue
        own = [i for i, part in enumerate(parts) if not set(cluster[covered[cluster]].tolist()).isdisjoint(part.tests)]
        # a test that was split off stays alone
        others = [i for i, part in enumerate(parts) if not apart[cluster][:, list(part.tests)].any()]
        allowed = own or ([] if split[cluster].any() else others)
        if allowed:
            largest = max(allowed, key=lambda i: (len(parts[i].tests), -i))
            parts[largest] = replace(parts[largest], tests=tuple(sorted({*parts[largest].tests, *idle.tolist()})))
        else:
            parts.append(PartOfTests(tuple(idle.tolist())))
    words = max(words, merging.words)
    return Partition(tuple(sorted(parts, key=lambda part: part.tests)), coverage, decisions, words, since, links)


def _joined(parts: list[PartOfTests], passing: frozenset[int], never: Bools) -> list[PartOfTests]:
    """Put the parts together all of whose tests pass with one change of the program."""
    inside = [part for part in parts if passing.issuperset(part.tests)]
    union = sorted(test for part in inside for test in part.tests)
    if len(inside) < 2 or never[np.ix_(union, union)].any():
        return parts
    one = PartOfTests(tuple(union), alike=all(part.alike for part in inside))
    return [*(part for part in parts if part not in inside), one]


def _not_together(apart: Bools, together: Sequence[tuple[int, int]]) -> Bools:
    """Take from what is kept apart the pairs that the user put together."""
    for one, other in together:
        apart[one, other] = apart[other, one] = False
    return apart


def clearly_joins(row: Row, group: Spectrum, tests: int, spectrum: Spectrum) -> bool:
    """Whether a failing test is explained as well together with a group as alone, like one that fails by its fault.

    What that is for other groups is not compared. So it says at once what grouping all tests nearly always says, too.
    """
    passing = spectrum.counts.ep
    own = row[spectrum.candidates[row]]
    shared, pairs = own[group.counts.ef[own] == tests], group.pairs
    if not len(shared):
        return False
    union, alone = (_log_choices(a, int(passing[b].min())) for a, b in ((tests + 1, shared), (1, own)))
    group_alone = _log_choices(tests, int(pairs.ep[(pairs.ef == tests) & (pairs.size > 0)].min()))
    return union - group_alone - alone < USUAL.alone


def _log_choices(failing: int, passing: int) -> float:
    """The cost of a group."""
    return math.lgamma(failing + passing + 2) - math.lgamma(failing + 1) - math.lgamma(passing + 1)


def _put_together(parts: list[PartOfTests], decided: list[Ints], apart: Bools) -> list[PartOfTests]:
    """Merge the parts that contain tests which the user put together; other parts stay as they were found.

    Where the other tests of these parts belong apart, the tests that were put together leave them.
    """
    for cluster in (cluster.tolist() for cluster in decided if len(cluster) > 1):
        touched = [part for part in parts if not set(cluster).isdisjoint(part.tests)]
        if len(touched) == 1:
            continue
        parts = [part for part in parts if part not in touched]
        union = sorted(test for part in touched for test in part.tests)
        if apart[np.ix_(union, union)].any():
            rest = (tuple(test for test in part.tests if test not in cluster) for part in touched)
            parts += [PartOfTests(tests) for tests in rest if tests]
            union = cluster
        parts.append(PartOfTests(tuple(union)))
    return parts


def _decided(tests: Ints, together: Sequence[tuple[int, int]], apart: Bools) -> list[Ints]:
    """Each test alone, except for those that the user put together. Then what is apart from one is from all of them."""
    cluster = tests.copy()
    for one, other in together:
        if cluster[one] == cluster[other]:
            continue
        left, right = cluster == cluster[one], cluster == cluster[other]
        if not apart[np.ix_(left, right)].any():
            cluster[left | right] = min(cluster[one], cluster[other])
            others = apart[left | right].any(axis=0)
            apart[left | right] |= others
            apart[:, left | right] |= others[:, None]
    return [np.flatnonzero(cluster == number) for number in np.unique(cluster).tolist()]


def _equal(bits: Bits, clusters: Sequence[Ints], covered: Bools, apart: Bools) -> list[Ints]:
    """Merge clusters that contain tests of equal coverage, where that is allowed."""
    united: list[Ints] = []
    home_of: dict[bytes, int] = {}
    for cluster in clusters:
        keys = {bits[test].tobytes() for test in cluster.tolist() if covered[test]}
        homes = sorted({home_of[key] for key in keys if key in home_of})
        home = next((number for number in homes if not apart[np.ix_(united[number], cluster)].any()), len(united))
        if home < len(united):
            united[home] = np.sort(np.concatenate([united[home], cluster]))
        else:
            united.append(cluster)
        home_of.update({key: home for key in keys if key not in home_of})
    return united


class _Merging:
    """Clusters of tests, and the cost of merging any two of them."""

    def __init__(
        self, coverage: FailingCoverage, clusters: list[Ints], covered: Bools, apart: Bools, patience: Patience
    ):
        self.coverage, self.patience = coverage, patience
        self.clusters = clusters
        self.halves: list[tuple[int, ...]] = [()] * len(clusters)
        self.words = 0
        self._log = _log_factorials(len(coverage.tests) + int(coverage.passing[-1]) + 1)
        self._shared = np.array(
            [np.bitwise_and.reduce(coverage.bits[cluster[covered[cluster]]]) for cluster in clusters], np.uint64
        ).reshape(len(clusters), coverage.bits.shape[1])
        self._size = np.array([np.count_nonzero(covered[cluster]) for cluster in clusters], np.int64)
        self._fewest = coverage.passing[coverage.first(self._shared)]
        self._look((self._shared != 0).argmax(axis=1).max(initial=0) + 1)
        self._price = self._cost(self._size, self._fewest)
        self._lone = self._cost(1, self._fewest)  # for the test of each group that is explained best alone
        # the costs of one test of each group; -inf where that does not matter
        self._single = np.where((self._size > 1) & patience.single, -np.inf, self._lone)
        self._apart = np.zeros((len(clusters), len(clusters)), bool)
        if apart.any():
            of_test = np.zeros(len(apart), np.int64)
            for number, cluster in enumerate(clusters):
                of_test[cluster] = number
            one, other = (of_test[side] for side in np.nonzero(apart & covered & covered[:, None]))
            self._apart[one, other] = True

    def _cost(self, failing: Ints | int, passing: Ints) -> Floats:
        """The cost of groups."""
        prices: Floats = self._log[failing + passing + 1] - self._log[failing] - self._log[passing]
        return prices

    def _alike(self, cluster: int) -> bool:
        """Whether what all tests of a cluster share explains each about as well as anything that it executes."""
        return bool(self._cost(1, self._fewest[cluster]) - self._lone[cluster] < SURE)

    def _look(self, words: int) -> None:
        self.words = max(self.words, int(words))

    def merge_all(self) -> None:
        """Merge all clusters into one."""
        self.clusters = [np.sort(np.concatenate(self.clusters))]
        self.halves = [()]
        self._lone[:] = -np.inf  # nothing is compared

    def run(self) -> list[PartOfTests]:
        """Merge the cheapest pair until patience ends."""
        patience, count = self.patience, len(self.clusters)
        if not count:
            return []
        # of each pair, in both halves of the tables: the cost of merging, the second threshold, the cost for one test,
        # and a class that is not behind the first that both share
        tables = np.full((3, count, count), np.inf)
        costs, bounds, joining = tables
        least = np.zeros((count, count), np.int64)
        alive = np.ones(count, bool)

        def compare(one: Ints, other: Ints | int, classes: Ints) -> None:
            """Fill the tables for some pairs of clusters, which share no class before the given ones."""
            classes, shared, union, alone = self._compared(one, other, classes)
            found = np.array([union - (self._price[one] + self._price[other]), patience.share * union, alone])
            tables[:, one, other] = tables[:, other, one] = np.where(shared, np.round(found, _DECIMALS), np.inf)
            least[one, other] = least[other, one] = classes

        def cheapest(allowed: Bools) -> tuple[int, int] | None:
            """The cheapest pair of those that may be merged."""
            i, j = divmod(int(np.where(allowed, costs, np.inf).argmin()), count)
            return (i, j) if allowed[i, j] and costs[i, j] < np.inf else None

        for rows in np.array_split(np.arange(count), -(-count * count // _PAIRS)):
            low, high = (rows[0] + np.arange(len(rows)))[:, None], np.arange(count)[None, :]
            low, high = np.nonzero((low < high) & ~self._apart[rows])
            compare(low + rows[0], high, np.zeros(len(low), np.int64))
        while count > 1:
            i, j = divmod(int(costs.argmin()), count)
            cheap = bool(costs[i, j] < patience.nats)
            if not cheap:
                if (pair := cheapest(costs < bounds) or cheapest(joining < patience.alone)) is None:
                    break
                i, j = pair
            self._merge(i, j, int(self.coverage.passing[least[i, j]]), cheap)
            alive[j] = False
            costs[j, :] = costs[:, j] = costs[i, :] = costs[:, i] = np.inf
            others = np.flatnonzero(alive & ~self._apart[i])
            others = others[others != i]
            # three clusters share no earlier class than any two of them
            compare(others, i, np.maximum(least[i, others], least[j, others]))
        return [
            PartOfTests(tuple(self.clusters[i].tolist()), self.halves[i], self._alike(i))
            for i in np.flatnonzero(alive).tolist()
        ]

    def _compared(self, one: Ints, other: Ints | int, least: Ints) -> tuple[Ints, Bools, Floats, Floats]:
        """The first class that some clusters share with another one each, or all with the same, and what that costs.

        The cost of a union grows with its passing tests, and classes are sorted by these. So a pair is settled as soon
        as even the next class would keep it apart.
        """
        first, shared = least.copy(), self._share(one, other, least)
        union, alone = self._unions(one, other, self.coverage.passing[first])
        own, limits = self._price[one] + self._price[other], self.patience

        def unsettled(pairs: Ints) -> Ints:
            more = union[pairs] - own[pairs]
            apart = (more >= limits.nats) & (more >= limits.share * union[pairs]) & (alone[pairs] >= limits.alone)
            return pairs[~(shared[pairs] | apart)]

        words, open_ = self._shared.shape[1], unsettled(np.arange(len(one)))
        start = int(least[open_].min(initial=words * 64)) >> 6
        width = max(_WORDS, _WORDS_AT_ONCE // max(len(open_), 1))
        while len(open_) and start < words:
            check()
            end = min(words, start + width)
            self._look(end)
            left, right = one[open_], other if isinstance(other, int) else other[open_]
            both = self._shared[left, start:end]
            both &= self._shared[right, start:end]
            first[open_], shared[open_] = self.coverage.first(both, start), both.any(axis=1)
            union[open_], alone[open_] = self._unions(left, right, self.coverage.passing[first[open_]])
            open_ = unsettled(open_)
            start, width = end, 2 * width
        return first, shared, union, alone

    def _share(self, one: Ints, other: Ints | int, classes: Ints) -> Bools:
        """Whether pairs of clusters share a class, each its own."""
        there = classes < len(self.coverage.passing) - 1
        word, bit = np.where(there, classes >> 6, 0), (classes & 63).astype(np.uint64)
        both = self._shared[one, word] & self._shared[other, word]
        shared: Bools = there & (both >> bit & np.uint64(1) != 0)
        return shared

    def _unions(self, one: Ints, other: Ints | int, passing: Ints) -> tuple[Floats, Floats]:
        """The costs of unions with so many passing tests, and what these cost a group of one test more than its own.

        The latter for the one of both for which it is less; infinite where that does not matter.
        """
        alone = self._cost(1, passing) - np.maximum(self._single[one], self._single[other])
        return self._cost(self._size[one] + self._size[other], passing), alone

    def _merge(self, i: int, j: int, fewest: int, cheap: bool) -> None:
        """Merge the second of two clusters into the first; `fewest` passing tests execute a class that both share."""
        self.halves[i] = () if cheap else (int(self._fewest[i]), int(self._fewest[j]))
        self.clusters[i] = np.sort(np.concatenate([self.clusters[i], self.clusters[j]]))
        self._shared[i] &= self._shared[j]
        self._size[i] += self._size[j]
        self._fewest[i] = fewest
        self._price[i] = self._cost(self._size[i], self._fewest[i])
        self._single[i] = -np.inf if self.patience.single else self._cost(1, self._fewest[i])
        self._lone[i] = min(self._lone[i], self._lone[j])
        self._apart[i] |= self._apart[j]
        self._apart[:, i] |= self._apart[:, j]


def _log_factorials(maximum: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, maximum + 1)))])
