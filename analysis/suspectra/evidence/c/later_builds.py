"""Sources that were changed and built since they were recorded, although no test has run since."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from suspectra.base.errors import EvidenceError
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.c.store import StoredObject
from suspectra.evidence.opening import read_evidence


class LaterBuilds:
    """Compares the objects of a recording with those that are in the workspace now."""

    def __init__(self, workspace: str):
        self._workspace, self._boundary = workspace, Boundary(workspace)
        self._read: dict[str, tuple[tuple[int, int], bytes, str]] = {}  # when it changed and its size; content; digest

    def sources(self, objects: Iterable[StoredObject]) -> dict[str, tuple[str, bytes]]:
        """The digest and the text of each source with which an object was built that is another one now, by path."""
        found: dict[str, tuple[str, bytes]] = {}
        for stored in objects:
            notes = self._content(stored.path)
            if notes is None or notes[2] == stored.digest:
                continue
            for path, digest in stored.sources.items():
                source = self._content(path)
                if source is not None and source[2] != digest and source[0][0] <= notes[0][0]:
                    found[path] = source[2], source[1]
        return found

    def _content(self, path: str) -> tuple[tuple[int, int], bytes, str] | None:
        whole = os.path.join(self._workspace, path)
        try:
            if not self._boundary.may_look(whole):
                return None
            stat = os.stat(whole)
            version = stat.st_mtime_ns, stat.st_size
            if path not in self._read or self._read[path][0] != version:
                data = read_evidence(whole, self._boundary)
                kept = b"" if path.endswith(".gcno") else data
                self._read[path] = version, kept, hashlib.sha256(data).hexdigest()
            return self._read[path]
        except (OSError, EvidenceError):
            return None
