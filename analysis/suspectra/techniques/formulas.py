"""Spectrum-based risk evaluation formulas, and cloning of failed tests as a switch on any of them.

The module has the 33 formulas of paper 004 (Table 1), further popular ones, and the measures of paper 003. A formula
depends only on the four counts of an element, so it is computed once for each distinct pair (ef, ep).

Cloning is applied at the same point: with c = P / F, two counts are multiplied before the formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from suspectra.base.arrays import Floats
from suspectra.base.english import every
from suspectra.base.errors import NothingToRank, Problem, UsageError
from suspectra.base.technique_info import LINES, TechniqueInfo
from suspectra.program import Program
from suspectra.report import Explanation, PairReport, RankedReport, comparable
from suspectra.spectrum import Counts, Spectrum, distinct_pairs
from suspectra.techniques.technique import Technique


@dataclass(frozen=True, eq=False)
class Four:
    """The four counts as real numbers: the input of a formula.

    Cloning makes them fractions (paper 004, Notations 2.2 to 2.5).
    """

    # failing and passing tests that execute each column; shape (n,)
    ef: Floats
    ep: Floats
    # failing and passing tests that do not; shape (n,)
    nf: Floats
    np: Floats
    # the numbers of all failing and all passing tests
    F: float
    P: float

    @classmethod
    def from_counts(cls, counts: Counts, clone_failed: bool = False) -> Four:
        """Convert the counts of a spectrum.

        The same numbers, unless tests are cloned.
        """
        c = counts.passed / counts.failed if clone_failed and counts.passed and counts.failed else 1.0
        ef, nf = np.asarray(counts.ef * c, np.float64), np.asarray(counts.nf * c, np.float64)
        return cls(ef, counts.ep.astype(float), nf, counts.np.astype(float), counts.failed * c, counts.passed)


Score = Callable[..., Floats]  # takes a Four, and the formula's own parameters as keywords


@dataclass(frozen=True)
class FormulaSpec:
    """A published formula."""

    info: TechniqueInfo  # its description
    score: Score  # computes the suspiciousness of every column from the four counts
    parameters: dict[str, float] = field(default_factory=dict, hash=False)  # defaults of its own parameters by name


FORMULAS: dict[str, FormulaSpec] = {}


def formula(
    name: str, title: str, text: str, paper: str, *, group: str = "", advice: str = "", **parameters: float
) -> Callable[[Score], Score]:
    """Register a scoring function under its name.

    Parameters
    ----------
    name : str
        The name by which it is selected: lower case with hyphens.
    title : str
        The name in the literature.
    text : str
        The formula over ``ef``, ``ep``, ``nf``, ``np``, ``F`` and ``P``.
    paper : str
        Who published it.
    group : str, optional
        Formulas of one group rank a single fault alike (paper 004, Table 1).
    advice : str, optional
        When to use it; empty for formulas that are only there for comparison.
    **parameters : float
        Defaults of its own parameters, passed to the function as keywords.

    Returns
    -------
    callable
        A decorator that returns the function unchanged.

    Examples
    --------
    >>> @formula("only-failing", "Only failing", "ef - ep", "nobody")
    ... def only_failing(n):
    ...     return n.ef - n.ep
    >>> make_formula("only-failing").score(Counts(np.array([2]), np.array([5]), failed=2, passed=5)).tolist()
    [-3.0]
    >>> del FORMULAS["only-failing"]
    """

    def register(score: Score) -> Score:
        info = TechniqueInfo(name, title, "formula", paper, text, LINES, advice, group)
        FORMULAS[name] = FormulaSpec(info, score, parameters)
        return score

    return register


def ratio(above: Floats, below: Floats | float, at_zero: Floats | float = 0.0) -> Floats:
    """Divide; 0/0 is `at_zero`, any other division by 0 gives infinity.

    Parameters
    ----------
    above, below : ndarray of float64, shape (n,)
        Numerator and denominator; either may be a scalar.
    at_zero : ndarray of float64, shape (n,), or float
        The value of 0/0.

    Returns
    -------
    ndarray of float64, shape (n,)
        May be infinite.

    Examples
    --------
    >>> ratio(np.array([1.0, 0.0, 3.0]), np.array([2.0, 0.0, 0.0])).tolist()
    [0.5, 0.0, inf]
    """
    above, below = np.broadcast_arrays(np.asarray(above, float), np.asarray(below, float))
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = above / below
    return np.where((above == 0) & (below == 0), at_zero, quotient)


NAISH = "Naish, Lee & Ramamohanarao 2011"
HENDERSON = "Henderson, Küçük & Podgurski 2019"


@formula(
    "naish1",
    "Naish1",
    "-1 if ef < F, else np",
    NAISH,
    group="ER1",
    advice="Optimal for a program with one deterministic fault; useless once there are two.",
)
def _naish1(n: Four) -> Floats:
    return np.where(n.nf > 0, -1.0, n.np)


@formula(
    "naish2",
    "Naish2",
    "ef - ep / (P + 1)",
    NAISH,
    group="ER1",
    advice="Optimal for a single fault, and milder than Naish1 with several.",
)
@formula(
    "op2",
    "Op2",
    "ef - ep / (P + 1)",
    NAISH,
    group="ER1",
    advice="Optimal for a single fault; the name most tools use for Naish2.",
)
def _naish2(n: Four) -> Floats:
    return n.ef - n.ep / (n.P + 1)


@formula("anderberg", "Anderberg", "ef / (ef + 2 * (nf + ep))", "Anderberg 1973", group="ER2")
def _anderberg(n: Four) -> Floats:
    return ratio(n.ef, n.ef + 2 * (n.nf + n.ep))


@formula("dice", "Dice", "2 * ef / (ef + nf + ep)", "Dice 1945", group="ER2")
def _dice(n: Four) -> Floats:
    return ratio(2 * n.ef, n.ef + n.nf + n.ep)


@formula("goodman", "Goodman", "(2 * ef - nf - ep) / (2 * ef + nf + ep)", "Goodman & Kruskal 1954", group="ER2")
def _goodman(n: Four) -> Floats:
    return ratio(2 * n.ef - n.nf - n.ep, 2 * n.ef + n.nf + n.ep)


@formula("jaccard", "Jaccard", "ef / (ef + nf + ep)", "Jaccard 1901; Chen et al. 2002", group="ER2")
def _jaccard(n: Four) -> Floats:
    return ratio(n.ef, n.ef + n.nf + n.ep)


@formula("sorensen-dice", "Sørensen-Dice", "2 * ef / (2 * ef + nf + ep)", "Duarte et al. 1999", group="ER2")
def _sorensen_dice(n: Four) -> Floats:
    return ratio(2 * n.ef, 2 * n.ef + n.nf + n.ep)


@formula("cbi-inc", "CBI Inc.", "ef / (ef + ep) - F / (F + P)", "Liblit et al. 2005", group="ER3")
def _cbi_inc(n: Four) -> Floats:
    return ratio(n.ef, n.ef + n.ep) - n.F / (n.F + n.P)


@formula("qe", "qe", "ef / (ef + ep)", "Lee et al. 2009", group="ER3")
@formula(
    "sbi",
    "SBI",
    "ef / (ef + ep)",
    "Yu, Jones & Harrold 2008, after Liblit et al. 2005",
    group="ER3",
    advice="Statement-based isolation: the share of a line's runs that failed.",
)
def _qe(n: Four) -> Floats:
    return ratio(n.ef, n.ef + n.ep)


@formula(
    "tarantula",
    "Tarantula",
    "(ef / F) / (ef / F + ep / P)",
    "Jones, Harrold & Stasko 2002",
    group="ER3",
    advice="The classic, kept for comparison: it ranks first any line that one failing test reached by chance.",
)
def _tarantula(n: Four) -> Floats:
    failed, passed = ratio(n.ef, n.F), ratio(n.ep, n.P)
    return ratio(failed, failed + passed)


@formula("euclid", "Euclid", "sqrt(ef + np)", "Krause 1973", group="ER4")
def _euclid(n: Four) -> Floats:
    return np.sqrt(n.ef + n.np)


@formula("hamann", "Hamann", "(ef + np - nf - ep) / (F + P)", "Hamann 1961", group="ER4")
def _hamann(n: Four) -> Floats:
    return (n.ef + n.np - n.nf - n.ep) / (n.F + n.P)


@formula("hamming", "Hamming etc.", "ef + np", "Hamming 1950", group="ER4")
def _hamming(n: Four) -> Floats:
    return n.ef + n.np


@formula(
    "rogers-tanimoto",
    "Rogers & Tanimoto",
    "(ef + np) / (ef + np + 2 * (nf + ep))",
    "Rogers & Tanimoto 1960",
    group="ER4",
)
def _rogers_tanimoto(n: Four) -> Floats:
    return ratio(n.ef + n.np, n.ef + n.np + 2 * (n.nf + n.ep))


@formula("simple-matching", "Simple Matching", "(ef + np) / (F + P)", "da Silva Meyer et al. 2004", group="ER4")
def _simple_matching(n: Four) -> Floats:
    return (n.ef + n.np) / (n.F + n.P)


@formula("sokal", "Sokal", "2 * (ef + np) / (2 * (ef + np) + nf + ep)", "Lourenço et al. 2004", group="ER4")
def _sokal(n: Four) -> Floats:
    return ratio(2 * (n.ef + n.np), 2 * (n.ef + n.np) + n.nf + n.ep)


@formula(
    "wong2",
    "Wong2",
    "ef - ep",
    "Wong et al. 2007",
    group="ER4",
    advice="Weak if there are many passing tests; cloning helps it most.",
)
def _wong2(n: Four) -> Floats:
    return n.ef - n.ep


@formula("binary", "Binary", "0 if ef < F, else 1", NAISH, group="ER5")
def _binary(n: Four) -> Floats:
    return np.where(n.nf > 0, 0.0, 1.0)


@formula("russell-rao", "Russell & Rao", "ef / (F + P)", "Russell & Rao 1940", group="ER5")
def _russell_rao(n: Four) -> Floats:
    return n.ef / (n.F + n.P)


@formula("wong1", "Wong1", "ef", "Wong et al. 2007", group="ER5")
def _wong1(n: Four) -> Floats:
    return n.ef


@formula(
    "rogot1",
    "Rogot1",
    "1/2 * (ef / (2 * ef + nf + ep) + np / (2 * np + nf + ep))",
    "Rogot & Goldberg 1966",
    group="ER6",
)
def _rogot1(n: Four) -> Floats:
    wrong = n.nf + n.ep
    return (ratio(n.ef, 2 * n.ef + wrong, 0.5) + ratio(n.np, 2 * n.np + wrong, 0.5)) / 2


@formula(
    "scott",
    "Scott",
    "(4 * ef * np - 4 * nf * ep - (nf - ep)^2) / ((2 * ef + nf + ep) * (2 * np + nf + ep))",
    "Scott 1955",
    group="ER6",
)
def _scott(n: Four) -> Floats:
    wrong = n.nf + n.ep
    above = 4 * n.ef * n.np - 4 * n.nf * n.ep - (n.nf - n.ep) ** 2
    return ratio(above, (2 * n.ef + wrong) * (2 * n.np + wrong), 1.0)


@formula("ample", "AMPLE", "abs(ef / F - ep / P)", "Dallmeier, Lindig & Zeller 2005")
def _ample(n: Four) -> Floats:
    return np.abs(_ample2(n))


@formula("ample2", "AMPLE2", "ef / F - ep / P", NAISH)
def _ample2(n: Four) -> Floats:
    return ratio(n.ef, n.F) - ratio(n.ep, n.P)


@formula(
    "arithmetic-mean",
    "Arithmetic Mean",
    "(2 * ef * np - 2 * nf * ep) / ((ef + ep) * (np + nf) + F * P)",
    "Rogot & Goldberg 1966",
)
def _arithmetic_mean(n: Four) -> Floats:
    return ratio(2 * (n.ef * n.np - n.nf * n.ep), (n.ef + n.ep) * (n.np + n.nf) + n.F * n.P, 1.0)


@formula("cohen", "Cohen", "(2 * ef * np - 2 * nf * ep) / ((ef + ep) * P + (nf + np) * F)", "Cohen 1960")
def _cohen(n: Four) -> Floats:
    return ratio(2 * (n.ef * n.np - n.nf * n.ep), (n.ef + n.ep) * n.P + (n.nf + n.np) * n.F, 1.0)


@formula("fleiss", "Fleiss", "(4 * ef * np - 4 * nf * ep - (nf - ep)^2) / (2 * F + 2 * P)", "Fleiss 1965")
def _fleiss(n: Four) -> Floats:
    return (4 * n.ef * n.np - 4 * n.nf * n.ep - (n.nf - n.ep) ** 2) / (2 * (n.F + n.P))


@formula("kulczynski1", "Kulczynski1", "ef / (nf + ep)", "Lourenço et al. 2004")
def _kulczynski1(n: Four) -> Floats:
    return ratio(n.ef, n.nf + n.ep)


@formula(
    "kulczynski2",
    "Kulczynski2",
    "1/2 * (ef / F + ef / (ef + ep))",
    "Lourenço et al. 2004",
    advice="Robust with few failing tests.",
)
def _kulczynski2(n: Four) -> Floats:
    return (ratio(n.ef, n.F) + ratio(n.ef, n.ef + n.ep)) / 2


@formula("m1", "M1", "(ef + np) / (nf + ep)", "Everitt 1978")
def _m1(n: Four) -> Floats:
    return ratio(n.ef + n.np, n.nf + n.ep)


@formula("m2", "M2", "ef / (ef + np + 2 * (nf + ep))", "Everitt 1978")
def _m2(n: Four) -> Floats:
    return ratio(n.ef, n.ef + n.np + 2 * (n.nf + n.ep))


@formula(
    "ochiai",
    "Ochiai",
    "ef / sqrt(F * (ef + ep))",
    "Ochiai 1957; Abreu et al. 2006",
    advice="The best known formula: good with one fault or several, and without odd results. It needs only lines.",
)
def _ochiai(n: Four) -> Floats:
    return ratio(n.ef, np.sqrt(n.F * (n.ef + n.ep)))


@formula(
    "wong3",
    "Wong3",
    "ef - h, h = ep up to 2, 2 + 0.1 * (ep - 2) up to 10, 2.8 + 0.001 * (ep - 10) beyond",
    "Wong et al. 2007",
)
def _wong3(n: Four) -> Floats:
    h = np.where(n.ep <= 2, n.ep, np.where(n.ep <= 10, 2 + 0.1 * (n.ep - 2), 2.8 + 0.001 * (n.ep - 10)))
    return n.ef - h


@formula(
    "dstar",
    "DStar",
    "ef^exponent / (nf + ep)",
    "Wong et al. 2014",
    exponent=2.0,
    advice="Strong with one fault. A line that exactly the failing tests execute scores infinity.",
)
def _dstar(n: Four, exponent: float) -> Floats:
    return ratio(n.ef**exponent, n.nf + n.ep)


@formula("barinel", "Barinel", "1 - ep / (ep + ef)", "Abreu, Zoeteweij & van Gemund 2009")
def _barinel(n: Four) -> Floats:
    return 1 - ratio(n.ep, n.ep + n.ef, 1.0)


@formula("zoltar", "Zoltar", "ef / (ef + nf + ep + 10000 * nf * ep / ef)", "Gonzalez 2007")
def _zoltar(n: Four) -> Floats:
    return ratio(n.ef, n.ef + n.nf + n.ep + ratio(10000 * n.nf * n.ep, n.ef))


@formula("ochiai2", "Ochiai2", "ef * np / sqrt((ef + ep) * (np + nf) * F * P)", "Ochiai 1957")
def _ochiai2(n: Four) -> Floats:
    # without passed tests the limit is 1 for lines every failing test executes, and 0 for the others
    alone = np.where(n.nf == 0, 1.0, 0.0) if n.P == 0 else 0.0
    return ratio(n.ef * n.np, np.sqrt((n.ef + n.ep) * (n.np + n.nf) * n.F * n.P), alone)


@formula("overlap", "Overlap", "ef / min(ef, nf, ep)", "Krause 1973")
def _overlap(n: Four) -> Floats:
    return ratio(n.ef, np.minimum(n.ef, np.minimum(n.nf, n.ep)), 1.0)


@formula(
    "harmonic-mean",
    "Harmonic Mean",
    "(ef * np - nf * ep) * ((ef + ep) * (np + nf) + F * P) / ((ef + ep) * (np + nf) * F * P)",
    "Rogot & Goldberg 1966",
)
def _harmonic_mean(n: Four) -> Floats:
    split, totals = (n.ef + n.ep) * (n.np + n.nf), n.F * n.P
    # there is no limit where every test executes the line: the limits from either side differ
    return ratio((n.ef * n.np - n.nf * n.ep) * (split + totals), split * totals, -np.inf)


@formula(
    "geometric-mean",
    "Geometric Mean",
    "(ef * np - nf * ep) / sqrt((ef + ep) * (np + nf) * F * P)",
    "Maxwell & Pilliner 1968",
)
def _geometric_mean(n: Four) -> Floats:
    return ratio(n.ef * n.np - n.nf * n.ep, np.sqrt((n.ef + n.ep) * (n.np + n.nf) * n.F * n.P))


@formula("rogot2", "Rogot2", "1/4 * (ef / (ef + ep) + ef / F + np / P + np / (np + nf))", "Rogot & Goldberg 1966")
def _rogot2(n: Four) -> Floats:
    failed = ratio(n.ef, n.ef + n.ep) + ratio(n.ef, n.F)
    return (failed + ratio(n.np, n.P) + ratio(n.np, n.np + n.nf)) / 4


@formula(
    "crosstab",
    "Crosstab",
    "±χ²(ef, ep, nf, np) / (F + P), + if ef / F > ep / P",
    "Wong, Wei, Qi & Zhao 2008",
    advice="A statistical view: how certain it is that execution and failure are related.",
)
def _crosstab(n: Four) -> Floats:
    total = n.F + n.P
    chi = np.zeros_like(n.ef)
    for seen, outcome, side in (
        (n.ef, n.F, n.ef + n.ep),
        (n.ep, n.P, n.ef + n.ep),
        (n.nf, n.F, n.nf + n.np),
        (n.np, n.P, n.nf + n.np),
    ):
        expected = side * outcome / total
        chi = chi + ratio((seen - expected) ** 2, expected)
    return np.sign(n.ef * n.P - n.ep * n.F) * chi / total


@formula(
    "gp13",
    "GP13",
    "ef * (1 + 1 / (2 * ep + ef))",
    "Yoo 2012; Xie et al. 2013",
    advice="Found by genetic programming; optimal for a single fault.",
)
def _gp13(n: Four) -> Floats:
    return n.ef + ratio(n.ef, 2 * n.ep + n.ef)


@formula("f1", "F1", "2 * ef / (F + ef + ep)", HENDERSON)
def _f1(n: Four) -> Floats:
    return ratio(2 * n.ef, n.F + n.ef + n.ep)


def _lift(n: Four) -> Floats:
    """The share of failures among the tests that execute a line, minus the base rate F/(F+P)."""
    return ratio(n.ef, n.ef + n.ep) - n.F / (n.F + n.P)


@formula("relative-f1", "Relative F1", "2 * (ef + ep) / (F + ef + ep) * (ef / (ef + ep) - F / (F + P))", HENDERSON)
def _relative_f1(n: Four) -> Floats:
    return ratio(2 * (n.ef + n.ep), n.F + n.ef + n.ep) * _lift(n)


@formula("relative-ochiai", "Relative Ochiai", "sqrt((ef + ep) / F) * (ef / (ef + ep) - F / (F + P))", HENDERSON)
def _relative_ochiai(n: Four) -> Floats:
    return np.sqrt(ratio(n.ef + n.ep, n.F)) * _lift(n)


@formula("relative-jaccard", "Relative Jaccard", "ef / (F + ep) - F / (F + P)", HENDERSON)
def _relative_jaccard(n: Four) -> Floats:
    return ratio(n.ef, n.F + n.ep) - n.F / (n.F + n.P)


@dataclass(frozen=True)
class Formula(Technique):
    """Rank statements by a risk evaluation formula."""

    spec: FormulaSpec
    # clone the failed tests until they are as many as the passed ones (paper 004, §2.1.2): ef and nf are multiplied by
    # c = P/F, a rational number that is not rounded
    clone: bool = False
    parameters: tuple[tuple[str, float], ...] = ()  # values of the formula's own parameters, such as DStar's `exponent`

    @property
    def info(self) -> TechniqueInfo:
        """The formula's description."""
        return self.spec.info

    @property
    def clone_failed(self) -> bool:
        """Whether failed tests are cloned."""
        return self.clone

    def score(self, counts: Counts) -> Floats:
        """Compute the suspiciousness of every column.

        Of shape (n,). May be infinite, never NaN.
        """
        of, ef, ep = distinct_pairs(counts)
        return self._score(Counts(ef, ep, counts.failed, counts.passed))[of]

    def _score(self, counts: Counts) -> Floats:
        return self.spec.score(Four.from_counts(counts, self.clone), **dict(self.parameters))

    def localize(
        self,
        spectrum: Spectrum,
        program: Program | None = None,
        previous: RankedReport | None = None,
        *,
        unexecuted_last: bool = True,
    ) -> RankedReport:
        """Score every statement; the program's structure is not used."""
        require_failure(spectrum)
        pairs, counts = spectrum.pairs, spectrum.counts
        present = pairs.size > 0  # counts of pairs without candidates may be impossible by now
        scores = np.full(len(pairs), np.nan)
        scores[present] = self._score(Counts(pairs.ef[present], pairs.ep[present], counts.failed, counts.passed))
        return PairReport(self, spectrum, scores, unexecuted_last=unexecuted_last)

    def first_of(self, counts: Counts) -> int | None:
        """Find the first of some elements.

        Where it is in `counts`; None without elements.
        """
        of, ef, ep = distinct_pairs(counts)
        if not len(of):
            return None
        return int(comparable(self._score(Counts(ef, ep, counts.failed, counts.passed)))[of].argmax())

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """The counts in words, and the formula with its numbers."""
        s = report.suspect(position)
        counts = report.spectrum.counts
        cloned = Four.from_counts(
            Counts(np.zeros(0, np.int32), np.zeros(0, np.int32), counts.failed, counts.passed), self.clone
        )
        sentences = [in_words(s.ef, s.ep, counts)]
        if self.clone and cloned.F != counts.failed:
            sentences.append(
                f"Failed tests count {cloned.F / counts.failed:.4g} times each, so that they weigh as much as"
                f" the {counts.passed} passed ones."
            )
        c = cloned.F / counts.failed
        numbers = {"ef": s.ef * c, "ep": s.ep, "nf": s.nf * c, "np": s.np, "F": cloned.F, "P": cloned.P}
        substituted = substitute(self.info.formula, numbers | dict(self.parameters))
        tie = f", tied with {s.tied - 1} more" if s.tied > 1 else ""
        return Explanation(
            f"Suspect {s.rank_best} of {len(report)}{tie}: {self.info.title} {s.score:.4g}",
            tuple(sentences),
            self.info.formula,
            f"{substituted} = {s.score:.6g}",
        )


