"""The combination of all experiments: how they change a ranking, and which of them is made next."""

import io
import json
import subprocess
import sys
import time
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest

from suspectra.base.location import Location
from suspectra.base.technique_info import Need
from suspectra.cli.main import run
from suspectra.evidence.discovery import find_source
from suspectra.evidence.evidence import TestResult, Verdict
from suspectra.experiments.alterations.mutants import Mutation
from suspectra.experiments.alterations.switching import switches
from suspectra.experiments.altered_runs import Runs
from suspectra.experiments.experiment_inquiry import ExperimentInquiry
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.machine import Machine
from suspectra.experiments.repeated_test import RepeatedTest
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.run_answers import AlteredRunAnswer, DecisionSite, Trace
from suspectra.experiments.streams import RUNS, STREAMS, by_suspicion
from suspectra.experiments.suspicion import Suspicion, called_by, function_turns, top_suspects
from suspectra.mutation.excerpt import excerpt
from suspectra.mutation.mutant import mutants
from suspectra.mutation.parsed_source import ParsedSource
from suspectra.output.investigation import InvestigationProgress
from suspectra.program import Program
from suspectra.runs.experiment import COMBINATION, EVERY, KINDS, Experiment, ExperimentOutcome
from suspectra.spectrum import Elements, Function, Spectrum
from suspectra.techniques import make_technique, technique_infos
from suspectra.techniques.experiments.findings import findings_in_words
from suspectra.techniques.experiments.investigation import scores
from suspectra.techniques.experiments.repairs import Repair, repairs

# the failing tests t1 and t2, the passing ones t3 and t4; statements on lines 1 to 6
SPECTRUM = Spectrum.from_matrix(
    [[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 0, 1], [1, 1, 1, 0, 0, 1], [1, 1, 0, 0, 0, 1]], failed=[True, True, False, False]
)


def made(test, line, outcome=ExperimentOutcome.PASSED, *, kind="switch", **other):
    one = Experiment(test, kind, "program", line, line, 0, "if", EVERY, "false", outcome, 0.01)
    return replace(one, **other)


def ranked(*experiments, spectrum=SPECTRUM):
    report = make_technique("investigation").localize(spectrum, Program((), experiments=experiments))
    return report, [suspect.location.line for suspect in report.suspects()]


def test_without_repairs_it_is_the_ranking_by_all_evidence():
    evidence = make_technique("evidence").localize(SPECTRUM)
    report, _ = ranked()
    np.testing.assert_array_equal(report.level, evidence.level)
    np.testing.assert_array_equal(report.tie_of_level, evidence.tie_of_level)
    assert [report.explain(0).substituted, report.explain(1).substituted] == ["1 / 1^1.4", "1 / 2^1.4"]


def test_what_was_tried_in_vain_comes_after_what_has_the_same_rank_and_before_all_else():
    evidence = make_technique("evidence").localize(SPECTRUM)
    levels = evidence.level.tolist()
    tied = next(level for level in levels if level >= 0 and levels.count(level) > 1)
    first, *others = [element for element, level in enumerate(levels) if level == tied]
    report, _ = ranked(made("t1", first + 1, ExperimentOutcome.FAILED))
    assert all(report.level[first] == 1 + report.level[other] for other in others)
    rest = [element for element, level in enumerate(levels) if level > tied]
    assert all(report.level[first] < report.level[other] for other in rest)
    position = int(report.position[first])
    assert report.explain(position).sentences[0] == "1 alteration here was tried, and no test passes with any."


def test_one_difference_for_all_failing_tests_comes_before_another_value_for_each():
    values = [made(test, line, kind="value", place="a", detail=test) for test in ("t1", "t2") for line in (1, 3)]
    _, before = ranked(*values)
    assert before.index(3) < before.index(1)
    shifts = [made(test, 1, kind="shift", place="a", detail="greater by 2") for test in ("t1", "t2")]
    report, lines = ranked(*values, *shifts)
    assert lines[:2] == [1, before[0]]
    assert report.in_words(0)[0] == "Both failing tests pass if a is greater by 2."
    accepted = [made(test, 3, kind="mutant", detail="`<` → `<=`") for test in ("t1", "t2")]
    accepted += [made("t3", 3, kind="mutant", detail="`<` → `<=`")]
    assert ranked(*values, *shifts, *accepted)[1][0] == 3


