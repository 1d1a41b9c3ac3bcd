"""A run with another input, as a machine has answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suspectra.dependences.exploration import Constraint, Values
from suspectra.experiment import Outcome
from suspectra.experiments.answers import Answer
from suspectra.experiments.recorded_paths import Paths
from suspectra.paths.path import Path
from suspectra_recorder.experiments.exchange import Job, RunAnswer, TriedInput

KIND = "input"
"""The kind of these runs."""

REJECTED = frozenset({"UnsatisfiedAssumption", "HypothesisDeprecationWarning"})
"""The exceptions by which a property test rejects an input."""


@dataclass(frozen=True, eq=False)
class TriedRun:
    """What came of a run.

    Parameters
    ----------
    answer : Answer
        How it ended.
    path : Path
        Up to where the call returned that got the input.
    constraints : tuple of (term, bool)
        What was asked of symbols.
    positions : tuple of int
        For each constraint the event before which it was asked.
    input : TriedInput
        What it got, and what the call gave.

    Examples
    --------
    >>> from pathlib import Path as Folder
    >>> tried = {"arguments": {"n": "154"}, "parts": [("n", "int", 154)], "positions": [], "end": -1}
    >>> answer = {"outcome": "passed", "exception": "", "seconds": 0.1, "input": tried}
    >>> run = TriedRun.from_answer(answer, Paths(Folder()))
    >>> run.passes, run.rejected, run.parts, run.in_words
    (True, False, {'n': 154}, 'n=154')
    """

    answer: Answer
    path: Path
    constraints: tuple[Constraint, ...]
    positions: tuple[int, ...]
    input: TriedInput

    @classmethod
    def from_answer(cls, answer: RunAnswer, paths: Paths) -> TriedRun | None:
        """Read what a machine answered.

        Parameters
        ----------
        answer : RunAnswer
            To a job of the kind ``input``.
        paths : Paths
            Numbers decisions.

        Returns
        -------
        TriedRun or None
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
        return self.answer.outcome is Outcome.PASSED

    @property
    def rejected(self) -> bool:
        """Whether the test does not accept the input."""
        return self.answer.outcome is Outcome.SKIPPED or self.answer.exception in REJECTED

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
) -> Job:
    """Ask for a run with another input.

    Parameters
    ----------
    given : mapping of str to number
        Values of symbols.
    call : int
        Which call of the program by the test gets it, from 1; 0 for the test itself, and -1 to note all calls.
    drawn : str
        What a property test drew, as Python writes it.
    symbolic : bool
        Whether constraints are noted.
    whole : bool, optional
        Whether the run is looked at to the end of the test, and not only until the call returns.

    Returns
    -------
    Job
        For a machine.

    Examples
    --------
    >>> input_job({"n": 3}, 1, "", symbolic=True)["given"]
    {'n': 3}
    """
    numbers = {name: value for name, value in given.items() if isinstance(value, (int, float))}
    return {"kind": KIND, "given": numbers, "call": call, "drawn": drawn, "symbolic": symbolic, "whole": whole}