def substitute(formula_text: str, numbers: Mapping[str, float]) -> str:
    """Replace the names in a formula by numbers; return only the numbers where the formula is given in words."""
    names = set(re.findall(r"[^\W\d]\w*", formula_text)) - {"sqrt", "abs", "min"}
    if not names <= numbers.keys():
        return ", ".join(f"{name} {value:.6g}" for name, value in numbers.items()) + ": score"
    return re.sub(r"[^\W\d]\w*", lambda m: f"{numbers[m[0]]:.6g}" if m[0] in numbers else m[0], formula_text)


def in_words(ef: int, ep: int, counts: Counts, *, only_read: bool = False) -> str:
    """Say the four counts in a sentence.

    Parameters
    ----------
    ef, ep : int
        Failing and passing tests that execute the line.
    counts : Counts
        Those of the spectrum, for F and P.
    only_read : bool, optional
        Whether the tests read what the line defines, instead of executing it.

    Returns
    -------
    str
        A whole sentence.

    Examples
    --------
    >>> in_words(2, 1, Counts(np.array([2]), np.array([1]), failed=2, passed=5))
    'Both failing tests run it, 1 of 5 passing ones does.'
    >>> in_words(1, 5, Counts(np.array([1]), np.array([5]), failed=1, passed=5))
    'The failing test runs it, all 5 passing ones do.'
    >>> in_words(2, 0, Counts(np.array([2]), np.array([0]), failed=3, passed=5), only_read=True)
    'It runs once for all tests; 2 of 3 failing tests may read what it defines, no passing one may.'
    """
    if not ef and not ep:
        return "No test runs it."
    one, several = ("may read what it defines",) * 2 if only_read else ("runs it", "run it")
    failing = f"{_failing_tests(ef, counts.failed)} {one if counts.failed == 1 else several}"
    if ef == 1 < counts.failed and not only_read:
        failing = f"1 of {counts.failed:,} failing tests runs it"
    if not counts.passed:
        sentence = f"{failing}, no test passed."
    else:
        does, do = ("may", "may") if only_read else ("does", "do")
        sentence = f"{failing}, {_passing_tests(ep, counts.passed)} {does if ep < 2 else do}."
    return f"It runs once for all tests; {sentence}" if only_read else sentence[0].upper() + sentence[1:]


