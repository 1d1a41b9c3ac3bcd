"""A tie: suspects that the tests leave equal, and what would tell them apart."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.distinctions.executions import Executions, Pair
from suspectra.distinctions.function_flow import FunctionFlows
from suspectra.distinctions.steps import DirectCall, MissingOutcome, NearestTest, SameCoverage, Step, gain
from suspectra.program import Program
from suspectra.program.languages import is_python_or_cython
from suspectra.program.sources_as_run import SourcesAsRun
from suspectra.program.statements import statements
from suspectra.report import RankedReport
from suspectra.spectrum import EdgeKind, Elements, Spectrum, is_only_read, without_uses

_SHOWN = 2  # of each kind of step
_FUNCTIONS = 30  # of a tie, whose decisions are looked at


@dataclass(frozen=True, eq=False)
class Tie:
    """Suspects with the same score: more may be known of them, but the tests leave them equal."""

    report: RankedReport  # the ranking
    members: Ints  # their elements, ascending; a failing test executes each, or reads what it defines; shape (k,)
    # the ranks that they take
    rank_best: int
    rank_worst: int

    @cached_property
    def executed(self) -> Ints:
        """The members that tests execute, without those of which they only read what is defined; shape (k,)."""
        spectrum = self.report.spectrum
        return np.array([one for one in self.members.tolist() if not is_only_read(spectrum, one)], np.int64)

    @classmethod
    def first(cls, report: RankedReport) -> Tie:
        """The first tie of several suspects; the first suspect alone where there is none."""
        suspected = np.flatnonzero((report.level >= 0) & (report.spectrum.counts.ef > 0))
        number = report.ties_of(suspected)
        size = np.bincount(number)
        several = np.flatnonzero(size > 1)
        wanted = int(several[0]) if len(several) else int(number.min())
        return cls.from_report(report, int(suspected[np.argmax(number == wanted)]))

    @classmethod
    def from_report(cls, report: RankedReport, element: int) -> Tie:
        """The tie that a suspect is in, which may be of one.

        Raises ValueError when the element is not a suspect.
        """
        level, suspected = report.level, report.spectrum.counts.ef > 0
        if level[element] < 0 or not suspected[element]:
            raise ValueError(f"element {element} is not a suspect")
        ties = report.tie_of_level
        own = np.flatnonzero(ties == ties[level[element]])
        among = (level >= own[0]) & (level <= own[-1])
        before = int(np.count_nonzero((level >= 0) & (level < own[0])))
        members = np.flatnonzero(among & suspected)
        return cls(report, members, before + 1, before + int(np.count_nonzero(among)))

    @property
    def bits(self) -> float:
        """What is missing to know which member it is, if each is as likely: log2 of their number."""
        return math.log2(len(self.members))


@dataclass(frozen=True, eq=False)
class TieAdvice:
    """What would tell the members of a tie apart."""

    tie: Tie
    agreeing: bool  # whether every test executes all of the members or none
    partial: tuple[int, ...]  # some tests that execute some members and not others: row numbers
    steps: tuple[Step, ...]  # those of the same coverage first, then what tells most; the most similar test comes last

    @classmethod
    def for_tie(cls, tie: Tie, program: Program | None = None) -> TieAdvice:
        """Look for what would tell the members apart.

        Without steps where nothing was found.
        """
        spectrum, members = tie.report.spectrum, tie.members
        executions = Executions(without_uses(spectrum))
        count = executions.count(tie.executed)
        failing = np.flatnonzero(spectrum.failed & (count > 0))
        passing = np.flatnonzero(~spectrum.failed & (count > 0))
        partial = np.flatnonzero((count > 0) & (count < len(tie.executed)))
        steps: list[Step] = [SameCoverage(pair) for pair in executions.same_coverage(failing, passing, _SHOWN)]
        if len(members) > 1:
            telling: list[Step] = [*_missing_outcomes(tie, program)[:_SHOWN], *_direct_calls(tie, program)[:_SHOWN]]
            steps += sorted(telling, key=lambda step: -(step.gain or 0.0))
        if not any(isinstance(step, SameCoverage) for step in steps):
            every = passing if len(passing) else np.flatnonzero(~spectrum.failed)
            steps += [_parting(pair, tie) for pair in executions.most_alike(failing, every, 1)]
        return cls(tie, not len(partial), tuple(partial[:_SHOWN].tolist()), tuple(steps))

    @cached_property
    def best(self) -> Step | None:
        """The step to take first; None where there is none."""
        return self.steps[0] if self.steps else None


def _missing_outcomes(tie: Tie, program: Program | None) -> list[MissingOutcome]:
    """Ways on from members that no test takes, those that tell most first."""
    spectrum, members = tie.report.spectrum, set(tie.members.tolist())
    edges = spectrum.edges
    if edges is None:
        return []
    if edges.kind is EdgeKind.OUTCOME:
        return _unread_outcomes(tie)
    counts = spectrum.edge_hit_counts
    flows, found = FunctionFlows(spectrum, program), []
    for element in _one_of_each_function(tie):
        flow = flows.for_element(element)
        if flow is None:
            continue
        own = [e for node in flow.elements for e in node if e in members]
        for way in flow.ways:
            decision = flow.elements[way.source][-1] if flow.elements[way.source] else -1
            taken = way.column >= 0 and counts.ef[way.column] + counts.ep[way.column] > 0
            if decision not in members or taken or not way.recorded:
                continue
            certain = flow.certain(way) & members
            if bits := gain(len(certain), len(members)):
                avoided = tuple(sorted({e for e in own if e not in certain}))
                found.append(MissingOutcome(decision, way.line, len(certain), avoided, bits))
    return sorted(set(found), key=lambda step: (-(step.gain or 0.0), step.element, step.line or 0))


def _unread_outcomes(tie: Tie) -> list[MissingOutcome]:
    """Outcomes that no test has, where the evidence does not say where they lead."""
    spectrum = tie.report.spectrum
    edges, counts = spectrum.edges, spectrum.edge_hit_counts
    assert edges is not None
    missing = np.flatnonzero((counts.ef + counts.ep == 0) & np.isin(edges.source, spectrum.elements.line[tie.members]))
    at = spectrum.elements.starting(edges.file[missing], edges.source[missing])
    own = np.unique(at[np.isin(at, tie.members)])
    return [MissingOutcome(element, None, 0, (), None) for element in own.tolist()]


def _one_of_each_function(tie: Tie) -> list[int]:
    """The first member in each function, those with most members first."""
    function = tie.report.spectrum.elements.function[tie.members]
    file = tie.report.spectrum.elements.file[tie.members]
    _, first, size = np.unique(np.stack([file, function]), axis=1, return_index=True, return_counts=True)
    order = np.argsort(-size, kind="stable")[:_FUNCTIONS]
    return [int(member) for member in tie.members[first[order]]]


def _direct_calls(tie: Tie, program: Program | None) -> list[DirectCall]:
    """Functions that contain some of the members; those that name another one of them are left out if possible."""
    spectrum, members = tie.report.spectrum, tie.executed
    source_of = SourcesAsRun.for_program(program)
    function_of = _functions(spectrum, program, source_of)[members]
    size = Counter(function_of.tolist())
    first = dict(zip(function_of[::-1].tolist(), members[::-1].tolist(), strict=True))
    if len(size) < 2 or len(size) > _FUNCTIONS:
        return []
    names = {function: spectrum.elements.function_name(first[function]) for function in size}
    inside = [function for function in size if _can_be_called(spectrum.elements, first[function])]
    inner = [one for one in inside if not _names_others(members[function_of == one], one, names, spectrum, source_of)]
    steps = [
        DirectCall(first[function], size[function], len(members), gain(size[function], len(members)))
        for function in inner or inside
    ]
    return sorted(steps, key=lambda step: (-step.gain, -step.members, step.element))


def _functions(spectrum: Spectrum, program: Program | None, source_of: SourcesAsRun) -> Ints:
    """The number of each statement's function; edges tell it where the evidence does not name functions."""
    graphs = program.graphs if program is not None else ()
    return statements(spectrum.elements, spectrum.edges, graphs, source_of).function


