"""Which folder a client means when it opens one inside a project."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

RECORDED = ".suspectra"
PROJECT = ("pyproject.toml", "setup.cfg", "setup.py", "pytest.ini", "tox.ini", ".git")


def root_of(folder: Path) -> Path:
    """The project that a folder is part of.

    Editors without a notion of projects, such as Emacs outside version control, open the folder of the file. The
    evidence is in a folder above it.

    The folder itself if it was recorded in or has a project file. Otherwise the nearest folder above it that was
    recorded in, else the nearest one with a project file, else the folder itself. The search ends with the repository,
    and before the home folder or a folder that everybody may write to: neither is a project.
    """
    if _has(folder, RECORDED, *PROJECT):
        return folder
    above = list(_above(folder))
    for names in ((RECORDED,), PROJECT):
        for candidate in above:
            if _has(candidate, *names):
                return candidate
    return folder


def _above(folder: Path) -> Iterator[Path]:
    home = Path.home()
    for parent in folder.parents:
        if parent in (home, *home.parents) or _is_public(parent):
            return
        yield parent
        if _has(parent, ".git"):
            return


def _has(folder: Path, *names: str) -> bool:
    return any(os.path.exists(folder / name) for name in names)


def _is_public(folder: Path) -> bool:
    try:
        return os.name != "nt" and bool(os.stat(folder).st_mode & stat.S_IWOTH)
    except OSError:
        return True
