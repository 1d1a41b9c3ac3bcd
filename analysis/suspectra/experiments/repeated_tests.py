"""The tests with which experiments are made, and the machines that run them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from suspectra.base.english import many
from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.operating_system import FORK
from suspectra.evidence.evidence import TestResult
from suspectra.experiments.altered_program import AlteredPrograms
from suspectra.experiments.machine import FreshRuns, Machine
from suspectra.experiments.repeated_test import RepeatedTest
from suspectra_recorder.log.stack import Stack

_TOO_LONG = "Failed: Timeout"
"""How messages of pytest-timeout begin. It is not a failure of its own: the test may fail otherwise with more time."""

_TOGETHER = 6
"""Modules that one process collects: that starts pytest once, and loads what they have in common once."""

_Made = TypeVar("_Made")


class FailingTest(NamedTuple):
    """A test to be investigated."""

    name: str  # its node id
    file: str  # its module, relative to the workspace
    # the type of the exception with which it failed when it was recorded; empty if that is not known
    exception: str = ""
    hangs_s: float = 0.0  # after how many seconds it was stopped then; 0 if it ended by itself
    uncollected: bool = False  # whether its module could not be collected, so that it did not even run

    @classmethod
    def from_result(cls, test: TestResult, exception: str = "") -> FailingTest:
        """Find the module of a recorded test.

        With the file of its node id, or with that of its location if this is the same file below another folder.
        """
        file, of_pytest, _ = test.name.partition("::")
        location = test.location.file if test.location else ""
        module = location if location.endswith(f"/{file}") or not of_pytest else file
        if test.message.startswith(_TOO_LONG):
            return cls(test.name, module, hangs_s=test.seconds)
        return cls(test.name, module, exception)

    @classmethod
    def recorded(cls, test: TestResult, stacks: Mapping[str, Stack]) -> FailingTest:
        """Find the same with the exception that ended the test, if its stack is among those by the names of tests."""
        return cls.from_result(test, stacks[test.name].exception if test.name in stacks else "")


class RepeatedTests:
    """Tests by name, each with a machine for its module. They start when they are first asked for."""

    def __init__(
        self,
        command: Sequence[str],
        workspace: Path,
        failing: Sequence[FailingTest],
        kinds: Sequence[str] = (),
        passing: Sequence[str] = (),
        excluded: Sequence[str] = (),  # the names of markers; tests that have one are never run
        original: Path | None = None,
        *,
        forks: bool = False,
    ):
        self._forks = forks
        self._excluded, self._original = tuple(excluded), original
        # what is different from a run by pytest itself, which files are left out, and why passing tests are; those with
        # the same reason are counted in one sentence
        self.notices: list[Problem] = []
        # called each time after a process was started, while it collects tests
        self.meanwhile: Callable[[], object] = lambda: None
        self._command, self._workspace, self._kinds = command, workspace, kinds
        self._file_of = {test.name: test.file for test in failing}
        self._failing = {test.name: test.exception for test in failing}
        for name in passing:
            self._file_of.setdefault(name, name.partition("::")[0])
        modules = tuple(dict.fromkeys(test.file for test in failing))
        self._together = modules if 1 < len(modules) <= _TOGETHER else ()  # what one machine is to run
        self._alone: set[str] = set()  # modules of passing tests that are not collected with others
        self._machines: dict[str, Machine | FreshRuns] = {}
        self._tests: dict[str, RepeatedTest] = {}
        self._refused: dict[str, EvidenceError] = {}  # by test or module
        self._refusals: dict[tuple[str, str, str], tuple[int, Problem, list[str]]] = {}  # by reason, of passing tests

    def __getitem__(self, name: str) -> RepeatedTest:
        """Look a test up.

        Raises EvidenceError when no experiments can be made with it; the same one each time.
        """
        return self.before(math.inf, name)

    def before(self, end: float, name: str) -> RepeatedTest:
        """Look a test up, as far as its first runs are over in time.

        Raises EvidenceError when no experiments can be made with it; the same one each time. Raises TimeIsUp when there
        is too little time to collect it, or to run it unaltered.
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

    def file_of(self, name: str) -> str:
        """The module of a test."""
        return self._file_of[name]

    def altered_programs(self) -> AlteredPrograms:
        """What runs them with other texts of the program."""
        return AlteredPrograms(self._command, self._workspace, self._file_of, self._excluded, self._original)

    def machine(self, name: str, end: float = math.inf) -> Machine | FreshRuns:
        """Start what runs a test, unless it runs already.

        Raises EvidenceError when the module can't be collected; the same one each time. Raises TimeIsUp when it is not
        collected in time.
        """
        file = self._file_of[name]
        return self._once(self._machines, file, lambda: self._machine(file, end))

    @property
    def pending(self) -> int:
        """How many runs have been made whose experiments were not yielded yet."""
        return sum(test.pending for test in self._tests.values())

    def runs(self, name: str) -> bool:
        """Whether the machine of a test has started, so that running the test costs little.

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
        if not FORK.exists:
            return FreshRuns(self._command, self._workspace, file, self._excluded, self._original, self.notices)
        if file in self._together and (machine := self._for_all(end)) is not None:
            self._machines |= dict.fromkeys(self._together, machine)
            return machine
        machine = self._for_passing(file, end)
        return machine or self._forking((file,), end)

    def _for_all(self, end: float) -> Machine | None:
        """What runs all failing tests; None if their modules can't be collected together."""
        known = len(self.notices)
        try:
            machine = self._forking(self._together, end)
            if machine.complete:
                return machine
            machine.close()
        except EvidenceError:
            pass
        del self.notices[known:]
        self._together = ()
        return None

    def _for_passing(self, file: str, end: float) -> Machine | None:
        """What runs the passing tests of a module, and of some that follow; None if it is not collected with these."""
        failing = {self._file_of[name] for name in self._failing}
        known = self._machines.keys() | failing | self._alone
        others = [one for one in dict.fromkeys(self._file_of.values()) if one not in known and one != file]
        files = (file, *others[: _TOGETHER - 1])
        if file in failing | self._alone or len(files) == 1:
            return None
        notices = len(self.notices)
        self._alone.update(files)
        try:
            machine = self._forking(files, end)
        except EvidenceError:
            del self.notices[notices:]
            return None
        collected = {self._file_of[name] for name in machine.tests}
        self._alone -= collected
        self._machines |= dict.fromkeys(collected, machine)
        if not collected:
            machine.close()
        return machine if file in collected else None

    def _forking(self, files: tuple[str, ...], end: float) -> Machine:
        return Machine(
            self._command,
            self._workspace,
            files[0],
            [name for name, module in self._file_of.items() if module in files],
            tuple(self._kinds),
            self._excluded,
            self._original,
            self.notices,
            end,
            self.meanwhile,
            files[1:],
        )

    def close(self) -> None:
        """End all processes."""
        for machine in {id(one): one for one in self._machines.values()}.values():
            machine.close()
