"""Predicate switching: which decisions of a failing test make it pass when they come out the other way.

Each decision is first switched every time that it is made, then at single times, the one that was made last first
(Zhang, Gupta & Gupta 2006).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from suspectra.cancellation import checked
from suspectra.errors import EvidenceError, Problem
from suspectra.experiment import EVERY, Experiment, Outcome
from suspectra.experiments.runs import Answer, Place, Runs, Switch, Trace
from suspectra_recorder.experiments.switchboard import MAX_DECISIONS

TRACE_S = 20.0
"""Seconds that the unaltered test may take."""

STEPS_FACTOR, LEAST_STEPS = 20, 1_000
TIME_FACTOR, LEAST_SECONDS = 20, 1.0
"""An altered run may make so many times the decisions of the unaltered one, and take so many times as long."""

BATCH, BATCH_S = 50, 1.0
"""Altered runs in one process: at most so many, of tests that take so long together."""

FEW = 10
"""Times that each decision is switched, before those that are made more often are switched at the others."""


class SwitchedTest:
    """A failing test, and the decisions that can be switched in it.

    Parameters
    ----------
    test : str
        Its name.
    runs : Runs
        Whoever runs it.

    Attributes
    ----------
    trace : Trace
        The unaltered run.
    complete : bool
        Whether all switches were tried.

    Raises
    ------
    EvidenceError
        When the test does not fail, or two unaltered runs make other decisions.
    """

    def __init__(self, test: str, runs: Runs):
        self.test, self._runs = test, runs
        self.trace = runs.trace(test, TRACE_S)
        _require_failure(test, self.trace)
        if difference := self.trace.difference(runs.trace(test, TRACE_S)):
            cause = f"two runs of {test} differ: {difference}"
            raise EvidenceError(Problem("", "", cause, "let it not depend on time, chance, threads or what ran before"))
        self.complete = False
        self._together = test in runs.together
        self._each = self.trace.answer.seconds  # less once it ran before in the same process
        self._steps = max(LEAST_STEPS, STEPS_FACTOR * len(self.trace.decisions))
        self._seconds = max(LEAST_SECONDS, TIME_FACTOR * self.trace.answer.seconds)

    def switches(self) -> Iterator[Switch]:
        """All switches there are, in the order that pays: every time, then single times, the last ones first.

        Yields
        ------
        Switch
            Each once.
        """
        decisions, places = self.trace.decisions, self.trace.places
        numbers = (decisions // 2).tolist()
        left = Counter(numbers)
        times = dict(left)
        last_first = list(dict.fromkeys(reversed(numbers)))
        yield from (Switch(places[number], EVERY) for number in last_first)
        later: list[Switch] = []
        for number in reversed(numbers):
            if times[number] > 1:  # otherwise it is the same as every time
                switch = Switch(places[number], left[number])
                if times[number] - left[number] < FEW:
                    yield switch
                else:
                    later.append(switch)
            left[number] -= 1
        yield from later

    def experiments(self, end: float, known: Collection[tuple[object, ...]] = ()) -> Iterator[Experiment]:
        """Try switches until the time is up.

        Parameters
        ----------
        end : float
            When to stop, as ``time.monotonic`` has it.
        known : collection
            The keys of experiments that need not be made again.

        Yields
        ------
        Experiment
            One for each switch, as it is known. At the end `complete` says whether there are no more.
        """
        waiting = checked(switch for switch in self.switches() if self._experiment(switch, None).key not in known)
        outcomes = self._outcomes()
        while (now := time.monotonic()) < end:
            batch = self._batch(waiting, end - now)
            if not batch:
                self.complete = True
                return
            for switch, answer in zip(batch, self._try(batch), strict=True):
                yield self._experiment(switch, answer, outcomes)

    def _batch(self, waiting: Iterator[Switch], left: float) -> list[Switch]:
        size = min(BATCH, int(min(BATCH_S, left) / max(self._each, 1e-4))) if self._together else 1
        return list(islice(waiting, max(size, 1)))

    def _try(self, switches: Sequence[Switch]) -> list[Answer]:
        """What comes of some switches; whatever repairs is confirmed in a process of its own."""
        if len(switches) > 1:
            answers, control = self._runs.switch(
                self.test, switches, steps=self._steps, seconds=self._seconds, control=True
            )
            if control is not None and not self.trace.difference(control):
                self._each = control.answer.seconds
                return [
                    self._alone(switch) if answer.outcome.repairs else answer
                    for switch, answer in zip(switches, answers, strict=True)
                ]
            self._together = False  # one run leaves something behind that changes the next
        return [self._alone(switch) for switch in switches]

    def _alone(self, switch: Switch) -> Answer:
        (answer,), _ = self._runs.switch(self.test, [switch], steps=self._steps, seconds=self._seconds)
        return answer

    def _outcomes(self) -> dict[Place, list[bool]]:
        """How each decision came out in the unaltered run, time by time."""
        found: dict[Place, list[bool]] = {}
        for decision in self.trace.decisions.tolist():
            found.setdefault(self.trace.places[decision // 2], []).append(bool(decision % 2))
        return found

    def _experiment(
        self, switch: Switch, answer: Answer | None, outcomes: dict[Place, list[bool]] | None = None
    ) -> Experiment:
        place, instance = switch
        came_out = (outcomes or {}).get(place, [])
        if instance != EVERY:
            came_out = came_out[instance - 1 : instance]
        action = "other" if len(set(came_out)) != 1 else "false" if came_out[0] else "true"
        return Experiment(
            self.test,
            "switch",
            place.file,
            place.line,
            place.end_line,
            place.column,
            place.kind,
            instance,
            action,
            answer.outcome if answer else Outcome.NOT_REACHED,
            round(answer.seconds, 6) if answer else 0.0,
            place.guard,
        )


def _require_failure(test: str, trace: Trace) -> None:
    outcome = trace.answer.outcome
    if outcome is Outcome.STEPS:
        cause = f"{test} makes more than {MAX_DECISIONS:,} decisions"
    elif outcome is Outcome.TIMEOUT:
        cause = f"{test} takes more than {TRACE_S:.0f} s"
    elif outcome in (Outcome.PASSED, Outcome.SKIPPED):
        cause = f"{test} {'passes' if outcome.repairs else 'is skipped'} when it runs alone"
    elif not len(trace.decisions):
        cause = f"{test} makes no decision in code that may be a suspect"
    else:
        return
    raise EvidenceError(Problem("", "", cause, "record the tests again, or choose another test"))
