"""Suspects: the entries of a report, and the explanations of their ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from suspectra.base.location import Location


@dataclass(frozen=True)
class Explanation:
    """Why a suspect has its rank, in words and numbers.

    Parameters
    ----------
    headline : str
        One line: rank, score, technique.
    sentences : tuple of str
        The reasons, most important first.
    formula : str
        The formula as published.
    substituted : str
        The formula with this element's numbers in it.

    Examples
    --------
    >>> from suspectra import Spectrum, make_technique
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> why = make_technique("ochiai").localize(spectrum).explain(0)
    >>> why.headline, why.formula
    ('Suspect 1 of 3: Ochiai 1', 'ef / sqrt(F * (ef + ep))')
    """

    headline: str
    sentences: tuple[str, ...]
    formula: str = ""
    substituted: str = ""

    @property
    def rank(self) -> str:
        """The headline without the score.

        Returns
        -------
        str
            Which suspect it is of how many, and with how many it is tied.

        Examples
        --------
        >>> Explanation("Suspect 1 of 3, tied with 1 more: Ochiai 1", ()).rank
        'Suspect 1 of 3, tied with 1 more'
        """
        return self.headline.partition(":")[0]

    def with_badge(self, badge: str) -> Explanation:
        """Add that the statement changed.

        Parameters
        ----------
        badge : str
            That of a suspect; empty where nothing is known to have changed.

        Returns
        -------
        Explanation
            With one more sentence, the first.

        Examples
        --------
        >>> Explanation("Suspect 1 of 3", ()).with_badge("you changed this").sentences
        ('You changed this.',)
        """
        if not badge:
            return self
        sentences = dict.fromkeys((f"{badge[0].upper()}{badge[1:]}.", *self.sentences))  # it may be said of a part
        return replace(self, sentences=tuple(sentences))


@dataclass(frozen=True)
class Suspect:
    """One entry of a ranked report.

    Parameters
    ----------
    element : int
        Its column in the spectrum.
    location : Location
        File and lines of the statement.
    function : str
        Qualified name of the enclosing function, empty at module level.
    score : float
        Suspiciousness. Only the order of scores has a meaning.
    rank_best : int
        1 + the number of elements that rank higher.
    rank_average : float
        The mean of the best and the worst rank.
    rank_worst : int
        The number of elements that rank higher or the same.
    standard_rank : float
        #{higher} + #{equal}/2, the element itself among the equal (paper 003, Definition 17).
    ef, ep : int
        Failing and passing tests that execute the element.
    nf, np : int
        Failing and passing tests that do not.
    failing_tests : tuple of str
        Names of the failing tests that execute it.
    changed : int
        Before how many of them failed it changed: since they passed, or since a revision in git.
    only_read : bool
        Whether it runs once for all tests, and these read what it defines: then the counts and names are those of the
        tests that do.
    changed_by_git : int
        How many of the tests that count for `changed` are not known to have passed.

    Examples
    --------
    >>> from suspectra import Spectrum, make_technique
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> suspect = make_technique("ochiai").localize(spectrum).suspect(0)
    >>> str(suspect.location), suspect.rank_best, suspect.tied, suspect.failing_tests
    ('program:2', 1, 1, ('t1',))
    >>> suspect.badge, suspect.involvement
    ('', 'execute it')
    """

    element: int
    location: Location
    function: str
    score: float
    rank_best: int
    rank_average: float
    rank_worst: int
    standard_rank: float
    ef: int
    ep: int
    nf: int
    np: int
    failing_tests: tuple[str, ...]
    changed: int = 0
    only_read: bool = False
    changed_by_git: int = 0

    @property
    def tied(self) -> int:
        """How many elements share this rank."""
        return self.rank_worst - self.rank_best + 1

    @property
    def involvement(self) -> str:
        """What its tests do with it, to say after "tests that"."""
        return "may read what it defines" if self.only_read else "execute it"

    @property
    def badge(self) -> str:
        """That it changed before failing tests failed, in a few words; empty where no change is known."""
        return changed_words(self.changed, self.ef, self.ef + self.nf, self.changed_by_git)


def changed_words(count: int, executing: int, failed: int, by_git: int = 0) -> str:
    """Say that a statement changed since failing tests that execute it passed, or that git knows of a change.

    Without a capital or a stop; empty where `count` is 0. `executing` is how many of the failing tests execute it.
    """
    if not count:
        return ""
    if not (count := count - by_git):
        return "changed, according to git"
    return "you changed this" + (f" since {count} of {failed} failing tests passed" if count < executing else "")
