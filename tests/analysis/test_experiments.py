"""The machine that runs failing tests again with one decision switched, in real processes of pytest."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

from suspectra.base.errors import EvidenceError
from suspectra.cli.main import run
from suspectra.evidence.logs.experiments import read_experiments
from suspectra.experiments.alterations.switching import SwitchedDecision, switches
from suspectra.experiments.machine import FreshRuns, Machine
from suspectra.experiments.repeated_test import RepeatedTest
from suspectra.mutation.edit import Edit
from suspectra.runs.experiment import EVERY, ExperimentOutcome

pytestmark = pytest.mark.usefixtures("runs_every_kind_of_test")
FIXTURE = Path(__file__).parents[1] / "fixtures" / "experiments"
MODULE = "tests/test_kinds.py"
PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")
KINDS = [
    "test_plain",
    "test_fixtures",
    "test_parameters[10]",
    "TestClass::test_method",
    "TestCase::test_unittest",
    "TestShared::test_set_up_class",
    "TestAwaiting::test_await",
    "TestTill::test_scopes",
    "test_odd[a[b]::c]",
    "test_odd[\\xfc/\\xe9]",
    "test_odd[x\\ny]",
    "test_odd[]",
    "test_odd[-k not]",
    "test_odd[\\x00%s'\"]",
    "TestParts::test_subtests",
    "test_async",
    "test_places",
]
OTHERS = [
    "test_teardown",
    "test_operand",
    "test_loop",
    "test_endless",
    "test_stubborn",
    "test_crash",
    "test_time",
    "test_memory",
    "test_file",
    "test_left_behind",
    "test_first_time",
    "test_property",
    "test_chance",
    "test_that_passes",
]


def name_of(test):
    return f"{MODULE}::{test}"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiments") / "project"
    shutil.copytree(FIXTURE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "pytest.ini").write_text(
        "[pytest]\npythonpath = .\naddopts = --junit-xml=results.xml -n 2 --maxfail=1 --cov=shop\n"
    )
    return folder


@pytest.fixture(scope="module")
def machine(project):
    wanted = [*map(name_of, KINDS), *map(name_of, OTHERS), name_of("test_network")]
    with Machine(PYTEST, project, MODULE, wanted, excluded=["network"]) as machine:
        yield machine


def place_in(trace, line_text, project, kind=None):
    """The decision on the line of the shop that contains a text."""
    lines = (project / "shop.py").read_text().splitlines()
    line = next(number for number, line in enumerate(lines, 1) if line_text in line)
    return next(
        place for place in trace.places if (place.file, place.line) == ("shop.py", line) and kind in (None, place.kind)
    )


def switched(machine, test, text, project, *, instance=EVERY, steps=1_000, seconds=10.0):
    trace = machine.traces(name_of(test), 1, 10.0)[0]
    assert trace.answer.outcome is ExperimentOutcome.FAILED, trace.answer
    switch = SwitchedDecision(place_in(trace, text, project), instance)
    (answer,), _ = machine.alter(name_of(test), [switch], steps=steps, seconds=seconds)
    return answer


@pytest.mark.parametrize("test", KINDS)
def test_tests_of_every_kind_run_as_under_pytest(machine, project, test):
    assert switched(machine, test, "if amount > 10", project, instance=1).outcome is ExperimentOutcome.PASSED


@pytest.mark.parametrize("test", ["TestShared::test_set_up_class", "TestTill::test_scopes"])
def test_a_class_is_set_up_anew_for_each_run_in_a_process(machine, test):
    first, *others = machine.traces(name_of(test), 3, 10.0)
    assert first.answer.outcome is ExperimentOutcome.FAILED
    assert [first.difference(other) for other in others] == ["", ""]


def test_a_property_is_tried_with_the_same_examples(machine, project):
    test = RepeatedTest(name_of("test_property"), machine)
    assert len(test.trace.decisions) > 1
    assert test._warm


def test_a_test_with_an_excluded_marker_is_not_run(machine):
    with pytest.raises(EvidenceError, match=r"test_network is not run again, since it has the marker network"):
        machine.traces(name_of("test_network"), 1, 10.0)[0]


def test_the_last_operand_and_single_times(machine, project):
    assert switched(machine, "test_operand", "name and", project).outcome is ExperimentOutcome.PASSED
    assert switched(machine, "test_loop", "while n > 0", project, instance=1).outcome is ExperimentOutcome.PASSED
    assert switched(machine, "test_loop", "while n > 0", project, instance=5).outcome is ExperimentOutcome.NOT_REACHED


def test_clean_up_counts(machine, project):
    assert switched(machine, "test_teardown", "if total", project).outcome is ExperimentOutcome.PASSED


def test_endless_loops_end_after_some_steps(machine, project):
    began = time.monotonic()
    assert switched(machine, "test_endless", "while n > 0", project).outcome is ExperimentOutcome.STEPS
    assert switched(machine, "test_stubborn", "and again", project).outcome is ExperimentOutcome.STEPS
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("test", "text", "outcome"),
    [
        ("test_crash", "if wanted", ExperimentOutcome.CRASHED),
        ("test_time", "if wanted", ExperimentOutcome.TIMEOUT),
        ("test_memory", "if wanted", ExperimentOutcome.FAILED),
        ("test_file", "if wanted", ExperimentOutcome.FAILED),
    ],
)
def test_a_run_is_limited_and_the_next_one_is_not_harmed(machine, project, test, text, outcome):
    trace = machine.traces(name_of(test), 1, 10.0)[0]
    taken = trace.places[int(trace.decisions[0]) // 2]
    (answer, other), _ = machine.alter(
        name_of(test), [SwitchedDecision(taken, EVERY), SwitchedDecision(taken, 9)], steps=100, seconds=1.5
    )
    assert (answer.outcome, other.outcome) == (outcome, ExperimentOutcome.NOT_REACHED)


FORKED = [
    "test_plain",
    "test_loop",
    "test_operand",
    "test_endless",
    "test_stubborn",
    "test_crash",
    "TestClass::test_method",
]


@pytest.mark.parametrize("test", FORKED)
def test_forks_at_the_instance_end_as_runs_of_their_own(machine, test):
    trace = machine.traces(name_of(test), 1, 10.0)[0]
    chosen = [*list(switches(trace))[:8], SwitchedDecision(trace.places[int(trace.decisions[0]) // 2], 99)]
    limits = {"steps": 1_000, "seconds": 10.0}
    answers, control = machine.fork(name_of(test), chosen, **limits)
    assert not trace.difference(control)
    expected = [machine.alter(name_of(test), [switch], **limits)[0][0] for switch in chosen]
    assert [one.outcome for one in answers] == [one.outcome for one in expected]
    assert answers[-1].outcome is ExperimentOutcome.NOT_REACHED


def test_forks_are_limited_in_time_and_repairs_are_confirmed(machine):
    lasting = RepeatedTest(name_of("test_time"), machine, forks=True)
    (one,) = lasting.experiments(switches(lasting.trace), time.monotonic() + 120)
    assert one.outcome is ExperimentOutcome.TIMEOUT
    plain = RepeatedTest(name_of("test_plain"), machine, forks=True)
    made = list(plain.experiments(switches(plain.trace), time.monotonic() + 120))
    assert [one.outcome for one in made] == [ExperimentOutcome.PASSED]


def test_fixtures_that_take_no_time_are_not_worth_a_word(machine):
    assert machine.notices == []


def test_a_run_writes_no_report_and_loads_no_worker(machine, project):
    assert machine.tests == {name_of(test) for test in (*KINDS, *OTHERS)}
    assert not (project / "results.xml").exists()


def test_what_one_run_leaves_behind_does_not_change_the_next(machine):
    test = RepeatedTest(name_of("test_left_behind"), machine)
    assert test._warm
    made = list(test.experiments(switches(test.trace), time.monotonic() + 120))
    assert not test._warm, "the unaltered run after the others differed"
    assert {one.place: one.outcome for one in made} == {
        "if": ExperimentOutcome.PASSED,
        "operand": ExperimentOutcome.FAILED,
    }


def test_a_test_that_fills_a_cache_shares_processes_all_the_same(machine):
    test = RepeatedTest(name_of("test_first_time"), machine)
    made = list(test.experiments(switches(test.trace), time.monotonic() + 120))
    assert {one.file: one.outcome for one in made} == {
        "shop.py": ExperimentOutcome.PASSED,
        "cached.py": ExperimentOutcome.FAILED,
    }
    assert test._warm
    assert test._only_cold == {"cached.py"}, "a decision that is made for the first time is altered in a new process"


def test_runs_whose_experiments_were_not_taken_yet_are_pending(machine):
    test = RepeatedTest(name_of("test_first_time"), machine)
    made = test.experiments(switches(test.trace), time.monotonic() + 120)
    first = next(made)
    pending = test.pending
    assert pending == len(list(made)) > 0, "a stream is not left before they are taken"
    assert first.test == test.test
    assert test.pending == 0


def test_a_test_that_depends_on_chance_is_refused(machine):
    with pytest.raises(EvidenceError, match=r"two runs of .*test_chance differ: .*chance\.py:7"):
        RepeatedTest(name_of("test_chance"), machine)


def test_a_test_that_passes_alone_is_refused(machine):
    with pytest.raises(EvidenceError, match="test_that_passes passes when it runs alone"):
        RepeatedTest(name_of("test_that_passes"), machine)


@pytest.mark.slow
def test_fresh_processes_find_the_same(machine, project):
    fresh = FreshRuns(PYTEST, project, MODULE)
    test = name_of("test_plain")
    trace = fresh.traces(test, 1, 10.0)[0]
    assert not trace.difference(machine.traces(test, 1, 10.0)[0])
    switch = SwitchedDecision(place_in(trace, "if amount > 10", project), EVERY)
    (answer,), _ = fresh.alter(test, [switch], steps=1_000, seconds=10.0)
    assert answer.outcome is ExperimentOutcome.PASSED


def test_a_machine_that_is_killed_is_reported(project, processes_with):
    others = set(processes_with(str(project)))
    with Machine(PYTEST, project, MODULE, [name_of("test_plain")]) as machine:
        for pid in set(processes_with(str(project))) - others:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(EvidenceError, match="has ended"):
            machine.traces(name_of("test_plain"), 1, 10.0)[0]


def test_a_test_that_is_not_collected_is_reported(machine):
    with pytest.raises(EvidenceError, match=r"test_x was not collected .* PYTHONHASHSEED"):
        machine.traces(name_of("test_x"), 1, 10.0)[0]


def test_a_module_that_can_not_be_collected(project):
    with pytest.raises(
        EvidenceError, match=r"before it collected it.*run `python -m pytest -p no:cacheprovider .* tests/missing.py`"
    ):
        Machine(PYTEST, project, "tests/missing.py", ["tests/missing.py::test"])


# what is left running


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)
    return found


HANGING = """\
import subprocess, sys, time

