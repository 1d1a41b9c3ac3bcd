"""The techniques that are not formulas: their descriptions, and where their classes are.

This module has only descriptions. Most techniques need scipy, and a ranking by a formula should not wait for that, so
their modules are imported on demand.
"""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name

from suspectra.base.technique_info import COUNTS, DEPENDENCES, EDGES, EXPERIMENTS, LINES, PATHS, VALUES, TechniqueInfo
from suspectra.techniques.technique import Technique


@dataclass(frozen=True)
class CatalogueEntry:
    """A technique that is not loaded yet."""

    info: TechniqueInfo  # its description
    place: str  # module and class, as `module:Class`

    def load(self) -> type[Technique]:
        """Import the class, whose keyword arguments are the technique's hyper-parameters."""
        technique: type[Technique] = resolve_name(self.place)
        return technique


EVIDENCE = TechniqueInfo(
    "evidence",
    "All evidence",
    "evidence",
    "Suspectra, after Kulczyński 1927",
    "D + S + w C; D = 1 if few changed and it did; S = highest K of it and its branches;"
    " K = .55 r + .45 ef / (ef + ep); r = share of failing tests, each weighing 1 / its lines;"
    " C = r of its change; w = max(0.3 / changes, 0.1)."
    " If equal: K; failures there; return, decision, other; least executed function",
    LINES,
    "The default, with far fewer ties than a formula. Statements that a formula leaves equal are ordered by branches,"
    " tracebacks, kinds of statements and functions, as far as the evidence has them. It also finds what runs at"
    " import, such as a table or a regular expression, by the tests that read it.",
    uses=EDGES,
)
CP = TechniqueInfo(
    "cp",
    "CP",
    "control flow",
    "Zhang, Chan, Tse, Jiang & Wang 2009",
    "BR(b) = Σ BR(k) * W(b, k) over the edges b → k, W its share of the Δ of all edges into k;"
    " for an exit block BR(b) = Σ Δ of the edges into it; Δ = (failed - passed) / (failed + passed)",
    EDGES,
    "Looks for the origin of a bad state, not for the place where it shows. Good at breaking the ties of a formula;"
    " weak on its own if the edges into a block almost cancel out.",
)
BRANCH = TechniqueInfo(
    "branch",
    "Branch",
    "control flow",
    "Santelices, Jones, Yu & Harrold 2009",
    "ef / sqrt(F * (ef + ep))",
    EDGES,
    "Ochiai on branches: a statement is as suspicious as the most suspicious edge into or out of its block.",
)
CBI = TechniqueInfo(
    "cbi",
    "CBI",
    "predicate",
    "Liblit, Naik, Zheng, Aiken & Jordan 2005",
    "2 / (1 / Increase + log(F) / log(Ft)), Increase = Failure - Context, Failure = Ft / (Ft + Pt),"
    " Context = Fo / (Fo + Po); t when true, o when evaluated",
    EDGES,
    "For decisions that go wrong: which outcome makes a failure more likely than only reaching the decision does.",
)
SOBER = TechniqueInfo(
    "sober",
    "SOBER",
    "predicate",
    "Liu, Fei, Yan, Han & Midkiff 2006",
    "log(σ / (sqrt(m) * φ(Z))), Z = (mean bias of the m failed runs - mean bias of the passed runs) / (σ / sqrt(m)),"
    " bias = true / evaluated, σ of the passed runs",
    COUNTS,
    "For decisions that are taken the wrong number of times: it needs to know how often, not only whether.",
)
NEAREST_NEIGHBOUR = TechniqueInfo(
    "nn-perm",
    "NN/Perm",
    "nearest neighbour",
    "Renieris & Reiss 2003",
    "share of the failed runs whose difference from their nearest passed run contains the statement",
    COUNTS,
    "For a failing test with a similar passing one: shows code whose order by frequency differs between the two.",
)
SBBFL = TechniqueInfo(
    "sbbfl",
    "SBBFL",
    "behaviour",
    "Henderson & Podgurski 2018",
    "Relative F1, or another measure, of a subgraph of the control flow; ef and ep count tests that traverse all of it",
    EDGES,
    "Shows which parts of the control flow go wrong together, as regions instead of lines.",
)

