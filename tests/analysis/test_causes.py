"""The search for the causes of a failure: altered states, cuts, and what is reported."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest

from suspectra.base.errors import EvidenceError
from suspectra.causes.alterations import KnownValues, StateAlterations, TimeIsUp
from suspectra.causes.judgements import Judgement
from suspectra.causes.report import CauseReport, CauseState, Narrowing
from suspectra.causes.search import CauseNarrowing
from suspectra.causes.solver import SmtSolver
from suspectra.causes.states import AlteredStates, NewValue, StatePoint
from suspectra.causes.techniques import TECHNIQUES
from suspectra.cli.main import run
from suspectra.dependences.graph import DependenceGraph, DependenceKind
from suspectra.dependences.narrowing import PASSES, Property
from suspectra.dependences.trace import DependenceTrace, TraceSite
from suspectra.evidence.sources import Sources
from suspectra.experiments.alterations.replacing import NotedValues
from suspectra.experiments.machine import Machine
from suspectra.experiments.repeated_test import RepeatedTest
from suspectra.output.causes import write_json, write_text
from suspectra.runs.experiment import ExperimentOutcome

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")
FLOW, CONTROL, SUMMARY, _ = DependenceKind

# runs of real tests with altered states

PROGRAMS = {
    "mid.py": """\
def main(read):
    x = read()
    y = read()
    z = read()
    m = y  # statement 2: it should be z
    if y < z:  # statement 3
        if x < y:  # statement 4
            m = y  # statement 5
        elif x > z:  # statement 6: it should be x < z
            m = x  # statement 7
    else:
        if x > y:
            m = y
        elif x > z:
            m = x
    return m
""",
    "shop.py": """\
from dataclasses import dataclass


@dataclass
class Money:
    cents: int


def door(key, code):
    locked = False
    if key != 7:
        locked = True
    if code != 9:
        locked = True
    return "closed" if locked else "open"


def price(kind):
    rate = Money(3)
    sort = kind
    if sort == "child":
        rate = Money(150)
    if rate.cents * 7 > 1000:
        return rate.cents
    return 0


def total(numbers):
    found = 0
    for number in numbers:
        found += number
    return found


def rest(text):
    start = 2
    return text[start : start + 3]


def bill(prices):
    total = sum(prices.values())
    parts = [f"{name}:{price}" for name, price in prices.items()]
    return f"{total} ({', '.join(parts)})"


def paid(cents):
    money = Money(cents)
    return f"{money.cents} of {cents}"
""",
    "test_shop.py": """\
from mid import main
from middle import check
from shop import bill, door, paid, price, rest, total


def test_mid():
    read = iter([2, 1, 3]).__next__
    m = main(read)
    assert m == 2


def test_middle():
    check(iter([2, 1, 3]).__next__)


def test_door():
    assert door(1, 2) == "open"


def test_price():
    assert price("adult") == 150


def test_total():
    assert total([1, 2]) == 4


def test_rest():
    assert rest("abc") == "abc"


def test_paid():
    assert paid(3) == "7 of 3"


def test_bill():
    assert bill({"nail": 3, "screw": 1}) == "8 (nail:7, screw:1)"
