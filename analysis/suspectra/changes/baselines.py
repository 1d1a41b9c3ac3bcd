"""Older texts of a program with which a test may have passed."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from suspectra.base.english import many
from suspectra.base.errors import UsageError
from suspectra.changes.history import further_back
from suspectra.changes.units import ChangeUnit, FileDifference
from suspectra.evidence.evidence import EvidenceSource
from suspectra.evidence.moved_files import moved_files
from suspectra.evidence.recording import RecordingSource
from suspectra.evidence.sources import SourceReader
from suspectra.recording.kept_texts import KeptTexts
from suspectra.selection.revision import Revision, last_tag, project_files, start_of_branch

_OURS = (".suspectra/", ".git/")
_BUILD_MARKS = ("CMakeCache.txt", "meson-info/meson-info.json", "config.status", "pyvenv.cfg")
"""Files that only folders with products have."""
_PRODUCT = re.compile(r"(?:^|/)(?:__pycache__|node_modules|\.\w+_cache|[^/]+\.egg-info)/|(?:^|/)\.coverage$|\.py[co]$")


@dataclass(frozen=True, eq=False)
class Baseline:
    """An older state of the workspace."""

    name: str  # as it is shown
    differences: tuple[FileDifference, ...]  # what is different now
    commit: str = ""  # the id of the commit that has it

    @property
    def units(self) -> tuple[ChangeUnit, ...]:
        """All changes since, in the order of files and lines."""
        return tuple(unit for difference in self.differences for unit in difference.units)

    @classmethod
    def from_texts(cls, name: str, workspace: Path, before: Mapping[str, bytes | None], commit: str = "") -> Baseline:
        """Compare texts with the present ones."""
        read = SourceReader(workspace)
        after = {path: read(path) for path in before}
        moved = moved_files(before, after)
        found = (
            _difference(path, moved.get(path), before, after) for path in sorted(before.keys() - set(moved.values()))
        )
        return cls(name, tuple(difference for difference in found if difference.units), commit)

    def contents(self, made: Collection[ChangeUnit]) -> dict[str, bytes | None]:
        """What the files are, by their paths, if only some of the changes are made; None for no file."""
        return {path: text for one in self.differences for path, text in one.contents(made).items()}


def _difference(
    path: str, old_path: str | None, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
) -> FileDifference:
    old, new = before[old_path or path], after[path]
    if old_path is None or old is None or new is None:
        return FileDifference.between(path, old, new)
    return FileDifference.moved(path, old_path, old, new)


def older_texts(workspace: Path, source: EvidenceSource, since: str | None = None) -> Iterator[Baseline]:
    """The texts with which tests may have passed: those of a revision, or else all that are known, the newest first."""
    if since is not None:
        yield from_revision(workspace, since)
        return
    yield from last_passes(workspace, source)
    yield from revisions(workspace)


def changes_since_pass(workspace: Path, source: EvidenceSource) -> tuple[ChangeUnit, ...]:
    """What is different now from the newest of these texts."""
    return next((baseline.units for baseline in older_texts(workspace, source)), ())


def from_revision(workspace: Path, name: str, shown: str = "") -> Baseline:
    """The state of a revision in git.

    Raises UsageError when git, the repository or the revision does not exist.
    """
    folder = os.path.realpath(workspace)
    revision = Revision.from_name(folder, name)
    listed = _without_products([path for path in project_files(folder) or () if path not in revision.files])
    changed = [path for path in revision.changed(listed) if not path.startswith(_OURS)]
    before: dict[str, bytes | None] = dict.fromkeys(changed)
    texts = {**before, **revision.contents(changed)}
    return Baseline.from_texts(shown or name, Path(folder), texts, revision.commit)


def _without_products(new: Collection[str]) -> list[str]:
    """The files that are not in a revision, without what builds and tests make: nobody has written that."""
    marked = {path[: -len(mark)] for path in new for mark in _BUILD_MARKS if f"/{path}".endswith(f"/{mark}")}
    folders = tuple(folder for folder in marked if folder)
    return [path for path in new if not path.startswith(folders) and not _PRODUCT.search(path)]


def last_passes(workspace: Path, source: EvidenceSource) -> Iterator[Baseline]:
    """The texts with which failing tests passed for the last time, as far as they are kept, the newest first."""
    if not isinstance(source, RecordingSource):
        return
    folder, known = Path(os.path.realpath(workspace)), KeptTexts(workspace)
    read = SourceReader(folder)
    present = {file.path for file in source.read().files}
    for then, tests in source.sources_of_passes():
        before: dict[str, bytes | None] = dict.fromkeys(path for path in present if path not in then)
        for path, digest in then.items():
            text = read(path)
            if text is None or hashlib.sha256(text).hexdigest() != digest:
                before[path] = known.read(digest)
        if not any(before[path] is None for path in before if path in then):
            yield Baseline.from_texts(f"{first_words(tests)} passed", folder, before)


def first_words(tests: Sequence[str]) -> str:
    """Some tests in a few words."""
    name = tests[0].rpartition("::")[2]
    return name if len(tests) == 1 else f"{name} and {many(len(tests) - 1, 'other')}"


def revisions(workspace: Path) -> Iterator[Baseline]:
    """The revisions with which tests may have passed: that of the last commit, where the branch began, the last tag.

    Then come commits before the last one, further and further apart. None of them is as the workspace, or as one before
    it; where git knows no repository, there is none.
    """
    known: set[frozenset[tuple[tuple[str, ...], bytes | None]]] = {frozenset()}
    folder = os.path.realpath(workspace)
    for name, shown in (
        ("HEAD", "the last commit"),
        (start_of_branch(folder), "where this branch began"),
        (last_tag(folder), "the last tag"),
        *((commit.id, "a commit") for commit in further_back(folder)),
    ):
        if name is None:
            continue
        try:
            baseline = from_revision(workspace, name, f"{shown} ({name[:12]})")
        except UsageError:
            continue
        state = frozenset((difference.paths, difference.before) for difference in baseline.differences)
        if state not in known:
            known.add(state)
            yield baseline
