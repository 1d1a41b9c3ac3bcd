"""How the programs and libraries that tests ran were compiled: there is no object file where all is linked at once."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress

from suspectra.c.recording.crash_calls import MEASURED_FILE
from suspectra.evidence.c.optimisation import optimised_by
from suspectra.evidence.c.profiles import Mark, mark_of
from suspectra.evidence.opening import open_evidence

_MAX_PROGRAM = 1 << 32  # bytes


class MeasuredPrograms:
    """The programs and libraries that wrote profiles, and how they were optimised."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, Mark], str | None] = {}

    def add(self, scratch: str) -> None:
        """Read which ones a test with a scratch folder ran."""
        try:
            with open(os.path.join(scratch, MEASURED_FILE), encoding="utf-8", errors="surrogateescape") as file:
                paths = file.read().splitlines()
        except OSError:
            return
        for path in dict.fromkeys(paths):
            with suppress(OSError, ValueError):
                if (key := (path, mark_of(path))) not in self._seen:
                    with _mapped(path) as data:
                        self._seen[key] = optimised_by(data)

    def optimised(self, profile: str) -> str | None:
        """How the object was optimised that writes a profile; empty where it was not, None where nothing says it."""
        said: str | None = None
        for (path, _), how in self._seen.items():
            if how or said is None:
                with suppress(OSError, ValueError), _mapped(path) as data:
                    if data.find(os.fsencode(profile)) >= 0:
                        said = how or said or how
        return said


def _mapped(path: str) -> mmap.mmap:
    with open_evidence(path, limit=_MAX_PROGRAM) as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
