"""Predicates, the outcomes of decisions, and how often runs evaluate them: what CBI and SOBER rank by.

A predicate is an edge out of a block that control can leave in more than one way. It is evaluated whenever the block
is left, and true when it is left along that edge. Where the evidence says how conditions inside expressions came out,
each outcome is a predicate too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from suspectra.arrays import FloatMatrix, Floats, Ints, Row
from suspectra.errors import Problem
from suspectra.program.control_flow import ControlFlow
from suspectra.program.python_graphs import UNDECIDED
from suspectra.report import RankedReport
from suspectra.spectrum import FIRST_OUTCOME, Edges, Spectrum, Tally, batches, ranges
from suspectra.techniques.catalogue import SOBER as SOBER_INFO
from suspectra.techniques.flow_report import (
    FlowReport,
    by_distance,
    require_counts,
    where,
)
from suspectra.techniques.formulas import in_words
from suspectra.techniques.technique import Technique, headline

TOP = 5
"""How many predicates a reader starts from when the fault is at none (Liu et al. 2006; paper 000, §5.1.3)."""


@dataclass(frozen=True, eq=False)
class Predicates:
    """The predicates of a program: first the edges out of blocks that decide, then the outcomes of conditions.

    Parameters
    ----------
    flow : ControlFlow
        The flow graphs of the program.
    at : ndarray of int64, shape (d,)
        The edge of the flow that each of the first is.
    column : ndarray of int64, shape (k,)
        The edge of the spectrum that each predicate is.
    site : ndarray of int64, shape (k,)
        What decides: predicates of one site are evaluated together, and one of them is true.
    element : ndarray of int64, shape (k,)
        The statement that decides, -1 where it is not known.
    edges : Edges
        Those of the spectrum.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from suspectra.program.flow_graph import FlowGraph
    >>> from suspectra.spectrum import EdgeKind
    >>> source, target, zeros = np.array([0, 2, 2, 3, 4]), np.array([2, 3, 4, 1, 1]), np.zeros(5, int)
    >>> graph = FlowGraph.from_edges(0, 5, zip(source, target, range(5)), [(2, 0), (3, 1), (4, 2)])
    >>> spectrum = replace(
    ...     Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False]),
    ...     edges=Edges(zeros, source, target, zeros, EdgeKind.BLOCK),
    ...     edge_rows=(np.array([0, 1, 3]), np.array([0, 2, 4])),
    ... )
    >>> predicates = Predicates.from_flow(ControlFlow((graph.table,)), spectrum)
    >>> predicates.column.tolist(), predicates.true(spectrum.edge_rows).toarray().tolist()
    ([1, 2], [[1.0, 0.0], [0.0, 1.0]])
    """

    flow: ControlFlow
    at: Ints
    column: Ints
    site: Ints
    element: Ints
    edges: Edges

    @classmethod
    def from_flow(cls, flow: ControlFlow, spectrum: Spectrum, previous: Predicates | None = None) -> Predicates:
        """The outcomes of all decisions that any test reached, and of all conditions of the evidence.

        Parameters
        ----------
        flow : ControlFlow
            The flow graphs of the program.
        spectrum : Spectrum
            With edges.
        previous : Predicates, optional
            Those of the last state, which stay as far as the flow graphs did.

        Returns
        -------
        Predicates
            A predicate of one edge of the spectrum each.
        """
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
        """The predicates after a change: these, with what they keep of each run, while flow and edges are the same.

        Parameters
        ----------
        flow : ControlFlow
            The flow graphs, now.
        spectrum : Spectrum
            The present state.

        Returns
        -------
        Predicates
            `self` where nothing changed for it.
        """
        same = self.flow is flow and self.edges is spectrum.edges
        return self if same else Predicates.from_flow(flow, spectrum)

    @cached_property
    def sites(self) -> Ints:
        """The sites, numbered from 0, by predicate; shape (k,)."""
        return np.unique(self.site, return_inverse=True)[1].reshape(-1)

    @cached_property
    def evaluations(self) -> Tally:
        """In how many runs what decides was evaluated, by number of the site."""
        return Tally(self._evaluated_sites, int(self.sites.max(initial=-1)) + 1)

    def _evaluated_sites(self, spectrum: Spectrum, tests: Sequence[int]) -> Iterator[Ints]:
        first, sites = self._sites_of_edge
        each = np.diff(first)
        single = each.max(initial=0) <= 1  # as nearly always
        seen = np.zeros(int(self.sites.max(initial=-1)) + 1, np.int64)
        for row in spectrum.edges_among(each > 0, tests):
            found = sites[first[row]] if single else sites[ranges(first[row], first[row + 1])]
            number = np.arange(len(found))
            seen[found] = number  # of several the last one stays
            yield found[seen[found] == number]

    @cached_property
    def _sites_of_edge(self) -> tuple[Ints, Ints]:
        """Where the sites of each edge begin, and the sites, edge by edge."""
        order = np.argsort(self.column, kind="stable")
        return np.searchsorted(self.column[order], np.arange(len(self.edges) + 1)), self.sites[order]

    def true(self, rows: Sequence[Row], counts: Sequence[Ints] | None = None) -> FloatMatrix:
        """How often each run had each predicate true (once where there are no counts); shape (runs, k).

        Parameters
        ----------
        rows : sequence of ndarray of int32
            For each run the sorted indices of the edges it traversed.
        counts : sequence of ndarray of int, optional
            How often, aligned with `rows`.

        Returns
        -------
        csr_array of float64, shape (runs, k)
            Zeros are not stored.
        """
        edges = int(max(self.column.max(initial=-1), max((row[-1] for row in rows if len(row)), default=-1))) + 1
        data = np.concatenate([np.zeros(0), *(counts if counts is not None else map(np.ones_like, rows))])
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        columns = np.concatenate([np.zeros(0, np.int64), *rows])
        taken = sparse.csr_array((data.astype(float), columns, starts), shape=(len(rows), edges))
        return taken[:, self.column].tocsr()

    def evaluated(self, true: FloatMatrix) -> FloatMatrix:
        """How often each run evaluated each predicate; shape (runs, k).

        Parameters
        ----------
        true : csr_array of float64, shape (runs, k)
            What :meth:`true` returned.

        Returns
        -------
        csr_array of float64, shape (runs, k)
            Equal for all predicates of one site.
        """
        count = len(self.column)
        holds = sparse.csr_array(
            (np.ones(count), (np.arange(count), self.sites)), shape=(count, int(self.sites.max(initial=-1)) + 1)
        )
        return ((true @ holds) @ holds.T).tocsr()

    def biases(self, spectrum: Spectrum) -> Iterator[tuple[bool, FloatMatrix]]:
        """The evaluation bias of each run, less one half, some runs at a time.

        The bias is the share of a predicate's evaluations that are true (Liu, Fei, Yan, Han & Midkiff 2006).

        Parameters
        ----------
        spectrum : Spectrum
            With how often each edge was traversed.

        Yields
        ------
        failed : bool
            Whether these runs failed.
        bias : csr_array of float64, shape (some runs, k)
            A row for each run; 0 for a predicate that it did not evaluate.
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
        """A predicate in words.

        Parameters
        ----------
        predicate : int
            Its number.
        spectrum : Spectrum
            Whose lines are named.

        Returns
        -------
        str
            A sentence with its stop.
        """
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
        scores: Floats,
        lean: Floats,
        details: Callable[[Ints], PredicateDetails],
    ) -> FlowReport:
        """Deciding statements by their worst predicate, the rest by distance from the first few.

        Parameters
        ----------
        technique : Technique
            What made the scores.
        spectrum : Spectrum
            What was ranked.
        scores : ndarray of float64, shape (k,)
            NaN or minus infinity for a predicate that is not reported.
        lean : ndarray of float64, shape (k,)
            How much more failed runs have each predicate true; of two outcomes with one score the higher is named.
        details : callable
            What the technique keeps for explaining, given by element the predicate that gives its score.

        Returns
        -------
        FlowReport
            Statements around a deciding one rank by their distance from it.
        """
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
    """What techniques on predicates keep to explain a report.

    Parameters
    ----------
    predicates : Predicates
        Those of the program.
    best : ndarray of int, shape (elements,)
        For each element the predicate that gives its score, -1 for none.

    Examples
    --------
    >>> from suspectra.techniques.cbi import CBIDetails
    >>> issubclass(CBIDetails, PredicateDetails)
    True
    """

    predicates: Predicates
    best: Ints

    def explain(self, report: RankedReport, position: int) -> tuple[str, list[str], int]:
        """What all techniques on predicates say of an entry of their report.

        Parameters
        ----------
        report : RankedReport
            The one that these details are of.
        position : int
            Counted from 0.

        Returns
        -------
        headline : str
            One line.
        sentences : list of str
            The first ones of the explanation.
        best : int
            The predicate that it is about, -1 for none.
        """
        suspect, spectrum = report.suspect(position), report.spectrum
        sentences = [in_words(suspect.ef, suspect.ep, spectrum.counts)]
        best = int(self.best[suspect.element])
        if best < 0:
            sentences.append(
                "It decides nothing that is reported; it stands by its distance in the control flow from the first"
                f" {TOP} decisions that are."
            )
        else:
            sentences.append(self.predicates.describe(best, spectrum))
        return headline(report, suspect), sentences, best


def _centred_bias(true: FloatMatrix, evaluated: FloatMatrix) -> FloatMatrix:
    """true/evaluated - ½ where a predicate was evaluated; nothing, that is ½, where it was not."""
    inverse, half = evaluated.copy(), evaluated.copy()
    inverse.data = 1 / evaluated.data
    half.data = np.full_like(evaluated.data, 0.5)
    return (true.multiply(inverse) - half).tocsr()