def test_what_repairs_comes_before_all_that_was_tried_in_vain_but_not_before_what_was_not_tried():
    _, before = ranked()
    _, *tried, last = before
    vain = [made("t1", line, ExperimentOutcome.FAILED) for line in tried]
    for kind in ("mutant", "value", "switch"):
        _, after = ranked(made("t1", last, kind=kind), *vain)
        assert after.index(last) < min(after.index(line) for line in tried), kind
    # one that breaks all passing tests repairs nothing
    breaks = [made(test, last, ExperimentOutcome.FAILED, kind="mutant") for test in ("t3", "t4")]
    _, after = ranked(made("t1", last, kind="mutant"), *breaks, *vain)
    assert after.index(last) > min(after.index(line) for line in tried)


def test_an_explanation_tells_only_what_helps():
    _, before = ranked()
    found = [made("t1", before[0], kind="value", place="x", detail=str(number)) for number in range(5)]
    report, after = ranked(*found)
    assert after[0] == before[0]
    first, second, others, *left = report.explain(0).sentences
    assert [first, second] == report.in_words(report.suspect(0).element)[:2]
    assert others == "Other alterations here repair a failing test, too."
    assert not any("the only statement" in one or "Without experiments" in one for one in left)


def test_a_repair_raises_a_statement_and_lowers_no_other():
    _, before = ranked()
    second = before[1]
    others = (made("t1", line, ExperimentOutcome.FAILED) for line in before if line != second)
    report, after = ranked(made("t1", second), made("t2", second), *others)
    assert after == [second, *(line for line in before if line != second)]
    assert report.explain(0).sentences[0] == "Both failing tests pass if this comes out false."
    said = "Of 6 statements that were tried the other way, only this one repairs so much."
    assert said in report.explain(0).sentences
    assert report.explain(0).substituted == "8.75^1 / 2^1.4"
    assert report.suspect(0).score == pytest.approx(8.75 / 2**1.4)


def test_a_repair_says_the_less_the_more_statements_have_one():
    alone = repairs([made("t1", 1), *(made("t1", line, ExperimentOutcome.FAILED) for line in (2, 3, 4))], SPECTRUM)
    common = repairs([made("t1", line) for line in (1, 2, 3, 4)], SPECTRUM)
    factors = alone[0][0].factor, *(common[element][0].factor for element in range(4))
    assert factors[0] > factors[1] == factors[4] >= 1


def test_one_repair_among_few_statements_may_be_chance():
    few, many = (Repair("switch", 1.0, as_good=1, tried=tried).factor for tried in (3, 30))
    assert few < many < 2 * few


def test_half_of_the_tests_say_less_than_half_of_what_all_say():
    half, whole = (Repair("mutant", share, as_good=1, tried=20).factor for share in (0.5, 1.0))
    assert 1 < half < whole**0.5


def test_a_test_that_does_not_execute_a_statement_counts_and_one_that_was_not_tried_is_expected_to_follow():
    found = repairs([made("t1", 5), made("t2", 1, ExperimentOutcome.FAILED), made("t1", 2)], SPECTRUM)
    assert found[4][0].share == 0.5, "t2 fails elsewhere"
    assert found[1][0].share == pytest.approx((1 + 2 / 3) / 2), "t2 was not tried there"
    assert found[4][0].factor == found[4][0].likelihood ** 0.25


def test_a_repair_of_one_test_says_less_than_of_all_that_execute_the_statement():
    names = [f"t{number}" for number in range(1, 15)]
    spectrum = Spectrum.from_matrix([[1, 1]] * 15, failed=[True] * 14 + [False])
    change = {"kind": "mutant", "detail": "`>` → `>=`"}
    everywhere = [made(test, 1, **change) for test in (*names, "t15")]
    once = [made("t1", 2, **change), made("t15", 2, **change)]
    found = repairs([*everywhere, *once], spectrum)
    assert (found[0][0].share, found[0][0].accepted) == (1, True)
    assert found[1][0].share == pytest.approx((1 + 13 * 2 / 3) / 14)
    assert not found[1][0].accepted, "13 failing tests were not run with it"
    assert found[0][0].factor > found[1][0].factor > 1


