"""Processes that tests start: what they run belongs to the test that started them.

The process that runs the tests keeps a folder for them, and tells them of it and of the present test by an environment
variable. A child keeps its cells in a file in there (:mod:`suspectra_recorder.shared_cells`), so nothing has to
happen when it ends, however it ends. When a test ends its children's cells are added to its own.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator, MutableMapping, MutableSequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from suspectra_recorder.folders import make_recording_folder
from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import json, mmap, os, resource, struct, sys
from suspectra_recorder.instrumentation.standard_library import StandardLibrary
from suspectra_recorder.log.frames import (
    DAMAGE,
    SUFFIX,
    FrameKind,
    LogDamage,
    LogWriter,
    frames,
    is_locked,
    lock,
    split_json,
    with_json,
)
from suspectra_recorder.settings import BOOTSTRAP_FOLDER, CHILD_VARIABLE
from suspectra_recorder.shared_cells import SharedCells, stored_cells

if TYPE_CHECKING:
    from suspectra_recorder.instrumentation.first_imports import FirstImport
    from suspectra_recorder.instrumentation.loaded_file import LoadedFile

__builtins__ = own.builtins

CHILDREN = "children"
CELLS = ".cells"
SETTINGS = "settings.json"
STATE = "state"
_OWNER = "owner"
# present number, the mark of the child that came last, whether packages are recorded, why a child could not record
_STATE = struct.Struct("<Q8s?i")
_MARK = slice(8, 16)
_FAILURE = slice(17, 21)
_MIN_DESCRIPTORS = 64


@dataclass(frozen=True)
class ChildFile:
    """A source that a child loaded, with its cells as they are now.

    Parameters
    ----------
    path : str
        As it is recorded: relative to the workspace, with forward slashes.
    digest : str
        SHA-256 of the source, hexadecimal.
    map : bytes
        The map of its probes; empty where the process that runs the tests knows the source.
    cells : list of int
        What its probes set or counted.
    """

    path: str
    digest: str
    map: bytes
    cells: list[int]


class Children:
    """The children of one process that runs tests.

    What runs is numbered: 0 is what belongs to no test, each attempt of a test has a number of its own.

    Parameters
    ----------
    workspace : str
        Its real path; the folder of the children is made in it.
    settings : dict
        What a child needs to know to record as its parent does.
    counting : bool
        Whether cells count.

    Raises
    ------
    OSError
        When the workspace can't be written.
    """

    def __init__(self, workspace: str, settings: dict[str, Any], counting: bool):
        self.counting = counting
        above = make_recording_folder(workspace, CHILDREN)
        _sweep(above)
        self.folder = os.path.join(above, f"{os.getpid()}-{os.urandom(8).hex()}")
        os.mkdir(self.folder, 0o700)
        owner = os.path.join(self.folder, _OWNER)
        self._owner = os.open(f"{owner}.new", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        lock(self._owner)
        os.rename(f"{owner}.new", owner)  # whoever sees it sees it locked
        with open(os.path.join(self.folder, SETTINGS), "w", encoding="utf-8") as stream:
            json.dump({**settings, "counting": counting}, stream)
        with open(os.path.join(self.folder, STATE), "wb+") as stream:
            stream.write(_STATE.pack(0, b"", bool(settings["sources"]), 0))
            stream.flush()
            self._state = mmap.mmap(stream.fileno(), _STATE.size)
        self._seen = self._state[_MARK]
        self._there = False  # whether any child's files may be in the folder
        self.number = 0
        self._last = 0

    def inject_env(self, environ: MutableMapping[str, str]) -> None:
        """Let Python processes that are started with this environment record themselves.

        Parameters
        ----------
        environ : mutable mapping of str to str
            The environment, which is changed.
        """
        former = environ.get("PYTHONPATH")
        environ["PYTHONPATH"] = f"{BOOTSTRAP_FOLDER}{os.pathsep}{former}" if former else BOOTSTRAP_FOLDER
        self.present(0)

    def remove_env(self, environ: MutableMapping[str, str]) -> None:
        """Undo :meth:`inject_env`, also where the tests have changed the variables since.

        Parameters
        ----------
        environ : mutable mapping of str to str
            The environment, which is changed.
        """
        environ.pop(CHILD_VARIABLE, None)
        entries = environ.get("PYTHONPATH", "").split(os.pathsep)
        if BOOTSTRAP_FOLDER in entries:
            entries.remove(BOOTSTRAP_FOLDER)
            if entries:
                environ["PYTHONPATH"] = os.pathsep.join(entries)
            else:
                del environ["PYTHONPATH"]

    def fresh(self) -> int:
        """Take a number that no child has yet; children are started under it from now on.

        Returns
        -------
        int
            The number, 1 or higher.
        """
        self._last += 1
        self.present(self._last)
        return self._last

    def present(self, number: int) -> None:
        """Start children under this number from now on.

        Parameters
        ----------
        number : int
            One of `fresh`, or 0 for what belongs to no test.
        """
        self.number = number
        self._state[:8] = number.to_bytes(8, "little")
        os.environ[CHILD_VARIABLE] = f"{self.folder}{os.sep}{number}"

    @property
    def any(self) -> bool:
        """Whether there may be a child of which not everything is known."""
        mark = self._state[_MARK]
        if mark != self._seen:
            self._seen, self._there = mark, True
        return self._there

    @property
    def failure(self) -> str:
        """Why a child could not record itself; empty when all could."""
        number = int.from_bytes(self._state[_FAILURE], "little")
        return os.strerror(number) if number else ""

    def numbers(self) -> set[int]:
        """Those under which there are children of which not everything is known.

        Returns
        -------
        set of int
            Empty where no child was started.
        """
        return {child.number for child in self._all()} if self.any else set()

    def started_by(self, numbers: set[int]) -> list[Child]:
        """The children that were started under one of these numbers.

        Parameters
        ----------
        numbers : set of int
            Some of those under which children were started.

        Returns
        -------
        list of Child
            In the order of their paths.
        """
        found = [child for child in self._all() if child.number in numbers] if self.any else []
        return sorted(found, key=lambda child: child.path)

    def _all(self) -> Iterator[Child]:
        self._there = False
        try:
            names = os.listdir(self.folder)
        except OSError:
            return  # a test removed it
        for name in names:
            number, dash, _ = name.partition("-")
            if name.endswith(SUFFIX) and dash and number.isdigit():
                self._there = True
                yield Child(os.path.join(self.folder, name), int(number), self.counting)

    def close(self) -> None:
        """Take no more children; those that still run no longer count."""
        self.let_go()
        _remove(self.folder)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(self.folder))

    @property
    def closed(self) -> bool:
        """Whether the run is over."""
        return self._owner < 0

    def let_go(self) -> None:
        """Let others sweep the folder away; a forked child does so, because only its parent keeps it."""
        if self._owner >= 0:
            os.close(self._owner)
            self._owner = -1


@dataclass(frozen=True)
class Child:
    """What a child left in the folder so far.

    Parameters
    ----------
    path : str
        Its log.
    number : int
        The number under which it was started.
    counting : bool
        Whether its cells count.
    """

    path: str
    number: int
    counting: bool

    @property
    def runs(self) -> bool:
        """Whether it has not ended yet."""
        return is_locked(self.path)

    def contents(self) -> tuple[list[ChildFile], list[tuple[str, list[ChildFile]]]]:
        """The sources it loaded, and what its first imports ran; what can't be read is not there.

        Returns
        -------
        list of ChildFile
            With the cells of all that it ran besides, first imports that did not end among that.
        list of (str, list of ChildFile)
            The path of each imported module.
        """
        found: list[ChildFile] = []
        running: dict[int, list[ChildFile]] = {}
        imports: list[tuple[str, list[ChildFile]]] = []
        maps: dict[tuple[str, str], bytes] = {}
        try:
            with open(self.path, "rb") as stream:
                log = stream.read()
            with open(self.path.removesuffix(SUFFIX) + CELLS, "rb") as stream:
                for kind, payload, _ in frames(log):
                    if kind == FrameKind.FILE:
                        head, source_map = split_json(payload)
                        cells = stored_cells(stream, int(head["at"]), int(head["cells"]), self.counting)
                        key = str(head["path"]), str(head["digest"])
                        source_map = maps.setdefault(key, source_map)
                        first = int(head.get("import", 0))
                        (running.setdefault(first, []) if first else found).append(ChildFile(*key, source_map, cells))
                    elif kind == FrameKind.SHARED:
                        head, _ = split_json(payload)
                        imports.append((str(head["module"]), running.pop(int(head["import"]))))
        except (OSError, LogDamage, *DAMAGE):
            pass  # the last frame of a child that was killed
        return [*found, *(file for files in running.values() for file in files)], imports

    def remove(self) -> None:
        """Remove its files; a child that still runs writes on into nowhere."""
        for path in (self.path.removesuffix(SUFFIX) + CELLS, self.path):
            with contextlib.suppress(OSError):
                os.unlink(path)


class ChildLog:
    """A child's own side: its log and its cells, under the number it was started with.

    Parameters
    ----------
    folder : str
        Where the process that runs the tests looks for it.
    number : int
        The number under which this process was started.
    counting : bool
        Whether cells count.

    Raises
    ------
    OSError
        When the run is over, or this process may open too few files.
    """

    def __init__(self, folder: str, number: int, counting: bool):
        if _descriptors() < _MIN_DESCRIPTORS:  # the program needs what it has been left
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        mark = os.urandom(8)
        self.folder = folder
        self.number = number
        self._imports: dict[FirstImport, int] = {}
        base = os.path.join(folder, f"{number}-{os.getpid()}-{mark.hex()}")
        self._cells = SharedCells(base + CELLS, counting)
        self._log = LogWriter(base + SUFFIX)
        try:
            _write_state(folder, _MARK, mark)
        except OSError:
            self._log.close()
            raise

    def take(self, path: str, digest: str, cells: int, source_map: bytes, **more: int) -> MutableSequence[int]:
        """The cells of a source.

        Parameters
        ----------
        path : str
            The name to record for the source.
        digest : str
            SHA-256 of the source, hexadecimal.
        cells : int
            How many cells it needs.
        source_map : bytes
            The map of its probes; empty where the process that runs the tests has it.
        **more : int
            More for the head of the frame.

        Returns
        -------
        mutable sequence of int
            The cells, all zero.
        """
        at, room = self._cells.take(cells)
        head = {"path": path, "digest": digest, "cells": cells, "at": at, **more}
        self._log.write(FrameKind.FILE, with_json(head, source_map))
        return room

    def room(self, first: FirstImport, file: LoadedFile) -> MutableSequence[int]:
        """Cells for what a first import runs of a source.

        Parameters
        ----------
        first : FirstImport
            The import.
        file : LoadedFile
            The source.

        Returns
        -------
        mutable sequence of int
            The cells, all zero; a list that nobody reads where the log can't be written.
        """
        number = self._imports.setdefault(first, len(self._imports) + 1)
        try:
            return self.take(file.path, file.digest, len(file.cells), b"", **{"import": number})
        except OSError:  # it is called from the program's own code
            return [0] * len(file.cells)

    def imported(self, first: FirstImport) -> None:
        """Note that a first import ended well.

        Parameters
        ----------
        first : FirstImport
            The import.
        """
        if first in self._imports:
            self._log.write(FrameKind.SHARED, with_json({"import": self._imports[first], "module": first.path}))

    def close(self) -> None:
        """Leave the log to the process it belongs to."""
        self._log.close()


def tell_failure(folder: str, error: OSError) -> None:
    """Let the process that runs the tests know that this one does not record itself.

    Parameters
    ----------
    folder : str
        That of the run.
    error : OSError
        Why.
    """
    with contextlib.suppress(OSError):  # the run is over
        _write_state(folder, _FAILURE, (error.errno or errno.EIO).to_bytes(4, "little"))


def _write_state(folder: str, place: slice, value: bytes) -> None:
    with open(os.path.join(folder, STATE), "rb+") as stream:
        stream.seek(place.start)
        stream.write(value)


def _descriptors() -> int:
    """How many files this process may open."""
    if resource is None:
        return _MIN_DESCRIPTORS
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


def present_number(folder: str) -> int:
    """The number under which children are started at this moment.

    Parameters
    ----------
    folder : str
        That of the run.

    Returns
    -------
    int
        0 where no test is running.

    Raises
    ------
    OSError
        When the run is over.
    """
    with open(os.path.join(folder, STATE), "rb") as stream:
        return int.from_bytes(stream.read(8), "little")


def _sweep(above: str) -> None:
    """Remove the folders of processes that were killed."""
    for name in os.listdir(above):
        folder = os.path.join(above, name)
        owner = os.path.join(folder, _OWNER)
        if os.path.exists(owner) and not is_locked(owner):
            with contextlib.suppress(OSError):
                os.unlink(owner)  # what is open can't be, where there are no locks
                _remove(folder)


def _remove(folder: str) -> None:
    with StandardLibrary():
        import shutil  # slow to import, and not needed by children

    shutil.rmtree(folder, ignore_errors=True)
