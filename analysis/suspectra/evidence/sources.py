"""Reading source files of the workspace safely, to show lines and to notice changes."""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from suspectra.errors import Problem
from suspectra.evidence.boundary import Boundary
from suspectra.location import Location
from suspectra.program.decision_texts import in_one_line
from suspectra.program.languages import is_python

if TYPE_CHECKING:
    from suspectra.arrays import Ints
    from suspectra.measured_file import MeasuredFile

# no hand-written source is larger
MAX_SOURCE = 16 * 2**20
_LINE_END = re.compile(r"\r\n|\r|\n")

Signature = tuple[int, int, int, int]


def signature(path: Path | str) -> Signature | None:
    """Return a value that changes when a file does, without reading it.

    All links are followed, so check paths that are not trusted with :class:`Boundary` first.

    Parameters
    ----------
    path : Path or str
        The file.

    Returns
    -------
    Signature or None
        Times in nanoseconds, size and inode; None for a file that does not exist.

    Examples
    --------
    >>> _ = (folder / "cart.py").write_text("total = 0")
    >>> signature(folder / "cart.py")[2], signature(folder / "tax.py")
    (9, None)
    """
    try:
        return signature_of(os.stat(path))
    except (OSError, ValueError):
        return None


def signature_of(found: os.stat_result) -> Signature:
    """Return the parts of a file's status that change when the file does.

    Parameters
    ----------
    found : os.stat_result
        From ``os.stat``.

    Returns
    -------
    Signature
        Times in nanoseconds, size and inode.

    Examples
    --------
    >>> signature_of(os.stat(folder)) == signature(folder)
    True
    """
    # programs can set mtime, but not ctime
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


@dataclass(frozen=True, eq=False)
class SourceText:
    r"""The current state of a source file.

    Parameters
    ----------
    path : str
        Relative to the workspace, forward slashes.
    text : str
        Decoded by the byte order mark, else as UTF-8, else as Latin-1; Python sources by their coding line. Invalid
        bytes are replaced.
    data : bytes
        The bytes of the file.

    Examples
    --------
    >>> source = SourceText("cart.py", "total = 0\nitems = []", b"total = 0\nitems = []")
    >>> source.line(2), source.line(99), source.digest[:8]
    ('items = []', '', 'a8081dee')
    >>> source.lines
    ['total = 0', 'items = []']
    """

    path: str
    text: str
    data: bytes

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hexadecimal) of the bytes."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def lines(self) -> list[str]:
        """The lines without line ends. As in Python, only line feeds and carriage returns end a line."""
        return _LINE_END.split(self.text)

    def line(self, number: int) -> str:
        """Return one line; empty past the end.

        Parameters
        ----------
        number : int
            Counted from 1.

        Returns
        -------
        str
            Without its line end.
        """
        return self.lines[number - 1] if 1 <= number <= len(self.lines) else ""


class SourceUnreadable(Exception):
    """A source that can't be shown.

    Parameters
    ----------
    problem : Problem
        The cause and the cure; also an attribute.

    Examples
    --------
    >>> raise SourceUnreadable(Problem("cart.py", "", "it was deleted after the tests ran", "run the tests again"))
    Traceback (most recent call last):
    suspectra.evidence.sources.SourceUnreadable: cart.py: it was deleted after the tests ran. Fix: …
    """

    def __init__(self, problem: Problem):
        super().__init__(str(problem))
        self.problem = problem


