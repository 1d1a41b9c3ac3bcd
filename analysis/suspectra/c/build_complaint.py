"""What a build complains about."""

from __future__ import annotations

import re

from suspectra.processes.events import ProgramEnded

CURE = "fix what it complains about, then try again"

_SAYS_WHY = re.compile(r"undefined reference|(?<!collect2: )\b[Ee]rror\b")


def complaint_of(ended: ProgramEnded) -> str:
    """The first line that says why a step of a build failed, else its last one."""
    words = (ended.stderr + b"\n" + ended.stdout).decode("utf-8", "replace").split("\n")
    said = [line.strip() for line in words if line.strip()]
    return next(filter(_SAYS_WHY.search, said), said[-1] if said else "it failed")
