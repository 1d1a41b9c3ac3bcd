"""The examples in the README show what really happens."""

import re
import shutil
from hashlib import sha256
from itertools import product
from pathlib import Path

import pytest

from suspectra.cli.main import run
from suspectra.evidence.discovery import find_source
from suspectra.experiments.log import ExperimentLog
from suspectra.runs.experiment import EVERY, Experiment, ExperimentOutcome

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
LONG = "600"  # seconds: more than a busy machine takes
WIDTH = "112"  # of the terminal in which the README's example was printed


@pytest.fixture
def suspectra(recorded_ledger, capsys, monkeypatch):
    """Runs a command line in the ledger, and returns what it prints."""
    monkeypatch.chdir(recorded_ledger)
    monkeypatch.setenv("COLUMNS", WIDTH)

    def call(line: str) -> str:
        assert run(line.split()) == 0
        return capsys.readouterr().out

    return call


@pytest.mark.slow
def test_the_ranking_is_what_is_printed(suspectra):
    line, shown = re.search(r"^\$ suspectra (rank .*)\n((?:.*\n)*?)```", README, re.M).groups()
    assert suspectra(line).strip() == shown.strip()


@pytest.mark.slow
def test_the_answer_is_what_is_printed_and_fixes_lead_to_no_other(recorded_ledger, tmp_path, capsys, monkeypatch):
    """In a copy, since what is found counts in its rankings. What all tests accept is known, so no time decides."""
    shutil.copytree(recorded_ledger, tmp_path / "ledger")
    monkeypatch.chdir(tmp_path / "ledger")
    monkeypatch.setenv("COLUMNS", WIDTH)
    shown = re.search(r"^\$ suspectra why\n((?:.*\n)*?)```", README, re.M)[1]
    assert f"$ suspectra why\n{shown}" in (ROOT / "docs" / "guide" / "why.md").read_text("utf-8")
    evidence = find_source(Path()).read()
    file = "src/ledger/tax.py"
    judges = [test.name for test in evidence.tests if "test_tax.py" in test.name or test in evidence.failing]
    how = (0, "another day", EVERY, "mutated", ExperimentOutcome.PASSED)
    with ExperimentLog(Path()) as log:
        for line, test in product((55, 59), judges):
            made = Experiment(test, "mutant", file, line, line, *how, detail="`last` → `last + a day`")
            log.add(made, {file: sha256(Path(file).read_bytes()).hexdigest()})
    assert run(["why", "--seconds", LONG]) == 0
    printed, wanted = capsys.readouterr().out.splitlines(), shown.splitlines()
    (sure,) = [number for number, line in enumerate(wanted) if line.startswith("This is ")]
    assert printed[sure] == f"{wanted[sure].removesuffix('.')}; so it is with one at tax.py:55."
    assert [*printed[:sure], *printed[sure + 1 :]] == [*wanted[:sure], *wanted[sure + 1 :]]


def test_the_other_commands_work_as_they_are_written(suspectra, tmp_path):
    commands = re.findall(r"^\$ suspectra (.+?) *#", README, re.M)
    commands += re.findall(r"`suspectra ((?:techniques|markov)[^`]*)`", README)
    commands = [line for line in commands if not line.startswith(("record ", "why", "fix"))]  # these run tests
    assert [line.split()[0] for line in commands] == ["rank", "report", "techniques", "markov"]
    for line in commands:
        assert suspectra(line.replace("out.html", str(tmp_path / "out.html")))
    assert "<html" in (tmp_path / "out.html").read_text("utf-8")
    for options in re.findall(r"`(--(?:technique|format) [^`]*|--clone-failed)`", README):
        assert suspectra(f"rank --technique dstar {options}")


def test_the_library_is_used_as_it_is_written(suspectra, capsys):
    example = re.search(r"```python\n(.*?)```", README, re.S)[1]
    exec(compile(example, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 10
    assert printed[0].startswith("src/ledger/tax.py:59 0.8875 ('tests/test_importer.py::")
