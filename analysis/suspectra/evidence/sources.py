"""Reading source files of the workspace safely, to show lines and to notice changes."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from suspectra.base.errors import Problem
from suspectra.base.location import Location
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.opening import read_evidence
from suspectra.program.languages import is_python
from suspectra.program.python.decision_texts import in_one_line

if TYPE_CHECKING:
    from suspectra.base.arrays import Ints
    from suspectra.runs.measured_file import MeasuredFile

# no hand-written source is larger
MAX_SOURCE = 16 * 2**20
_LINE_END = re.compile(r"\r\n|\r|\n")

Signature = tuple[int, int, int, int]


def signature(path: Path | str) -> Signature | None:
    """Return a value that changes when a file does, without reading it.

    All links are followed, so check paths that are not trusted with :class:`Boundary` first.

    Times in nanoseconds, size and inode; None for a file that does not exist.
    """
    try:
        return signature_of(os.stat(path))
    except (OSError, ValueError):
        return None


def signature_of(found: os.stat_result) -> Signature:
    """Return the parts of a file's status that change when the file does."""
    # programs can set mtime, but not ctime
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


@dataclass(frozen=True, eq=False)
class SourceText:
    """The current state of a source file."""

    path: str  # relative to the workspace, forward slashes
    text: str  # decoded by the byte order mark, else as UTF-8, else as Latin-1; Python sources by their coding line
    data: bytes  # the bytes of the file

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hexadecimal) of the bytes."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def lines(self) -> list[str]:
        """The lines without line ends. As in Python, only line feeds and carriage returns end a line."""
        return _LINE_END.split(self.text)

    def line(self, number: int) -> str:
        """Return one line; empty past the end."""
        return self.lines[number - 1] if 1 <= number <= len(self.lines) else ""


class SourceUnreadable(Exception):
    """A source that can't be shown."""

    def __init__(self, problem: Problem):
        super().__init__(str(problem))
        self.problem = problem  # the cause and the cure; also an attribute


class Sources:
    """The source files of one workspace, with a cache of unchanged files."""

    def __init__(self, workspace: Path, files: Iterable[MeasuredFile] = ()):
        self.workspace = workspace  # the folder; sources outside it are not read
        self._files = {file.path: file for file in files}
        self._moved: dict[str, tuple[SourceText, Ints | None]] = {}
        self._boundary = Boundary(workspace)
        self._read: dict[str, tuple[Signature | None, SourceText]] = {}

    def get(self, path: str) -> SourceText:
        """Read a source of the workspace.

        The same object as long as the file does not change.

        Raises SourceUnreadable when there is no such file in the workspace, or it can't be read.
        """
        real = self._boundary.real(PurePosixPath(path))
        if real is None:
            raise SourceUnreadable(Problem(path, "", "it is outside the workspace", "open the folder it is in"))
        now = signature(real)
        known = self._read.get(path)
        if known and now is not None and known[0] == now:
            return known[1]
        source = self._load(path, Path(real))
        self._read[path] = now, source
        return source

    def signature(self, path: str) -> Signature | None:
        """Return the signature of a source, None if it does not exist or is outside the workspace."""
        real = self._boundary.real(PurePosixPath(path))
        return None if real is None else signature(real)

    def line(self, path: str, number: int) -> str:
        """Return one line to show, empty if the source can't be read or the line is not there any more."""
        try:
            source = self.get(path)
        except SourceUnreadable:
            return ""
        file = self._files.get(path)
        if file is None or file.digest is None or file.digest == source.digest:
            return source.line(number)
        known = self._moved.get(path)
        if known is None or known[0] is not source:
            known = self._moved[path] = source, file.lines_in(source.data)
        lines = known[1]
        return source.line(int(lines[number])) if lines is not None and number < len(lines) else ""

    def lines(self, location: Location) -> str:
        """Return the lines of a place as one to show.

        Shortened if they are long.
        """
        lines = range(location.line, location.end_line + 1)
        return in_one_line([self.line(location.file, number) for number in lines]).strip()

    def change(self, path: str, digest: str | None) -> Problem | None:
        """Return why lines of a file should not be shown, given its digest when the tests ran.

        None if its lines may be shown.
        """
        try:
            source = self.get(path)
        except SourceUnreadable as error:
            return error.problem
        if digest is not None and digest != source.digest:
            return Problem(
                path, "", "it was changed after the tests ran, so line numbers may be off", "run the tests again"
            )
        return None

    def _load(self, path: str, real: Path) -> SourceText:
        try:
            data = read_evidence(real, limit=MAX_SOURCE)
        except FileNotFoundError:
            cause = "it was deleted after the tests ran"
            raise SourceUnreadable(Problem(path, "", cause, "run the tests again")) from None
        except (OSError, ValueError) as error:
            cause = f"it can't be read: {reason(error)}"
            raise SourceUnreadable(Problem(path, "", cause, "make it a readable file, or leave it out")) from None
        return SourceText(path, decode(data, path), data)


@dataclass(frozen=True)
class SourceReader:
    """Reads sources of a workspace as bytes; ``reader(path)`` returns None if a source can't be read."""

    workspace: Path  # the folder; sources outside it are not read

    def __call__(self, path: str) -> bytes | None:
        """Return the current bytes of a file of the workspace, None if it can't be read."""
        real = self._boundary.real(PurePosixPath(path))
        try:
            return read_evidence(real, limit=MAX_SOURCE) if real is not None else None
        except (OSError, ValueError):
            return None

    @cached_property
    def _boundary(self) -> Boundary:
        return Boundary(self.workspace)


def decode(data: bytes, path: str) -> str:
    """Decode a source, Python sources by their declared encoding; invalid bytes are replaced.

    UTF-8 unless declared otherwise; Latin-1 if that fails.
    """
    try:
        if not is_python(path):
            return data.decode("utf-8-sig")
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        return data.decode(encoding, "replace")
    except (SyntaxError, LookupError, ValueError):
        return data.decode("latin-1")


def reason(error: Exception) -> str:
    """Return the operating system's message of an error, without the path.

    Never empty.
    """
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
