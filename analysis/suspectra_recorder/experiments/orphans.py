"""Processes that a run has left behind, also those that went to groups of their own.

On Linux a process can adopt the processes below it whose parents have ended. So whatever a run has started comes to the
process that waits for the next request, in the end, and is ended there.
"""

from __future__ import annotations

from contextlib import suppress

from suspectra_recorder.experiments.landlock import system_call
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, signal

__builtins__ = library_references.builtins

_ADOPT = 36
"""The number by which the kernel is asked for it."""


class Orphans:
    """Those of this process, from now on; none where the system can't tell."""

    def __init__(self) -> None:
        call = system_call()
        adopts = call is not None and call(None, _ADOPT) == 0
        self._adopts = adopts
        self._own = children()  # what was started while tests were collected

    def end(self) -> None:
        """End those that are there, and those that they leave behind."""
        while self._adopts and (left := children() - self._own):
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                with suppress(OSError):
                    os.waitpid(pid, 0)


def children() -> set[int]:
    """The processes that this one has started and that are not waited for yet; none where the system does not tell."""
    with suppress(OSError, ValueError), open(f"/proc/{os.getpid()}/task/{os.getpid()}/children", "rb") as stream:
        return set(map(int, stream.read().split()))
    return set()
