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

from suspectra.experiment import EVERY, Experiment
from suspectra.experiments.answers import DecisionSite, Trace
from suspectra.experiments.runs import Alteration
from suspectra_recorder.experiments.exchange import Job

FEW = 10
"""Times that each decision is switched, before those that are made more often are switched at the others."""


@dataclass(frozen=True)
class Switch(Alteration):
    """One decision comes out differently.

    Parameters
    ----------
    place : DecisionSite
        The decision.
    instance : int
        Its how many-th time, from 1, or `suspectra.experiment.EVERY`.
    action : str
        How it comes out then: ``true``, ``false``, or ``other`` for the opposite of what it would be each time.

    Examples
    --------
    >>> switch = Switch(DecisionSite("cart.py", 3, "if", 8, 4, 8, guard=0), instance=2)
    >>> switch.to_json()
    {'kind': 'switch', 'file': 'cart.py', 'number': 3, 'instance': 2, 'action': 'other'}
    >>> switch.experiment("test_cart").line, switch.skips_check
    (8, False)
    """

    place: DecisionSite
    instance: int
    action: str = "other"

    def to_json(self) -> Job:
        """How a machine is asked for it."""
        place = self.place
        which: Job = {"kind": "switch", "file": place.file, "number": place.number, "instance": self.instance}
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
    >>> first, *others = switches(Trace.from_answer(answer))
    >>> first.place.kind, first.instance, first.action
    ('while', 0, 'false')
    >>> [(one.instance, one.action) for one in others]
    [(0, 'other'), (0, 'true'), (0, 'false'), (2, 'true'), (1, 'false')]
    """
    chosen = np.array([wanted(place) for place in trace.places], bool)
    newest_first = trace.decisions[chosen[trace.decisions // 2]][::-1].tolist()
    for number in dict.fromkeys(decision // 2 for decision in newest_first):
        for action in actions(trace.places[number], trace.outcomes[number]):
            yield Switch(trace.places[number], EVERY, action)
    times = Counter(decision // 2 for decision in newest_first)
    for later in (False, True):
        left = Counter(times)
        for decision in newest_first:
            number = decision // 2
            if times[number] > 1 and (times[number] - left[number] >= FEW) is later:  # once is the same as every time
                yield Switch(trace.places[number], left[number], _opposite(decision % 2))
            left[number] -= 1


def actions(place: DecisionSite, outcomes: Collection[int]) -> tuple[str, ...]:
    """How a decision can come out every time.

    Parameters
    ----------
    place : DecisionSite
        The decision.
    outcomes : collection of int
        How it comes out in the unaltered run: 0, 1 or both.

    Returns
    -------
    tuple of str
        Actions of `Switch`. No loop goes on without end.

    Examples
    --------
    >>> actions(DecisionSite("cart.py", 3, "if", 8, 4, 8, False), {0, 1})
    ('other', 'true', 'false')
    >>> actions(DecisionSite("cart.py", 3, "if", 8, 4, 8, False), {0})
    ('true',)
    """
    if len(outcomes) == 1:
        return (_opposite(*outcomes),)
    return ("other", "false") if place.kind == "while" else ("other", "true", "false")


def _opposite(came_out: int) -> str:
    return "false" if came_out else "true"
