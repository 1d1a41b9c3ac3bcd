"""The base class of localization techniques.

A technique is frozen. What it found before a change is in its previous report, which it gets as an argument: what
depends on functions, counts and runs that did not change is taken from there. A technique that ignores it is slower,
but right.

A slow technique has stages: the first is quick, the last is the technique itself. They are declared, and no iterator,
so that a caller knows at once whether a better ranking will follow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from suspectra.base.english import many
from suspectra.base.technique_info import TechniqueInfo
from suspectra.program import Program
from suspectra.report import Explanation, RankedReport, ReportT, Suspect
from suspectra.runs.experiment import KINDS
from suspectra.spectrum import Counts, Spectrum


class Technique(ABC):
    """A localization technique with its hyper-parameters. It is immutable, so one object serves any spectrum.

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
    >>> technique = report.technique
    >>> technique.name, technique.info.title, technique.clone_failed, technique.kinds, technique.stages == (technique,)
    ('hits', 'Hits', False, (), True)
    >>> technique.difference(report, 1, 0).partition(":")[0], technique.reason(report, 1)
    ('The score of program', '')
    >>> technique.first_of(report.spectrum.counts) is None
    True
    """

    @property
    @abstractmethod
    def info(self) -> TechniqueInfo:
        """A description for users."""

    @property
    def name(self) -> str:
        """The name by which it is selected."""
        return self.info.name

    @property
    def clone_failed(self) -> bool:
        """Whether failed tests are cloned until they are as many as the passed ones."""
        return False

    @property
    def stages(self) -> tuple[Technique, ...]:
        """Techniques whose rankings are shown one after the other, each better than the previous one.

        The last one is this technique. A technique that takes long on large programs has a quick one as first stage, so
        that nobody has to wait. One whose result is refined step by step has itself with increasing hyper-parameters.

        Returns
        -------
        tuple of Technique
            If there are several, the first one needs only lines. By default, only this technique.
        """
        return (self,)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of experiments that it needs, in the order in which they begin; empty for none."""
        return KINDS.get(self.name, ())

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
            A report of the state before a change. It has no influence on the result: a technique may reuse parts of its
            own last report to save time.

        Returns
        -------
        RankedReport
            All candidates of the spectrum, best first.

        Raises
        ------
        NothingToRank
            When the spectrum lacks what the technique needs.
        """

    def first_of(self, counts: Counts) -> int | None:
        """Find the first of some elements without a ranking, where their counts of tests are all that decides.

        Parameters
        ----------
        counts : Counts
            Of these elements; failing tests execute each of them.

        Returns
        -------
        int or None
            Where the first one is in `counts`, the lowest index of a tie. None, as by default, where only a ranking
            tells, or without elements.
        """
        return None

    def difference(self, report: RankedReport, better: int, worse: int) -> str:
        """Say why one candidate ranks before another: by its score, unless a technique knows more.

        Parameters
        ----------
        report : RankedReport
            One that :meth:`localize` returned.
        better, worse : int
            Elements; the second does not rank before the first.

        Returns
        -------
        str
            One sentence.
        """
        return score_difference(report, better, worse)

    def reason(self, report: RankedReport, element: int) -> str:
        """Say in one sentence why an element ranks before those after it.

        Parameters
        ----------
        report : RankedReport
            One that :meth:`localize` returned.
        element : int
            Its column in the spectrum.

        Returns
        -------
        str
            Empty unless overridden, and where the counts of tests say it.
        """
        return ""

    @abstractmethod
    def explain(self, report: RankedReport, position: int) -> Explanation:
        """Explain the rank of the entry at a position of this technique's report.

        Parameters
        ----------
        report : RankedReport
            A result of :meth:`localize`.
        position : int
            Counted from 0, in the order of the report.

        Returns
        -------
        Explanation
            Sentences and numbers.
        """


def own_report(report: RankedReport, kind: type[ReportT]) -> ReportT:
    """Check that a report is of the class that a technique makes.

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
        When it is of another class.

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
    """Say rank, tie and score in one line.

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


def score_difference(report: RankedReport, better: int, worse: int) -> str:
    """The scores of two candidates, and the tests that execute them.

    Parameters
    ----------
    report : RankedReport
        Any ranking.
    better, worse : int
        Elements; the second does not rank before the first.

    Returns
    -------
    str
        One sentence.

    Examples
    --------
    >>> from suspectra.techniques import make_technique
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> report = make_technique("ochiai").localize(spectrum)
    >>> for part in score_difference(report, 1, 0).split(": "):
    ...     print(part)
    The score of program:2 is 1, and that of program:1 is 0.7071
    1 failing test and 0 passing tests execute the first, 1 failing test and 1 passing test the other.
    """
    counts, names, scores = report.spectrum.counts, [], []
    for element in (better, worse):
        location = report.spectrum.elements.location(element)
        names.append(f"{location.file.rpartition('/')[2]}:{location.line}")
        scores.append(f"{report.level_score[report.level[element]]:.4g}")
    tests = [
        f"{many(int(counts.ef[element]), 'failing test')} and {many(int(counts.ep[element]), 'passing test')}"
        for element in (better, worse)
    ]
    if report.level[better] == report.level[worse]:
        return f"{names[0]} and {names[1]} have the same score, {scores[0]}."
    return (
        f"The score of {names[0]} is {scores[0]}, and that of {names[1]} is {scores[1]}:"
        f" {tests[0]} execute the first, {tests[1]} the other."
    )
