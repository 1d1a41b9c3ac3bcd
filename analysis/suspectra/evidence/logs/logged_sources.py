"""What the logs of runs that Suspectra made itself have in common: reading one, and whether it fits the sources."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping

from suspectra.base.errors import Problem
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.opening import read_evidence
from suspectra.evidence.sources import MAX_SOURCE, reason

MAX_LOG = 64 << 20
"""Bytes of a log that are read."""


def read_log(boundary: Boundary, log: str) -> tuple[bytes, Problem | None]:
    """Read a log.

    Empty if there is none.

    Why it was not read.
    """
    real = boundary.real(log)
    if real is None:
        return b"", Problem(log, "", "it leads out of the workspace, so it was not read", "remove the link")
    try:
        if not os.path.lexists(real):
            return b"", None
        return read_evidence(real, limit=MAX_LOG), None
    except OSError as error:
        return b"", Problem(log, "", f"it can't be read: {reason(error)}", "check its permissions")
    except ValueError as error:
        return b"", Problem(log, "", f"{error}, so it was not read", "remove it")


class LoggedSources:
    """Says whether sources are still what they were."""

    def __init__(self, boundary: Boundary, recorded: Mapping[str, str | None]):
        self._boundary, self._recorded = boundary, recorded
        self._current: dict[str, str] = {}  # digests of sources as they are

    def hold(self, digests: Mapping[str, object]) -> bool:
        """Whether all sources are what they were, and what they were when the tests were recorded."""
        return bool(digests) and all(
            self._digest(path) == digest and (self._recorded.get(path) or digest) == digest
            for path, digest in digests.items()
        )

    def _digest(self, path: str) -> str:
        if path not in self._current:
            real = self._boundary.real(path)
            try:
                data = read_evidence(real or os.devnull, limit=MAX_SOURCE)
                self._current[path] = hashlib.sha256(data).hexdigest()
            except (OSError, ValueError):
                self._current[path] = ""
        return self._current[path]
