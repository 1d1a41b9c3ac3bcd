"""Predicate switching: which decisions of a failing test make it pass when they come out the other way.

Each decision is first switched every time that it is made, then at single times, the one that was made last first
(Zhang, Gupta & Gupta 2006). One that comes out both ways also comes out true every time, and false every time: a
condition that is too wide or too narrow is right some times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import numpy as np

from suspectra.experiments.altered_runs import Alteration
from suspectra.experiments.run_answers import DecisionSite, Trace
from suspectra.runs.experiment import EVERY, Experiment
from suspectra_recorder.experiments.messages import RunRequest

FEW = 10
"""Times that each decision is switched, before those that are made more often are switched at the others."""


@dataclass(frozen=True)
class SwitchedDecision(Alteration):
    """One decision comes out differently."""

    place: DecisionSite
    instance: int  # its how many-th time, from 1, or `suspectra.runs.experiment.EVERY`
    # how it comes out then: `true`, `false`, or `other` for the opposite of what it would be each time
    action: str = "other"

    def to_json(self) -> RunRequest:
        """How a machine is asked for it."""
        place = self.place
        which: RunRequest = {"kind": "switch", "file": place.file, "number": place.number, "instance": self.instance}
        return {**which, "action": self.action}

    @property
    def skips_check(self) -> bool:
        """Whether an error may not be raised because of it."""
        return bool(self.place.guard) and (self.action, self.place.guard) not in {("false", 1), ("true", 2)}

    def experiment(self, test: str) -> Experiment:
        """The experiment that this is with a test."""
        place = self.place
        return Experiment(
            test,
            "switch",
            place.file,
            place.line,
            place.end_line,
            place.column,
            place.kind,
            self.instance,
            self.action,
            guard=self.skips_check,
            end_column=place.end_column,
        )


def switches(trace: Trace, wanted: Callable[[DecisionSite], bool] = lambda place: True) -> Iterator[SwitchedDecision]:
    """All switches there are, in the order that pays: every time, then single times, the last ones first."""
    chosen = np.array([wanted(place) for place in trace.places], bool)
    newest_first = trace.decisions[chosen[trace.decisions // 2]][::-1].tolist()
    for number in dict.fromkeys(decision // 2 for decision in newest_first):
        for action in actions(trace.places[number], trace.outcomes[number]):
            yield SwitchedDecision(trace.places[number], EVERY, action)
    times = Counter(decision // 2 for decision in newest_first)
    for later in (False, True):
        left = Counter(times)
        for decision in newest_first:
            number = decision // 2
            if times[number] > 1 and (times[number] - left[number] >= FEW) is later:  # once is the same as every time
                yield SwitchedDecision(trace.places[number], left[number], _opposite(decision % 2))
            left[number] -= 1


def actions(place: DecisionSite, outcomes: Collection[int]) -> tuple[str, ...]:
    """How a decision can come out every time."""
    if len(outcomes) == 1:
        return (_opposite(*outcomes),)
    return ("other", "false") if place.kind == "while" else ("other", "true", "false")


def _opposite(came_out: int) -> str:
    return "false" if came_out else "true"
