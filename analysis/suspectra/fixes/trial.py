"""Patches on trial: what each repairs and breaks, without touching a file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from suspectra.base.deadline import TimeIsUp, seconds_until
from suspectra.base.errors import EvidenceError
from suspectra.evidence.test_code import TestCode
from suspectra.experiments.inquiry import Inquiry, RerunSetup, SuspicionSource
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.fixes.changed_functions import changed_functions
from suspectra.fixes.judge import JudgingTest
from suspectra.fixes.patches import PatchRefused, patched
from suspectra.spectrum import Spectrum
from suspectra_recorder.experiments.messages import MachineRunAnswer, RunRequest


@dataclass(frozen=True)
class JudgedPatch:
    """What a patch does to the tests."""

    name: str  # as it was given
    repaired: tuple[str, ...] = ()  # the failing tests that pass with it
    broken: tuple[str, ...] = ()  # the passing tests that fail with it
    judges: int = 0  # how many tests were run with it to their end
    refused: str = ""  # why it was not tried, or what it may not do; empty if neither
    # the tests that say nothing about it: it may not do there what it does, or nobody knows how they end
    unjudged: tuple[str, ...] = ()
    complete: bool = True  # whether all tests that execute what it changes were run


@dataclass
class PatchTrial(Inquiry[JudgedPatch]):
    """Runs failing tests, and the passing ones that execute what a patch changes, with each of some patches."""

    setup: RerunSetup
    tests: Sequence[FailingTest]
    suspects: SuspicionSource
    patches: Mapping[str, str]  # unified differences by name

    def steps(self) -> Generator[JudgedPatch]:
        """Judge one patch after the other, in their order."""
        end = self.begin()
        spectrum = self.suspects.spectrum(0)
        passing = [test for test, failed in zip(spectrum.tests, spectrum.failed.tolist(), strict=True) if not failed]
        self.complete = True
        with self.setup.folder() as folder:
            tests = self.setup.repeated(folder, self.tests, ("mutant", "results"), passing)
            judges: dict[str, JudgingTest | None] = {}
            judged = 0

            def judge(name: str, *, fails: bool) -> JudgingTest | None:
                if name not in judges:
                    try:
                        judges[name] = JudgingTest(name, tests.machine(name, end), fails=fails, end=end)
                    except EvidenceError as error:
                        judges[name] = None
                        self.note([error.problem])
                return judges[name]

            try:
                for name, text in self.patches.items():
                    one = self._judged(name, text, spectrum, judge, end)
                    judged += 1
                    yield one
            except TimeIsUp:
                self.complete = False
                for name in list(self.patches)[judged:]:
                    yield JudgedPatch(name, refused="the time was up", complete=False)
            finally:
                self.note(tests.notices)
                tests.close()

    def _judged(
        self, name: str, text: str, spectrum: Spectrum, judge: Callable[..., JudgingTest | None], end: float
    ) -> JudgedPatch:
        if time.monotonic() >= end:
            self.complete = False
            return JudgedPatch(name, refused="the time was up", complete=False)
        tests = TestCode({test.partition("::")[0] for test in spectrum.tests})
        try:
            files = patched(text, self._read, tests.__contains__)
            changed = {path: changed_functions(path, old, new) for path, (old, new) in files.items()}
        except PatchRefused as refused:
            return JudgedPatch(name, refused=str(refused))
        first, *others = [part for one in changed.values() for part in (one.job, *one.job.get("others", ()))]
        job: RunRequest = {**first, "others": others} if others else first
        executing = {row for path, one in changed.items() for row in _rows(spectrum, path, one.lines)}
        passing = [spectrum.tests[row] for row in sorted(executing) if not spectrum.failed[row]]
        verdicts = _Verdicts()
        try:
            for test in self.tests:
                one = judge(test.name, fails=True)
                verdicts.add(test.name, None if one is None else one.alone(job, end), fails=True)
            for other in passing:
                seconds_until(end)
                one = judge(other, fails=False)
                (answer,) = one.accepts([job], end) if one else [None]
                verdicts.add(other, answer, fails=False)
        except TimeIsUp:
            self.complete = False
            if not verdicts.judges:
                raise
        return verdicts.judged(name, complete=self.complete)

    def _read(self, path: str) -> bytes | None:
        """The text of a file of the program, which no link leads to: what runs has the name of the file."""
        file = self.setup.workspace / path
        if os.path.realpath(file) != str(file):
            raise PatchRefused(f"a link leads to {path}")
        return self.suspects.read(path)


@dataclass
class _Verdicts:
    """What tests say about a patch."""

    repaired: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)
    judges: int = 0
    forbidden: str = ""  # what it may not do

    def add(self, test: str, answer: MachineRunAnswer | None, *, fails: bool) -> None:
        """Take into account how a test ends, which failed without the patch or did not."""
        if answer is None or answer["outcome"] == "refused":
            self.unjudged.append(test)
            self.forbidden = self.forbidden or ("" if answer is None else answer.get("forbidden", ""))
            return
        self.judges += 1
        if answer["outcome"] == "passed":
            self.repaired += [test] if fails else []
        elif not fails:
            self.broken.append(test)

    def judged(self, name: str, *, complete: bool) -> JudgedPatch:
        """All that is known of it."""
        refused = f"altered code may not do what it does: {self.forbidden}" if self.forbidden else ""
        lists = tuple(self.repaired), tuple(self.broken)
        return JudgedPatch(name, *lists, self.judges, refused, tuple(self.unjudged), complete)


def _rows(spectrum: Spectrum, path: str, functions: Sequence[tuple[int, int]]) -> set[int]:
    """The tests that execute some functions; all that execute anything of the file where that is not known."""
    part = spectrum.elements.in_file(path)
    numbers = np.arange(part.start, part.stop)
    lines = spectrum.elements.line[numbers]
    inside = np.zeros(len(numbers), bool)
    for first, last in functions or [(0, 1 << 30)]:
        inside |= (lines >= first) & (lines <= last)
    return {row for element in numbers[inside].tolist() for row in spectrum.tests_executing(element).tolist()}
