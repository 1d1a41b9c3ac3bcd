import json
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from math import exp, factorial, inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suspectra.cancellation import Cancelled, Token, cancellable
from suspectra.failure_groups import grouping
from suspectra.failure_groups.coverage import FailingCoverage
from suspectra.failure_groups.decisions import Decisions
from suspectra.failure_groups.groups import FailureGroups
from suspectra.failure_groups.ranking import rank_groups
from suspectra.spectrum import Edges, Spectrum, some_failing
from suspectra.techniques import make_technique

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
    passing = [columns[test] for test in np.flatnonzero(~spectrum.failed).tolist()]

    def fewest(group: list[int]) -> int | None:
        shared = set.intersection(*(columns[test] for test in group))
        return min((sum(place in row for row in passing) for place in shared), default=None)

    def price_of(a: int, e: int) -> int:
        return factorial(a + e + 1) // (factorial(a) * factorial(e))

    def price(group: list[int]) -> int | float:
        e = fewest(group)
        return inf if e is None else price_of(len(group), e)

    def joins(one: list[int], other: list[int]) -> bool:
        e = fewest(one + other)
        return any(len(group) == 1 and price_of(1, e) < exp(1) * price(group) for group in (one, other))

    groups: list[list[int]] = []
    for test in failing:
        if columns[test]:
            home = next((group for group in groups if columns[group[0]] == columns[test]), None)
            groups.append([test]) if home is None else home.append(test)
    while True:
        costs = [
            (Fraction(together, price(one) * price(other)), i, j + i + 1)
            for i, one in enumerate(groups)
            for j, other in enumerate(groups[i + 1 :])
            if (together := price(one + other)) < inf
        ]
        cheap = [cost for cost in costs if cost[0] < exp(9)]
        cheap = cheap or [cost for cost in costs if cost[0] ** 5 < price(groups[cost[1]] + groups[cost[2]])]
        cheap = cheap or [cost for cost in costs if joins(groups[cost[1]], groups[cost[2]])]
        if not cheap:
            break
        _, i, j = min(cheap)
        groups[i] += groups.pop(j)
    bare = [test for test in failing if not columns[test]]
    if bare:
        groups = groups or [[]]
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


@settings(max_examples=30)
@given(spectra(), st.integers(0, 10**6))
def test_a_change_gives_what_is_found_from_nothing(spectrum, seed):
    chance = np.random.default_rng(seed)
    groups = FailureGroups.from_spectrum(spectrum)
    for _ in range(4):
        rows, failed, test = list(spectrum.rows), spectrum.failed.copy(), int(chance.integers(len(spectrum.tests)))
        rows[test] = np.flatnonzero(chance.random(len(spectrum.elements)) < 0.5).astype(np.int32)
        failed[test] ^= chance.random() < 0.5
        if not failed.any():
            continue
        spectrum = spectrum.with_rows(spectrum.tests, failed, tuple(rows), spectrum.edge_rows)
        groups = FailureGroups.from_spectrum(spectrum, groups)
        assert names(groups) == oracle(spectrum)


def suite(failing: list[list[int]], passing: int = 60, columns: int = 8, executed: dict[int, int] | None = None):
    """Failing tests, and passing ones of which so many execute a column."""
    matrix = np.zeros((len(failing) + passing, columns), bool)
    for row, own in zip(matrix, failing, strict=False):
        row[own] = True
    for column, count in (executed or {}).items():
        matrix[len(failing) : len(failing) + count, column] = True
    return Spectrum.from_matrix(matrix, np.arange(len(matrix)) < len(failing))


@pytest.mark.parametrize(("passing", "groups"), [(38, 1), (39, 2)])
def test_two_tests_part_when_39_passing_tests_execute_what_they_share(passing, groups):
    assert len(FailureGroups.from_spectrum(suite([[0, 1], [0, 2]], executed={0: passing})).groups) == groups


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
    assert group.heading == "✗ perhaps 1 test: KeyError, first suspect program:2"
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
    assert len(FailureGroups.from_spectrum(suite([[0, 1], [0, 2]], executed={0: 60})).groups) == 1


# ----------------------------------------------------------------------------------------------------- decisions


APART = suite([[0, 1], [0, 1], [0, 2], [0, 2, 3]], executed={0: 60})  # t1 and t2, t3 and t4


def test_what_somebody_merged_and_split_stays():
    merged = Decisions().merge(["t1", "t3"])
    assert names(FailureGroups.from_spectrum(APART, None, merged)) == [("t1", "t2", "t3", "t4")]
    # a third group that shares more with the two together than with each is left alone
    three = suite([[0, 1], [0, 2], [0, 3]], executed={0: 45})
    assert len(FailureGroups.from_spectrum(three).groups) == 3
    found = FailureGroups.from_spectrum(three, None, Decisions().merge(["t2", "t3"]))
    assert names(found) == [("t1",), ("t2", "t3")]
    split = merged.split(["t2"], ["t1", "t3", "t4"])
    assert names(FailureGroups.from_spectrum(APART, None, split)) == [("t1", "t3", "t4"), ("t2",)]
    assert names(FailureGroups.from_spectrum(APART, None, split.merge(["t1", "t2"]))) == [("t1", "t2"), ("t3", "t4")]


def test_decisions_hold_for_tests_that_fail_later_and_go_through_json():
    decisions = Decisions().merge(["t1", "gone"]).split(["t3"], ["t4", "gone"])
    stored = json.loads(json.dumps(decisions.as_list()))
    assert Decisions.from_list(stored) == decisions
    assert names(FailureGroups.from_spectrum(APART, None, decisions)) == [("t1", "t2"), ("t3",), ("t4",)]


