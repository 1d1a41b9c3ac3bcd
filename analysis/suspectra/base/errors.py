"""The exceptions of Suspectra. Each names the cause of a problem and its cure."""

from __future__ import annotations

from suspectra_recorder.errors import Problem, SuspectraError, UsageError

__all__ = ["EvidenceError", "NoEvidence", "NothingToRank", "Problem", "SuspectraError", "UsageError"]


class EvidenceError(SuspectraError):
    """Evidence that can't be read at all (command line: exit status 2)."""


class NoEvidence(EvidenceError):
    """A workspace in which nothing is recorded yet."""


class NothingToRank(SuspectraError):
    """Readable evidence that gives no ranking, for example because no test failed (exit status 1)."""
