"""The boundary of a workspace: which paths lie inside, found out without a look at anything outside.

A repository holds links to wherever its author likes, and evidence names any path. To look at one may already do
something: ask another machine, mount a disk, wake a device. So links are followed here one by one, by reading
them, and what they lead to is looked at only if it is inside.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

_MAX_LINKS = 40  # in one path, as in Linux


class Boundary:
    """The boundary of one workspace.

    Parameters
    ----------
    workspace : path
        Chosen by the user: links on the way to it are followed.

    Notes
    -----
    The answers are of this moment: whoever can change the workspace while it is read can put a link there afterwards.

    Examples
    --------
    >>> (folder / "src").mkdir()
    >>> (folder / "etc").symlink_to("/etc")
    >>> boundary = Boundary(folder)
    >>> boundary.relative("src/cart.py"), boundary.relative("etc/passwd"), boundary.may_look(folder / "etc")
    ('src/cart.py', None, False)
    >>> sorted(boundary.existing(["src", "cart.py"]))
    ['src']
    """

    def __init__(self, workspace: str | os.PathLike[str]):
        self.workspace = os.path.abspath(workspace)

    @cached_property
    def real_workspace(self) -> str:
        """The workspace with links followed."""
        return os.path.realpath(self.workspace)

    def names(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path without ``..`` is one of the workspace by its name, wherever its links lead.

        Parameters
        ----------
        path : str or os.PathLike[str]
            Absolute.

        Returns
        -------
        bool
            Nothing is looked at to find out.

        Examples
        --------
        >>> boundary = Boundary(folder)
        >>> boundary.names(folder / "cart.py"), boundary.names("/etc/passwd")
        (True, False)
        """
        return any(_is_in(os.fspath(path), folder) for folder in (self.workspace, self.real_workspace))

    def real(self, path: str | os.PathLike[str]) -> str | None:
        """The path with links followed, None for one that leads out of the workspace.

        Parameters
        ----------
        path : path
            Absolute, or relative to the workspace. It need not exist.

        Returns
        -------
        str or None
            Absolute. None as well for a name that no file can have.

        Examples
        --------
        >>> boundary = Boundary(folder)
        >>> boundary.real("cart.py") == os.path.realpath(folder / "cart.py"), boundary.real("../cart.py")
        (True, None)
        """
        try:
            return self._follow(os.path.join(self.workspace, path))
        except ValueError:
            return None  # a null byte

    def relative(self, path: str | os.PathLike[str]) -> str | None:
        """The real path relative to the workspace with forward slashes; None outside, and for the workspace itself.

        Parameters
        ----------
        path : str or os.PathLike[str]
            Absolute, or relative to the workspace. It need not exist.

        Returns
        -------
        str or None
            Such as ``src/cart.py``.
        """
        real = self.real(path)
        if real is None or _is_in(self.real_workspace, real):
            return None
        return Path(os.path.relpath(real, self.real_workspace)).as_posix()

    def may_look(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path may be looked at: one that leads nowhere outside, or that the user named outside.

        Parameters
        ----------
        path : str or os.PathLike[str]
            Absolute.

        Returns
        -------
        bool
            False for a name inside whose links lead out.
        """
        return not self.names(path) or self.real(path) is not None

    def existing(self, paths: Iterable[str]) -> set[str]:
        """Those of the paths that are there and lead nowhere outside; each folder is looked at once.

        Parameters
        ----------
        paths : iterable of str
            Relative to the workspace, with forward slashes.

        Returns
        -------
        set of str
            As they were given.
        """
        folders: dict[str, str | None] = {}
        return {path for path in paths if (real := self._real(path, folders)) is not None and os.path.exists(real)}

    def below(self, paths: Iterable[str]) -> frozenset[str]:
        """Those of the paths that lead to what lies in the workspace; the way to each folder is followed once.

        Parameters
        ----------
        paths : iterable of str
            Relative to the workspace, with forward slashes. They need not exist.

        Returns
        -------
        frozenset of str
            As they were given; those that :meth:`relative` has an answer for.

        Examples
        --------
        >>> sorted(Boundary(folder).below(["cart.py", "src/../cart.py", "../cart.py", "."]))
        ['cart.py', 'src/../cart.py']
        """
        folders: dict[str, str | None] = {}
        found = ((path, self._real(path, folders)) for path in paths)
        return frozenset(path for path, real in found if real is not None and not _is_in(self.real_workspace, real))

    def _real(self, path: str, folders: dict[str, str | None]) -> str | None:
        """As `real`, with what is known of folders."""
        folder, _, name = path.rpartition("/")
        if name in ("", ".", "..") or os.path.basename(name) != name or os.path.isabs(path):
            return self.real(path)
        if folder not in folders:
            folders[folder] = self.real(folder)
        real = folders[folder]
        try:
            whole = None if real is None else os.path.join(real, name)
            return self.real(path) if whole is None or _link(whole) is not None else whole
        except ValueError:
            return None  # a null byte

    def _follow(self, path: str) -> str | None:
        at, steps = _split(path)
        links = 0
        while steps:
            step = steps.pop()
            at = os.path.dirname(at) if step == ".." else os.path.join(at, step)
            if _is_same(at, self.workspace):
                at = self.real_workspace
            elif step != ".." and _is_in(at, self.real_workspace) and (target := _link(at)) is not None:
                links += 1
                if links > _MAX_LINKS:
                    return None
                at, more = _split(os.path.join(os.path.dirname(at), target))
                steps += more
        return at if _is_in(at, self.real_workspace) else None


def inside(workspace: Path, path: str | Path) -> str | None:
    """The path relative to the workspace with forward slashes, None for one that leads out of it.

    Symbolic links are followed first, so a link can't smuggle in a file from elsewhere.

    Parameters
    ----------
    workspace : Path
        The folder.
    path : str or Path
        Absolute, or relative to `workspace`. It need not exist.

    Returns
    -------
    str or None
        None for the workspace itself, too.

    Examples
    --------
    >>> inside(folder, folder / "src" / ".." / "cart.py"), inside(folder, "../cart.py")
    ('cart.py', None)
    """
    return Boundary(workspace).relative(path)


def shown(workspace: Path, path: str | Path) -> str:
    """The path as the user would name it: relative where it is inside the workspace.

    Parameters
    ----------
    workspace : Path
        The folder.
    path : str or Path
        Absolute, or relative to `workspace`.

    Returns
    -------
    str
        For messages; not meant to be opened.

    Examples
    --------
    >>> shown(folder, folder / "cart.py"), shown(folder, "/etc/passwd")
    ('cart.py', '/etc/passwd')
    """
    return inside(workspace, path) or str(path)


def _split(path: str) -> tuple[str, list[str]]:
    """Where an absolute path starts, and the steps from there, the last one first."""
    drive, rest = os.path.splitdrive(path)
    parts = rest.replace(os.altsep or os.sep, os.sep).split(os.sep)
    return drive + os.sep, [part for part in reversed(parts) if part not in ("", ".")]


def _link(path: str) -> str | None:
    """What a link says, None for what is none."""
    try:
        target = os.readlink(path)
    except OSError:
        return None
    return target[4:] if target.startswith("\\\\?\\") and target[5:6] == ":" else target


def _is_same(one: str, other: str) -> bool:
    return os.path.normcase(one) == os.path.normcase(other)


def _is_in(path: str, folder: str) -> bool:
    path, folder = os.path.normcase(path), os.path.normcase(folder)
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
