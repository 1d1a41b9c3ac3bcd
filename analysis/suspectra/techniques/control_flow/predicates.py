"""Predicates: the outcomes of decisions, and how often runs evaluate them. CBI and SOBER rank by them.

A predicate is an edge out of a block that control can leave in more than one way. It is evaluated whenever the block
is left, and true when it is left along that edge. Where the evidence has outcomes of conditions inside expressions,
each outcome is a predicate too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from suspectra.base.arrays import FloatMatrix, Floats, Ints, Row, ranges
from suspectra.base.errors import Problem
from suspectra.program.control_flow import ControlFlow
from suspectra.program.python.graphs import UNDECIDED
from suspectra.report import RankedReport
from suspectra.spectrum import FIRST_OUTCOME, Edges, Spectrum, Tally, batches
from suspectra.techniques.catalogue import SOBER as SOBER_INFO
from suspectra.techniques.control_flow.flow_report import (
    FlowReport,
    by_distance,
    require_counts,
    where,
)
from suspectra.techniques.formulas import in_words
from suspectra.techniques.technique import Technique, headline

TOP = 5
"""From how many predicates a reader starts when none is at the fault (Liu et al. 2006; paper 000, §5.1.3)."""


@dataclass(frozen=True, eq=False)
class Predicates:
    """The predicates of a program: first the edges out of blocks that decide, then the outcomes of conditions."""

    flow: ControlFlow  # the flow graphs of the program
    at: Ints  # the flow's edge of each of the first d predicates; shape (d,)
    column: Ints  # the spectrum's edge of each predicate; shape (k,)
    # the decision: predicates of one site are evaluated together, and exactly one of them is true; shape (k,)
    site: Ints
    element: Ints  # the statement of the decision, -1 where it is not known; shape (k,)
    edges: Edges  # the edges of the spectrum

    @classmethod
    def from_flow(cls, flow: ControlFlow, spectrum: Spectrum, previous: Predicates | None = None) -> Predicates:
        """Find the outcomes of all decisions that any test reached, and of all conditions of the evidence."""
        if previous is not None:
            return previous.following(flow, spectrum)
        at = np.flatnonzero(flow.is_decision[flow.source] & (flow.edge >= 0) & ~flow.enters)
        block, (edges, _) = flow.source[at], spectrum.require_edges()
        outcome = np.flatnonzero(edges.is_outcome)
        condition = np.stack([edges.file[outcome], (edges.target[outcome] - FIRST_OUTCOME) // 2], axis=1)
        _, number = np.unique(condition, axis=0, return_inverse=True)
        return cls(
            flow,
            at,
            np.append(flow.edge[at], outcome),
            np.append(block, flow.blocks + number.reshape(-1)),
            np.append(flow.last_element[block], spectrum.elements.starting(edges.file[outcome], edges.source[outcome])),
            edges,
        )

    def following(self, flow: ControlFlow, spectrum: Spectrum) -> Predicates:
        """Return the predicates after a change: `self`, with its cached values, if flow and edges are the same."""
        same = self.flow is flow and self.edges is spectrum.edges
        return self if same else Predicates.from_flow(flow, spectrum)

    @cached_property
    def sites(self) -> Ints:
        """The site of each predicate, numbered from 0; shape (k,)."""
        return np.unique(self.site, return_inverse=True)[1].reshape(-1)

    @cached_property
    def evaluations(self) -> Tally:
        """In how many runs each site was evaluated."""
        return Tally(self._evaluated_sites, int(self.sites.max(initial=-1)) + 1)

    def _evaluated_sites(self, spectrum: Spectrum, tests: Sequence[int]) -> Iterator[Ints]:
        first, sites = self._sites_of_edge
        each = np.diff(first)
        single = each.max(initial=0) <= 1  # nearly always the case
        seen = np.zeros(int(self.sites.max(initial=-1)) + 1, np.int64)
        for row in spectrum.edges_among(each > 0, tests):
            found = sites[first[row]] if single else sites[ranges(first[row], first[row + 1])]
            number = np.arange(len(found))
            seen[found] = number  # of repeated sites the last one remains
            yield found[seen[found] == number]

    @cached_property
    def _sites_of_edge(self) -> tuple[Ints, Ints]:
        """The first site of each edge, and the sites of all edges."""
        order = np.argsort(self.column, kind="stable")
        return np.searchsorted(self.column[order], np.arange(len(self.edges) + 1)), self.sites[order]

    def true(self, rows: Sequence[Row], counts: Sequence[Ints] | None = None) -> FloatMatrix:
        """Count how often each predicate was true in each run (once where there are no counts).

        Of shape (runs, k). Zeros are not stored.
        """
        edges = int(max(self.column.max(initial=-1), max((row[-1] for row in rows if len(row)), default=-1))) + 1
        data = np.concatenate([np.zeros(0), *(counts if counts is not None else map(np.ones_like, rows))])
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        columns = np.concatenate([np.zeros(0, np.int64), *rows])
        taken = sparse.csr_array((data.astype(float), columns, starts), shape=(len(rows), edges))
        return taken[:, self.column].tocsr()

    def evaluated(self, true: FloatMatrix) -> FloatMatrix:
        """Count how often each run evaluated each predicate.

        Of shape (runs, k).
        """
        count = len(self.column)
        of_site = sparse.csr_array(
            (np.ones(count), (np.arange(count), self.sites)), shape=(count, int(self.sites.max(initial=-1)) + 1)
        )
        return ((true @ of_site) @ of_site.T).tocsr()

    def biases(self, spectrum: Spectrum) -> Iterator[tuple[bool, FloatMatrix]]:
        """Yield the evaluation bias of each run, minus one half, for batches of runs.

        The bias is the share of a predicate's evaluations that are true (Liu, Fei, Yan, Han & Midkiff 2006).

        Of shape (some runs, k). A row for each run; 0 for a predicate that it did not evaluate.
        """
        _, all_rows = spectrum.require_edges()
        all_times = require_counts(SOBER_INFO.title, spectrum)
        for tests in batches(spectrum):
            rows, times = all_rows[tests], all_times[tests]
            for bad in (True, False):
                chosen = np.flatnonzero(spectrum.failed[tests] == bad).tolist()
                if chosen:
                    true = self.true([rows[i] for i in chosen], [times[i] for i in chosen])
                    yield bad, _centred_bias(true, self.evaluated(true))

    def describe(self, predicate: int, spectrum: Spectrum) -> str:
        """Describe a predicate in words."""
        if predicate < len(self.at):
            source, target = (int(ends[self.at[predicate]]) for ends in (self.flow.source, self.flow.target))
            ends = where(self.flow, source, spectrum), where(self.flow, target, spectrum)
            return f"The decision at {ends[0]} that goes to {ends[1]} is what separates failing from passing runs."
        column, edges = self.column[predicate], self.edges
        number, true = divmod(int(edges.target[column]) - FIRST_OUTCOME, 2)
        line, start, end_line, end = edges.conditions[edges.file[column]][number].tolist()
        last = f"{end}" if line == end_line else f"column {end} of line {end_line}"
        place, came_out = f"line {line}, columns {start + 1} to {last}", "true" if true else "false"
        return f"The condition at {place}, being {came_out} is what separates failing from passing runs."

    def rank(
        self,
        technique: Technique,
        spectrum: Spectrum,
        scores: Floats,  # naN or minus infinity for a predicate that is not reported
        lean: Floats,
        details: Callable[[Ints], PredicateDetails],
    ) -> FlowReport:
        """Rank deciding statements by their most suspicious predicate, the rest by distance from the first few."""
        flow, count = self.flow, len(spectrum.elements)
        notes = [note for note in flow.problems if UNDECIDED not in note.cause or not self.edges.conditions]
        element = self.element
        reported = np.flatnonzero((element >= 0) & (scores > -np.inf))
        reported = reported[np.lexsort((-lean[reported], -scores[reported]))]
        of_element = np.full(count, np.nan)
        of_element[element[reported[::-1]]] = scores[reported[::-1]]
        best = np.full(count, -1)
        best[element[reported[::-1]]] = reported[::-1]
        finite = of_element[np.isfinite(of_element)]
        around = by_distance(flow, element[reported[:TOP]], count)
        below = (finite.min() if len(finite) else 0.0) - 1 + around
        if not len(reported):
            cause = f"{technique.info.title} finds no outcome of a decision that tells failed runs from passed ones"
            cure = "use a technique of statements, or add passing tests near the failing ones"
            notes.append(Problem("", "", cause, cure))
        ranked = np.where(np.isnan(of_element), below, of_element)
        return FlowReport.from_flow_scores(technique, spectrum, ranked, tuple(notes), details(best))


@dataclass(frozen=True, eq=False)
class PredicateDetails:
    """The data with which predicate techniques explain a report."""

    predicates: Predicates  # the predicates of the program
    best: Ints  # for each element the predicate that gives its score, -1 for none; shape (elements,)

    def explain(self, report: RankedReport, position: int) -> tuple[str, list[str], int]:
        """Explain an entry of a report, as far as all predicate techniques have it in common.

        The first ones of the explanation.
        """
        suspect, spectrum = report.suspect(position), report.spectrum
        sentences = [in_words(suspect.ef, suspect.ep, spectrum.counts)]
        best = int(self.best[suspect.element])
        if best < 0:
            sentences.append(
                "It decides nothing that is reported; it is ranked by its distance in the control flow from the first"
                f" {TOP} decisions that are."
            )
        else:
            sentences.append(self.predicates.describe(best, spectrum))
        return headline(report, suspect), sentences, best


def _centred_bias(true: FloatMatrix, evaluated: FloatMatrix) -> FloatMatrix:
    """true/evaluated - ½ where a predicate was evaluated; 0, which stands for a bias of ½, where it was not."""
    inverse, half = evaluated.copy(), evaluated.copy()
    inverse.data = 1 / evaluated.data
    half.data = np.full_like(evaluated.data, 0.5)
    return (true.multiply(inverse) - half).tocsr()