class Sources:
    r"""The source files of one workspace, with a cache of unchanged files.

    Parameters
    ----------
    workspace : Path
        The folder; sources outside it are not read.
    files : iterable of MeasuredFile
        Files as the tests ran. Numbers of lines are those of the run. So of a file that has changed since, a line is
        shown only if it is found again.

    Examples
    --------
    >>> _ = (folder / "cart.py").write_text("total = 0")
    >>> sources = Sources(folder)
    >>> sources.line("cart.py", 1), sources.get("cart.py") is sources.get("cart.py")
    ('total = 0', True)
    >>> sources.change("cart.py", "60303ae2").cause
    'it was changed after the tests ran, so line numbers may be off'
    >>> import dataclasses
    >>> from suspectra.evidence.recording.recorded_file import RecordedFile
    >>> as_run = dataclasses.replace(RecordedFile.from_text("cart.py", b"total = 0\nitems = []"), digest="60303ae2")
    >>> _ = (folder / "cart.py").write_text("import math\nitems = []")
    >>> sources = Sources(folder, [as_run])
    >>> sources.line("cart.py", 1), sources.line("cart.py", 2)
    ('', 'items = []')
    """

    def __init__(self, workspace: Path, files: Iterable[MeasuredFile] = ()):
        self.workspace = workspace
        self._files = {file.path: file for file in files}
        self._moved: dict[str, tuple[SourceText, Ints | None]] = {}
        self._boundary = Boundary(workspace)
        self._read: dict[str, tuple[Signature | None, SourceText]] = {}

    def get(self, path: str) -> SourceText:
        """Read a source of the workspace.

        Parameters
        ----------
        path : str
            Relative to the workspace, with forward slashes.

        Returns
        -------
        SourceText
            The same object as long as the file does not change.

        Raises
        ------
        SourceUnreadable
            When there is no such file in the workspace, or it can't be read.
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
        """Return the signature of a source, None if it does not exist or is outside the workspace.

        Parameters
        ----------
        path : str
            Relative to the workspace, with forward slashes.

        Returns
        -------
        Signature or None
            The result of :func:`signature`.

        Examples
        --------
        >>> _ = (folder / "cart.py").write_text("total = 0")
        >>> sources = Sources(folder)
        >>> sources.signature("cart.py") == signature(folder / "cart.py"), sources.signature("../cart.py")
        (True, None)
        """
        real = self._boundary.real(PurePosixPath(path))
        return None if real is None else signature(real)

    def line(self, path: str, number: int) -> str:
        """Return one line to show, empty if the source can't be read or the line is not there any more.

        Parameters
        ----------
        path : str
            Relative to the workspace, with forward slashes.
        number : int
            Counted from 1, as the tests ran.

        Returns
        -------
        str
            Without its line end.
        """
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
        r"""Return the lines of a place as one to show.

        Parameters
        ----------
        location : Location
            Lines as the tests ran.

        Returns
        -------
        str
            Shortened if they are long.

        Examples
        --------
        >>> _ = (folder / "cart.py").write_text("if (\n    express\n    or member\n):\n    fee = 0\n")
        >>> Sources(folder).lines(Location("cart.py", 1, 4))
        'if ( express or member ):'
        """
        lines = range(location.line, location.end_line + 1)
        return in_one_line([self.line(location.file, number) for number in lines]).strip()

    def change(self, path: str, digest: str | None) -> Problem | None:
        """Return why lines of a file should not be shown, given its digest when the tests ran.

        Parameters
        ----------
        path : str
            Relative to the workspace, with forward slashes.
        digest : str or None
            SHA-256, hexadecimal; if None, nothing is compared.

        Returns
        -------
        Problem or None
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
            data = read_regular(real, MAX_SOURCE)
        except FileNotFoundError:
            cause = "it was deleted after the tests ran"
            raise SourceUnreadable(Problem(path, "", cause, "run the tests again")) from None
        except (OSError, ValueError) as error:
            cause = f"it can't be read: {reason(error)}"
            raise SourceUnreadable(Problem(path, "", cause, "make it a readable file, or leave it out")) from None
        return SourceText(path, decode(data, path), data)


@dataclass(frozen=True)
class SourceReader:
    """Reads sources of a workspace as bytes; ``reader(path)`` returns None if a source can't be read.

    Parameters
    ----------
    workspace : Path
        The folder; sources outside it are not read.

    Examples
    --------
    >>> _ = (folder / "cart.py").write_text("total = 0")
    >>> read = SourceReader(folder)
    >>> read("cart.py"), read("../cart.py")
    (b'total = 0', None)
    """

    workspace: Path

    def __call__(self, path: str) -> bytes | None:
        """Return the current bytes of a file of the workspace, None if it can't be read."""
        real = self._boundary.real(PurePosixPath(path))
        try:
            return read_regular(Path(real), MAX_SOURCE) if real is not None else None
        except (OSError, ValueError):
            return None

    @cached_property
    def _boundary(self) -> Boundary:
        return Boundary(self.workspace)


def read_regular(path: Path, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes.

    Parameters
    ----------
    path : Path
        Links are followed.
    limit : int
        The largest size, in bytes.

    Returns
    -------
    bytes
        The content of the file.

    Raises
    ------
    OSError
        When it can't be read.
    ValueError
        When it is not a regular file (a pipe would block for ever), or too large.

    Examples
    --------
    >>> _ = (folder / "cart.py").write_text("total = 0")
    >>> read_regular(folder / "cart.py", 100)
    b'total = 0'
    """
    with open_regular(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"it is larger than {limit // 2**20} MB")
    return data


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file to read its bytes.

    Parameters
    ----------
    path : Path
        Links are followed.

    Returns
    -------
    BinaryIO
        The file, which the caller must close.

    Raises
    ------
    OSError
        When it can't be opened.
    ValueError
        When it is not a regular file.

    Examples
    --------
    >>> _ = (folder / "cart.py").write_text("total = 0")
    >>> with open_regular(folder / "cart.py") as file:
    ...     file.read(5)
    b'total'
    >>> open_regular(Path(os.devnull))
    Traceback (most recent call last):
    ValueError: it is not a regular file
    """
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise ValueError("it is not a regular file")
    return file


def decode(data: bytes, path: str) -> str:
    r"""Decode a source, Python sources by their declared encoding; invalid bytes are replaced.

    Parameters
    ----------
    data : bytes
        The content of the file.
    path : str
        The path, whose suffix tells whether it is Python.

    Returns
    -------
    str
        UTF-8 unless declared otherwise; Latin-1 if that fails.

    Examples
    --------
    >>> decode("# coding: latin-1\nname = 'Zoë'".encode("latin-1"), "cart.py")
    "# coding: latin-1\nname = 'Zoë'"
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

    Parameters
    ----------
    error : Exception
        Usually from the operating system.

    Returns
    -------
    str
        Never empty.

    Examples
    --------
    >>> reason(FileNotFoundError(2, "No such file or directory", "secret.txt"))
    'No such file or directory'
    """
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
