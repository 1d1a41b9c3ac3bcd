"""Several faults: failing tests that no cause explains are searched next, and what is found is drawn."""

import builtins
import json
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from json import JSONDecodeError
from xml.etree import ElementTree

import pytest

from suspectra.base.errors import EvidenceError
from suspectra.causes.report import CauseReport, CauseState
from suspectra.cli.main import run
from suspectra.evidence.evidence import TestResult, Verdict
from suspectra.experiments.machine import Machine
from suspectra.experiments.repeated_test import RepeatedTest
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.run_answers import AlteredRunAnswer
from suspectra.experiments.unusable_tests import require_recorded_failure
from suspectra.output.pictures.causes import cause_svg
from suspectra.runs.experiment import ExperimentOutcome
from suspectra_recorder.failures.tracebacks import type_names

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")
TWO_FAULTS = {
    "fees.py": """\
def fee(age):
    price = 20
    if age < 6:  # it should be <= 6
        price = 0
    return price


def label(is_open):
    text = "closed"
    if not is_open:  # it should be `if is_open`
        text = "open"
    return text
""",
    "test_fees.py": """\
from fees import fee, label


def test_child():
    assert fee(6) == 0


def test_children():
    total = fee(6) + fee(5)
    assert total == 0


def test_label():
    assert label(True) == "open"
""",
}


@pytest.fixture(scope="module")
def two_faults(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two_faults")
    for name, text in TWO_FAULTS.items():
        (folder / name).write_text(text)
    record = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST, "-q"]
    subprocess.run(record, cwd=folder, capture_output=True, check=False)
    return folder


def causes(folder, *arguments):
    return run(["causes", "--workspace", str(folder), *arguments, "--", *PYTEST])


def lines_of_roots(found):
    """Of each search, in the order of the lines."""
    return sorted(({state["line"] for state in one["roots"]} for one in (found, *found["further"])), key=min)


@pytest.mark.slow
def test_another_fault_is_searched_for_where_the_first_cause_explains_nothing(two_faults, capsys):
    """Section 4.3: a search finds the faults on one side; what they do not explain is searched next."""
    assert causes(two_faults, "*", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    reports = [found, *found["further"]]
    assert {one["test"].partition("::")[2] for one in reports} | {"test_children", "test_child"} == {
        "test_child",
        "test_children",
        "test_label",
    }
    assert lines_of_roots(found) == [{2, 3}, {9, 10}]
    ((explained, state),) = found["explained"].items()
    assert explained in ("test_fees.py::test_child", "test_fees.py::test_children")
    assert (state["file"], state["line"]) in {("fees.py", 2), ("fees.py", 3)}


@pytest.mark.slow
def test_causes_are_drawn_a_column_for_each_failure(two_faults, capsys, tmp_path):
    assert causes(two_faults, "*", "--format", "svg", "--output", str(tmp_path / "causes.svg")) == 0
    text = (tmp_path / "causes.svg").read_text()
    root = ElementTree.fromstring(text)
    drawn = ["".join(part.itertext()) for part in root.iter("{http://www.w3.org/2000/svg}g")]
    assert any("return price" in box and "→ 20" in box for box in drawn)
    assert any("return text" in box and "closed" in box for box in drawn)
    assert sum("assert" in box for box in drawn) == 2  # the failures at the end of both chains
    assert "test_child" in capsys.readouterr().out or "test_child" in text
    state = CauseState("a.py", 1, 1, 1, "3")
    chain = tuple(state._replace(line=line) for line in range(1, 31))
    long = CauseReport("test_a", chain[:1], (), (), chain, (), 2, True, 0.1)
    assert ">18 more<" in cause_svg([long], lambda file, line: "")
    assert 'class="box"' not in cause_svg([replace(long, roots=())], lambda file, line: "")


@pytest.mark.slow
def test_a_test_that_can_not_be_searched_does_not_keep_the_others_from_it(two_faults, capsys):
    tests = two_faults / "test_fees.py"
    tests.write_text(TWO_FAULTS["test_fees.py"].replace("fee(6) == 0", "fee(6) == 20"))
    assert causes(two_faults, "*_child", "--format", "json") == 2
    assert "test_child passes when it runs alone" in capsys.readouterr().err
    assert causes(two_faults, "*", "--format", "json") == 0
    out, err = capsys.readouterr()
    assert "test_child passes when it runs alone" in err
    first, second = lines_of_roots(json.loads(out))
    assert {2, 3} <= first <= {2, 3, 4}  # 4, too, as the test adds up two fees, and another one may be lower
    assert second == {9, 10}
    tests.write_text(TWO_FAULTS["test_fees.py"])


@pytest.mark.slow
@pytest.mark.parametrize("command", [["causes"], ["slice", "--failure", "--test"], ["paths"], ["investigate"]])
def test_where_a_test_failed_for_what_another_left_behind_that_is_said(tmp_path, capsys, command):
    (tmp_path / "fees.py").write_text("limits = [6]\n\n\ndef fee(age):\n    return 0 if age < limits[-1] else 20\n")
    (tmp_path / "test_fees.py").write_text(
        "import fees\n\n\ndef test_students():\n    fees.limits.append(27)\n    assert fees.fee(27) == 0\n"
        "    fees.limits.pop()\n\n\ndef test_adult():\n    assert fees.fee(20) == 20\n"
    )
    words = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST, "-q"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    run([*command, "*adult", "--workspace", str(tmp_path), "--", *PYTEST])
    said = capsys.readouterr().err
    assert "test_adult passes when it runs alone. Fix: record the tests again; if it fails there again, look at" in said


@pytest.fixture(scope="module")
def left_behind(tmp_path_factory):
    """A folder with a test that fails otherwise when it is alone: another test writes the file that it reads."""
    folder = tmp_path_factory.mktemp("left_behind")
    (folder / "fees.py").write_text("def fee(text):\n    age = int(text)\n    return 0 if age < 6 else 20\n")
    (folder / "test_fees.py").write_text(
        "from pathlib import Path\n\nfrom fees import fee\n\n\ndef test_writes():\n"
        "    Path('age.txt').write_text('6')\n    assert fee('6') == 0\n\n\n"
        "def test_reads():\n    age = Path('age.txt')\n    text = age.read_text()\n"
        "    age.unlink()\n    assert fee(text) == 0\n\n\ndef test_other():\n    assert fee('20') == 20\n"
    )
    words = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST, "-q"]
    assert subprocess.run(words, cwd=folder, capture_output=True, check=False).returncode == 1
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["causes"],
        ["slice", "--failure", "--test"],
        ["investigate"],
        *(
            ["paths", "--technique", technique]
            for technique in ("nearest-path", "apg", "apg-decisions", "cause-transitions", "apg-inputs")
        ),
    ],
    ids=lambda command: command[-1] if command[0] == "paths" else command[0],
)
def test_a_failure_that_is_another_one_alone_is_not_looked_at(left_behind, capsys, command):
    run([*command, "*reads", "--workspace", str(left_behind), "--", *PYTEST])
    out, err = capsys.readouterr()
    assert "test_reads fails with FileNotFoundError when it runs alone, and failed with AssertionError when it" in err
    assert "Fix: record the tests again; if it fails as before, look at" in err
    assert "passes if" not in out
    assert not out or command == ["investigate"]  # the ranking of the recording


