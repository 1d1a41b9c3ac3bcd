"""Which tests experiments run, and where. What they may do there is decided by `Containment` of the recorder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from suspectra.base.errors import EvidenceError, Problem
from suspectra.processes.scratch import ScratchFolder

_NOT_COPIED = frozenset({".git", ".hg", ".svn", ".suspectra", "node_modules", "__pycache__", ".tox", ".nox"})


@dataclass(frozen=True)
class Safety:
    """What experiments may do."""

    excluded: tuple[str, ...] = ()  # the names of markers; tests that have one are never run
    copy: bool = False  # whether tests run in a temporary copy of the workspace

    @contextmanager
    def folder(self, workspace: Path) -> Iterator[Path]:
        """Provide the folder in which tests run.

        Raises EvidenceError when it can't be copied.
        """
        if not self.copy:
            yield workspace
            return
        with ScratchFolder() as above:
            yield _copied(workspace, above / (workspace.name or "workspace"))


def _copied(workspace: Path, copy: Path) -> Path:
    """Copy a workspace without version control, packages and virtual environments. Links to files in it stay links."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if name in _NOT_COPIED or _is_special(os.path.join(folder, name))}

    try:
        shutil.copytree(workspace, copy, symlinks=True, ignore=left_out)
    except (OSError, shutil.Error) as error:
        raise EvidenceError(Problem(str(workspace), "", f"it can't be copied: {error}", "run without a copy")) from None
    return copy


def _is_special(path: str) -> bool:
    """Whether it is a virtual environment, or neither a file nor a folder nor a link."""
    if os.path.islink(path) or os.path.isfile(path):
        return False
    return not os.path.isdir(path) or os.path.exists(os.path.join(path, "pyvenv.cfg"))
