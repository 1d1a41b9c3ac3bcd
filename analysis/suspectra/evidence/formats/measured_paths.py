"""Finding measured files in the workspace, even if they were measured in another folder."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from suspectra.base.english import listed
from suspectra.base.errors import Problem
from suspectra.evidence.boundary import Boundary

_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")


class MeasuredPaths:
    """Maps the paths of measured files to the workspace.

    Data from another machine or a container has other folders. Then the folder of which most files exist in the
    workspace is mapped to the workspace.
    """

    def __init__(self, workspace: Path, raw: Sequence[str]):
        self._boundary = Boundary(workspace)
        self._outside: list[str] = []
        self._elsewhere = 0
        # files outside must not be accessed, so any file inside shows that the tests ran in this workspace
        inside = any(self._here(path) is not None for path in raw)
        self._root = None if inside else self._foreign_root([_parts(path) for path in raw])

    def resolve(self, raw: str) -> str | None:
        """Find a file of the data.

        Relative to the workspace; None if it is outside.
        """
        path = self._here(raw)
        if path is None:
            path = self._there(raw)
            self._elsewhere += path is not None
        if path is None:
            self._outside.append(raw)
        return path

    def named(self, raw: str) -> str | None:
        """Find a file that is not necessarily in the data.

        Relative to the workspace; None if it is outside.
        """
        path = self._here(raw)
        return self._there(raw) if path is None else path

    def _there(self, raw: str) -> str | None:
        if self._root is None or _parts(raw)[: len(self._root)] != self._root:
            return None
        return self._boundary.relative("/".join(_parts(raw)[len(self._root) :]))

    def problems(self, name: str) -> list[Problem]:
        """Report problems of the paths that were resolved."""
        found = []
        if self._elsewhere and self._root is not None:
            cause = f"it was recorded in another folder, {'/'.join(self._root)}, which is taken for the workspace"
            found.append(Problem(name, "", cause, "if that is wrong, run the tests here"))
        if self._outside:
            cause = (
                f"it also measured {listed(self._outside, 'file')} outside the workspace, which the ranking leaves out"
            )
            found.append(Problem(name, "", cause, "open the folder they are in, or ignore this"))
        return found

    def _here(self, raw: str) -> str | None:
        return None if _WINDOWS.match(raw) and os.name != "nt" else self._boundary.relative(raw)

    def _foreign_root(self, paths: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
        sample = paths[:: max(1, len(paths) // 50)]
        found: dict[tuple[str, ...], int] = {}
        for parts in sample:
            for size in range(1, len(parts)):
                if self._exists("/".join(parts[size:])):
                    found[parts[:size]] = found.get(parts[:size], 0) + 1
        return max(found, key=lambda root: (found[root], -len(root)), default=None)

    def _exists(self, path: str) -> bool:
        real = self._boundary.real(path)
        return real is not None and os.path.exists(real)


def _parts(raw: str) -> tuple[str, ...]:
    if _WINDOWS.match(raw):
        return tuple(PureWindowsPath(raw).as_posix().split("/"))
    return tuple(PurePosixPath(raw).as_posix().split("/"))
