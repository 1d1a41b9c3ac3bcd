"""Runs of tests, unaltered or altered."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from suspectra.errors import Problem
from suspectra.experiment import Experiment
from suspectra.experiments.answers import Answer, Trace, answer_of
from suspectra_recorder.experiments.exchange import Job, RunAnswer
from suspectra_recorder.experiments.switchboard import MAX_DECISIONS

TRACE: Job = {"kind": "trace"}
"""The job that changes nothing, and notes decisions."""


class Alteration(ABC):
    """What is different in a run.

    Examples
    --------
    >>> class Nothing(Alteration):
    ...     def to_json(self):
    ...         return {"kind": "plain"}
    ...     def experiment(self, test):
    ...         return Experiment(test, "switch", "cart.py", 1, 1, 0, "if", 1, "other")
    >>> Nothing().to_json(), Nothing().experiment("test_cart").outcome.value, Nothing().confirmation
    ({'kind': 'plain'}, 'not reached', {'kind': 'plain'})
    """

    @abstractmethod
    def to_json(self) -> Job:
        """How a machine is asked for it.

        Returns
        -------
        Job
            Its ``"kind"`` is one of those of :mod:`suspectra_recorder.experiments.kinds`.
        """

    @property
    def confirmation(self) -> Job:
        """How a machine is asked for it once more where it repaired the test: more may be noted then."""
        return self.to_json()

    @abstractmethod
    def experiment(self, test: str) -> Experiment:
        """The experiment that this is with a test.

        Parameters
        ----------
        test : str
            Its name.

        Returns
        -------
        Experiment
            Before it is made: without an outcome.
        """


class Runs(ABC):
    """Runs tests on request.

    Attributes
    ----------
    workspace : Path
        Where they run.
    together : bool
        Whether a process may run a test several times.
    sources : mapping of str to str
        The digests of the sources of the workspace that are loaded by now, by path.
    notices : sequence of Problem
        What is different from a run by pytest itself, and which files are left out.

    Examples
    --------
    A test that passes if the only decision of the program comes out the other way:

    >>> from suspectra.experiments.switching import switches
    >>> class OneDecision(Runs):
    ...     def ask(self, test, jobs, *, steps, seconds, end, keep=False):
    ...         return [self.answer(job["kind"]) for job in jobs]
    ...     def answer(self, kind):
    ...         ended = {"outcome": "passed" if kind == "switch" else "failed", "exception": "", "seconds": 0.01}
    ...         return {**ended, "decisions": [0], "sites": [("cart.py", 0, [("if", 2, 4, 2, 8, False)])]}
    ...     def close(self):
    ...         print("closed")
    >>> runs = OneDecision()
    >>> trace, again = runs.traces("test_price", 2, seconds=10)
    >>> trace.end
    'failed'
    >>> answers, control = runs.alter("test_price", list(switches(trace)), steps=100, seconds=10, control=True)
    >>> [answer.outcome.value for answer in answers], control.end
    (['passed'], 'failed')
    >>> answers, _ = runs.fork("test_price", list(switches(trace)), steps=100, seconds=10)
    >>> runs.close()
    closed
    """

    workspace: Path = Path()
    together: bool = False
    sources: Mapping[str, str] = MappingProxyType({})
    notices: Sequence[Problem] = ()

    @abstractmethod
    def ask(
        self, test: str, jobs: Sequence[Job], *, steps: int, seconds: float, end: float = math.inf, keep: bool = False
    ) -> list[RunAnswer]:
        """Run a test once for each job, in as few processes as that takes.

        Parameters
        ----------
        test : str
            Its name.
        jobs : sequence of Job
            See `Alteration.to_json`.
        steps : int
            How many decisions a run may make.
        seconds : float
            How long a run may take.
        end : float
            When all of them have to be over, as ``time.monotonic`` has it.
        keep : bool
            Whether the process goes on with what is asked next, if that says so, too, and is about the same test. What
            its runs do to it is the business of who asks.

        Returns
        -------
        list of RunAnswer
            The answers, in the order of the jobs.

        Raises
        ------
        TimeIsUp
            When they were not over by then. It has the answers of those that were.
        """

    @abstractmethod
    def close(self) -> None:
        """End all processes."""

    def traces(self, test: str, times: int, seconds: float, end: float = math.inf, keep: bool = False) -> list[Trace]:
        """Run a test unaltered several times, in one process as long as that lives.

        Parameters
        ----------
        test : str
            Its name.
        times : int
            How often.
        seconds : float
            How long each run may take.
        end : float
            When all of them have to be over.
        keep : bool
            See :meth:`ask`.

        Returns
        -------
        list of Trace
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
    ) -> tuple[list[Answer], Trace | None]:
        """Run a test altered, once for each alteration, in as few processes as that takes.

        Parameters
        ----------
        test : str
            Its name.
        alterations : sequence of Alteration
            One for each run.
        steps : int
            How many decisions a run may make.
        seconds : float
            How long a run may take.
        end : float
            When all of them have to be over.
        control : bool
            Whether an unaltered run follows in the same process.
        keep : bool
            See :meth:`ask`.

        Returns
        -------
        answers : list of Answer
            In the order of the alterations.
        control : Trace or None
            None unless asked for.
        """
        jobs = [alteration.to_json() for alteration in alterations]
        answers = self.ask(test, [*jobs, *[TRACE] * control], steps=steps, seconds=seconds, end=end, keep=keep)
        last = Trace.from_answer(answers.pop()) if control else None
        return [answer_of(answer) for answer in answers], last

    def fork(
        self, test: str, alterations: Sequence[Alteration], *, steps: int, seconds: float, end: float = math.inf
    ) -> tuple[list[Answer], Trace | None]:
        """Run a test unaltered, and fork it where it is to be altered, as far as processes can be forked.

        Parameters
        ----------
        test : str
            Its name.
        alterations : sequence of Alteration
            Switches of decisions, one for each fork.
        steps : int
            How many decisions a run may make.
        seconds : float
            How long a run may take.
        end : float
            When all of them have to be over.

        Returns
        -------
        answers : list of Answer
            In the order of the alterations.
        control : Trace or None
            The unaltered run, if it ended.

        Raises
        ------
        TimeIsUp
            When they were not over by then; what it knows names the jobs.
        """
        return self.alter(test, alterations, steps=steps, seconds=seconds, end=end)
