"""The boundary of a workspace: which paths are inside, without accessing anything outside.

A repository may contain links to any place, and evidence may name any path. Even looking at a path may have effects: a
network request, mounting a disk, waking a device. So this module reads links one by one, and accesses their targets
only if these are inside.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from functools import cached_property, lru_cache
from pathlib import Path

_MAX_LINKS = 40  # links in one path, as in Linux


class Boundary:
    """The boundary of one workspace.

    The answers are true at the time of the call only. Somebody who can write to the workspace could replace a file by a
    link afterwards.
    """

    def __init__(self, workspace: str | os.PathLike[str]):
        self.workspace = os.path.abspath(workspace)  # the folder that the user chose

    @cached_property
    def real_workspace(self) -> str:
        """The workspace with links followed."""
        return os.path.realpath(self.workspace)

    def names(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path without ``..`` is in the workspace by its name, wherever its links lead.

        The file system is not accessed.
        """
        return any(_is_in(os.fspath(path), folder) for folder in (self.workspace, self.real_workspace))

    def real(self, path: str | os.PathLike[str]) -> str | None:
        """Resolve the links of a path.

        Absolute; None if it is outside the workspace, or not a valid file name.
        """
        try:
            return self._follow(os.path.join(self.workspace, path))
        except ValueError:
            return None  # a null byte

    def relative(self, path: str | os.PathLike[str]) -> str | None:
        """Return the real path relative to the workspace; None outside, and for the workspace itself."""
        real = self.real(path)
        if real is None or _is_in(self.real_workspace, real):
            return None
        return Path(os.path.relpath(real, self.real_workspace)).as_posix()

    def may_look(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path may be accessed: its links stay inside, or its name is outside because the user named it."""
        return not self.names(path) or self.real(path) is not None

    def existing(self, paths: Iterable[str]) -> set[str]:
        """Select the paths that exist inside the workspace; each folder is resolved once."""
        every = tuple(paths)
        plain = self._plain_files(every)
        others = ((path, self.real(path)) for path in every if path not in plain)
        return plain.union(path for path, real in others if real is not None and os.path.exists(real))

    def below(self, paths: Iterable[str]) -> frozenset[str]:
        """Select the paths that lead into the workspace; each folder is resolved once.

        Those for which relative does not return None, unchanged.
        """
        every = tuple(paths)
        plain = self._plain_files(every)
        found = ((path, self.real(path)) for path in every if path not in plain)
        others = (path for path, real in found if real is not None and not _is_in(self.real_workspace, real))
        return frozenset(plain.union(others))

    def _plain_files(self, paths: tuple[str, ...]) -> set[str]:
        """Those of the paths that are files and no links; each folder is resolved once."""
        found = set[str]()
        for folder, files in _by_folder(paths).items():
            if (real := self.real(folder)) is not None:
                found.update(path for path, name in files if _is_plain_file(f"{real}{os.sep}{name}"))
        return found

    def _follow(self, path: str) -> str | None:
        current, steps = _split(path)
        links = 0
        while steps:
            step = steps.pop()
            current = os.path.dirname(current) if step == ".." else os.path.join(current, step)
            if _is_same(current, self.workspace):
                current = self.real_workspace
            elif step != ".." and _is_in(current, self.real_workspace) and (target := _link(current)) is not None:
                links += 1
                if links > _MAX_LINKS:
                    return None
                current, more = _split(os.path.join(os.path.dirname(current), target))
                steps += more
        return current if _is_in(current, self.real_workspace) else None


def inside(workspace: Path, path: str | Path) -> str | None:
    """Return the path relative to the workspace, None if it is outside.

    Symbolic links are resolved first, so a link can't include a file from outside.

    With forward slashes; also None for the workspace itself.
    """
    return Boundary(workspace).relative(path)


def shown(workspace: Path, path: str | Path) -> str:
    """Return the path for messages: relative if it is inside the workspace.

    For messages; not meant to be opened.
    """
    return inside(workspace, path) or str(path)


def _split(path: str) -> tuple[str, list[str]]:
    """Split an absolute path into its root and its parts, the last part first."""
    drive, rest = os.path.splitdrive(path)
    parts = rest.replace(os.altsep or os.sep, os.sep).split(os.sep)
    return drive + os.sep, [part for part in reversed(parts) if part not in ("", ".")]


def _link(path: str) -> str | None:
    """The target of a link, None for anything else."""
    try:
        target = os.readlink(path)
    except OSError:
        return None
    return target[4:] if target.startswith("\\\\?\\") and target[5:6] == ":" else target


@lru_cache(maxsize=8)
def _by_folder(paths: tuple[str, ...]) -> dict[str, list[tuple[str, str]]]:
    """The paths in each folder with the names of their files; without absolute ones, and those that end in dots."""
    folders: dict[str, list[tuple[str, str]]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        if name not in ("", ".", "..") and os.path.basename(name) == name and not os.path.isabs(path):
            folders.setdefault(folder, []).append((path, name))
    return folders


def _is_plain_file(path: str) -> bool:
    """Whether a path is a file and no link; quicker than to ask where a link leads."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):  # a null byte
        return False


def _is_same(one: str, other: str) -> bool:
    return os.path.normcase(one) == os.path.normcase(other)


def _is_in(path: str, folder: str) -> bool:
    path, folder = os.path.normcase(path), os.path.normcase(folder)
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