def test_all_kinds_are_measured_by_the_same_failing_tests():
    change = {"kind": "mutant", "detail": "`>` → `>=`"}
    found = repairs([made("t1", 2), *(made(test, 1, **change) for test in ("t1", "t2"))], SPECTRUM)
    assert found[0][0].share == 1
    assert found[1][0].share == pytest.approx((1 + 2 / 3) / 2), "it was switched with one of two"


def test_a_mutant_that_breaks_passing_tests_counts_for_less():
    good, bad = ({"kind": "mutant", "detail": detail} for detail in ("`>` → `>=`", "`>` → `<`"))
    first = [made(f"t{n}", 1, **good) for n in range(1, 5)]
    second = [made("t1", 2, **bad), made("t3", 2, **bad), made("t4", 2, ExperimentOutcome.FAILED, **bad)]
    second.append(made("t2", 2, **bad))
    found = repairs([*first, *second], SPECTRUM)
    assert [(found[n][0].share, found[n][0].as_good) for n in (0, 1)] == [(1, 1), (0.5, 2)]
    assert found[0][0].factor == 31, "of two statements one has a change that all tests accept"
    assert not repairs([made("t1", 1, **good), made("t2", 1, **good)], SPECTRUM)[0][0].accepted, (
        "no passing test was run"
    )
    assert repairs([made("t1", 5, **good)], SPECTRUM)[4][0].accepted, "no passing test executes it"
    nothing = [made("t1", 3, **bad), *(made(test, 3, ExperimentOutcome.FAILED, **bad) for test in ("t3", "t4"))]
    assert repairs(nothing, SPECTRUM)[2][0].factor == 1, "it breaks as much as it repairs"
    many = Spectrum.from_matrix([[1, 1]] * 7, failed=[True] * 6 + [False])
    worst = [made(f"t{n}", 1, **bad) for n in range(1, 7)] + [made("t7", 1, ExperimentOutcome.FAILED, **bad)]
    assert repairs(worst, many)[0][0].share == 0, "it breaks all passing tests that were run"


def test_a_guard_ranks_behind_the_others_that_repair_and_never_behind_what_was_not_tried():
    _, before = ranked()
    guard, other, untried = before[0], before[-1], before[1]
    _, after = ranked(made("t1", guard, guard=True), made("t1", other), made("t1", untried, ExperimentOutcome.FAILED))
    assert after == [other, *before[:-1]]
    report, after = ranked(made("t1", 2, guard=True))
    assert after == before, "not to raise says nothing about the fault"
    assert "This is where it is noticed" in report.explain(after.index(2)).sentences[1]


def test_a_guard_stays_before_repairs_that_say_little():
    base = make_technique("evidence").localize(SPECTRUM)
    *_, guard, last = base.order.tolist()
    hiding = (Repair("switch", 1.0, as_good=1, tried=20, hides=True),)
    good = Repair("value", 1.0, as_good=1, tried=20)
    weak = replace(good, as_good=16)
    assert 1 < weak.factor < 2
    for repair, behind in ((weak, True), (replace(good, tried=2, share=0.8), False)):
        score = scores(base, {guard: hiding, last: (repair,)})
        assert bool(score[last] < score[guard]) is behind


def test_further_kinds_that_repair_count_half():
    base = make_technique("evidence").localize(SPECTRUM)
    switched, replaced = Repair("switch", 1.0, as_good=1, tried=20), Repair("value", 1.0, as_good=2, tried=20)
    one, two = scores(base, {0: (switched,)})[0], scores(base, {0: (replaced, switched)})[0]
    assert two / one == pytest.approx(replaced.factor**0.5)
    switched, replaced = ([made(test, 4, kind=kind) for test in ("t1", "t2")] for kind in ("switch", "value"))
    report, lines = ranked(*switched, *replaced, made("t2", 2, ExperimentOutcome.FAILED))
    assert report.explain(lines.index(4)).substituted.startswith("7.75^1 * 3^0.5 / ")


