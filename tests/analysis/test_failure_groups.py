import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import exp, factorial, inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suspectra.base.cancellation import Cancelled, Token, cancellable
from suspectra.failure_groups import grouping
from suspectra.failure_groups.coverage import FailingCoverage
from suspectra.failure_groups.decisions import GroupDecisions
from suspectra.failure_groups.first_suspect import FirstSuspect
from suspectra.failure_groups.grouping import clearly_joins
from suspectra.failure_groups.groups import FailureGroups
from suspectra.failure_groups.ranking import rank_groups
from suspectra.spectrum import Edges, Spectrum, some_failing
from suspectra.techniques import make_technique
from suspectra.techniques.formulas import FORMULAS

ROOT = Path(__file__).parents[2]


def names(groups: FailureGroups) -> list[tuple[str, ...]]:
    return sorted(group.tests for group in groups.groups)


# ------------------------------------------------------------------------------------------------------ grouping


def oracle(spectrum: Spectrum) -> list[tuple[str, ...]]:
    """The definition word by word, in whole numbers."""
    columns = [set(row.tolist()) for row in spectrum.rows]
    if spectrum.edge_rows is not None:
        columns = [
            row | {-1 - edge for edge in edges.tolist()} for row, edges in zip(columns, spectrum.edge_rows, strict=True)
        ]
    failing = sorted(np.flatnonzero(spectrum.failed).tolist(), key=spectrum.tests.__getitem__)
    passing = Counter(place for test in np.flatnonzero(~spectrum.failed).tolist() for place in columns[test])

    def fewest(group: list[int]) -> int | None:
        shared = set.intersection(*(columns[test] for test in group))
        return min((passing[place] for place in shared), default=None)

    def price_of(a: int, e: int) -> int:
        return factorial(a + e + 1) // (factorial(a) * factorial(e))

    def price(group: list[int]) -> int | float:
        e = fewest(group)
        return inf if e is None else price_of(len(group), e)

    def joins(one: list[int], other: list[int], alone: float, single: bool) -> bool:
        e = fewest(one + other)
        some = [group for group in (one, other) if not single or len(group) == 1]
        return any(price_of(1, e) < exp(alone) * price_of(1, fewest(group)) for group in some)

    def merged(tests: list[int], nats: float, alone: float, usual: bool) -> list[list[int]]:
        groups: list[list[int]] = []
        for test in tests:
            home = next((group for group in groups if columns[group[0]] == columns[test]), None)
            groups.append([test]) if home is None else home.append(test)
        while True:
            costs = [
                (Fraction(together, price(one) * price(other)), i, j + i + 1)
                for i, one in enumerate(groups)
                for j, other in enumerate(groups[i + 1 :])
                if (together := price(one + other)) < inf
            ]
            cheap = [cost for cost in costs if cost[0] < exp(nats)]
            if usual:
                cheap = cheap or [cost for cost in costs if cost[0] ** 5 < price(groups[cost[1]] + groups[cost[2]])]
            cheap = cheap or [cost for cost in costs if joins(groups[cost[1]], groups[cost[2]], alone, usual)]
            if not cheap:
                return groups
            _, i, j = min(cheap)
            groups[i] += groups.pop(j)

    groups = [
        part
        for group in merged([test for test in failing if columns[test]], 9, 1, True)
        for part in (merged(sorted(group, key=failing.index), 5, 4, False) if len(group) <= 6 else [group])
    ]
    bare = [test for test in failing if not columns[test]]
    if bare:
        groups = groups or [[]]
        groups.sort(key=lambda group: [spectrum.tests[test] for test in sorted(group, key=failing.index)])
        max(groups, key=len).extend(bare)  # the first of those that are largest
    return sorted(tuple(sorted(spectrum.tests[test] for test in group)) for group in groups)


