"""What changed since a git revision, for failing tests of which no earlier pass is known."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import is_
from pathlib import Path

from suspectra.base.arrays import Row
from suspectra.evidence.evidence import Evidence, Replaced
from suspectra.evidence.moved_files import moved_files
from suspectra.evidence.source_changes import changed_columns
from suspectra.evidence.sources import SourceReader
from suspectra.runs.measured_file import MeasuredFile
from suspectra.selection.revision import Revision, project_files, start_of_branch
from suspectra.spectrum import ChangedRows

_OF_BUILDS = ("CMakeCache.txt", "build.ninja", "meson-private", "config.status")
"""Names in a build folder, where untracked sources are generated, whatever git says of them."""


def since_revision(evidence: Evidence, workspace: Path, name: str | None) -> Evidence:
    """Add what changed since a git revision, for failing tests of which no earlier pass is known.

    The same object where each failing test has an earlier pass, or git knows of no revision.

    Raises UsageError when a revision is named that git does not know.
    """
    if name is None:
        return ChangesOfBranch(workspace).add_to(evidence)
    folder = os.path.realpath(workspace)
    revision = Revision.from_name(folder, name)
    unknown = _without_pass(evidence)
    if not unknown:
        return evidence
    listed = set(project_files(folder) or ())
    row = _changed(evidence.files, folder, revision, listed)
    measured = {file.path for file in evidence.files}  # all files are read for it
    changed = sorted(revision.changed(project_files(folder, added=True) or ()))
    others = tuple(Replaced(path, "", "") for path in changed if path not in measured)
    return _with_row(evidence, unknown, row, others)


class ChangesOfBranch:
    """What changed since the present branch left the default branch, as evidence is read again and again.

    Files are compared again only when others were run, or when the branch begins elsewhere. Where it begins is asked
    once, and again only by :meth:`has_moved`, since git takes as long to answer as a ranking.
    """

    def __init__(self, workspace: Path):
        self._workspace = workspace
        self._asked: float | None = None
        self._start: str | None = None
        self._known: tuple[str, Sequence[MeasuredFile], Row] | None = None
        self._last: tuple[Evidence, Row, Evidence] | None = None

    def add_to(self, evidence: Evidence) -> Evidence:
        """Add the changes, for failing tests of which no earlier pass is known.

        Equal calls return the same object. It is `evidence` itself where each failing test has an earlier pass, or git
        knows of no default branch.
        """
        unknown = _without_pass(evidence)
        row = self._row(evidence.files) if unknown else None
        if row is None:
            return evidence
        if self._last is None or self._last[0] is not evidence or self._last[1] is not row:
            self._last = evidence, row, _with_row(evidence, unknown, row)
        return self._last[2]

    def has_moved(self, after_s: float = 0.0) -> bool:
        """Ask git again where the branch begins.

        Whether it begins elsewhere than `add_to` took it to begin. False where that never mattered.
        """
        # git takes as long to answer as a ranking, so it is asked only now and then
        if self._asked is None or time.monotonic() < self._asked + after_s:
            return False
        before = self._start
        self._ask()
        return self._start != before

    def _ask(self) -> None:
        self._asked, self._start = time.monotonic(), start_of_branch(os.path.realpath(self._workspace))

    def _row(self, files: Sequence[MeasuredFile]) -> Row | None:
        if self._asked is None:
            self._ask()
        if self._start is None:
            return None
        folder = os.path.realpath(self._workspace)
        known = self._known
        if known is None or known[0] != self._start or not _same(known[1], files):
            revision = Revision.from_name(folder, self._start)
            # git takes long to list a large workspace
            is_listed = any(file.path not in revision.files for file in files)
            listed = set(project_files(folder) or ()) if is_listed else set()
            known = self._known = self._start, files, _changed(files, folder, revision, listed)
        return known[2]


def _same(files: Sequence[MeasuredFile], others: Sequence[MeasuredFile]) -> bool:
    return len(files) == len(others) and all(map(is_, files, others))


def _without_pass(evidence: Evidence) -> list[str]:
    """The failing tests of which no earlier pass is known, and that may have passed before the program was changed."""
    return [
        test.name for test in evidence.failing if test.name not in evidence.changed and test.name not in evidence.old
    ]


def _changed(files: Sequence[MeasuredFile], folder: str, revision: Revision, listed: set[str]) -> Row:
    """The columns of statements that differ from the revision."""
    paths = [file.path for file in files]
    new = {path for path in paths if path in listed and not _is_generated(folder, path)}
    differing = [path for path in paths if (path in revision.files or path in new) and revision.differs(path)]
    read = SourceReader(Path(folder))
    then = dict.fromkeys(differing) | revision.contents(differing)
    now = {path: text for path in differing if (text := read(path)) is not None}
    if any(path not in revision.files for path in now):
        kinds = {Path(path).suffix for path in now}
        gone = [
            path for path in revision.files if Path(path).suffix in kinds and not os.path.lexists(Path(folder, path))
        ]
        then.update(_moved(revision.contents(gone), {path: text for path, text in now.items() if then[path] is None}))
    return changed_columns(files, then, now)


def _moved(gone: Mapping[str, bytes], new: Mapping[str, bytes]) -> dict[str, bytes]:
    """The old text of each file that was moved."""
    return {path: gone[old] for path, old in moved_files(gone, new).items()}


def _is_generated(workspace: str, path: str) -> bool:
    """Whether a file lies in a folder in which programs are built, inside of the workspace."""
    folders = Path(path).parents[:-1]  # the workspace itself may be such a folder
    return any(os.path.lexists(os.path.join(workspace, folder, name)) for folder in folders for name in _OF_BUILDS)


def _with_row(evidence: Evidence, tests: list[str], row: Row, others: tuple[Replaced, ...] = ()) -> Evidence:
    changed = ChangedRows({**evidence.changed, **dict.fromkeys(tests, row)}, tests)
    return replace(evidence, changed=changed, replaced=evidence.replaced + others)
