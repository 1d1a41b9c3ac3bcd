"""Mapping paths in evidence to files of the workspace."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from suspectra.base.errors import Problem, UsageError
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.opening import open_evidence

TEST_PATTERNS = (
    "test/*",
    "tests/*",
    "*/test/*",
    "*/tests/*",
    "test_*.*",
    "*/test_*.*",
    "*_test.*",
    "*_tests.*",
    "*_unittest.*",
)
"""Usual paths of C and C++ files with tests."""

SYSTEM = ("/usr/", "/opt/", "/lib/", "/Library/", "/Applications/", "<")
"""Folders of headers of compilers and systems, which are never suspected and not reported."""

_SOURCES = "/usr/src/"
"""Where packages say that their sources are (`-ffile-prefix-map`), which may be in the workspace."""

_BEGINNING = 1 << 16  # bytes of a file, which have what it includes
_MAX_TRIED = 100  # files outside the workspace of which one is looked for inside


class SourcePaths:
    """Maps the paths of compilers and coverage tools to paths of the workspace."""

    def __init__(
        self,
        workspace: str | os.PathLike[str],
        mapping: Iterable[tuple[str, str]] = (),
        test_patterns: Sequence[str] = TEST_PATTERNS,
    ):
        self.workspace = os.path.abspath(workspace)  # the folder of the sources. Files outside it are left out
        pairs = ((_folder(there), os.path.normpath(os.path.join(self.workspace, folder))) for there, folder in mapping)
        # pairs of a folder on the machine that built the program and the same folder on this one, which may be relative
        # to the workspace. The longest matching folder is used
        self.mapping = tuple(sorted(pairs, key=lambda pair: -len(pair[0])))
        self.test_patterns = tuple(test_patterns)  # patterns of paths with test code
        self._boundary = Boundary(self.workspace)
        self._known: dict[tuple[str, str], str | None] = {}
        self._outside: set[str] = set()

    def resolve(self, path: str, folder: str = "") -> str | None:
        """Return the path relative to the workspace, or None for a file outside."""
        key = (path, folder)
        if key not in self._known:
            self._known[key] = self._resolve(path, folder)
        return self._known[key]

    def locate(self, path: str) -> str:
        """Map an absolute path by `mapping`.

        The path on this machine; unchanged if no mapping matches.
        """
        path = posixpath.normpath(path)
        for there, here in self.mapping:
            if path == there or path.startswith(there.rstrip("/") + "/"):
                return os.path.normpath(os.path.join(here, path[len(there) :].lstrip("/")))
        return path

    def is_test(self, path: str) -> bool:
        """Whether a file of the workspace is test code.

        True if one of `test_patterns` matches.
        """
        return any(fnmatchcase(path, pattern) for pattern in self.test_patterns)

    def beginning(self, path: str) -> bytes:
        """Return the first part of a file of the workspace; empty if there is none that may be read."""
        real = self._boundary.real(path)
        if real is None:
            return b""
        try:
            with open_evidence(real, self._boundary, follow=False) as file:
                return file.read(_BEGINNING)
        except (OSError, ValueError):
            return b""

    def problems(self, source: str) -> tuple[Problem, ...]:
        """Report files that were left out because they are outside the workspace, without system headers."""
        if not self._outside:
            return ()
        some = ", ".join(sorted(self._outside)[:3])
        cause = f"{len(self._outside)} source files lie outside the workspace and are left out: {some}"
        cure = f"map the folder of the machine that built the program to one here, for example {self._there()}=."
        return (Problem(source, "", cause, cure),)

    def _there(self) -> str:
        """The folder there that most probably is the workspace: below it the same file is here."""
        for path in sorted(self._outside)[:_MAX_TRIED]:
            if here := self._here(path):
                return path.removesuffix(here).rstrip("/") or "/"
        return os.path.commonpath([os.path.dirname(path) for path in self._outside])

    def _here(self, path: str) -> str:
        """The longest end of a path that is one in the workspace, however its links lead; empty if none is."""
        parts = path.split("/")
        return max(
            self._boundary.existing("/".join(parts[size:]) for size in range(1, len(parts))), key=len, default=""
        )

    def _resolve(self, path: str, folder: str) -> str | None:
        if "\0" in path:
            return None
        whole = self.locate(posixpath.join(folder or self.workspace, path))
        if not path.startswith(("/", "<")) and not self._boundary.existing([whole]):
            whole = self._above(path, folder) or whole
        inside = self._boundary.relative(whole)
        if inside is not None:
            named = whole.startswith(self.workspace + os.sep)
            return os.path.relpath(whole, self.workspace).replace(os.sep, "/") if named else inside
        system = whole.startswith(SYSTEM) or path.startswith("<")
        if not system or (whole.startswith(_SOURCES) and self._here(whole)):
            self._outside.add(whole)
        return None

    def _above(self, path: str, folder: str) -> str | None:
        """A file that compilers were told to name by a shorter path (`-ffile-prefix-map`), seen from a folder above.

        None if there is none in the workspace, or the folder of the compiler is outside of it.
        """
        folders = [posixpath.normpath(self.locate(posixpath.join(self.workspace, folder)))]
        if not self._boundary.names(folders[0]):
            return None
        while self._boundary.names(posixpath.dirname(folders[-1])):
            folders.append(posixpath.dirname(folders[-1]))
        candidates = [posixpath.normpath(posixpath.join(one, path)) for one in folders]
        # clang puts its folder in front of a name, both of them shortened
        parts = posixpath.normpath(path).split("/")
        if posixpath.pardir not in parts:
            candidates += [posixpath.join(self.workspace, *parts[at:]) for at in range(1, len(parts))]
        found = self._boundary.existing(candidates)
        return next((one for one in candidates if one in found), None)


def parse_mapping(options: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Read options of the form ``THERE=HERE``.

    Raises UsageError when an option has another form.
    """
    pairs = []
    for option in options:
        there, equals, here = option.partition("=")
        if not equals or not there.startswith("/"):
            cure = "write --map /folder/there=folder/here"
            raise UsageError(Problem("", "--map", f"{option!r} does not map one folder to another", cure))
        pairs.append((there, here or "."))
    return tuple(pairs)


def _folder(path: str) -> str:
    return posixpath.normpath(path)
