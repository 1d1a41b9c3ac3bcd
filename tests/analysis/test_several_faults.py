"""Several faults: failing tests that no cause explains are searched next, and what is found is drawn."""

import json
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from suspectra.causes.report import CauseReport, State
from suspectra.cli import run
from suspectra.output.cause_svg import cause_svg

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


def test_causes_are_drawn_a_column_for_each_failure(two_faults, capsys, tmp_path):
    assert causes(two_faults, "*", "--format", "svg", "--output", str(tmp_path / "causes.svg")) == 0
    text = (tmp_path / "causes.svg").read_text()
    root = ElementTree.fromstring(text)
    drawn = ["".join(part.itertext()) for part in root.iter("{http://www.w3.org/2000/svg}g")]
    assert any("return price" in box and "→ 20" in box for box in drawn)
    assert any("return text" in box and "closed" in box for box in drawn)
    assert sum("assert" in box for box in drawn) == 2  # the failures at the end of both chains
    assert "test_child" in capsys.readouterr().out or "test_child" in text
    state = State("a.py", 1, 1, 1, "3")
    chain = tuple(state._replace(line=line) for line in range(1, 31))
    long = CauseReport("test_a", chain[:1], (), (), chain, (), 2, True, 0.1)
    assert ">18 more<" in cause_svg([long], lambda file, line: "")
    assert 'class="box"' not in cause_svg([replace(long, roots=())], lambda file, line: "")


def test_a_test_that_can_not_be_searched_does_not_keep_the_others_from_it(two_faults, capsys):
    tests = two_faults / "test_fees.py"
    tests.write_text(TWO_FAULTS["test_fees.py"].replace("fee(6) == 0", "fee(6) == 20"))
    assert causes(two_faults, "*_child", "--format", "json") == 2
    assert "test_child passes when it runs alone" in capsys.readouterr().err
    assert causes(two_faults, "*", "--format", "json") == 0
    out, err = capsys.readouterr()
    assert "test_child passes when it runs alone" in err
    assert lines_of_roots(json.loads(out)) == [{2, 3}, {9, 10}]
    tests.write_text(TWO_FAULTS["test_fees.py"])


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
