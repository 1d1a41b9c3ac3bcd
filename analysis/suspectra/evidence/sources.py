"""Source files of the workspace, read safely: for showing lines, and for knowing whether they changed."""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import tokenize
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from suspectra.errors import Problem
from suspectra.evidence.boundary import Boundary
from suspectra.program.languages import is_python

# no hand-written source is larger; a file that is would only cost memory
MAX_SOURCE = 16 * 2**20
_LINE_END = re.compile(r"\r\n|\r|\n")

Signature = tuple[int, int, int, int]


def signature(path: Path | str) -> Signature | None:
    """What tells one state of a file from another without reading it, None for a file that is not there.

    Links are followed wherever they lead: of a path that others chose, ask only after :class:`Boundary` was asked.

    Parameters
    ----------
    path : Path or str
        The file.

    Returns
    -------
    Signature or None
        Times in nanoseconds, size and inode.

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
    """What of a file's status tells one state from another.

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
    # the time of the last change can be set by anybody, that of the last change of the entry by nobody
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


@dataclass(frozen=True, eq=False)
class SourceText:
    r"""One source file as it is now.

    Parameters
    ----------
    path : str
        Relative to the workspace, forward slashes.
    text : str
        By byte order mark, else UTF-8, else Latin-1; Python's sources by their coding line. Bytes that don't fit are
        replaced.
    data : bytes
        As they are on disk.

    Examples
    --------
    >>> source = SourceText("cart.py", "total = 0\nitems = []", b"total = 0\nitems = []")
    >>> source.line(2), source.line(99), source.digest[:8]
    ('items = []', '', 'a8081dee')
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
        """The lines without their ends. Only line feeds and carriage returns end a line, as in Python."""
        return _LINE_END.split(self.text)

    def line(self, number: int) -> str:
        """One line, counted from 1; empty beyond the end.

        Parameters
        ----------
        number : int
            Counted from 1.

        Returns
        -------
        str
            Without its end.
        """
        return self.lines[number - 1] if 1 <= number <= len(self.lines) else ""


class SourceUnreadable(Exception):
    """A source that can't be shown.

    Parameters
    ----------
    problem : Problem
        Why, and what to do; kept as an attribute.

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
    """The source files of one workspace, each read once as long as it does not change.

    Parameters
    ----------
    workspace : Path
        Sources outside it are not read.

    Examples
    --------
    >>> _ = (folder / "cart.py").write_text("total = 0")
    >>> sources = Sources(folder)
    >>> sources.line("cart.py", 1), sources.get("cart.py") is sources.get("cart.py")
    ('total = 0', True)
    >>> sources.change("cart.py", "60303ae2").cause
    'it was changed after the tests ran, so line numbers may be off'
    """

    def __init__(self, workspace: Path):
        self.workspace = workspace
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
            The same object while the file does not change.

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
        """What tells one state of a source from another, None for one that is not there or outside the workspace.

        Parameters
        ----------
        path : str
            Relative to the workspace, with forward slashes.

        Returns
        -------
        Signature or None
            As the function :func:`signature` gives it.

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
        """One line for showing, empty where the source can't be read.

        Parameters
        ----------
        path : str
            Relative to the workspace, with forward slashes.
        number : int
            Counted from 1.

        Returns
        -------
        str
            Without its end.
        """
        try:
            return self.get(path).line(number)
        except SourceUnreadable:
            return ""

    def change(self, path: str, digest: str | None) -> Problem | None:
        """What is wrong with showing lines of this file, given the digest it had when the tests ran.

        Parameters
        ----------
        path : str
            Relative to the workspace, with forward slashes.
        digest : str or None
            SHA-256, hexadecimal; None when the evidence does not say, and then nothing is compared.

        Returns
        -------
        Problem or None
            None where its lines may be shown.
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
    """Reads sources of a workspace as bytes: ``reader(path)`` is None for one that can't be read.

    Parameters
    ----------
    workspace : Path
        Sources outside it are not read.

    Examples
    --------
    >>> _ = (folder / "cart.py").write_text("total = 0")
    >>> read = SourceReader(folder)
    >>> read("cart.py"), read("../cart.py")
    (b'total = 0', None)
    """

    workspace: Path

    def __call__(self, path: str) -> bytes | None:
        """The bytes of a file of the workspace as it is now."""
        real = self._boundary.real(PurePosixPath(path))
        try:
            return read_regular(Path(real), MAX_SOURCE) if real is not None else None
        except (OSError, ValueError):
            return None

    @cached_property
    def _boundary(self) -> Boundary:
        return Boundary(self.workspace)


def read_regular(path: Path, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes.

    Parameters
    ----------
    path : Path
        Links are followed.
    limit : int
        In bytes.

    Returns
    -------
    bytes
        All of the file.

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
        To be closed by the caller.

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
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - whoever asked closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise ValueError("it is not a regular file")
    return file


def decode(data: bytes, path: str) -> str:
    r"""A source as text, Python by the encoding it declares; whatever does not fit is replaced.

    Parameters
    ----------
    data : bytes
        All of the file.
    path : str
        Its ending tells whether it is Python.

    Returns
    -------
    str
        UTF-8 unless declared otherwise, Latin-1 where that fails.

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
    """An error in the words of the operating system, without the path that the message names already.

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
