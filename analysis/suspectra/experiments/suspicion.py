"""Suspicion: which statements experiments are made at, and how suspicious each is as results come in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import zip_longest

import numpy as np

from suspectra.base.arrays import Bools, Floats, Ints
from suspectra.evidence.evidence import Evidence
from suspectra.experiments.inquiry import SuspicionSource
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.localizer import Localizer
from suspectra.program import Program
from suspectra.program.calls import StatementCalls
from suspectra.report import RankedReport
from suspectra.runs.experiment import Experiment
from suspectra.spectrum import Elements, Spectrum, without_uses
from suspectra.techniques import make_technique
from suspectra.techniques.all_evidence import EvidenceReport
from suspectra.techniques.experiments.investigation import scores
from suspectra.techniques.experiments.repairs import repairs
from suspectra.techniques.technique import own_report

TOP_RANK, MAX_FILES = 20, 3
"""Experiments begin at the statements of these ranks, in the files of the first ones, and in functions they call."""

_LATER = 1e-6
"""How much suspicion counts at all other statements: what is found at the first ones comes as early without them."""

ONE_RUN_S = 0.05
"""About what each run takes besides the test: which of two tests is quicker hardly matters below this."""


class Suspicion(SuspicionSource):
    """How suspicious statements are, for the tests of each failure group.

    Raises NothingToRank when the evidence gives no ranking.
    """

    def __init__(self, evidence: Evidence, *, everywhere: bool = False):
        localizer = Localizer(make_technique("evidence"))
        localizer.update(evidence)
        ranked = localizer.groups().groups
        self._source_of = evidence.program.source_of if evidence.program is not None else None
        self._seconds = {test.name: test.seconds for test in evidence.tests}
        self._elements, self._at_import = evidence.elements, evidence.at_import
        self._made = evidence.experiments
        self._failing = {test.name: test for test in evidence.failing}
        self._stacks = evidence.stacks
        self._digests = {file.path: file.digest for file in evidence.files}
        self.groups = tuple(group.group.tests for group in ranked)  # the failing tests of each failure group, by name
        self._groups = [
            _Group(own_report(group.report, EvidenceReport), evidence.program, self._made, everywhere=everywhere)
            for group in ranked
        ]

    def in_turn(self, tests: Iterable[str]) -> list[str]:
        """Put failing tests in order: the first of each failure group, then the second of each, and so on.

        In a group those come first that execute few statements and take little time, by the product of both: there is
        least to be at fault, and most runs can be made.
        """
        wanted = set(tests)
        groups = [
            sorted((test for test in tests if test in wanted), key=partial(self._cost, group))
            for tests, group in zip(self.groups, self._groups, strict=True)
        ]
        return [test for turn in zip_longest(*groups) for test in turn if test is not None]

    def _cost(self, group: _Group, test: str) -> float:
        """What it costs to alter all that a test executes, about."""
        # a slow test that executes little would take half of the time of an investigation
        return group.statements_of(test) * max(self.seconds(test), ONE_RUN_S)

    def failing_with(self, test: str) -> list[FailingTest]:
        """The other failing tests of the failure group that a test is in, which execute a candidate."""
        group = self.group_of(test)
        others = [name for name in self.groups[group] if name != test and name in self._failing]
        return [FailingTest.recorded(self._failing[name], self._stacks) for name in others if self.reaches(group, name)]

    def needed(self, group: int) -> dict[tuple[str, int], list[str]]:
        """Values with which all failing tests of a group pass, as text, by the file and line that assigns them."""
        passing: dict[tuple[str, int, str], set[str]] = defaultdict(set)
        for one in self._made:
            if one.kind == "value" and one.outcome.repairs and one.detail:
                passing[one.file, one.line, one.detail].add(one.test)
        found: dict[tuple[str, int], list[str]] = defaultdict(list)
        for (file, line, text), tests in passing.items():
            if tests.issuperset(self.groups[group]):
                found[file, line].append(text)
        return found

    def lines_at_import(self, file: str) -> frozenset[int]:
        """The statements of a file that run outside of tests, mostly while modules are imported."""
        part = self._elements.in_file(file)
        inside = self._at_import[(self._at_import >= part.start) & (self._at_import < part.stop)]
        return frozenset(self._elements.line[inside].tolist())

    def seconds(self, test: str) -> float:
        """How long a test took when it was recorded."""
        return self._seconds.get(test, 0.0)

    def at(self, group: int, file: str, line: int) -> float:
        """How suspicious a statement is: those of all statements of a group sum to 1."""
        return self._groups[group].at(file, line)

    def turn(self, group: int, file: str, line: int) -> int:
        """When it is a statement's turn: the first suspects, then function by function, in the order of suspicion."""
        return self._groups[group].turn(file, line)

    def spectrum(self, group: int) -> Spectrum:
        """What the tests of a group, and all passing tests, execute."""
        return without_uses(self._groups[group].base.spectrum)

    @property
    def files(self) -> frozenset[str]:
        """The files that failing tests execute."""
        found: set[str] = set()
        for group in self._groups:
            spectrum = without_uses(group.base.spectrum)
            executed = np.unique(spectrum.elements.file[spectrum.counts.ef > 0]).tolist()
            found.update(spectrum.elements.files[file] for file in executed)
        return frozenset(found)

    @property
    def digests(self) -> Mapping[str, str | None]:
        """The digests that the sources had that failing tests execute, when these were recorded, by path."""
        return {file: self._digests.get(file) for file in self.files}

    def read(self, file: str) -> bytes | None:
        """The source of a file, as it was recorded."""
        return self._source_of(file) if self._source_of is not None else None

    def update(self, made: Sequence[Experiment]) -> None:
        """Rank each group again with all results."""
        for group in self._groups:
            group.update(made)


