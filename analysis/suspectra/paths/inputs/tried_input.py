"""A run with another input, as a machine has answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suspectra.dependences.exploration import Constraint, Values
from suspectra.experiments.run_answers import AlteredRunAnswer
from suspectra.paths.path import Path
from suspectra.paths.searches.recorded_paths import Paths
from suspectra.runs.experiment import ExperimentOutcome
from suspectra_recorder.experiments.messages import MachineRunAnswer, RunRequest, TriedInput

KIND = "input"
"""The kind of these runs."""

REJECTED = frozenset({"UnsatisfiedAssumption", "HypothesisDeprecationWarning"})
"""The exceptions by which a property test rejects an input."""


@dataclass(frozen=True, eq=False)
class TriedRun:
    """What came of a run."""

    answer: AlteredRunAnswer  # how it ended
    path: Path  # up to where the call returned that got the input
    constraints: tuple[Constraint, ...]  # what was asked of symbols
    positions: tuple[int, ...]  # for each constraint the event before which it was asked
    input: TriedInput  # what it got, and what the call gave

    @classmethod
    def from_answer(cls, answer: MachineRunAnswer, paths: Paths) -> TriedRun | None:
        """Read what a machine answered.

        None of a run that was ended from outside.
        """
        if "input" not in answer:
            return None
        recorded = paths.from_answer(answer)
        end = answer["input"]["end"]
        whole = recorded.path
        path = whole if end < 0 else Path(whole.statement[:end], whole.depends_on[:end], whole.outcome[:end])
        constraints = tuple((term, bool(truth)) for term, truth in answer.get("constraints", ()))
        return cls(recorded.answer, path, constraints, tuple(answer["input"]["positions"]), answer["input"])

    @property
    def passes(self) -> bool:
        """Whether the test passes."""
        return self.answer.outcome is ExperimentOutcome.PASSED

    @property
    def rejected(self) -> bool:
        """Whether the test does not accept the input."""
        return self.answer.outcome is ExperimentOutcome.SKIPPED or self.answer.exception in REJECTED

    @property
    def parts(self) -> Values:
        """The value of each symbol."""
        return {name: value for name, _, value in self.input["parts"]}

    @property
    def in_words(self) -> str:
        """The arguments, as a call has them."""
        given = self.input["arguments"].items()
        return ", ".join(f"{name}={text}" for name, text in given if name not in ("self", "cls"))


def input_job(
    given: Mapping[str, int | float | str], call: int, drawn: str, *, symbolic: bool, whole: bool = False
) -> RunRequest:
    """Ask for a run with another input."""
    numbers = {name: value for name, value in given.items() if isinstance(value, (int, float))}
    return {"kind": KIND, "given": numbers, "call": call, "drawn": drawn, "symbolic": symbolic, "whole": whole}
