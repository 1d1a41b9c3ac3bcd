"""Branch: Ochiai on control-flow edges (Santelices, Jones, Yu & Harrold 2009)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suspectra.program import Program
from suspectra.program.control_flow import ControlFlow, control_flow
from suspectra.report import Explanation, RankedReport
from suspectra.spectrum import Counts, Spectrum
from suspectra.techniques.catalogue import BRANCH as INFO
from suspectra.techniques.control_flow.flow_report import (
    EdgeScores,
    FlowReport,
    details_of,
    previous_details,
    traversed,
    where,
)
from suspectra.techniques.control_flow.reuse import Reuse
from suspectra.techniques.formulas import in_words, make_formula, require_failure
from suspectra.techniques.staged_technique import Staged
from suspectra.techniques.technique import headline


@dataclass(frozen=True)
class Branch(Staged):
    """Score control-flow edges, and give each score to the statements of the blocks that the edge joins.

    A block has the score of the most suspicious edge into or out of it. An edge is scored by Ochiai over the tests that
    traverse it (Santelices, Jones, Yu & Harrold 2009; compared with CP in paper 000, §2 and Figure 1).
    """

    info = INFO

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> RankedReport:
        """Rank statements by the most suspicious edge at their blocks."""
        require_failure(spectrum)
        spectrum, flow = control_flow(INFO.title, spectrum, program)
        scores = self.score(flow, spectrum.edge_hit_counts, previous_details(self, previous, EdgeScores))
        of_element = flow.over_elements(scores.block_score, len(spectrum.elements))
        return FlowReport.from_flow_scores(self, spectrum, of_element, flow.problems, scores)

    def score(self, flow: ControlFlow, counts: Counts, previous: EdgeScores | None = None) -> EdgeScores:
        """Score the edges of the functions whose counts changed, and their blocks."""
        reuse = Reuse(flow, counts, previous)
        part = flow.part(reuse.graphs)
        column = flow.edge[part.edges]
        known = np.flatnonzero(column >= 0)
        score = np.full(len(column), np.nan)
        score[known] = make_formula("ochiai").score(counts.for_columns(column[known]))
        best = np.full(len(part.blocks), np.nan)
        for ends in (part.source, part.target):
            np.fmax.at(best, ends[known], score[known])
        of_edge = reuse.edges(previous.edge_score if previous else None, np.float64)
        of_block = reuse.blocks(previous.block_score if previous else None, np.float64)
        of_edge[part.edges], of_block[part.blocks] = score, best
        return EdgeScores(flow, counts, of_block, of_edge)

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """The most suspicious edge at the statement, with its counts."""
        suspect, spectrum = report.suspect(position), report.spectrum
        sentences = [in_words(suspect.ef, suspect.ep, spectrum.counts)]
        decided = details_of(report, EdgeScores)
        edge = decided.edge_at(suspect.element)
        if edge is None:
            return Explanation(headline(report, suspect), (*sentences, "No edge leads to it or from it."), INFO.formula)
        flow, counts = decided.flow, spectrum.edge_hit_counts
        column = int(flow.edge[edge])
        ends = f"{where(flow, int(flow.source[edge]), spectrum)} to {where(flow, int(flow.target[edge]), spectrum)}"
        sentences.append(f"The most suspicious edge here leads from {ends}; {traversed(counts, column)}.")
        ef, ep = int(counts.ef[column]), int(counts.ep[column])
        put_in = f"{ef} / sqrt({counts.failed} * ({ef} + {ep})) = {suspect.score:.6g}"
        return Explanation(headline(report, suspect), tuple(sentences), INFO.formula, put_in)
