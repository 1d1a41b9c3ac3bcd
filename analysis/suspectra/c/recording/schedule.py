"""The order of tests, with their dependencies, fixtures and resource locks."""

from __future__ import annotations

import os
from collections.abc import Sequence

from suspectra.c.recording.case import CCase
from suspectra.evidence.evidence import TestResult, Verdict


class TestSchedule:
    """Chooses the next test. It runs after the tests it depends on, and never at the same time as one with the same
    lock.
    """

    def __init__(self, cases: Sequence[CCase]):
        self._waiting = list(cases)
        self._names = {case.name for case in cases}
        self._done: dict[str, TestResult | None] = {}
        self._active: dict[str, CCase] = {}
        self._setup: dict[str, list[str]] = {}
        for case in cases:
            for fixture in case.setup:
                self._setup.setdefault(fixture, []).append(case.name)

    def next(self) -> CCase | None:
        """Choose a test that may start now.

        None if no test may start.
        """
        case = next(filter(self._may_start, self._waiting), None)
        if case is None:
            if self._active or not self._waiting:
                return None
            case = self._waiting[0]  # tests with cyclic dependencies run in the given order
        self._waiting.remove(case)
        self._active[case.name] = case
        return case

    def _may_start(self, case: CCase) -> bool:
        active = self._active.values()
        if active and (case.serial or any(other.serial for other in active)):
            return False
        if any(set(case.locks) & set(other.locks) for other in active):
            return False
        return all(name in self._done or name not in self._names for name in self._before(case))

    def _before(self, case: CCase) -> set[str]:
        setup = {name for fixture in case.required for name in self._setup.get(fixture, ())}
        users = {other.name for other in self._waiting for f in case.cleanup if f in other.required}
        users |= {other.name for other in self._active.values() for f in case.cleanup if f in other.required}
        return ({*case.depends} | setup | users) - {case.name}

    def ended(self, case: CCase, result: TestResult | None) -> None:
        """Note that a test ended."""
        del self._active[case.name]
        self._done[case.name] = result

    def unable(self, case: CCase) -> str:
        """Return why a test can't be run.

        Empty if it can.
        """
        if case.disabled:
            return "it is disabled"
        if case.problem:
            return case.problem
        missing = [path for path in case.required_files if not os.path.exists(os.path.join(case.folder, path))]
        if missing:
            return f"the file {missing[0]} it requires is missing"
        for fixture in case.required:
            for name in self._setup.get(fixture, ()):
                result = self._done.get(name)
                if result is None or result.verdict is not Verdict.PASSED:
                    return f"its fixture {fixture} was not set up by {name}"
        return ""
