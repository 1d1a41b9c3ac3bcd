"""How a run of a test ended, and the decisions of an unaltered one."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.runs.experiment import ExperimentOutcome
from suspectra_recorder.experiments.messages import Findings, MachineRunAnswer


class DecisionSite(NamedTuple):
    """A decision of the program."""

    file: str  # relative to the workspace
    number: int  # which decision of the file, from 0
    kind: str  # `if`, `while`, `for`, `conditional`, `operand`, `comprehension` or `case`
    # lines from 1, both included; the column in bytes from 0
    line: int
    column: int
    end_line: int
    # with which outcomes an arm of its `if` ends, or can end, by raising: 1 for false, 2 for true, 3 for both
    guard: int
    end_column: int = 0  # where it ends in its last line, in bytes from 0; not included


class AlteredRunAnswer(NamedTuple):
    """How an altered run ended."""

    outcome: ExperimentOutcome  # whether it passed, and if not, why
    seconds: float  # how long the test took
    exception: str  # the type of the exception that ended it, empty for none
    message: str = ""  # a digest of what the exception says, empty for none
    noted: Findings = Findings()  # what the kind of the run adds


@dataclass(frozen=True, eq=False)
class Trace:
    """An unaltered run, with its decisions in order."""

    answer: AlteredRunAnswer  # how it ended
    places: tuple[DecisionSite, ...]  # the decisions of all sources that were loaded, in the order of their names
    decisions: Ints  # for each decision twice its index in `places`, and 1 more where it came out true; shape (k,)
    sources: Mapping[str, str]  # the digest of each file of the workspace that was loaded
    # the number of the thread that made each decision; of length 0 for one thread; shape (k,)
    threads: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @cached_property
    def outcomes(self) -> dict[int, set[int]]:
        """How each decision that was made came out, by its index in `places`: 0 for false, 1 for true, or both."""
        found: dict[int, set[int]] = {}
        for decision in np.flatnonzero(np.bincount(self.decisions)).tolist():
            found.setdefault(decision // 2, set()).add(decision % 2)
        return found

    @classmethod
    def from_answer(cls, answer: MachineRunAnswer) -> Trace:
        """What a machine answered to a job like `TRACE`.

        Comparable with other runs, in whatever order they loaded the sources.
        """
        places: list[DecisionSite] = []
        moved = np.zeros(1, np.int64)
        for path, first, sites in sorted(answer.get("sites", ())):
            if first + len(sites) > len(moved):
                moved = np.concatenate([moved, np.zeros(first + len(sites) - len(moved), np.int64)])
            moved[first : first + len(sites)] = np.arange(len(places), len(places) + len(sites))
            for number, (kind, line, column, end_line, end_column, guard) in enumerate(sites):
                places.append(DecisionSite(path, number, kind, line, column, end_line, guard, end_column))
        raw = np.array(answer.get("decisions", ()), np.int64)
        rest = answer.copy()
        rest.pop("decisions", None)  # they are large
        rest.pop("sites", None)
        decisions = 2 * moved[raw // 2] + raw % 2
        threads = np.array(rest.pop("decision_threads", ()), np.int64)
        return cls(answer_of(rest), tuple(places), decisions, answer.get("sources", {}), threads)

    def difference(self, other: Trace) -> str:
        """The first decision in which another run differs, in words; empty where there is none."""
        ours, theirs = self.decisions, other.decisions
        shared = min(len(ours), len(theirs))
        differing = np.flatnonzero(ours[:shared] != theirs[:shared])
        if self.places != other.places:
            return "it loads other sources"
        # tests of web frameworks take turns with a thread of their own, in another way each time
        if len(self.threads) and len(other.threads) and self._by_thread == other._by_thread:
            differing, theirs = differing[:0], ours  # they only come in another order
        if len(differing):
            at = int(differing[0])
            return f"decision {at + 1}: {self._in_words(int(ours[at]))}, then {self._in_words(int(theirs[at]))}"
        if len(ours) != len(theirs):
            return f"it makes {len(ours)} decisions, then {len(theirs)}"
        if self.end != other.end:
            return f"it ends as {self.end}, then as {other.end}"
        return ""

    def files_unlike(self, other: Trace) -> frozenset[str]:
        """The files whose decisions are different in another run of the same test.

        Where the n-th time of a decision in one run need not be the n-th time in the other.
        """
        ours, theirs = self._by_file(), other._by_file()
        return frozenset(file for file in {*ours, *theirs} if ours.get(file) != theirs.get(file))

    @cached_property
    def _by_thread(self) -> list[bytes]:
        """The decisions of each thread, whichever came first."""
        order = np.argsort(self.threads, kind="stable")
        parts = np.split(self.decisions[order], np.flatnonzero(np.diff(self.threads[order])) + 1)
        return sorted(part.tobytes() for part in parts)

    def _by_file(self) -> dict[str, bytes]:
        """The decisions of each file, numbered in the file."""
        files = sorted({place.file for place in self.places})
        number_of = {file: number for number, file in enumerate(files)}
        file_of = np.array([number_of[place.file] for place in self.places], np.int64)
        number_in_file = np.array([place.number for place in self.places], np.int64)
        numbers, taken = self.decisions // 2, self.decisions % 2
        inside = 2 * number_in_file[numbers] + taken
        return {
            file: decisions.tobytes()
            for file, number in number_of.items()
            if len(decisions := inside[file_of[numbers] == number])
        }

    def _in_words(self, decision: int) -> str:
        place = self.places[decision // 2]
        return f"{place.file}:{place.line} came out {'true' if decision % 2 else 'false'}"

    @property
    def end(self) -> str:
        """How it ended: the outcome, and the type of the exception."""
        return f"{self.answer.outcome.value} {self.answer.exception}".strip()


def outcome_of(said: str) -> ExperimentOutcome:
    """The outcome of a test, as pytest or a machine says it."""
    known = {"error": "failed", "xfailed": "skipped", "xpassed": "passed"}
    return ExperimentOutcome(known.get(said, said))


def answer_of(answer: MachineRunAnswer) -> AlteredRunAnswer:
    """How a run ended."""
    outcome = answer["outcome"]
    if not answer.get("reached", 1) and outcome != "passed":
        outcome = "not reached"
    return AlteredRunAnswer(
        outcome_of(outcome),
        float(answer["seconds"]),
        str(answer["exception"]),
        str(answer.get("message", "")),
        answer,
    )


def read_column(text: str) -> Ints:
    """Read a column of numbers.

    Of shape (n,).
    """
    return np.frombuffer(b64decode(text), np.int32).astype(np.int64)