@st.composite
def spectra(draw: st.DrawFn) -> Spectrum:
    """Small suites in which passing tests are many, since few tell nothing apart."""
    chance = np.random.default_rng(draw(st.integers(0, 10**6)))
    failing, columns, passing = draw(st.integers(1, 9)), draw(st.integers(1, 6)), draw(st.sampled_from([0, 5, 50, 400]))
    failed = np.arange(failing + passing) < failing
    share = np.where(failed, 0.35, 1.0)[:, None] * chance.random((1, columns)) ** 3
    spectrum = Spectrum.from_matrix(
        chance.random((len(failed), columns)) < np.where(failed[:, None], 0.4, share), failed
    )
    spectrum = replace(spectrum, tests=tuple(f"t{i}" for i in chance.permutation(len(failed))))
    if not draw(st.booleans()):
        return spectrum
    zeros = np.zeros(2, np.int32)
    taken = chance.random((len(failed), 2)) < 0.3
    rows = tuple(np.flatnonzero(row).astype(np.int32) for row in taken)
    return replace(spectrum, edges=Edges(zeros, zeros + 1, zeros + 2, zeros - 1), edge_rows=rows)


@settings(max_examples=60)
@given(spectra())
def test_groups_are_those_of_the_definition(spectrum):
    assert names(FailureGroups.from_spectrum(spectrum)) == oracle(spectrum)


def changes(spectrum: Spectrum, chance: np.random.Generator, density: float = 0.5) -> Iterator[Spectrum]:
    """A test after another executes something else, and may end in another way."""
    for _ in range(4):
        rows, failed, test = list(spectrum.rows), spectrum.failed.copy(), int(chance.integers(len(spectrum.tests)))
        rows[test] = np.flatnonzero(chance.random(len(spectrum.elements)) < density).astype(np.int32)
        failed[test] ^= chance.random() < 0.5
        if failed.any():
            spectrum = spectrum.with_rows(spectrum.tests, failed, tuple(rows), spectrum.edge_rows)
            yield spectrum


@settings(max_examples=30)
@given(spectra(), st.integers(0, 10**6))
def test_a_change_gives_what_is_found_from_nothing(spectrum, seed):
    groups = FailureGroups.from_spectrum(spectrum)
    for after in changes(spectrum, np.random.default_rng(seed)):
        groups = FailureGroups.from_spectrum(after, groups)
        assert names(groups) == oracle(after)


@settings(max_examples=60)
@given(spectra(), st.integers(0, 10**6))
def test_each_class_has_its_fewest_passing_tests_after_a_change(spectrum, seed):
    coverage = None
    for after in changes(spectrum, np.random.default_rng(seed)):
        coverage = FailingCoverage.from_spectrum(after, coverage)
        edges = after.edge_hit_counts.ep if after.edges is not None else np.zeros(0, np.int32)
        passing = np.concatenate([after.counts.ep, edges])
        executed = np.flatnonzero(coverage.signature.any(axis=1) & (coverage.size > 0)).tolist()
        fewest = sorted(int(passing[coverage.class_of == one].min()) for one in executed)
        assert coverage.passing.tolist() == [*fewest, after.counts.passed]


@pytest.mark.parametrize("words", [1, grouping._WORDS_AT_ONCE])
@settings(max_examples=5)
@given(seed=st.integers(0, 10**6))
def test_so_are_groups_that_share_only_what_many_passing_tests_execute(words, seed):
    """The fewer failing tests have in common, the more classes are looked at, some words at a time."""
    chance = np.random.default_rng(seed)
    failed = np.arange(150) < 14
    often = np.where(failed[:, None], 0.25, np.linspace(0, 1, 400) ** 2)
    spectrum = Spectrum.from_matrix(chance.random((150, 400)) < often, failed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "_WORDS_AT_ONCE", words)
        patch.setattr(grouping, "_WORDS", min(words, grouping._WORDS))
        groups = FailureGroups.from_spectrum(spectrum)
        assert names(groups) == oracle(spectrum)
        for after in changes(spectrum, chance, 0.25):
            groups = FailureGroups.from_spectrum(after, groups)
            assert names(groups) == oracle(after)


