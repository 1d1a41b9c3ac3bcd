"""Who changed lines last, and with which commit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from suspectra.base.errors import UsageError
from suspectra.selection.revision import git

_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHORT = 8


@dataclass(frozen=True)
class Blame:
    """The newest change of some lines."""

    author: str  # empty for a change that is not committed
    commit: str  # its short name; empty for a change that is not committed
    subject: str  # the first line of its message

    def __str__(self) -> str:
        if not self.commit:
            return "This change is not committed yet"
        return f"Changed last: {self.author}, {self.commit} “{self.subject}”"


def blame(workspace: str, path: str, lines: Sequence[str], first: int, last: int) -> Blame | None:
    """Find the newest change of lines of a text, counted from 1.

    None where git does not know the file, or is not there. The last commit is asked, as git would run what a repository
    configures for files of the working tree.
    """
    try:
        committed = git(workspace, "cat-file", "blob", f"HEAD:./{path}").decode("utf-8", "replace").splitlines()
        at = _lines_in(committed, lines)
        places = [at.get(line) for line in range(first, last + 1)]
        there = [place for place in places if place is not None]
        if len(there) < len(places):
            return Blame("", "", "")
        options = (f"-L{min(there)},{max(there)}", "--porcelain", "--no-textconv")
        printed = git(workspace, "blame", *options, "HEAD", "--", path)
    except UsageError:
        return None
    return _newest(printed.decode("utf-8", "replace"))


def _lines_in(committed: Sequence[str], lines: Sequence[str]) -> dict[int, int]:
    """Where lines of a text are in another one, counted from 1."""
    blocks = SequenceMatcher(None, committed, [line.rstrip("\r\n") for line in lines], autojunk=False)
    return {b + n + 1: a + n + 1 for a, b, size in blocks.get_matching_blocks() for n in range(size)}


def _newest(printed: str) -> Blame | None:
    """The commit with the latest time in what `git blame --porcelain` prints."""
    commits: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    for line in printed.splitlines():
        name, _, value = line.partition(" ")
        if _NAME.fullmatch(name):
            fields = commits.setdefault(name, {})
        elif not line.startswith("\t"):
            fields[name] = value
    if not commits:
        return None
    newest = max(commits, key=lambda commit: int(commits[commit].get("author-time", "0")))
    return Blame(commits[newest].get("author", ""), newest[:_SHORT], commits[newest].get("summary", ""))