SWITCHING = TechniqueInfo(
    "switching",
    "Switching",
    "experiment",
    "Zhang, Gupta & Gupta 2006",
    "Ochiai + the share of the failing tests that pass when some decision of the statement comes out the other way",
    EXPERIMENTS,
    "Strong if a condition is wrong: failing tests are run again with one decision switched. Needs `suspectra"
    " investigate`; statements that it has not tried yet are ranked by Ochiai.",
)
INVESTIGATION = TechniqueInfo(
    "investigation",
    "Investigation",
    "experiment",
    "Suspectra",
    "L^(q^2) / (rank by All evidence)^1.4, times L^(q^2 / 2) for each further kind that repairs;"
    " q = r / F - b / min(F, P): the best alteration repairs r of F failing, breaks b of P passing tests;"
    " L = (N + 29) / (2 n + a): n of N statements have no lower q;"
    " a: 2 decision, 8 value, 0 mutant or shift, -1 accepted",
    EXPERIMENTS,
    "The combination of all experiments: strong wherever one alteration makes failing tests pass. Needs `suspectra"
    " investigate`; what no experiment repairs is ranked by All evidence.",
    uses=EDGES,
)
VALUE_REPLACEMENT = TechniqueInfo(
    "value-replacement",
    "Value replacement",
    "experiment",
    "Jeffrey, Gupta & Gupta 2008",
    "the number of failing tests that pass with another value in the place of one that the statement assigns + Ochiai",
    EXPERIMENTS,
    "Strong if a wrong value is computed once: failing tests are run again with other values. Needs `suspectra"
    " investigate --technique value-replacement`; statements that it has not tried yet are ranked by Ochiai.",
)
MUSE = TechniqueInfo(
    "muse",
    "MUSE",
    "experiment",
    "Moon, Kim, Kim & Yoo 2014",
    "1 + the highest f2p(m) / F - p2f(m) / e(m) of the mutants m of the statement that repair a failing test, if that"
    " is above 0; f2p(m) failing tests pass with m, and p2f(m) of the e(m) passing tests that are run with it fail."
    " Other statements: Ochiai",
    EXPERIMENTS,
    "Strong if a small change would correct the fault: tests are run with mutants, one operator, constant, variable or"
    " statement changed at a time. Needs `suspectra investigate`.",
)
METALLAXIS = TechniqueInfo(
    "metallaxis",
    "Metallaxis",
    "experiment",
    "Papadakis & Le Traon 2015",
    "the highest kf / sqrt(F * (kf + kp)) of the mutants of the statement; kf failing tests pass or fail in another"
    " way, kp passing tests fail",
    EXPERIMENTS,
    "Finds statements whose mutants change the results of the same tests as the fault, also where no mutant corrects"
    " it; needs far more runs than MUSE. Needs `suspectra investigate`; statements without such a mutant are ranked by"
    " Ochiai, behind the others.",
)
VALUE_PREDICATES = TechniqueInfo(
    "value-predicates",
    "Value predicates",
    "predicate",
    "Liblit, Naik, Zheng, Aiken & Jordan 2005; Smytzek & Zeller 2022",
    "the highest Ochiai score of the statement and its predicates; a predicate that is true in f' of F' observed"
    " failing tests there has ef * f' / F' and ep * (p' + 1/2) / (P' + 1/2) for ef and ep; p' = max(true in so many of"
    " P' passing tests, P' * share of groups of f' of these with such a predicate)",
    VALUES,
    "Strong if the failing tests execute the same statements as passing ones, but with other values: shows which of two"
    " numbers is less, signs, types and lengths. Needs `suspectra investigate --technique value-predicates`.",
)