@pytest.mark.parametrize("damaged", [[{}], [{"together": True, "left": "t1", "right": []}], [3], [None]])
def test_damaged_decisions_are_refused(damaged):
    with pytest.raises((LookupError, TypeError, ValueError)):
        Decisions.from_list(damaged)


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
    merged = ranked([1, 2, 3], Decisions().merge(["t2", "t3"]), first)
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


@pytest.mark.parametrize(("row", "ranked"), [(5, []), (3, [1])])
def test_a_title_needs_a_new_ranking_only_where_a_failing_test_changed(row, ranked):
    technique = make_technique("ochiai")
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
    assert [group.title for group in ranked.groups] == ["KeyError at program:5", "OSError at program:7"]
    raised[:3] = -1
    ranked = rank_groups(technique.localize(spectrum), technique, exceptions=exceptions)
    titles = ["KeyError, first suspect program:2", "OSError, first suspect program:3"]
    assert [group.title for group in ranked.groups] == titles
    assert ranked.for_test("t4") is ranked.groups[1]
    assert ranked.groups[0].heading == "✗ perhaps 2 tests: KeyError, first suspect program:2"  # it is not Python
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
        "Both execute a.py:2, with 1 passing test.",
        "Both execute a.py:3, with 1 passing test.",
    ]


FAULTS = {
    "statements.py": ("    if first_month == 10:\n", "    if first_month == 7:\n"),
    "discounts.py": ("if quantity < self.at_least", "if quantity <= self.at_least"),
}  # the third one is the ledger's own, in tax.py


@pytest.fixture(scope="module")
def three_faults(tmp_path_factory):
    project = tmp_path_factory.mktemp("three") / "ledger"
    shutil.copytree(ROOT / "examples" / "ledger", project, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    for name, (right, wrong) in FAULTS.items():
        path = project / "src" / "ledger" / name
        text = path.read_text("utf-8")
        assert right in text
        path.write_text(text.replace(right, wrong), "utf-8")
    (project / "tests" / "test_nothing.py").write_text("def test_without_coverage():\n    raise OSError('no disk')\n")
    command = [sys.executable, "-m", "suspectra", "record", "--", sys.executable, "-m", "pytest", "-q"]
    subprocess.run(command, cwd=project, capture_output=True, check=False)
    return project


def test_three_faults_at_once_have_three_rankings(three_faults, capsys):
    from suspectra.cli import run

    assert run(["rank", "--workspace", str(three_faults), "--format", "json", "--technique", "ochiai"]) == 0
    listed = json.loads(capsys.readouterr().out)
    groups = listed["groups"]
    assert [len(group["tests"]) for group in groups] == [4, 3, 1]
    assert all(group["sure"] for group in groups)
    first = [{suspect["file"] for suspect in group["suspects"][:2]} for group in groups]
    assert first == [{f"src/ledger/{name}.py"} for name in ("discounts", "tax", "statements")]
    assert "test_nothing.py::test_without_coverage" in "".join(groups[0]["tests"])
    assert "counted here because the group is the largest" in groups[0]["reason"]
    assert groups[1]["title"] == "UnbalancedEntry at journal.py:41"
    assert all(suspect["ef"] for group in groups for suspect in group["suspects"])
    assert {suspect["ef"] + suspect["nf"] for suspect in listed["suspects"]} == {8}, "still over all of them"

    assert run(["rank", "--workspace", str(three_faults), "--technique", "ochiai"]) == 0
    table = capsys.readouterr().out
    assert "✗ 3 tests: UnbalancedEntry at journal.py:41\nAll 3 execute tax.py:55, with 1 passing test.\n" in table
    assert "for each of 3 failure groups" in table

    assert run(["rank", "--workspace", str(three_faults), "--format", "csv", "--technique", "ochiai"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(",group,group_rank")
    assert any("statements.py,26," in line for line in lines)


def test_a_line_is_explained_by_the_ranking_of_its_group(three_faults, capsys):
    from suspectra.cli import run

    for options, words in (
        ((), "Suspect 2 of "),
        (("--why-not",), "statements.py:26, at rank 2, has the score of the first suspect"),
        (("--tie",), "statements.py:26"),
    ):
        assert run(["explain", "--workspace", str(three_faults), "src/ledger/statements.py:26", *options]) == 0
        first, rest = capsys.readouterr().out.split("\n", 1)
        assert first.startswith("In the ranking of ✗ 1 test: ")
        assert words in " ".join(rest.split())


def test_every_format_shows_the_groups(three_faults, capsys, tmp_path):
    from suspectra.cli import run

    assert run(["rank", "--workspace", str(three_faults), "--format", "sarif", "--technique", "ochiai"]) == 0
    (log,) = json.loads(capsys.readouterr().out)["runs"]
    assert [(group["id"], len(group["tests"])) for group in log["properties"]["groups"]] == [(1, 4), (2, 3), (3, 1)]
    places = {
        (place["artifactLocation"]["uri"], place["region"]["startLine"]): result["properties"]
        for result in log["results"]
        for place in [result["locations"][0]["physicalLocation"]]
    }
    own = places["src/ledger/statements.py", 26]
    assert (own["group"], own["group_rank"]) == (3, 1)
    assert own["rank_best"] > 1, "its own rank is still that among all"
    assert all(("group" in properties) == bool(properties["ef"]) for properties in places.values())

    assert run(["rank", "--workspace", str(three_faults), "--format", "markdown", "--technique", "ochiai"]) == 0
    assert capsys.readouterr().out.count("### ✗ ") == 3

    page = tmp_path / "page.html"
    assert run(["report", "--workspace", str(three_faults), "--html", str(page), "--technique", "ochiai"]) == 0
    text = page.read_text("utf-8")
    assert "3 failure groups" in text
    assert "✗ 3 tests: UnbalancedEntry at journal.py:41" in text
