"""What a run of a test may use, besides time, and where it stands among the processes."""

from __future__ import annotations

from contextlib import suppress

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, resource, sys

__builtins__ = library_references.builtins


def be_alone() -> None:
    """Let this process lead a group of its own, and print nothing."""
    # so that all that the test starts can be ended with it
    os.setpgid(0, 0)
    # what altered tests print, and what a crash says, is of no interest
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(null, descriptor)
    os.close(null)


_LEAST_MEMORY = 256 << 20
"""What a run may take even where the machine has hardly any left."""


def limit(memory: int, file_size: int) -> None:
    """Limit what this process can take from now on, where the system can.

    It may take so much more memory than it has, and at most a quarter of what the machine has left.
    """
    if resource is None:
        return  # Windows
    _set(resource.RLIMIT_FSIZE, file_size)
    # a crash is an ordinary outcome here
    _set(resource.RLIMIT_CORE, 0)
    # the limit is one of the whole address space, with what the waiting process had
    more = max(min(memory, _available() // 4), _LEAST_MEMORY)
    _set(resource.RLIMIT_AS, (address_space() or memory) + more)


def _set(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    # a process may not raise its hard limit
    within = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(what, (within, hard))


def _available() -> int:
    """The bytes of memory that nobody uses; plenty where the system does not tell."""
    try:
        with open("/proc/meminfo", "rb") as stream:
            said = next((line for line in stream if line.startswith(b"MemAvailable:")), b"")
        return int(said.split()[1]) << 10 if said else sys.maxsize
    except (OSError, ValueError):
        return sys.maxsize


def address_space() -> int:
    """The bytes of this process's address space, 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0
