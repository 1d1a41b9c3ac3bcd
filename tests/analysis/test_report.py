"""Ranked reports: the order, the ranks of ties, and what a report says of itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from suspectra.report import RankedReport, round_significant
from suspectra.spectrum import Function, Spectrum
from suspectra.techniques import make_technique

OCHIAI = make_technique("ochiai")


def ranked(scores, executed=None):
    scores = np.asarray(scores, float)
    row = np.ones(len(scores)) if executed is None else executed
    return RankedReport.from_scores(OCHIAI, Spectrum.from_matrix([row], failed=[True]), scores)


def test_the_avl_example_of_paper_003():
    report = ranked([9, 9, 9, 8, 8, 7, 6, 6, 6])
    assert report.standard_rank.tolist() == [1.5, 1.5, 1.5, 4, 4, 5.5, 7.5, 7.5, 7.5]


def test_ranks_of_a_tie():
    report = ranked([1, 3, 2, 3])
    first = report.suspect(0)
    assert (first.location.line, first.rank_best, first.rank_average, first.rank_worst, first.tied) == (2, 1, 1.5, 2, 2)
    assert [s.location.line for s in report.suspects()] == [2, 4, 3, 1]
    assert len(report.suspects(top=2)) == 2
    assert report.position.tolist() == [3, 0, 2, 1]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=12))
def test_what_changed_comes_first_in_a_tie_and_ranks_stay(given_for):
    """Each element has a score, and may have changed since either of two failing tests passed."""
    scores = np.array([score for score, *_ in given_for], float)
    spectrum = Spectrum.from_matrix(np.ones((2, len(scores))), failed=[True, True])
    changed = {
        test: np.flatnonzero([one[1 + number] for one in given_for]).astype(np.int32)
        for number, test in enumerate(spectrum.tests)
    }
    plain = RankedReport.from_scores(OCHIAI, spectrum, scores)
    report = RankedReport.from_scores(OCHIAI, replace(spectrum, changed=changed), scores)
    times = [one[1] + one[2] for one in given_for]
    wanted = sorted(range(len(scores)), key=lambda element: (-scores[element], -times[element], element))
    assert [report.position_of(element) for element in wanted] == list(range(len(wanted)))
    assert report.top(3).tolist() == wanted[:3]
    assert report.order.tolist() == wanted
    assert report.rank_best.tolist() == plain.rank_best.tolist()


def test_scores_equal_on_paper_are_a_tie():
    assert ranked([0.1 + 0.2, 0.3]).rank_worst.tolist() == [2, 2]


def test_infinite_scores_lead_and_nan_trails():
    report = ranked([1, np.inf, np.nan, -np.inf, 2])
    assert report.order.tolist() == [1, 4, 0, 2, 3]
    assert report.rank_best.tolist() == [1, 2, 3, 4, 4]


def test_what_no_test_executes_ranks_last_together():
    report = ranked([0.5, 9, -1, 8], executed=[1, 0, 1, 0])
    assert report.order.tolist() == [0, 2, 1, 3]
    assert report.rank_best.tolist() == [1, 2, 3, 3]
    assert report.scores.tolist() == [0.5, -1, -1, -1]


def test_only_candidates_are_ranked():
    spectrum = Spectrum.from_matrix([[1, 1, 1]], failed=[True])
    spectrum.candidates[1] = False
    report = OCHIAI.localize(spectrum)
    assert report.order.tolist() == [0, 2]
    assert report.position.tolist() == [0, -1, 1]


def test_nothing_to_order():
    report = ranked([])
    assert len(report) == 0
    assert report.suspects() == []
    report.caveats()


def test_a_huge_tie_is_said():
    spectrum = Spectrum.from_matrix(np.ones((2, 50)), failed=[True, False])
    (caveat,) = OCHIAI.localize(spectrum).caveats()
    assert "50 of the 50" in caveat.cause


def test_no_passing_test_is_said():
    (caveat,) = OCHIAI.localize(Spectrum.from_matrix([[1, 0]], failed=[True])).caveats()
    assert "no test passed" in caveat.cause


def test_failing_tests_that_execute_nothing_are_named():
    matrix = [[1, 0], [0, 0], [0, 0], [0, 1]]
    tests = ["test_in_process", "test_elsewhere", "test_there", "test_other"]
    spectrum = Spectrum.from_matrix(matrix, failed=[True, True, True, False], tests=tests)
    (caveat,) = OCHIAI.localize(spectrum).caveats()
    assert caveat.cause == "no recorded statement is executed by 2 of 3 failing tests: test_elsewhere, test_there"
    half = Spectrum.from_matrix(matrix, failed=[True, True, False, False], tests=tests)
    assert OCHIAI.localize(half).caveats() == []


def test_a_clear_ranking_has_no_caveats():
    assert OCHIAI.localize(Spectrum.from_matrix([[1, 0], [0, 1]], failed=[True, False])).caveats() == []


@given(hnp.arrays(float, st.integers(1, 60), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_ranks_agree_with_their_definitions(scores):
    report = ranked(scores)
    rounded = round_significant(np.nan_to_num(scores, nan=-np.inf, posinf=np.inf, neginf=-np.inf))
    for position, element in enumerate(report.order):
        higher, equal = (rounded > rounded[element]).sum(), (rounded == rounded[element]).sum()
        assert report.rank_best[position] == higher + 1
        assert report.rank_worst[position] == higher + equal
        assert report.rank_average[position] == higher + (equal + 1) / 2
        assert report.standard_rank[position] == higher + equal / 2
    assert sorted(report.order.tolist()) == list(range(len(scores)))


@given(st.floats(1e-280, 1e280), st.sampled_from([-1, 1]))
def test_rounding_stays_close(value, sign):
    assert round_significant(np.array([sign * value]))[0] == pytest.approx(sign * value, rel=1e-11)


def functions_of(rows, failed, function, raised=None):
    """Functions 0, 1… of one file, and the order that Ochiai gives them."""
    spectrum = Spectrum.from_matrix(rows, failed=failed)
    lines = spectrum.elements.line
    table = tuple(Function(0, f"f{i}", int(lines[0]), int(lines[-1])) for i in range(max(function) + 1))
    elements = replace(spectrum.elements, function=np.array(function, np.int32), functions=table)
    spectrum = replace(spectrum, elements=elements, raised=None if raised is None else np.array(raised, np.int32))
    return OCHIAI.localize(spectrum)


def test_of_two_functions_with_equal_scores_the_one_in_which_tests_failed_comes_first_then_the_one_with_more_lines():
    rows = [[1, 1, 1, 1, 0], [0, 0, 0, 1, 1]]
    one = functions_of(rows, [True, False], [0, 1, 1, 2, 3])
    assert [(f.name, f.rank_best, f.tied, f.elements) for f in one.functions()] == [
        ("f1", 1, 2, (1, 2)),
        ("f0", 2, 1, (0,)),
        ("f2", 3, 1, (3,)),
    ]
    raised = functions_of(rows, [True, False], [0, 1, 1, 2, 3], [0, -1])
    assert [(f.name, f.raised) for f in raised.functions(2)] == [("f0", 1), ("f1", 0)]


@given(
    hnp.arrays(bool, st.tuples(st.integers(1, 5), st.just(7))),
    st.lists(st.integers(-1, 3), min_size=7, max_size=7),
    st.lists(st.integers(-1, 6), min_size=5, max_size=5),
)
def test_functions_contain_what_failing_tests_execute_once_and_follow_their_best_ties(rows, function, raised):
    rows[0, 0] = True
    failed = [number % 2 == 0 for number in range(len(rows))]
    report = functions_of(rows.astype(int), failed, [*function, 0][:7], raised[: len(rows)])
    listed = report.functions()
    assert (
        sorted(element for one in listed for element in one.elements)
        == np.flatnonzero(report.spectrum.counts.ef > 0).tolist()
    )
    best = [int(report.ties_of(one.elements).min()) for one in listed]
    assert best == sorted(best)
    for one in listed:
        assert [report.position_of(element) for element in one.elements] == sorted(
            map(report.position_of, one.elements)
        )
        assert one.rank_best <= one.rank_worst <= len(listed)
    assert listed[:2] == report.functions(2)
    parts = [one.elements[part] for part in (slice(3), slice(3, None)) for one in listed]
    assert report.reading_order(100).tolist() == [element for own in parts for element in own]
    ranks = [one.rank_best for one in listed for _ in one.elements]
    assert report.function_ranks([element for one in listed for element in one.elements]).tolist() == ranks


def test_however_large_a_tie_is_the_first_functions_are_in_a_short_list():
    report = functions_of([[1] * 13], [True], [0] * 6 + [1] * 5 + [2] * 2)
    assert report.reading_order(8).tolist() == [0, 1, 2, 6, 7, 8, 3, 4]
    assert [len(report.reading_order(top)) for top in (1, 2, 5, 13, 20)] == [1, 2, 5, 13, 13]
