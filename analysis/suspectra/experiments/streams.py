"""Streams: the experiments of one kind with one failing test, most suspicious statements first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Protocol

from suspectra.errors import EvidenceError, Problem
from suspectra.experiment import Experiment
from suspectra.experiments.repeated_test import RepeatedTest
from suspectra.experiments.runs import Alteration
from suspectra.experiments.switching import switches

At = Callable[[str, int], float]
"""How suspicious the statement in a file at a line is; 0 where no experiment is to be made."""

_CHUNK = 25  # alterations, after which the others are put in order anew


class StreamMaker(Protocol):
    """Makes the experiments of one kind with a test."""

    def __call__(
        self, test: RepeatedTest, at: At, end: float, known: Collection[tuple[object, ...]]
    ) -> Iterator[Experiment]:
        """Make them until the time is up.

        Parameters
        ----------
        test : RepeatedTest
            A failing test.
        at : callable
            How suspicious statements are; asked again and again, as that changes with what is found.
        end : float
            When to stop, as ``time.monotonic`` has it.
        known : collection
            The keys of experiments that need not be made again.

        Yields
        ------
        Experiment
            As each is made.
        """


def switch_stream(
    test: RepeatedTest, at: At, end: float, known: Collection[tuple[object, ...]]
) -> Iterator[Experiment]:
    """Switch the decisions of a failing test.

    Parameters
    ----------
    test : RepeatedTest
        The test.
    at : callable
        How suspicious statements are.
    end : float
        When to stop, as ``time.monotonic`` has it.
    known : collection
        The keys of experiments that need not be made again.

    Yields
    ------
    Experiment
        As each is made.

    Raises
    ------
    EvidenceError
        When the test makes no decision.
    """
    if not len(test.trace.decisions):
        cause = f"{test.test} makes no decision in code that may be a suspect"
        raise EvidenceError(Problem("", "", cause, "record the tests again, or choose another test"))
    yield from test.experiments(by_suspicion(switches(test.trace), test.test, at), end, known)


def by_suspicion(alterations: Iterable[Alteration], test: str, at: At) -> Iterator[Alteration]:
    """Put alterations in order: the more suspicious the place, and the fewer of it came before, the earlier.

    Parameters
    ----------
    alterations : iterable of Alteration
        Equal ones stay in this order.
    test : str
        The test that they are for.
    at : callable
        How suspicious statements are. Alterations where nothing is suspicious are left out.

    Yields
    ------
    Alteration
        Each once.
    """
    earlier = Counter[tuple[str, int]]()
    left: list[tuple[Alteration, str, int, int]] = []
    for alteration in alterations:
        experiment = alteration.experiment(test)
        place = experiment.file, experiment.line
        earlier[place] += 1
        left.append((alteration, *place, earlier[place]))
    while left:
        left = [entry for entry in left if at(entry[1], entry[2]) > 0]
        left.sort(key=lambda entry: -at(entry[1], entry[2]) / entry[3])
        yield from (alteration for alteration, *_ in left[:_CHUNK])
        left = left[_CHUNK:]


STREAMS: dict[str, StreamMaker] = {"switch": switch_stream}
"""By the kind of experiments, in the order in which they begin."""
