"""An inquiry: the causes of the failure of a recorded test, found by running it again and again."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from suspectra.base.deadline import TimeIsUp, seconds_until
from suspectra.base.errors import EvidenceError, Problem
from suspectra.causes import confirmation, solver
from suspectra.causes.alterations import TIME_BOUND_S, KnownValues, StateAlterations
from suspectra.causes.failing_run import points_of
from suspectra.causes.failure_place import FailurePlace
from suspectra.causes.judgements import Ask, Judgement
from suspectra.causes.report import CauseReport, CauseState, Narrowing
from suspectra.causes.search import CauseNarrowing
from suspectra.causes.techniques import DEFAULT
from suspectra.dependences.trace import DependenceTrace
from suspectra.experiments.alterations.replacing import MAX_PASSING, PASSING_SHARE, NotedValues
from suspectra.experiments.dependences import KIND, TRACED_S, trace_dependences
from suspectra.experiments.inquiry import Inquiry, RerunSetup, SuspicionSource
from suspectra.experiments.log import ExperimentLog
from suspectra.experiments.repeated_test import TRACE_S, RepeatedTest
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.streams import most_alike
from suspectra_recorder.experiments.decisions.switchboard import MAX_DECISIONS

_FAILS_LATER = "nothing was found with which the test passes; with what was found it fails later than before"
_READ_AS_HINT = "take it as a hint: the fault may break more than one assertion of the test"


@dataclass
class CauseInquiry(Inquiry[Narrowing]):
    """Asks for the causes of one failure, within some time."""

    setup: RerunSetup
    test: FailingTest  # the test that fails
    suspects: SuspicionSource  # the ranking that weighted techniques use, and where passing tests and sources are known
    technique: str = DEFAULT  # a name of `suspectra.causes.techniques.TECHNIQUES`
    known: Sequence[CauseState] = ()  # root causes of other failures
    seconds: float = field(default=60.0, kw_only=True)
    judgements: Sequence[Judgement] = field(default=(), kw_only=True)  # what the user knows of states
    ask: Ask | None = field(default=None, kw_only=True)  # asks the user about states that are found polluted
    # when the test has to be traced, as `time.monotonic` has it; before, nobody knows how long a run takes
    traced_until: float = field(default=math.inf, kw_only=True)
    confirms: bool = field(default=True, kw_only=True)  # whether changes of statements are tried at the end
    # the cause of another failure that explains this one
    explained_by: CauseState | None = field(default=None, init=False)
    _search: CauseNarrowing | None = field(default=None, init=False)

    def steps(self) -> Generator[Narrowing]:
        """Search until the causes can't be narrowed down any further, or the time is up.

        Raises EvidenceError when the test can't be traced or altered.
        """
        end = self.begin()
        with self.setup.folder() as folder:
            tests = self.setup.repeated(folder, [self.test], ("states", "values"), self._passing)
            try:
                try:
                    test = tests.before(self.traced_until, self.test.name)
                    trace = self._traced(folder)
                except TimeIsUp:
                    cause = f"the time was over before {self.test.name} was traced"
                    self.note([Problem("", "", cause, "give it more seconds")])
                    return
                confirm_s = min(confirmation.SECONDS, confirmation.SHARE * self.seconds) if self.confirms else 0.0
                self._search = self._prepared(test, trace, folder, end - confirm_s)
                try:
                    self.explained_by = self._search.explained_by(self.known)
                    if self.explained_by is None:
                        yield from self._search.steps()
                        self._confirm(self._search, min(confirmation.SECONDS, end - time.monotonic()))
                finally:  # also when the search is stopped
                    self._keep(test.trace.sources)
            finally:
                tests.close()
                self.complete = self.report.complete
                self.note(tests.notices)
                if self._search is not None:
                    self.note(self._limits_of(self._search))

    def _confirm(self, search: CauseNarrowing, seconds: float) -> None:
        """Try changes of the statements that may be at fault, as far as nobody knows which is."""
        states = () if search.fails_later else search.polluted
        if self.confirms and states and not self.judgements and seconds > 0:
            search.change = confirmation.confirming_change(self.setup, self.test, self.suspects, states, seconds)

    def _keep(self, sources: Mapping[str, str]) -> None:
        """Add what was found to the evidence of the workspace, where it counts as long as the sources are these."""
        if self._search is not None:
            with ExperimentLog(self.setup.workspace) as log:
                for experiment in self._search.experiments():
                    log.add(experiment, sources)

    def _limits_of(self, search: CauseNarrowing) -> Iterator[Problem]:
        """What has to be known to judge what was found."""
        if not search.report.roots and not solver.is_available():
            yield solver.missing_solver()
        if search.fails_later and search.report.roots:
            yield Problem("", "", _FAILS_LATER, _READ_AS_HINT)

    @property
    def report(self) -> CauseReport:
        """What is known so far; nothing before the first step."""
        if self._search is None:
            return CauseReport(self.test.name, (), (), (), (), (), 0, False, self.elapsed)
        return self._search.report.after(self.elapsed)

    @property
    def _group(self) -> int:
        return self.suspects.group_of(self.test.name)

    @property
    def _passing(self) -> list[str]:
        """The passing tests whose values are tried."""
        return most_alike(self.test.name, self.suspects.spectrum(self._group))[:MAX_PASSING]

    def _traced(self, folder: Path) -> DependenceTrace:
        end = self.traced_until
        with self.setup.machine(folder, self.test.file, [self.test.name], (KIND,), end) as machine:
            suspects, recorded = self.suspects.most_suspicious(self.test.name), self.suspects.digests
            try:
                seconds = seconds_until(end, TRACED_S)
                trace = trace_dependences(
                    machine, self.test.name, suspects=suspects, seconds=seconds, recorded=recorded
                )
            finally:
                self.note(machine.notices)
        cure = "look there yourself if no cause is found elsewhere"
        self.note(Problem("", "", sentence.rstrip("."), cure) for sentence in trace.left_out)
        return trace

    def _prepared(self, test: RepeatedTest, trace: DependenceTrace, folder: Path, end: float) -> CauseNarrowing:
        """The search, with all that it needs."""
        values = self._values(test, end)
        alterations = StateAlterations(
            partial(test.alone, most_seconds=TIME_BOUND_S),
            points_of(trace),
            frozenset((trace.outcome >= 0).nonzero()[0].tolist()),
            values,
            str(folder) + os.sep,
            solver.SmtSolver() if solver.is_available() else None,
            end,
        )
        source = self.suspects.read(self.test.file) or b""
        path = str(folder / self.test.file)
        alterations.progress = FailurePlace.from_run(alterations.unaltered, path, self.test.file, source)
        return self.narrowing(trace, alterations)

    def narrowing(self, trace: DependenceTrace, alterations: StateAlterations) -> CauseNarrowing:
        """Make the search over a trace."""
        spectrum, group = self.suspects.spectrum(self._group), self._group

        def passes(file: str, line: int) -> bool:
            element = spectrum.elements.at(file, line)
            return element is not None and bool(spectrum.counts.ep[element] > 0)

        return CauseNarrowing(
            trace,
            alterations,
            self.technique,
            read=self.suspects.read,
            at=lambda file, line: self.suspects.at(group, file, line),
            passes=passes,
            values_shown=self.setup.values_shown,
            judgements=self.judgements,
            ask=None if self.ask is None else self.patiently(self.ask, alterations.put_off),
        )

    def _values(self, test: RepeatedTest, end: float) -> KnownValues:
        """The values of the failing run, and of passing ones as far as there is time."""
        noted = noted_values(test, test.test, TRACE_S)
        until = time.monotonic() + (end - time.monotonic()) * PASSING_SHARE
        others = []
        for name in self._passing:
            left = until - time.monotonic()
            if left <= 0:
                break
            try:
                others.append(noted_values(test, name, left))
            except EvidenceError:
                continue  # it was not collected
        return KnownValues(noted, others)


def noted_values(test: RepeatedTest, name: str, seconds: float) -> NotedValues:
    """Run a test of the process of another one unaltered, and note what it assigns."""
    (answer,) = test.runs.ask(name, [{"kind": "values"}], steps=MAX_DECISIONS, seconds=seconds)
    return NotedValues.from_answer(answer)
