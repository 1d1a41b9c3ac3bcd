"""The differences between the sources of a workspace and those that tests ran."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from suspectra.evidence.boundary import Boundary
from suspectra.evidence.opening import read_evidence
from suspectra.selection.recorded_tests import RecordedVersion
from suspectra.selection.revision import Revision, project_files
from suspectra.selection.source_readers import readers
from suspectra_recorder.instrumentation.outline import EVERYTHING, Difference, Outline, difference, mentions
from suspectra_recorder.instrumentation.source import parse
from suspectra_recorder.recorded_files import RecordedFiles

_MAX_SIZE = 1 << 26
_NOTHING = Difference()
_GENERATOR = b'<meta name="generator" content="Suspectra">'  # marks pages of `suspectra report`


@dataclass(frozen=True)
class Changes:
    """What changed since tests ran."""

    # the differences of each version from the current file. Their `plain` is empty
    differences: Mapping[RecordedVersion, Difference] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()  # paths of recorded files that no longer exist
    # what each file imports, by path: when tests ran it, and now
    imports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    conftests: frozenset[str] = frozenset()  # the existing `conftest.py` files
    rewritten: frozenset[RecordedVersion] = frozenset()  # those whose file has another text now, be it only a comment
    # the functions of each file that may read source text, by path; only where a file is rewritten
    readers: Mapping[str, frozenset[str]] = field(default_factory=dict)


class WorkspaceFiles:
    """The current state of a project's files. Each file is read once."""

    def __init__(self, root: str):
        self.root = os.path.realpath(root)  # the folder
        self._boundary = Boundary(self.root)
        self._contents: dict[str, bytes | None] = {}
        self._digests: dict[str, str | None] = {}
        self._trees: dict[str, ast.Module | None] = {}
        self._ages: dict[str, int] = {}

    def content(self, path: str) -> bytes | None:
        """Read a file.

        None if it does not exist, is outside the workspace, or can't be read.
        """
        if path not in self._contents:
            self._contents[path] = self._read(path)
        return self._contents[path]

    def digest(self, path: str) -> str | None:
        """Compute the SHA-256 of a file, as in the recording.

        Hexadecimal; None where the file can't be read.
        """
        if path not in self._digests:
            data = self.content(path)
            self._digests[path] = None if data is None else hashlib.sha256(data).hexdigest()
        return self._digests[path]

    def tree(self, path: str) -> ast.Module | None:
        """Parse a file.

        None where the file can't be read or is not Python. Each file is parsed once.
        """
        if path not in self._trees:
            self._trees[path] = _parsed(self.content(path))
        return self._trees[path]

    def outline(self, path: str, *, tests: bool) -> Outline | None:
        """Make the outline of the current file.

        None where the file can't be parsed.
        """
        return _outline(self.tree(path), tests=tests)

    def age(self, path: str) -> int:
        """Return when a file last changed.

        Nanoseconds since the epoch; -1 if the file does not exist. Each file is looked up once.
        """
        if path not in self._ages:
            try:
                status = os.lstat(os.path.join(self.root, path))
                regular = stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)
                self._ages[path] = max(status.st_mtime_ns, status.st_ctime_ns) if regular else -1
            except (OSError, ValueError):
                self._ages[path] = -1
        return self._ages[path]

    def _read(self, path: str) -> bytes | None:
        real = self._boundary.real(path)
        try:
            return None if real is None else read_evidence(real, limit=_MAX_SIZE)
        except (OSError, ValueError):
            return None


def changes(workspace: WorkspaceFiles, versions: Sequence[RecordedVersion], since: Revision | None = None) -> Changes:
    """Compare the versions that tests ran with the workspace."""
    found = _Found(workspace, versions, since)
    gone = frozenset(v.path for v in versions if workspace.digest(v.path) is None)
    differences = {v: d for v in versions if (d := found.difference(v))}
    imports: dict[str, dict[str, None]] = {}
    for version in versions:
        names = version.outline.imports if version.outline else ()
        imports.setdefault(version.path, {}).update(dict.fromkeys(names))
    for version in differences:
        if outline := workspace.outline(version.path, tests=not version.traced):
            imports[version.path].update(dict.fromkeys(outline.imports))
    rewritten = frozenset(v for v in versions if workspace.digest(v.path) not in (None, v.digest))
    paths = {v.path for v in versions} if rewritten else set()
    read = {path: readers(workspace.content(path), partial(workspace.tree, path)) for path in paths}
    return Changes(
        differences,
        gone,
        {path: tuple(names) for path, names in imports.items()},
        _conftests(workspace, versions),
        rewritten,
        {path: names for path, names in read.items() if names},
    )


