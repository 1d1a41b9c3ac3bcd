"""The search for the changes that broke tests.

The changes are narrowed down from both ends: a set of changes with which the test passes, and a larger one with which
it fails, until nothing between the two can be left out (Zeller 1999, dd). A run in which the test ends in another way,
or can't be imported, says nothing. So changes that mention a name which only one of the two programs defines are tried
together where one of them alone says nothing. Where a few break the test only together, as the parts of a renaming
with a mistake, they are the cause: which of them comes last is chance. `narrowing.py` tells how the search goes on.

Another cause is looked for without the first one: with all other changes, those tests still fail that it does not mend.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, zip_longest
from pathlib import Path

from suspectra.base.cancellation import check
from suspectra.base.deadline import TimeIsUp
from suspectra.base.english import many
from suspectra.base.errors import EvidenceError, Problem
from suspectra.changes.baselines import Baseline, first_words, from_revision
from suspectra.changes.history import before, commits_until
from suspectra.changes.mixed_program import MixedProgram
from suspectra.changes.mixed_tests import MixedFailure, MixedRun, MixedTests
from suspectra.changes.narrowing import ChangeNarrowing
from suspectra.changes.units import ChangeUnit
from suspectra.changes.value_trace import ValueDifference
from suspectra.evidence.sources import SourceReader
from suspectra.experiments.inquiry import Inquiry, RerunSetup
from suspectra.experiments.log import ExperimentLog
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.safety import Safety
from suspectra.paths.delta_debugging import Differences
from suspectra.runs.experiment import EVERY, GOING_WITH, MOVE, UNDO, Experiment, ExperimentOutcome
from suspectra.selection.revision import is_shallow, refusal

_MAX_CAUSES = 5
_MAX_TESTS = 20
_FEW = 4  # changes that are named in one sentence
_MORE = 30  # that are undone with a cause


class HistoryNotRead(EvidenceError):
    """There may be older texts, but git does not say them."""


@dataclass(frozen=True)
class BreakingChange:
    """Changes that broke tests."""

    tests: tuple[str, ...]  # with which they were found
    units: tuple[ChangeUnit, ...]
    mends: tuple[str, ...]  # the tests that pass without them, and with all others
    alone_breaks: tuple[str, ...]  # the tests that fail in the same way with them alone
    minimal: bool  # whether nothing can be left out; False where there was no time to try
    since: Baseline  # what they were changes of
    total: int  # how many changes there are since then
    difference: ValueDifference | None = None  # the first value that they make another one
    compared: bool = False  # whether the values of both runs were compared
    going_with: tuple[ChangeUnit, ...] = ()  # others, without which the program works only if these are undone, too
    besides: tuple[ChangeUnit, ...] = ()  # other causes, without which the tests have to be, too, in order to pass
    # of many changes those that a test runs, and other changes that it runs only with these and needs in order to fail
    run: tuple[ChangeUnit, ...] = ()

    def __str__(self) -> str:
        tests = self.mends or self.tests
        what = "your change" if len(self.units) == 1 else f"{len(self.units)} of your changes together,"
        places = ", ".join(map(str, self.units[:_FEW])) + (" …" if len(self.units) > _FEW else "")
        it, pass_then = "it" if len(self.units) == 1 else "them", "it passes" if len(tests) == 1 else "they pass"
        without = f"; without {it}{self.with_these} {pass_then}" if self.mends else ""
        return f"{first_words(tests)} {'was' if len(tests) == 1 else 'were'} broken by {what} at {places}{without}."

    def __or__(self, other: BreakingChange) -> BreakingChange:
        """The same changes, for the tests of both."""
        return replace(
            self,
            tests=_each(self.tests, other.tests),
            mends=_each(self.mends, other.mends),
            alone_breaks=_each(self.alone_breaks, other.alone_breaks),
        )

    def said(self) -> frozenset[tuple[str, int, str, str]]:
        """What the changes are, by which they are the same as others since another text."""
        return _said(self.units)

    @property
    def with_these(self) -> str:
        """What else is undone, as a part of a sentence."""
        if not self.going_with:
            return ""
        go = "goes" if len(self.going_with) == 1 else "go"
        return f" and {many(len(self.going_with), 'change')} that {go} with {'it' if len(self.units) == 1 else 'them'}"

    @property
    def undone(self) -> tuple[ChangeUnit, ...]:
        """The changes without which the tests pass that they broke."""
        return *self.units, *self.going_with

    def experiments(self) -> Iterator[Experiment]:
        """What was tried with each of them: the tests that pass without it."""
        undone = *self.besides, *self.undone
        return (
            self._undone(unit, test, len(undone), ExperimentOutcome.PASSED) for test in self.mends for unit in undone
        )

    def in_vain(self, tests: Iterable[str]) -> Iterator[Experiment]:
        """That tests fail without these changes, too, as they do without any."""
        return (self._undone(unit, test, self.total, ExperimentOutcome.FAILED) for test in tests for unit in self.units)

    def _undone(self, unit: ChangeUnit, test: str, together: int, outcome: ExperimentOutcome) -> Experiment:
        place = GOING_WITH if unit in self.going_with else "change"
        return Experiment(
            test,
            UNDO,
            unit.file,
            unit.line,
            unit.end_line,
            0,
            MOVE if unit.moved_from else place,
            EVERY,
            str(together),
            outcome,
            detail=self.since.name,
            replacement=unit.moved_from or unit.before,
        )

    def to_json(self) -> dict[str, object]:
        """In the form of `suspectra changes --format json`."""
        return {
            "change": [one.to_json() for one in self.units],
            "tests": list(self.tests),
            "mends": list(self.mends),
            "alone_breaks": list(self.alone_breaks),
            "minimal": self.minimal,
            "run": [one.to_json() for one in self.run],
            "going_with": [{"file": one.file, "line": one.line} for one in self.going_with],
            "besides": [{"file": one.file, "line": one.line} for one in self.besides],
            "first_difference": self.difference.to_json() if self.difference else None,
        }

    def to_log(self) -> dict[str, object]:
        """In the form in which it is kept, whole."""
        more = {"going_with": self.going_with, "besides": self.besides}
        units = {name: [one.to_json() for one in several] for name, several in more.items()}
        return {**self.to_json(), **units, "since": self.since.name, "total": self.total}


@dataclass(frozen=True)
class IsolationStep:
    """How far the search is."""

    runs: int
    left: int  # how many changes may still be the cause
    total: int
    preparing: str = ""  # what is done before the first run

    def __str__(self) -> str:
        if self.preparing:
            return self.preparing
        runs = many(self.runs, "run")
        return f"{self.left} of {self.total} changes left after {runs}" if self.total > 1 else runs


@dataclass(kw_only=True)
class ChangeIsolation(Inquiry[IsolationStep]):
    """Finds the changes that broke tests, by running these with some of the changes."""

    setup: RerunSetup
    tests: Sequence[FailingTest]
    baselines: Iterable[Baseline]  # the newest first
    # makes what runs the tests, in a folder until a point of time; pytest does unless given
    start: Callable[[Path, float], MixedTests] | None = None
    baseline: Baseline | None = field(default=None, init=False)  # that with which tests passed
    causes: list[BreakingChange] = field(default_factory=list, init=False)
    old: list[str] = field(default_factory=list, init=False)  # the tests that fail with each baseline
    _before: dict[str, Baseline] = field(default_factory=dict, init=False)  # an older text with which they fail so, too
    runs: int = field(default=0, init=False)

    def steps(self) -> Generator[IsolationStep]:
        """Search, one cause after the other.

        Raises EvidenceError when the tests do not fail in a copy of the workspace, or there is no baseline.
        """
        end = self.begin()
        self.tests = self._chosen()
        known = self._with_changes()
        baselines = chain([next(known)], known)  # without one there is nothing to start
        safety = Safety(self.setup.safety.excluded, copy=True)
        with safety.folder(self.setup.workspace) as folder:
            if self.start is None:
                program: MixedTests = MixedProgram(self.setup, folder, self.tests, end)
            else:
                program = self.start(folder, end)
            try:
                yield from self._search(program, baselines)
                self.complete = True
            except TimeIsUp:
                pass
            finally:
                self.runs = program.runs
                program.close()
                self._keep()

    @property
    def fail_before(self) -> frozenset[str]:
        """The tests that fail in the same way with an older text."""
        return frozenset(self._before)

    def to_json(self) -> dict[str, object]:
        """In the form of `suspectra changes --format json`."""
        return {
            "tests": [test.name for test in self.tests],
            "baseline": self.baseline.name if self.baseline else None,
            "changes": len(self.baseline.units) if self.baseline else 0,
            "causes": [cause.to_json() for cause in self.causes],
            "failed_before": list(self.old),
            "runs": self.runs,
            "complete": self.complete,
            "seconds": round(self.elapsed, 3),
        }

    def _chosen(self) -> Sequence[FailingTest]:
        """As many tests as are run again, of each file in turn."""
        if len(self.tests) <= _MAX_TESTS:
            return self.tests
        by_file: dict[str, list[FailingTest]] = {}
        for test in self.tests:
            by_file.setdefault(test.file, []).append(test)
        turns = (test for turn in zip_longest(*by_file.values()) for test in turn if test is not None)
        cause = f"of {len(self.tests)} failing tests {_MAX_TESTS} were run again, of each file some"
        self.note([Problem("", "", cause, "name others to find out about them")])
        return list(islice(turns, _MAX_TESTS))

    def _keep(self) -> None:
        """Add what was found to the evidence of the workspace: it counts as long as the sources are these."""
        read, files = SourceReader(self.setup.workspace), {test.file for test in self.tests if test.file}

        def sources(since: Baseline) -> dict[str, str]:
            paths = sorted({*files, *(one.path for one in since.differences)})
            texts = {path: text for path in paths if (text := read(path)) is not None}
            return {path: hashlib.sha256(text).hexdigest() for path, text in texts.items()}

        if not self.causes and not self._before:
            return
        with ExperimentLog(self.setup.workspace) as log:
            for cause in self.causes:
                present = sources(cause.since)
                for experiment in (*cause.experiments(), *cause.in_vain(self.old)):
                    log.add(experiment, present)
                log.add_causes([one.to_log() for one in self.causes], present)
            for since in dict.fromkeys(self._before.values()) if not self.causes else ():
                tests = [name for name, baseline in self._before.items() if baseline is since]
                cause = BreakingChange((), since.units[:_MORE], (), (), False, since, len(since.units))
                present = sources(since)
                for experiment in cause.in_vain(tests):
                    log.add(experiment, present)

    def _search(self, program: MixedTests, baselines: Iterable[Baseline]) -> Iterator[IsolationStep]:
        yield IsolationStep(0, 0, 0, program.preparing)
        names = [test.name for test in self.tests]
        present = Baseline("the present text", ())
        run = program.run(present, (), names)
        failing = run.failed
        if not failing:
            raise EvidenceError(_not_failing(names, run))
        self.tests = [test for test in self.tests if test.name in failing]
        self.old = list(failing)
        for baseline in baselines:
            passed = self._passed(program, baseline, failing)
            while passed:
                nearest, some = self._nearest(program, baseline, passed)
                self.baseline = self.baseline or nearest
                self.old = [name for name in self.old if name not in some]
                yield from self._isolate(program, nearest, {name: failing[name] for name in some})
                passed = [name for name in passed if name not in some]
            if not self.old:
                return
        if len(self.old) == len(failing):
            cause = "the tests fail with each older text that is known"
            self.note([Problem("", "", cause, "name a revision with which they passed by --since")])

    def _isolate(
        self, program: MixedTests, baseline: Baseline, failing: dict[str, MixedFailure]
    ) -> Iterator[IsolationStep]:
        """Find the changes since a baseline that broke tests, one cause after the other."""
        units, left = baseline.units, list(failing)
        search = ChangeNarrowing(baseline, program, failing)
        high = everything = frozenset(range(len(units)))
        decides: list[tuple[int, str, Differences, Differences]] = []  # causes by number, what passes, what then fails
        for known in list(self.causes):  # since another text, of which other tests are left
            if cause := search.numbers(known.undone):
                without = search.run(high - cause, left)
                if mended := [name for name in left if name in without.passed]:
                    self._add(search, replace(known, tests=tuple(mended), mends=tuple(mended)), cause, left, failing)
                    left = [name for name in left if name not in mended]
        while left and len(self.causes) < _MAX_CAUSES:
            check()
            yield IsolationStep(program.runs, len(high), len(units))
            first = search.look(left)
            left.sort(key=lambda name: name != first)
            low, cause, minimal, without, decided = self._cause(search, left, high, baseline)
            going_with, without = self._going_with(search, cause, high, left, without)
            mended = [name for name in left if name in without.passed]
            of = [name for name in left if name == left[0] or name in mended or name in decided]
            run = search.units(search.run_with(left[0], high, cause | going_with)) if len(cause) > _FEW else ()
            found = BreakingChange(
                tuple(of),
                search.units(cause),
                tuple(mended),
                (),
                minimal,
                baseline,
                len(units),
                run=run,
                going_with=search.units(going_with),
                besides=self._besides(search, everything - cause - going_with, left[0], mended),
            )
            at = self._add(search, found, cause, left, failing)
            yield IsolationStep(program.runs, len(cause), len(units))
            others = high - cause if left[0] in mended and not going_with else low
            decides.append((at, left[0], others, cause))
            if still := [name for name in left if without.failed.get(name) == failing[name]]:
                high, left = high - cause - going_with, still  # some of them may have this cause, too
            else:
                left = [name for name in left if name not in of]
        for at, test, others, cause in decides if self.setup.values_shown else ():
            if self.causes[at].difference is None:
                compared, difference = search.first_difference(test, others, cause)
                self.causes[at] = replace(self.causes[at], compared=compared, difference=difference)

    def _going_with(
        self, search: ChangeNarrowing, cause: Differences, high: Differences, tests: Sequence[str], without: MixedRun
    ) -> tuple[Differences, MixedRun]:
        """What is undone with a cause without which the first test does not pass yet, if more tests pass then.

        With the run without all of that.
        """
        others = search.going_with(cause, high)
        if tests[0] in without.passed or not 0 < len(others) <= _MORE:
            return frozenset(), without
        wider = search.run(high - cause - others, tests)
        return (others, wider) if wider.passed > without.passed else (frozenset(), without)

    def _besides(
        self, search: ChangeNarrowing, others: Differences, test: str, mended: Sequence[str]
    ) -> tuple[ChangeUnit, ...]:
        """The causes before without which tests have to be, too, in order to pass: this one was sought without them."""
        earlier = tuple(unit for one in self.causes if mended or test in one.tests for unit in one.undone)
        if not earlier or not mended:
            return earlier
        try:
            passed = search.run(others, mended).passed
        except TimeIsUp:  # that they pass without all of these is certain
            return earlier
        return () if passed.issuperset(mended) else earlier

    def _add(
        self,
        search: ChangeNarrowing,
        found: BreakingChange,
        cause: Differences,
        tests: Sequence[str],
        failing: dict[str, MixedFailure],
    ) -> int:
        """Add a cause, or to one that is known the tests of it; where it is then."""
        said = found.said()
        at = next((at for at, one in enumerate(self.causes) if one.said() == said), len(self.causes))
        self.causes[at:] = [self.causes[at] | found if at < len(self.causes) else found, *self.causes[at + 1 :]]
        alone = search.run(cause, tests)  # it is known, even if there is no time for that
        broken = tuple(name for name in tests if alone.failed.get(name) == failing[name])
        self.causes[at] |= replace(found, alone_breaks=broken)
        return at

    def _cause(
        self, search: ChangeNarrowing, left: list[str], high: Differences, baseline: Baseline
    ) -> tuple[Differences, Differences, bool, MixedRun, set[str]]:
        """What the search has found for the first test, and what a run without it says; checked with a fresh program.

        Raises TimeIsUp when there is no time left; what decides by then is a cause.
        """
        try:
            while True:
                low, cause, minimal = search.isolate(left[0], high)
                without = search.run(high - cause, left)
                decided = search.decided(left[:1], low, cause) if left[0] not in without.passed else set()
                if decided:
                    decided |= search.decided(left[1:], low, cause)
                if decided or left[0] in without.passed or search.is_fresh:
                    return low, cause, minimal, without, decided
                search.load_anew()
        except TimeIsUp:
            if search.low or len(search.high) == 1:
                some = search.units(search.high - search.low)
                self.causes.append(BreakingChange((left[0],), some, (), (), False, baseline, len(baseline.units)))
            raise

    def _with_changes(self) -> Iterator[Baseline]:
        """The baselines that differ from the present text."""
        found = False
        for baseline in self.baselines:
            if baseline.units:
                found = True
                yield baseline
        if not found:
            raise _no_older_text(str(self.setup.workspace))

    def _nearest(self, program: MixedTests, baseline: Baseline, passed: list[str]) -> tuple[Baseline, list[str]]:
        """The last commit with which some of the tests pass, and these: found by bisection, if there are others."""
        workspace = self.setup.workspace
        commits = commits_until(os.path.realpath(workspace), baseline.commit) if baseline.commit else ()
        fails, passes = -1, len(commits) - 1
        while passes - fails > 1:
            middle = (fails + passes) // 2
            one = from_revision(workspace, commits[middle].id)
            still = [name for name in passed if name in program.run(one, (), passed).passed] if one.units else []
            if still:
                passes, baseline, passed = middle, one, still
            else:
                fails = middle
        if passes > 0:
            baseline = replace(baseline, name=before(commits[passes], commits[passes - 1]))
        return baseline, passed

    def _passed(self, program: MixedTests, baseline: Baseline, failing: Mapping[str, MixedFailure]) -> list[str]:
        """Those of the other failing tests that pass with a baseline."""
        before = program.run(baseline, (), self.old)
        if not before.passed:  # a module that was loaded before may be in the way
            program.load_nothing_before()
            before = program.run(baseline, (), self.old)
        self._before |= {name: baseline for name in self.old if before.failed.get(name) == failing[name]}
        return [name for name in self.old if name in before.passed]


def _no_older_text(workspace: str) -> EvidenceError:
    """Why there is nothing to compare with: git does not say it, or nothing changed."""
    if refused := refusal(workspace):
        return HistoryNotRead(refused)
    cause = "no older text is known that differs from the present one"
    if is_shallow(workspace):
        cause = f"{cause}, and the history of this repository is cut off"
        return HistoryNotRead(Problem("", "", cause, "fetch more of it with `git fetch --deepen 50`"))
    cure = "commit the text with which the tests pass, or name a revision by --since"
    return EvidenceError(Problem("", "", cause, cure))


def _said(units: Iterable[ChangeUnit]) -> frozenset[tuple[str, int, str, str]]:
    return frozenset((one.file, one.line, one.before, one.after) for one in units)


def _each(some: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*some, *others]))


def _not_failing(names: Sequence[str], run: MixedRun) -> Problem:
    if run.error and not run.passed:
        cure = run.cure or "name what runs them behind --"
        return Problem("", "", f"the tests can't be run again: {run.error}", cure)
    if not run.passed and not run.ended:
        tests = "the test" if len(names) == 1 else "the tests"
        cause = f"in a copy of the workspace pytest ended before it had run {tests}"
        return Problem("", "", cause, "name the options with which it was recorded, such as `-- pytest -p no:x`")
    cause = f"{many(len(names), 'test')} that failed did not fail in a copy of the workspace"
    cure = "record the tests again; if they still fail, see what they need besides the workspace"
    return Problem("", "", cause, cure)
