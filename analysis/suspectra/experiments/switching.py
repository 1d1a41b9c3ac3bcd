"""Predicate switching: which decisions of a failing test make it pass when they come out the other way.

Each decision is first switched every time that it is made, then at single times, the one that was made last first
(Zhang, Gupta & Gupta 2006).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from suspectra.experiment import EVERY, Experiment
from suspectra.experiments.runs import Alteration, DecisionSite, Trace
from suspectra_recorder.experiments.exchange import Job

FEW = 10
"""Times that each decision is switched, before those that are made more often are switched at the others."""


@dataclass(frozen=True)
class Switch(Alteration):
    """One decision comes out the other way.

    Parameters
    ----------
    place : DecisionSite
        The decision.
    instance : int
        Its how many-th time, from 1, or `suspectra.experiment.EVERY`.
    action : str
        How it comes out then: ``true``, ``false``, or ``other`` where that is not the same each time.

    Examples
    --------
    >>> switch = Switch(DecisionSite("cart.py", 3, "if", 8, 4, 8, guard=0), instance=2)
    >>> switch.to_json()
    {'kind': 'switch', 'file': 'cart.py', 'number': 3, 'instance': 2}
    >>> switch.experiment("test_cart").line, switch.skips_check
    (8, False)
    """

    place: DecisionSite
    instance: int
    action: str = "other"

    def to_json(self) -> Job:
        """How a machine is asked for it."""
        return {"kind": "switch", "file": self.place.file, "number": self.place.number, "instance": self.instance}

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
        )


def switches(trace: Trace, wanted: Callable[[DecisionSite], bool] = lambda place: True) -> Iterator[Switch]:
    """All switches there are, in the order that pays: every time, then single times, the last ones first.

    Parameters
    ----------
    trace : Trace
        The unaltered run.
    wanted : callable
        Whether a decision is switched at all.

    Yields
    ------
    Switch
        Each once. There may be millions: those at further times are made as they are asked for.

    Examples
    --------
    >>> answer = {"outcome": "failed", "exception": "KeyError", "seconds": 0.1, "decisions": [1, 0, 3]}
    >>> answer["sites"] = [("cart.py", 0, [("if", 2, 4, 2, 8, False), ("while", 5, 4, 5, 9, False)])]
    >>> [(one.place.kind, one.instance, one.action) for one in switches(Trace.from_answer(answer))]
    [('while', 0, 'false'), ('if', 0, 'other'), ('if', 2, 'true'), ('if', 1, 'false')]
    """
    chosen = np.array([wanted(place) for place in trace.places], bool)
    newest_first = trace.decisions[chosen[trace.decisions // 2]][::-1].tolist()
    outcomes: dict[int, set[int]] = {}
    for decision in newest_first:
        outcomes.setdefault(decision // 2, set()).add(decision % 2)
    for number in dict.fromkeys(decision // 2 for decision in newest_first):
        mixed = len(outcomes[number]) > 1
        yield Switch(trace.places[number], EVERY, "other" if mixed else _opposite(*outcomes[number]))
    times = Counter(decision // 2 for decision in newest_first)
    for later in (False, True):
        left = Counter(times)
        for decision in newest_first:
            number = decision // 2
            if times[number] > 1 and (times[number] - left[number] >= FEW) is later:  # once is the same as every time
                yield Switch(trace.places[number], left[number], _opposite(decision % 2))
            left[number] -= 1


def _opposite(came_out: int) -> str:
    return "false" if came_out else "true"
