"""The command line on C and C++: recording tests, and ranking what other tools left."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from suspectra.base.errors import EvidenceError
from suspectra.cli.main import run
from suspectra.evidence.c.source import CRecordingSource
from suspectra.evidence.discovery import find_source
from suspectra.evidence.formats.coverage_source import CoverageSource
from suspectra.evidence.recording import RecordingSource

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture
def suspectra(capsys, monkeypatch):
    """Runs a command in a folder: (status, stdout, stderr)."""
    monkeypatch.delenv("SUSPECTRA_DEBUG", raising=False)

    def call(folder: Path, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        status = run(arguments)
        return status, *capsys.readouterr()

    return call


def first(out: str) -> dict:
    return json.loads(out)["suspects"][0]


# recording ----------------------------------------------------------------------------------------------------------


def test_tests_that_could_not_be_run_are_counted(suspectra, tmp_path):
    """A build that failed may have removed the program."""
    (tmp_path / "names").write_text("sum\ntax\n")
    status, _, err = suspectra(tmp_path, "record-c", "--command", "./gone {test}", "--tests", "names")
    assert (status, "recorded 2 tests, 0 failed, 2 could not be run, in " in err) == (2, True)
    assert "gone: it can't be started" in err


@pytest.mark.slow
def test_ctest(suspectra, build_reckoner, tmp_path):
    folder = build_reckoner(tmp_path / "reckoner")
    status, out, err = suspectra(folder, "record-c", "--ctest", "build")
    assert (status, out) == (1, "")
    assert 'failed largest_below_zero: its output contains nothing like "' in err
    assert "[100%] 40 of 40 tests, 2 failed\nsuspectra: recorded 40 tests, 2 failed, in " in err
    assert "warning" not in err
    assert (folder / ".suspectra" / ".gitignore").read_text().endswith("*\n")
    status, out, err = suspectra(folder, "rank", "--format", "json")
    assert (status, err) == (0, "")
    assert (first(out)["file"], first(out)["function"]) == ("src/evaluate.c", "largest")
    by_folder = suspectra(folder, "rank", "--format", "json", "--recording", ".suspectra/recording-c")
    assert by_folder == (0, out, "")

    # from elsewhere, some tests alone, after a build
    status, _, err = suspectra(
        *(tmp_path, "record-c", "--workspace", "reckoner", "--ctest", "reckoner/build", "--jobs", "1"),
        *("--make", "cmake --build build", "--select", "sum", "--select", "large*"),
    )
    assert status == 1
    assert "recorded 5 tests, 2 failed" in err
    assert len(CRecordingSource(folder).read().tests) == 40
    status, _, err = suspectra(folder, "record-c", "--ctest", "build", "--select", "nothing")
    assert (status, "test nothing: there is no such test" in err) == (2, True)
    status, _, err = suspectra(folder, "record-c", "--ctest", "build", "--make", "exit 3")
    assert (status, "the build ended with status 3" in err) == (2, True)
    status, _, err = suspectra(folder, "record-c", "--ctest", "src")
    assert (status, "src: this is not a build folder with tests" in err, "suspectra build-c" in err) == (
        2,
        True,
        True,
    )

    # a command of CTest chooses as CTest does
    ctest = ("record", "--", "ctest", "--test-dir", "build")
    status, _, err = suspectra(folder, *ctest, "-R", "^largest", "-E", "below", "--output-on-failure", "-j2")
    assert (status, "recorded 3 tests, 1 failed" in err) == (1, True), err
    assert len(CRecordingSource(folder).read().tests) == 40
    status, _, err = suspectra(folder, *ctest)
    assert (status, "recorded 40 tests, 2 failed" in err) == (1, True)
    for arguments, words in (
        ((*ctest, "-R", "^no such"), "ctest chooses no test"),
        ((*ctest, "-N"), "something else than to run tests"),
        (("record", "--failed-and-affected", *ctest[1:]), "--failed-and-affected: it is for tests of Python"),
        (("record", "--counts", *ctest[1:]), "--counts: it is for tests of Python"),
    ):
        status, _, err = suspectra(folder, *arguments)
        assert (status, words in err) == (2, True), err


@pytest.fixture
def program(build_c):
    """The fixture program with inputs and expected outputs of two tests, the second of which is wrong."""
    made = build_c()
    (made.workspace / "cases").mkdir()
    (made.workspace / "expected").mkdir()
    for name in ("l5", "s5"):
        (made.workspace / "cases" / name).write_text("")
        (made.workspace / "expected" / f"{name}.out").write_text(made.run(name).stdout)
    (made.workspace / "expected" / "s5.out").write_text("something else")
    return made


def test_a_command_for_each_test(suspectra, program):
    script = program.workspace / "run.sh"
    script.write_text(f'exec {program.program} "$(basename "$1")"\n')
    status, _, err = suspectra(
        *(program.workspace, "record-c", "--command", "sh run.sh {test}", "--tests", "cases/*"),
        *("--expect-stdout", "expected", "--build", "build", "--timeout", "20"),
    )
    assert (status, "recorded 2 tests, 1 failed" in err) == (1, True)
    evidence = CRecordingSource(program.workspace).read()
    assert {test.name: test.verdict.value for test in evidence.tests} == {"cases/l5": "passed", "cases/s5": "failed"}
    assert suspectra(program.workspace, "rank", "--technique", "sober")[0] == 0
    for command in (["investigate"], ["causes", "cases/s5"], ["slice", "--failure"]):
        status, _, err = suspectra(program.workspace, *command)
        cure = "name the build" if command == ["investigate"] else "suspectra why TEST"
        assert (status, "these are not tests of Python" in err, cure in err) == (2, True, True), err


@pytest.mark.parametrize("expected", [True, False])
def test_status_names_the_command_that_records_all_tests_again(suspectra, program, expected):
    """Also after a run of some tests, from elsewhere; whether a test failed or none did."""
    (program.workspace / "run.sh").write_text(f'exec {program.program} "$(basename "$1")"\n')

    def options(root):
        tests = ["--command", "sh run.sh {test}", "--tests", "cases/*", "--make", "true", "--build", f"{root}build"]
        return ["record-c", *tests, *(["--expect-stdout", f"{root}expected"] if expected else [])]

    assert suspectra(program.workspace, *options(""))[0] == int(expected)
    some = ["--workspace", "..", "--select", "cases/s5", "--jobs", "1"]
    suspectra(program.workspace / "cases", *options("../"), *some)
    _, out, _ = suspectra(program.workspace, "status")
    (line,) = [line for line in out.splitlines() if "record-c" in line]
    assert "pytest" not in out
    status, _, err = suspectra(program.workspace, *shlex.split(line)[1:])
    assert (status, "recorded 2 tests" in err) == (int(expected), True), line


def test_shell_commands_and_junit(suspectra, program):
    (program.workspace / "tests.sh").write_text("one\tbuild/program l5\ntwo\tbuild/program s5\n")
    (program.workspace / "results.xml").write_text(
        '<testsuite><testcase name="one"><failure message="wrong"/></testcase><testcase name="two"/></testsuite>'
    )
    status, _, err = suspectra(
        program.workspace, "record-c", "--shell", "tests.sh", "--junit", "results.xml", "--no-crash-handler"
    )
    assert (status, "failed one: wrong" in err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Say what the tests are"),
        (["--command", "x {test}"], "go together"),
        (["--config", "Debug", "--shell", "x"], "goes with --ctest"),
        (["--expect-stdout", ".", "--ctest", "."], "goes with --command or --shell"),
        (["--shell", "missing"], "it can't be read"),
        (["--ctest", "missing"], "this is not a build folder"),
        (["--gtest", "missing"], "there is no such program"),
        (["--catch2", "missing"], "there is no such program"),
        (["--shell", "tests.sh", "--map", "here"], "does not map one folder to another"),
        (["--shell", "tests.sh", "--jobs", "0"], "--jobs"),
    ],
    ids=" ".join,
)
def test_bad_usage(suspectra, tmp_path, arguments, words):
    (tmp_path / "tests.sh").write_text("true\n")
    status, out, err = suspectra(tmp_path, "record-c", *arguments)
    assert (status, out) == (2, "")
    assert words in err


def test_programs_without_coverage_are_reported(suspectra, tmp_path):
    (tmp_path / "tests.sh").write_text("true\nfalse\n")
    status, _, err = suspectra(tmp_path, "record-c", "--shell", "tests.sh")
    assert status == 1
    assert "no test left a profile" in err
    assert "--coverage" in err
    status, _, err = suspectra(tmp_path, "rank")
    assert "no test left a profile. Fix: compile and link with --coverage" in err, "later, too"


def test_an_interrupt_keeps_what_ended(tmp_path, until):
    (tmp_path / "tests.sh").write_text("quick\ttrue\nslow\ttouch begun; sleep 60\n")
    command = [sys.executable, "-m", "suspectra", "record-c", "--shell", "tests.sh", "--jobs", "1"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline().startswith("[ 50%]")
    until((tmp_path / "begun").exists)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(30) == 130
    assert "interrupted; recorded 1 test, 0 failed" in process.stderr.read()
    assert [test.name for test in CRecordingSource(tmp_path).read().tests] == ["quick"]


# which evidence is used ---------------------------------------------------------------------------------------------


def place(path: Path, *, age: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("<testsuites/>" if path.suffix == ".xml" else "")
    os.utime(path, (2_000_000_000 - age,) * 2)


def test_the_newest_of_all_kinds_is_taken(tmp_path):
    place(tmp_path / ".suspectra" / "recording-c" / "tests.log", age=30)
    assert isinstance(find_source(tmp_path), CRecordingSource)
    place(tmp_path / ".suspectra" / "recording" / "1.log", age=20)
    assert isinstance(find_source(tmp_path), RecordingSource)
    place(tmp_path / ".coverage", age=10)
    place(tmp_path / "results.xml", age=10)
    assert isinstance(find_source(tmp_path), CoverageSource)
    place(tmp_path / ".suspectra" / "recording-c" / "tests.log", age=5)
    assert isinstance(find_source(tmp_path, edges=True), CRecordingSource)
    assert isinstance(find_source(tmp_path, recording=".suspectra/recording"), RecordingSource)
    assert isinstance(find_source(tmp_path, recording=".suspectra/recording-c"), CRecordingSource)


def test_a_recording_is_named_as_seen_from_the_workspace(tmp_path):
    place(tmp_path / ".suspectra" / "recording-c" / "tests.log", age=30)
    with pytest.raises(EvidenceError) as refused:
        CRecordingSource(tmp_path).read()
    assert refused.value.problem.file == ".suspectra/recording-c/tests.log"


# what other tools left ----------------------------------------------------------------------------------------------

REPORTS = {
    "gcov": ("gcov_json", ""),
    "gcovr": ("gcovr", ""),
    "lcov": ("lcov", "all.info"),
    "cobertura": ("cobertura", ""),
}


@pytest.fixture
def reports(tmp_path):
    """A workspace with the reports of one format: `reports(form)` gives the folder and the option's value."""

    def make(form: str) -> tuple[Path, str]:
        folder, file = REPORTS[form]
        for name in ("flow.c", "other.c", "shared.h"):
            shutil.copy(FIXTURES / "c" / name, tmp_path)
        shutil.copytree(FIXTURES / "c_reports" / folder, tmp_path / "reports")
        (tmp_path / "outcomes.txt").write_text("failed loops\npassed shares\n")
        return tmp_path, os.path.join("reports", file)

    return make