""",
}

# statement 13 prints the result: where that is wrong, the run fails
PROGRAMS["middle.py"] = PROGRAMS["mid.py"].replace("main", "check").replace("return m", "assert m == 2")


class Subject:
    """The tests of a folder, on one machine."""

    def __init__(self, folder):
        for name, text in PROGRAMS.items():
            (folder / name).write_text(text)
        self.folder = folder
        names = [f"test_shop.py::test_{name}" for name in ("mid", "door", "price", "total", "rest", "bill", "paid")]
        self.machine = Machine(PYTEST, folder, "test_shop.py", names, ("states", "values"))
        self._known = {}

    def alterations(self, name, points, decisions, solver=None, **more):
        if name not in self._known:
            test = RepeatedTest(f"test_shop.py::test_{name}", self.machine)
            (answer,) = self.machine.ask(test.test, [{"kind": "values"}], steps=10**6, seconds=20)
            self._known[name] = test, KnownValues(NotedValues.from_answer(answer))
        test, values = self._known[name]
        return StateAlterations(test.alone, points, frozenset(decisions), values, str(self.folder), solver, **more)

    def place(self, name, file, line, kind):
        """The number of the decision or the assigned value in a line."""
        self.alterations(name, {}, ())
        test, values = self._known[name]
        places = test.trace.places if kind == "decision" else values.noted.values
        return next(one.number for one in places if (one.file, one.line) == (file, line))


@pytest.fixture(scope="module")
def subject(tmp_path_factory):
    found = Subject(tmp_path_factory.mktemp("subject"))
    yield found
    found.machine.close()


# the example of the paper: what the test gives, what the program reads, v1 to v5, v7, v9 and v11

GIVEN, READ, STORED, ASSIGNED, FIRST, SECOND, THIRD, RETURNED, ASSERTED = 0, 1, 4, 7, 8, 9, 10, 11, 12
X, Y, Z = range(STORED, STORED + 3)


def trace_of_mid():
    """The dependences of the failing run, with all live branches as sources of control dependences."""
    nodes = [
        *[(GIVEN, TraceSite("test_shop.py", 7, 7, 4, "value", -1), "", -1)],
        *[(READ + n, TraceSite("mid.py", 2 + n, 2 + n, 8, "native", -1), value, -1) for n, value in enumerate("213")],
        *[(STORED + n, TraceSite("mid.py", 2 + n, 2 + n, 4, "value", n), value, -1) for n, value in enumerate("213")],
        (ASSIGNED, TraceSite("mid.py", 5, 5, 4, "value", 3), "1", -1),
        (FIRST, TraceSite("mid.py", 6, 6, 7, "decision", 0), "", 1),
        (SECOND, TraceSite("mid.py", 7, 7, 11, "decision", 1), "", 0),
        (THIRD, TraceSite("mid.py", 9, 9, 13, "decision", 2), "", 0),
        (RETURNED, TraceSite("mid.py", 16, 16, 4, "statement", -1), "1", -1),
        (ASSERTED, TraceSite("test_shop.py", 9, 9, 4, "assert", -1), "", -1),
    ]
    edges = [
        *[(GIVEN, READ + n, FLOW) for n in range(3)],
        *[(READ + n, STORED + n, FLOW) for n in range(3)],
        (Y, ASSIGNED, FLOW),
        *[(Y, FIRST, FLOW), (Z, FIRST, FLOW), (X, SECOND, FLOW), (Y, SECOND, FLOW), (X, THIRD, FLOW), (Z, THIRD, FLOW)],
        *[(FIRST, SECOND, CONTROL), (FIRST, THIRD, CONTROL), (SECOND, THIRD, CONTROL)],
        *[(ASSIGNED, RETURNED, FLOW), (THIRD, RETURNED, SUMMARY), (RETURNED, ASSERTED, FLOW)],
    ]
    count = len(nodes)
    return DependenceTrace(
        "test_shop.py::test_mid",
        tuple(site for _, site, _, _ in nodes),
        DependenceGraph.from_edges(count, edges),
        np.zeros(count, np.int32),
        np.array([outcome for *_, outcome in nodes], np.int8),
        [value for _, _, value, _ in nodes],
        ASSERTED,
        np.isin(np.arange(count), (GIVEN, ASSERTED)),
        (),
    )


def points_of_mid():
    return {
        **{STORED + n: StatePoint("mid.py", n, 1) for n in range(3)},
        ASSIGNED: StatePoint("mid.py", 3, 1),
        **{FIRST + n: StatePoint("mid.py", n, 1) for n in range(3)},
    }


def searched(alterations, technique="mdfs", **more):
    search = CauseNarrowing(trace_of_mid(), alterations, technique, read=lambda file: PROGRAMS[file].encode(), **more)
    return search, list(search.steps())


@pytest.mark.parametrize("solver", [SmtSolver(), None], ids=["solver", "pools"])
def test_real_runs_give_the_cuts_and_causes_of_the_paper(subject, solver):
    alterations = subject.alterations("mid", points_of_mid(), (FIRST, SECOND, THIRD), solver)
    search, steps = searched(alterations)
    assert [[(one.line, one.polluted) for one in step.cut] for step in steps] == [
        [(5, True), (9, True)],  # v4 and v9: of both minimum cuts the one nearest to the failure
        [(6, False), (7, False)],  # v5 and v7
    ]
    report = search.report
    assert [state.line for state in report.roots] == [5, 9]  # statements 2 and 6
    assert report.complete
    assert report.alterations <= 6


def test_each_alteration_of_the_example_is_made_once(subject):
    alterations = subject.alterations("mid", points_of_mid(), (FIRST, SECOND, THIRD), SmtSolver())
    made = []
    run = alterations.run
    alterations.run = lambda job, **how: made.append(job) or run(job, **how)
    searched(alterations)
    altered = [job for job in made if job["switched"] or job["replaced"]]
    values = [[(one["number"], one["text"], one["symbol"] != "") for one in job["replaced"]] for job in altered]
    assert values == [[(3, "i1", True)], [(3, "i2", False)], [], [], [], []]
    assert [[number for _, number, _ in job["switched"]] for job in altered] == [[], [], [2], [0], [1], [0, 1]]
    # the first step leaves the decision of line 9 alone, as `m = y` is only an input under another name
    assert [[number for _, number, _ in job["watched"]] for job in altered] == [[], [], [], [2], [2], [2]]


def test_a_run_is_altered_in_several_places_and_decisions_are_watched(subject):
    points = {
        n: StatePoint("shop.py", subject.place("door", "shop.py", line, "decision"), 1)
        for n, line in ((0, 11), (1, 13))
    }
    alterations = subject.alterations("door", points, (0, 1))
    assert not alterations.polluted((0,), PASSES)
    assert not alterations.polluted((1,), PASSES)
    assert alterations.polluted((0, 1), PASSES)
    assert alterations.polluted((0, 1), Property(({0: False},)))
    assert not alterations.polluted((0,), Property(({0: False},)))  # the test fails all the same
    count = alterations.count
    alterations.polluted((0, 1), PASSES)
    assert alterations.count == count  # what is known is not run again


def test_symbols_find_what_no_pool_has(subject):
    """A number inside an object has to pass a decision; a text has to be one that is only compared with.

    For the latter the solver needs to know which decision has to come out the other way.
    """
    rate = {0: StatePoint("shop.py", subject.place("price", "shop.py", 19, "value"), 1)}
    assert subject.alterations("price", rate, (), SmtSolver()).polluted((0,), PASSES)
    text = {
        0: StatePoint("shop.py", subject.place("price", "shop.py", 20, "value"), 1),
        1: StatePoint("shop.py", subject.place("price", "shop.py", 21, "decision"), 1),
    }
    wanted = Property(({1: True},))
    assert subject.alterations("price", text, (1,), SmtSolver()).polluted((0,), wanted)
    assert not subject.alterations("price", text, (1,)).polluted((0,), wanted)


def test_what_was_computed_on_two_ways_is_altered_together(subject):
    """A sum and the list of its parts: neither alone makes the test pass, and each has its place in the text."""
    points = {n: StatePoint("shop.py", subject.place("bill", "shop.py", 41 + n, "value"), 1) for n in range(2)}
    alterations = subject.alterations("bill", points, ())
    assert not alterations.polluted((0,), PASSES)
    assert not alterations.polluted((1,), PASSES)
    count = alterations.count
    assert alterations.polluted((0, 1), PASSES)
    assert alterations.count == count + 1


def test_a_number_inside_an_object_gets_what_stands_in_its_place(subject):
    points = {0: StatePoint("shop.py", subject.place("paid", "shop.py", 47, "value"), 1)}
    assert subject.alterations("paid", points, ()).polluted((0,), PASSES)


def test_numbers_are_moved_to_where_comparisons_become_equal(subject):
    points = {0: StatePoint("shop.py", subject.place("total", "shop.py", 31, "value"), 1)}
    assert subject.alterations("total", points, ()).polluted((0,), PASSES)


def test_the_empty_number_is_tried_where_nothing_is_compared(subject):
    points = {0: StatePoint("shop.py", subject.place("rest", "shop.py", 36, "value"), 1)}
    assert subject.alterations("rest", points, (), SmtSolver()).polluted((0,), PASSES)


def test_a_search_ends_when_the_time_is_up_and_keeps_what_is_known(subject):
    alterations = subject.alterations("mid", points_of_mid(), (FIRST, SECOND, THIRD), end=0.0)
    with pytest.raises(TimeIsUp):
        alterations.polluted((FIRST,), PASSES)
    search, steps = searched(alterations)
    assert steps == []
    assert search.report.roots == ()
    assert not search.report.complete

    late = subject.alterations("mid", points_of_mid(), (FIRST, SECOND, THIRD))
    run = late.run

    def stopping(job, **how):
        if job["switched"]:
            late.end = 0.0
        return run(job, **how)

    late.run = stopping
    search, steps = searched(late)
    assert [state.line for state in search.report.roots] == [5, 9]
    assert not search.report.complete


def test_nodes_that_can_not_be_altered_are_not_polluted(subject):
    alterations = subject.alterations("mid", {}, ())
    assert not alterations.polluted((3,), PASSES)
    assert alterations.count == 0


def test_an_altered_run_says_where_it_failed(subject):
    alterations = subject.alterations("total", {}, ())
    run = alterations.altered(AlteredStates(replaced=(NewValue(StatePoint("shop.py", 0, 1), (), 1),)))
    assert run.answer.outcome is ExperimentOutcome.NOT_REACHED
    kind, (file, line) = alterations.place_of_failure(run)
    assert (kind, file.endswith("test_shop.py"), line) == ("AssertionError", True, 25)


# techniques and reports


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_all_techniques_find_a_fault_of_the_example(subject, technique):
    alterations = subject.alterations("mid", points_of_mid(), (FIRST, SECOND, THIRD))
    search, _ = searched(alterations, technique)
    report = search.report
    assert report.complete
    assert {5, 9} & {state.line for state in report.roots}


def test_suspicious_states_are_preferred_by_the_weighted_technique(subject):
    alterations = subject.alterations("mid", points_of_mid(), (FIRST, SECOND, THIRD))
    _, steps = searched(alterations, "weighted-mdfs", at=lambda file, line: 1.0 if line in (5, 9) else 0.1)
    assert [one.line for one in steps[0].cut] == [5, 9]


@pytest.mark.parametrize(
    ("edges", "cause"),
    [
        ([], "depends on nothing that the program does"),
        ([(RETURNED, ASSERTED, FLOW)], "depends on no decision and no assigned value that can be altered"),
    ],
)
def test_a_failure_for_which_nothing_can_be_altered_is_refused(edges, cause):
    trace = replace(trace_of_mid(), graph=DependenceGraph.from_edges(13, edges))
    nothing = StateAlterations(None, {}, frozenset(), KnownValues(NotedValues({}, {}, ())))
    with pytest.raises(EvidenceError, match=cause):
        CauseNarrowing(trace, nothing)


def test_the_report_has_the_chain_from_the_root_to_the_failure(subject, tmp_path):
    alterations = subject.alterations("mid", points_of_mid(), (FIRST, SECOND, THIRD))
    search, steps = searched(alterations)
    report = search.report
    assert [state.line for state in report.chain] == [5, 16, 9]
    assert str(steps[0]) == "the search goes on before mid.py:9"
    assert str(steps[1]) == "the search goes on after mid.py:6, 7, and before mid.py:9"
    assert steps[0].share == pytest.approx(1 - steps[0].left / 12)
    assert [state.line for state in report.around] == [2, 3, 4, 6, 7, 16]
    out = StringIO()
    write_json(report.to_json(), out)
    found = json.loads(out.getvalue())
    listed = ["roots", "transitive", "around", "guessed", "cuts", "states", "alterations", "complete", "seconds"]
    assert list(found) == [*listed, "fails_later", "change"]
    place = {"file": "mid.py", "line": 5, "end_line": 5, "instance": 1, "column": 0, "operand": ""}
    assert found["roots"][0] == {**place, "value": "1"}
    assert found["roots"][1]["value"] == "false"
    assert found["cuts"][0][0] == {"file": "mid.py", "line": 5, "instance": 1, "polluted": True}
    assert found["states"] == 4
    text = StringIO()
    write_text(report, text, Sources(subject.folder))
    assert "mid.py:5  m = y  # statement 2: it should be z  → 1" in text.getvalue()


def test_what_the_user_knows_narrows_the_search_without_a_run(subject):
    """Section 6.2: the paper's algorithm takes a decision for wrong that the user knows to be right."""
    alterations = subject.alterations("mid", points_of_mid(), (FIRST, SECOND, THIRD))
    search, steps = searched(alterations, judgements=[Judgement("mid.py", 9, 0, right=True)])
    assert 9 not in {member.line for step in steps for member in step.cut}
    assert [state.line for state in search.report.roots] == [5]
    search, steps = searched(alterations, judgements=[Judgement("mid.py", 9, 1, right=False)])
    assert [state.line for state in search.report.roots] == [9]
    assert {member.line for step in steps for member in step.cut} <= {2, 3, 4, 6, 7}
    with pytest.raises(EvidenceError, match=r"no state of mid.py:9 \(time 2\)"):
        searched(alterations, judgements=[Judgement("mid.py", 9, 2, right=False)])


