"""CBI, SOBER and NN/Perm on a function small enough to work out by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from math import log, pi, sqrt

import numpy as np
import pytest

from suspectra.base.errors import NothingToRank
from suspectra.evidence.recording import RecordingSource
from suspectra.program import Program
from suspectra.program.control_flow import control_flow
from suspectra.program.flow_graph import FlowGraph
from suspectra.spectrum import EdgeKind, Edges, Elements, Spectrum
from suspectra.techniques import make_technique
from suspectra.techniques.control_flow.nearest_neighbour import block_counts, moved_blocks
from suspectra.techniques.control_flow.predicates import Predicates

# entry → 2; 2 decides between 3 and 4; both go on to 5; 5 goes round to 2 or leaves. Block b contains line b.
EDGES = [(0, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 2), (5, 1)]


def run(*rounds: str) -> list[int]:
    """How often each edge is taken by a run whose rounds go left (l) or right (r)."""
    left, right = rounds.count("l"), rounds.count("r")
    return [1, left, right, left, right, len(rounds) - 1, 1]


def spectrum_of(runs: list[list[int]], failed: list[bool]) -> tuple[Spectrum, Program]:
    line, zeros = np.arange(2, 6, dtype=np.int32), np.zeros(4, np.int32)
    taken = [np.flatnonzero(times).astype(np.int32) for times in runs]
    source, target = np.array(EDGES, np.int32).T
    spectrum = Spectrum(
        tuple(f"t{i}" for i in range(len(runs))),
        np.array(failed, bool),
        Elements(("f.c",), zeros, line, line, zeros - 1, ()),
        tuple(np.array(sorted({EDGES[e][1] - 2 for e in row if EDGES[e][1] > 1}), np.int32) for row in taken),
        np.ones(4, bool),
        Edges(np.zeros(7, np.int32), source, target, np.zeros(7, np.int32), EdgeKind.BLOCK),
        tuple(taken),
        tuple(np.array(times)[row] for times, row in zip(runs, taken, strict=True)),
    )
    edges = [(*edge, i) for i, edge in enumerate(EDGES)]
    graph = FlowGraph.from_edges(-1, 6, edges, [(block, block - 2) for block in range(2, 6)])
    return spectrum, Program((), (graph,))


# going right fails: three of the four failing runs do, and one of eight passing runs
RUNS = [run("r"), run("l", "r"), run("r", "r"), run("l"), *[run("l")] * 6, run("l", "r"), run("l", "l", "l")]
FAILED = [True] * 4 + [False] * 8


def predicate(report, source: int, target: int) -> int:
    predicates: Predicates = report.details.predicates
    edges = list(zip(predicates.flow.source[predicates.at], predicates.flow.target[predicates.at], strict=True))
    return edges.index((source, target))


def test_the_predicates_are_the_outcomes_of_decisions():
    report = make_technique("cbi").localize(*spectrum_of(RUNS, FAILED))
    predicates = report.details.predicates
    assert [EDGES[at] for at in predicates.at] == [(2, 3), (2, 4), (5, 2), (5, 1)]


def test_cbi_by_hand():
    report = make_technique("cbi").localize(*spectrum_of(RUNS, FAILED))
    truth, right = report.details.numbers, predicate(report, 2, 4)
    failure, context = 3 / 4, 4 / 12
    increase = failure - context
    assert truth.increase[right] == pytest.approx(increase)
    error = sqrt(failure * (1 - failure) / 4 + context * (1 - context) / 12)
    assert truth.bound[right] == pytest.approx(increase - 1.96 * error)
    assert truth.bound[right] < 0  # four runs are too few
    assert not (truth.bound > 0).any()
    assert "finds no outcome" in report.caveats()[-1].cause


def test_cbi_reports_what_is_significant():
    report = make_technique("cbi").localize(*spectrum_of(RUNS * 3, FAILED * 3))
    truth, right = report.details.numbers, predicate(report, 2, 4)
    increase, sensitivity = 9 / 12 - 12 / 36, log(9) / log(12)
    assert (truth.bound > 0).nonzero()[0].tolist() == [right]
    first = report.suspect(0)
    assert first.location.line == 2
    assert first.score == pytest.approx(2 / (1 / increase + 1 / sensitivity))
    explanation = report.explain(0)
    assert (
        "The decision at line 2 that goes to line 4 is what separates failing from passing runs."
        in explanation.sentences
    )
    assert "9 of the 12 runs that go this way fail, 12 of the 36 that decide here." in explanation.sentences
    # the rest by distance from line 2: its neighbours, in no order
    assert [sorted((report.order[report.rank_best == rank] + 2).tolist()) for rank in (1, 2)] == [[2], [3, 4, 5]]


def test_cbi_needs_no_counts_because_it_asks_only_whether():
    spectrum, program = spectrum_of(RUNS * 3, FAILED * 3)
    counted = make_technique("cbi").localize(spectrum, program)
    plain = make_technique("cbi").localize(replace(spectrum, edge_counts=None), program)
    np.testing.assert_array_equal(plain.scores, counted.scores)


def test_a_single_failing_run_counts_as_all_of_them():
    spectrum, program = spectrum_of([run("r"), *[run("l")] * 40], [True, *[False] * 40])
    report = make_technique("cbi").localize(spectrum, program)
    increase = 1 - 1 / 41
    assert report.suspect(0).score == pytest.approx(2 / (1 / increase + 1))


def test_sober_by_hand():
    report = make_technique("sober").localize(*spectrum_of(RUNS, FAILED))
    mean_failed, mean_passed, sigma = report.details.numbers[:, predicate(report, 2, 4)]
    biases = [0, 0, 0, 0, 0, 0, 1 / 2, 0]  # how often passed runs go right
    assert mean_failed == pytest.approx((1 + 1 / 2 + 1 + 0) / 4)
    assert mean_passed == pytest.approx(np.mean(biases))
    assert sigma == pytest.approx(np.std(biases, ddof=1))
    z = (mean_failed - mean_passed) / (sigma / 2)
    density = np.exp(-(z**2) / 2) / sqrt(2 * pi)
    first = report.suspect(0)
    assert first.location.line == 2
    assert first.score == pytest.approx(log(sigma / (2 * density)))
    assert "Failed runs go this way 62.5% of the time, passed ones 6.2%." in report.explain(0).sentences


def test_sober_sees_how_often_where_others_see_only_whether():
    # all runs go both ways; failing ones go right more often
    runs = [run("l", "r", "r", "r"), run("l", "r", "r", "r", "r"), run("l", "l", "r"), run("l", "l", "l", "r")]
    spectrum, program = spectrum_of([*runs, run("l", "l", "l", "l", "r")], [True, True, False, False, False])
    assert len(set(make_technique("ochiai").localize(spectrum, program).scores.tolist())) == 1
    assert make_technique("sober").localize(spectrum, program).suspect(0).location.line == 2


def test_a_predicate_that_is_not_evaluated_speaks_for_neither_side():
    # only the second run enters at all
    spectrum, program = spectrum_of([[0] * 7, run("r"), run("l")], [True, True, False])
    report = make_technique("sober").localize(spectrum, program)
    mean_failed, mean_passed, sigma = report.details.numbers[:, predicate(report, 2, 4)]
    assert (mean_failed, mean_passed, sigma) == (0.75, 0.0, 0.0)
    assert report.suspect(0).score == np.inf  # the limit for passed runs that all agree


def test_the_nearest_passing_run_and_what_it_does_differently():
    runs = [run("r", "r", "l"), run("l"), run("l", "l", "r"), run("r", "r", "l")]
    spectrum, program = spectrum_of(runs, [True, False, False, False])
    report = make_technique("nn-perm").localize(spectrum, program)
    assert report.details.of_run == {0: (3, 0)}  # the same order: nothing to report
    assert (report.scores <= 0).all()
    spectrum, program = spectrum_of(runs[:3], [True, False, False])
    report = make_technique("nn-perm").localize(spectrum, program)
    other, moved = report.details.of_run[0]
    assert (other, moved) == (2, 1)  # lines 3 and 4 have changed places: move one of them
    assert report.suspect(0).location.line in (3, 4)
    assert "t0 was compared with t2, 1 moved blocks away." in report.explain(0).sentences


def test_counts_of_blocks_are_what_enters_them():
    spectrum, program = spectrum_of([run("l", "r", "r")], [True])
    flow = make_technique("cp").localize(spectrum, program).details.flow
    assert block_counts(flow, spectrum).todense().tolist() == [[0, 1, 3, 1, 2, 3]]


def test_fewest_moves():
    assert moved_blocks(np.array([3, 1, 2, 0]), np.array([3, 1, 2, 0])).tolist() == []
    assert moved_blocks(np.array([0, 1, 2, 3]), np.array([3, 0, 1, 2])).tolist() == [3]
    assert len(moved_blocks(np.arange(6), np.arange(6)[::-1])) == 5


@pytest.mark.parametrize("name", ["sober", "nn-perm"])
def test_says_that_counts_are_missing(name):
    spectrum, program = spectrum_of(RUNS, FAILED)
    with pytest.raises(NothingToRank, match=r"how often.*record --counts"):
        make_technique(name).localize(replace(spectrum, edge_counts=None), program)


# conditions inside expressions


CONDITION_PROGRAM = """\
def price(count, member, coupon):
    rate = 0.9 if count > 10 and member or coupon else 1.0
    return count * rate
