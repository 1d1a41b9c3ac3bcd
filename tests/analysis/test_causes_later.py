"""Causes where one fault breaks several assertions of a test: no state makes it pass, but some make it fail later."""

import json
import subprocess
import sys
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest

from suspectra.causes.alterations import KnownValues, StateAlterations, TimeIsUp
from suspectra.causes.failure_place import FailurePlace
from suspectra.causes.search import CauseNarrowing
from suspectra.causes.states import StatePoint, StatesRun
from suspectra.cli.main import run
from suspectra.dependences.graph import DependenceGraph
from suspectra.dependences.narrowing import GETS_FURTHER, PASSES
from suspectra.dependences.trace import DependenceTrace, TraceSite
from suspectra.evidence.sources import Sources
from suspectra.experiments.alterations.replacing import NotedValues, ValuePlace
from suspectra.experiments.run_answers import AlteredRunAnswer
from suspectra.output.causes import write_state, write_text
from suspectra.runs.experiment import ExperimentOutcome

SHAPES = """\
def area(width, height):
    size = width + height
    return size


def label(width, height):
    found = area(width, height)
    return f"{found} m2"
"""
TEST_SHAPES = """\
from shapes import area, label


def test_labels():
    assert area(2, 2) == 4
    assert label(3, 4) == "12 m2"
    assert label(5, 6) == "30 m2"


def test_one_label():
    assert label(3, 4) == "12 m2"


def test_each_label():
    for width, expected in [(2, "4 m2"), (3, "6 m2"), (5, "10 m2")]:
        assert label(width, 2) == expected
"""


@pytest.fixture
def shapes(tmp_path):
    (tmp_path / "shapes.py").write_text(SHAPES)
    (tmp_path / "test_shapes.py").write_text(TEST_SHAPES)
    command = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("test", ["*_labels", "*_each_label"])
