"""The exceptions of Suspectra. Each names the cause of a problem and its cure."""

from __future__ import annotations

from suspectra_recorder.errors import Problem, SuspectraError, UsageError

__all__ = ["EvidenceError", "NoEvidence", "NothingToRank", "Problem", "SuspectraError", "UsageError"]


class EvidenceError(SuspectraError):
    """Evidence that can't be read at all (command line: exit status 2).

    Examples
    --------
    >>> raise EvidenceError(Problem("results.xml", "line 3", "it is cut off", "run the tests again"))
    Traceback (most recent call last):
    suspectra.errors.EvidenceError: results.xml (line 3): it is cut off. Fix: …
    """


class NoEvidence(EvidenceError):
    """A workspace in which nothing is recorded yet.

    Examples
    --------
    >>> raise NoEvidence(Problem("", "", "there is no evidence", "run `suspectra record -- pytest`"))
    Traceback (most recent call last):
    suspectra.errors.NoEvidence: there is no evidence. Fix: …
    """


class NothingToRank(SuspectraError):
    """Readable evidence that gives no ranking, for example because no test failed (exit status 1).

    Examples
    --------
    >>> raise NothingToRank(Problem("", "", "no test failed", "record a run in which a test fails"))
    Traceback (most recent call last):
    suspectra.errors.NothingToRank: no test failed. Fix: …
    """
