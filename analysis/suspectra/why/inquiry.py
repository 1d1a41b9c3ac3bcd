"""Why tests fail: the cheap steps first, and the dear ones only while the answer is not sure.

1. What changed: with some of the changes since the tests passed they run again (`suspectra.changes`).
2. Where they fail, and the ranking by all that is known.
3. Experiments at the first suspects (`suspectra.experiments`).
4. The way of values from what was found there to the failure. Where nothing was found, a search for causes
   (`suspectra.causes`), and what the passing test that is most like a failing one does otherwise.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import tee
from pathlib import Path

import numpy as np

from suspectra.base.english import every, first_of, many, share_does
from suspectra.base.errors import EvidenceError, NothingToRank, Problem
from suspectra.base.location import Location
from suspectra.causes.inquiry import CauseInquiry
from suspectra.causes.report import CauseState
from suspectra.changes.baselines import Baseline
from suspectra.changes.isolation import BreakingChange, ChangeIsolation, HistoryNotRead
from suspectra.changes.known_causes import known_causes
from suspectra.changes.mixed_tests import MixedTests
from suspectra.changes.units import ChangeUnit
from suspectra.changes.value_trace import ValueDifference
from suspectra.dependences.slices import SliceStep, backward, chop, nodes_at, origin_of_failure
from suspectra.dependences.trace import DependenceTrace
from suspectra.distinctions.steps import NearestTest, SameCoverage
from suspectra.distinctions.tie import advise
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.failures import absent_modules, failure_of
from suspectra.evidence.logs.experiments import with_experiments
from suspectra.evidence.named_tests import with_failing
from suspectra.evidence.sources import Sources
from suspectra.experiments.alterations.mutants import MAX_PASSING
from suspectra.experiments.experiment_inquiry import ExperimentInquiry
from suspectra.experiments.inquiry import Inquiry, RerunSetup
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.experiments.suspicion import Suspicion
from suspectra.experiments.trace_inquiry import TraceInquiry
from suspectra.failure_groups.since import Since
from suspectra.fixes.kept_fixes import KeptEdits, kept
from suspectra.localizer import Localizer, cure_by_installing, cure_of_setup
from suspectra.report import RankedReport, Suspect
from suspectra.runs.experiment import EVERY, SHIFT, UNDO, Experiment
from suspectra.techniques.default import default_technique
from suspectra.techniques.experiments.investigation import InvestigationReport, shifts_in_turn
from suspectra.techniques.experiments.repairs import MUTANT, Repair
from suspectra.techniques.formulas import in_words
from suspectra.why.answer import MORE_TIME, AnswerChange, AnswerLine, Certainty, Remedy, WhyAnswer
from suspectra.why.fix_search import AnswerFixSearch, tried_change
from suspectra.why.shift_search import ShiftSearch
from suspectra_recorder.log.collection import summary
from suspectra_recorder.log.missing_packages import missing_package

_FOR_CHANGES, _FOR_EXPERIMENTS = 0.9, 0.6  # of the time that is left
"""If no older text passes, the search for the change ends soon; if one does, that search is what decides."""
_FOR_FIXES, _FOR_RIVALS = 0.7, 0.3
"""For a change with which the tests pass, of the time that is left; where one is known, for others, of all the time."""
_LEAST_FIX_S = 2.0
"""Less is not worth the start of a search for a change."""
_MAX_TESTS = 20  # with which changes are tried
_MAX_LINKS = 4  # of the way to the failure that are shown
_AGAIN_S = 1.0
"""Between two looks at what experiments have found: to rank takes time, too."""
_SHOWN_KINDS = ("value", "decision", "target", "argument")  # of nodes that are shown with their values
_ALIKE = 0.5  # the least similarity of a passing test that is worth a look
_MAX_PLACES = 12  # at which a difference is tried with the other tests
_MORE_RUNS, _FEW_MORE_RUNS = 2.0, 1.25
"""As many as before a shifted value was found, if another may be found before it, and if none may."""
_FEW_JUDGES = 2  # passing tests that run what was changed: with fewer, a change that fits one test fits them all
_TELLING = 2.0  # the factor of a repair that says more than that it is possible


@dataclass(kw_only=True)
class WhyInquiry(Inquiry[str]):
    """Finds out why tests fail, step by step, until it is sure or the time is over."""

    setup: RerunSetup
    evidence: Evidence  # with the failing tests that the question is about, and all passing ones
    failing: Sequence[FailingTest]  # these failing tests
    baselines: Iterable[Baseline]  # older texts with which they may have passed, the newest first
    # makes what runs tests with some of the changes, in a folder until a point of time; pytest does unless given
    start: Callable[[Path, float], MixedTests] | None = None
    answer: WhyAnswer = field(init=False)  # what is known by now
    _sources: Sources = field(init=False)
    _tried: list[str] = field(default_factory=list, init=False)
    _localizer: Localizer | None = field(default=None, init=False)
    _cause: BreakingChange | None = field(default=None, init=False)  # the change that broke the tests
    _is_raised: bool = field(default=False, init=False)  # whether the suspect is first since the exception came from it
    _shifted: int | None = field(default=None, init=False)  # where all tests pass with the same difference
    _first: Location | None = field(default=None, init=False)  # what the ranking has first
    _asked: frozenset[str] = field(default=frozenset(), init=False)  # the tests that experiments are about
    _finding: Repair | None = field(default=None, init=False)  # what makes tests pass at the suspect
    _is_corrected: bool = field(default=False, init=False)  # whether all tests accept a change of the program
    _refused: Problem | None = field(default=None, init=False)  # why no test can be run again
    _fixes: AnswerFixSearch | None = field(default=None, init=False)  # changes with which tests pass
    # the fixes that an earlier search has found, as edits, by the tests that they are for
    _known_fixes: dict[tuple[str, ...], list[tuple[KeptEdits, ...]]] = field(default_factory=dict, init=False)
    _searched: bool = field(default=False, init=False)  # whether changes elsewhere were tried
    _all_tried: bool = field(default=False, init=False)  # whether no experiment is left
    _passing: Baseline | None = field(default=None, init=False)  # the older text with which tests pass
    # tests of the group that are not run with some of the changes
    _left_out: frozenset[str] = field(default=frozenset(), init=False)

    def __post_init__(self) -> None:
        self._sources = Sources(self.setup.workspace, self.evidence.files)
        self._unranked = False  # whether nothing can be
        self._apart: tuple[str, ...] = ()  # failing tests that execute nothing that may be suspected
        try:
            self._rank()
            self._cause = self._known_cause()
            if self._cause is not None:
                self.answer = self._broken(self._cause)
        except NothingToRank:  # the failing tests execute nothing that may be suspected
            self._unranked = True
            self._tests, self._others = list(self.failing), list[str]()
            self.answer = self._nothing_ranked()

    def steps(self) -> Generator[str]:
        """Take one step after the other, and say what is done.

        Raises EvidenceError when a log can't be written.
        """
        self._end = self.begin()
        yield "Looking for the change that broke it"
        yield from self._steps()

    def _steps(self) -> Iterator[str]:
        if self._unranked:
            yield from self._isolate()
            self.complete = True
            return
        asked: frozenset[str] = frozenset()
        while (
            self._group.since is not Since.BEFORE and self._cause is None and not asked.intersection(self._group.tests)
        ):
            asked |= frozenset(self._group.tests)
            yield from self._isolate()  # if this group failed before the changes, another one comes first now
        self._asked = frozenset(self._group.tests)
        if self.answer.certainty is not Certainty.SHOWN:
            self._shifts = ShiftSearch(self.setup, self._tests, self._end)
            with closing(self._shifts):
                yield from self._learn()
        if self._refused is not None and self.answer.certainty is not Certainty.SHOWN:
            self.answer = self._by_recording_alone(self._refused)
        elif self._all_tried and self._left > 0 and self.answer.surer is MORE_TIME:
            because = f"{self.answer.because}; nothing is left to be tried"
            self.answer = replace(self.answer, because=because, surer=None)
        self.complete = True

    def _by_recording_alone(self, refused: Problem) -> WhyAnswer:
        """The answer where no test can run again, which is said first."""
        it = "The failing test" if len(self._tests) == 1 else "None of the failing tests"
        cannot = "can't" if len(self._tests) == 1 else "can"
        suspect = self.answer.suspect
        then = f" By the recording alone, look at {suspect.location} first." if suspect else ""
        return replace(
            self.answer,
            conclusion=f"{it} {cannot} be run again: {refused.cause}.{then}",
            certainty=Certainty.LOW,
            because="nothing could be tried, so it is only what the recording says",
            surer=_remedy(refused.cure),
        )

    def _learn(self) -> Iterator[str]:
        """Find out more than what changed and what is recorded."""
        suspicion = Suspicion(with_failing(self.evidence, self._group.tests))
        yield from self._experiment(suspicion)
        yield from self._fix()
        yield from self._follow(suspicion)

    def _rank(self) -> None:
        """Answer about the first failure group by the ranking that every view has, with all that is known by now."""
        self.evidence = with_experiments(self.evidence, self.setup.workspace)
        technique = default_technique(self.evidence.experiments)
        if self._localizer is None or self._localizer.technique.name != technique.name:
            self._localizer = Localizer(technique)
        self._localizer.update(self.evidence)
        groups = self._localizer.groups().groups
        first = max(groups, key=lambda one: len(self._asked.intersection(one.group.tests)))
        # those that execute nothing are only counted to it: the answer is about the others
        if first.group.uncovered and not first.group.idle:
            self._apart += first.group.uncovered
            names = [test.name for test in self.evidence.tests if test.name not in self._apart]
            self.evidence = with_failing(self.evidence, names)
            self._rank()
            return
        self._group, self._report = first.group, first.report
        others = [one for one in groups if one is not first]
        self._others = [*self._apart, *(name for one in others for name in one.group.tests)]
        self._tests = [test for test in self.failing if test.name in first.group.tests]
        self.answer = self._ranked(self._report)
        if self._cause is not None:
            self.answer = self._broken(self._cause)
        elif self._passing is None and (absent := self._absent_modules()):
            self.answer = self._without_modules(absent)

    @property
    def _left(self) -> float:
        return max(self._end - time.monotonic(), 0.0)

    # what changed

    def _isolate(self) -> Iterator[str]:
        """Look for the change that broke the tests."""
        self.baselines, baselines = tee(self.baselines)  # another group may be looked at, too
        isolation = ChangeIsolation(
            setup=self.setup,
            tests=self._tests[:_MAX_TESTS],
            baselines=baselines,
            start=self.start,
            seconds=self._left * _FOR_CHANGES,
        )
        names = {test.name for test in self._tests}
        try:
            with closing(isolation.steps()) as steps:
                for step in steps:
                    self._left_out = frozenset(names.difference(test.name for test in isolation.tests))
                    self._narrowed(isolation)
                    yield f"Which of your changes broke it: {step}"
        except HistoryNotRead as error:
            self.note([error.problem])
            return
        except EvidenceError:  # no change is known, or no text with which they pass
            return
        if isolation.runs:
            self._tried.append(f"{many(isolation.runs, 'run')} with some of your changes")
        self._narrowed(isolation)
        if not self._unranked:
            self._rank()  # with what was found

    def _narrowed(self, isolation: ChangeIsolation) -> None:
        """Answer by what is known by now of the changes."""
        if isolation.causes:
            self._cause = isolation.causes[0]
            self.answer = self._broken(self._cause)
        elif self._passing is not isolation.baseline and not self._unranked:
            self._passing = isolation.baseline
            self.answer = self._ranked(self._report)

    def _known_cause(self) -> BreakingChange | None:
        """What an earlier search has found to break all of the tests, and maybe more of the same question.

        The sources are unchanged since then.
        """
        wanted, failing = set(self._group.tests), {test.name for test in self.failing}
        found = known_causes(self.setup.workspace, self.evidence.digests)
        mending = (one for one in found if one.minimal and set(one.mends) == set(one.tests))
        return next((one for one in mending if wanted <= set(one.tests) <= failing), None)

    def _broken(self, cause: BreakingChange) -> WhyAnswer:
        """The answer that a change is, about the tests that it broke."""
        total, count, tested = cause.total, len(cause.units), len(cause.tests)
        left_out = self._left_out.difference(cause.tests)
        about = left_out.union(cause.tests)
        others = [test.name for test in self.failing if test.name not in about]
        which = "Your only change" if total == 1 else f"{'One' if count == 1 else count} of your {total:,} changes"
        shown = bool(cause.mends) and bool(cause.alone_breaks) and cause.minimal
        conclusion = f"{which} since {cause.since.name} broke it{'' if count == 1 else ', together'}:"
        first = self._first_undone()
        it = "it" if count == 1 else "them"
        without = f"without {it}{cause.with_these} {share_does(len(cause.mends), tested, 'test', 'pass')}"
        breaks = len(set(cause.tests).intersection(cause.alone_breaks))
        alone = f"with {it} alone {share_does(breaks, tested, 'test', 'fail')}" if breaks else ""
        because = (
            ", and ".join(filter(None, (without if cause.mends else "", alone)))
            or "it decides whether the test passes, with the others"
        )
        if left_out:
            more = (
                "1 more of the same kind was" if len(left_out) == 1 else f"{len(left_out):,} more of the same kind were"
            )
            because += f" ({more} not run)"
        return replace(
            self.answer,
            tests=cause.tests,
            failure=self._failure(cause.tests[0]),
            others=len(others),
            another=others[0] if others else "",
            conclusion=conclusion,
            certainty=Certainty.SHOWN if shown else Certainty.HIGH,
            because=because,
            surer=None if cause.minimal else MORE_TIME,
            suspect=None,
            changes=tuple(sorted(map(_changed, cause.units), key=lambda one: not _has(one, first))),
            first=first,
            reasons=(
                *([_run(cause)] if cause.run else []),
                *([_difference(cause.difference)] if cause.difference and self.setup.values_shown else []),
            ),
            tried=tuple(self._tried),
        )

    def _first_undone(self) -> Location | None:
        """The first suspect, if it comes first since tests pass without the change there."""
        finding = self._finding
        return self._first if finding is not None and finding.kind == UNDO else None

    # what experiments find

    def _experiment(self, suspicion: Suspicion) -> Iterator[str]:
        """Alter the first suspects, until one change makes all tests pass and breaks none."""
        if self._is_sure() or (self._finding is not None and self._finding.kind == SHIFT):
            return
        wanted = {test.name: test for test in self._tests}
        inquiry = ExperimentInquiry(
            self.setup,
            [wanted[name] for name in suspicion.in_turn(wanted)],
            suspicion,
            seconds=self._left * _FOR_EXPERIMENTS,
        )
        yield "Trying what makes them pass"
        made, looked, news, enough = 0, time.monotonic(), False, math.inf
        try:
            with closing(inquiry.steps()) as steps:
                for experiment in steps:
                    made += 1
                    news |= experiment.outcome.repairs
                    if made >= enough or (news and time.monotonic() - looked > _AGAIN_S):
                        yield _found(experiment, made)
                        self._rank()
                        self._shift_meanwhile(inquiry)
                        if made >= enough:
                            break
                        if self._shifted is not None:  # what the value is made of may be shifted, too
                            enough = min(enough, made * (_MORE_RUNS if self._may_begin_before() else _FEW_MORE_RUNS))
                        looked = time.monotonic()
                        news = self._is_sure() and not self._is_verified()  # passing tests are still run
                        if self._is_sure() and not news:
                            break
        except EvidenceError as error:
            self.note([error.problem])
        self.note(inquiry.problems)
        self._all_tried, self._refused = inquiry.complete, inquiry.refused
        if made:
            self._tried.append(many(made, "altered run"))
            self._rank()

    def _fix(self) -> Iterator[str]:
        """Search for a change with which all tests pass: it is shown, and what accepts one counts for the ranking."""
        seconds = min(self._left * _FOR_FIXES, self.seconds * _FOR_RIVALS if self._is_corrected else math.inf)
        if self.answer.changes or self._refused is not None or seconds < _LEAST_FIX_S:
            return
        if self._is_corrected and self._kept_fixes():
            self._searched = True  # before, for the same sources
            self._rank()
            return
        yield "Searching for a change with which they pass"
        self._fixes = AnswerFixSearch(self.setup, self.evidence, self._tests, seconds)
        with closing(self._fixes.steps()) as fixes:
            for fix in fixes:
                yield f"They pass with a change of {Location(fix.file, fix.line, fix.end_line).short}"
        self._known_fixes.clear()  # it may have kept some
        if self._fixes.tried:
            self._searched = True
            self._tried.append(many(self._fixes.tried, "changed run"))
        self._rank()

    def _kept_fixes(self) -> list[tuple[KeptEdits, ...]]:
        """What is kept for the tests of the group: read once, since each look at it reads all sources."""
        tests = self._group.tests
        if tests not in self._known_fixes:
            self._known_fixes[tests] = kept(self.setup.workspace, tests)
        return self._known_fixes[tests]

    def _shift_meanwhile(self, inquiry: ExperimentInquiry) -> None:
        """Try the differences that are known by now with the other tests, if other values are all that helps."""
        report = self._report
        if not isinstance(report, InvestigationReport):
            return
        if self._is_sure():
            self._shifted = None
            return
        found = _with_other_values(report)
        turn = shifts_in_turn(report.base, found)
        better = turn[:_MAX_PLACES] if self._shifted is None else turn[: turn.index(self._shifted)]
        for element in better:
            if self._shift_at(element, found[element], inquiry.tests_again):
                break

    def _may_begin_before(self) -> bool:
        """Whether a statement that all tests execute may have a shifted value and would be named instead."""
        report = self._report
        assert isinstance(report, InvestigationReport)
        counts = report.spectrum.counts
        executed = np.flatnonzero(report.spectrum.candidates & (counts.ef == len(self._group.tests)))
        return shifts_in_turn(report.base, executed.tolist())[0] != self._shifted

    def _is_sure(self) -> bool:
        return self._is_corrected or self.answer.certainty in (Certainty.SHOWN, Certainty.HIGH)

    def _is_verified(self) -> bool:
        """Whether a change that makes all failing tests pass was tried with the passing tests that execute it."""
        if self._finding is None:
            return False
        tried: dict[object, set[str]] = defaultdict(set)
        for one in self._finding.made:
            tried[one.key[1:]].add(one.test)
        spectrum, place = self._report.spectrum, self._finding.found[0]
        element = spectrum.elements.at(place.file, place.line)
        passing = int(spectrum.counts.ep[element]) if element is not None else 0
        fixing = {one.key[1:] for one in self._finding.found}
        return max(len(tried[key] - set(self._group.tests)) for key in fixing) >= min(passing, MAX_PASSING)

    def _ranked(self, report: RankedReport) -> WhyAnswer:
        """The answer by a ranking."""
        first = report.suspect_of(report.first_suspect)
        corrected = _corrected(report)
        repairs = report.repairs.get(first.element, ()) if isinstance(report, InvestigationReport) else ()
        repairs = tuple(repair for repair in repairs if not repair.hides)
        place = _named(first.location, first.function)
        counts = in_words(first.ef, first.ep, report.spectrum.counts, only_read=first.only_read)
        reasons = [*([first.badge.capitalize() + "."] if first.badge else []), counts]
        best = max(repairs, key=lambda repair: repair.factor, default=None)
        self._finding, self._first = best, first.location
        self._is_raised = best is None and self._raised_at(first, report)
        self._is_corrected = bool(corrected)
        certainty, because, surer = _weighed(best, len(self._group.tests), first.ep)
        fix = self._fixes.shown(first.location) if self._fixes else None
        if best is not None and best.accepted and not (fix and fix.is_at(first.location)):
            fix = tried_change(best, self.evidence, self._group.tests, self._kept_fixes()) or fix
        if certainty is Certainty.HIGH and best is not None and best.accepted:
            certainty, doubt = self._doubted(first)
            because += doubt
        if corrected[1:]:
            places = first_of([report.suspect_of(element).location.short for element in corrected[1:]])
            certainty, because = Certainty.MEDIUM, f"{because}; so it is with one at {places}"
        if best is not None and isinstance(report, InvestigationReport):
            if not (fix and best.kind == MUTANT and fix.is_at(first.location)):  # it is shown
                reasons = [*_findings(report, first.element, best), *reasons]
            conclusion = _conclusion(best, certainty, place)
        elif self._is_raised:
            certainty, because = Certainty.MEDIUM, "the exception is raised right there, and no passing test gets there"
            conclusion = f"Most likely {place} is wrong."
        elif self._passing is not None:
            certainty, conclusion, because = self._one_of_the_changes(self._passing, first, place)
        elif first.badge:
            conclusion = f"You changed {place}" if first.changed > first.changed_by_git else f"{place} was changed"
            conclusion, because = f"{conclusion}: look there first.", "no run has shown yet that this broke the test"
        else:
            conclusion = f"Look at {place} first: it is the most suspicious line."
        if self._group.since is Since.BEFORE:
            reasons.insert(0, f"{'It' if len(self._group.tests) == 1 else 'They'} failed before your changes, too.")
        return WhyAnswer(
            tests=self._group.tests,
            failure=self._failure(self._tests[0].name),
            conclusion=conclusion,
            certainty=certainty,
            because=because,
            surer=surer,
            suspect=self._line(first.location),
            fix=fix,
            reasons=tuple(reasons),
            others=len(self._others),
            another=self._others[0] if self._others else "",
            tried=tuple(self._tried),
        )

    def _doubted(self, first: Suspect) -> tuple[Certainty, str]:
        """How sure an answer by a change is that all tests accept, and the doubt: the end of a sentence."""
        if not self._searched:
            return Certainty.MEDIUM, "; whether a change elsewhere does as much was not tried"
        if first.ep < _FEW_JUDGES:
            return Certainty.MEDIUM, ", but only one passing test runs it"
        return Certainty.HIGH, ""

    def _one_of_the_changes(self, passing: Baseline, first: Suspect, place: str) -> tuple[Certainty, str, str]:
        """The answer where a test passes without the changes, and no run has shown which of them broke it."""
        because = "without your changes the test passes" + (
            "" if len(passing.units) == 1 else ", but there was no time yet to try them one by one"
        )
        which = "Your only change" if len(passing.units) == 1 else f"One of your {len(passing.units):,} changes"
        likely = f": look at {place} first" if first.badge else ""
        return Certainty.MEDIUM, f"{which} since {passing.name} broke it{likely}.", because

    def _raised_at(self, suspect: Suspect, report: RankedReport) -> bool:
        """Whether all tests end in a statement that no passing test executes, by something else than an assertion."""
        spectrum, names = report.spectrum, self._group.tests
        if spectrum.raised is None or suspect.ep:
            return False
        there = all(spectrum.raised[spectrum.failing_index[name]] == suspect.element for name in names)
        stacks = [self.evidence.stacks.get(name) for name in names]
        return there and not any(stack is None or stack.assertion for stack in stacks)

    def _nothing_ranked(self) -> WhyAnswer:
        """What is known where nothing is suspicious."""
        if all(test.uncollected for test in self._tests):
            return self._uncollected()
        if absent := self._absent_modules():
            return self._without_modules(absent)
        if all((stack := self.evidence.stacks.get(test.name)) and stack.is_missing_fixture for test in self._tests):
            return self._without_fixture()
        one = len(self._tests) == 1
        it = "it runs" if one else "they run"
        how = f"If {it} your code in another process, record that one, too."
        return self._without_suspect(
            f"{self._all_tests} {'runs' if one else 'run'} none of your code.",
            Certainty.HIGH,
            f"{it} nothing that was recorded but test code",
            Remedy(how, how, how),
        )

    def _without_fixture(self) -> WhyAnswer:
        """What is known of tests that ask for fixtures which nothing has."""
        cure = cure_of_setup(self.evidence, [test.name for test in self._tests])
        message = self.evidence.stacks[self._tests[0].name].message
        because = "no plugin, conftest.py or test module has it"
        return self._without_suspect(
            f"{self._all_tests} can't begin: {message}.", Certainty.SHOWN, because, _remedy(cure)
        )

    def _absent_modules(self) -> list[str]:
        """The modules that are not there, if the tests fail for nothing else."""
        absent = absent_modules(self.evidence)
        found = [absent.get(test.name, "") for test in self._tests]
        return list(dict.fromkeys(found)) if all(found) else []

    def _without_modules(self, absent: Sequence[str]) -> WhyAnswer:
        """What is known of tests that import what is not there."""
        names = " and ".join(f"`{name}`" for name in absent)
        stacks = [self.evidence.stacks[test.name] for test in self._tests]
        packages = dict.fromkeys(missing_package(stack.exception, stack.message) for stack in stacks)
        cure = f"{cure_by_installing(packages)}, or correct the import"
        one = len(absent) == 1
        conclusion = f"{names} {'is' if one else 'are'} not installed where the tests run."
        because = f"Python found no module of {'this name' if one else 'these names'}, and the project has none"
        return self._without_suspect(conclusion, Certainty.SHOWN, because, _remedy(cure))

    def _uncollected(self) -> WhyAnswer:
        """What is known of tests whose modules can't be collected."""
        because = "no older text is known with which it can be collected"
        return self._without_suspect(f"{many(len(self._tests), 'test')} can't run any more.", Certainty.HIGH, because)

    @property
    def _all_tests(self) -> str:
        """The failing tests, as the begin of a sentence."""
        count = len(self._tests)
        return "The failing test" if count == 1 else f"{every(count).capitalize()} failing tests"

    def _without_suspect(
        self, conclusion: str, certainty: Certainty, because: str, surer: Remedy | None = None
    ) -> WhyAnswer:
        """An answer about all failing tests, and no line."""
        names = tuple(test.name for test in self._tests)
        others = [] if self._unranked else self._others
        return WhyAnswer(
            names,
            self._failure(names[0]),
            conclusion,
            certainty,
            because,
            surer,
            others=len(others),
            another=others[0] if others else "",
        )

    def _failure(self, first: str) -> str:
        """How a test fails."""
        if all(test.uncollected for test in self._tests):
            return f"{summary(self.evidence.collection_errors)}."
        failed = failure_of(self.evidence, next(test for test in self.evidence.failing if test.name == first))
        return first.rpartition("::")[2] + failed.removeprefix(first)

    # how it leads to the failure

    def _follow(self, suspicion: Suspicion) -> Iterator[str]:
        """Show how the suspect leads to the failure; without a finding, look for another one there."""
        if self.answer.changes or self._left <= 0:
            return
        test = self._test_of_finding()
        if self._finding is None:
            yield f"Searching for the causes of {test.name}"
            yield from self._search(test, suspicion)
        if not self.answer.chain and self.answer.suspect is not None:
            yield f"Following the values of {test.name} to the failure"
            self._trace(test, suspicion)
        self.answer = replace(self.answer, tried=tuple(self._tried))

    def _search(self, test: FailingTest, suspicion: Suspicion) -> Iterator[str]:
        inquiry = CauseInquiry(self.setup, test, suspicion, seconds=self._left, traced_until=self._end, confirms=False)
        try:
            with closing(inquiry.steps()) as steps:
                for step in steps:
                    yield str(step)
        except EvidenceError:
            pass  # nothing can be altered there: what is known by now is the answer
        found = inquiry.report
        if found.alterations:
            self._tried.append(f"{many(found.alterations, 'run')} with other states")
        self._rank()
        if found.roots and not found.fails_later:
            root, suspect = found.roots[0], self.answer.suspect
            if suspect is not None and (suspect.location.file, suspect.location.line) == (root.file, root.line):
                self.answer = replace(self.answer, chain_of=test.name, chain=_shortened(self._lines(found.chain)))
        elif parting := self._parting():
            self.answer = replace(self.answer, reasons=(*self.answer.reasons, parting))

    def _parting(self) -> str:
        """What the passing test does otherwise that is most like a failing one."""
        advice = advise(self._report, self.evidence.program)
        alike = [step for step in advice.steps if isinstance(step, SameCoverage | NearestTest)]
        best = next((step for step in alike if step.pair.similarity >= _ALIKE), None)
        return best.sentence(self._report.spectrum) if best is not None else ""

    def _test_of_finding(self) -> FailingTest:
        """A test that passes by the finding, else the first one."""
        finding = self._finding
        passing = {one.test for one in finding.found} if finding is not None else set()
        return next((test for test in self._tests if test.name in passing), self._tests[0])

    def _trace(self, test: FailingTest, suspicion: Suspicion) -> None:
        """Show the values from the suspect to the failure; or, of a wrong value, how it comes about."""
        traces = TraceInquiry(self.setup, [test], suspicion, seconds=self._left)
        with closing(traces.steps()) as made:
            for trace in made:
                if self._finding is not None and self._finding.kind == "value" and not self._shift(trace):
                    self._from_inputs(trace)
                if len(self.answer.chain) <= 1:
                    self._to_failure(trace)
        self.note(traces.problems)

    def _to_failure(self, trace: DependenceTrace) -> None:
        assert self.answer.suspect is not None
        begin = self.answer.suspect.location
        begins = nodes_at(trace, begin.file, begin.line).tolist()
        between = chop(trace, begins, [trace.failure])
        ways = [between.chain(node) for node in reversed(begins) if between.members[node]]
        way = min(filter(None, ways), key=len, default=[])
        self.answer = replace(
            self.answer, chain_of=trace.test, chain=_shortened(self._lines(way)), leads_to_failure=True
        )
        if self._is_raised:
            self._before_exception(trace)

    def _before_exception(self, trace: DependenceTrace) -> None:
        """Name the statement of another function that made what the statement reads that raised the exception."""
        origin = origin_of_failure(trace)
        if origin is None:
            return
        way = self._lines(backward(trace).chain(origin))
        at, raised = way[0].location, self.answer.place
        self.answer = replace(
            self.answer,
            conclusion=f"{raised} raises the exception, by what comes from {at.file}:{at.line}.",
            because="no passing test gets to the first, and the second makes what it reads, so one of them is wrong",
            chain=_shortened(way),
        )

    def _from_inputs(self, trace: DependenceTrace) -> None:
        """Show what the suspect's function makes its value of."""
        assert self._finding is not None
        assert self.answer.suspect is not None
        times = [one.instance for one in self._finding.found if one.test == trace.test]
        at = self.answer.suspect.location
        nodes = [
            node
            for node in nodes_at(trace, at.file, at.line).tolist()
            if EVERY in times or trace.graph.instance[node] in times
        ]
        if not nodes:
            return
        node = nodes[-1]
        made_of = backward(trace, [node])
        inside = [one for one in range(node + 1) if made_of.members[one] and trace.call[one] == trace.call[node]]
        steps = [step for one in inside if (step := made_of.step(one)).result and step.kind in _SHOWN_KINDS]
        self.answer = replace(
            self.answer, chain_of=trace.test, chain=_shortened(self._lines(steps)), leads_to_failure=False
        )

    def _shift(self, trace: DependenceTrace) -> bool:
        """Look for a statement whose value has to differ by the same in all failing tests."""
        report = self._report
        if not isinstance(report, InvestigationReport):
            return False
        where, passing = report.spectrum.elements.location, report.spectrum.counts.ep
        found = _with_other_values(report)

        def turn(element: int) -> tuple[int, int]:
            """What few passing tests execute comes first; of several what runs first, as the others depend on it."""
            nodes = nodes_at(trace, where(element).file, where(element).line)
            return int(passing[element]), int(nodes.max(initial=-1))

        return any(self._shift_at(element, found[element]) for element in sorted(found, key=turn)[:_MAX_PLACES])

    def _shift_at(self, element: int, found: Sequence[Experiment], repeated: RepeatedTests | None = None) -> bool:
        """Look for the same difference at a statement, which then comes first."""
        if not self._shifts.common(found, repeated):
            return False
        self._shifted = element
        self._rank()
        return True

    def _lines(self, steps: Iterable[SliceStep | CauseState]) -> list[AnswerLine]:
        lines = []
        for step in steps:
            if step.line > 0:
                at = Location(step.file, step.line, max(step.line, step.end_line))
                value = step.result if isinstance(step, SliceStep) else step.value
                lines.append(AnswerLine(at, self._sources.lines(at), value))
        return lines

    def _line(self, location: Location) -> AnswerLine:
        return AnswerLine(location, self._sources.lines(location))


