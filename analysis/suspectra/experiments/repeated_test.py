"""A test that is run again and again, each time with something else altered.

Several runs in one process cost least, if they leave nothing behind. The control says that: the unaltered test, run
after them, has to make the same decisions as the second unaltered run of another process (the first one fills caches).
Otherwise each run is repeated in a process of its own. What makes the test pass is always confirmed alone. Forks at
each decision share open files and cost more than a small test, so they are made on request only.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from suspectra.base.cancellation import checked
from suspectra.base.deadline import TimeIsUp
from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.sources import SourceReader
from suspectra.experiments.altered_runs import Alteration, Runs
from suspectra.experiments.run_answers import AlteredRunAnswer, answer_of
from suspectra.experiments.unusable_tests import require_recorded_failure, unusable
from suspectra.program.python.decision_texts import DecisionTexts
from suspectra.program.python.points import Span
from suspectra.runs.experiment import Experiment, ExperimentOutcome
from suspectra_recorder.experiments.decisions.switchboard import MAX_DECISIONS
from suspectra_recorder.experiments.messages import RunRequest

TRACE_S = 20.0
"""For the unaltered test: of one that takes longer, too few altered runs could be made."""

_NO_VERDICT = ExperimentOutcome.STEPS, ExperimentOutcome.TIMEOUT, ExperimentOutcome.SKIPPED, ExperimentOutcome.REFUSED

STEPS_FACTOR, LEAST_STEPS = 20, 5_000
TIME_FACTOR, LEAST_SECONDS = 20, 1.0
"""An altered run may make so many times the decisions of the unaltered one, and take so many times as long.

