"""What every localization technique is: hyper-parameters, a name, and `localize`."""

from __future__ import annotations

from abc import ABC, abstractmethod

from suspectra.program import Program
from suspectra.report import Explanation, RankedReport, ReportT, Suspect
from suspectra.spectrum import Spectrum
from suspectra.technique_info import TechniqueInfo


class Technique(ABC):
    """A frozen object of hyper-parameters. Data comes in the call, so one object serves any spectrum.

    Examples
    --------
    >>> class Hits(Technique):
    ...     info = TechniqueInfo("hits", "Hits", "formula", "nobody", "ef")
    ...     def localize(self, spectrum, program=None, previous=None):
    ...         return RankedReport.from_scores(self, spectrum, spectrum.counts.ef.astype(float))
    ...     def explain(self, report, position):
    ...         return Explanation(f"{report.suspect(position).ef} failing tests execute it", ())
    >>> report = Hits().localize(Spectrum.from_matrix([[0, 1, 0], [1, 0, 1]], failed=[True, False]))
    >>> report.suspect(0).location.line, report.explain(0).headline
    (2, '1 failing tests execute it')
    """

    @property
    @abstractmethod
    def info(self) -> TechniqueInfo:
        """What a user wants to know of it."""

    @property
    def name(self) -> str:
        """The name it is selected by."""
        return self.info.name

    @property
    def clone_failed(self) -> bool:
        """Whether failed tests are cloned until they are as many as the passed ones."""
        return False

    @property
    def stages(self) -> tuple[Technique, ...]:
        """Techniques whose rankings are shown one after the other, each better than the one before.

        The last one is this technique. One that takes long on large programs names a quick one first, so that nobody
        has to wait for it; one whose result is refined step by step names itself with rising hyper-parameters.

        Returns
        -------
        tuple of Technique
            The first one needs lines alone, if there is more than one. This technique alone unless overridden.
        """
        return (self,)

    @abstractmethod
    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> RankedReport:
        """Score the spectrum's elements.

        Parameters
        ----------
        spectrum : Spectrum
            What to rank.
        program : Program, optional
            The flow graphs and sources, for techniques that need more than the spectrum.
        previous : RankedReport, optional
            Any report of a state before a change. It changes nothing but the time this takes: what a technique can
            take over from its own last report it does.

        Returns
        -------
        RankedReport
            All candidates of the spectrum, best first.

        Raises
        ------
        NothingToRank
            When the spectrum lacks what the technique needs.
        """

    @abstractmethod
    def explain(self, report: RankedReport, position: int) -> Explanation:
        """Say why the entry at a position of this technique's report stands there.

        Parameters
        ----------
        report : RankedReport
            One that :meth:`localize` returned.
        position : int
            Counted from 0, in the order of the report.

        Returns
        -------
        Explanation
            In words and numbers.
        """


def own_report(report: RankedReport, kind: type[ReportT]) -> ReportT:
    """A report as the kind that a technique makes, for explaining it.

    Parameters
    ----------
    report : RankedReport
        Any ranking.
    kind : type
        The class of the technique's own reports.

    Returns
    -------
    ReportT
        The same object.

    Raises
    ------
    TypeError
        When another technique made it.

    Examples
    --------
    >>> from suspectra.report import SubgraphReport
    >>> from suspectra.techniques import make_technique
    >>> report = make_technique("ochiai").localize(Spectrum.from_matrix([[1, 0]], failed=[True]))
    >>> own_report(report, RankedReport) is report
    True
    >>> own_report(report, SubgraphReport)
    Traceback (most recent call last):
    TypeError: a report of ochiai is no SubgraphReport
    """
    if not isinstance(report, kind):
        raise TypeError(f"a report of {report.technique.name} is no {kind.__name__}")
    return report


def headline(report: RankedReport, suspect: Suspect) -> str:
    """Rank, tie and score in one line.

    Parameters
    ----------
    report : RankedReport
        The ranking.
    suspect : Suspect
        One of its entries.

    Returns
    -------
    str
        Such as ``Suspect 1 of 20, tied with 2 more: Ochiai 0.71``.

    Examples
    --------
    >>> from suspectra.techniques import make_technique
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> report = make_technique("ochiai").localize(spectrum)
    >>> headline(report, report.suspect(1))
    'Suspect 2 of 3: Ochiai 0.7071'
    """
    tie = f", tied with {suspect.tied - 1} more" if suspect.tied > 1 else ""
    return f"Suspect {suspect.rank_best} of {len(report)}{tie}: {report.technique.info.title} {suspect.score:.4g}"