def test_the_user_is_asked_about_what_would_make_the_test_pass(subject):
    alterations = subject.alterations("mid", points_of_mid(), (FIRST, SECOND, THIRD))
    asked = []
    search, _ = searched(alterations, ask=lambda state: asked.append(state.line) or (True if state.line == 9 else None))
    assert asked == [5, 9]  # and nothing of states that are not polluted
    assert [state.line for state in search.report.roots] == [5]


@pytest.mark.parametrize(
    ("text", "place"), [("a.py:3", ("a.py", 3, 0)), ("a.py:3:2", ("a.py", 3, 2)), ("C:\\a.py:3", ("C:\\a.py", 3, 0))]
)
def test_a_judgement_names_a_line_and_perhaps_a_time(text, place):
    assert Judgement.from_text(text, right=True)[:3] == place


@pytest.mark.parametrize("text", ["a.py", "a.py:0", ":3", "a.py:x", "a.py:3:0"])
def test_a_judgement_of_nothing_is_refused(text):
    with pytest.raises(ValueError, match=text):
        Judgement.from_text(text, right=True)


def test_a_report_without_causes_says_so():
    text = StringIO()
    write_text(CauseReport("test_a", (), (), (), (), (), 3, False, 1.0), text, Sources("."))
    assert "No state was found with which test_a would pass." in text.getvalue()
    assert "3 altered runs in 1.0 s; the search was stopped before its end" in text.getvalue()
    assert "--seconds" in text.getvalue()
    text = StringIO()
    write_text(CauseReport("test_a", (), (), (), (), (), 3, True, 1.0), text, Sources("."))
    assert "--seconds" not in text.getvalue()
    line = CauseState("a.py", 40, 40, 1, "3")
    assert str(Narrowing((), (), (), 9, 0)) == "the search ends where inputs are used"
    between = Narrowing((), (line._replace(line=88),), (line,), 9, 3)
    assert str(between) == "the search goes on between a.py:88 and a.py:40"