The least is for tests that fail in the first of many cases. A property of Hypothesis may make so many decisions for
each of its examples.
"""

BATCH, BATCH_S, FORKS_S = 50, 1.0, 10.0
"""Altered runs in one process: at most so many, of tests that take so long together, or as forks."""

FIRST_BATCH = 20
"""The same as long as nothing is known of what altered runs leave behind."""

CONFIRMING_S, BEGUN_S = 1.0, 0.5
"""How long after the end of the time repairs that were seen are confirmed, and runs that began before may take."""

_Alteration = TypeVar("_Alteration", bound=Alteration)


class RepeatedTest:
    """A test with which experiments are made.

    Many tests do more when a process runs them for the first time: they fill caches, and load modules. So a run that
    follows others in one process is compared with the second unaltered run of a process. What is altered in a file
    whose decisions differ between the first and the second is always run in a process of its own.

    Raises EvidenceError when the test does not end as expected or fails with another exception than recorded, or when
    two unaltered runs make different decisions. Raises TimeIsUp when the unaltered runs are not over in time.
    """

    def __init__(
        self,
        test: str,
        runs: Runs,
        *,
        fails: bool = True,
        recorded: str = "",
        forks: bool = False,
        end: float = math.inf,
    ):
        self.test, self.runs, self.fails = test, runs, fails
        (self.trace,) = runs.traces(test, 1, TRACE_S, end)
        self._require_usable(recorded)
        together = runs.together and self.trace.answer.seconds < BATCH_S
        again, *warm = runs.traces(test, 2 if together else 1, TRACE_S, end, keep=together)
        if (difference := self.trace.difference(again)) and together:
            # the first run may be the odd one: it left a file, or found objects elsewhere, which is the order of a set
            self.trace, again, third = (runs.traces(test, 1, TRACE_S, end)[0] for _ in range(3))
            self._require_usable(recorded)
            difference, warm = self.trace.difference(again) or again.difference(third), []
        if difference:
            cause = f"two runs of {test} differ: {difference}"
            raise EvidenceError(Problem("", "", cause, "let it not depend on time, chance, threads or what ran before"))
        self.complete = False  # whether the last call of experiments made all that it was asked for
        self.pending = 0  # how many runs have been made whose experiments were not yielded yet
        self._texts = DecisionTexts(SourceReader(runs.workspace))
        self._forks = forks
        failures = {(run.answer.exception, run.answer.message) for run in (self.trace, again)}
        # a run that passes since it does not come to the check that failed repairs nothing
        self._check = self.trace.answer.noted.get("check") if fails else None
        self._failures = failures if len(failures) == 1 else set()  # its message depends on chance
        self._warm = warm[0] if warm and warm[0].end == self.trace.end else None
        self._leaves_nothing = False  # altered runs, for those that follow
        self._only_cold = self._warm.files_unlike(self.trace) if self._warm else frozenset()
        self._each = (self._warm or self.trace).answer.seconds
        self._steps = max(LEAST_STEPS, STEPS_FACTOR * len(self.trace.decisions))
        self._seconds = max(LEAST_SECONDS, TIME_FACTOR * self.trace.answer.seconds)

    def _require_usable(self, recorded: str) -> None:
        """Refuse a test that, unaltered, does not end as recorded."""
        outcome = self.trace.answer.outcome
        if outcome in _NO_VERDICT or outcome.repairs == self.fails:
            raise unusable(self.test, outcome, seconds=TRACE_S, decisions=MAX_DECISIONS, fails=self.fails)
        require_recorded_failure(self.test, recorded, self.trace.answer)

    def experiments(
        self, alterations: Iterable[Alteration], end: float, known: Collection[tuple[object, ...]] = ()
    ) -> Iterator[Experiment]:
        """Try alterations until the time is up."""
        for alteration, answer in self.answers(alterations, end, known):
            yield self.made(alteration, answer)

    def made(self, alteration: Alteration, answer: AlteredRunAnswer) -> Experiment:
        """The experiment that an alteration is, with its outcome."""
        experiment = alteration.experiment(self.test)
        return replace(
            experiment,
            detail=self._own_text(experiment) if experiment.kind == "switch" else experiment.detail,
            guard=experiment.guard and not (self.fails and self._raises_nothing_at(experiment)),
            outcome=answer.outcome,
            seconds=round(answer.seconds, 6),
            changed=self._fails_otherwise(answer),
        )

    def _own_text(self, experiment: Experiment) -> str:
        """The text of a decision that its line does not name."""
        span = Span(experiment.line, experiment.column, experiment.end_line, experiment.end_column)
        own = self._texts.own(experiment.file, experiment.place, span)
        return own.text if own else ""

    def _raises_nothing_at(self, experiment: Experiment) -> bool:
        """Whether no exception of the unaltered test comes from the check that was altered: then none is hidden."""
        checks = [
            (place.guard, self.trace.outcomes.get(number, ()))
            for number, place in enumerate(self.trace.places)
            if place.guard
            and (place.kind, place.file) == ("if", experiment.file)
            and place.line <= experiment.line
            and experiment.end_line <= place.end_line
        ]
        return bool(checks) and not any(guard & (outcome + 1) for guard, made in checks for outcome in made)

    def answers(
        self, alterations: Iterable[_Alteration], end: float, known: Collection[tuple[object, ...]] = ()
    ) -> Iterator[tuple[_Alteration, AlteredRunAnswer]]:
        """Try alterations until the time is up, as :meth:`experiments` does."""
        self.complete = False
        waiting = checked(one for one in alterations if one.experiment(self.test).key not in known)
        while (now := time.monotonic()) < end:
            batch = list(islice(waiting, self._batch_size(end - now)))
            if not batch:
                self.complete = True
                return
            for taken, (alteration, answer) in enumerate(zip(batch, self._tried(batch, end), strict=True), 1):
                self.pending = len(batch) - taken
                if answer is not None:
                    yield alteration, answer

    @property
    def repeats(self) -> bool:
        """Whether it makes the same decisions when a process has run it before."""
        return self._warm is not None and not self._only_cold

    def alone(self, job: RunRequest, most_seconds: float = math.inf, end: float = math.inf) -> AlteredRunAnswer:
        """Run the test once in a process of its own.

        Raises TimeIsUp when it was not over by then.
        """
        seconds = min(self._seconds, max(most_seconds, 2 * self.trace.answer.seconds))
        answer = self._once(job, seconds, end)
        return self._confirmed(job, seconds, end) if self._check and answer.outcome.repairs else answer

    def _confirmed(self, job: RunRequest, seconds: float, end: float) -> AlteredRunAnswer:
        """How a run in a process of its own ends, looking whether it goes through the check that failed unaltered.

        Watching slows it down, so this is for repairs.
        """
        return self._once({**job, "check": self._check} if self._check else job, seconds, end)

    def _once(self, job: RunRequest, seconds: float, end: float) -> AlteredRunAnswer:
        (answer,) = self.runs.ask(self.test, [job], steps=self._steps, seconds=seconds, end=end)
        return answer_of(answer)

    def _fails_otherwise(self, answer: AlteredRunAnswer) -> bool:
        """Whether a failing test still fails, in another way than each time unaltered."""
        how = answer.exception, answer.message
        return (
            self.fails
            and answer.outcome is ExperimentOutcome.FAILED
            and bool(self._failures)
            and how not in self._failures
        )

    def _batch_size(self, left: float) -> int:
        if self._forks:
            size = min(BATCH, int(min(FORKS_S, left) / max(self.trace.answer.seconds, 1e-4)))
        else:
            most = BATCH if self._leaves_nothing else FIRST_BATCH
            size = min(most, int(min(BATCH_S, left) / max(self._each, 1e-4))) if self._warm else 1
        return max(size, 1)

    def _tried(self, alterations: Sequence[Alteration], end: float) -> Iterator[AlteredRunAnswer | None]:
        """How runs with some alterations end; None for those of which nothing is known when the time is up.

        A repair is confirmed in a process of its own. Runs in a process of their own are made as their answers are
        asked for: none waits for those after it.
        """
        known = self._known(alterations, end)
        for n, alteration in enumerate(alterations):
            answer = known.get(n)
            repairs = answer is not None and self.fails and answer.outcome.repairs
            if (answer is None or repairs) and time.monotonic() < end + (CONFIRMING_S if answer else 0):
                yield self._alone_before(end + CONFIRMING_S, alteration, confirm=repairs)
            else:
                yield None if repairs else answer

    def _alone_before(self, end: float, alteration: Alteration, *, confirm: bool) -> AlteredRunAnswer | None:
        """How a run in a process of its own ends, None if it does not in time."""
        with suppress(TimeIsUp):
            if confirm:
                return self._confirmed(alteration.confirmation, self._seconds, end)
            return self.alone(alteration.to_json(), end=end)
        return None

    def _known(self, alterations: Sequence[Alteration], end: float) -> dict[int, AlteredRunAnswer]:
        """By their numbers, how those end that can be run together."""
        if self._forks and all(one.to_json()["kind"] == "switch" for one in alterations):
            return self._try_forks(alterations, end)
        shared = [n for n, one in enumerate(alterations) if one.experiment(self.test).file not in self._only_cold]
        return dict(zip(shared, self._try_together([alterations[n] for n in shared], end), strict=False))

    def _try_together(self, alterations: Sequence[Alteration], end: float) -> list[AlteredRunAnswer]:
        """How they end one after the other in one process; nothing where runs change those that follow.

        If the time is up before the unaltered run at the end, the first answer is certain. The others are if altered
        runs have left nothing behind before.
        """
        if self._warm is None or len(alterations) < 2:
            return []
        try:
            answers, control = self.runs.alter(
                self.test,
                alterations,
                steps=self._steps,
                seconds=self._seconds,
                end=end + BEGUN_S,
                control=True,
                keep=True,
            )
        except TimeIsUp as cut:
            made = [answer_of(answer) for answer in cut.answers]
            return made if self._leaves_nothing else made[:1]
        if control is None or self._warm.difference(control):
            self._warm = None
            return []
        self._leaves_nothing = True
        self._each = max(control.answer.seconds, sum(answer.seconds for answer in answers) / len(answers))
        return answers

    def _try_forks(self, alterations: Sequence[Alteration], end: float) -> dict[int, AlteredRunAnswer]:
        """How they end as forks of one unaltered run; that run must be as it is without forks."""
        try:
            answers, control = self.runs.fork(
                self.test, alterations, steps=self._steps, seconds=self._seconds, end=end + BEGUN_S
            )
        except TimeIsUp as cut:
            known = {answer["job"]: answer_of(answer) for answer in cut.answers if "job" in answer}
        else:
            if control is None or self.trace.difference(control):
                self._forks = False
                return {}
            known = dict(enumerate(answers))
        return {n: answer for n, answer in known.items() if answer.outcome is not ExperimentOutcome.NOT_REACHED}