class _Found:
    """Finds the differences of versions."""

    def __init__(self, workspace: WorkspaceFiles, versions: Sequence[RecordedVersion], since: Revision | None):
        self.workspace = workspace
        self.known = {v.path for v in versions}
        self.before: dict[str, ast.Module | None] = {}  # files that differ from the revision
        if since is not None:
            changed = self.known.intersection(since.changed(project_files(workspace.root) or ()))
            contents = since.contents(sorted(changed))
            self.before = {path: _parsed(contents.get(path)) for path in changed}

    def difference(self, version: RecordedVersion) -> Difference:
        """The difference between a version, or the revision, and the current file."""
        path, tests = version.path, not version.traced
        digest = self.workspace.digest(path)
        if digest is None:
            return EVERYTHING
        current = self.workspace.outline(path, tests=tests) if digest != version.digest or path in self.before else None
        found = difference(version.outline, current) if digest != version.digest else _NOTHING
        if path in self.before:
            found |= difference(_outline(self.before[path], tests=tests), current) if version.outline else EVERYTHING
        return self._settled(path, found)

    def _settled(self, path: str, found: Difference) -> Difference:
        """Ignore added and removed functions whose names only changed code uses."""
        if not found.plain or found.whole:
            return replace(found, plain=frozenset())
        used = any(name.startswith("__") for name in found.plain) or self._used(path, found)
        if used:
            return replace(found, plain=frozenset(), around=True)
        units, helpers = found.units - found.plain, found.helpers - found.plain
        return replace(found, plain=frozenset(), units=units, helpers=helpers)

    def _used(self, path: str, found: Difference) -> bool:
        tree = self.workspace.tree(path)
        if tree is None or mentions(tree, found.plain, found.bodies):
            return True
        word = re.compile(rb"\b(?:%s)\b" % b"|".join(re.escape(name.encode()) for name in sorted(found.plain)))
        others = (self.workspace.content(other) for other in self.known if other != path)
        return any(word.search(content) for content in others if content)


def other_files(
    workspace: WorkspaceFiles, known: Iterable[str], after: int, since: Revision | None = None
) -> list[str]:
    """Find changed files that no test is known to have run, such as data and configuration.

    Paths relative to the workspace, sorted; without Python files and pages of `suspectra report`.
    """
    listed = project_files(workspace.root)
    files = _walk(workspace.root) if listed is None else listed
    if since is not None:
        changed = set(since.changed(files))
    else:
        changed = {path for path in files if workspace.age(path) > after}
    hidden = re.compile(r"(^|/)\.")
    others = (path for path in changed.difference(known) if not path.endswith(".py") and not hidden.search(path))
    return sorted(path for path in others if not (path.endswith(".html") and _is_report(workspace.content(path))))


def _is_report(page: bytes | None) -> bool:
    return page is not None and _GENERATOR in page[:2048]


def _walk(root: str) -> list[str]:
    return [os.path.relpath(path, root).replace(os.sep, "/") for path in RecordedFiles(root).files_below(root)]


def _conftests(workspace: WorkspaceFiles, versions: Iterable[RecordedVersion]) -> frozenset[str]:
    folders = {""}
    for version in versions:
        folder = version.path
        while not version.traced and folder:
            folder = folder.rpartition("/")[0]
            folders.add(folder)
    paths = (f"{folder}/conftest.py" if folder else "conftest.py" for folder in folders)
    return frozenset(path for path in paths if workspace.age(path) >= 0)


def _parsed(data: bytes | None) -> ast.Module | None:
    if data is None:
        return None
    try:
        return parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _outline(tree: ast.Module | None, *, tests: bool) -> Outline | None:
    return None if tree is None else Outline.from_tree(tree, tests=tests)
