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


PASSING = """\
import os

import pytest

from forgetful import area

SEEN = os.environ["SEEN"]


@pytest.mark.parametrize("width", range(4))
def test_width(width):
    assert area(width, 0) == width


def test_file():
    with open(SEEN, "a") as file:
        file.write("x")
    assert area(1, 1) == 2


def test_later():
    assert area(1, 1) == 2
"""


@pytest.mark.slow
def test_passing_tests_share_a_process_unless_they_touch_something(tmp_path, monkeypatch):
    seen = tmp_path / "seen"
    monkeypatch.setenv("SEEN", str(seen))
    (tmp_path / "forgetful.py").write_text(FORGETFUL)
    (tmp_path / "test_forgetful.py").write_text(PASSING)
    names = [f"test_forgetful.py::test_{end}" for end in ("width[0]", "width[1]", "file", "width[2]", "later")]
    running = RepeatedTests(PYTEST, tmp_path, [], kinds=["mutant"], passing=names)
    try:
        machine, requests = running.machine(names[0]), []
        ask = machine.ask
        monkeypatch.setattr(machine, "ask", lambda test, of, **how: requests.append(test) or ask(test, of, **how))
        judges = [JudgingTest(name, machine, fails=False, end=math.inf) for name in names]
        jobs = [changed("return width"), changed("return width + height"), changed("return -1")]
        ends = [[one["outcome"] for one in judge.accepts(jobs, math.inf)] for judge in judges]
        assert ends[:2] == [["passed", "passed", "failed"]] * 2
        assert ends[2] == ends[4] == ["failed", "passed", "failed"]
        assert len(requests) == 2 * len(names)  # none of them had to be asked again
        second = changed("KNOWN['times'] = KNOWN.get('times', 0) + 1; return width if KNOWN['times'] == 2 else -1")
        assert [judge.accepts([second], math.inf)[0]["outcome"] for judge in judges[:2]] == ["failed", "passed"]
        # what `test_file` may do, others may not, even those that follow it
        writing = changed(f"open({str(seen)!r}, 'a').write('y'); return width + height")
        assert [judge.accepts([writing], math.inf)[0]["outcome"] for judge in judges[2:4]] == ["passed", "refused"]
        assert judges[4].accepts([writing], math.inf)[0]["outcome"] == "refused"
    finally:
        running.close()