def suite(failing: list[list[int]], passing: int = 60, columns: int = 8, executed: dict[int, int] | None = None):
    """Failing tests, and passing ones of which so many execute a column."""
    matrix = np.zeros((len(failing) + passing, columns), bool)
    for row, own in zip(matrix, failing, strict=False):
        row[own] = True
    for column, count in (executed or {}).items():
        matrix[len(failing) : len(failing) + count, column] = True
    return Spectrum.from_matrix(matrix, np.arange(len(matrix)) < len(failing))


@pytest.mark.parametrize(("passing", "groups"), [(8, 1), (9, 2)])
def test_two_tests_part_when_9_passing_tests_execute_what_they_share(passing, groups):
    assert len(FailureGroups.from_spectrum(suite([[0, 1], [0, 2]], executed={0: passing})).groups) == groups


def test_three_tests_with_places_of_their_own_are_three_groups_and_not_one():
    """Once two are together, their union costs so much that the third would join them."""
    failing = [[0, 1, 4], [0, 2, 5], [0, 3]]
    spectrum = suite(failing, passing=750, executed={0: 148, 1: 5, 2: 5, 3: 0})
    groups = FailureGroups.from_spectrum(spectrum)
    assert len(groups.groups) == 3
    assert all(group.alike for group in groups.groups)


@pytest.mark.parametrize(("passing", "sure"), [(0, True), (1, True), (2, False), (8, False)])
@pytest.mark.parametrize("file", ["tax.py", "tax.c"])
def test_a_group_is_sure_where_no_test_has_a_much_better_explanation_of_its_own(passing, sure, file):
    technique, spectrum = make_technique("ochiai"), suite([[0, 1], [0, 2]], executed={0: passing})
    spectrum = replace(spectrum, elements=replace(spectrum.elements, files=(file,)))
    (group,) = rank_groups(technique.localize(spectrum), technique).groups
    assert group.group.alike == sure
    assert group.sure == (sure and file == "tax.py")
    assert ("perhaps" not in group.heading) == group.sure


def test_tests_that_share_nothing_are_apart_in_the_smallest_suite():
    assert len(FailureGroups.from_spectrum(suite([[0, 1], [1, 2]], passing=0)).groups) == 1
    assert len(FailureGroups.from_spectrum(suite([[0, 1], [2, 3]], passing=0)).groups) == 2


def test_the_second_bound_keeps_large_groups_whole():
    failing = [[0, 1]] * 30 + [[0, 2]] * 30
    spectrum = suite(failing, executed={0: 60, 1: 20, 2: 20})
    (group,) = FailureGroups.from_spectrum(spectrum).groups
    assert group.halves == (20, 20)
    ranked = rank_groups(make_technique("ochiai").localize(spectrum), make_technique("ochiai"))
    assert ranked.groups[0].reason == (
        "What these 60 share, 60 passing tests execute too; two places, with 20 and 20, explain them."
    )


def test_a_test_alone_joins_what_explains_it_as_well_as_its_own_place():
    """Six tests share a place that no passing test executes; the last one has none that few of them execute."""

    def suite(shared: int, own: int) -> Spectrum:
        passing = [[1, int(test < own), 0] if test < shared else [0, 0, 0] for test in range(70)]
        return Spectrum.from_matrix([*[[1, 0, 1]] * 6, [1, 1, 0], *passing], failed=[True] * 7 + [False] * 70)

    assert len(FailureGroups.from_spectrum(suite(40, 30)).groups) == 1
    assert len(FailureGroups.from_spectrum(suite(60, 30)).groups) == 2
    # two tests that each have a place of their own stay apart
    assert len(FailureGroups.from_spectrum(suite(40, 0)).groups) == 2


