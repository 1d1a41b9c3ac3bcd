"""The reader's marks in a file of the workspace, so that they outlive the server.

Beside them is a short hash of each line of the text that was run. So marks follow their lines to any later run, even
where no server saw the texts in between, and no text is stored. The file may come from somebody else, so comparing
takes n log n steps at most.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath

from suspectra.base.errors import SuspectraError
from suspectra.evidence.sources import SourceText, reason
from suspectra_server.state.code_lines import code_lines
from suspectra_server.state.workspace_file import WorkspaceFile

log = logging.getLogger(__name__)

NAME = "marks.json"
VERSION = 1
MAX_FILES = 500  # with marks; those marked last stay
MAX_MARKS = 20_000
MAX_LINES = 200_000  # of all these files
_HASH = 4  # bytes; two different lines have the same hash once in four billion comparisons
_DIGITS = 2 * _HASH
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LINES = re.compile(rf"(?:[0-9a-f]{{{_DIGITS}}})*")


@dataclass(frozen=True)
class Fingerprint:
    """The hashes of a text, to find its lines in later versions."""

    digest: str  # SHA-256 (hexadecimal) of the file's bytes
    source: SourceText | None = None  # the text, where it is known
    stored: tuple[str, ...] = ()  # the stored value of `lines`, if the text is not known

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """A short hash of the code of each line, without comments and white space."""
        if self.source is None:
            return self.stored
        code = code_lines(self.source.lines, self.source.path)
        return tuple(
            hashlib.blake2b(line.encode("utf-8", "surrogatepass"), digest_size=_HASH).hexdigest() for line in code
        )


@dataclass(frozen=True)
class FileMarks:
    """The marks in one file."""

    fingerprint: Fingerprint  # of the text that was run
    examined: frozenset[int] = frozenset()  # lines of that text, counted from 1
    innocent: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.examined or self.innocent)

    def moved(self, fingerprint: Fingerprint) -> FileMarks:
        """The same marks in another version of the file, without those whose lines were edited."""
        lines = _moved(self.fingerprint.lines, fingerprint.lines)

        def follow(marked: Iterable[int]) -> frozenset[int]:
            return frozenset(lines[line - 1] + 1 for line in marked if line <= len(lines) and lines[line - 1] >= 0)

        return FileMarks(fingerprint, follow(self.examined), follow(self.innocent))


class MarksFile:
    """``.suspectra/marks.json`` of a workspace. All methods access the disk: for one worker thread.

    Another server may use the same file. So each change is merged into the present content; of two changes to the marks
    of one source file the later one stays.
    """

    def __init__(self, root: Path, *, writable: bool = True):
        self._root = root
        self._file = WorkspaceFile(root, NAME, VERSION)
        self._writable = writable
        self._complaints: set[str] = set()

    def load(self) -> dict[str, FileMarks]:
        """The stored marks, by path. Those in deleted files are removed."""
        kept = self._read()
        if not self._writable:
            return kept
        gone = [path for path in kept if not os.path.lexists(self._root / path)]
        if gone:
            self.write(dict.fromkeys(gone))
        return {path: marks for path, marks in kept.items() if path not in gone}

    def write(self, changes: Mapping[str, FileMarks | None], *, cleared: bool = False) -> bool:
        """Store changes.

        False if the file can't be written.
        """
        if not self._writable:
            return True
        try:
            kept = {} if cleared else self._read()
            for path, marks in changes.items():
                kept.pop(path, None)  # the file that was marked last comes last
                if marks:
                    kept[path] = marks
            kept = self._within_limits(kept)
            self._file.write({"files": _as_json(kept)} if kept else None)
        except (OSError, ValueError, SuspectraError) as error:
            self._complain(f"marks can't be written and last until the server ends: {reason(error)}")
            return False
        return True

    def _read(self) -> dict[str, FileMarks]:
        """The content of the file; empty if it can't be read."""
        try:
            content = self._file.read()
            return {} if content is None else _parsed(content)
        except (OSError, ValueError, RecursionError) as error:
            self._complain(f"the marks in it are not used: {reason(error)}")
            return {}

    def _within_limits(self, kept: dict[str, FileMarks]) -> dict[str, FileMarks]:
        """As many files as are allowed, those that were marked last."""
        marks = lines = 0
        newest: list[str] = []
        for path, one in reversed(kept.items()):
            marks += len(one.examined) + len(one.innocent)
            lines += len(one.fingerprint.lines)
            if len(newest) == MAX_FILES or marks > MAX_MARKS or lines > MAX_LINES:
                self._complain(f"marks in {len(kept) - len(newest)} of {len(kept)} files are too many to be kept")
                break
            newest.append(path)
        return {path: kept[path] for path in reversed(newest)}

    def _complain(self, what: str) -> None:
        """Log each complaint once."""
        if what not in self._complaints:
            self._complaints.add(what)
            log.warning("%s: %s", self._file.path, what)


