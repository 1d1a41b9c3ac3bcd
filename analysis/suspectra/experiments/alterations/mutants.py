"""Mutants: what failing tests execute is changed a little, one change at a time.

Each mutant is tried with a failing test. Passing tests that execute what it changes are run only where that matters:
where the mutant repairs the test, or, for techniques that count that too, where it changes how the test fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from types import MappingProxyType

import numpy as np

from suspectra.base.arrays import Bools
from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.newer_syntax import newer_syntax
from suspectra.experiments.altered_runs import Alteration
from suspectra.experiments.repeated_test import RepeatedTest
from suspectra.experiments.repeated_tests import RepeatedTests
from suspectra.mutation.excerpt import excerpt
from suspectra.mutation.mutant import Mutant, mutants
from suspectra.mutation.operators import OPERATORS
from suspectra.mutation.parsed_source import ParsedSource
from suspectra.runs.experiment import EVERY, Experiment
from suspectra.spectrum import Spectrum
from suspectra_recorder.experiments.messages import RunRequest

MAX_PASSING = 50
"""Passing tests that a mutant is tried with: those that are nearest to failing tests."""

ENOUGH_BROKEN = 5
"""Passing tests that a mutant breaks, after which no others are run with it: more would hardly change its rank."""

CHUNK = 50
"""Mutants that a failing test is run with, before passing tests are."""

_PRIORITY = {name: number for number, name in enumerate(OPERATORS)}
Known = Mapping[tuple[object, ...], Experiment]
_NONE: Known = MappingProxyType({})

_UNPARSABLE = (SyntaxError, ValueError, RecursionError)


@dataclass(frozen=True, eq=False)
class Mutation(Alteration):
    """A run of a mutant."""

    file: str  # what is mutated, relative to the workspace
    source: ParsedSource  # the file
    mutant: Mutant  # the change

    def to_json(self) -> RunRequest:
        """How a machine is asked for it."""
        made = excerpt(self.source, self.mutant)
        text, functions = made if made is not None else ("", ())
        return {"kind": "mutant", "file": self.file, "source": text, "functions": list(functions)}

    def experiment(self, test: str) -> Experiment:
        """The experiment that this is with a test."""
        edit = self.mutant.edit
        return Experiment(
            test,
            "mutant",
            self.file,
            edit.line,
            edit.end_line,
            edit.column,
            self.mutant.operator,
            EVERY,
            "mutated",
            guard=self.mutant.guard,
            detail=self.mutant.description,
            end_column=edit.end_column,
            replacement=edit.text,
        )


def repairs(experiment: Experiment) -> bool:
    """Whether a failing test passes, which is when lazy MUSE asks what the mutant breaks.

    False where it still fails, in whatever way.
    """
    return experiment.outcome.repairs


def changes(experiment: Experiment) -> bool:
    """Whether a failing test passes or fails in another way, which is when Metallaxis asks what the mutant breaks."""
    return experiment.outcome.repairs or experiment.changed


def always(experiment: Experiment) -> bool:
    """For MUSE as published, which counts what every mutant breaks.

    False where the mutant could not be put into the program.
    """
    return not experiment.outcome.says_nothing


@dataclass
class Mutants:
    """Makes experiments with mutants."""

    spectrum: Spectrum  # which tests execute what, and how they end
    # gives the bytes of a source file of the workspace, None for one that can't be read
    read: Callable[[str], bytes | None]
    tests: RepeatedTests  # the failing and the passing tests
    # given an experiment with a failing test, whether the mutant is tried with passing tests too
    verify: Callable[[Experiment], bool] = repairs
    problems: list[Problem] = field(default_factory=list)  # what could not be mutated is added here
    enough_broken: int = ENOUGH_BROKEN  # a mutant that breaks so many passing tests is not tried with others

    def __post_init__(self) -> None:
        self._nearest: list[int] | None = None

    def experiments(
        self, test: RepeatedTest, mutations: Iterable[Mutation], end: float, known: Known = _NONE
    ) -> Iterator[Experiment]:
        """Try mutants with a failing test, and with passing tests as far as that is wanted.

        Raises TimeIsUp when there is too little time for the unaltered runs of a passing test.
        """
        waiting = iter(mutations)
        while chunk := list(islice(waiting, CHUNK)):
            of_key = {one.experiment(test.test).key: one for one in chunk}
            tried = [known[key] for key in of_key if key in known]
            for experiment in test.experiments(chunk, end, known):
                tried.append(experiment)
                yield experiment
            complete = test.complete
            yield from self._passing([of_key[one.key] for one in tried if self.verify(one)], end, known)
            if not complete:
                return

    def _passing(self, mutations: Sequence[Mutation], end: float, known: Known) -> Iterator[Experiment]:
        """Try mutants with the passing tests that execute what they change."""
        broken: Counter[Mutation] = Counter()
        by_test: dict[str, list[Mutation]] = {}
        for mutation in mutations:
            for name in self._passing_tests(mutation.file, mutation.mutant.edit.line):
                if (earlier := known.get(mutation.experiment(name).key)) is None:
                    by_test.setdefault(name, []).append(mutation)
                else:
                    broken[mutation] += not earlier.outcome.repairs
        for name, several in by_test.items():
            try:
                test = self.tests.before(end, name)
            except EvidenceError:
                continue  # a notice of the tests says why
            left = {one.experiment(name).key: one for one in several if broken[one] < self.enough_broken}
            for experiment in test.experiments(left.values(), end):
                broken[left[experiment.key]] += not experiment.outcome.repairs
                yield experiment
            if not test.complete:
                return

    def mutations(self, test: str, wanted: Callable[[str, int], bool] = lambda file, line: True) -> list[Mutation]:
        """The mutants of statements that a test executes.

        By file and line; those of a line in the order of the mutation operators.
        """
        elements = self.spectrum.elements
        executed = self.spectrum.rows[self.spectrum.test_index[test]]
        executed = executed[self.spectrum.candidates[executed]]
        found: list[Mutation] = []
        for number in np.unique(elements.file[executed]).tolist():
            file = elements.files[number]
            own = executed[elements.file[executed] == number]
            own = own[[wanted(file, line) for line in elements.line[own].tolist()]]
            lines = {
                line
                for first, last in zip(elements.line[own].tolist(), elements.end_line[own].tolist(), strict=True)
                for line in range(first, last + 1)
            }
            if lines and (mutated := self._mutated(file)) is not None:
                source, made = mutated
                found += [Mutation(file, source, one) for one in made if one.edit.line in lines]
            if (elements.function[own] < 0).any():
                cause = "code that runs while it is imported was not mutated: it has run before the tests"
                self._report(Problem(file, "", cause, "move what may be at fault into a function"))
        return found

    def _passing_tests(self, file: str, line: int) -> list[str]:
        """The passing tests that a mutant is tried with.

        Those that execute the statement, at most `MAX_PASSING`: first those whose machine has started, and among them
        those that execute most of what failing tests execute.
        """
        element = self.spectrum.elements.at(file, line)
        if element is None:
            return []
        if self._nearest is None:
            self._nearest = nearest_first(self.spectrum, self.spectrum.counts.ef > 0)
        executing = set(self.spectrum.tests_executing(element).tolist())
        names = [self.spectrum.tests[row] for row in self._nearest if row in executing]
        return sorted(names, key=lambda name: not self.tests.runs(name))[:MAX_PASSING]

    def _mutated(self, file: str) -> tuple[ParsedSource, Sequence[Mutant]] | None:
        source = self.read(file)
        try:
            return None if source is None else _all_mutants(source)
        except RecursionError:
            self._report(
                Problem(file, "", "it can't be mutated: it is nested too deeply", "split its longest expressions")
            )
            return None
        except _UNPARSABLE as error:
            problem = Problem(file, "", f"it can't be mutated: {error}", "check its encoding")
            self._report(newer_syntax(file, "it can't be mutated") if isinstance(error, SyntaxError) else problem)
            return None

    def _report(self, problem: Problem) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


@lru_cache(maxsize=32)  # files; tests of a project execute the same ones
def _all_mutants(source: bytes) -> tuple[ParsedSource, Sequence[Mutant]]:
    """A source with its mutants by line, those of a line in the order of the operators."""
    parsed = ParsedSource(source)
    return parsed, sorted(mutants(parsed), key=lambda one: (one.edit.line, _PRIORITY[one.operator], one.edit))


def nearest_first(spectrum: Spectrum, executed: Bools) -> list[int]:
    """Put passing tests in order: first those that execute most of some statements, and least of anything else.

    Each statement weighs 1 / (1 + the number of passing tests that execute it), since what most tests execute says
    little.
    """
    weight = 1 / (1 + spectrum.counts.ep)
    wanted = np.where(executed, weight, 0)
    total = float(wanted.sum())
    likeness: dict[int, float] = {}
    for number, row in enumerate(spectrum.rows):
        if not spectrum.failed[number]:
            shared = float(wanted[row].sum())
            likeness[number] = shared / (total + float(weight[row].sum()) - shared or 1)
    return sorted(likeness, key=lambda number: (-likeness[number], number))