def test_tests_without_coverage_join_the_largest_group_and_decide_nothing():
    covered = [[0, 1], [0, 2], [0, 2, 3]]
    groups = FailureGroups.from_spectrum(suite([*covered, []], executed={0: 60}))
    assert names(groups) == [("t1",), ("t2", "t3", "t4")]
    assert [group.uncovered for group in groups.groups] == [("t4",), ()]
    assert names(FailureGroups.from_spectrum(suite([[], []]))) == [("t1", "t2")]


def test_tests_without_coverage_do_not_say_what_a_group_is_about():
    spectrum = suite([[], [1], []], executed={0: 60})
    technique = make_technique("ochiai")
    exceptions = {"t1": "FileNotFoundError", "t2": "KeyError", "t3": "FileNotFoundError"}
    (group,) = rank_groups(technique.localize(spectrum), technique, exceptions=exceptions).groups
    assert group.heading == "✗ 1 test: KeyError, first suspect program:2"
    assert group.group.left_out == "2 more failing tests execute no suspect"
    assert group.reason.startswith("It executes program:2, and no passing test does. 2 more, which execute nothing")


def test_a_group_is_fixed_when_only_its_test_without_coverage_fails_still():
    before = FailureGroups.from_spectrum(suite([[0, 1], [0, 2], [0, 2], []], executed={0: 60}))
    assert names(before) == [("t1",), ("t2", "t3", "t4")]
    spectrum = suite([[0, 1], [0, 2], [0, 2], []], executed={0: 60})
    after = replace(spectrum, failed=spectrum.failed & ~np.isin(spectrum.tests, ["t2", "t3"]))
    assert [str(ended) for ended in FailureGroups.from_spectrum(after, before).ended] == ["fixed"]


def test_only_what_may_be_suspected_counts():
    spectrum = suite([[0, 1], [0, 2]], executed={0: 60})
    candidates = np.arange(8) < 1  # each test has a line of its own in the test code
    (group,) = FailureGroups.from_spectrum(replace(spectrum, candidates=candidates)).groups
    assert group.tests == ("t1", "t2")


def test_grouping_can_be_cancelled():
    spectrum = suite([[0, 1], [0, 2]], executed={0: 60})
    token = Token()
    token.cancelled = True
    with cancellable(token), pytest.raises(Cancelled):
        grouping.partition(FailingCoverage.from_spectrum(spectrum))


def test_more_coverages_than_can_be_compared_stay_together(monkeypatch):
    monkeypatch.setattr(grouping, "MAX_COVERAGES", 1)
    monkeypatch.setattr(grouping, "FEW_TESTS", 0)  # so many coverages are never of few tests
    assert len(FailureGroups.from_spectrum(suite([[0, 1], [0, 2]], executed={0: 60})).groups) == 1


# ----------------------------------------------------------------------------------------------------- decisions


APART = suite([[0, 1], [0, 1], [0, 2], [0, 2, 3]], executed={0: 60})  # t1 and t2, t3 and t4


def test_what_somebody_merged_and_split_stays():
    merged = GroupDecisions().merge(["t1", "t3"])
    assert names(FailureGroups.from_spectrum(APART, None, merged)) == [("t1", "t2", "t3", "t4")]
    # a third group that shares more with the two together than with each is left alone
    three = suite([[0, 1], [0, 2], [0, 3]], executed={0: 45})
    assert len(FailureGroups.from_spectrum(three).groups) == 3
    found = FailureGroups.from_spectrum(three, None, GroupDecisions().merge(["t2", "t3"]))
    assert names(found) == [("t1",), ("t2", "t3")]
    split = merged.split(["t2"], ["t1", "t3", "t4"])
    assert names(FailureGroups.from_spectrum(APART, None, split)) == [("t1", "t3", "t4"), ("t2",)]
    assert names(FailureGroups.from_spectrum(APART, None, split.merge(["t1", "t2"]))) == [("t1", "t2"), ("t3", "t4")]