def wait(wanted):
    words = [sys.executable, "-c", "import time; time.sleep(300)", "{mark}"]
    started = subprocess.Popen(words, start_new_session={apart})
    if wanted:
        started.kill()
        started.wait()
        return 1
    {end}
"""


@pytest.fixture
def hanging(tmp_path, processes_with):
    """A project whose test, once it is switched, goes on, and so does a process of it; and the mark of that process."""

    def make(*, apart=False, end="time.sleep(300)"):
        mark = f"suspectra-left-{tmp_path.name}"
        (tmp_path / "waiting.py").write_text(HANGING.format(mark=mark, apart=apart, end=end))
        (tmp_path / "test_waiting.py").write_text("import waiting\n\ndef test_it():\n    assert waiting.wait(1) == 2\n")
        return mark

    yield make
    for pid in processes_with(f"suspectra-left-{tmp_path.name}"):
        os.kill(pid, signal.SIGKILL)


def recorded(folder):
    done = subprocess.run(
        [sys.executable, "-m", "suspectra", "record", "--", *PYTEST, "-q"], cwd=folder, capture_output=True, check=False
    )
    assert done.returncode == 1, done


def investigating(folder, *arguments, **how):
    words = [sys.executable, "-m", "suspectra", "investigate", *arguments, "--", *PYTEST]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_running_when_the_command_is_killed_or_interrupted(tmp_path, hanging, processes_with, number):
    mark = hanging(apart=True)
    recorded(tmp_path)
    with investigating(tmp_path) as process:
        until(lambda: processes_with(mark))
        process.send_signal(number)
        process.communicate(timeout=120)
    until(lambda: not processes_with(mark))
    until(lambda: not processes_with(str(tmp_path)))


def test_nothing_is_left_running_when_a_test_crashes(tmp_path, hanging, processes_with):
    mark = hanging(end="import os; os.abort()")
    with Machine(PYTEST, tmp_path, "test_waiting.py", ["test_waiting.py::test_it"]) as machine:
        test = RepeatedTest("test_waiting.py::test_it", machine)
        (one,) = test.experiments(switches(test.trace), time.monotonic() + 120)
        assert one.outcome is ExperimentOutcome.CRASHED
        until(lambda: not processes_with(mark))


# the log, and the command


MID = """\
def mid(x, y, z):
    m = y  # should be z
    if y < z:
        if x < y:
            m = y
        elif x > z:  # should be x < z
            m = x
    else:
        if x > y:
            m = y
        elif x > z:
            m = x
    return m
