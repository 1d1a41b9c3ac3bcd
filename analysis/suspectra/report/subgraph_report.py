"""Reports of subgraphs: ranked behaviours, and the ranking of elements that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from suspectra.base.arrays import Floats, Ints
from suspectra.report.levels import round_significant
from suspectra.report.ranked_report import Explainer, RankedReport
from suspectra.spectrum import Spectrum


@dataclass(frozen=True, eq=False)
class Subgraph:
    """A suspicious behaviour: control flow that failing tests share."""

    elements: Ints  # its statements, ascending; shape (k,)
    edges: Ints  # its edges, as columns of the spectrum's edges, ascending; empty for a single node; shape (e,)
    # failed and passed tests that traverse all of it
    ef: int
    ep: int


@dataclass(frozen=True, eq=False)
class SubgraphReport(RankedReport):
    """Ranked subgraphs, and a ranking of elements: each element has the rank of its best subgraph."""

    subgraphs: tuple[Subgraph, ...] = ()  # best first
    # 0 for the subgraphs with the highest score, 1 for the next… The levels of elements have the same numbers
    subgraph_level: Ints = field(default_factory=lambda: np.zeros(0, np.int32))

    @classmethod
    def from_subgraphs(
        cls, technique: Explainer, spectrum: Spectrum, subgraphs: Sequence[Subgraph], scores: Floats
    ) -> SubgraphReport:
        """Rank subgraphs by score, highest first; equal scores keep their order.

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

        Indices into `subgraphs`; empty for an element in none.
        """
        return tuple(i for i, graph in enumerate(self.subgraphs) if element in graph.elements)

    @property
    def fragment_rank(self) -> Floats:
        """The Standard Rank Score of each element's best subgraph among the subgraphs; shape (elements,).

        So paper 003 (Table IV) counts: a subgraph is one place, however many statements it has. Elements in none come
        after all subgraphs, one by one.
        """
        before = np.searchsorted(self.subgraph_level, np.arange(self.level.max(initial=0) + 1), "left")
        same = np.bincount(self.subgraph_level, minlength=len(before))
        rank = before[self.level] + same[self.level] / 2
        outside = self.level >= len(set(self.subgraph_level.tolist()))
        return np.where(outside, len(self.subgraphs) + np.count_nonzero(outside) / 2, rank)