def test_decisions_hold_for_tests_that_fail_later_and_go_through_json():
    decisions = GroupDecisions().merge(["t1", "gone"]).split(["t3"], ["t4", "gone"])
    stored = json.loads(json.dumps(decisions.as_list()))
    assert GroupDecisions.from_list(stored) == decisions
    assert names(FailureGroups.from_spectrum(APART, None, decisions)) == [("t1", "t2"), ("t3",), ("t4",)]


@pytest.mark.parametrize("damaged", [[{}], [{"together": True, "left": "t1", "right": []}], [3], [None]])
def test_damaged_decisions_are_refused(damaged):
    with pytest.raises((LookupError, TypeError, ValueError)):
        GroupDecisions.from_list(damaged)


# ------------------------------------------------------------------------------------------------------ identity


def test_groups_keep_their_numbers_and_say_what_became_of_others():
    first = FailureGroups.from_spectrum(
        suite([[0, 1], [0, 1, 4], [0, 1, 5], [0, 2], [0, 2, 4], [0, 3]], executed={0: 60})
    )
    assert [(group.number, len(group.tests)) for group in first.groups] == [(1, 3), (2, 2), (3, 1)]
    # t1 to t3 pass now; what t6 does is what t4 and t5 do; t7 is new
    matrix = np.zeros((70, 8), bool)
    for test, columns in {3: [0, 2], 4: [0, 2], 5: [0, 2], 6: [0, 3]}.items():
        matrix[test, columns] = True
    matrix[7:67, 0] = True
    failed = (np.arange(70) > 2) & (np.arange(70) < 7)
    second = FailureGroups.from_spectrum(Spectrum.from_matrix(matrix, failed), first)
    assert [(group.number, group.tests) for group in second.groups] == [(2, ("t4", "t5", "t6")), (4, ("t7",))]
    assert [(ended.number, str(ended)) for ended in second.ended] == [(1, "fixed"), (3, "part of group 2")]


def test_groups_that_merge_for_a_while_keep_their_numbers_and_titles():
    technique = make_technique("ochiai")

    def ranked(failing, decisions=None, previous=None):
        rows = [
            np.array([0, 1 if test < 2 else 2], np.int32) if test < 4 else row for test, row in enumerate(APART.rows)
        ]
        failed = np.isin(np.arange(len(rows)), failing)
        report = technique.localize(APART.with_rows(APART.tests, failed, tuple(rows)))
        return rank_groups(report, technique, decisions=decisions, previous=previous)

    def numbers(grouped):
        return {one.group.number: one.group.tests for one in grouped.groups}

    first = ranked([0, 1, 2, 3])
    assert numbers(first) == {1: ("t1", "t2"), 2: ("t3", "t4")}
    titles = [one.title for one in first.groups]
    merged = ranked([1, 2, 3], GroupDecisions().merge(["t2", "t3"]), first)
    assert (len(merged.groups), merged.fixed) == (1, ())
    number = merged.groups[0].group.number
    assert merged.state.holder_of(1) == merged.state.holder_of(2) == number
    parted = ranked([1, 2, 3], None, merged)
    assert numbers(parted) == {1: ("t2",), 2: ("t3", "t4")}
    assert not parted.state.former
    fixed = ranked([2, 3], None, merged)
    assert numbers(fixed) == {2: ("t3", "t4")}
    assert fixed.fixed == (titles[0],)
    other = ranked([1], None, merged)
    assert (numbers(other), other.fixed) == ({1: ("t2",)}, (titles[1],))


# ------------------------------------------------------------------------------------------------------- ranking


