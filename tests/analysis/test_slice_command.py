"""The command `slice`, the log of slices and the technique, with one recording of a small program."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from suspectra.cli.main import main
from suspectra.cli.rerun import failing_tests
from suspectra.evidence.discovery import find_source
from suspectra.evidence.logs.failure_slices import SLICES
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.suspicion import Suspicion
from suspectra.experiments.trace_inquiry import TraceInquiry

PROGRAM = """\
def fee(age, member):
    notes = []
    if member:
        notes.append("member")
    price = 20
    if age < 6:
        price = 0
    return price


def label(age):
    return "child" if age < 18 else "adult"
"""
TEST = """\
from fees import fee, label


def test_child():
    label(17)
    assert fee(6, member=True) == 0


def test_adult():
    assert fee(30, member=False) == 20
"""
PYTEST = ["--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slice").resolve()
    (folder / "fees.py").write_text(PROGRAM)
    (folder / "test_fees.py").write_text(TEST)
    record = [sys.executable, "-m", "suspectra", "record", *PYTEST]
    subprocess.run(record, cwd=folder, capture_output=True, check=False)
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.chdir(folder)
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        return ended.value.code or 0, *capsys.readouterr()

    return run


@pytest.mark.slow
def test_what_led_to_a_failure_is_shown_and_kept_for_the_ranking(folder, run):
    code, out, _ = run("slice", "--failure", *PYTEST)
    assert code == 0
    assert out.splitlines()[:5] == [
        "What led to the failure of test_fees.py::test_child",
        "test_fees.py:6  assert fee(6, member=True) == 0 → false",
        "└─ from fees.py:8  return price → 20",
        "   ├─ not changed by fees.py:6  if age < 6: → false",
        "   └─ from fees.py:5  price = 20 → 20",
    ]
    ((logged,), problems) = SLICES.read(folder)
    assert problems == ()
    assert {line for _, line in logged.found.distance} == {1, 5, 6, 8}  # of `def`: the arguments
    assert "member" not in (folder / SLICES.path).read_text()  # lines, no values
    code, out, _ = run("rank", "--technique", "slice", "--format", "json", "--top", "20")
    ranked = json.loads(out)
    lines = [suspect["line"] for suspect in ranked["suspects"]]
    assert set(lines[:3]) == {5, 6, 8}
    assert lines.index(3) > 2
    assert lines.index(4) > 2


def test_the_ranking_says_that_there_are_no_slices_of_these_sources(folder, run):
    (folder / SLICES.path).parent.mkdir(parents=True, exist_ok=True)
    kept = (folder / SLICES.path).read_text() if (folder / SLICES.path).exists() else ""
    (folder / SLICES.path).write_text(
        '{"test": "test_fees.py::test_child", "sources": {"fees.py": "00"}, "lines": {}}\n[]\n'
    )
    code, _, err = run("rank", "--technique", "slice")
    assert code == 0
    assert "1 slice was made with other sources, and left out" in err
    assert "1 line of it can't be read" in err
    assert "no failing test was traced, so this is Ochiai's ranking" in err
    (folder / SLICES.path).write_text(kept)


def test_what_is_known_is_shown_when_the_command_is_interrupted(run, monkeypatch):
    traces = TraceInquiry.steps

    def interrupted(self):
        yield from traces(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(TraceInquiry, "steps", interrupted)
    code, out, _ = run("slice", "--failure", *PYTEST)
    assert code == 130
    assert "fees.py:6  if age < 6:" in out


@pytest.mark.slow
@pytest.mark.parametrize("form", ["tree", "json", "svg"])
def test_values_can_be_hidden(run, form):
    """How a decision came out is no value of the program."""
    code, out, _ = run("slice", "--failure", "--format", form, *PYTEST)
    assert code == 0
    assert VALUE[form] in out
    code, out, _ = run("slice", "--failure", "--hide-values", "--format", form, *PYTEST)
    assert code == 0
    assert VALUE[form] not in out
    assert "false" in out
    assert "price = 20" in out if form != "json" else '"line": 5' in out


VALUE = {"tree": "= 20 → 20", "json": '"value": "20"', "svg": ">→ 20</text>"}


def traces(folder, **more):
    evidence = find_source(folder, edges=True).read()
    suspicion = Suspicion(evidence, everywhere=True)
    (test,) = failing_tests(evidence, ()).values()
    return TraceInquiry(RerunSetup(folder, PYTEST[1:]), [test], suspicion, **more)


def test_a_run_that_is_too_long_is_traced_in_the_functions_of_suspects(folder, monkeypatch):
    monkeypatch.setattr("suspectra.experiments.inquiry.MAX_SUSPECTS", 1)
    made = traces(folder, most=10)
    (trace,) = made.steps()
    assert trace.left_out == (
        "Only the functions of the suspects are traced, since the run is too long for a whole trace.",
    )
    traced = {(trace.sites[number].file, trace.sites[number].line) for number in trace.graph.site}
    assert ("fees.py", 12) in traced
    assert ("fees.py", 6) not in traced


def test_sources_that_changed_since_the_recording_are_not_traced(folder):
    """Whoever traces: the command says so before it starts anything."""
    made = traces(folder)
    (folder / "fees.py").write_text("\n" + PROGRAM)
    assert list(made.steps()) == []
    (problem,) = made.problems
    assert problem.file == "fees.py"
    assert problem.cause == "it was changed after the tests ran, so a trace would not fit the recording"
    assert problem.cure == "record the tests again"
    (folder / "fees.py").write_text(PROGRAM)


@pytest.mark.slow
def test_what_a_line_influenced_and_what_lies_between(run):
    code, out, _ = run("slice", "fees.py:5", "--forward", "--format", "json", *PYTEST)
    assert code == 0
    assert json.loads(out)["lines"] == {"fees.py": [5, 8], "test_fees.py": [6]}
    code, out, _ = run("slice", "fees.py:5", "--to", "fees.py:8", *PYTEST)
    assert out.splitlines()[0] == "How fees.py:5 influenced fees.py:8, in test_fees.py::test_child"


def test_a_picture_is_written_to_a_file(folder, run):
    assert run("slice", "fees.py:6", "--failure", "--format", "svg", "--output", "slice.svg", *PYTEST)[0] == 0
    assert (
        '<title id="slice-title">What led to this: test_fees.py::test_child</title>'
        in (folder / "slice.svg").read_text()
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fees.py:7", "--forward", *PYTEST], "fees.py (line 7): no traced test computes anything there"),
        (["fees.py:4", "--failure", *PYTEST], "or nothing joins it with the other place"),
        (["--failure", "--test", "test_fees.py::test_adult", *PYTEST], "this test passed when it was recorded"),
        (["--forward"], "Name a line as FILE:LINE: --forward and --to start there."),
        (["fees.py:5", "--failure", "--to", "fees.py:8"], "--to already says where the slice ends."),
    ],
)
def test_what_can_not_be_sliced(run, arguments, said):
    code, _, err = run("slice", *arguments)
    assert code != 0
    assert said in err


@pytest.mark.slow
def test_an_interrupt_before_the_first_trace_is_answered(tmp_path):
    (tmp_path / "fees.py").write_text(PROGRAM)
    waits = "import pathlib, time\n\npathlib.Path('imported').touch()\ntime.sleep(0.2)\n"
    (tmp_path / "test_fees.py").write_text(waits + TEST)
    subprocess.run(
        [sys.executable, "-m", "suspectra", "record", *PYTEST], cwd=tmp_path, capture_output=True, check=False
    )
    (tmp_path / "imported").unlink()
    (tmp_path / "conftest.py").write_text(waits.replace("0.2", "60"))
    command = [sys.executable, "-m", "suspectra", "slice", "--failure", *PYTEST]
    slicing = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not (tmp_path / "imported").exists():
        assert slicing.poll() is None
        time.sleep(0.05)
    os.killpg(slicing.pid, signal.SIGINT)
    said = slicing.communicate(timeout=60)[1]
    assert slicing.returncode == 130
    assert "interrupted after 0 traced tests, so there is nothing to show" in said
