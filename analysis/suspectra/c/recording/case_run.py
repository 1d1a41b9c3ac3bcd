"""One run of a test of C or C++, with nothing recorded by this process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from suspectra.base.cancellation import Cancelled, Token
from suspectra.c.recording.case import CCase
from suspectra.c.recording.environment import environment_of
from suspectra.processes.events import ProgramEnded, Stopped
from suspectra.processes.runner import CommandToRun, run


def run_case(
    case: CCase,
    scratch: Path,  # a folder for what it writes
    token: Token,
    *,
    seconds: float,
    more: Mapping[str, str] = MappingProxyType({}),  # variables that it needs besides its own
) -> ProgramEnded:
    """Run a test.

    Raises Cancelled when the token was cancelled.
    """
    argv = tuple(word.replace("{scratch}", str(scratch)) for word in case.argv)
    ended = run(CommandToRun(argv, case.folder, environment_of(case, more), timeout=seconds), token)
    if ended.stopped is Stopped.CANCELLED:
        raise Cancelled
    return ended
