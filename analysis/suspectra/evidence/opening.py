"""The one door to files that others wrote: regular files only, of a bounded size, and no link out of the workspace."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from suspectra.evidence.boundary import Boundary

MAX_EVIDENCE = 2**30
"""Bytes of one file of evidence that are read."""


def read_evidence(
    path: str | os.PathLike[str], boundary: Boundary | None = None, limit: int = MAX_EVIDENCE, *, follow: bool = True
) -> bytes:
    """Read a file; see :func:`open_evidence`.

    Raises OSError when it can't be read. Raises ValueError when it must not be, or is larger than `limit`.
    """
    with open_evidence(path, boundary, limit, follow=follow) as file:
        data = file.read(limit + 1)
    if len(data) > limit:  # it grew meanwhile
        raise _too_large(limit)
    return data


def open_evidence(
    path: str | os.PathLike[str], boundary: Boundary | None = None, limit: int = MAX_EVIDENCE, *, follow: bool = True
) -> BinaryIO:
    """Open a file to read its bytes, without waiting for whoever writes to a pipe.

    A path that the user named may lie outside the workspace of `boundary`; a link inside of it may not lead there.

    Raises OSError when it can't be opened. Raises ValueError when it is not a regular file, larger than `limit`, leads
    out of the workspace, or is a link and `follow` is false.
    """
    path = os.path.abspath(path)
    if boundary is not None and boundary.names(path):
        real = boundary.real(path)
        if real is None:
            raise ValueError("it is a link that leads out of the workspace")
        path = real if follow else path
    file = open(path, "rb", opener=_without_waiting if follow else _without_following)  # noqa: SIM115 - the caller's
    try:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a regular file")
        if found.st_size > limit:
            raise _too_large(limit)
    except BaseException:
        file.close()
        raise
    return file


def _too_large(limit: int) -> ValueError:
    return ValueError(f"it is larger than {limit >> 20} MB" if limit >= 2**20 else f"it is larger than {limit:,} bytes")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _without_following(path: str, flags: int) -> int:
    return _without_waiting(path, flags | getattr(os, "O_NOFOLLOW", 0))