def _with_other_values(report: InvestigationReport) -> dict[int, list[Experiment]]:
    """By statement, the experiments in which tests pass with another value of it."""
    found = {
        element: [one for repair in repairs if repair.kind == "value" for one in repair.found]
        for element, repairs in report.repairs.items()
    }
    return {element: several for element, several in found.items() if several}


def _corrected(report: RankedReport) -> list[int]:
    """The statements at which a change of the program is accepted by all tests, if one of them comes first."""
    if not isinstance(report, InvestigationReport) or report.first_suspect not in report.corrected:
        return []
    return list(report.corrected)


def _weighed(best: Repair | None, tests: int, passing: int) -> tuple[Certainty, str, Remedy | None]:
    """How sure a repair makes an answer, why, and what would make it surer.

    What no passing test executes, none can speak against.
    """
    if best is None:
        because = "no experiment has made a test pass, so it is only what the tests have in common"
        return Certainty.LOW, because, MORE_TIME
    which = "the test passes" if tests == 1 else f"{best.repaired} of {tests} tests pass"
    which = f"{every(tests)} tests pass" if best.repaired == tests > 1 else which
    others = best.as_good - 1
    alone = "nothing else that was tried does as much" if not others else f"as they do at {many(others, 'other place')}"
    if best.kind == SHIFT:
        because = "the same difference makes all of them pass, so the fault is there or in what makes the value"
        return Certainty.MEDIUM, because, None
    if best.kind == "value":
        certainty = Certainty.MEDIUM if best.factor >= _TELLING else Certainty.LOW
        because = f"{which} with another value there, so the fault is there or in what makes the value"
        return certainty, because, MORE_TIME
    if best.kind == "switch" and not (best.accepted and passing):
        certainty = Certainty.MEDIUM if best.repaired == tests else Certainty.LOW
        return certainty, f"{which} with the other branch there, so the fault is there or in what decides it", MORE_TIME
    if best.kind == UNDO:
        return Certainty.HIGH, f"without the change {which}", None
    if best.accepted and passing:
        return Certainty.HIGH, f"with a small change there {which}, and none that passed breaks", None
    certainty = Certainty.MEDIUM if best.repaired == tests else Certainty.LOW
    if certainty is Certainty.MEDIUM and not others and tests > 1 and passing:
        certainty = Certainty.HIGH
    return certainty, f"{which} with one thing altered there, and {alone}", MORE_TIME


