"""Locks of files: a process locks the log that it writes, and leaves alone what another one has locked."""

from __future__ import annotations

import contextlib

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import fcntl, os

__builtins__ = library_references.builtins

_FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0)


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


class HeldLock:
    """A file that this process keeps locked, also if the program closes its descriptor.

    Raises OSError when it can't be made.
    """

    def __init__(self, path: str):
        self._path = path
        new = f"{path}.new"
        self._descriptor = os.open(new, _FLAGS | os.O_CREAT, 0o600)
        self._identity = identity(self._descriptor)
        lock(self._descriptor)
        os.rename(new, path)  # so it is locked as soon as it is visible

    @property
    def held(self) -> bool:
        """Whether it was not released."""
        return self._descriptor >= 0

    def hold(self) -> None:
        """Lock it again if the program closed the descriptor, whose number may be another file's now."""
        if self.held and not self._is_own():
            with contextlib.suppress(OSError):  # a test removed it
                self._descriptor = os.open(self._path, _FLAGS)
                self._identity = identity(self._descriptor)
                lock(self._descriptor, wait=False)

    def release(self) -> None:
        """Let others have the file."""
        if self.held and self._is_own():
            os.close(self._descriptor)
        self._descriptor = -1

    def _is_own(self) -> bool:
        try:
            return identity(self._descriptor) == self._identity
        except OSError:
            return False


def identity(descriptor: int) -> tuple[int, int]:
    """Return what tells an open file from others."""
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


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
