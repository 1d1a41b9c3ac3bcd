"""Techniques on predicates, the outcomes of decisions: CBI and SOBER.

A predicate is an edge out of a block that control can leave in more than one way. It is evaluated whenever the block
is left, and true when it is left along that edge. Where the evidence tells how conditions inside expressions came out,
each outcome is a predicate too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from suspectra.arrays import FloatMatrix, Floats, Ints, Row
from suspectra.errors import Problem
from suspectra.program import Program
from suspectra.program.control_flow import ControlFlow, control_flow
from suspectra.program.python_graphs import UNTOLD
from suspectra.report import Explanation, RankedReport
from suspectra.spectrum import FIRST_OUTCOME, Counts, Edges, Spectrum, Tally, batches, ranges
from suspectra.techniques.catalogue import CBI as CBI_INFO
from suspectra.techniques.catalogue import SOBER as SOBER_INFO
from suspectra.techniques.effort import Effort
from suspectra.techniques.flow_report import (
    FlowReport,
    by_distance,
    details_of,
    hits_of_edges,
    previous_details,
    require_counts,
    where,
)
from suspectra.techniques.formulas import in_words, ratio, require_failure
from suspectra.techniques.technique import Technique, headline

CONFIDENCE = 1.96
"""How many standard errors Increase must lie above zero: the 95 % interval of the paper."""

_HIT_SECONDS = 3e-7  # of SOBER for each edge that a test took (benchmarks/effort.py)

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
    def from_flow(cls, flow: ControlFlow, spectrum: Spectrum) -> Predicates:
        """The outcomes of all decisions that any test reached, and of all conditions the evidence tells.

        Parameters
        ----------
        flow : ControlFlow
            The flow graphs of the program.
        spectrum : Spectrum
            With edges.

        Returns
        -------
        Predicates
            A predicate of one edge of the spectrum each.
        """
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

    def told(self, predicate: int, spectrum: Spectrum) -> str:
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
        details: Callable[[Ints], _Details],
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
        notes = [note for note in flow.problems if UNTOLD not in note.cause or not self.edges.conditions]
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
class _Details:
    """What both techniques keep: the predicates, and by element the one that gives its score, -1 for none."""

    predicates: Predicates
    best: Ints


@dataclass(frozen=True, eq=False)
class CBIDetails(_Details):
    """What CBI keeps to explain a report.

    Parameters
    ----------
    numbers : _Truth
        Runs that have each predicate true, and that evaluate it, with what follows from them.

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
    >>> report = CBI().localize(spectrum, Program((), (graph,)))
    >>> details_of(report, CBIDetails).predicates.column.tolist()
    [1, 2]
    """

    numbers: _Truth


@dataclass(frozen=True, eq=False)
class SoberDetails(_Details):
    """What SOBER keeps to explain a report.

    Parameters
    ----------
    numbers : ndarray of float64, shape (3, k)
        Mean bias of failed runs, mean bias of passed runs and its σ, for each predicate.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from suspectra.program.flow_graph import FlowGraph
    >>> from suspectra.spectrum import EdgeKind
    >>> source, target, zeros = np.array([0, 2, 2, 3, 4]), np.array([2, 3, 4, 1, 1]), np.zeros(5, int)
    >>> graph = FlowGraph.from_edges(0, 5, zip(source, target, range(5)), [(2, 0), (3, 1), (4, 2)])
    >>> spectrum = replace(
    ...     Spectrum.from_matrix(np.ones((4, 3)), failed=[True, True, False, False]),
    ...     edges=Edges(zeros, source, target, zeros, EdgeKind.BLOCK), edge_rows=(np.arange(5),) * 4,
    ...     edge_counts=tuple(np.array([10, a, 10 - a, a, 10 - a]) for a in (8, 9, 5, 4)),
    ... )
    >>> report = Sober().localize(spectrum, Program((), (graph,)))
    >>> details_of(report, SoberDetails).numbers.round(2).tolist()
    [[0.85, 0.15], [0.45, 0.55], [0.07, 0.07]]
    """

    numbers: Floats


def _predicates(flow: ControlFlow, spectrum: Spectrum, previous: _Details | None) -> Predicates:
    return (
        previous.predicates.following(flow, spectrum) if previous is not None else Predicates.from_flow(flow, spectrum)
    )


def _explain(report: RankedReport, position: int) -> tuple[str, list[str], int]:
    """Headline, first sentences, and the predicate (-1 for none)."""
    suspect, details, spectrum = report.suspect(position), details_of(report, _Details), report.spectrum
    sentences = [in_words(suspect.ef, suspect.ep, spectrum.counts)]
    best = int(details.best[suspect.element])
    if best < 0:
        sentences.append(
            "It decides nothing that is reported; it stands by its distance in the control flow from the first"
            f" {TOP} decisions that are."
        )
    else:
        sentences.append(details.predicates.told(best, spectrum))
    return headline(report, suspect), sentences, best


@dataclass(frozen=True, eq=False)
class _Truth:
    """In how many runs each predicate was true and was evaluated; Increase and its 95 % bound."""

    true_failed: Floats
    true_passed: Floats
    evaluated_failed: Floats
    evaluated_passed: Floats
    increase: Floats
    bound: Floats


@dataclass(frozen=True)
class CBI(Technique):
    """Cooperative bug isolation (Liblit, Naik, Zheng, Aiken & Jordan 2005).

    Every predicate is sampled on every evaluation, as for paper 000 (§5.1.2).

    Examples
    --------
    >>> from dataclasses import replace
    >>> from suspectra.program.flow_graph import FlowGraph
    >>> from suspectra.spectrum import EdgeKind
    >>> source, target, zeros = np.array([0, 2, 2, 3, 4]), np.array([2, 3, 4, 1, 1]), np.zeros(5, int)
    >>> graph = FlowGraph.from_edges(0, 5, zip(source, target, range(5)), [(2, 0), (3, 1), (4, 2)])
    >>> spectrum = replace(
    ...     Spectrum.from_matrix([[1, 1, 0]] * 5 + [[1, 0, 1]] * 5, failed=[True] * 5 + [False] * 5),
    ...     edges=Edges(zeros, source, target, zeros, EdgeKind.BLOCK),
    ...     edge_rows=(np.array([0, 1, 3]),) * 5 + (np.array([0, 2, 4]),) * 5,
    ... )
    >>> report = CBI().localize(spectrum, Program((), (graph,)))
    >>> print(report.explain(0).sentences[1])
    The decision at line 1 that goes to line 2 is what separates failing from passing runs.
    """

    info = CBI_INFO

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> RankedReport:
        """Rank by Importance what passes the significance filter."""
        require_failure(spectrum)
        spectrum, flow = control_flow(CBI_INFO.title, spectrum, program)
        predicates = _predicates(flow, spectrum, previous_details(self, previous, CBIDetails))
        true, evaluated = spectrum.edge_hit_counts.of_columns(predicates.column), predicates.evaluations.of(spectrum)
        truth = self.judge(_runs(true), _runs(evaluated.of_columns(predicates.sites)))
        importance = self.importance(truth, spectrum.counts.failed)
        importance[~(truth.bound > 0)] = np.nan
        return predicates.rank(
            self, spectrum, importance, truth.increase, lambda best: CBIDetails(predicates, best, truth)
        )

    def judge(self, true: tuple[Floats, Floats], evaluated: tuple[Floats, Floats]) -> _Truth:
        """Failure, Context and Increase of each predicate (Liblit, Naik, Zheng, Aiken & Jordan 2005, §3).

        Parameters
        ----------
        true : tuple of two ndarray of float64, shape (k,)
            Failed and passed runs that have each predicate true.
        evaluated : tuple of two ndarray of float64, shape (k,)
            Failed and passed runs that evaluate it.

        Returns
        -------
        _Truth
            The numbers given, Increase, and the lower end of its confidence interval.

        Examples
        --------
        >>> failed, passed = np.array([4.0]), np.array([1.0])
        >>> CBI().judge((failed, passed), (np.array([5.0]), np.array([5.0]))).increase.round(3).tolist()
        [0.3]
        """
        runs_true, runs_evaluated = true[0] + true[1], evaluated[0] + evaluated[1]
        failure, context = ratio(true[0], runs_true), ratio(evaluated[0], runs_evaluated)
        variance = ratio(failure * (1 - failure), runs_true) + ratio(context * (1 - context), runs_evaluated)
        increase = np.where(runs_true > 0, failure - context, -1.0)
        return _Truth(*true, *evaluated, increase, increase - CONFIDENCE * np.sqrt(variance))

    def importance(self, truth: _Truth, failed: int) -> Floats:
        """The harmonic mean of Increase and of the logarithm of the failed runs it was true in, relative to all.

        The Importance of Liblit, Naik, Zheng, Aiken & Jordan 2005, §3.

        Parameters
        ----------
        truth : _Truth
            What :meth:`judge` returned.
        failed : int
            All failed runs.

        Returns
        -------
        ndarray of float64, shape (k,)
            From 0 to 1; 0 where Increase is not positive.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(truth.true_failed >= failed, 1.0, np.log(truth.true_failed) / np.log(max(failed, 2)))
            mean = 2 / (1 / truth.increase + 1 / share)
        return np.where((truth.increase > 0) & (share > 0), mean, 0.0)

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """The predicate with its Failure, Context and Increase."""
        title, sentences, best = _explain(report, position)
        if best < 0:
            return Explanation(title, tuple(sentences), CBI_INFO.formula)
        truth = details_of(report, CBIDetails).numbers
        ft, pt = int(truth.true_failed[best]), int(truth.true_passed[best])
        fo, po = int(truth.evaluated_failed[best]), int(truth.evaluated_passed[best])
        sentences.append(f"{ft} of the {ft + pt} runs that go this way fail, {fo} of the {fo + po} that decide here.")
        put_in = (
            f"Failure {ft} / {ft + pt}, Context {fo} / {fo + po}, Increase {truth.increase[best]:.4g}"
            f" (at least {truth.bound[best]:.4g}), Importance {report.suspect(position).score:.6g}"
        )
        return Explanation(title, tuple(sentences), CBI_INFO.formula, put_in)


