"""`make test` tries the same examples every time; `make fuzz` tries others, which its seed brings back."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = """
from hypothesis import given, strategies as st
from pathlib import Path

LOG = Path(__file__).with_name("log")


@given(st.integers())
def test_of_hypothesis(number):
    with LOG.open("a") as log:
        print(number, file=log)


def test_of_our_own(seed):
    with LOG.open("a") as log:
        print(seed, file=log)


def test_without_chance():
    with LOG.open("a") as log:
        print("without chance", file=log)
"""


@pytest.fixture
def examples(tmp_path):
    """Runs tests beside the conftest.py of this project; gives what they tried."""
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = random_seed\naddopts = -p no:cacheprovider\n")

    def run(*arguments: str) -> str:
        (tmp_path / "log").write_text("")
        environment = {**os.environ, "PYTEST_ADDOPTS": ""}
        command = [sys.executable, "-m", "pytest", "-q", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return (tmp_path / "log").read_text()

    return run


def make(target: str, *arguments: str) -> list[str]:
    """The options that a target of the Makefile gives to pytest."""
    command = ["make", "-n", "-o", ".venv/.ready", target, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    (line,) = (line for line in done.stdout.splitlines() if "-m pytest" in line)
    return [*re.findall(r"--hypothesis-\S+", line), *re.findall(r'(-m) "([^"]+)', line.partition("pytest")[2])[:1]]


def fuzz_options(*arguments: str) -> list[str]:
    *options, (flag, marks) = make("fuzz", *arguments)
    return [*options, flag, marks]


def test_make_test_repeats_its_examples(examples):
    assert make("test-slow") == [("-m", "slow")]
    assert make("test-python") == [("-m", "not slow")]
    first = examples()
    assert first == examples()
    assert first.endswith("\n0\nwithout chance\n")


@pytest.mark.slow
def test_make_fuzz_tries_others_each_time_and_its_seed_brings_them_back(examples):
    first, second = fuzz_options(), fuzz_options()
    assert first != second
    tried = examples(*first)
    assert "without chance" not in tried
    assert tried != examples(*second)
    seed = first[-3].partition("=")[2]
    assert fuzz_options(f"SEED={seed}") == first
    assert examples(*first) == tried
    assert tried.endswith(f"\n{seed}\n")