@pytest.mark.slow
def test_other_failing_tests_are_investigated_all_the_same(left_behind, capsys):
    run(["investigate", "--workspace", str(left_behind), "--", *PYTEST])
    out, err = capsys.readouterr()
    assert "test_reads fails with FileNotFoundError when it runs alone" in err
    assert "fees.py:3" in out


@pytest.mark.parametrize(
    ("recorded", "alone"),
    [
        ("", KeyError("DE")),
        ("OSError", FileNotFoundError("prices.json")),
        ("FileNotFoundError", OSError("no disk")),
        ("ExceptionGroup[KeyError, ValueError, …]", KeyError("DE")),
        ("json.decoder.JSONDecodeError", JSONDecodeError("no", "", 0)),
    ],
)
def test_what_may_be_the_same_failure_is_looked_at(recorded, alone):
    answer = AlteredRunAnswer(ExperimentOutcome.FAILED, 0.1, type(alone).__name__, noted={"types": type_names(alone)})
    require_recorded_failure("test_sum", recorded, answer)
    if recorded:
        with pytest.raises(EvidenceError, match="and failed with MemoryError when it was recorded"):
            require_recorded_failure("test_sum", "MemoryError", answer)


def test_an_exception_may_be_in_a_group_where_a_test_is_alone():
    kind = getattr(builtins, "ExceptionGroup", None) or import_module("exceptiongroup").ExceptionGroup  # in Python 3.10
    assert {"KeyError", "OSError"} < set(type_names(kind("two", [KeyError("DE"), FileNotFoundError("2")])))


def test_a_test_that_took_too_long_may_fail_otherwise_with_more_time():
    late = TestResult("test_sum", Verdict.FAILED, message="Failed: Timeout (>1.0s) from pytest-timeout.")
    assert FailingTest.from_result(late, "Failed").exception == ""
    assert FailingTest.from_result(replace(late, message="Failed: DID NOT RAISE"), "Failed").exception == "Failed"


PROPERTY = """\
from hypothesis import given, strategies

@given(strategies.integers(5, 9))
def test_property(n):
    assert not n

def test_one():
    assert not 5
"""


def test_the_first_example_of_a_property_that_fails_may_raise_another_exception(tmp_path):
    (tmp_path / "test_sum.py").write_text(PROPERTY)
    names = ["test_sum.py::test_property", "test_sum.py::test_one"]
    with Machine(PYTEST, tmp_path, "test_sum.py", names) as machine:
        assert RepeatedTest(names[0], machine, recorded="KeyError").trace.answer.exception == "AssertionError"
        with pytest.raises(EvidenceError, match="fails with AssertionError when it runs alone, and failed with KeyErr"):
            RepeatedTest(names[1], machine, recorded="KeyError")