@dataclass(frozen=True)
class Sober(Technique):
    """Compare how often predicates are true in failed runs with how often in passed ones (Liu et al. 2006).

    A run that does not evaluate a predicate speaks neither for true nor for false: its bias is one half.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from suspectra.program.flow_graph import FlowGraph
    >>> from suspectra.spectrum import EdgeKind
    >>> source, target, zeros = np.array([0, 2, 2, 3, 4]), np.array([2, 3, 4, 1, 1]), np.zeros(5, int)
    >>> graph = FlowGraph.from_edges(0, 5, zip(source, target, range(5)), [(2, 0), (3, 1), (4, 2)])
    >>> spectrum = replace(
    ...     Spectrum.from_matrix(np.ones((4, 3)), failed=[True, True, False, False]),
    ...     edges=Edges(zeros, source, target, zeros, EdgeKind.BLOCK), edge_rows=(np.arange(5),) * 4,
    ...     edge_counts=tuple(np.array([10, a, 10 - a, a, 10 - a]) for a in (8, 9, 5, 4)),
    ... )
    >>> Sober().localize(spectrum, Program((), (graph,))).suspect(0).location.line
    1
    """

    info = SOBER_INFO

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> RankedReport:
        """Rank by how unlikely the failed runs' biases are, if they were those of passed runs."""
        require_failure(spectrum)
        require_counts(SOBER_INFO.title, spectrum)
        self.effort(spectrum).require(
            SOBER_INFO.title,
            f"it compares how often each of {len(spectrum.tests):,} tests took each way it went"
            f" ({hits_of_edges(spectrum):,.0f} in all)",
            "take CBI, which looks at the same decisions but not at how often, or a formula; or record fewer tests",
        )
        spectrum, flow = control_flow(SOBER_INFO.title, spectrum, program)
        predicates = _predicates(flow, spectrum, previous_details(self, previous, SoberDetails))
        scores, numbers = self.score(predicates.biases(spectrum), len(predicates.column))
        lean = np.nan_to_num(numbers[0] - numbers[1])
        return predicates.rank(self, spectrum, scores, lean, lambda best: SoberDetails(predicates, best, numbers))

    def effort(self, spectrum: Spectrum) -> Effort:
        """What the biases of all tests take; they are made for some tests at a time.

        Parameters
        ----------
        spectrum : Spectrum
            What is to be ranked.

        Returns
        -------
        Effort
            An estimate from measured costs of one step.
        """
        return Effort(hits_of_edges(spectrum) * _HIT_SECONDS, 0.5)

    def score(self, biases: Iterable[tuple[bool, FloatMatrix]], predicates: int) -> tuple[Floats, Floats]:
        """Fault relevance of each predicate, and (mean of failed, mean of passed, σ of passed) in three rows.

        The relevance is log(σ / (√m·φ(Z))) over the m failed runs (Liu, Fei, Yan, Han & Midkiff 2006).

        Parameters
        ----------
        biases : iterable of (bool, csr_array of float64)
            Whether some runs failed, and their evaluation biases less one half; shape (runs, predicates).
        predicates : int
            How many there are.

        Returns
        -------
        relevance : ndarray of float64, shape (predicates,)
            Higher is more suspicious.
        biases : ndarray of float64, shape (3, predicates)
            Mean of failed runs, mean of passed runs, σ of passed runs.
        """
        runs = {True: 0, False: 0}
        totals = {bad: np.zeros(predicates) for bad in runs}
        squares = np.zeros(predicates)
        for bad, bias in biases:
            runs[bad] += bias.shape[0]
            np.add.at(totals[bad], bias.indices, bias.data)
            if not bad:
                np.add.at(squares, bias.indices, bias.data * bias.data)
        m, n = runs[True], runs[False]
        mean_failed = totals[True] / m
        if not n:
            return np.full(predicates, np.nan), np.stack([mean_failed + 0.5, *[mean_failed * np.nan] * 2])
        mean = totals[False] / n
        variance = np.maximum(squares - n * mean**2, 0) / max(n - 1, 1)
        variance[variance < 1e-12] = 0.0
        sigma, difference = np.sqrt(variance), mean_failed - mean
        difference[np.abs(difference) < 1e-12] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            z = difference / (sigma / np.sqrt(m))
            relevance = np.log(sigma) - np.log(m) / 2 + z**2 / 2 + np.log(2 * np.pi) / 2
        relevance[sigma == 0] = np.where(difference[sigma == 0] == 0, -np.inf, np.inf)  # its limits
        return relevance, np.stack([mean_failed + 0.5, mean + 0.5, sigma])

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """The predicate with its mean biases."""
        title, sentences, best = _explain(report, position)
        if best < 0:
            return Explanation(title, tuple(sentences), SOBER_INFO.formula)
        bad, good, sigma = details_of(report, SoberDetails).numbers[:, best]
        sentences.append(f"Failed runs go this way {bad:.1%} of the time, passed ones {good:.1%}.")
        put_in = f"means {bad:.4g} and {good:.4g}, σ {sigma:.4g}: {report.suspect(position).score:.6g}"
        return Explanation(title, tuple(sentences), SOBER_INFO.formula, put_in)


def _runs(counts: Counts) -> tuple[Floats, Floats]:
    """The numbers of failed and passed runs as real numbers."""
    return counts.ef.astype(float), counts.ep.astype(float)


def _centred_bias(true: FloatMatrix, evaluated: FloatMatrix) -> FloatMatrix:
    """true/evaluated - ½ where a predicate was evaluated; nothing, that is ½, where it was not."""
    inverse, half = evaluated.copy(), evaluated.copy()
    inverse.data = 1 / evaluated.data
    half.data = np.full_like(evaluated.data, 0.5)
    return (true.multiply(inverse) - half).tocsr()
