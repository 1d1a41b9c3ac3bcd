"""The tests that a CTest command would run."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from suspectra.base.errors import Problem, UsageError

if TYPE_CHECKING:
    from suspectra.c.recording.suite import CSuite

_NO_CHOICE = ("-D", "-M", "-S", "-SP", "-SS", "-T", "-N", "--dashboard", "--script", "--show-only", "--build-and-test")


@dataclass(frozen=True)
class CTestCommand:
    """What ``ctest …`` would run."""

    suite: CSuite  # all tests of the build folder
    select: list[str] | None  # names of the tests that the command chooses; None where it chooses all
    jobs: int  # the number of tests that run at the same time
    timeout: float | None  # time limit of each test in seconds


def runs_ctest(command: Sequence[str]) -> bool:
    """Whether a command starts CTest.

    True if the program is `ctest`.
    """
    return bool(command) and os.path.basename(command[0]).lower() in ("ctest", "ctest.exe")


def ctest_command(command: Sequence[str], workspace: str | os.PathLike[str]) -> CTestCommand:
    """Ask CTest which tests a command would run.

    Raises UsageError when the command does not run tests. Raises EvidenceError when CTest can't list the tests.
    """
    # imported here since it loads numpy, which other commands need not wait for
    from suspectra.c.recording.suite import named_apart
    from suspectra.c.recording.suites import ctest_suite, listed_by_ctest

    other = next((word for word in command[1:] if word.partition("=")[0] in _NO_CHOICE), None)
    if other is not None:
        cause = "with this option ctest does something else than to run tests"
        raise UsageError(Problem(other, "", cause, "leave it out"))
    parser = argparse.ArgumentParser(prog="ctest", add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--test-dir", default=".")
    parser.add_argument("-C", "--build-config")
    parser.add_argument("-j", "--parallel", nargs="?", type=int, const=os.cpu_count() or 1, default=1)
    parser.add_argument("--timeout", type=float)
    try:
        known, _ = parser.parse_known_args(command[1:])
    except argparse.ArgumentError as error:
        raise UsageError(Problem(" ".join(command), "", str(error), "correct the arguments of ctest")) from None
    suite = ctest_suite(workspace, os.path.abspath(known.test_dir), known.build_config)
    listing = json.loads(listed_by_ctest(command, os.getcwd()))
    names = named_apart(test["name"] for test in listing["tests"])
    if not names:
        cause, cure = "ctest chooses no test by these arguments", "look at what `ctest -N` lists"
        raise UsageError(Problem(" ".join(command), "", cause, cure))
    every = len(names) == len(suite.cases)
    return CTestCommand(suite, None if every else names, max(known.parallel, 1), known.timeout)