@pytest.mark.parametrize("form", REPORTS)
def test_reports_are_ranked(suspectra, reports, form):
    folder, location = reports(form)
    arguments = ("rank", f"--{form}", location, "--map", "/src/project=.", "--format", "json")
    status, out, err = suspectra(folder, *arguments, "--outcomes", "outcomes.txt")
    assert status == 0, err
    assert (first(out)["ef"], first(out)["ep"]) == (1, 0)
    assert first(out)["failing_tests"] == ["loops"]
    junit = folder / "junit.xml"
    junit.write_text('<testsuite><testcase name="loops"><failure/></testcase><testcase name="shares"/></testsuite>')
    assert suspectra(folder, *arguments, "--junit", "junit.xml")[:2] == (0, out)
    status, _, err = suspectra(folder, *arguments)
    assert status == 2
    assert "outcomes.json" in err


def test_raw_profiles_are_ranked(suspectra, build_c, tmp_path):
    program = build_c()
    for test, part in (("loops", "l5"), ("shares", "s5")):
        program.run(part, prefix=tmp_path / "profiles" / test)
    (tmp_path / "profiles" / "outcomes.json").write_text('{"loops": "failed", "shares": "passed"}')
    arguments = ("rank", "--gcov", str(tmp_path / "profiles"), "--build", "build", "--format", "json")
    status, out, err = suspectra(program.workspace, *arguments, "--technique", "nn-perm")
    assert status == 0, err
    assert first(out)["failing_tests"] == ["loops"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gcovr", "a", "--lcov", "b"], "not both"),
        (["--gcov", "a", "--coverage", "b"], "not both"),
        (["--lcov", "a", "--junit", "b", "--outcomes", "c"], "--junit or --outcomes"),
        (["--outcomes", "a"], "go with one of --gcov"),
        (["--build", "a"], "go with one of --gcov"),
        (["--lcov", "a", "--map", "b"], "does not map one folder to another"),
        (["--lcov", "missing.info", "--outcomes", "outcomes.txt"], "missing.info"),
        (["--gcov", "missing", "--outcomes", "outcomes.txt"], "missing"),
        (["--cobertura", "outcomes.txt", "--outcomes", "outcomes.txt"], "one profile of all tests together"),
    ],
    ids=" ".join,
)
def test_bad_evidence_options(suspectra, tmp_path, arguments, words):
    (tmp_path / "outcomes.txt").write_text("failed loops\n")
    status, out, err = suspectra(tmp_path, "rank", *arguments)
    assert (status, out) == (2, "")
    assert words in err
