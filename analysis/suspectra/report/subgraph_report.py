"""Reports of subgraphs: ranked behaviours, and the ranking of elements that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from suspectra.arrays import Floats, Ints
from suspectra.report.levels import round_significant
from suspectra.report.ranked_report import Explainer, RankedReport
from suspectra.spectrum import Spectrum


@dataclass(frozen=True, eq=False)
class Subgraph:
    """A suspicious behaviour: control flow that failing tests share.

    Parameters
    ----------
    elements : ndarray of int32, shape (k,)
        Its statements, ascending.
    edges : ndarray of int32, shape (e,)
        Its edges, as columns of the spectrum's edges, ascending; empty for a single node.
    ef, ep : int
        Failed and passed tests that traverse all of it.

    Examples
    --------
    >>> graph = Subgraph(np.array([3, 4], np.int32), np.array([7], np.int32), ef=2, ep=0)
    >>> graph.elements.tolist()
    [3, 4]
    """

    elements: Ints
    edges: Ints
    ef: int
    ep: int


@dataclass(frozen=True, eq=False)
class SubgraphReport(RankedReport):
    """Ranked subgraphs, and a ranking of elements: each element has the rank of its best subgraph.

    Parameters
    ----------
    subgraphs : tuple of Subgraph
        Best first.
    subgraph_level : ndarray of int32, shape (subgraphs,)
        0 for the subgraphs with the highest score, 1 for the next… The levels of elements have the same numbers. The
        last level but one is for elements in no subgraph, the last for those that no test executes.

    Examples
    --------
    >>> from suspectra import Spectrum, make_technique
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> graphs = [Subgraph(np.array([0]), np.array([0]), 1, 1), Subgraph(np.array([0, 1]), np.array([0, 1]), 1, 0)]
    >>> report = SubgraphReport.from_subgraphs(make_technique("sbbfl"), spectrum, graphs, np.array([0.5, 1.0]))
    >>> report.order.tolist(), report.subgraphs_of(0)
    ([0, 1, 2], (0, 1))
    """

    subgraphs: tuple[Subgraph, ...] = ()
    subgraph_level: Ints = field(default_factory=lambda: np.zeros(0, np.int32))

    @classmethod
    def from_subgraphs(
        cls, technique: Explainer, spectrum: Spectrum, subgraphs: Sequence[Subgraph], scores: Floats
    ) -> SubgraphReport:
        """Rank subgraphs by score, highest first; equal scores keep their order.

        Parameters
        ----------
        technique : Explainer
            What made the scores.
        spectrum : Spectrum
            What was ranked.
        subgraphs : sequence of Subgraph
            May overlap.
        scores : ndarray of float64, shape (subgraphs,)
            Suspiciousness of each; NaN is taken as the lowest.

        Returns
        -------
        SubgraphReport
            An element has the rank of its best subgraph; elements in none come last, together.
        """
        rounded = round_significant(np.nan_to_num(scores, nan=-np.inf, posinf=np.inf, neginf=-np.inf))
        level_score, level = np.unique(-rounded, return_inverse=True)
        level_score, level = 0.0 - level_score, level.reshape(-1).astype(np.int32)
        order = np.argsort(level, kind="stable")
        unranked = len(level_score)
        of_element = np.full(len(spectrum.elements), unranked, np.int32)
        for i in order[::-1].tolist():
            of_element[subgraphs[i].elements] = level[i]
        counts = spectrum.counts
        of_element[counts.ef + counts.ep == 0] = unranked + 1
        of_element[~spectrum.candidates] = -1
        lowest = np.min(level_score, initial=0.0)
        ranked = tuple(subgraphs[i] for i in order.tolist())
        level_score = np.append(level_score, [lowest, lowest])
        return cls(technique, spectrum, of_element, level_score, subgraphs=ranked, subgraph_level=level[order])

    def subgraphs_of(self, element: int) -> tuple[int, ...]:
        """Return the positions of the subgraphs that contain an element, best first.

        Parameters
        ----------
        element : int
            Its column in the spectrum.

        Returns
        -------
        tuple of int
            Indices into `subgraphs`; empty for an element in none.
        """
        return tuple(i for i, graph in enumerate(self.subgraphs) if element in graph.elements)
