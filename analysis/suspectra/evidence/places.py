"""Paths and patterns at which evidence may be, and what is there now.

In a pattern the last part has a ``*``; after ``**`` it also matches in the folders below. ``*.xml`` stands for JUnit
reports alone, and ``.coverage.*`` for the data files of processes that have ended.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import sys
import time
from collections import deque
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import NamedTuple

from suspectra.evidence.boundary import Boundary
from suspectra.evidence.opening import open_evidence
from suspectra.evidence.sources import Signature, signature

BELOW = "**"
REPORTS = os.path.join(BELOW, "*.xml")
"""JUnit files anywhere in a workspace."""

_SKIPPED = frozenset({"node_modules", "site-packages", "dist-packages", "__pycache__"})
_MAX_FOLDERS = 5_000
_MAX_FILES = 10_000
_HEAD = 4096
_SETTLED_NS = 2 * 10**9  # for that long a folder may change without a change of its time
_MAX_PAUSE_NS = 600 * 10**9  # without a word in a data file; later its process is another one of the same number
_OF_PROCESS = re.compile(r"\.(?:pid)?(\d+)\.[A-Za-z0-9]+$")
_NO_DATA = ("-journal", "-wal", "-shm", ".lock", ".json", ".xml", ".toml")

Found = tuple[tuple[str, Signature], ...]
"""Files with their signatures, in the order of their paths."""


def is_pattern(path: str) -> bool:
    """Whether a path stands for all files that match it."""
    return "*" in os.path.basename(path)


def below(folder: str | os.PathLike[str]) -> str:
    """Return the pattern of all files in a folder and in those below."""
    return os.path.join(folder, BELOW, "*")


def may_match(pattern: str, path: str) -> bool:
    """Whether a path has the folder and the name of a pattern."""
    folder, name = os.path.split(pattern)
    own = os.path.dirname(path)
    root = folder.removesuffix(os.sep + BELOW)
    inside = own.startswith(root.rstrip(os.sep) + os.sep) if root != folder else False
    return (inside or own == root) and fnmatchcase(os.path.basename(path), name)


def parts_of(data: str | os.PathLike[str]) -> str:
    """Return the pattern of coverage.py's data files of single processes that belong to a data file."""
    return f"{os.fspath(data)}.*"


def found(pattern: str, boundary: Boundary | None = None) -> Found:
    """Find the files that a pattern stands for now, as absolute paths; none that leads out of the boundary."""
    folder, name = os.path.split(os.path.abspath(pattern))
    deep = os.path.basename(folder) == BELOW
    root = os.path.dirname(folder) if deep else folder
    if boundary is not None and not boundary.may_look(root):
        return ()
    files = []
    for path, is_link in _tree(root, name, deep).files():
        if is_link and boundary is not None and not boundary.may_look(path):
            continue
        state = signature(path)
        if state is not None and _is_meant(path, state, name):
            files.append((path, state))
    return tuple(sorted(files))


def _is_meant(path: str, state: Signature, pattern: str) -> bool:
    if pattern.endswith(".xml"):
        return _is_junit(path, state)
    if pattern.endswith(".*"):
        return not path.endswith(_NO_DATA) and not _is_being_written(path, state)
    return True


@lru_cache(maxsize=_MAX_FILES)
def _is_junit(path: str, state: Signature) -> bool:
    try:
        with open_evidence(path, limit=sys.maxsize) as file:  # whoever reads all of it says that it is too large
            return b"<testsuite" in file.read(_HEAD)
    except (OSError, ValueError):
        return False


def _is_being_written(path: str, state: Signature) -> bool:
    """Whether the process that a data file is named after runs on this machine, and wrote to it not long ago."""
    process = _OF_PROCESS.search(path)
    here = process is not None and f".{_host()}." in os.path.basename(path)
    if process is None or not here or os.name == "nt" or time.time_ns() - state[0] > _MAX_PAUSE_NS:
        return False
    try:
        os.kill(int(process[1]), 0)
    except (OSError, OverflowError) as error:
        return getattr(error, "errno", None) == errno.EPERM
    return True


@cache
def _host() -> str:
    return socket.gethostname()


class _Folder(NamedTuple):
    modified: int
    folders: tuple[str, ...]
    files: tuple[tuple[str, bool], ...]  # paths, and whether they are links


class _Tree:
    """The files of a folder whose names match; a folder that did not change is not listed again."""

    def __init__(self, root: str, pattern: str, deep: bool):
        self._root, self._pattern, self._deep = root, pattern, deep
        self._everywhere = pattern == "*"  # in a folder that the user named, or else where projects have their files
        self._known: dict[str, _Folder] = {}

    def files(self) -> Iterator[tuple[str, bool]]:
        seen: dict[str, _Folder] = {}
        waiting = deque([self._root])
        count = 0
        while waiting and len(seen) < _MAX_FOLDERS and count < _MAX_FILES:
            path = waiting.popleft()
            folder = self._listed(path)
            if folder is None:
                continue
            seen[path] = folder
            if self._deep:
                waiting.extend(folder.folders)
            count += len(folder.files)
            yield from folder.files[:_MAX_FILES]
        self._known = seen

    def _listed(self, path: str) -> _Folder | None:
        known = self._known.get(path)
        try:
            modified = os.stat(path).st_mtime_ns
            if known is not None and known.modified == modified:
                return known
            if time.time_ns() - modified < _SETTLED_NS:
                modified = -1
            with os.scandir(path) as entries:
                return self._sorted_out(path, modified, list(entries))
        except OSError:
            return None

    def _sorted_out(self, path: str, modified: int, entries: list[os.DirEntry[str]]) -> _Folder:
        if path != self._root and any(entry.name == "pyvenv.cfg" for entry in entries):
            return _Folder(modified, (), ())
        folders, files = [], []
        for entry in entries:
            if self._deep and entry.is_dir(follow_symlinks=False):
                if self._everywhere or not (entry.name.startswith(".") or entry.name in _SKIPPED):
                    folders.append(entry.path)
            elif fnmatchcase(entry.name, self._pattern):
                files.append((entry.path, entry.is_symlink()))
        return _Folder(modified, tuple(sorted(folders)), tuple(sorted(files)))


@lru_cache(maxsize=64)
def _tree(root: str, pattern: str, deep: bool) -> _Tree:
    return _Tree(root, pattern, deep)