def test_a_mutant_of_a_guard_that_passing_tests_need_does_not_only_hide():
    better = [made(test, 2, kind="mutant", detail="`>` → `>=`", guard=True) for test in ("t1", "t3")]
    removed = {"kind": "mutant", "detail": "`raise` → `pass`", "guard": True}
    assert repairs(better, SPECTRUM)[1][0].hides
    found = repairs([*better, made("t1", 2, **removed), made("t4", 2, ExperimentOutcome.FAILED, **removed)], SPECTRUM)
    assert not found[1][0].hides


class OneCheck(Runs):
    """A test that passes if anything is altered; unaltered, its only check comes out true or false."""

    def __init__(self, came_out, failing=True):
        super().__init__()
        self.came_out, self.failing = came_out, failing

    def ask(self, test, jobs, *, steps, seconds, end, keep=False):
        sites = [("cart.py", 0, [("if", 2, 7, 2, 16, 2)])]
        for job in jobs:
            passes = job["kind"] in ("switch", "mutant") or not self.failing
            outcome = {"outcome": "passed" if passes else "failed", "exception": "", "seconds": 0.01}
            yield {**outcome, "decisions": [self.came_out], "sites": sites}

    def close(self):
        pass


@pytest.mark.parametrize("failing", [True, False])
@pytest.mark.parametrize("came_out", [0, 1])
def test_a_check_is_hidden_only_where_the_failing_test_raised_something(came_out, failing):
    source = ParsedSource(b"def pay(total):\n    if total > 5:\n        raise ValueError\n")
    mutations = [Mutation("cart.py", source, one) for one in mutants(source) if one.edit.line == 2]
    assert any(one.mutant.guard for one in mutations)
    test = RepeatedTest("t1", OneCheck(came_out, failing), fails=failing)
    mutated = test.experiments([one for one in mutations if one.mutant.guard], end=time.monotonic() + 120)
    assert {one.guard for one in mutated} == {came_out == 1 or not failing}
    switched = test.experiments(switches(test.trace), end=time.monotonic() + 120)
    assert {one.guard for one in switched} == {came_out == 1}


def test_only_tests_of_the_ranked_group_count():
    assert not repairs([made("t9", 1), made("t3", 1)], SPECTRUM)


def test_of_very_many_switches_only_those_that_are_asked_for_are_made():
    places = tuple(DecisionSite("cart.py", number, "if", 10 + number, 0, 10 + number, guard=0) for number in range(3))
    decisions = np.tile(np.array([1, 2, 5]), 40_000)
    trace = Trace(AlteredRunAnswer(ExperimentOutcome.FAILED, 0.1, ""), places, decisions, {})
    made_now = []

    def counted():
        for switch in switches(trace, lambda place: place.number != 1):
            made_now.append(switch)
            yield switch

    first = list(islice(by_suspicion(counted(), "t1", lambda file, line: float(line)), 200))
    assert len(made_now) < 10_000
    assert [(one.place.line, one.instance) for one in first[:2]] == [(12, EVERY), (10, EVERY)]
    assert {one.place.line for one in first} == {10, 12}
    few = [one for one in made_now[2:22] if one.place.line == 12]
    assert [one.instance for one in few] == list(range(40_000, 39_990, -1))
    assert len(made_now) == len(set(made_now))


# what is printed


@pytest.mark.slow
def test_a_test_that_does_not_come_there_so_often_is_not_left_to_try(tmp_path, monkeypatch, capsys):
    (tmp_path / "words.py").write_text(
        "def vowels(text):\n    found = 0\n    for letter in text:\n"
        "        if letter in 'aeio':\n            found += 1\n    return found\n"
    )
    (tmp_path / "test_words.py").write_text(
        "from words import vowels\n\n\ndef test_long():\n    assert vowels('cacatu') == 3\n\n\n"
        "def test_short():\n    assert vowels('tu') == 1\n"
    )
    monkeypatch.chdir(tmp_path)
    record = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(record, capture_output=True, check=False)
    assert run(["investigate", "--technique", "switching"]) == 0
    assert "all that it alters was tried" in capsys.readouterr().out
    assert run(["explain", "words.py:4", "--technique", "switching"]) == 0
    said = capsys.readouterr().out
    assert "\nBoth failing tests pass if this comes out true once.\n" in said
    assert "not tried" not in said


