"""Tests as judges of changes: what one change leaves behind is not seen by the next one."""

import math
import sys

import pytest

from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.fixes.judge import JudgingTest

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")

FORGETFUL = """\
KNOWN = {"more": 0}


def area(width, height):
    return width + height + KNOWN["more"]
"""

TEST = """\
from forgetful import area


def test_area():
    assert area(2, 4) == 8
"""


def changed(line):
    source = "\n" * 3 + f"def area(width, height):\n    {line}\n"
    return {"kind": "mutant", "file": "forgetful.py", "source": source, "functions": [("area", 4)]}


@pytest.mark.slow
def test_what_a_change_leaves_behind_costs_only_that_change_a_process(tmp_path, monkeypatch):
    (tmp_path / "forgetful.py").write_text(FORGETFUL)
    (tmp_path / "test_forgetful.py").write_text(TEST)
    name = "test_forgetful.py::test_area"
    running = RepeatedTests(PYTEST, tmp_path, [FailingTest(name, "test_forgetful.py")], kinds=["mutant"])
    try:
        machine = running.machine(name)
        judge = JudgingTest(name, machine, fails=True, end=math.inf)
        kept = 'return width + height + KNOWN["more"]'
        leaving = changed(f'KNOWN["more"] = 2; {kept}')
        jobs = [changed(kept) if number % 2 else changed("return width * height") for number in range(60)]
        jobs[20:20], jobs[41:41] = [leaving], [leaving]
        answers = judge.accepts(jobs, math.inf)
        wanted = ["passed" if "*" in job["source"] or job is leaving else "failed" for job in jobs]
        assert [one["outcome"] for one in answers] == wanted
        together, ask = [], machine.ask
        monkeypatch.setattr(machine, "ask", lambda test, of, **how: together.append(len(of)) or ask(test, of, **how))
        judge.accepts(jobs[:4], math.inf)
        assert together == [5]  # those that follow share a process, and the unaltered test looks after them
    finally:
        running.close()
