"""Branch: Ochiai on control-flow edges (Santelices, Jones, Yu & Harrold 2009)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suspectra.program import Program
from suspectra.program.control_flow import control_flow
from suspectra.report import Explanation, RankedReport
from suspectra.spectrum import Spectrum
from suspectra.techniques.catalogue import BRANCH as INFO
from suspectra.techniques.flow_report import Deciding, FlowReport, headline, traversed, where
from suspectra.techniques.formulas import in_words, make_formula, require_failure
from suspectra.techniques.technique import Technique


@dataclass(frozen=True)
class Branch(Technique):
    """Score edges, and give each score to the statements of the blocks the edge joins."""

    info = INFO

    def localize(self, spectrum: Spectrum, program: Program | None = None) -> RankedReport:
        """Rank statements by the most suspicious edge at their blocks."""
        require_failure(spectrum)
        spectrum, flow = control_flow(INFO.title, spectrum, program)
        known = np.flatnonzero(flow.edge >= 0)
        score = np.full(len(flow.edge), np.nan)
        score[known] = make_formula("ochiai").score(spectrum.edge_hit_counts)[flow.edge[known]]
        of_block = np.full(flow.blocks, np.nan)
        for ends in (flow.source, flow.target):
            np.fmax.at(of_block, ends[known], score[known])
        of_element = flow.over_elements(of_block, len(spectrum.elements))
        return FlowReport.of(self, spectrum, of_element, flow.problems, Deciding(flow, of_block, score))

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """The edge that decides, with its counts."""
        suspect, spectrum = report.suspect(position), report.spectrum
        sentences = [in_words(suspect.ef, suspect.ep, spectrum.counts)]
        edge = report.details.edge_at(suspect.element)
        if edge is None:
            return Explanation(headline(report, suspect), (*sentences, "No edge leads to it or from it."), INFO.formula)
        flow, counts = report.details.flow, spectrum.edge_hit_counts
        column = int(flow.edge[edge])
        ends = f"{where(flow, int(flow.source[edge]), spectrum)} to {where(flow, int(flow.target[edge]), spectrum)}"
        sentences.append(f"The most suspicious edge here leads from {ends}; {traversed(counts, column)}.")
        ef, ep = int(counts.ef[column]), int(counts.ep[column])
        put_in = f"{ef} / sqrt({counts.failed} * ({ef} + {ep})) = {suspect.score:.6g}"
        return Explanation(headline(report, suspect), tuple(sentences), INFO.formula, put_in)
