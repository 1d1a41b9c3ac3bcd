"""The commits before the present one, of which one may be the first with which tests fail.

Of a merge the first parent is followed, so the merge is one commit: with all that came by it.
"""

from __future__ import annotations

from typing import NamedTuple

from suspectra.base.errors import UsageError
from suspectra.selection.revision import git

_FURTHEST = 64  # commits that are looked at for one with which tests pass
_SUBJECT = 50  # characters of it that are shown


class Commit(NamedTuple):
    """A commit as it is shown."""

    id: str
    subject: str

    def __str__(self) -> str:
        return self.id[:9]


def commits_until(workspace: str, oldest: str) -> tuple[Commit, ...]:
    """List the commits down to one, the newest first."""
    return _log(workspace, f"{oldest}..HEAD", f"--max-count={_FURTHEST**2}") + _log(workspace, oldest, "--max-count=1")


def further_back(workspace: str) -> tuple[Commit, ...]:
    """Choose some commits before the last one, further and further apart; none where git knows no repository."""
    commits = _log(workspace, "HEAD", f"--max-count={_FURTHEST}")
    found, at = [], 1
    while at < len(commits):
        found.append(commits[at])
        at = 2 * at + 1
    return (*found, *([commits[-1]] if commits[1:] and found[-1] != commits[-1] else ()))


def before(older: Commit, newer: Commit) -> str:
    """Name a commit by the one after it, which did something."""
    subject = newer.subject if len(newer.subject) <= _SUBJECT else f"{newer.subject[: _SUBJECT - 1]}…"
    return f"{older}, the commit before {newer} ({subject})"


def _log(workspace: str, revisions: str, *options: str) -> tuple[Commit, ...]:
    words = ("log", "--first-parent", "--no-show-signature", "-z", "--format=%H %s", *options)
    try:
        listing = git(workspace, *words, "--end-of-options", revisions, "--", missing=revisions)
    except UsageError:
        return ()
    lines = listing.decode("utf-8", "replace").split("\0")
    return tuple(Commit(name, subject) for line in lines if line for name, _, subject in [line.strip().partition(" ")])
