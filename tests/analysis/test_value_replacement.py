"""Value replacement: the alternates, experiments with a real machine, and the ranking."""

import json
import math
import subprocess
import sys
import time
from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.cli.main import run
from suspectra.experiments.alterations.alternates import one_more, pool, published, roots
from suspectra.experiments.alterations.replacing import Replacement, ValueReplacing
from suspectra.experiments.machine import FreshRuns, Machine
from suspectra.experiments.repeated_test import RepeatedTest
from suspectra.program import Program
from suspectra.runs.experiment import EVERY, Experiment, ExperimentOutcome
from suspectra.spectrum import Spectrum
from suspectra.techniques import make_technique
from suspectra_recorder.experiments.values.literals import as_number, to_text

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")

# alternates

ORDERED = st.one_of(
    st.lists(values, min_size=1, max_size=8)
    for values in (
        st.integers() | st.floats(allow_nan=False),
        st.decimals(-1000, 1000, places=2),
        st.text(max_size=4),
        st.dates(),
        st.tuples(st.integers(), st.booleans().map(str)),
    )
)
ANY = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.decimals() | st.dates() | st.binary()
NUMBERS = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6) | st.dates() | st.decimals(-1000, 1000, places=2)


@given(ORDERED)
def test_the_published_alternates_are_the_ends_and_the_neighbours(seen):
    seen = [one for one in seen if to_text(one)] or [0]
    value = seen[0]
    found = {to_text(alternate.value): alternate.role for alternate in published(value, seen)}
    others = [one for one in seen if one != value]
    below, above = [one for one in others if one < value], [one for one in others if one > value]
    wanted = [min(others), max(others)] if others else []
    wanted += ([max(below)] if below else []) + ([min(above)] if above else [])
    assert len(found) <= 4
    assert {one for one in others if to_text(one) in found} == set(wanted)


@given(ANY, st.lists(ANY), st.lists(ANY, max_size=2))
def test_no_alternate_is_the_value_itself_and_none_comes_twice(value, seen, expected):
    for found in (published(value, seen), pool(value, seen, expected)):
        texts = [to_text(alternate.value) for alternate in found]
        assert len(set(texts)) == len(texts)
        assert to_text(value) not in texts
        assert all(texts)


@given(NUMBERS, st.integers(-100, 100).filter(bool), st.integers(-1000, 1000))
def test_the_root_of_a_line_is_found(value, slope, rest):
    def distance(number):
        return slope * (as_number(number) - as_number(value)) + rest

    more = one_more(value)
    if more is None:
        return
    found = [alternate.value for alternate in roots(value, {"p": distance(value)}, {"p": distance(more)})]
    assert all(type(one) is type(value) for one in found)
    if isinstance(value, int) and rest % slope == 0 and rest not in (0, -slope):
        assert distance(found[0]) == 0
    for one in found:
        assert one not in (value, more)


@pytest.mark.parametrize(
    "value", [float("inf"), float("nan"), Decimal("NaN"), Decimal("sNaN"), 10**400, True, "a", None]
)
def test_what_is_no_finite_number_has_no_roots(value):
    assert one_more(value) is None
    assert roots(value, {"p": 1.0}, {"p": 2.0}) == []


def test_a_comparison_that_does_not_move_has_no_root():
    assert roots(3, {"p": 1.0}, {"p": 1.0, "new": 2.0}) == []
    assert roots(date.max, {"p": 1.0}, {"p": 2.0})[0].value == date.max - timedelta(days=1)


# experiments

