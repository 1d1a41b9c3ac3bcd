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
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from suspectra.base.english import every, many
from suspectra.base.errors import EvidenceError
from suspectra.base.location import Location
from suspectra.causes.inquiry import CauseInquiry
from suspectra.causes.report import CauseState
from suspectra.changes.baselines import Baseline
from suspectra.changes.isolation import BreakingChange, ChangeIsolation
from suspectra.changes.units import ChangeUnit
from suspectra.dependences.slices import SliceStep, chop, nodes_at
from suspectra.distinctions.tie import advise
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.failures import failure_of
from suspectra.evidence.logs.experiments import with_experiments
from suspectra.evidence.named_tests import with_failing
from suspectra.evidence.sources import Sources
from suspectra.experiments.experiment_inquiry import ExperimentInquiry
from suspectra.experiments.inquiry import Inquiry, RerunSetup
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.suspicion import Suspicion
from suspectra.experiments.trace_inquiry import TraceInquiry
from suspectra.failure_groups.since import Since
from suspectra.localizer import Localizer
from suspectra.report import RankedReport
from suspectra.runs.experiment import Experiment
from suspectra.techniques.default import default_technique
from suspectra.techniques.experiments.investigation import InvestigationReport
from suspectra.techniques.experiments.repairs import Repair
from suspectra.techniques.formulas import in_words
from suspectra.why.answer import AnswerLine, Certainty, ChangedText, WhyAnswer

_FOR_CHANGES, _FOR_EXPERIMENTS = 0.4, 0.6  # of the time that is left
_MOST_TESTS = 20  # with which changes are tried
_LINKS = 4  # of the way to the failure that are shown
_AGAIN_S = 1.0  # between two looks at what experiments have found
_ALL = 1 - 1e-9


