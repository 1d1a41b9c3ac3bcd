"""Streams: the experiments of one kind with one failing test, most suspicious statements first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from suspectra.base.errors import EvidenceError, Problem
from suspectra.experiments.alterations.mutants import (
    ENOUGH_BROKEN,
    MAX_PASSING,
    Mutants,
    Mutation,
    always,
    changes,
    nearest_first,
    repairs,
)
from suspectra.experiments.alterations.replacing import ValueReplacing
from suspectra.experiments.alterations.switching import switches
from suspectra.experiments.altered_runs import Alteration
from suspectra.experiments.repeated_test import RepeatedTest
from suspectra.experiments.repeated_tests import RepeatedTests
from suspectra.runs.experiment import EVERY_MUTANT, Experiment
from suspectra.spectrum import Spectrum

AlterationT = TypeVar("AlterationT", bound=Alteration)

At = Callable[[str, int], float]
"""How suspicious the statement in a file at a line is; 0 where no experiment is to be made."""

_NONE: Mapping[tuple[object, ...], bool] = MappingProxyType({})
_WINDOW = 5_000  # alterations that are put in order together
_CHUNK = 25  # alterations, after which the others are put in order anew


@dataclass(frozen=True)
class StreamSetting:
    """What streams of the tests of a failure group need to know."""

    at: At  # how suspicious statements are; asked again and again, as that changes with what is found
    turn: Callable[[str, int], int]  # when it is a statement's turn; that changes, too
    end: float  # when to stop, as `time.monotonic` has it
    known: Mapping[tuple[object, ...], Experiment]  # the experiments that need not be made again, by their keys
    # the mutants that were tried with failing tests of the group, by the keys of experiments, without the test: whether
    # all of these pass
    repaired: Mapping[tuple[object, ...], bool]
    tests: RepeatedTests  # all tests, for streams that run passing ones too
    spectrum: Spectrum  # what each test executes
    read: Callable[[str], bytes | None]  # gives the bytes of a source, None for one that can't be read
    # whether there are no streams of other kinds: alterations are tried in the order that is published
    alone: bool = False
    values_logged: bool = True  # whether experiments may contain values of the program


StreamMaker = Callable[[RepeatedTest, StreamSetting], Iterator[Experiment]]
"""Makes the experiments of one kind with a failing test until the time is up."""


def _switch_stream(test: RepeatedTest, setting: StreamSetting) -> Iterator[Experiment]:
    """Switch the decisions of a failing test.

    Raises EvidenceError when the test makes no decision, and there are no streams of other kinds.
    """
    if setting.alone and not len(test.trace.decisions):
        cause = f"{test.test} makes no decision in code that may be a suspect"
        raise EvidenceError(Problem("", "", cause, "record the tests again, or choose another test"))
    order = _in_given_order if setting.alone else by_suspicion
    places = {place for place in test.trace.places if setting.at(place.file, place.line) > 0}
    first = {place for place in places if setting.turn(place.file, place.line) == 0}
    for wanted in (first, places - first):
        chosen = switches(test.trace, wanted.__contains__)
        yield from test.experiments(order(chosen, test.test, setting.at), setting.end, setting.known)
        if not test.complete:
            return


def _mutant_stream(verify: Callable[[Experiment], bool], enough_broken: int = MAX_PASSING) -> StreamMaker:
    """Make streams of mutants, which run with a failing test, and some of them with passing tests too.

    The tests of a failure group share a fault, and its correction makes all of them pass. So a mutant with which
    another test of the group still fails comes after those that may be the correction.
    """

    def stream(test: RepeatedTest, setting: StreamSetting) -> Iterator[Experiment]:
        mutants = Mutants(setting.spectrum, setting.read, setting.tests, verify, setting.tests.notices, enough_broken)

        def ordered(places: Collection[tuple[str, int]]) -> Iterator[Mutation]:
            mutations = mutants.mutations(test.test, lambda file, line: (file, line) in places)
            return by_suspicion(mutations, test.test, setting.at, setting.repaired)

        in_turn = chain.from_iterable(map(ordered, _in_turn(test.test, setting)))
        return mutants.experiments(test, in_turn, setting.end, setting.known)

    return stream


def _in_turn(test: str, setting: StreamSetting) -> Iterator[Collection[tuple[str, int]]]:
    """The statements that a test executes, those together whose turn it is."""
    elements, executed = setting.spectrum.elements, setting.spectrum.rows[setting.spectrum.test_index[test]]
    numbers, lines = elements.file[executed].tolist(), elements.line[executed].tolist()
    every = ((elements.files[number], line) for number, line in zip(numbers, lines, strict=True))
    left = {place for place in every if setting.at(*place) > 0}
    while left:
        turn = {place: setting.turn(*place) for place in left}
        first = min(turn.values())
        now = {place for place in left if turn[place] == first}
        left -= now
        yield now


def _in_given_order(alterations: Iterable[AlterationT], test: str, at: At) -> Iterator[AlterationT]:
    """Keep the order of alterations."""
    for alteration in alterations:
        experiment = alteration.experiment(test)
        if at(experiment.file, experiment.line) > 0:
            yield alteration


def by_suspicion(
    alterations: Iterable[AlterationT], test: str, at: At, repaired: Mapping[tuple[object, ...], bool] = _NONE
) -> Iterator[AlterationT]:
    """Put alterations in order: the more suspicious the place, and the fewer of it came before, the earlier."""
    earlier = Counter[tuple[str, int]]()
    waiting = iter(alterations)
    # a test may make millions of decisions, of which a few hundred get a turn
    while window := list(islice(waiting, _WINDOW)):
        left: list[tuple[AlterationT, str, int, int, tuple[object, ...]]] = []
        for alteration in window:
            experiment = alteration.experiment(test)
            place = experiment.file, experiment.line
            earlier[place] += 1
            left.append((alteration, *place, earlier[place], experiment.key[1:]))
        while left:
            left = [entry for entry in left if at(entry[1], entry[2]) > 0]
            left.sort(key=lambda entry: (_turn(repaired.get(entry[4])), -at(entry[1], entry[2]) / entry[3]))
            yield from (alteration for alteration, *_ in left[:_CHUNK])
            left = left[_CHUNK:]


def _turn(repaired: bool | None) -> int:
    return 1 if repaired is None else 0 if repaired else 2


def _value_stream(test: RepeatedTest, setting: StreamSetting) -> Iterator[Experiment]:
    """Put other values in the place of those that a failing test assigns."""
    made = (one for one in setting.known.values() if one.kind == "value" and one.test == test.test)
    repaired = {(one.file, one.line) for one in made if one.outcome.repairs}
    passing = most_alike(test.test, setting.spectrum)
    replacing = ValueReplacing(test, setting.at, setting.turn, passing, logged=setting.values_logged, repaired=repaired)
    yield from replacing.experiments(setting.end, setting.known)


def most_alike(test: str, spectrum: Spectrum) -> list[str]:
    """Find the passing tests of the module of a test.

    Those first that execute most of what the test executes, and little else.
    """
    executed = np.zeros(len(spectrum.elements), bool)
    executed[spectrum.rows[spectrum.test_index[test]]] = True
    module = test.partition("::")[0]
    names = (spectrum.tests[row] for row in nearest_first(spectrum, executed))
    return [name for name in names if name.partition("::")[0] == module]


STREAMS: dict[str, StreamMaker] = {
    "mutant": _mutant_stream(repairs, ENOUGH_BROKEN),  # lazy MUSE
    "switch": _switch_stream,
    "value": _value_stream,
    "changing mutant": _mutant_stream(changes),  # Metallaxis
    EVERY_MUTANT: _mutant_stream(always),  # MUSE as published
}
"""By the kind of experiments, in the order in which they begin."""

RUNS = {"changing mutant": "mutant", EVERY_MUTANT: "mutant"}
"""The kind of runs, where it is not that of the experiments."""