RATES = """\
from dataclasses import dataclass
from datetime import date

CHANGE = date(2020, 7, 1)


@dataclass(frozen=True)
class Money:
    cents: int


def days(first, last):
    last = last or first
    whole = (last - first).days  # the fault: a period includes its last day
    return whole


def price(first, last, daily):
    count = days(first, last)
    return Money(count * daily)


def total(prices):
    result = 0
    for one in prices:
        result = one  # the fault: +=
    return result


def grade(points):
    limit = 60  # the fault: 50
    found = []
    for point in points:
        found.append("pass" if point >= limit else "fail")
    return found


def label(name, known):
    known.append(None)  # the fault: name
    return known[-1]
"""
TESTS = """\
from datetime import date
import unittest

from rates import Money, days, grade, label, price, total

def test_price():
    assert price(date(2020, 6, 15), date(2020, 7, 14), 10) == Money(300)

def test_total():
    assert total([1, 2, 3]) == 6

def test_grade():
    assert grade([55, 70, 20]) == ["pass", "pass", "fail"]

def test_that_passes():
    assert grade([50.5, 90]) != []
    assert label("b", ["a"]) is None

class TestLabel(unittest.TestCase):
    def test_label(self):
        self.assertEqual(label("b", ["a"]), "b")
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rates")
    (folder / "rates.py").write_text(RATES)
    (folder / "test_rates.py").write_text(TESTS)
    return folder


def name_of(test):
    return f"test_rates.py::{test}"


@pytest.fixture(scope="module")
def machine(project):
    tests = ["test_price", "test_total", "test_grade", "test_that_passes", "TestLabel::test_label"]
    with Machine(PYTEST, project, "test_rates.py", [name_of(test) for test in tests], ("value",)) as machine:
        yield machine


def investigated(machine, test, **options):
    replacing = ValueReplacing(RepeatedTest(name_of(test), machine), **options)
    made = list(replacing.experiments(time.monotonic() + 120))
    assert replacing.complete
    assert len({one.key for one in made}) == len(made)
    return made


def repairs(made):
    return {(one.line, f"{one.place} = {one.detail}", one.action) for one in made if one.outcome.repairs}


def line_of(text):
    return next(number for number, line in enumerate(RATES.splitlines(), 1) if text in line)


def test_a_number_is_moved_and_solved(machine):
    made = investigated(machine, "test_price")
    found = repairs(made)
    assert (line_of("last = last"), "last = 2020-07-15", "one more") in found
    assert (line_of("whole ="), "whole = 30", "one more") in found
    assert (line_of("Money(count"), "cents of the return value = 300", "expected") in found
    assert any(str(one).endswith("test_price passes with last = 2020-07-15") for one in made)


def test_single_times_are_tried(machine):
    found = investigated(machine, "test_total")
    assert {(one.line, one.detail) for one in found if one.outcome.repairs} == {
        (line_of("result = one"), "6"),
        (line_of("return result"), "6"),
    }
    times = {one.instance for one in found if one.line == line_of("result = one")}
    assert times >= {EVERY, 3, 1}


def test_what_is_compared_says_which_number_would_be_equal(machine):
    found = repairs(investigated(machine, "test_grade"))
    assert (line_of("limit ="), "limit = 55", "root") in found


def test_unittest_says_what_it_expected(machine):
    found = repairs(investigated(machine, "TestLabel::test_label"))
    assert (line_of("known.append"), "argument 1 of known.append = 'b'", "expected") in found


def test_values_of_passing_tests_are_tried(machine):
    made = investigated(machine, "test_grade", passing=[name_of("test_that_passes")])
    assert {one.detail for one in made if one.place == "argument 1 of found.append"} >= {"'pass'", "'fail'"}


def test_values_may_be_kept_out_of_the_log(machine):
    made = investigated(machine, "test_total", logged=False)
    assert {one.detail for one in made if one.outcome.repairs} == {"(expected)"}


def test_only_what_is_suspicious_is_tried(machine):
    wanted = line_of("whole =")
    made = investigated(machine, "test_price", at=lambda file, line: float((file, line) == ("rates.py", wanted)))
    assert {(one.file, one.line) for one in made} == {("rates.py", wanted)}


def test_fresh_processes_find_the_same(machine, project):
    fresh = FreshRuns(PYTEST, project, "test_rates.py")
    replacement = next(
        one
        for chunk in _chunks(machine, "test_total")
        for _, several in chunk
        for one in several
        if one.place.line == line_of("result = one") and one.alternate.value == 6
    )
    answers, _ = fresh.alter(name_of("test_total"), [replacement], steps=1_000, seconds=10.0)
    assert answers[0].outcome is ExperimentOutcome.PASSED


def _chunks(machine, test):
    replacing = ValueReplacing(RepeatedTest(name_of(test), machine))
    noted = replacing._noted(name_of(test), 60.0, math.inf)
    return replacing._chunks(noted, replacing._seen(noted, time.monotonic()))


# the command, and the ranking


@pytest.mark.slow
def test_the_command_names_the_values(project, capsys):
    recording = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST, "-q"]
    assert subprocess.run(recording, cwd=project, capture_output=True, check=False).returncode == 1
    words = ["investigate", "--workspace", str(project), "--technique", "value-replacement", "--format", "json"]
    assert run([*words, "*test_price", "*test_total", "--", *PYTEST]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["complete"]
    suspects = {suspect["line"]: suspect["findings"] for suspect in found["suspects"]}
    assert suspects[line_of("last = last")][0] == "1 failing test passes with last = 2020-07-15."
    assert any(one["action"] == "2020-07-15" and one["outcome"] == "passed" for one in found["experiments"])

    run([*words, "*test_price", "*test_total", "--", *PYTEST])
    again = json.loads(capsys.readouterr().out)
    assert (again["experiments"], again["suspects"]) == ([], found["suspects"])
    assert run(["rank", "--workspace", str(project), "--technique", "value-replacement", "--top", "1"]) == 0

    capsys.readouterr()
    assert run([*words, "--hide-values", "*test_label", "--", *PYTEST]) == 0
    hidden = json.loads(capsys.readouterr().out)
    assert "(expected)" in {one["action"] for one in hidden["experiments"]}
    assert all(one["action"].startswith("(") for one in hidden["experiments"])


def made(test, line, outcome=ExperimentOutcome.PASSED):
    return Experiment(test, "value", "program", line, line, 0, "x", EVERY, "seen", outcome, 0.01, detail="5")


def test_statements_rank_by_how_many_failing_tests_they_repair():
    spectrum = Spectrum.from_matrix([[1, 1, 1, 0], [1, 1, 0, 1], [1, 0, 0, 1]], failed=[True, True, False])
    experiments = (made("t1", 1), made("t2", 1), made("t1", 3), made("t2", 2, ExperimentOutcome.FAILED), made("t3", 4))
    technique = make_technique("value-replacement")
    report = technique.localize(spectrum, Program((), experiments=experiments))
    assert [suspect.location.line for suspect in report.suspects()] == [1, 3, 2, 4]
    ochiai = make_technique("ochiai").localize(spectrum)
    assert next(suspect.location.line for suspect in ochiai.suspects()) == 2
    assert report.explain(0).sentences[0] == "Both failing tests pass with x = 5."
    assert "2 + 0.81" in str(report.explain(0))
    assert technique.localize(spectrum).notes[0].cure == "run `suspectra investigate`"


@pytest.mark.slow
def test_what_is_replaced_is_named_as_it_is_read(machine):
    chunk = next(iter(_chunks(machine, "test_price")))
    tried = next(tried for tried, _ in chunk if tried.parts and () not in tried.parts)
    ((part, number),) = tried.parts.items()
    replacement = Replacement(tried.place, 2, part, published(number, [number + 3])[0])
    experiment = replacement.experiment("test_x")
    assert experiment.condition == "with cents of the return value = 293 the 2nd time"
