"""The pipeline: evidence in, report out, the last good report kept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suspectra.base.errors import NothingToRank, Problem
from suspectra.evidence.evidence import Evidence, TestResult, Verdict
from suspectra.localizer import Localizer
from suspectra.runs.measured_file import MeasuredFile
from suspectra.techniques import make_technique

LINES = 5


def measured(path, is_test=False):
    lines = np.arange(1, LINES + 1, dtype=np.int32)
    return MeasuredFile(path, None, lines, lines, np.full(LINES, -1, np.int32), (), is_test)


FILES = (measured("app.py"), measured("tests/test_app.py", is_test=True))


def evidence(tests, files=FILES, problems=(), rows=None):
    """Evidence from {name: (verdict, executed elements)}."""
    rows = rows or tuple(np.array(hits, np.int32) for _, hits in tests.values())
    results = tuple(TestResult(name, verdict) for name, (verdict, _) in tests.items())
    return Evidence("recording", results, files, rows, np.zeros(0, np.int32), None, problems)


CLEAR = {"fails": (Verdict.FAILED, [0, 2, 5]), "passes": (Verdict.PASSED, [0, 5])}


def test_a_ranking():
    report = Localizer(make_technique("ochiai")).update(evidence(CLEAR))
    assert str(report.suspect(0).location) == "app.py:3"
    assert report.suspect(0).failing_tests == ("fails",)
    assert len(report) == LINES  # test code is not a suspect


def test_test_code_when_asked_for():
    localizer = Localizer(make_technique("ochiai"))
    localizer.update(evidence(CLEAR))
    assert len(localizer.select(make_technique("ochiai"), include_tests=True)) == 2 * LINES


def test_skipped_and_expected_failures_say_nothing():
    more = CLEAR | {"skip": (Verdict.SKIPPED, [1]), "xfail": (Verdict.XFAILED, [1]), "xpass": (Verdict.XPASSED, [1])}
    report = Localizer(make_technique("ochiai")).update(evidence(more))
    assert report.spectrum.tests == ("fails", "passes", "xpass")
    assert (report.spectrum.counts.failed, report.spectrum.counts.passed) == (1, 2)


def test_an_error_in_setup_is_a_failure():
    report = Localizer(make_technique("ochiai")).update(evidence(CLEAR | {"error": (Verdict.ERROR, [1])}))
    assert report.spectrum.counts.failed == 2


def test_the_last_good_ranking_stays():
    localizer = Localizer(make_technique("ochiai"))
    good = localizer.update(evidence(CLEAR))
    with pytest.raises(NothingToRank, match="no test failed"):
        localizer.update(evidence({"passes": (Verdict.PASSED, [0])}))
    assert localizer.report is good


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ({}, "contains no tests"),
        ({"a": (Verdict.PASSED, [0])}, r"no test failed \(1 passed\)"),
        ({"a": (Verdict.SKIPPED, [0])}, "no test passed or failed; 1 was skipped"),
        ({"a": (Verdict.FAILED, [])}, r"failing tests run none of .* suspect \(a failed\)"),
        ({"a": (Verdict.FAILED, [LINES]), "b": (Verdict.PASSED, [0])}, "failing tests run none of the code"),
    ],
)
def test_nothing_to_rank_says_why_and_where(tests, said):
    with pytest.raises(NothingToRank, match=said) as caught:
        Localizer(make_technique("ochiai")).update(evidence(tests))
    assert caught.value.problem.file == "recording"
    assert caught.value.problem.cure


def test_all_tests_failing_in_setup_is_said():
    results = tuple(TestResult(name, Verdict.ERROR, None, {"setup": "failed"}, "no database") for name in "ab")
    rows = (np.array([0], np.int32),) * 2
    localizer = Localizer(make_technique("ochiai"))
    localizer.update(Evidence("recording", results, FILES, rows, np.zeros(0, np.int32)))
    assert "all 2 tests failed in setup: no database" in localizer.problems()[0].cause


def test_most_failing_tests_failing_in_setup_is_said_and_no_other_process_is_suspected():
    results = (
        *(TestResult(name, Verdict.ERROR, None, {"setup": "failed"}, "no database") for name in "abc"),
        TestResult("d", Verdict.FAILED, None, {"setup": "passed", "call": "failed"}),
        TestResult("e", Verdict.PASSED),
    )
    rows = (*[np.array([], np.int32)] * 3, np.array([0, 1], np.int32), np.array([1], np.int32))
    localizer = Localizer(make_technique("ochiai"))
    localizer.update(Evidence("recording", results, FILES, rows, np.zeros(0, np.int32)))
    (problem,) = localizer.problems()
    assert problem.cause == "3 of 4 failing tests failed in setup: no database"
    assert problem.cure.startswith("fix the fixture")


def test_before_any_evidence():
    with pytest.raises(NothingToRank, match="no evidence yet"):
        Localizer(make_technique("ochiai")).select(make_technique("jaccard"))


def test_problems_of_the_evidence_come_first():
    torn = Problem("log", "byte 7", "torn", "nothing")
    localizer = Localizer(make_technique("ochiai"))
    localizer.update(evidence({"fails": (Verdict.FAILED, [0])}, problems=(torn,)))
    first, second = localizer.problems()
    assert first is torn
    assert second.file == "recording"


def test_a_quick_ranking_comes_first_and_the_last_one_is_the_technique_s():
    tests = {"fails": (Verdict.FAILED, [0, 2]), "passes": (Verdict.PASSED, [1, 2]), "other": (Verdict.PASSED, [0])}
    localizer, technique = Localizer(make_technique("ochiai+dstar")), make_technique("ochiai+dstar")
    for _ in range(2):  # the second time with all that can be taken over
        quick, better = localizer.improve(evidence(tests))
        assert [quick.technique, better.technique] == list(technique.stages)
        assert quick.suspects() == Localizer(make_technique("ochiai")).update(evidence(tests)).suspects()
        assert better.suspects() == Localizer(technique).update(evidence(tests)).suspects()
        assert localizer.report is better
    first = next(localizer.improve(evidence(tests)))
    assert localizer.report is first  # who looks at no more of them keeps it


row = st.lists(st.integers(0, 2 * LINES - 1), unique=True).map(sorted)
suites = st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.sampled_from(Verdict), row), max_size=6)


@settings(max_examples=60)
@given(st.lists(st.tuples(suites, st.sampled_from(["ochiai", "dstar", "naish1"])), min_size=1, max_size=5))
def test_a_ranking_kept_current_equals_one_from_scratch(steps):
    kept = Localizer(make_technique("ochiai"))
    rows = {}
    for tests, technique in steps:
        rows = {
            name: rows[name] if name in rows and rows[name].tolist() == hits else np.array(hits, np.int32)
            for name, (_, hits) in tests.items()
        }
        given_now = evidence(tests, rows=tuple(rows.values()))
        kept.technique = make_technique(technique)
        fresh = Localizer(make_technique(technique))
        try:  # a state of which nothing can be ranked is refused by both
            expected = fresh.update(given_now)
        except NothingToRank:
            with pytest.raises(NothingToRank):
                kept.update(given_now)
            continue
        assert kept.update(given_now).suspects() == expected.suspects()
