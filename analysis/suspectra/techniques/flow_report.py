"""Common parts of the control-flow techniques: their report, and the step from blocks to statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from suspectra.arrays import Floats, Ints
from suspectra.cancellation import check
from suspectra.errors import NothingToRank, Problem
from suspectra.program.control_flow import ControlFlow
from suspectra.report import RankedReport
from suspectra.spectrum import Counts, Spectrum
from suspectra.techniques.technique import Technique, own_report

DetailsT = TypeVar("DetailsT")


@dataclass(frozen=True, eq=False)
class FlowReport(RankedReport):
    """A ranking by a control-flow technique.

    Parameters
    ----------
    details : object
        What the technique needs to explain the report and to rank the next state.

    Examples
    --------
    >>> from suspectra.techniques import make_technique
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> scores = np.array([0.5, np.nan, 0.7])
    >>> FlowReport.from_flow_scores(make_technique("ochiai"), spectrum, scores).order.tolist()
    [2, 0, 1]
    """

    details: object = None

    @classmethod
    def from_flow_scores(
        cls,
        technique: Technique,
        spectrum: Spectrum,
        scores: Floats,
        notes: tuple[Problem, ...] = (),
        details: object = None,
    ) -> FlowReport:
        """Rank statements by score.

        Parameters
        ----------
        technique : Technique
            What made the scores.
        spectrum : Spectrum
            What was ranked.
        scores : ndarray of float64, shape (elements,)
            NaN for a statement without a score: it ranks below all statements with one, but above those that no test
            executes.
        notes : tuple of Problem, optional
            What the user should know about the ranking.
        details : object, optional
            What the technique needs to explain the report and to rank the next state.

        Returns
        -------
        FlowReport
            The ranking with `details`.
        """
        check()
        known = scores[~np.isnan(scores)]
        finite = known[np.isfinite(known)]
        lowest = finite.min() if len(finite) else 0.0
        below = lowest - max(1.0, abs(lowest))
        report = cls.from_scores(technique, spectrum, np.where(np.isnan(scores), below, scores))
        return replace(report, notes=notes, details=details)


def details_of(report: RankedReport, kind: type[DetailsT]) -> DetailsT:
    """Return the details that a technique stored in its report.

    Parameters
    ----------
    report : RankedReport
        Any ranking.
    kind : type
        The expected class of the details.

    Returns
    -------
    DetailsT
        The object given to :meth:`FlowReport.from_flow_scores`.

    Raises
    ------
    TypeError
        When the report has other details, or none.

    Examples
    --------
    >>> from suspectra.techniques import make_technique
    >>> spectrum, technique = Spectrum.from_matrix([[1, 1, 0]], failed=[True]), make_technique("ochiai")
    >>> report = FlowReport.from_flow_scores(technique, spectrum, np.ones(3), details={"seed": 7})
    >>> details_of(report, dict)
    {'seed': 7}
    >>> details_of(report, list)
    Traceback (most recent call last):
    TypeError: ochiai keeps no list
    """
    details = own_report(report, FlowReport).details
    if not isinstance(details, kind):
        raise TypeError(f"{report.technique.name} keeps no {kind.__name__}")
    return details


def previous_details(technique: Technique, previous: RankedReport | None, kind: type[DetailsT]) -> DetailsT | None:
    """Return the details of the previous report, if the same technique made it.

    Parameters
    ----------
    technique : Technique
        The technique with its current hyper-parameters.
    previous : RankedReport or None
        The last ranking, by any technique.
    kind : type
        The class of the technique's details.

    Returns
    -------
    DetailsT or None
        None where another technique made the ranking, or the same one with other hyper-parameters.

    Examples
    --------
    >>> from suspectra.techniques import make_technique
    >>> spectrum, technique = Spectrum.from_matrix([[1, 1, 0]], failed=[True]), make_technique("ochiai")
    >>> report = FlowReport.from_flow_scores(technique, spectrum, np.ones(3), details={"seed": 7})
    >>> previous_details(technique, report, dict), previous_details(make_technique("dstar"), report, dict)
    ({'seed': 7}, None)
    """
    return details_of(previous, kind) if previous is not None and previous.technique == technique else None


def require_counts(technique: str, spectrum: Spectrum) -> Sequence[Ints]:
    """Return how often each test traversed its edges.

    Parameters
    ----------
    technique : str
        Its title, for the message.
    spectrum : Spectrum
        What is ranked.

    Returns
    -------
    sequence of ndarray of int, shape (k,)
        For each test, aligned with its row of edges.

    Raises
    ------
    NothingToRank
        When the evidence has no counts.

    Examples
    --------
    >>> require_counts("SOBER", Spectrum.from_matrix([[1, 1, 0]], failed=[True]))
    Traceback (most recent call last):
    suspectra.errors.NothingToRank: SOBER compares how often branches were taken, and … Fix: …
    """
    if spectrum.edge_counts is not None:
        return spectrum.edge_counts
    cause = f"{technique} compares how often branches were taken, and the evidence says only whether they were"
    cure = "for Python record with `suspectra record --counts`; recordings of C and C++ contain counts"
    raise NothingToRank(Problem("", "", cause, cure))


def hits_of_edges(spectrum: Spectrum) -> float:
    """Count the edges that all tests traverse, each once for every test; most of a technique's effort is proportional
    to it.

    Parameters
    ----------
    spectrum : Spectrum
        What is ranked.

    Returns
    -------
    float
        0 where there are no edges.

    Examples
    --------
    >>> hits_of_edges(Spectrum.from_matrix([[1, 1, 0]], failed=[True]))
    0.0
    """
    if spectrum.edge_rows is None:
        return 0.0
    counts = spectrum.edge_hit_counts
    return float(counts.ef.sum(dtype=np.int64) + counts.ep.sum(dtype=np.int64))


@dataclass(frozen=True, eq=False)
class EdgeScores:
    """Scores of edges, and of the blocks that they enter or leave.

    Parameters
    ----------
    flow : ControlFlow
        The flow graphs that the arrays index.
    counts : Counts
        Of the spectrum's edges.
    block_score : ndarray of float64, shape (blocks,)
        The best score of the edges at each block; NaN where no edge has one.
    edge_score : ndarray of float64, shape (edges of the flow,)
        NaN for an edge without a score.

    Examples
    --------
    >>> from suspectra.program.flow_graph import FlowGraph
    >>> graph = FlowGraph.from_edges(0, 3, [(0, 1, 0), (1, 2, 1)], [(1, 0)])
    >>> flow, counts = ControlFlow((graph.table,)), Counts(np.array([1, 1]), np.array([0, 1]), 1, 1)
    >>> EdgeScores(flow, counts, np.array([1.0, 1.0, 0.7]), np.array([1.0, 0.7])).edge_at(0)
    0
    """

    flow: ControlFlow
    counts: Counts
    block_score: Floats
    edge_score: Floats

    def edge_at(self, element: int) -> int | None:
        """Return the edge that gives an element its score.

        Parameters
        ----------
        element : int
            Its column in the spectrum.

        Returns
        -------
        int or None
            An edge of the flow; None where no edge at the element has a score.
        """
        blocks = self.flow.member_block[self.flow.member_element == element]
        blocks = blocks[~np.isnan(self.block_score[blocks])]
        if not len(blocks):
            return None
        block = blocks[np.argmax(self.block_score[blocks])]
        at = np.flatnonzero((self.flow.source == block) | (self.flow.target == block))
        return int(at[np.nanargmax(self.edge_score[at])])


def traversed(counts: Counts, edge: int) -> str:
    """Say in words how many tests traverse an edge.

    Parameters
    ----------
    counts : Counts
        Of the edges.
    edge : int
        Its column.

    Returns
    -------
    str
        The end of a sentence, without a full stop.

    Examples
    --------
    >>> traversed(Counts(np.array([2]), np.array([1]), failed=2, passed=5), 0)
    '2 of 2 failing and 1 of 5 passing tests traverse it'
    """
    return (
        f"{counts.ef[edge]} of {counts.failed} failing and {counts.ep[edge]} of {counts.passed} passing tests"
        " traverse it"
    )


def where(flow: ControlFlow, block: int, spectrum: Spectrum) -> str:
    """Describe a block by its lines.

    Parameters
    ----------
    flow : ControlFlow
        The flow graphs.
    block : int
        One of their blocks.
    spectrum : Spectrum
        The spectrum of the blocks' elements.

    Returns
    -------
    str
        Its lines, or its role in the function where it has none.

    Examples
    --------
    >>> from suspectra.program.flow_graph import FlowGraph
    >>> graph = FlowGraph.from_edges(0, 3, [(0, 2, 0), (2, 1, 1)], [(2, 0), (2, 1)])
    >>> spectrum, flow = Spectrum.from_matrix([[1, 1]], failed=[True]), ControlFlow((graph.table,))
    >>> where(flow, 2, spectrum), where(flow, 0, spectrum)
    ('lines 1-2', 'the entry')
    """
    elements = flow.elements_of(block)
    if len(elements):
        first, last = int(spectrum.elements.line[elements[0]]), int(spectrum.elements.end_line[elements[-1]])
        return f"line {first}" if first >= last else f"lines {first}-{last}"
    local = block - int(flow.first_block[flow.graph_of_block[block]])
    return {0: "the entry", 1: "the exit"}.get(local, "a block without lines")


def by_distance(flow: ControlFlow, seeds: Ints, elements: int) -> Floats:
    """Score the statements around reported ones by their distance in the control flow.

    A reader who does not find the fault in the report goes on around it, breadth first (Renieris & Reiss 2003 do so on
    the dependence graph, which needs more than coverage).

    Parameters
    ----------
    flow : ControlFlow
        The flow graphs.
    seeds : ndarray of int, shape (k,)
        The reported elements.
    elements : int
        The number of all elements.

    Returns
    -------
    ndarray of float64, shape (elements,)
        -d/(d+1) at distance d; NaN for elements that can't be reached.

    Examples
    --------
    >>> from suspectra.program.flow_graph import FlowGraph
    >>> graph = FlowGraph.from_edges(0, 3, [(0, 1, 0), (1, 2, 1)], [(0, 0), (1, 1), (2, 2)])
    >>> by_distance(ControlFlow((graph.table,)), seeds=np.array([2]), elements=4).round(3).tolist()
    [-0.75, -0.667, -0.0, nan]
    """
    # statements and blocks are nodes; statements of one block are two steps apart, through their block
    block = flow.member_block + elements
    rows = np.concatenate([flow.member_element, flow.source + elements])
    columns = np.concatenate([block, flow.target + elements])
    size = elements + flow.blocks
    graph = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(size, size))
    if not len(seeds):
        return np.full(elements, np.nan)
    steps = dijkstra(graph, directed=False, indices=np.unique(seeds), min_only=True, unweighted=True)[:elements]
    distance = np.maximum(steps - 1, 0)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(distance), -distance / (distance + 1), np.nan)
