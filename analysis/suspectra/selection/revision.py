"""The content of a git revision, read from git's objects alone.

Nothing from a repository's own configuration is run: no hook, filter, monitor, pager, diff or text converter, and
nothing is fetched. Therefore git is not asked to compare with the working tree; this module does it, by the ids of
contents.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import stat
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from suspectra.base.errors import Problem, UsageError
from suspectra.evidence.opening import read_evidence

_HARMLESS = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "protocol.allow=never")
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "",
    "LC_ALL": "C",
}
_NOT_TRUSTED = b"dubious ownership"  # what git says of a repository of another user, as they are often in containers
_LINK, _SUBMODULE = "120000", "160000"
_MAX_SIZE = 1 << 26


@dataclass(frozen=True)
class Revision:
    """The files of a commit in a workspace."""

    workspace: str  # the folder
    name: str  # the name from the user
    # mode and id of the content by path relative to the workspace, with those of submodules that are checked out
    files: dict[str, tuple[str, str]]
    commit: str  # its id
    submodules: tuple[str, ...] = ()  # the folders of these

    @classmethod
    def from_name(cls, workspace: str, name: str) -> Revision:
        """Look up a revision.

        Raises UsageError when git, the repository or the revision does not exist.
        """
        if not name or name.startswith("-") or "\0" in name:
            raise _problem(name, "is not a revision", "name a commit, a branch or a tag")
        git(workspace, "rev-parse", "--git-dir")
        found = git(workspace, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", missing=name)
        commit = found.decode("ascii").strip()
        files: dict[str, tuple[str, str]] = {}
        submodules: list[str] = []
        waiting = [("", commit)]
        while waiting:
            folder, tree = waiting.pop()
            for path, mode, content in _tree(workspace, folder, tree):
                if mode != _SUBMODULE:
                    files[path] = mode, content
                elif _has_commit(workspace, path, content):
                    submodules.append(path)
                    waiting.append((path, content))
        return cls(workspace, name, files, commit, tuple(submodules))

    def differs(self, path: str) -> bool:
        """Whether a file of the workspace differs from the revision, or is not in it."""
        return path not in self.files or not self._same(path, *self.files[path])

    def changed(self, others: Iterable[str]) -> Iterator[str]:
        """Find files that differ from the revision: changed, removed or new ones."""
        for path, (mode, content) in self.files.items():
            if not self._same(path, mode, content):
                yield path
        yield from (path for path in others if path not in self.files)

    def contents(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Read files of the revision from git.

        By path; without files that git does not have or that are too large.
        """
        found: dict[str, bytes] = {}
        by_folder: dict[str, list[str]] = {}
        for path in paths:
            if path in self.files:
                by_folder.setdefault(self._repository(path), []).append(path)
        for folder, wanted in by_folder.items():
            found |= self._read(folder, wanted)
        return found

    def _repository(self, path: str) -> str:
        """The folder of the innermost submodule that has a file, "" for none."""
        return max((one for one in self.submodules if path.startswith(f"{one}/")), key=len, default="")

    def _read(self, folder: str, wanted: Sequence[str]) -> dict[str, bytes]:
        asked = "".join(f"{self.files[path][1]}\n" for path in wanted).encode("ascii")
        answer = git(os.path.join(self.workspace, folder), "cat-file", "--batch", given=asked)
        found: dict[str, bytes] = {}
        at = 0
        for path in wanted:
            end = answer.index(b"\n", at)
            words = answer[at:end].split(b" ")
            at = end + 1
            if len(words) == 3 and words[1] == b"blob":
                size = int(words[2])
                found[path] = answer[at : at + size]
                at += size + 1
        return found

    def _same(self, path: str, mode: str, content: str) -> bool:
        full = os.path.join(self.workspace, path)
        try:
            status = os.lstat(full)
            if mode == _LINK or stat.S_ISLNK(status.st_mode):
                return stat.S_ISLNK(status.st_mode) and _id(os.fsencode(os.readlink(full)), content) == content
            data = read_evidence(full, limit=_MAX_SIZE)
        except (OSError, ValueError):
            return False
        # git may be configured to store texts with other line ends
        return _id(data, content) == content or _id(data.replace(b"\r\n", b"\n"), content) == content


