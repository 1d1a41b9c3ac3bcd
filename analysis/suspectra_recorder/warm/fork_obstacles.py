"""Whether this process can be forked: what a forked process would share with it, or lose."""

from __future__ import annotations

import stat
import threading
from collections.abc import Collection, Iterator
from contextlib import suppress

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import fcntl, os, sys

__builtins__ = library_references.builtins

_TASKS, _DESCRIPTORS = "/proc/self/task", "/proc/self/fd"


def fork_obstacles(own_descriptors: Collection[int]) -> Iterator[str]:
    """Find why this process must not be forked.

    A reason: threads, which only one process would have; sockets and files that are written, which both would use.
    """
    if sys.platform != "linux":
        yield "system libraries may not survive a fork"
        return
    others = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    if others:
        yield f"threads run ({', '.join(others)})"
    elif len(os.listdir(_TASKS)) > 1:
        yield "threads run that Python did not start"
    for name in os.listdir(_DESCRIPTORS):
        with suppress(OSError):
            number = int(name)
            if number > 2 and number not in own_descriptors and (reason := _shared(number)):
                yield reason


def _shared(number: int) -> str:
    """Why an open file must not be shared by two processes; empty if it may be."""
    status = os.fstat(number)
    if any(os.path.samestat(status, os.fstat(stream)) for stream in range(3)):
        return ""  # a copy of a standard stream
    if stat.S_ISSOCK(status.st_mode):
        return "a socket is open"
    target = os.readlink(f"{_DESCRIPTORS}/{number}")
    if "[eventpoll]" in target:
        return "an event loop is open"
    writes = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    return f"{os.path.basename(target)} is open to be written" if stat.S_ISREG(status.st_mode) and writes else ""