@dataclass(kw_only=True)
class WhyInquiry(Inquiry[str]):
    """Finds out why tests fail, step by step, until it is sure or the time is over."""

    setup: RerunSetup
    evidence: Evidence  # with the failing tests that the question is about, and all passing ones
    failing: Sequence[FailingTest]  # these failing tests
    baselines: Iterable[Baseline]  # older texts with which they may have passed, the newest first
    answer: WhyAnswer = field(init=False)  # what is known by now
    _sources: Sources = field(init=False)
    _tried: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._sources = Sources(self.setup.workspace, self.evidence.files)
        self._rank()

    def steps(self) -> Generator[str]:
        """Take one step after the other, and say what is done.

        Raises EvidenceError when a log can't be written.
        """
        self._end = self.begin()
        if self._group.group.since is not Since.BEFORE:
            yield from self._isolate()
        if self.answer.certainty is not Certainty.SHOWN:
            suspicion = Suspicion(with_failing(self.evidence, self._group.group.tests))
            yield from self._experiment(suspicion)
            yield from self._follow(suspicion)
        self.complete = True

    @property
    def _left(self) -> float:
        return max(self._end - time.monotonic(), 0.0)

    def _rank(self) -> None:
        """Answer by all that is known without another run."""
        self.evidence = with_experiments(self.evidence, self.setup.workspace)
        localizer = Localizer(default_technique(self.evidence.experiments))
        localizer.update(self.evidence)
        groups = localizer.groups().groups
        self._group = groups[0]
        self._tests = [test for test in self.failing if test.name in self._group.group.tests]
        self.answer = self._ranked(self._group.report, [name for one in groups[1:] for name in one.group.tests])

    # what changed

    def _isolate(self) -> Iterator[str]:
        """Look for the change that broke the tests."""
        isolation = ChangeIsolation(
            setup=self.setup,
            tests=self._tests[:_MOST_TESTS],
            baselines=self.baselines,
            seconds=self._left * _FOR_CHANGES,
        )
        try:
            with closing(isolation.steps()) as steps:
                for step in steps:
                    yield f"Which of your changes broke it: {step}"
        except EvidenceError:
            return  # no change is known, or no text with which they pass
        if isolation.runs:
            self._tried.append(f"{many(isolation.runs, 'run')} with some of your changes")
        if isolation.causes:
            self.answer = self._broken(isolation.causes[0], len(isolation.tests))

    def _broken(self, cause: BreakingChange, tested: int) -> WhyAnswer:
        """The answer that a change is."""
        total = len(cause.since.units)
        this = "this change" if len(cause.units) == 1 else f"these {len(cause.units)} changes together"
        shown = bool(cause.mends) and bool(cause.alone_breaks) and cause.minimal
        of_all = f"one of {total:,}" if total > 1 else "the only one"
        conclusion = f"You broke it by {this} ({of_all} since {cause.since.name})."
        it = "it" if len(cause.units) == 1 else "them"
        without = f"without {it} {_tests_do(len(cause.mends), tested, 'pass')}" if cause.mends else ""
        alone = f"with {it} alone {_tests_do(len(cause.alone_breaks), tested, 'fail')}" if cause.alone_breaks else ""
        because = ", and ".join(filter(None, (without, alone))) or "it decides whether the test passes, with the others"
        return replace(
            self.answer,
            conclusion=conclusion,
            certainty=Certainty.SHOWN if shown else Certainty.HIGH,
            because=because,
            surer="" if shown else "Give it more time with --seconds.",
            suspect=None,
            changes=tuple(map(_changed, cause.units)),
            reasons=(),
            tried=tuple(self._tried),
        )

    # what experiments find

    def _experiment(self, suspicion: Suspicion) -> Iterator[str]:
        """Alter the first suspects, until one change makes all tests pass and breaks none."""
        if self._is_sure():
            return
        wanted = {test.name: test for test in self._tests}
        inquiry = ExperimentInquiry(
            self.setup,
            [wanted[name] for name in suspicion.in_turn(wanted)],
            suspicion,
            seconds=self._left * _FOR_EXPERIMENTS,
        )
        made, looked, news = 0, time.monotonic(), False
        try:
            with closing(inquiry.steps()) as steps:
                for experiment in steps:
                    made += 1
                    news |= experiment.outcome.repairs
                    if news and time.monotonic() - looked > _AGAIN_S:
                        yield _found(experiment, made)
                        self._rank_again()
                        looked, news = time.monotonic(), False
                        if self._is_sure():
                            break
        except EvidenceError as error:
            self.note([error.problem])
        self.note(inquiry.problems)
        if made:
            self._tried.append(many(made, "altered run"))
            self._rank_again()

    def _rank_again(self) -> None:
        known = self.answer
        self._rank()
        if known.certainty is Certainty.HIGH and known.changes:
            self.answer = known

    def _is_sure(self) -> bool:
        return self.answer.certainty in (Certainty.SHOWN, Certainty.HIGH)

    def _ranked(self, report: RankedReport, others: Sequence[str]) -> WhyAnswer:
        """The answer by a ranking."""
        first = report.suspect(0)
        repairs = report.repairs.get(first.element, ()) if isinstance(report, InvestigationReport) else ()
        repairs = tuple(repair for repair in repairs if not repair.hides)
        place = _named(first.location, first.function)
        counts = in_words(first.ef, first.ep, report.spectrum.counts, only_read=first.only_read)
        reasons = [*([first.badge.capitalize() + "."] if first.badge else []), counts]
        certainty, because, surer = _weighed(repairs, len(self._group.group.tests))
        if repairs and isinstance(report, InvestigationReport):
            reasons = [report.in_words(first.element)[0], *reasons]
            conclusion = f"Most likely {place} is wrong." if certainty is not Certainty.LOW else f"Look at {place}."
        else:
            conclusion = f"Look at {place} first: it is the most suspicious line."
        return WhyAnswer(
            tests=self._group.group.tests,
            failure=self._failure(),
            conclusion=conclusion,
            certainty=certainty,
            because=because,
            surer=surer,
            suspect=self._line(first.location),
            reasons=tuple(reasons),
            others=len(others),
            another=others[0] if others else "",
            tried=tuple(self._tried),
        )

    def _failure(self) -> str:
        """How the first test fails."""
        first = self._group.group.tests[0]
        return failure_of(self.evidence, next(test for test in self.evidence.failing if test.name == first))

    # how it leads to the failure

    def _follow(self, suspicion: Suspicion) -> Iterator[str]:
        """Show how the suspect leads to the failure; without a finding, look for another one there."""
        if self.answer.changes or self._left <= 0:
            return
        test = self._tests[0]
        if self.answer.certainty is Certainty.LOW:
            yield f"Searching for the causes of {test.name}"
            yield from self._search(test, suspicion)
        if not self.answer.chain and self.answer.suspect is not None:
            yield f"Following the values of {test.name} to the failure"
            self._trace(test, suspicion, self.answer.suspect.location)
        self.answer = replace(self.answer, tried=tuple(self._tried))

    def _search(self, test: FailingTest, suspicion: Suspicion) -> Iterator[str]:
        inquiry = CauseInquiry(self.setup, test, suspicion, seconds=self._left)
        try:
            with closing(inquiry.steps()) as steps:
                for step in steps:
                    yield str(step)
        except EvidenceError as error:
            self.note([error.problem])
        report = inquiry.report
        if report.alterations:
            self._tried.append(f"{many(report.alterations, 'run')} with other states")
        if report.roots and not report.fails_later:
            root = report.roots[0]
            location = Location(root.file, root.line, max(root.line, root.end_line))
            lines = [AnswerLine(at, self._sources.lines(at), one.value) for one in report.chain if (at := _at(one))]
            self.answer = replace(
                self.answer,
                conclusion=f"Look at {_named(location, '')}: with another value there the test passes.",
                because="another value there may only make up for a fault before or behind it",
                suspect=self._line(location),
                chain_of=test.name,
                chain=_shortened(lines),
            )
        elif parting := self._parting():
            self.answer = replace(self.answer, reasons=(*self.answer.reasons, parting))

    def _parting(self) -> str:
        """What the passing test does otherwise that is most like a failing one."""
        advice = advise(self._group.report, self.evidence.program)
        return advice.best.sentence(self._group.report.spectrum) if advice.best is not None else ""

    def _trace(self, test: FailingTest, suspicion: Suspicion, begin: Location) -> None:
        """Show the values from a line to the failure."""
        traces = TraceInquiry(self.setup, [test], suspicion)
        with closing(traces.steps()) as made:
            for trace in made:
                begins = nodes_at(trace, begin.file, begin.line).tolist()
                between = chop(trace, begins, [trace.failure])
                ways = [between.chain(node) for node in reversed(begins) if between.members[node]]
                way = min(filter(None, ways), key=len, default=[])
                lines = [AnswerLine(at, self._sources.lines(at), step.result) for step in way if (at := _at(step))]
                self.answer = replace(self.answer, chain_of=test.name, chain=_shortened(lines))

    def _line(self, location: Location) -> AnswerLine:
        return AnswerLine(location, self._sources.lines(location))