class _Group:
    """The statements of one failure group."""

    def __init__(self, base: EvidenceReport, program: Program | None, made: Iterable[Experiment], *, everywhere: bool):
        self.base = base
        executed = without_uses(base.spectrum)  # a definition has been evaluated before a test can be altered
        self._chosen = executed.candidates & (executed.counts.ef > 0)
        self._turn: Ints = np.zeros(len(self._chosen), np.int64)
        if not everywhere:
            top = top_suspects(base)
            first = np.zeros(len(self._chosen), bool)
            first[top] = first[called_by(top, base, program)] = True
            self._turn = function_turns(executed.elements, scores(base, {}), self._chosen & ~first)
        self._repaired: frozenset[int] = frozenset()
        self._element: dict[tuple[str, int], int | None] = {}
        self.update(made)

    def update(self, made: Iterable[Experiment]) -> None:
        found = repairs(made, self.base.spectrum)
        weight = np.where(self._chosen, scores(self.base, found), 0.0)
        self._repaired = frozenset(found)  # all tests are tried with these soon
        later = self._turn > 0
        later[list(found)] = False
        weight[later] = _LATER * (weight[later] + weight.max(initial=0.0)) / self._turn[later]
        self._weight = weight / max(float(weight.sum()), 1e-300)

    def turn(self, file: str, line: int) -> int:
        """0 for the first suspects, and for what has repaired a test."""
        element = self._element_at(file, line)
        return 0 if element is None or element in self._repaired else int(self._turn[element])

    def statements_of(self, test: str) -> int:
        """How many statements a test executes."""
        return len(self.base.spectrum.rows[self.base.spectrum.test_index[test]])

    def at(self, file: str, line: int) -> float:
        element = self._element_at(file, line)
        return float(self._weight[element]) if element is not None else 0.0

    def _element_at(self, file: str, line: int) -> int | None:
        place = file, line
        if place not in self._element:
            self._element[place] = self.base.spectrum.elements.at(file, line)
        return self._element[place]


def function_turns(elements: Elements, suspicion: Floats, later: Bools) -> Ints:
    """When it is the turn of each element: 0 for those that are not for later, and else the rank of its function.

    Of shape (elements,). A function is as suspicious as the first of its statements.
    """
    turns: Ints = np.zeros(len(elements), np.int64)
    functions, number = np.unique(
        np.column_stack([elements.file[later], elements.function[later]]), axis=0, return_inverse=True
    )
    best = np.zeros(len(functions))
    np.maximum.at(best, number.reshape(-1), suspicion[later])
    rank: Ints = np.empty(len(functions), np.int64)
    rank[np.argsort(-best, kind="stable")] = np.arange(1, len(functions) + 1)
    turns[later] = rank[number.reshape(-1)]
    return turns


def top_suspects(report: RankedReport) -> Ints:
    """The first suspects of a ranking, in few files.

    Of shape (k,). Elements that failing tests execute, of ranks up to `TOP_RANK`, in the first `MAX_FILES` files of the
    ranking.
    """
    spectrum = report.spectrum
    sizes = np.bincount(report.level[report.level >= 0], minlength=len(report.level_score))
    best = np.concatenate([[1], 1 + np.cumsum(sizes)[:-1]])
    chosen = np.flatnonzero((report.level >= 0) & (without_uses(spectrum).counts.ef > 0))
    chosen = chosen[best[report.level[chosen]] <= TOP_RANK]
    chosen = chosen[np.argsort(report.level[chosen], kind="stable")]
    files = list(dict.fromkeys(spectrum.elements.file[chosen].tolist()))[:MAX_FILES]
    return np.asarray(chosen[np.isin(spectrum.elements.file[chosen], files)], np.int64)


def called_by(callers: Ints, report: RankedReport, program: Program | None) -> Ints:
    """The statements that failing tests execute in functions that some statements call.

    Of shape (m,).
    """
    spectrum = report.spectrum
    # only the files of suspects: to read all took seconds before the first experiment
    files = [spectrum.elements.files[file] for file in np.unique(spectrum.elements.file[callers]).tolist()]
    pairs = StatementCalls.from_program(spectrum, program, files=files).pairs
    first = pairs[np.isin(pairs[:, 0], callers), 1]
    functions = np.unique(spectrum.elements.function[first])
    inside = np.isin(spectrum.elements.function, functions[functions >= 0])
    return np.flatnonzero(inside & spectrum.candidates & (spectrum.counts.ef > 0))