def _as_json(files: Mapping[str, FileMarks]) -> dict[str, object]:
    return {
        path: {
            "digest": marks.fingerprint.digest,
            "lines": "".join(marks.fingerprint.lines),
            "examined": sorted(marks.examined),
            "innocent": sorted(marks.innocent),
        }
        for path, marks in files.items()
    }


def _parsed(content: Mapping[str, object]) -> dict[str, FileMarks]:
    """The marks in the content of the file.

    Raises ValueError when it is damaged.
    """
    given_files = content.get("files")
    if not isinstance(given_files, dict):
        raise ValueError("it is not a file of marks")
    files = {_path(path): _file_marks(given) for path, given in given_files.items()}
    marks = sum(len(one.examined) + len(one.innocent) for one in files.values())
    lines = sum(len(one.fingerprint.lines) for one in files.values())
    if len(files) > MAX_FILES or marks > MAX_MARKS or lines > MAX_LINES:
        raise ValueError("it has too many marks")
    return files


def _path(path: str) -> str:
    parts = PurePath(path)
    if parts.anchor or ".." in parts.parts or "\0" in path:
        raise ValueError("a path in it leads out of the workspace")
    path.encode("utf-8", "surrogateescape")
    return path


def _file_marks(given: object) -> FileMarks:
    if not isinstance(given, dict):
        raise ValueError("it is damaged")
    digest, lines = given.get("digest"), given.get("lines")
    if not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
        raise ValueError("a digest in it is damaged")
    if not (isinstance(lines, str) and _LINES.fullmatch(lines)):
        raise ValueError("hashes in it are damaged")
    stored = tuple(lines[start : start + _DIGITS] for start in range(0, len(lines), _DIGITS))
    marked = [_marked(given.get(kind), stored) for kind in ("examined", "innocent")]
    return FileMarks(Fingerprint(digest, stored=stored), *marked)


def _marked(given: object, lines: Sequence[str]) -> frozenset[int]:
    if not isinstance(given, list) or not all(type(line) is int and 1 <= line <= len(lines) for line in given):
        raise ValueError("lines in it are damaged")
    return frozenset(given)


def _moved(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """For each old line its index among the new ones, -1 where it was edited or removed.

    Lines that are unique in both are matched first, as many as are in the same order in both. Equal neighbours of
    matched lines are matched next. This takes n log n steps for any file, even one that others have written.
    """
    counts = Counter(old), Counter(new)
    where = {line: i for i, line in enumerate(new)}
    pairs = [(i, where[line]) for i, line in enumerate(old) if counts[0][line] == counts[1][line] == 1]
    moved = [-1] * len(old)
    i = j = -1
    for next_i, next_j in [*_ascending(pairs), (len(old), len(new))]:
        head, tail = i, next_i
        while head + 1 < tail and (k := head + 1 - i + j) < next_j and old[head + 1] == new[k]:
            head += 1
            moved[head] = k
        taken = head - i + j
        while tail - 1 > head and (k := tail - 1 - next_i + next_j) > taken and old[tail - 1] == new[k]:
            tail -= 1
            moved[tail] = k
        i, j = next_i, next_j
        if i < len(old):
            moved[i] = j
    return moved


def _ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of pairs with ascending first numbers in which the second numbers ascend, too."""
    ends: list[int] = []  # the least last number of a subsequence of each length
    at: list[int] = []  # the index of its pair
    before: list[int] = []
    for index, (_, second) in enumerate(pairs):
        length = bisect_left(ends, second)
        before.append(at[length - 1] if length else -1)
        ends[length : length + 1] = [second]
        at[length : length + 1] = [index]
    longest: list[tuple[int, int]] = []
    index = at[-1] if at else -1
    while index >= 0:
        longest.append(pairs[index])
        index = before[index]
    return longest[::-1]