@pytest.mark.parametrize(
    ("found", "sentences"),
    [
        (
            [made("t1", 2, instance=1), made("t2", 2)],
            ["Both failing tests pass if this comes out false, 1 of them if it does so only once."],
        ),
        (
            [made("t1", 2, instance=1), made("t2", 2, instance=3)],
            ["Both failing tests pass if this comes out false once."],
        ),
        ([made("t1", 2, instance=3), made("t2", 2, instance=3)], [
            "Both failing tests pass if this comes out false the 3rd time."
        ]),
        (
            [made("t1", 2), made("t1", 2, instance=2), made("t2", 2)],
            ["Both failing tests pass if this comes out false."],
        ),
        (
            [made("t1", 2, action="other", instance=1), made("t2", 2, action="other")],
            ["Both failing tests pass if this comes out the other way each time, 1 of them if it does so only once."],
        ),
        (
            [made(f"t{n}", 2, kind="value", place="pos", detail="1", instance=n) for n in (1, 2)],
            ["Both failing tests pass with pos = 1 once."],
        ),
        (
            [made(f"t{n}", 2, kind="value", place="pos", detail=str(n), instance=n) for n in (1, 2)],
            ["1 failing test passes with pos = 1 the 1st time.", "1 failing test passes with pos = 2 the 2nd time."],
        ),
        (
            [made("t1", 2, kind="value", place="pos", detail="1"),
             made("t2", 2, kind="value", place="pos", detail="1", instance=2)],
            ["Both failing tests pass with pos = 1, 1 of them if it is so only once."],
        ),
        (
            [made("t1", 2, place="for"), made("t2", 2, place="for", instance=2)],
            ["1 failing test passes if this loop has no round; 1 other was not tried.",
             "1 failing test passes if this loop ends at its 2nd round of the run."],
        ),
    ],
)  # fmt: skip
def test_a_decision_gets_one_sentence_whichever_time_it_is_turned(found, sentences):
    assert findings_in_words(found, 2) == sentences


def test_findings_are_folded_by_statement():
    out = io.StringIO()
    progress = InvestigationProgress(out, 3, lambda file, line: 4 if line == 5 else line)
    for test in ("t1", "t2", "t3"):
        progress.found(made(test, 2))
        progress.found(made(test, 2, kind="value", place="total", detail="3"))
    for number in range(1, 5):
        progress.found(made("t1", 3, instance=number))
    for line, test in ((4, "t2"), (5, "t1")):  # the second line of the statement
        progress.found(made(test, line, guard=True))
    progress.finish()
    assert out.getvalue().splitlines() == [
        "program:2: t1 passes if this comes out false",
        "program:2: all 3 failing tests pass if this comes out false",
        "program:3: t1 passes if this comes out false the 1st time",
        "program:4: t2 passes if this comes out false (where it is noticed: an exception is raised behind it)",
        "program:4: 2 failing tests pass if this comes out false",
    ]


# what is tried next

DISCOUNTS = "".join(f"    if sale == {number}:\n        result = {number}\n" for number in range(100, 120))
CART = f"""\
def total(prices, sale):
    result = 0
    if prices:
        result = 0 - sum(prices)
{DISCOUNTS}    return result
"""
TEST_CART = """\
import pytest
from cart import total

@pytest.mark.parametrize("prices", [[1], [2, 3], [5, 8, 13], [21], [34, 55]])
def test_total(prices):
    assert total(prices, 0) == sum(prices)

def test_nothing():
    assert total([], 0) == 0
"""