def test_what_makes_a_test_fail_later_is_a_hint(shapes, capsys, test):
    assert run(["causes", "--workspace", str(shapes), test, "--format", "json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["fails_later"], found["complete"]) == (True, True)
    assert [(root["file"], root["line"]) for root in found["roots"]] == [("shapes.py", 2)]
    assert "can make the test fail later" in said.err
    assert "take it as a hint" in said.err


@pytest.mark.slow
def test_what_makes_a_test_pass_is_none(shapes, capsys):
    assert run(["causes", "--workspace", str(shapes), "*_one_label", "--format", "json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert [(root["file"], root["line"]) for root in found["roots"]] == [("shapes.py", 2)]
    assert not found["fails_later"]
    assert "later" not in said.err


TEST = """\
def test_all():
    first()
    with raises(
        KeyError
    ):
        second(
            1)
        third()
    if found:
        fourth()
    for one in some:
        fifth(one)
        sixth(one)
    def inner():
        return seventh()
    eighth(inner)
    try:
        ninth()
    except KeyError:
        tenth()
    eleventh()

def other():
    twelfth()
"""


def failure(frames, rounds=()):
    noted = {"frames": frames, "rounds": [("t.py", line, begun) for line, begun in rounds]}
    return StatesRun.from_answer(AlteredRunAnswer(ExperimentOutcome.FAILED, 0.1, "AssertionError", "", noted))


@pytest.mark.parametrize(
    ("failed", "first_later"),
    [
        pytest.param(2, 3, id="statement"),
        pytest.param(3, 9, id="with, which expects an exception in the whole of it"),
        pytest.param(6, 8, id="statement of several lines"),
        pytest.param(9, 10, id="condition"),
        pytest.param(10, 11, id="in a condition"),
        pytest.param(12, 13, id="in a round"),
        pytest.param(11, 14, id="head of a loop, which comes after each round"),
        pytest.param(16, 17, id="before a try"),
        pytest.param(18, 19, id="in a try"),
        pytest.param(20, 21, id="in a handler"),
    ],
)
def test_later_is_what_comes_after_the_statement_in_the_same_function(failed, first_later):
    rounds = [(11, 2)]
    run = failure([("/w/run.py", 1), ("/w/t.py", failed), ("/w/a.py", 7), ("/w/t.py", 24)], rounds)
    progress = FailurePlace.from_run(run, "/w/t.py", "t.py", TEST)
    later = [line for line in range(1, 26) if progress.is_before(failure([("/w/t.py", line), ("a.py", 9)], rounds))]
    assert later == list(range(first_later, 22))


@pytest.mark.parametrize(
    ("line", "rounds", "later"),
    [
        pytest.param(5, [(2, 2), (4, 7)], False, id="the same round"),
        pytest.param(6, [(2, 2), (4, 7)], True, id="later in the same round"),
        pytest.param(5, [(2, 2), (4, 8)], True, id="the next round"),
        pytest.param(6, [(2, 2), (4, 6)], False, id="the round before"),
        pytest.param(5, [(2, 1), (4, 9)], False, id="a longer loop in the round before"),
        pytest.param(3, [(2, 3), (4, 7)], True, id="the next round of the outer loop"),
        pytest.param(7, [(2, 2), (4, 8)], True, id="behind the inner loop"),
        pytest.param(8, [(2, 3), (4, 9)], True, id="behind both"),
        pytest.param(8, [(2, 1), (4, 2)], False, id="behind both, which had fewer rounds"),
        pytest.param(11, [(2, 3), (4, 9)], False, id="in another function"),
    ],
)
def test_in_loops_the_rounds_count(line, rounds, later):
    source = (
        "def test_a():\n    for a in some:\n        first(a)\n        for b in a:\n            assert b\n"
        "            second(b)\n        third(a)\n    fourth()\n\ndef other():\n    fifth()\n"
    )
    progress = FailurePlace.from_run(failure([("t.py", 5)], [(2, 2), (4, 7)]), "t.py", "t.py", source)
    assert progress.is_before(failure([("t.py", line)], rounds)) == later


@pytest.mark.parametrize(
    ("frames", "source"),
    [
        ([("a.py", 3)], TEST),
        ([], TEST),
        ([("t.py", 2)], "def broken(:"),
        ([("t.py", 99)], TEST),
        ([("t.py", 2)], "\0"),
        ([("t.py", 1)], "at_import()\n"),
        ([("t.py", 12)], TEST),  # in a loop whose rounds nobody has counted
    ],
)
def test_where_the_test_can_not_be_found_nothing_is_later(frames, source):
    progress = FailurePlace.from_run(failure(frames), "t.py", "t.py", source)
    assert not any(progress.is_before(failure([("t.py", line)], [(11, 9)])) for line in range(200))


class Alterations(StateAlterations):
    """Three nodes in a chain: another value of the second or the third makes a test of line 2 fail in line 3."""

    def __init__(self, *, passing=()):
        def failing(job, *, end):
            numbers = {value["number"] for value in job["replaced"]}
            if numbers & set(passing):
                return AlteredRunAnswer(ExperimentOutcome.PASSED, 0.1, "")
            line = 3 if numbers & {1, 2} else 2
            return AlteredRunAnswer(ExperimentOutcome.FAILED, 0.1, "AssertionError", "", {"frames": [("t.py", line)]})

        places = [ValuePlace("a.py", n, "assignment", "x", n, 4, n) for n in range(3)]
        values = KnownValues(NotedValues({place: ["i7"] for place in places}, {}, ("i7", "i4")))
        super().__init__(failing, {n: StatePoint("a.py", n, 1) for n in range(3)}, frozenset(), values)
        self.progress = FailurePlace("t.py", "t.py", range(1, 9), range(3, 9))


def searched(alterations, technique, **more):
    graph = DependenceGraph.from_edges(4, [(0, 1, 0), (1, 2, 0), (2, 3, 0)])
    sites = tuple(TraceSite("a.py", line, line, 4, "value", line - 1) for line in (1, 2, 3))
    sites += (TraceSite("t.py", 2, 2, 4, "assert", -1),)
    call, no = np.zeros(4, np.int32), np.full(4, -1, np.int8)
    trace = DependenceTrace("test_a", sites, graph, call, no, ["7", "7", "7", ""], 3, np.arange(4) == 3, ())
    search = CauseNarrowing(trace, alterations, technique, **more)
    return search, list(search.steps())


@pytest.mark.parametrize("technique", ["mdfs", "single-step", "bisection"])
def test_a_second_search_needs_no_run_that_was_made(technique):
    alterations = Alterations()
    search, steps = searched(alterations, technique)
    once = alterations.count
    assert search.report.fails_later
    assert search.report.complete
    assert [root.line for root in search.report.roots] == [2]
    assert [step.fails_later for step in steps] == sorted(step.fails_later for step in steps)
    assert any(step.fails_later for step in steps)
    known = [alterations.polluted((node,), GETS_FURTHER) for node in range(3)]
    assert known == [False, True, True]
    assert alterations.count == once


def test_there_is_no_second_search_where_the_test_can_pass():
    search, steps = searched(Alterations(passing=[1]), "single-step")
    assert not search.report.fails_later
    assert not any(step.fails_later for step in steps)
    assert [root.line for root in search.report.roots] == [2]


def test_what_the_search_went_past_is_listed_by_suspicion():
    search, _ = searched(Alterations(passing=[0, 1, 2]), "single-step", at=lambda file, line: line)
    report = search.report
    assert [state.line for state in report.roots] == [1]
    assert [state.line for state in report.transitive] == [3, 2]
    assert [state.line for state in report.chain[:3]] == [1, 2, 3]
    text = StringIO()
    write_state(report.roots[0]._replace(instance=2), text, Sources("."))
    assert text.getvalue() == "  a.py:1 (the 2nd time)    → 7\n"
    text = StringIO()
    write_text(replace(report, chain=report.chain[:1] * 13), text, Sources("."))
    listed = text.getvalue().partition("most suspicious by all tests first\n")[2]
    assert [line.split()[0] for line in listed.splitlines()[:2]] == ["a.py:3", "a.py:2"]


def test_the_first_search_leaves_time_for_the_second():
    alterations = Alterations()
    alterations.end_if_later = 0.0
    assert not alterations.polluted((0,), PASSES)  # nothing makes the test fail later yet
    assert not alterations.polluted((1,), PASSES)
    with pytest.raises(TimeIsUp):
        alterations.polluted((2,), PASSES)
    assert alterations.polluted((1,), GETS_FURTHER)
