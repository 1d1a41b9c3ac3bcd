"""Recordings in ZIP files, which CI services make of the files that a job keeps."""

from __future__ import annotations

import lzma
import shutil
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import IO

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.discovery import C_LOG

MAX_ENTRIES, MAX_BYTES = 100_000, 4 << 30
"""Files that an archive may contain, and bytes that they may have together once unpacked."""
MAX_DEPTH = 8
"""Folders inside each other below the logs; a recording has one."""

_LOG = ".log"
_CURE = "name an archive of the folder .suspectra/recording"


def unpack(archive: Path, into: Path) -> Path:
    """Unpack the recording in a ZIP file. Recordings of several shards become one.

    Raises EvidenceError when it can't be read, contains no recording, or is too large.
    """
    try:
        with zipfile.ZipFile(archive) as file:
            entries = [entry for entry in file.infolist() if not entry.is_dir()]
            if len(entries) > MAX_ENTRIES or sum(entry.file_size for entry in entries) > MAX_BYTES:
                raise _refusal(archive, f"it has more than {MAX_ENTRIES:,} files or {MAX_BYTES >> 30} GiB")
            folders = sorted({str(PurePosixPath(entry.filename).parent) for entry in entries if _is_log(entry)})
            if not folders:
                raise _refusal(archive, "it contains no recording")
            compiled = [str(path.parent) for entry in entries if (path := PurePosixPath(entry.filename)).name == C_LOG]
            if len(compiled) > 1:
                raise _refusal(archive, "it contains several recordings of C or C++ tests")
            if len(folders := compiled or folders) > 1:
                _flatten(file, filter(_is_log, entries), into)
            else:
                _copy_below(file, entries, folders[0], into)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError):
        raise _refusal(archive, "it is damaged, or no ZIP file") from None
    except (OSError, ValueError, RuntimeError, NotImplementedError) as error:
        cause = error.strerror if isinstance(error, OSError) and error.strerror else str(error)  # no temporary paths
        raise _refusal(archive, f"it can't be unpacked: {cause}") from None
    return into


def _is_log(entry: zipfile.ZipInfo) -> bool:
    return entry.filename.endswith(_LOG)


def _flatten(file: zipfile.ZipFile, entries: Iterable[zipfile.ZipInfo], into: Path) -> None:
    """All logs side by side, with numbers before names that are there already."""
    last: dict[str, int] = {}  # numbers before each name, so that thousands of shards do not look for them anew
    for entry in entries:
        name = PurePosixPath(entry.filename).name
        number = last.get(name, -1) + 1
        while (target := into / (f"{number}-{name}" if number else name)).exists():
            number += 1
        last[name] = number
        _write(file, entry, target)


def _copy_below(file: zipfile.ZipFile, entries: Iterable[zipfile.ZipInfo], folder: str, into: Path) -> None:
    """What is below the folder with the logs, under the same names."""
    for entry in entries:
        path = PurePosixPath(entry.filename)
        below = path.relative_to(folder) if path.is_relative_to(folder) else None
        if below is None or below.is_absolute() or ".." in below.parts or "\\" in entry.filename:
            continue  # it is no part of the recording, or leads out of it
        if len(below.parts) > MAX_DEPTH:
            raise ValueError(f"more than {MAX_DEPTH} of its folders are in each other")
        target = into.joinpath(*below.parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(file, entry, target)


def _write(file: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> None:
    """No more than the archive says: a damaged or hostile one may unpack to more."""
    with file.open(entry) as source, open(target, "xb") as copy:
        shutil.copyfileobj(_Limited(source, entry.file_size), copy)


class _Limited:
    """A stream that refuses to give more than it may."""

    def __init__(self, stream: IO[bytes], left: int):
        self._stream, self._left = stream, left

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise ValueError("an entry has more bytes than the archive says")
        return data


def _refusal(archive: Path, cause: str) -> EvidenceError:
    return EvidenceError(Problem(str(archive), "", cause, _CURE))
