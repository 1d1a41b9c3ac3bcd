"""Runs of a failing test in which several states are altered at once, as a machine is asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from suspectra.dependences.exploration import Constraint
from suspectra.experiments.run_answers import AlteredRunAnswer
from suspectra_recorder.experiments import messages
from suspectra_recorder.experiments.messages import RunRequest
from suspectra_recorder.experiments.values.literals import to_text


class StatePoint(NamedTuple):
    """A time that a decision is made, or a value assigned."""

    file: str  # relative to the workspace
    number: int  # which decision, or which assigned value, of the file
    instance: int  # its how many-th time, from 1


class NewValue(NamedTuple):
    """A value that is put in the place of another one."""

    point: StatePoint  # where
    # which number inside the value, as suspectra_recorder.experiments.values.inner_numbers has it; empty for the whole
    part: tuple[str, ...]
    value: object  # what `suspectra_recorder.experiments.values.literals` can write down
    symbol: str = ""  # the name of the symbol that stands for it; empty for none

    def to_json(self) -> messages.NewValueRequest:
        """How a machine is asked for it."""
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
class AlteredStates:
    """What is altered in a run, and what is asked about it."""

    switched: tuple[StatePoint, ...] = ()  # decisions that come out the other way
    replaced: tuple[NewValue, ...] = ()  # values that are others
    watched: tuple[StatePoint, ...] = ()  # decisions whose outcome is asked for
    compare: bool = False  # whether the comparisons after a replaced value are noted

    def to_json(self) -> RunRequest:
        """How a machine is asked for it."""
        return {
            "kind": "states",
            "switched": list(self.switched),
            "watched": list(self.watched),
            "replaced": [value.to_json() for value in self.replaced],
            "compare": self.compare,
        }

    def with_values(self, values: Sequence[NewValue], *, compare: bool = False) -> AlteredStates:
        """The same with other values."""
        return replace(self, replaced=tuple(values), compare=compare)


class StatesRun(NamedTuple):
    """How a run with altered states ended."""

    answer: AlteredRunAnswer  # its end
    outcomes: tuple[int, ...]  # how each watched decision came out: 0 for false, 1 for true, -1 if it was not made
    marks: tuple[int, ...]  # for each watched decision the index of the constraint before it; -1 for none
    constraints: tuple[Constraint, ...]  # those that the run met
    last: int  # the index of the constraint before the failure; -1 for none
    decisions: int  # how many decisions it made
    frames: tuple[tuple[str, int], ...]  # file and line of the calls that led to the failure, the outermost first
    distances: dict[str, float]  # how far apart the sides of comparisons were, if that was asked for
    # for file and line of each loop in test code how many rounds had begun when the test failed
    rounds: dict[tuple[str, int], int]

    @classmethod
    def from_answer(cls, answer: AlteredRunAnswer) -> StatesRun:
        """What a machine answered; of a run that did not end there is only that."""
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