def _tree(workspace: str, folder: str, tree: str) -> Iterator[tuple[str, str, str]]:
    """The path, the mode and the id of each content of a tree in the repository of a folder of the workspace."""
    before = f"{folder}/" if folder else ""
    for entry in git(os.path.join(workspace, folder), "ls-tree", "-r", "-z", tree).split(b"\0")[:-1]:
        about, _, path = entry.partition(b"\t")
        mode, _, content = about.decode("ascii").split(" ", 2)
        yield before + os.fsdecode(path), mode, content


def _has_commit(workspace: str, path: str, commit: str) -> bool:
    """Whether a submodule is checked out, in the workspace itself, and has a commit."""
    folder = os.path.join(workspace, path)
    inside = os.path.join(os.path.realpath(workspace), path)
    if os.path.realpath(folder) != inside or not os.path.lexists(os.path.join(folder, ".git")):
        return False
    try:
        git(folder, "cat-file", "-e", f"{commit}^{{commit}}")
    except UsageError:
        return False
    return True


def project_files(workspace: str, *, added: bool = False) -> list[str] | None:
    """List all files of the workspace that git does not ignore.

    Paths relative to the workspace; None without a repository.
    """
    try:
        # products of builds are often untracked
        others = () if added else ("--others", "--exclude-standard")
        listing = git(workspace, "ls-files", "-z", "--cached", *others)
    except UsageError:
        return None
    paths = [os.fsdecode(path) for path in listing.split(b"\0")[:-1]]
    return [path for path in paths if not _is_folder(os.path.join(workspace, path))]


def start_of_branch(workspace: str) -> str | None:
    """Look up where the present branch left the default branch.

    The last commit on the default branch itself; None where git knows no repository, commit or default branch.
    """
    for branch in ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"):
        try:
            return git(workspace, "merge-base", "HEAD", branch, missing=branch).decode("ascii").split()[0]
        except (UsageError, IndexError):
            continue
    return None


def last_tag(workspace: str) -> str | None:
    """Look up the last tag before the present commit; None where there is none."""
    try:
        name = git(workspace, "describe", "--tags", "--abbrev=0", missing="HEAD").decode("utf-8", "replace").strip()
    except UsageError:
        return None
    return name or None


def _is_folder(path: str) -> bool:
    """Whether it is a folder, such as a submodule, and not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _id(data: bytes, other: str) -> str:
    """The id that git gives to a content, by the same hash function as another id."""
    kind = hashlib.sha1 if len(other) == 40 else hashlib.sha256
    return kind(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def git(workspace: str, *arguments: str, given: bytes = b"", missing: str | None = None) -> bytes:
    """Ask git, and run nothing that a repository configures.

    Raises UsageError when git or the repository does not exist, or refuses.
    """
    try:
        done = subprocess.run(
            ["git", *_HARMLESS, *arguments],
            cwd=workspace,
            env={**os.environ, **_ENVIRONMENT},
            input=given,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        cause = f"git can't be run: {error.strerror or error}"
        raise UsageError(Problem("git", "", cause, "install git, or leave out --since")) from None
    if done.returncode and missing is not None and _NOT_TRUSTED not in done.stderr:
        raise _problem(missing, "is not a revision of this repository", "check its spelling, or fetch it")
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        cause = lines[0] if lines else f"git ended with status {done.returncode}"
        cure = "choose a workspace in a git repository, or leave out --since"
        if _NOT_TRUSTED in done.stderr:
            cause = "git does not read this repository, since its folder belongs to another user"
            cure = f"if you trust it, run `git config --global --add safe.directory {shlex.quote(_root(workspace))}`"
        raise UsageError(Problem(workspace, "", cause, cure))
    return done.stdout


def refusal(workspace: str) -> Problem | None:
    """Why git does not read the repository of a workspace; None where it does, or where there is none."""
    if not _root(workspace):
        return None
    try:
        git(workspace, "rev-parse", "--git-dir")
    except UsageError as error:
        return error.problem
    return None


def is_shallow(workspace: str) -> bool:
    """Whether a part of the history of the repository is not here."""
    try:
        return git(workspace, "rev-parse", "--is-shallow-repository").strip() == b"true"
    except UsageError:
        return False


def _root(workspace: str) -> str:
    """The folder of the repository; "" without one."""
    folder = Path(os.path.realpath(workspace))
    return next((str(one) for one in (folder, *folder.parents) if os.path.lexists(one / ".git")), "")


def _problem(name: str, cause: str, cure: str) -> UsageError:
    return UsageError(Problem(name, "", cause, cure))
