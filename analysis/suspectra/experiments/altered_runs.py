"""Runs of tests, unaltered or altered.

A kind of run is a class on both sides: an `Alteration` here knows how a machine is asked for it and which `Experiment`
it is; a `RunKind` of the recorder applies it before the test, and takes it back, since the next run may be in the same
process.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from suspectra.base.errors import Problem
from suspectra.experiments.run_answers import AlteredRunAnswer, Trace, answer_of
from suspectra.runs.experiment import Experiment
from suspectra_recorder.experiments.decisions.switchboard import MAX_DECISIONS
from suspectra_recorder.experiments.messages import MachineRunAnswer, Request, RunRequest

TRACE: RunRequest = {"kind": "trace"}
"""The job that changes nothing, and notes decisions."""


class Alteration(ABC):
    """What is different in a run."""

    @abstractmethod
    def to_json(self) -> RunRequest:
        """How a machine is asked for it."""

    @property
    def confirmation(self) -> RunRequest:
        """How a machine is asked for it once more where it repaired the test: more may be noted then."""
        return self.to_json()

    @abstractmethod
    def experiment(self, test: str) -> Experiment:
        """The experiment that this is with a test."""


class Runs(ABC):
    """Runs tests on request."""

    workspace: Path = Path()  # where they run
    together: bool = False  # whether a process may run a test several times
    # the digests of the sources of the workspace that are loaded by now, by path
    sources: Mapping[str, str] = MappingProxyType({})
    notices: Sequence[Problem] = ()  # what is different from a run by pytest itself, and which files are left out

    def __init__(self) -> None:
        # what the unaltered tests do outside of their process, which altered runs of them may do, too
        self._touched: dict[str, list[list[str]]] = {}

    def knowing_what_it_touches(self, what: Request) -> Request:
        """A request with what altered runs of its test may do."""
        known = self._touched.get(what["test"])
        return {**what, "touched": known} if known else what

    def _learn(self, test: str, answer: MachineRunAnswer) -> None:
        """Note what an unaltered run did."""
        known = self._touched.setdefault(test, [])
        known += [call for call in answer.get("touched", ()) if call not in known]

    @abstractmethod
    def ask(
        self,
        test: str,
        jobs: Sequence[RunRequest],
        *,
        steps: int,
        seconds: float,
        end: float = math.inf,
        keep: bool = False,
        shared: bool = False,
        directly: bool = False,
    ) -> list[MachineRunAnswer]:
        """Run a test once for each job, in as few processes as that takes.

        The answers, in the order of the jobs. A process that is kept goes on with the test, and if it may be `shared`
        with other tests of which that is said, as long as they touch nothing outside. With `directly` hooks of pytest
        are left out where that may be.

        Raises TimeIsUp when they were not over by then. It has the answers of those that were.
        """

    @abstractmethod
    def close(self) -> None:
        """End all processes."""

    def traces(self, test: str, times: int, seconds: float, end: float = math.inf, keep: bool = False) -> list[Trace]:
        """Run a test unaltered several times, in one process as long as that lives.

        In the order of the runs.
        """
        answers = self.ask(test, [TRACE] * times, steps=MAX_DECISIONS, seconds=seconds, end=end, keep=keep)
        return [Trace.from_answer(one) for one in answers]

    def alter(
        self,
        test: str,
        alterations: Sequence[Alteration],
        *,
        steps: int,
        seconds: float,
        end: float = math.inf,
        control: bool = False,
        keep: bool = False,
    ) -> tuple[list[AlteredRunAnswer], Trace | None]:
        """Run a test altered, once for each alteration, in as few processes as that takes.

        In the order of the alterations.

        None unless asked for.
        """
        jobs = [alteration.to_json() for alteration in alterations]
        answers = self.ask(test, [*jobs, *[TRACE] * control], steps=steps, seconds=seconds, end=end, keep=keep)
        last = Trace.from_answer(answers.pop()) if control else None
        return [answer_of(answer) for answer in answers], last

    def fork(
        self, test: str, alterations: Sequence[Alteration], *, steps: int, seconds: float, end: float = math.inf
    ) -> tuple[list[AlteredRunAnswer], Trace | None]:
        """Run a test unaltered, and fork it where it is to be altered, as far as processes can be forked.

        In the order of the alterations.

        The unaltered run, if it ended.

        Raises TimeIsUp when they were not over by then; what it knows names the jobs.
        """
        return self.alter(test, alterations, steps=steps, seconds=seconds, end=end)