def test_a_view_leaves_failing_tests_out_and_shares_the_rest():
    technique = make_technique("ochiai")
    before = some_failing(APART, ["t1", "t2"])
    assert before.counts.ep is APART.counts.ep
    assert before.tests[:3] == ("t1", "t2", "t5")
    assert technique.localize(before).suspect(0).location.line == 2
    assert some_failing(APART, ["t1", "t2", "t3", "t4"]) is APART
    assert some_failing(APART, ["t1", "t2"], before) is before
    rows = list(APART.rows)
    rows[5] = np.array([0, 1], np.int32)
    after = some_failing(APART.with_rows(APART.tests, APART.failed, tuple(rows)), ["t1", "t2"], before)
    assert after.counts.ef is before.counts.ef
    fresh = Spectrum.from_matrix(np.stack([np.isin(np.arange(8), row) for row in after.rows]), after.failed)
    assert after.counts.ep.tolist() == fresh.counts.ep.tolist()
    assert technique.localize(after).order.tolist() == technique.localize(fresh).order.tolist()


@settings(max_examples=30)
@given(spectra(), st.integers(0, 10**6))
def test_a_view_of_some_failing_tests_counts_only_what_has_changed(spectrum, seed):
    chance = np.random.default_rng(seed)
    view = None
    for after in changes(spectrum, chance):
        assert after.counts.failed
        failing = [test for test, failed in zip(after.tests, after.failed.tolist(), strict=True) if failed]
        chosen = [test for test in failing if chance.random() < 0.7] or failing
        view, fresh = some_failing(after, chosen, view), some_failing(after, chosen)
        assert view.counts.ef.tolist() == fresh.counts.ef.tolist()
        assert view.counts.failed == len(chosen)


@settings(max_examples=30)
@given(spectra(), st.integers(0, 10**6))
def test_pairs_are_right_whether_those_of_states_before_were_wanted_or_not(spectrum, seed):
    chance = np.random.default_rng(seed)
    spectrum.pairs  # noqa: B018
    for after in changes(spectrum, chance):
        if chance.random() < 0.5:
            found, fresh = (
                Counter(zip(*map(list, (p.ef, p.ep, p.size)), strict=True)) for p in (after.pairs, replace(after).pairs)
            )
            assert {key: n for key, n in found.items() if key[2]} == dict(fresh)
            ef, ep = after.pairs.ef[after.pairs.of], after.pairs.ep[after.pairs.of]
            assert (ef.tolist(), ep.tolist()) == (after.counts.ef.tolist(), after.counts.ep.tolist())


@settings(max_examples=60)
@given(spectra())
def test_a_test_that_clearly_joins_another_is_in_its_group(spectrum):
    spectrum = replace(spectrum, edges=None, edge_rows=None)
    one, *others = (test for test, failed in zip(spectrum.tests, spectrum.failed.tolist(), strict=True) if failed)
    alone = some_failing(spectrum, [one])
    for other in others:
        both = some_failing(spectrum, [one, other])
        if clearly_joins(both.rows[both.failing_index[other]], alone, 1, both):
            assert len(FailureGroups.from_spectrum(both).groups) == 1


def test_a_test_that_executes_what_the_others_do_clearly_joins_them_and_one_with_a_place_of_its_own_does_not():
    spectrum = suite([[0, 1], [0, 2], [0, 3], [4, 5], [5]], executed={0: 1, 5: 40})
    group = some_failing(spectrum, ["t1", "t2"])
    joined = [clearly_joins(spectrum.rows[test], group, 2, spectrum) for test in range(2, 5)]
    assert joined == [True, False, False]


def test_only_groups_that_changed_are_ranked_again():
    technique = make_technique("ochiai")
    first = rank_groups(technique.localize(APART), technique)
    assert [group.last_report for group in first.groups] == [None, None]  # nobody asked yet
    before = [group.report for group in first.groups]
    rows = list(APART.rows)
    rows[3] = np.array([0, 2, 4], np.int32)
    report = technique.localize(APART.with_rows(APART.tests, APART.failed, tuple(rows)))
    second = rank_groups(report, technique, previous=first)
    assert all(group.last_report is own for group, own in zip(second.groups, before, strict=True))
    same = [group.report is own for group, own in zip(second.groups, before, strict=True)]
    assert same == [True, False]
    assert second.groups[1].report.suspect(0).location.line == 3


