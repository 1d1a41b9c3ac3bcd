"""Reports: elements in the order in which to examine them, with explanations.

A report knows its technique as an `Explainer` only, so techniques import reports, and never the other way round. What
only some techniques have is in subclasses of reports, which `suspectra.techniques.technique.own_report` asks for by
name.
"""

from suspectra.report.functions import FunctionLevels, SuspectFunction
from suspectra.report.levels import SIGNIFICANT_DIGITS, comparable, round_significant
from suspectra.report.pair_report import PairReport
from suspectra.report.ranked_report import Explainer, RankedReport, ReportT
from suspectra.report.subgraph_report import Subgraph, SubgraphReport
from suspectra.report.suspect import Explanation, Suspect, changed_words

__all__ = [
    "SIGNIFICANT_DIGITS",
    "Explainer",
    "Explanation",
    "FunctionLevels",
    "PairReport",
    "RankedReport",
    "ReportT",
    "Subgraph",
    "SubgraphReport",
    "Suspect",
    "SuspectFunction",
    "changed_words",
    "comparable",
    "round_significant",
]