# the command


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    for name, text in PROGRAMS.items():
        (folder / name).write_text(text)
    record = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST, "-q"]
    subprocess.run(record, cwd=folder, capture_output=True, check=False)
    assert (folder / ".suspectra" / "recording").exists()
    return folder


def causes(folder, *arguments):
    return run(["causes", "--workspace", str(folder), *arguments, "--", *PYTEST])


@pytest.mark.slow
def test_the_command_traces_the_test_and_says_what_is_wrong(recorded, capsys):
    assert causes(recorded, "*_total", "--format", "json") == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["complete"]
    assert found["alterations"] > 0
    assert {state["file"] for state in found["roots"]} == {"shop.py"}
    assert {state["line"] for state in found["roots"]} <= {29, 30, 31, 32}
    assert "the search goes on before shop.py" in err
    assert causes(recorded, "*_total", "--technique", "single-step") == 0
    out = capsys.readouterr().out
    assert "Suspected causes of test_shop.py::test_total" in out
    assert {*re.findall("→ (.*)", out)} - {"true", "false"}


@pytest.mark.slow
def test_the_command_gives_the_cuts_and_causes_of_the_paper_and_can_hide_values(recorded, capsys):
    assert causes(recorded, "*_middle", "--format", "json", "--hide-values") == 0
    found = json.loads(capsys.readouterr().out)
    states = [state for key in ("roots", "transitive", "around") for state in found[key]]
    assert {state["value"] for state in states} <= {"", "true", "false"}
    assert [[(one["line"], one["polluted"]) for one in cut] for cut in found["cuts"]] == [
        [(5, True), (9, True)],  # v4 and v9: of both minimum cuts the one nearest to the failure
        [(6, False), (7, False)],  # v5 and v7
    ]
    assert [state["line"] for state in found["roots"]] == [9, 5]  # statements 2 and 6
    assert found["alterations"] <= 6
    assert found["complete"]