def _weighed(repairs: Sequence[Repair], tests: int) -> tuple[Certainty, str, str]:
    """How sure repairs make an answer, why, and what would make it surer."""
    if not repairs:
        none = "no experiment has made a test pass, so this is only what the tests have in common"
        return Certainty.LOW, none, "Give it more time with --seconds, or add a test of the suspect."
    best = max(repairs, key=lambda repair: repair.factor)
    alone = best.as_good == 1
    if best.accepted:
        return Certainty.HIGH, "a small change there makes all of them pass and breaks no other test", ""
    if best.share >= _ALL:
        only = "nothing else that was tried does as much" if alone else f"so it is at {best.as_good - 1} other places"
        certainty = Certainty.HIGH if alone and tests > 1 else Certainty.MEDIUM
        whole = "it passes" if tests == 1 else f"{every(tests)} tests pass"
        return certainty, f"{whole} with something altered there, and {only}", "Give it more time with --seconds."
    some = f"{best.repaired} of {many(tests, 'test')} {'passes' if best.repaired == 1 else 'pass'}"
    because = f"{some} with something altered there, which may only make up for a fault before it"
    return Certainty.MEDIUM if alone else Certainty.LOW, because, "Give it more time with --seconds."


def _found(experiment: Experiment, made: int) -> str:
    return f"{experiment} (after {many(made, 'altered run')})"


def _named(location: Location, function: str) -> str:
    return f"{location.file}:{location.line}" + (f" in {function}" if function else "")


def _tests_do(count: int, of: int, verb: str) -> str:
    if of == 1:
        return f"the test {verb}{'es' if verb == 'pass' else 's'}"
    whose = f"{every(of)} tests" if count == of else f"{count} of {of} tests"
    return f"{whose} {verb}" if count != 1 else f"{whose} {verb}{'es' if verb == 'pass' else 's'}"


def _changed(unit: ChangeUnit) -> ChangedText:
    location = Location(unit.file, unit.line, max(unit.line, unit.end_line))
    return ChangedText(location, tuple(unit.before.splitlines()), tuple(unit.after.splitlines()))


def _at(step: SliceStep | CauseState) -> Location | None:
    return Location(step.file, step.line, max(step.line, step.end_line)) if step.line > 0 else None


def _shortened(lines: Sequence[AnswerLine]) -> tuple[AnswerLine, ...]:
    """The first and the last lines of a chain, each once."""
    once = list({line.location: line for line in lines}.values())
    if len(once) <= _LINKS:
        return tuple(once)
    half = math.ceil(_LINKS / 2)
    return (*once[:half], *once[half - _LINKS :])
