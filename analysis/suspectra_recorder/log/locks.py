"""Locks of files: a process locks the log that it writes, and leaves alone what another one has locked."""

from __future__ import annotations

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import fcntl, os

__builtins__ = library_references.builtins


def lock(descriptor: int, *, wait: bool = True) -> bool:
    """Lock an open file for as long as it is open.

    Without locks in the platform or the file system, no file counts as locked.

    False if another process has the lock; also True without support for locks.
    """
    if fcntl is None:
        return True  # Windows can't remove open files anyway
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def is_locked(path: str | os.PathLike[str]) -> bool:
    """Whether a process still writes a log; False if that can't be known.

    True if another process has locked it.
    """
    try:
        # in a folder of others the name may be that of a pipe or a link
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except (AttributeError, OSError):  # no such flags on Windows, which has no such locks either
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