@pytest.mark.parametrize(
    ("test", "said"),
    [("test_shop.py::test_none", "no failing test has this in its name"), ("*none", "failing tests are: test_shop.py")],
)
def test_the_command_wants_a_failing_test(recorded, capsys, test, said):
    assert causes(recorded, test) == 2
    assert said in capsys.readouterr().err


def test_changed_sources_and_tests_that_pass_now_are_refused(recorded, capsys):
    shop, tests = recorded / "shop.py", recorded / "test_shop.py"
    shop.write_text(shop.read_text() + "\n")
    assert causes(recorded, "*_total") == 2
    assert "it was changed after the tests ran" in capsys.readouterr().err
    shop.write_text(PROGRAMS["shop.py"])
    tests.write_text(PROGRAMS["test_shop.py"].replace("== 4", "== 3"))
    assert causes(recorded, "*_total") == 2
    assert "test_total passes when it runs alone" in capsys.readouterr().err
    tests.write_text(PROGRAMS["test_shop.py"])


@pytest.mark.slow
def test_the_command_keeps_what_is_known_when_it_is_interrupted_and_works_without_z3(recorded, capsys, monkeypatch):
    def interrupted(step, out):
        raise KeyboardInterrupt

    monkeypatch.setattr("suspectra.output.causes.write_narrowing", interrupted)
    monkeypatch.setattr("suspectra.causes.solver.is_available", lambda: False)
    assert causes(recorded, "*_total") == 130
    out, err = capsys.readouterr()
    assert "Suspected causes" in out
    assert "the search was stopped before its end" in out
    assert "Z3" not in err, "it is worth advice only where nothing was found"


@pytest.mark.slow
def test_the_techniques_are_listed_with_when_not_to_use_them(capsys):
    assert run(["techniques"]) == 0
    listed = capsys.readouterr().out
    assert all(f"  {name} " in listed for name in TECHNIQUES)
    assert "not for code that only computes" in listed
    assert run(["techniques", "--format", "json"]) == 0
    advice = {one["name"]: one["advice"] for one in json.loads(capsys.readouterr().out)}
    assert "Not for code that only computes" in advice["mdfs"]
