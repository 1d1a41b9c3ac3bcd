"""The tests with which experiments are made, and the machines that run them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from suspectra.errors import EvidenceError, Problem
from suspectra.evidence.evidence import TestResult
from suspectra.experiments.machine import FreshRuns, Machine
from suspectra.experiments.repeated_test import RepeatedTest
from suspectra.operating_system import FORK
from suspectra.quantity import many

_TOO_LONG = "Failed: Timeout"
"""How messages of pytest-timeout begin. It is not a failure of its own: the test may fail otherwise with more time."""

_Made = TypeVar("_Made")


class FailingTest(NamedTuple):
    """A test to be investigated.

    Parameters
    ----------
    name : str
        Its node id.
    file : str
        Its module, relative to the workspace.
    exception : str, optional
        The type of the exception with which it failed when it was recorded; empty if that is not known.

    Examples
    --------
    >>> from suspectra.evidence.evidence import TestResult, Verdict
    >>> from suspectra.location import Location
    >>> inherited = TestResult("test_b.py::TestB::test_sum", Verdict.FAILED, Location("base.py", 4, 6))
    >>> FailingTest.from_result(inherited).file
    'test_b.py'
    """

    name: str
    file: str
    exception: str = ""

    @classmethod
    def from_result(cls, test: TestResult, exception: str = "") -> FailingTest:
        """Find the module of a recorded test.

        Parameters
        ----------
        test : TestResult
            It may be defined elsewhere, in a class from which others inherit it.
        exception : str
            The type of its exception, as its stack has it; empty if that is not known.

        Returns
        -------
        FailingTest
            With the file of its node id, or with that of its location if this is the same file below another folder.
        """
        file, of_pytest, _ = test.name.partition("::")
        location = test.location.file if test.location else ""
        module = location if location.endswith(f"/{file}") or not of_pytest else file
        return cls(test.name, module, "" if test.message.startswith(_TOO_LONG) else exception)


class RepeatedTests:
    r"""Tests by name, each with a machine for its module. They start when they are first asked for.

    Parameters
    ----------
    command : sequence of str
        What runs pytest: program and arguments, without tests.
    workspace : Path
        Where it runs.
    failing : sequence of FailingTest
        Those that fail unaltered.
    kinds : sequence of str
        The kinds of experiments.
    passing : sequence of str
        The names of those that pass unaltered.
    excluded : sequence of str
        The names of markers; tests that have one are never run.
    original : Path, optional
        The folder whose copy `workspace` is.
    forks : bool
        Whether runs with a switched decision are forks of the unaltered run; they share its open files.

    Attributes
    ----------
    notices : list of Problem
        What is different from a run by pytest itself, which files are left out, and why passing tests are; those with
        the same reason are counted in one sentence.
    meanwhile : callable
        Called each time after a process was started, while it collects tests.

    Examples
    --------
    >>> import sys
    >>> _ = (folder / "test_cart.py").write_text("def test_price():\n    assert 20 > 21\n")
    >>> failing = FailingTest("test_cart.py::test_price", "test_cart.py")
    >>> tests = RepeatedTests([sys.executable, "-m", "pytest"], folder, [failing])
    >>> tests.runs(failing.name)
    False
    >>> tests[failing.name].trace.end
    'failed AssertionError'
    >>> tests.before(math.inf, failing.name) is tests[failing.name]
    True
    >>> tests.runs(failing.name), sorted(tests.machine(failing.name).tests), tests.pending
    (True, ['test_cart.py::test_price'], 0)
    >>> tests.close()
    """

    def __init__(
        self,
        command: Sequence[str],
        workspace: Path,
        failing: Sequence[FailingTest],
        kinds: Sequence[str] = (),
        passing: Sequence[str] = (),
        excluded: Sequence[str] = (),
        original: Path | None = None,
        *,
        forks: bool = False,
    ):
        self._forks = forks
        self._excluded, self._original = tuple(excluded), original
        self.notices: list[Problem] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self._command, self._workspace, self._kinds = command, workspace, kinds
        self._file_of = {test.name: test.file for test in failing}
        self._failing = {test.name: test.exception for test in failing}
        for name in passing:
            self._file_of.setdefault(name, name.partition("::")[0])
        self._machines: dict[str, Machine | FreshRuns] = {}
        self._tests: dict[str, RepeatedTest] = {}
        self._refused: dict[str, EvidenceError] = {}  # by test or module
        self._refusals: dict[tuple[str, str, str], tuple[int, Problem, list[str]]] = {}  # by reason, of passing tests

    def __getitem__(self, name: str) -> RepeatedTest:
        """Look a test up.

        Parameters
        ----------
        name : str
            Its node id.

        Returns
        -------
        RepeatedTest
            The same one each time.

        Raises
        ------
        EvidenceError
            When no experiments can be made with it; the same one each time.
        """
        return self.before(math.inf, name)

    def before(self, end: float, name: str) -> RepeatedTest:
        """Look a test up, as far as its first runs are over in time.

        Parameters
        ----------
        end : float
            When they have to be, as ``time.monotonic`` has it.
        name : str
            Its node id.

        Returns
        -------
        RepeatedTest
            The same one each time.

        Raises
        ------
        EvidenceError
            When no experiments can be made with it; the same one each time.
        TimeIsUp
            When there is too little time to collect it, or to run it unaltered.
        """
        fails, recorded = name in self._failing, self._failing.get(name, "")
        try:
            machine = self.machine(name, end)
            try:
                return self._once(
                    self._tests,
                    name,
                    lambda: RepeatedTest(name, machine, fails=fails, recorded=recorded, forks=self._forks, end=end),
                )
            except EvidenceError:
                self._note_threads(machine, name)
                raise
        except EvidenceError as error:
            if not fails:
                self._note_refusal(name, error.problem)
            raise

    def _note_refusal(self, test: str, problem: Problem) -> None:
        """Say why a passing test is not run. Hundreds may have the same reason; after a colon are its details."""
        before, named, after = problem.cause.partition(test)
        reason = before, after.partition(":")[0], problem.cure
        at, first, tests = self._refusals.setdefault(reason, (len(self.notices), problem, []))
        if test not in tests:
            tests.append(test)
            more = f"; so it is with {many(len(tests) - 1, 'more passing test')}" if named and len(tests) > 1 else ""
            self.notices[at : at + 1] = [replace(first, cause=first.cause + more)]

    def _note_threads(self, machine: Machine | FreshRuns, test: str) -> None:
        """Say which threads a test that can't be run again may have needed; others do without them."""
        if isinstance(machine, Machine) and test in machine.tests and machine.threads:
            cause = f"threads that were started before the tests do not run in them: {', '.join(machine.threads)}"
            notice = Problem("", "", cause, "start threads in fixtures if the tests need them")
            if notice not in self.notices:
                self.notices.append(notice)

    def machine(self, name: str, end: float = math.inf) -> Machine | FreshRuns:
        """Start what runs a test, unless it runs already.

        Parameters
        ----------
        name : str
            Its node id.
        end : float
            When it has to be started, as ``time.monotonic`` has it.

        Returns
        -------
        Machine or FreshRuns
            That of its module.

        Raises
        ------
        EvidenceError
            When the module can't be collected; the same one each time.
        TimeIsUp
            When it is not collected in time.
        """
        file = self._file_of[name]
        return self._once(self._machines, file, lambda: self._machine(file, end))

    @property
    def pending(self) -> int:
        """How many runs have been made whose experiments were not yielded yet."""
        return sum(test.pending for test in self._tests.values())

    def runs(self, name: str) -> bool:
        """Whether the machine of a test has started, so that running the test costs little.

        Parameters
        ----------
        name : str
            Its node id.

        Returns
        -------
        bool
            False for tests that are not known, too.
        """
        return self._file_of.get(name) in self._machines

    def _once(self, known: dict[str, _Made], name: str, make: Callable[[], _Made]) -> _Made:
        if name in self._refused:
            raise self._refused[name]
        if name not in known:
            try:
                known[name] = make()
            except EvidenceError as error:
                self._refused[name] = error
                raise
        return known[name]

    def _machine(self, file: str, end: float) -> Machine | FreshRuns:
        if FORK.exists:
            tests = [name for name, module in self._file_of.items() if module == file]
            machine: Machine | FreshRuns = Machine(
                self._command,
                self._workspace,
                file,
                tests,
                tuple(self._kinds),
                self._excluded,
                self._original,
                self.notices,
                end,
                self.meanwhile,
            )
        else:
            machine = FreshRuns(self._command, self._workspace, file, self._excluded, self._original, self.notices)
        return machine

    def close(self) -> None:
        """End all processes."""
        for machine in self._machines.values():
            machine.close()