def _remedy(cure: str) -> Remedy:
    """What a problem's cure is for each reader."""
    sentence = f"{cure[0].upper()}{cure[1:]}."
    return Remedy(sentence, sentence, sentence)


def _run(cause: BreakingChange) -> str:
    places = first_of([Location(one.file, one.line, one.line).short for one in cause.run])
    return f"The failing test runs {len(cause.run)} of these, or of changes that only run with them: {places}."


def _difference(found: ValueDifference) -> str:
    place = Location(found.file, found.line, found.line).short
    was, now = found.shown
    return f"The first value that this changes is {found.name} at {place}: {now}, was {was}."


def _conclusion(finding: Repair | None, certainty: Certainty, place: str) -> str:
    if finding is not None and finding.kind == "value":
        return f"At {place} the value is wrong already."
    if finding is not None and finding.kind == "switch" and certainty in (Certainty.MEDIUM, Certainty.LOW):
        return f"At {place} control goes the wrong way."
    if finding is not None and finding.kind == UNDO:
        return f"Your change at {place} broke it."
    words = {Certainty.LOW: "Perhaps ", Certainty.MEDIUM: "Most likely "}.get(certainty, "")
    return f"{words}{place} is wrong."


def _findings(report: InvestigationReport, element: int, best: Repair | None) -> list[str]:
    """What makes tests pass at a statement: two sentences of values and branches, as tests may need different ones."""
    return report.in_words(element)[: 2 if best is not None and best.kind in ("value", "switch") else 1]


def _found(experiment: Experiment, made: int) -> str:
    return f"{experiment} (after {many(made, 'altered run')})"


def _named(location: Location, function: str) -> str:
    return f"{location.file}:{location.line}" + (f" in {function}" if function else "")


def _changed(unit: ChangeUnit) -> AnswerChange:
    location = Location(unit.file, unit.line, max(unit.line, unit.end_line))
    return AnswerChange(location, tuple(unit.before.splitlines()), tuple(unit.after.splitlines()), unit.moved_from)


def _has(change: AnswerChange, place: Location | None) -> bool:
    at = change.location
    return place is not None and place.file == at.file and place.line <= at.end_line and at.line <= place.end_line


def _shortened(lines: Sequence[AnswerLine]) -> tuple[AnswerLine, ...]:
    """The first and the last lines of a chain, each once."""
    once = list({line.location: line for line in lines}.values())
    if len(once) <= _MAX_LINKS:
        return tuple(once)
    half = math.ceil(_MAX_LINKS / 2)
    return (*once[:half], *once[half - _MAX_LINKS :])