@pytest.mark.slow
def test_a_mutant_that_repairs_a_test_is_tried_with_the_others_of_its_group_next(tmp_path, capsys):
    (tmp_path / "cart.py").write_text(CART)
    (tmp_path / "test_cart.py").write_text(TEST_CART)
    command = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert run(["investigate", "--workspace", str(tmp_path), "--seconds", "60"]) == 0
    assert "repairs 5 tests and breaks none" in " ".join(capsys.readouterr().out.split())
    log = map(json.loads, (tmp_path / ".suspectra" / "experiments" / "log.jsonl").read_text().splitlines())
    made = [one for one in log if "[" in one.get("test", "")]
    first = {one["test"]: (one["kind"], one["outcome"]) for one in reversed(made)}
    assert len(first) == 5
    del first[made[0]["test"]]
    assert {*first.values()} == {("mutant", "passed")}, "all but the first test begin with what repaired that"


IMPORTED_LATE = """\
class Price:
    def __init__(self, net):
        self.net = net

    def gross(self):
        if self.net > 100:
            return 0
        return super().__getattribute__("net") * 20 + 1
"""


@pytest.mark.slow
def test_a_module_that_only_tests_import_is_loaded_with_mutants(tmp_path, capsys):
    (tmp_path / "shop.py").write_text(IMPORTED_LATE)
    for name, net in (("one", 3), ("two", 4)):
        text = f"def test_gross():\n    from shop import Price\n\n    assert Price({net}).gross() == {20 * net}\n"
        (tmp_path / f"test_{name}.py").write_text(text)
    pytest_ = ["--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run([sys.executable, "-m", "suspectra", "record", *pytest_], cwd=tmp_path, check=False)
    capsys.readouterr()
    options = ["--workspace", str(tmp_path), "--technique", "muse", "--format", "json", "--seconds", "60"]
    assert run(["investigate", *options, *pytest_]) == 0
    made = json.loads(capsys.readouterr().out)["experiments"]
    assert {one["outcome"] for one in made} == {"passed", "failed"}
    repaired = {(one["test"], one["action"]) for one in made if one["outcome"] == "passed"}
    assert {test for test, _ in repaired} == {"test_one.py::test_gross", "test_two.py::test_gross"}


def test_a_module_that_was_loaded_with_a_mutant_is_what_it_was_afterwards(tmp_path):
    (tmp_path / "shop.py").write_text(IMPORTED_LATE)
    (tmp_path / "test_one.py").write_text(
        "def test_gross():\n    from shop import Price\n\n    assert Price(3).gross() == 60\n"
    )
    parsed = ParsedSource(IMPORTED_LATE.encode())
    repair = next(one for one in mutants(parsed) if one.description.endswith(" * 20`") and "+ 1" in one.description)
    made = excerpt(parsed, repair)
    mutant = {
        "kind": "mutant",
        "file": "shop.py",
        "source": made.text,
        "functions": [list(name) for name in made.functions],
    }
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    with Machine(command, tmp_path, "test_one.py", ["test_one.py::test_gross"], kinds=("mutant",)) as machine:
        jobs = [mutant, {"kind": "plain"}, mutant, {"kind": "plain"}]
        answers = machine.ask("test_one.py::test_gross", jobs, steps=1_000, seconds=60)
    assert [answer["outcome"] for answer in answers] == ["passed", "failed", "passed", "failed"]
    assert {answer["exception"] for answer in answers} == {"", "AssertionError"}
    assert [answers[place]["reached"] for place in (0, 2)] == [1, 1]


def test_every_technique_that_needs_experiments_can_be_investigated():
    names = {info.name for info in technique_infos() if Need.EXPERIMENTS in info.needs}
    assert names == set(KINDS)
    published = make_technique("muse", form="published").kinds
    assert published == make_technique("muse", form="museum").kinds != make_technique("muse").kinds
    streams = {kind for kinds in (published, *KINDS.values()) for kind in kinds}
    assert streams == set(STREAMS)
    assert set(KINDS[COMBINATION]) <= {RUNS.get(kind, kind) for kind in streams}


# where experiments are made

CALLER = b"def caller():\n    return helper()\n\ndef helper():\n    a = 1\n    return a\n"


OFTEN_AND_ONCE = """
import time
from cart import price, total

def test_often():
    for n in range(30):
        time.sleep(0.01)
        last = price(n)
    assert last == 29

def test_once():
    assert total(20) == 20
"""


@pytest.mark.slow
def test_a_quick_test_is_investigated_before_one_that_executes_less(tmp_path):
    cart = "def price(net):\n    return net + 1\n\n\ndef total(net):\n    gross = price(net)\n    return gross\n"
    (tmp_path / "cart.py").write_text(cart)
    (tmp_path / "test_cart.py").write_text(OFTEN_AND_ONCE)
    record = [sys.executable, "-m", "suspectra", "record", "--", sys.executable, "-m", "pytest", "-q"]
    assert subprocess.run(record, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    suspicion = Suspicion(find_source(tmp_path, edges=True).read())
    names = ["test_cart.py::test_often", "test_cart.py::test_once"]
    assert len(suspicion.groups) == 1
    assert suspicion.in_turn(names) == names[::-1]


def test_the_first_suspects_in_three_files_and_what_they_call():
    files = tuple(f"{name}.py" for name in "abcde")
    line = np.array([2, 5, 6, *range(1, 31), 1, 1, 1], np.int32)
    file = np.array([0] * 3 + [1] * 30 + [2, 3, 4], np.int32)
    functions = (Function(0, "caller", 1, 2), Function(0, "helper", 4, 6))
    function = np.array([0, 1, 1] + [-1] * 33, np.int32)
    elements = Elements(files, file, line, line, function, functions)
    every = np.arange(len(line), dtype=np.int32)
    # the first of each file executes in no passing test, each further statement of b.py in one more than the last
    suspects = {0: 0, 33: 0, 34: 0, 35: 0} | {3 + number: number for number in range(30)} | {1: 31, 2: 31}
    rows = [every, *(np.array([e for e in every if suspects[int(e)] > number], np.int32) for number in range(31))]
    spectrum = Spectrum(tuple(f"t{n}" for n in range(32)), np.arange(32) == 0, elements, tuple(rows), every >= 0)
    report = make_technique("ochiai").localize(spectrum)
    top = top_suspects(report)
    assert {files[number] for number in file[top]} == {"a.py", "b.py", "c.py"}
    assert line[top[file[top] == 1]].tolist() == list(range(1, 17)), "five of rank 1, and those of rank 6 to 20"
    program = Program((SimpleNamespace(path="a.py", digest=None),), source_of=lambda path: CALLER)
    assert called_by(top, report, program).tolist() == [1, 2], "helper, whose own rank is behind 20"


def test_all_other_statements_follow_function_by_function():
    functions = (Function(0, "first", 1, 2), Function(0, "second", 3, 4), Function(1, "third", 1, 2))
    line, file = np.array([1, 2, 3, 4, 1, 2, 9], np.int32), np.array([0, 0, 0, 0, 1, 1, 1], np.int32)
    elements = Elements(("a.py", "b.py"), file, line, line, np.array([0, 0, 1, 1, 2, 2, -1], np.int32), functions)
    suspicion = np.array([1.0, 0.9, 0.2, 0.1, 0.15, 0.8, 0.05])
    later = np.array([False, True, True, True, True, True, True])
    assert function_turns(elements, suspicion, later).tolist() == [0, 1, 3, 3, 2, 2, 4]
    assert function_turns(elements, suspicion, later & False).tolist() == [0] * 7


MANY = "def total(prices):\n" + "".join(f"    a{n} = prices[0]\n" for n in range(30)) + "    return sum(prices)\n\n\n"
MANY += "def gross(net):\n    tax = net * 3\n    return net - tax\n"
OF_MANY = "from many import gross, total\n\ndef test_all():\n    assert (total([2]), gross(1)) == (2, 4)\n"


@pytest.mark.slow
def test_no_statement_that_a_failing_test_executes_is_left_out(tmp_path):
    (tmp_path / "many.py").write_text(MANY)
    (tmp_path / "test_many.py").write_text(OF_MANY + "\ndef test_none():\n    assert gross(0) == 0\n")
    command = [sys.executable, "-m", "pytest", "-q"]
    record = [sys.executable, "-m", "suspectra", "record", "--", *command]
    assert subprocess.run(record, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    suspicion = Suspicion(find_source(tmp_path, edges=True).read())
    turns = {line: suspicion.turn(0, "many.py", line) for line in (2, 31, 32, 36, 37)}
    assert turns == {2: 0, 31: 0, 32: 0, 36: 1, 37: 1}
    assert min(suspicion.at(0, "many.py", line) for line in (2, 31, 32)) > 1000 * suspicion.at(0, "many.py", 37) > 0
    inquiry = ExperimentInquiry(
        RerunSetup(tmp_path, command),
        [FailingTest("test_many.py::test_all", "test_many.py")],
        suspicion,
        kinds=["mutant"],
    )
    made = list(inquiry.steps())
    assert inquiry.complete
    lines = [one.line for one in made if one.test.endswith("test_all")]
    assert 37 in [one.line for one in made if one.outcome.repairs]
    assert min(map(lines.index, (36, 37))) > len(lines) - lines[::-1].index(32) - 1, "after all of the first suspects"


@pytest.mark.parametrize(
    ("name", "location", "file"),
    [
        ("test_b.py::TestB::test_sum", "base.py", "test_b.py"),  # inherited
        ("test_b.py::test_sum", "test_b.py", "test_b.py"),
        ("test_b.py::test_sum", "inner/test_b.py", "inner/test_b.py"),  # pytest ran in a folder of the workspace
        ("test_b.py::test_sum", None, "test_b.py"),
        ("test_b.TestB.test_sum", "test_b.py", "test_b.py"),  # recorded by unittest
    ],
)
def test_a_test_is_run_in_the_module_that_has_it_not_where_it_is_defined(name, location, file):
    result = TestResult(name, Verdict.FAILED, location and Location(location, 4, 6))
    assert FailingTest.from_result(result)[:3] == (name, file, "")


@pytest.mark.slow
def test_a_parameter_that_nothing_reads_is_found_as_the_correction(tmp_path, capsys):
    source = "def price(discount, net, rate, weight):\n    total = net * rate * weight\n    return total - weight\n"
    (tmp_path / "shop.py").write_text(source)
    cases = "[(1, 2, 3, 4, 23), (4, 2, 3, 4, 20), (2, 1, 5, 2, 8)]"
    (tmp_path / "test_shop.py").write_text(
        "import pytest\nfrom shop import price\n\n\n@pytest.mark.parametrize('case', "
        f"{cases})\ndef test_price(case):\n    assert price(*case[:-1]) == case[-1]\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    subprocess.run([sys.executable, "-m", "suspectra", "record", "--", *command, "-q"], cwd=tmp_path, check=False)
    run(["investigate", "--workspace", str(tmp_path), "--", *command])
    assert "`weight` → `discount` repairs 1 test and breaks none" in capsys.readouterr().out


def accepted(line, *, kind="mutant", spectrum=SPECTRUM):
    """An alteration at a line with which both failing tests pass, and the passing ones still do."""
    place = {"place": "x", "detail": "`a` → `b`"} if kind == "mutant" else {"place": "y", "detail": "1", "action": ""}
    tests = spectrum.tests if kind == "mutant" else spectrum.tests[:2]
    return [made(test, line, kind=kind, **place) for test in tests]


def test_what_all_tests_accept_comes_in_the_order_of_functions_without_experiments():
    two = Elements(
        SPECTRUM.elements.files,
        SPECTRUM.elements.file,
        SPECTRUM.elements.line,
        SPECTRUM.elements.end_line,
        np.array([0, 0, 0, 1, 1, 1], np.int32),
        (Function(0, "one", 1, 3), Function(0, "two", 4, 6)),
    )
    spectrum = replace(SPECTRUM, elements=two)
    base = make_technique("evidence").localize(spectrum)
    report, _ = ranked(*accepted(1), *accepted(6), spectrum=spectrum)
    assert report.corrected == tuple(
        element for function in base.functions() for element in function.elements if element in (0, 5)
    )
    assert report.first_suspect == report.corrected[0] == report.functions()[0].elements[0]
