"""Runs of tests, unaltered or altered, and what is reported of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from suspectra.arrays import Ints
from suspectra.experiment import Outcome

MEMORY, FILE_SIZE = 2 << 30, 64 << 20
"""Bytes that an altered run may take besides what the waiting process has, and may write into a file."""


class Place(NamedTuple):
    """A decision of the program.

    Parameters
    ----------
    file : str
        Relative to the workspace.
    number : int
        Which decision of the file, from 0.
    kind : str
        ``if``, ``while``, ``for``, ``conditional``, ``operand``, ``comprehension`` or ``case``.
    line, column, end_line : int
        Lines from 1, both included; the column in bytes from 0.
    guard : bool
        An arm of its ``if`` ends by raising.
    """

    file: str
    number: int
    kind: str
    line: int
    column: int
    end_line: int
    guard: bool


class Switch(NamedTuple):
    """What is altered in a run: one decision comes out the other way.

    Parameters
    ----------
    place : Place
        The decision.
    instance : int
        Its how many-th time, from 1, or `suspectra.experiment.EVERY`.
    """

    place: Place
    instance: int


class Answer(NamedTuple):
    """How an altered run ended.

    Parameters
    ----------
    outcome : Outcome
        In words.
    seconds : float
        How long the test took.
    exception : str
        The type of the exception that ended it, empty for none.
    """

    outcome: Outcome
    seconds: float
    exception: str


@dataclass(frozen=True, eq=False)
class Trace:
    """An unaltered run, with its decisions in order.

    Parameters
    ----------
    answer : Answer
        How it ended.
    places : tuple of Place
        The decisions of all sources that were loaded, in the order of their names.
    decisions : ndarray of int64, shape (k,)
        For each decision twice its index in `places`, and 1 more where it came out true.
    sources : mapping of str to str
        The digest of each file of the workspace that was loaded.
    """

    answer: Answer
    places: tuple[Place, ...]
    decisions: Ints
    sources: Mapping[str, str]

    @classmethod
    def from_answer(cls, said: Mapping[str, Any]) -> Trace:
        """What a machine answered to a request without alteration.

        Parameters
        ----------
        said : mapping
            As JSON has it.

        Returns
        -------
        Trace
            Comparable with other runs, in whatever order they loaded the sources.
        """
        places: list[Place] = []
        moved = np.zeros(1, np.int64)
        for path, first, sites in sorted(said.get("sites", ())):
            if first + len(sites) > len(moved):
                moved = np.concatenate([moved, np.zeros(first + len(sites) - len(moved), np.int64)])
            moved[first : first + len(sites)] = np.arange(len(places), len(places) + len(sites))
            for number, (kind, line, column, end_line, _, guard) in enumerate(sites):
                places.append(Place(path, number, kind, line, column, end_line, guard))
        raw = np.array(said.get("decisions", ()), np.int64)
        return cls(answer_of(said), tuple(places), 2 * moved[raw // 2] + raw % 2, said.get("sources", {}))

    def difference(self, other: Trace) -> str:
        """The first decision in which another run differs, in words; empty where there is none.

        Parameters
        ----------
        other : Trace
            Of the same test.

        Returns
        -------
        str
            Such as ``decision 3: cart.py:8 came out true, then false``.
        """
        ours, theirs = self.decisions, other.decisions
        shared = min(len(ours), len(theirs))
        differing = np.flatnonzero(ours[:shared] != theirs[:shared])
        if self.places != other.places:
            return "it loads other sources"
        if len(differing):
            at = int(differing[0])
            return f"decision {at + 1}: {self._said(int(ours[at]))}, then {self._said(int(theirs[at]))}"
        if len(ours) != len(theirs):
            return f"it makes {len(ours)} decisions, then {len(theirs)}"
        if (self.answer.outcome, self.answer.exception) != (other.answer.outcome, other.answer.exception):
            return f"it ends as {self._end()}, then as {other._end()}"
        return ""

    def _said(self, decision: int) -> str:
        place = self.places[decision // 2]
        return f"{place.file}:{place.line} came out {'true' if decision % 2 else 'false'}"

    def _end(self) -> str:
        return f"{self.answer.outcome.value} {self.answer.exception}".strip()


class Runs(Protocol):
    """Whoever runs a test on request."""

    together: frozenset[str]
    """Tests that may be run several times in one process."""

    def trace(self, test: str, seconds: float) -> Trace:
        """Run a test unaltered, and take note of its decisions.

        Parameters
        ----------
        test : str
            Its name.
        seconds : float
            How long it may take.

        Returns
        -------
        Trace
            Whatever the test does.
        """

    def switch(
        self, test: str, switches: Sequence[Switch], *, steps: int, seconds: float, control: bool = False
    ) -> tuple[list[Answer], Trace | None]:
        """Run a test altered, once for each switch, in as few processes as that takes.

        Parameters
        ----------
        test : str
            Its name.
        switches : sequence of Switch
            One for each run.
        steps : int
            How many decisions a run may make.
        seconds : float
            How long a run may take.
        control : bool
            Whether an unaltered run follows in the same process.

        Returns
        -------
        answers : list of Answer
            In the order of the switches.
        control : Trace or None
            None unless asked for.
        """

    def close(self) -> None:
        """End all processes."""


def answer_of(said: Mapping[str, Any]) -> Answer:
    """How a run ended, from what a machine answered.

    Parameters
    ----------
    said : mapping
        As JSON has it.

    Returns
    -------
    Answer
        What pytest calls an error is a failure.
    """
    outcome = said["outcome"]
    if not said.get("switched", 1) and outcome != "passed":
        outcome = "not reached"
    known = {"error": "failed", "xfailed": "skipped", "xpassed": "passed"}
    return Answer(Outcome(known.get(outcome, outcome)), float(said["seconds"]), str(said["exception"]))


def request(test: str, jobs: Iterable[Switch | None], *, steps: int, seconds: float) -> dict[str, Any]:
    """What a machine is asked.

    Parameters
    ----------
    test : str
        Its name.
    jobs : iterable of Switch or None
        A run each; None for an unaltered one.
    steps : int
        How many decisions a run may make.
    seconds : float
        How long a run may take.

    Returns
    -------
    dict
        As JSON can have it.
    """
    return {
        "test": test,
        "jobs": [job and [job.place.file, job.place.number, job.instance] for job in jobs],
        "steps": steps,
        "seconds": seconds,
        "memory": MEMORY,
        "file_size": FILE_SIZE,
    }
