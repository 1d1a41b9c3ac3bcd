"""Streams: the experiments of one kind with one failing test, most suspicious statements first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from suspectra.errors import EvidenceError, Problem
from suspectra.experiment import EVERY_MUTANT, Experiment
from suspectra.experiments.mutants import ENOUGH_BROKEN, MAX_PASSING, Mutants, always, changes, nearest_first, repairs
from suspectra.experiments.repeated_test import RepeatedTest
from suspectra.experiments.repeated_tests import RepeatedTests
from suspectra.experiments.replacing import ValueReplacing
from suspectra.experiments.runs import Alteration
from suspectra.experiments.switching import switches
from suspectra.spectrum import Spectrum

AlterationT = TypeVar("AlterationT", bound=Alteration)

At = Callable[[str, int], float]
"""How suspicious the statement in a file at a line is; 0 where no experiment is to be made."""

_NONE: Mapping[tuple[object, ...], bool] = MappingProxyType({})
_WINDOW = 5_000  # alterations that are put in order together
_CHUNK = 25  # alterations, after which the others are put in order anew


@dataclass(frozen=True)
class Setting:
    """What streams of the tests of a failure group need to know.

    Parameters
    ----------
    at : callable
        How suspicious statements are; asked again and again, as that changes with what is found.
    end : float
        When to stop, as ``time.monotonic`` has it.
    known : mapping of tuple to Experiment
        The experiments that need not be made again, by their keys.
    repaired : mapping of tuple to bool
        The mutants that were tried with failing tests of the group, by the keys of experiments, without the test:
        whether all of these pass.
    tests : RepeatedTests
        All tests, for streams that run passing ones too.
    spectrum : Spectrum
        What each test executes.
    read : callable
        Gives the bytes of a source, None for one that can't be read.
    alone : bool
        Whether there are no streams of other kinds: alterations are tried in the order that is published.
    values_logged : bool
        Whether experiments may contain values of the program.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1]], [True])
    >>> tests = RepeatedTests([], folder, [])
    >>> setting = Setting(lambda file, line: 1.0, 60.0, {}, {}, tests, spectrum, lambda file: None)
    >>> setting.at("cart.py", 8), setting.alone
    (1.0, False)
    """

    at: At
    end: float
    known: Mapping[tuple[object, ...], Experiment]
    repaired: Mapping[tuple[object, ...], bool]
    tests: RepeatedTests
    spectrum: Spectrum
    read: Callable[[str], bytes | None]
    alone: bool = False
    values_logged: bool = True


StreamMaker = Callable[[RepeatedTest, Setting], Iterator[Experiment]]
"""Makes the experiments of one kind with a failing test until the time is up."""


def _switch_stream(test: RepeatedTest, setting: Setting) -> Iterator[Experiment]:
    """Switch the decisions of a failing test.

    Parameters
    ----------
    test : RepeatedTest
        The test.
    setting : Setting
        What else there is to know.

    Yields
    ------
    Experiment
        As each is made.

    Raises
    ------
    EvidenceError
        When the test makes no decision, and there are no streams of other kinds.
    """
    if setting.alone and not len(test.trace.decisions):
        cause = f"{test.test} makes no decision in code that may be a suspect"
        raise EvidenceError(Problem("", "", cause, "record the tests again, or choose another test"))
    order = _in_given_order if setting.alone else by_suspicion
    chosen = switches(test.trace, lambda place: setting.at(place.file, place.line) > 0)
    yield from test.experiments(order(chosen, test.test, setting.at), setting.end, setting.known)


def _mutant_stream(verify: Callable[[Experiment], bool], enough_broken: int = MAX_PASSING) -> StreamMaker:
    """Make streams of mutants, which run with a failing test, and some of them with passing tests too.

    The tests of a failure group share a fault, and its correction makes all of them pass. So a mutant with which
    another test of the group still fails comes after those that may be the correction.

    Parameters
    ----------
    verify : callable
        Whether a mutant runs with passing tests, given what it did to the failing one.
    enough_broken : int
        Of a mutant that breaks so many passing tests, no more are run.

    Returns
    -------
    callable
        Makes the experiments with a failing test.
    """

    def stream(test: RepeatedTest, setting: Setting) -> Iterator[Experiment]:
        mutants = Mutants(setting.spectrum, setting.read, setting.tests, verify, setting.tests.notices, enough_broken)
        mutations = mutants.mutations(test.test, lambda file, line: setting.at(file, line) > 0)
        ordered = by_suspicion(mutations, test.test, setting.at, setting.repaired)
        return mutants.experiments(test, ordered, setting.end, setting.known)

    return stream


def _in_given_order(alterations: Iterable[AlterationT], test: str, at: At) -> Iterator[AlterationT]:
    """Keep the order of alterations.

    Parameters
    ----------
    alterations : iterable of Alteration
        Those of a test.
    test : str
        Its name.
    at : callable
        How suspicious statements are. Alterations where nothing is suspicious are left out.

    Yields
    ------
    Alteration
        Each once.
    """
    for alteration in alterations:
        experiment = alteration.experiment(test)
        if at(experiment.file, experiment.line) > 0:
            yield alteration


def by_suspicion(
    alterations: Iterable[AlterationT], test: str, at: At, repaired: Mapping[tuple[object, ...], bool] = _NONE
) -> Iterator[AlterationT]:
    """Put alterations in order: the more suspicious the place, and the fewer of it came before, the earlier.

    Parameters
    ----------
    alterations : iterable of Alteration
        Equal ones stay in this order. Of very many, the first ones are put in order before the next ones are looked at.
    test : str
        The test that they are for.
    at : callable
        How suspicious statements are. Alterations where nothing is suspicious are left out.
    repaired : mapping of tuple to bool
        By their keys, without the test, alterations that come before all others, since they repair other tests, and
        those that come behind all others, since they don't. It may grow meanwhile.

    Yields
    ------
    Alteration
        Each once.

    Examples
    --------
    >>> from suspectra.experiments.answers import DecisionSite
    >>> from suspectra.experiments.switching import Switch
    >>> lines = (2, 2, 8, 9)
    >>> sites = [DecisionSite("cart.py", number, "if", line, 4, line, False) for number, line in enumerate(lines)]
    >>> several = [Switch(site, instance) for instance, site in enumerate(sites, 1)]
    >>> suspicion = {2: 1.0, 8: 0.7}
    >>> chosen = by_suspicion(several, "test_cart", lambda file, line: suspicion.get(line, 0.0))
    >>> [(one.place.line, one.instance) for one in chosen]
    [(2, 1), (8, 3), (2, 2)]
    >>> repaired = {several[n].experiment("test_tax").key[1:]: n == 2 for n in (0, 2)}
    >>> chosen = by_suspicion(several, "test_cart", lambda file, line: suspicion.get(line, 0.0), repaired)
    >>> [(one.place.line, one.instance) for one in chosen]
    [(8, 3), (2, 2), (2, 1)]
    """
    earlier = Counter[tuple[str, int]]()
    waiting = iter(alterations)
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


def _value_stream(test: RepeatedTest, setting: Setting) -> Iterator[Experiment]:
    """Put other values in the place of those that a failing test assigns.

    Parameters
    ----------
    test : RepeatedTest
        The test.
    setting : Setting
        What else there is to know.

    Yields
    ------
    Experiment
        As each is made.
    """
    made = (one for one in setting.known.values() if one.kind == "value" and one.test == test.test)
    repaired = {(one.file, one.line) for one in made if one.outcome.repairs}
    passing = most_alike(test.test, setting.spectrum)
    replacing = ValueReplacing(test, setting.at, passing, logged=setting.values_logged, repaired=repaired)
    yield from replacing.experiments(setting.end, setting.known)


def most_alike(test: str, spectrum: Spectrum) -> list[str]:
    """Find the passing tests of the module of a test.

    Parameters
    ----------
    test : str
        Its name.
    spectrum : Spectrum
        What each test executes.

    Returns
    -------
    list of str
        Those first that execute most of what the test executes, and little else.

    Examples
    --------
    >>> tests = ["test_cart.py::test_a", "test_cart.py::test_b", "test_cart.py::test_c", "test_tax.py::test_a"]
    >>> matrix = [[1, 1, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0]]
    >>> most_alike(tests[0], Spectrum.from_matrix(matrix, [True, False, False, False], tests=tests))
    ['test_cart.py::test_c', 'test_cart.py::test_b']
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
