"""Patches on trial: what each repairs and breaks, without touching a file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from suspectra.base.deadline import TimeIsUp, seconds_until
from suspectra.base.errors import EvidenceError
from suspectra.evidence.test_code import TestCode
from suspectra.experiments.inquiry import Inquiry, RerunSetup, SuspicionSource
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.fixes.changed_functions import changed_functions
from suspectra.fixes.judge import JudgingTest
from suspectra.fixes.judges import Judges
from suspectra.fixes.patches import PatchRefused, patched
from suspectra.fixes.search_time import SearchTime
from suspectra.spectrum import Spectrum
from suspectra_recorder.experiments.messages import MachineRunAnswer, RunRequest

_OTHERS_SHARE = 0.5
"""How much of the time of a patch tests get that do not execute a file that is imported anew."""

_Ended = tuple[str, MachineRunAnswer | None, bool]
"""A test, how it ends, and whether it fails without the patch."""


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
            programs = tests.altered_programs()
            judges = Judges(tests, SearchTime(end), self.note)
            starts: dict[str, float] = {}  # how long it takes to collect a module of tests

            def judge(name: str, *, fails: bool) -> JudgingTest | None:
                began = time.monotonic()
                found = judges.get(name, fails=fails)
                starts.setdefault(tests.file_of(name), time.monotonic() - began)
                return found

            def run(texts: Mapping[str, str], names: Mapping[str, bool]) -> Iterator[_Ended]:
                """How tests end with other texts; of each it is known whether it fails without."""
                known = {}
                for name, fails in names.items():
                    seconds_until(end)
                    known[name] = judge(name, fails=fails)
                asked = [one.request_alone() for one in known.values() if one is not None]
                answers = programs.run(texts, asked, starts, end)
                yield from ((name, answers.get(name), fails) for name, fails in names.items())

            judged = 0
            try:
                for name, text in self.patches.items():
                    share = (end - time.monotonic()) / (len(self.patches) - judged)
                    one = self._judged(name, text, spectrum, judge, run, end, share)
                    judged += 1
                    yield one
            except TimeIsUp:
                self.complete = False
                for name in list(self.patches)[judged:]:
                    yield JudgedPatch(name, refused="the time was up", complete=False)
            finally:
                self.note(tests.notices)
                programs.close()
                tests.close()

    def _judged(
        self,
        name: str,
        text: str,
        spectrum: Spectrum,
        judge: Callable[..., JudgingTest | None],
        run: Callable[[Mapping[str, str], Mapping[str, bool]], Iterable[_Ended]],
        end: float,
        share: float,  # the seconds that this one may take if all are to be judged
    ) -> JudgedPatch:
        if time.monotonic() >= end:
            self.complete = False
            return JudgedPatch(name, refused="the time was up", complete=False)
        tests = TestCode({test.partition("::")[0] for test in spectrum.tests})
        try:
            files = patched(text, self._read, tests.__contains__)
            changed = {
                path: changed_functions(path, old, new, self.suspects.lines_at_import(path))
                for path, (old, new) in files.items()
            }
        except PatchRefused as refused:
            return JudgedPatch(name, refused=str(refused))
        executing = {row for path, one in changed.items() for row in _rows(spectrum, path, one.lines)}
        passing = [spectrum.tests[row] for row in sorted(executing) if not spectrum.failed[row]]
        verdicts = _Verdicts()
        try:
            if any(one.job is None for one in changed.values()):
                # who reads a constant, or calls a function, need not execute its file
                others = [test for test, fails in zip(spectrum.tests, spectrum.failed, strict=True) if not fails]
                ended = self._loaded({path: new for path, (_, new) in files.items()}, passing, others, run, share)
            else:
                ended = self._exchanged([one.job for one in changed.values() if one.job], passing, judge, end)
            for test, answer, fails in ended:
                verdicts.add(test, answer, fails=fails)
        except EvidenceError as error:
            return JudgedPatch(name, refused=str(error.problem.cause))
        except TimeIsUp:
            self.complete = False
            if not verdicts.judges:
                raise
        return verdicts.judged(name, complete=self.complete)

    def _loaded(
        self,
        texts: Mapping[str, str],
        passing: Sequence[str],
        others: Sequence[str],
        run: Callable[[Mapping[str, str], Mapping[str, bool]], Iterable[_Ended]],
        seconds: float,
    ) -> Iterator[_Ended]:
        """How tests end where the files are imported anew; also those that do not execute them, as time allows."""
        names = dict.fromkeys((test.name for test in self.tests), True) | dict.fromkeys(passing, False)
        needed, left = frozenset(names), _OTHERS_SHARE * seconds
        for other in sorted(set(others).difference(names), key=self.suspects.seconds):
            left -= self.suspects.seconds(other)
            if left < 0:
                break
            names[other] = False
        # others are asked in case that they read what the files define: they need not say anything
        yield from (one for one in run(texts, names) if one[1] is not None or one[0] in needed)

    def _exchanged(
        self, jobs: Sequence[RunRequest], passing: Sequence[str], judge: Callable[..., JudgingTest | None], end: float
    ) -> Iterator[_Ended]:
        """How tests end in a process that has loaded the program, where functions get other code."""
        first, *others = [part for job in jobs for part in (job, *job.get("others", ()))]
        job: RunRequest = {**first, "others": others} if others else first
        for test in self.tests:
            one = judge(test.name, fails=True)
            yield test.name, None if one is None else one.tried(job, end), True
        for other in passing:
            seconds_until(end)
            one = judge(other, fails=False)
            (answer,) = one.accepts([job], end) if one else [None]
            yield other, answer, False

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
