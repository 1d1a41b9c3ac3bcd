"""In which order `suspectra investigate` makes experiments, and what it says where its time is over before any."""

import json
import subprocess
import sys

import pytest

from suspectra.cli.main import run

PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
PRICE = "def price(n, each):\n    total = n * each + 1\n    return total if n else 0\n"
TEST_PRICE = "import price\n\ndef test_{0}():\n    assert price.price({0}, 5) == {1}\n"


@pytest.fixture
def project(tmp_path):
    """Two modules with a failing test each, and one fault."""
    (tmp_path / "price.py").write_text(PRICE)
    for n in (2, 3):
        (tmp_path / f"test_{n}.py").write_text(TEST_PRICE.format(n, 5 * n))
    command = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST, "-q"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    return tmp_path


def investigated(folder, capsys, *arguments):
    run(["investigate", "--workspace", str(folder), "--format", "json", *arguments, "--", *PYTEST])
    said = capsys.readouterr()
    return json.loads(said.out), said.err


@pytest.mark.slow
def test_mutants_that_left_a_test_failing_come_last_for_the_next_one(project, capsys):
    found, _ = investigated(project, capsys, "--technique", "muse", "--seconds", "60")
    made = found["experiments"]
    first = made[0]["test"]
    outcome = {one["action"]: one["outcome"] for one in made if one["test"] == first}
    before = [outcome[one["action"]] for one in made if one["test"] != first]
    order = list(outcome.values())
    assert order != sorted(order, reverse=True), "otherwise the order for the next one would say nothing"
    assert before == sorted(before, reverse=True)
    assert set(before) == {"passed", "failed"}


def test_a_time_that_ends_before_the_first_altered_run_is_said(project, capsys):
    found, said = investigated(project, capsys, "--seconds", "0.001")
    assert (found["experiments"], found["complete"]) == ([], False)
    assert "the time was over before the first altered run" in said
    assert "run `suspectra investigate`" not in said, "that is what the user just did"