"""
TEST_MID = """\
import pytest
from mid import mid

CASES = [((2, 1, 3), 2), ((3, 3, 5), 3), ((1, 2, 3), 2), ((3, 2, 1), 2), ((5, 5, 5), 5)]

@pytest.mark.parametrize(("case", "expected"), CASES)
def test_mid(case, expected):
    assert mid(*case) == expected
"""


@pytest.fixture(scope="module")
def mid(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mid")
    (folder / "mid.py").write_text(MID)
    (folder / "test_mid.py").write_text(TEST_MID)
    recorded(folder)
    return folder


def investigated(folder, capsys, *arguments):
    status = run(["investigate", "--workspace", str(folder), "--format", "json", *arguments, "--", *PYTEST])
    said = capsys.readouterr()
    return status, json.loads(said.out), said.err


@pytest.mark.slow
def test_switching_finds_statement_6_of_mid(mid, capsys):
    switching = "--technique", "switching"
    status, found, said = investigated(mid, capsys, *switching, "test_mid.py::test_mid*")
    assert status == 0
    assert found["tests"] == ["test_mid.py::test_mid[case0-2]"]
    assert found["complete"]
    assert set(found) == {"tests", "suspects", "experiments", "complete", "seconds"}
    first, made = found["suspects"][0], found["experiments"][0]
    assert set(first) == {"file", "line", "end_line", "rank_best", "rank_worst", "score", "findings"}
    assert set(made) == {"test", "kind", "file", "line", "instance", "action", "operand", "outcome", "seconds"}
    assert (first["file"], first["line"], first["rank_worst"]) == ("mid.py", 6, 1)
    assert first["findings"][0] == "The failing test passes if this comes out true."
    assert "mid.py:6: test_mid.py::test_mid[case0-2] passes if this comes out true" in said
    # once each decision is switched: lines 3 and 4 were true and false, line 6 false
    assert {(one["line"], one["outcome"]) for one in found["experiments"]} >= {(6, "passed"), (4, "failed")}

    again = investigated(mid, capsys, *switching)[1]
    assert (again["experiments"], again["suspects"], again["complete"]) == ([], found["suspects"], True)
    assert run(["rank", "--workspace", str(mid), "--technique", "switching", "--top", "1"]) == 0
    assert "mid.py:6" in capsys.readouterr().out
    run(["explain", "--workspace", str(mid), "--technique", "switching", str(mid / "mid.py") + ":6"])
    assert "The failing test passes if this comes out true." in capsys.readouterr().out


@pytest.mark.slow
def test_a_table_says_what_was_tried(mid, capsys):
    assert run(["investigate", "--workspace", str(mid), "--seconds", "120", "--", *PYTEST]) == 0
    assert "all that it alters was tried" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("test_mid.py::test_mid[case1-3]", "this test passed when it was recorded"),
        ("test_x", "no failing test has this in its name"),
    ],
)
def test_a_test_that_does_not_fail_is_refused(mid, capsys, name, cause):
    assert run(["investigate", "--workspace", str(mid), name]) == 2
    assert cause in capsys.readouterr().err


def test_sources_that_changed_since_the_recording_are_refused(mid, capsys):
    source = mid / "mid.py"
    text = source.read_text()
    source.write_text("# a line more\n" + text)
    try:
        assert run(["investigate", "--workspace", str(mid), "--", *PYTEST]) == 2
    finally:
        source.write_text(text)
    assert "mid.py: it was changed after the tests ran, so experiments would not fit" in capsys.readouterr().err


@pytest.mark.slow
def test_muse_finds_the_wrong_bound_and_says_what_corrects_it(tmp_path, capsys):
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "test_shop.py").write_text(TEST_SHOP)
    recorded(tmp_path)
    status, found, said = investigated(tmp_path, capsys, "--technique", "muse")
    assert (status, found["complete"]) == (0, True)
    first = found["suspects"][0]
    assert (first["line"], first["rank_worst"]) == (2, 1)
    assert first["findings"][0] == "`>` → `>=` repairs 1 test and breaks none."
    assert "shop.py:2: test_shop.py::test_price[10-9] passes with `>` → `>=`" in said
    assert "[2-2] passes" not in said, "it passes unaltered too"
    made = read_experiments(tmp_path)[0]
    (one,) = [one for one in made if one.detail == "`>` → `>=`" and one.outcome.repairs and "[10-9]" in one.test]
    edit = Edit(one.line, one.column, one.end_line, one.end_column, one.replacement)
    assert edit.apply(SHOP) == SHOP.replace("amount > 10", "amount >= 10")
    assert any(one.changed for one in made)

    passing = {one.key for one in made if "[10-9]" not in one.test}
    again = investigated(tmp_path, capsys, "--technique", "metallaxis")[1]
    assert again["complete"]
    assert again["experiments"], "passing tests are run with mutants that change how the failing one fails"
    assert not passing & {one.key for one in read_experiments(tmp_path)[0]} - passing
    published = investigated(tmp_path, capsys, "--technique", "muse", "--param", "form=published")[1]
    assert published["complete"]
    tried = defaultdict(set)
    for one in read_experiments(tmp_path)[0]:
        if one.outcome is not ExperimentOutcome.NOT_REACHED:
            tried[one.key[1:]].add(one.test)
    executing = {2: 3, 3: 2, 4: 3, 7: 2}
    assert all(len(tests) == executing[key[2]] for key, tests in tried.items()), "every mutant with every test"
    assert run(["rank", "--workspace", str(tmp_path), "--technique", "metallaxis"]) == 0


SHOP = """\
def price(amount):
    if amount > 10:
        amount = discounted(amount)
    return amount

def discounted(amount):
    return amount - amount // 10
"""
TEST_SHOP = """\
import pytest
from shop import price

@pytest.mark.parametrize(("amount", "expected"), [(2, 2), (20, 18), (10, 9)])
def test_price(amount, expected):
    assert price(amount) == expected
"""
