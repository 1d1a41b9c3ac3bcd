"""Temporary folders that do not stay behind: what a killed process left is removed when the next one needs a folder."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

if sys.platform != "win32":
    import fcntl

PREFIX = "suspectra-"
"""What the names of all of them begin with."""

_MOVED = ".removed-"
_MARK = ".in-use"  # a file in the folder; its lock ends with its process, however that ends


class ScratchFolder:
    """A temporary folder for as long as this process needs it.

    Before a process makes its first one, it removes those of processes that have been killed. A folder counts as one of
    these only if it belongs to the same user, and if its mark is there and is not locked. On Windows they stay.

    Raises OSError when it can't be made.
    """

    def __init__(self, above: str | None = None):
        above = os.path.realpath(above or tempfile.gettempdir())
        _remove_left(above)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=above))  # absolute, without links
        self._mark = _mark(self.path)

    def file(self, name: str) -> str:
        """Make an empty file in it; return its path."""
        path = os.path.join(self.path, name)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return path

    def remove(self) -> None:
        """Remove it; nothing happens the second time."""
        remove_tree(self.path)
        if self._mark is not None:
            os.close(self._mark)
            self._mark = None

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def remove_tree(folder: str | os.PathLike[str]) -> None:
    """Remove a folder as far as possible, however deep it is: recursion and the length of paths have limits.

    What is two folders deep moves up, so no path becomes longer.
    """
    root, moved = os.fspath(folder), 0
    below = [root]
    while below:
        inner = below.pop()
        with suppress(OSError):
            os.chmod(inner, 0o700)
            with os.scandir(inner) as found:
                entries = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in found]
            for path, is_folder in entries:
                with suppress(OSError):
                    if not is_folder:
                        os.unlink(path)
                    elif inner == root:
                        below.append(path)
                    else:
                        moved += 1
                        os.chmod(path, 0o700)  # a folder that moves is written to
                        os.rename(path, to := os.path.join(root, f"{_MOVED}{moved}"))
                        below.append(to)
        if inner != root:
            with suppress(OSError):
                os.rmdir(inner)
    with suppress(OSError):
        os.rmdir(root)


def _mark(folder: Path) -> int | None:
    """Mark a folder as used; the descriptor that keeps the lock, if there are such locks."""
    if sys.platform == "win32":
        return None
    unlocked = folder / f"{_MARK}.new"
    mark = os.open(unlocked, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    fcntl.flock(mark, fcntl.LOCK_EX)
    os.rename(unlocked, folder / _MARK)  # it gets its name when it is locked
    return mark


@cache
def _remove_left(above: str) -> None:
    """Remove the folders of processes that were killed, once for each process."""
    with suppress(OSError), os.scandir(above) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and _is_left(entry):
                remove_tree(entry.path)


def _is_left(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder of this user, made by a process that has ended."""
    if sys.platform == "win32":
        return False
    try:
        if not entry.is_dir(follow_symlinks=False) or entry.stat(follow_symlinks=False).st_uid != os.getuid():
            return False
        mark = os.open(os.path.join(entry.path, _MARK), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return stat.S_ISREG(os.fstat(mark).st_mode)
    except OSError:
        return False  # in use
    finally:
        os.close(mark)