def _failing_tests(count: int, total: int) -> str:
    if count == total == 1:
        return "the failing test"
    if not count:
        return "no failing test"
    return f"{every(total)} failing tests" if count == total else f"{count:,} of {total:,} failing tests"


def _passing_tests(count: int, total: int) -> str:
    if not count:
        return "no passing one"
    if count == total == 1:
        return "the passing one"
    return f"{every(total)} passing ones" if count == total else f"{count:,} of {total:,} passing ones"


def require_failure(spectrum: Spectrum) -> None:
    """Refuse to rank without a failing test: the scores would mean nothing.

    Parameters
    ----------
    spectrum : Spectrum
        What is to be ranked.

    Raises
    ------
    NothingToRank
        When no test failed.

    Examples
    --------
    >>> require_failure(Spectrum.from_matrix([[1, 1, 0]], failed=[False]))
    Traceback (most recent call last):
    suspectra.base.errors.NothingToRank: no test failed (1 passed), so there is nothing to localize. Fix: …
    """
    if spectrum.counts.failed:
        return
    passed = spectrum.counts.passed
    cause = (
        f"no test failed ({passed} passed), so there is nothing to localize" if passed else "no test passed or failed"
    )
    raise NothingToRank(Problem("", "", cause, "record a run in which the test that shows the fault fails"))


def make_formula(name: str, parameters: Mapping[str, object] | None = None, *, clone_failed: bool = False) -> Formula:
    """Make a technique that ranks by a formula.

    Raises UsageError for a parameter the formula does not have, or one that is not a number.
    """
    spec = FORMULAS[name]
    chosen = dict(spec.parameters)
    for given, value in (parameters or {}).items():
        if given not in spec.parameters:
            known = ", ".join(spec.parameters) or "none"
            raise UsageError(Problem("", name, f"it has no parameter {given!r}", f"its parameters: {known}"))
        if not isinstance(value, (int, float)):
            raise UsageError(Problem("", name, f"{given} is {value!r}", "give a number"))
        chosen[given] = value
    return Formula(spec, clone_failed, tuple(chosen.items()))