SLICE = TechniqueInfo(
    "slice",
    "Slice",
    "dependence",
    "Agrawal & Horgan 1990",
    "2 × the share of the traced failing tests whose failure depends on the statement + Ochiai; if equal, the fewest"
    " dependences between",
    DEPENDENCES,
    "Leaves out what has nothing to do with the failure: a failing test is traced, and only what its failure depends on"
    " ranks first. Needs `suspectra slice --failure`; without traces it is Ochiai.",
)

_BY_REPORTS = (
    "1 + the mean of 1 / place over the reports about failing tests; if equal, and where no report names it, Ochiai"
)
NEAREST_PATH = TechniqueInfo(
    "nearest-path",
    "Nearest path",
    "paths",
    "Wang & Roychoudhury 2005",
    _BY_REPORTS,
    PATHS,
    "Shows where failing tests part from the passing tests that go most nearly the same way. Needs `suspectra paths"
    " TEST`; without it, it is Ochiai.",
)
APG = TechniqueInfo(
    "apg",
    "Automated path generation",
    "paths",
    "Wang & Roychoudhury 2005",
    _BY_REPORTS,
    PATHS,
    "Shows where failing tests part from runs that pass and were made for that, with forced decisions or other inputs."
    " Needs `suspectra paths TEST --technique apg`; without it, it is Ochiai.",
)
CAUSE_TRANSITIONS = TechniqueInfo(
    "cause-transitions",
    "Cause transitions",
    "paths",
    "Cleve & Zeller 2005",
    _BY_REPORTS,
    PATHS,
    "Shows where the values that make the difference to a passing test become others. Needs `suspectra paths TEST"
    " --technique cause-transitions`; without it, it is Ochiai.",
)

CATALOGUE: dict[str, CatalogueEntry] = {
    entry.info.name: entry
    for entry in (
        CatalogueEntry(EVIDENCE, "suspectra.techniques.all_evidence:AllEvidence"),
        CatalogueEntry(CP, "suspectra.techniques.control_flow.cp:CP"),
        CatalogueEntry(BRANCH, "suspectra.techniques.control_flow.branch:Branch"),
        CatalogueEntry(CBI, "suspectra.techniques.control_flow.cbi:CBI"),
        CatalogueEntry(SOBER, "suspectra.techniques.control_flow.sober:Sober"),
        CatalogueEntry(VALUE_PREDICATES, "suspectra.techniques.experiments.value_predicates:ValuePredicates"),
        CatalogueEntry(NEAREST_NEIGHBOUR, "suspectra.techniques.control_flow.nearest_neighbour:NearestNeighbour"),
        CatalogueEntry(SBBFL, "suspectra.techniques.control_flow.sbbfl:SBBFL"),
        CatalogueEntry(SWITCHING, "suspectra.techniques.experiments.switching:Switching"),
        CatalogueEntry(MUSE, "suspectra.techniques.experiments.muse:Muse"),
        CatalogueEntry(METALLAXIS, "suspectra.techniques.experiments.metallaxis:Metallaxis"),
        CatalogueEntry(INVESTIGATION, "suspectra.techniques.experiments.investigation:Investigation"),
        CatalogueEntry(VALUE_REPLACEMENT, "suspectra.techniques.experiments.value_replacement:ValueReplacement"),
        CatalogueEntry(SLICE, "suspectra.techniques.experiments.slicing:Slicing"),
        CatalogueEntry(NEAREST_PATH, "suspectra.techniques.experiments.path_reports:ByNearestPath"),
        CatalogueEntry(APG, "suspectra.techniques.experiments.path_reports:ByGeneratedPaths"),
        CatalogueEntry(CAUSE_TRANSITIONS, "suspectra.techniques.experiments.path_reports:ByCauseTransitions"),
    )
}