"""


@pytest.fixture(scope="module")
def priced(tmp_path_factory):
    """A project whose only fault is that a coupon counts, recorded with counts."""
    folder = tmp_path_factory.mktemp("priced")
    (folder / "shop.py").write_text(CONDITION_PROGRAM)
    (folder / "test_shop.py").write_text(
        "import pytest, shop\n"
        "@pytest.mark.parametrize('coupon', [False, True])\n"
        "@pytest.mark.parametrize('member', [False, True])\n"
        "@pytest.mark.parametrize('count', range(1, 21))\n"
        "def test_price(count, member, coupon):\n"
        "    assert shop.price(count, member, coupon) == count * (0.9 if count > 10 and member else 1)\n"
    )
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "suspectra", "--suspectra-counts"],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
        capture_output=True,
    )
    return RecordingSource(folder, edges=True).read()


@pytest.mark.parametrize("name", ["cbi", "sober"])
def test_a_condition_is_a_predicate(priced, name):
    spectrum, program = priced.spectrum(), priced.program
    report = make_technique(name).localize(spectrum, program)
    assert report.suspect(0).location.line == 2
    reported = " ".join(report.explain(0).sentences)
    assert (
        "The condition at line 2, columns 44 to 49, being true is what separates failing from passing runs." in reported
    )
    assert not any("no arc shows" in note.cause for note in report.caveats())
    if name == "cbi":
        assert "30 of the 30 runs that go this way fail, 30 of the 60 that decide here." in reported


def test_conditions_are_evaluated_as_often_as_both_outcomes_together(priced):
    spectrum, program = priced.spectrum(), priced.program
    spectrum, flow = control_flow("CBI", spectrum, program)
    predicates = Predicates.from_flow(flow, spectrum)
    true = predicates.true(spectrum.edge_rows, spectrum.edge_counts)
    evaluated = predicates.evaluated(true).toarray()
    site, (tests, size) = predicates.site, true.shape
    assert size == len(predicates.element) == 8
    for k in range(size):
        np.testing.assert_array_equal(evaluated[:, k], true.toarray()[:, site == site[k]].sum(axis=1))
    assert sorted(evaluated.sum(axis=0).tolist()) == [40, 40, 60, 60, 80, 80, 80, 80]
    assert tests == 80


def large(tests, failed, elements, *, all_edges=1, taken=1, times=1):
    """A spectrum whose counts are those of a large suite, and which takes no room: all tests but one share a row."""
    row, own = np.arange(elements, dtype=np.int32), np.zeros(taken, np.int32)
    edges = Edges(*np.zeros((2, all_edges), np.int32), np.ones(all_edges, np.int32), np.zeros(all_edges, np.int32))
    table = Elements(("a.py",), *np.ones((3, elements), np.int32), np.zeros(elements, np.int32), ())
    rows = (np.arange(all_edges, dtype=np.int32), *(own for _ in range(tests - 1)))
    counted = tuple(np.full(len(row), times, np.int64) for row in rows)
    names, failing = tuple(map(str, range(tests))), np.arange(tests) < failed
    return Spectrum(names, failing, table, (row,) * tests, np.ones(elements, bool), edges, rows, counted)


def test_what_would_take_for_ever_is_refused_with_an_estimate_and_a_cure():
    spectrum = large(120, 20, 200_000)
    with pytest.raises(NothingToRank, match=r"about 3 minutes and 0.0 GB, more than the 30 seconds.*candidates 14"):
        make_technique("nn-perm").localize(spectrum)
    assert make_technique("nn-perm", candidates=14).effort(spectrum).bearable


def test_subgraphs_of_too_many_edges_and_tests_are_refused_beforehand():
    spectrum = large(20_000, 10, 10, all_edges=3_000_000)
    refused = r"about 60 seconds and 7.0 GB, more than the 30 seconds and 4 GB.*which of 20,000 tests"
    with pytest.raises(NothingToRank, match=refused) as error:
        make_technique("sbbfl").localize(spectrum)
    assert "take Branch or CBI" in str(error.value)
    assert make_technique("sbbfl").effort(large(2_000, 10, 10, all_edges=300_000)).bearable


@pytest.mark.slow
def test_biases_of_too_many_runs_are_refused_beforehand():
    spectrum = large(2_000, 10, 10, taken=100_000)
    with pytest.raises(
        NothingToRank, match=r"about 60 seconds and 0.5 GB.*each of 2,000 tests.*199,900,001 in all.*CBI"
    ):
        make_technique("sober").localize(spectrum)
    assert make_technique("sober").effort(large(200, 10, 10, taken=100_000)).bearable
