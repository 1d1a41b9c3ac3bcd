"""Common parts of the control-flow techniques: their report, and the step from blocks to statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from suspectra.base.arrays import Floats, Ints
from suspectra.base.cancellation import check
from suspectra.base.errors import NothingToRank, Problem
from suspectra.program.control_flow import ControlFlow
from suspectra.report import RankedReport
from suspectra.spectrum import Counts, Spectrum
from suspectra.techniques.technique import Technique, own_report

DetailsT = TypeVar("DetailsT")


@dataclass(frozen=True, eq=False)
class FlowReport(RankedReport):
    """A ranking by a control-flow technique."""

    details: object = None  # what the technique needs to explain the report and to rank the next state

    @classmethod
    def from_flow_scores(
        cls,
        technique: Technique,
        spectrum: Spectrum,
        scores: Floats,
        notes: tuple[Problem, ...] = (),
        details: object = None,
    ) -> FlowReport:
        """Rank statements by score."""
        check()
        known = scores[~np.isnan(scores)]
        finite = known[np.isfinite(known)]
        lowest = finite.min() if len(finite) else 0.0
        below = lowest - max(1.0, abs(lowest))
        report = cls.from_scores(technique, spectrum, np.where(np.isnan(scores), below, scores))
        return replace(report, notes=notes, details=details)


def details_of(report: RankedReport, kind: type[DetailsT]) -> DetailsT:
    """Return the details that a technique stored in its report.

    Raises TypeError when the report has other details, or none.
    """
    details = own_report(report, FlowReport).details
    if not isinstance(details, kind):
        raise TypeError(f"{report.technique.name} keeps no {kind.__name__}")
    return details


def previous_details(technique: Technique, previous: RankedReport | None, kind: type[DetailsT]) -> DetailsT | None:
    """Return the details of the previous report, if the same technique made it.

    None where another technique made the ranking, or the same one with other hyper-parameters.
    """
    return details_of(previous, kind) if previous is not None and previous.technique == technique else None


def require_counts(technique: str, spectrum: Spectrum) -> Sequence[Ints]:
    """Return how often each test traversed its edges.

    Of shape (k,).

    Raises NothingToRank when the evidence has no counts.
    """
    if spectrum.edge_counts is not None:
        return spectrum.edge_counts
    cause = f"{technique} compares how often branches were taken, and the evidence says only whether they were"
    cure = "for Python record with `suspectra record --counts`; recordings of C and C++ contain counts"
    raise NothingToRank(Problem("", "", cause, cure))


def hits_of_edges(spectrum: Spectrum) -> float:
    """Count the edges that all tests traverse, each once for every test; most of a technique's effort is proportional
    to it.

    0 where there are no edges.
    """
    if spectrum.edge_rows is None:
        return 0.0
    counts = spectrum.edge_hit_counts
    return float(counts.ef.sum(dtype=np.int64) + counts.ep.sum(dtype=np.int64))


@dataclass(frozen=True, eq=False)
class EdgeScores:
    """Scores of edges, and of the blocks that they enter or leave."""

    flow: ControlFlow  # the flow graphs that the arrays index
    counts: Counts  # of the spectrum's edges
    block_score: Floats  # the best score of the edges at each block; NaN where no edge has one; shape (blocks,)
    edge_score: Floats  # naN for an edge without a score; shape (edges of the flow,)

    def edge_at(self, element: int) -> int | None:
        """Return the edge that gives an element its score.

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
    """Say in words how many tests traverse an edge."""
    return (
        f"{counts.ef[edge]} of {counts.failed} failing and {counts.ep[edge]} of {counts.passed} passing tests"
        " traverse it"
    )


def where(flow: ControlFlow, block: int, spectrum: Spectrum) -> str:
    """Describe a block by its lines.

    Its lines, or its role in the function where it has none.
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

    Of shape (elements,).
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
