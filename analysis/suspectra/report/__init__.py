"""Reports: elements in the order in which to examine them, with explanations."""

from suspectra.report.levels import SIGNIFICANT_DIGITS, comparable, round_significant
from suspectra.report.pair_report import PairReport
from suspectra.report.ranked_report import Explainer, RankedReport, ReportT
from suspectra.report.subgraph_report import Subgraph, SubgraphReport
from suspectra.report.suspect import Explanation, Suspect, changed_words

__all__ = [
    "SIGNIFICANT_DIGITS",
    "Explainer",
    "Explanation",
    "PairReport",
    "RankedReport",
    "ReportT",
    "Subgraph",
    "SubgraphReport",
    "Suspect",
    "changed_words",
    "comparable",
    "round_significant",
]
