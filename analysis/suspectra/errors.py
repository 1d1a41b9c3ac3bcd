"""What can go wrong, said so that the reader can fix it."""

from __future__ import annotations

from suspectra_recorder.errors import Problem, SuspectraError, UsageError

__all__ = ["EvidenceError", "NothingToRank", "Problem", "SuspectraError", "UsageError"]


class EvidenceError(SuspectraError):
    """Evidence that can't be read at all (command line: exit status 2)."""


class NothingToRank(SuspectraError):
    """Readable evidence that gives no ranking, for example because no test failed (exit status 1)."""