def _can_be_called(elements: Elements, element: int) -> bool:
    """Whether a test can call the function of a statement by its name, as far as functions are known.

    Code outside of functions can't be called, and neither can lambdas, functions inside of others, and a program's main
    function.
    """
    if not elements.functions:
        return True
    if (index := int(elements.function[element])) < 0:
        return False
    function = elements.functions[index]
    path = elements.files[function.file]
    if not is_python_or_cython(path):
        return function.name != "main" and "{lambda" not in function.name
    definition = elements.at(path, function.line)
    return definition is None or int(elements.function[definition]) in (-1, index)


def _names_others(own: Ints, function: int, names: dict[int, str], spectrum: Spectrum, source_of: SourcesAsRun) -> bool:
    """Whether members in a function name another function of the tie, and so probably call it."""
    elements = spectrum.elements
    source = source_of(elements.files[int(elements.file[own[0]])])
    if source is None:
        return False
    lines = source.decode("utf-8", "replace").splitlines()
    spans = zip(elements.line[own].tolist(), elements.end_line[own].tolist(), strict=True)
    text = "\n".join(line for first, last in spans for line in lines[first - 1 : last])
    others = {re.split(r"\.|::", name)[-1] for one, name in names.items() if one != function and name}
    return any(re.search(rf"\b{re.escape(name)}\b", text) for name in others)


def _parting(pair: Pair, tie: Tie) -> NearestTest:
    """Where a passing test parts from a failing one."""
    spectrum, failing, passing = tie.report.spectrum, pair.failing, pair.passing
    level, elements = tie.report.level, spectrum.elements
    edges = spectrum.edges
    if edges is not None and spectrum.edge_rows is not None and edges.kind is EdgeKind.ARC:
        only = np.setdiff1d(spectrum.edge_rows[failing], spectrum.edge_rows[passing], assume_unique=True)
        only = only[(edges.source[only] > 0) & (edges.target[only] > 0) & ~edges.is_outcome[only]]
        source = elements.starting(edges.file[only], edges.source[only])
        both = np.isin(source, spectrum.rows[passing]) & (source >= 0)
        source, only = source[both], only[both]
        ranked = level[source] >= 0
        if ranked.any():
            best = int(np.flatnonzero(ranked)[np.argmin(level[source[ranked]])])
            return NearestTest(pair, int(source[best]), int(edges.target[only[best]]))
    rest = np.setdiff1d(spectrum.rows[failing], spectrum.rows[passing], assume_unique=True)
    rest = rest[level[rest] >= 0]
    return NearestTest(pair, int(rest[np.argmin(level[rest])]) if len(rest) else -1, None)


def advise(report: RankedReport, program: Program | None = None, element: int | None = None) -> TieAdvice:
    """What would tell the suspects of a tie apart."""
    return TieAdvice.for_tie(Tie.first(report) if element is None else Tie.from_report(report, element), program)