@settings(max_examples=60)
@given(spectra(), st.sampled_from(sorted(FORMULAS)), st.booleans(), st.integers(0, 10**6))
def test_a_first_suspect_needs_no_ranking_by_a_formula(spectrum, name, clone, seed):
    chance, technique = np.random.default_rng(seed), make_technique(name, clone_failed=clone)
    spectrum = replace(spectrum, candidates=chance.random(len(spectrum.elements)) < 0.8)
    rows = spectrum.failing_index.items()
    chosen = {test: spectrum.rows[row] for test, row in rows if spectrum.candidates[spectrum.rows[row]].any()}
    chosen = {test: row for test, row in chosen.items() if chance.random() < 0.5} or chosen
    if chosen:
        found = FirstSuspect.by_counts(spectrum, tuple(chosen.values()), technique)
        ranking = technique.localize(some_failing(spectrum, chosen))
        assert found.element == FirstSuspect.in_report(ranking, found.rows, technique).element


@pytest.mark.parametrize(("name", "row", "ranked"), [("ochiai", 3, []), ("evidence", 5, []), ("evidence", 3, [1])])
def test_a_title_needs_a_new_ranking_only_where_a_failing_test_changed_and_counts_do_not_tell(name, row, ranked):
    technique = make_technique(name)
    first = rank_groups(technique.localize(APART), technique)
    titles = [group.title for group in first.groups]
    rows = list(APART.rows)
    rows[row] = np.array([0, 2, 4], np.int32)
    report = technique.localize(APART.with_rows(APART.tests, APART.failed, tuple(rows)))
    second = rank_groups(report, technique, previous=first)
    assert [group.title for group in second.groups] == titles
    assert [number for number, group in enumerate(second.groups) if "report" in vars(group)] == ranked


def test_a_title_names_the_exception_and_where_half_of_the_tests_raised_it():
    raised = np.full(len(APART.tests), -1, np.int32)
    raised[:3] = 4, 5, 6
    spectrum, technique = replace(APART, raised=raised), make_technique("ochiai")
    exceptions = {"t1": "KeyError", "t2": "ValueError", "t3": "OSError", "t4": "OSError"}
    ranked = rank_groups(technique.localize(spectrum), technique, exceptions=exceptions)
    titles = ["1 with KeyError at program:5", "1 with OSError at program:7"]
    assert [group.title for group in ranked.groups] == titles
    raised[:3] = -1
    ranked = rank_groups(technique.localize(spectrum), technique, exceptions=exceptions)
    titles = ["1 with KeyError, first suspect program:2", "OSError, first suspect program:3"]
    assert [group.title for group in ranked.groups] == titles
    assert ranked.for_test("t4") is ranked.groups[1]
    # it is not Python
    assert ranked.groups[0].heading == "✗ 2 tests, perhaps with one fault: 1 with KeyError, first suspect program:2"
    assert ranked.groups[0].reason == "Both execute program:2, and no passing test does."


def test_a_reason_names_no_test_code():
    apart = suite([[0, 1], [0, 1], [0, 2], [0, 2, 3]], executed={0: 60, 1: 1, 2: 1})
    elements = replace(apart.elements, files=("tests/helper.py", "a.py"), file=np.array([0, *[1] * 7], np.int32))
    edges = Edges(*np.array([[0, 1], [1, 2], [2, 3]], np.int32), np.array([-1, -1], np.int32))
    ways = tuple(np.arange(2, dtype=np.int32) if failed else np.array([1], np.int32) for failed in apart.failed)
    spectrum = replace(apart, elements=elements, candidates=elements.file == 1, edges=edges, edge_rows=ways)
    technique = make_technique("ochiai")
    reasons = [group.reason for group in rank_groups(technique.localize(spectrum), technique).groups]
    assert reasons == [
        "Both execute a.py:2; so does 1 passing test.",
        "Both execute a.py:3; so does 1 passing test.",
    ]
