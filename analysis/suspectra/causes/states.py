"""Runs of a failing test in which several states are altered at once, as a machine is asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from suspectra.dependences.exploration import Constraint
from suspectra.experiments.answers import Answer
from suspectra_recorder.experiments import exchange
from suspectra_recorder.experiments.exchange import Job
from suspectra_recorder.experiments.literals import to_text


class Point(NamedTuple):
    """A time that a decision is made, or a value assigned.

    Parameters
    ----------
    file : str
        Relative to the workspace.
    number : int
        Which decision, or which assigned value, of the file.
    instance : int
        Its how many-th time, from 1.

    Examples
    --------
    >>> Point("cart.py", 0, 3).instance
    3
    """

    file: str
    number: int
    instance: int


class NewValue(NamedTuple):
    """A value that is put in the place of another one.

    Parameters
    ----------
    point : Point
        Where.
    part : tuple of str
        Which number inside the value, as :mod:`suspectra_recorder.experiments.parts` has it; empty for the whole.
    value : object
        What `suspectra_recorder.experiments.literals` can write down.
    symbol : str
        The name of the symbol that stands for it; empty for none.

    Examples
    --------
    >>> NewValue(Point("cart.py", 0, 1), (), 3).to_json()["text"]
    'i3'
    """

    point: Point
    part: tuple[str, ...]
    value: object
    symbol: str = ""

    def to_json(self) -> exchange.NewValue:
        """How a machine is asked for it.

        Returns
        -------
        exchange.NewValue
            As it is written.
        """
        file, number, instance = self.point
        text = to_text(self.value)
        return {
            "path": file,
            "number": number,
            "instance": instance,
            "part": list(self.part),
            "text": text,
            "symbol": self.symbol,
        }


@dataclass(frozen=True)
class States:
    """What is altered in a run, and what is asked about it.

    Parameters
    ----------
    switched : tuple of Point
        Decisions that come out the other way.
    replaced : tuple of NewValue
        Values that are others.
    watched : tuple of Point
        Decisions whose outcome is asked for.
    compare : bool
        Whether the comparisons after a replaced value are noted.

    Examples
    --------
    >>> States((Point("cart.py", 0, 1),)).to_json()["switched"]
    [Point(file='cart.py', number=0, instance=1)]
    """

    switched: tuple[Point, ...] = ()
    replaced: tuple[NewValue, ...] = ()
    watched: tuple[Point, ...] = ()
    compare: bool = False

    def to_json(self) -> Job:
        """How a machine is asked for it.

        Returns
        -------
        Job
            Of the kind ``states``.
        """
        return {
            "kind": "states",
            "switched": list(self.switched),
            "watched": list(self.watched),
            "replaced": [value.to_json() for value in self.replaced],
            "compare": self.compare,
        }

    def with_values(self, values: Sequence[NewValue], *, compare: bool = False) -> States:
        """The same with other values.

        Parameters
        ----------
        values : sequence of NewValue
            All values that are replaced.
        compare : bool
            Whether the comparisons that follow are noted.

        Returns
        -------
        States
            A copy.

        Examples
        --------
        >>> States().with_values([NewValue(Point("cart.py", 0, 1), (), 3)]).replaced[0].value
        3
        """
        return replace(self, replaced=tuple(values), compare=compare)


class StatesRun(NamedTuple):
    """How a run with altered states ended.

    Parameters
    ----------
    answer : Answer
        Its end.
    outcomes : tuple of int
        How each watched decision came out: 0 for false, 1 for true, -1 if it was not made.
    marks : tuple of int
        For each watched decision the index of the constraint before it; -1 for none.
    constraints : tuple of (term, bool)
        Those that the run met.
    last : int
        The index of the constraint before the failure; -1 for none.
    decisions : int
        How many decisions it made.
    frames : tuple of (str, int)
        File and line of the calls that led to the failure, the outermost first.
    distances : dict of str to float
        How far apart the sides of comparisons were, if that was asked for.
    rounds : dict of (str, int) to int
        For file and line of each loop in test code how many rounds had begun when the test failed.

    Examples
    --------
    >>> from suspectra.experiment import Outcome
    >>> noted = {"outcomes": [1], "marks": [-1], "decided": 12}
    >>> run = StatesRun.from_answer(Answer(Outcome.FAILED, 0.1, "KeyError", "", noted))
    >>> run.answer.exception, run.outcomes, run.decisions
    ('KeyError', (1,), 12)
    """

    answer: Answer
    outcomes: tuple[int, ...]
    marks: tuple[int, ...]
    constraints: tuple[Constraint, ...]
    last: int
    decisions: int
    frames: tuple[tuple[str, int], ...]
    distances: dict[str, float]
    rounds: dict[tuple[str, int], int]

    @classmethod
    def from_answer(cls, answer: Answer) -> StatesRun:
        """What a machine answered; of a run that did not end there is only that.

        Parameters
        ----------
        answer : Answer
            To a job of the kind ``states``.

        Returns
        -------
        StatesRun
            With constraints as lists.

        Examples
        --------
        >>> from suspectra.experiment import Outcome
        >>> StatesRun.from_answer(Answer(Outcome.TIMEOUT, 10.0, "")).last
        -1
        """
        noted = answer.noted
        return cls(
            answer,
            tuple(noted.get("outcomes", ())),
            tuple(noted.get("marks", ())),
            tuple((term, bool(truth)) for term, truth in noted.get("constraints", ())),
            noted.get("last", -1),
            noted.get("decided", 0),
            tuple((str(file), int(line)) for file, line in noted.get("frames", ())),
            dict(noted.get("distances", {})),
            {(str(file), int(line)): int(begun) for file, line, begun in noted.get("rounds", ())},
        )
