"""An investigation: experiments with failing tests, in the order that finds most per second."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from suspectra.base.deadline import TimeIsUp
from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.location import Location
from suspectra.evidence.logs.experiments import read_experiments
from suspectra.experiments.inquiry import Inquiry, InquiryProgress, RerunSetup, SuspicionSource
from suspectra.experiments.log import ExperimentLog
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.experiments.schedule import ExperimentSchedule, Stream
from suspectra.experiments.streams import RUNS, STREAMS, At, StreamSetting
from suspectra.runs.experiment import COMBINATION, KINDS, Experiment

MOMENT_S = 0.5
"""For so long a stream of experiments is continued, before the next one is chosen, so that each has its turn soon."""


@dataclass
class ExperimentInquiry(Inquiry[Experiment]):
    """Experiments with failing tests of a workspace, within some time; what is found goes into the log at once."""

    setup: RerunSetup
    tests: Sequence[FailingTest]  # in the order in which they are investigated
    suspects: SuspicionSource  # where experiments are worth most
    notify: Callable[[InquiryProgress], object] = lambda progress: None  # called before each experiment
    kinds: Sequence[str] = KINDS[COMBINATION]  # the kinds of experiments, in the order in which they begin
    at: Location | None = None  # the statement to alter; any unless given
    # whether runs with a switched decision are forks of the unaltered run; they share its open files
    forks: bool = False
    # what runs the tests as long as the steps last, for those who want to run them otherwise between two steps
    tests_again: RepeatedTests | None = field(default=None, init=False)
    refused: Problem | None = field(default=None, init=False)  # why none of the tests can be run again, if none can

    def steps(self) -> Generator[Experiment]:
        """Make the experiments that are not in the log yet.

        Raises EvidenceError when the log can't be written.
        """
        workspace, end = self.setup.workspace, self.begin()
        made = list(read_experiments(workspace)[0])
        number_of = {test.name: number for number, test in enumerate(self.tests, 1)}
        with (
            ExperimentLog(workspace) as log,
            self.setup.folder() as folder,
            closing(_Underway(self, folder, made, end)) as underway,
        ):
            runs = 0
            self.tests_again = underway.tests
            while time.monotonic() < end and (stream := underway.schedule.next()) is not None:
                for experiment in underway.moment(stream):
                    log.add(experiment, underway.sources(experiment.test))
                    made.append(experiment)
                    runs += 1
                    number = number_of[stream.test]
                    self.notify(InquiryProgress(stream.test, number, len(self.tests), runs, self.share))
                    yield experiment
            if not runs and not underway.is_open and underway.schedule.next() is None:
                self.refused = next(iter(self.problems), None)
            self.complete = underway.exhausted and time.monotonic() < end
            if not runs and underway.schedule.next() is not None:
                self.note([_too_slow(self.elapsed)])
            self.note(underway.notices)


def _too_slow(took: float) -> Problem:
    cause = (
        "the time was over before the first altered run: to collect the failing tests and to run one unaltered took"
        f" {took:.0f} s"
    )
    return Problem("", "", cause, "give it more seconds")


class _Underway:
    """What is open while an investigation lasts."""

    def __init__(self, investigation: ExperimentInquiry, folder: Path, made: list[Experiment], end: float):
        self._investigation, self._made, self._end = investigation, made, end
        self._suspects = investigation.suspects
        self._group_of = {test: number for number, tests in enumerate(self._suspects.groups) for test in tests}
        self._known: dict[tuple[object, ...], Experiment] = {}
        self._repaired: dict[int, dict[tuple[object, ...], bool]] = defaultdict(dict)  # mutants, by group
        for experiment in made:
            self._note(experiment)
        self._suspects.update(made)
        kinds = [RUNS.get(kind, kind) for kind in investigation.kinds]
        self.tests = investigation.setup.repeated(
            folder, investigation.tests, kinds, self._passing(), forks=investigation.forks
        )
        self._failed = False
        self._open: dict[Stream, Iterator[Experiment]] = {}
        self.schedule = ExperimentSchedule(self._streams())

    @property
    def notices(self) -> Sequence[Problem]:
        """What is different from a run by pytest itself, and what is left out."""
        return self.tests.notices

    @property
    def is_open(self) -> bool:
        """Whether any of the tests could be run unaltered."""
        return bool(self._open)

    @property
    def exhausted(self) -> bool:
        """Whether all streams ended, none of them by an error."""
        return not self._failed and self.schedule.next() is None

    def moment(self, stream: Stream) -> Iterator[Experiment]:
        """Continue a stream for a moment."""
        opening = time.monotonic()
        places: list[tuple[str, int]] = []
        try:
            experiments = self._opened(stream)
            began = time.monotonic()
            self.schedule.spent(stream.group, began - opening)
            for experiment in experiments:
                places.append((experiment.file, experiment.line))
                self._note(experiment)
                yield experiment
                if time.monotonic() - began >= MOMENT_S and not self.tests.pending:
                    break  # what has been run already is taken before
            else:
                self.schedule.end(stream)
        except TimeIsUp:
            return
        except EvidenceError as error:
            began = time.monotonic()
            self._investigation.note([error.problem])
            self._failed = True
            self.schedule.end(stream)
        self._suspects.update(self._made)
        if any(self._repaired[stream.group].values()):
            # one repaired test proves little, and a mutant that repairs its whole group much
            self.schedule.hasten(stream.group, "mutant")
        at = self._at(stream.group)
        self.schedule.took(stream, time.monotonic() - began, places, lambda place: at(*place))

    def sources(self, test: str) -> Mapping[str, str]:
        """The digests of what a test loads."""
        return self.tests[test].trace.sources

    def close(self) -> None:
        """End all processes."""
        for experiments in self._open.values():
            if isinstance(experiments, Generator):
                experiments.close()
        self.tests.close()

    def _streams(self) -> Iterator[Stream]:
        """All kinds with each test; tests that execute nothing suspicious are left out, as long as others do."""
        group_of, tests = self._group_of, self._investigation.tests
        for test in [test for test in tests if self._suspects.reaches(group_of[test.name], test.name)] or tests:
            for kind in self._investigation.kinds:
                yield Stream(group_of[test.name], test.name, kind)

    def _note(self, experiment: Experiment) -> None:
        """Keep a result for the streams of other tests."""
        self._known[experiment.key] = experiment
        group = self._group_of.get(experiment.test)
        if group is not None and experiment.kind == "mutant":
            repaired, key = self._repaired[group], experiment.key[1:]
            repaired[key] = experiment.outcome.repairs and repaired.get(key, True)

    def _at(self, group: int) -> At:
        only = self._investigation.at

        def at(file: str, line: int) -> float:
            wanted = only is None or (file == only.file and only.line <= line <= only.end_line)
            return self._suspects.at(group, file, line) if wanted else 0.0

        return at

    def _opened(self, stream: Stream) -> Iterator[Experiment]:
        if stream not in self._open:
            end = self._end if self._open else math.inf  # without a first test nobody would know how long it takes
            test = self.tests.before(end, stream.test)
            self._open[stream] = STREAMS[stream.kind](test, self._setting(stream))
        return self._open[stream]

    def _setting(self, stream: Stream) -> StreamSetting:
        group = stream.group
        return StreamSetting(
            self._at(group),
            lambda file, line: self._suspects.turn(group, file, line),
            self._end,
            self._known,
            self._repaired[group],
            self.tests,
            self._suspects.spectrum(group),
            self._suspects.read,
            alone=len(self._investigation.kinds) == 1,
            values_logged=self._investigation.setup.values_shown,
        )

    def _passing(self) -> list[str]:
        spectrum = self._suspects.spectrum(0)
        return [test for test, failed in zip(spectrum.tests, spectrum.failed.tolist(), strict=True) if not failed]
