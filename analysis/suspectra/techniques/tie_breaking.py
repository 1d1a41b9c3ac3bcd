"""Breaking the ties of one technique by another, as paper 000 (§4) suggests."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.technique_info import TechniqueInfo
from suspectra.program import Program
from suspectra.report import Explanation, RankedReport
from suspectra.spectrum import Spectrum
from suspectra.techniques.technique import Technique, own_report


@dataclass(frozen=True, eq=False, kw_only=True)
class TieBrokenReport(RankedReport):
    """A ranking whose ties are broken by another ranking.

    Parameters
    ----------
    first, second : RankedReport
        The ranking whose ties are broken, and the one that breaks them.

    Examples
    --------
    >>> from suspectra.techniques import make_technique
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> report = make_technique("ochiai", break_ties="dstar").localize(spectrum)
    >>> report.first.technique.name, report.second.technique.name
    ('ochiai', 'dstar')
    """

    first: RankedReport
    second: RankedReport

    @property
    def without(self) -> tuple[str, ...]:
        """What either technique had to do without."""
        return tuple(dict.fromkeys([*self.first.without, *self.second.without]))

    @property
    def tie_of_level(self) -> Ints:
        """The ties of the first ranking."""
        of_first = np.zeros(len(self.level_score), np.int64)
        ranked = np.flatnonzero(self.level >= 0)
        of_first[self.level[ranked]] = self.first.ties_of(ranked)
        return of_first


@dataclass(frozen=True)
class TieBroken(Technique):
    """Rank by one technique, and break its ties by another.

    Scores are those of the first technique. Statements that no test executes remain tied.

    Parameters
    ----------
    technique : Technique
        The technique whose scores are shown.
    breaker : Technique
        The technique that orders statements of equal rank.

    Examples
    --------
    >>> from suspectra.techniques import make_technique
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 0], [0, 0, 1]], failed=[True, True, False])
    >>> tarantula = make_technique("tarantula").localize(spectrum)
    >>> both = TieBroken(tarantula.technique, make_technique("ochiai")).localize(spectrum)
    >>> tarantula.rank_worst.tolist(), both.rank_worst.tolist(), both.technique.name
    ([2, 2, 3], [1, 2, 3], 'tarantula+ochiai')
    """

    technique: Technique
    breaker: Technique

    @property
    def info(self) -> TechniqueInfo:
        """The first technique's description, with the names of both."""
        own, other = self.technique.info, self.breaker.info
        return replace(
            own,
            name=f"{own.name}+{other.name}",
            title=f"{own.title}, ties by {other.title}",
            needs=own.needs | other.needs,
            uses=own.uses | other.uses,
        )

    @property
    def clone_failed(self) -> bool:
        """Whether the first technique clones failed tests."""
        return self.technique.clone_failed

    @property
    def stages(self) -> tuple[Technique, ...]:
        """The stages of the first technique, then this one."""
        return (*self.technique.stages, self)

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> TieBrokenReport:
        """Rank by both techniques."""
        own = other = previous
        if isinstance(previous, TieBrokenReport) and previous.technique == self:
            own, other = previous.first, previous.second
        return self.order(
            self.technique.localize(spectrum, program, own), self.breaker.localize(spectrum, program, other)
        )

    def order(self, report: RankedReport, breaker: RankedReport) -> TieBrokenReport:
        """Break the ties of the first report by the second.

        Parameters
        ----------
        report, breaker : RankedReport
            Two rankings of the same spectrum.

        Returns
        -------
        TieBrokenReport
            The first ranking, with its scores, and fewer ties.

        Examples
        --------
        >>> from suspectra.techniques import make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 0], [0, 0, 1]], failed=[True, True, False])
        >>> tarantula, ochiai = make_technique("tarantula"), make_technique("ochiai")
        >>> report = TieBroken(tarantula, ochiai).order(tarantula.localize(spectrum), ochiai.localize(spectrum))
        >>> report.rank_worst.tolist()
        [1, 2, 3]
        """
        counts = report.spectrum.counts
        executed = counts.ef + counts.ep > 0
        last = int(breaker.level.max(initial=0)) + 1
        within = np.where(executed, breaker.level, last)
        pairs = report.level.astype(np.int64) * (last + 1) + within
        candidates = report.level >= 0
        distinct, index = np.unique(pairs[candidates], return_inverse=True)
        level = np.full(len(pairs), -1, np.int32)
        level[candidates] = index
        score = report.level_score[distinct // (last + 1)]
        notes = (*report.notes, *breaker.notes)
        broken = TieBrokenReport(self, report.spectrum, level, score, notes, first=report, second=breaker)
        return broken.with_first_function()

    def reason(self, report: RankedReport, element: int) -> str:
        """The first technique's."""
        return self.technique.reason(own_report(report, TieBrokenReport).first, element)

    def difference(self, report: RankedReport, better: int, worse: int) -> str:
        """What the first technique says; where it leaves them equal, what the second does."""
        ranked = own_report(report, TieBrokenReport)
        part = ranked.first if ranked.first.level[better] != ranked.first.level[worse] else ranked.second
        return part.technique.difference(part, better, worse)

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """The first technique's reasons, then the second's."""
        element = int(report.order[position])
        ranked = own_report(report, TieBrokenReport)
        own, other = ranked.first, ranked.second
        first, second = (part.explain(int(part.position[element])) for part in (own, other))
        suspect = report.suspect(position)
        tie = f", tied with {suspect.tied - 1} more" if suspect.tied > 1 else ""
        shared = own.suspect_of(element).tied
        broken: tuple[str, ...] = ()
        if shared > 1:
            result = "orders them" if suspect.tied < shared else "can't tell them apart either"
            names = self.technique.info.title, self.breaker.info.title
            sentence = f"{shared} statements share the rank by {names[0]}; {names[1]} {result}."
            broken = (sentence, *second.sentences[1:])
        return Explanation(
            f"Suspect {suspect.rank_best} of {len(report)}{tie}: {self.technique.info.title} {suspect.score:.4g}",
            (*first.sentences, *broken),
            first.formula,
            first.substituted,
        )
