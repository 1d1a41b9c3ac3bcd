"""Child processes of tests: what they run counts for the test that started them.

The process that runs the tests has a folder for them, whose path and the current test are in an environment variable.
A child maps its cells to a file in this folder (:mod:`suspectra_recorder.children.shared_cells`), so nothing has to be
done when it ends, even if it is killed. When a test ends, the cells of its children are added to its own, and so are
those of children that last: servers of fixtures, and workers of pools.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from itertools import repeat

from suspectra_recorder.children.child_log import CELLS, FAILURE, MARK, STATE
from suspectra_recorder.children.shared_cells import cells_in
from suspectra_recorder.folders import make_recording_folder
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, mmap, os, struct
from suspectra_recorder.log.frames import DAMAGE, SUFFIX, FrameKind, LogDamage, frames, split_json
from suspectra_recorder.log.locks import HeldLock, is_locked
from suspectra_recorder.settings import BOOTSTRAP_FOLDER, CHILD_VARIABLE

__builtins__ = library_references.builtins

CHILDREN = "children"
SETTINGS = "settings.json"
_OWNER = "owner"
# current number, mark of the last child, whether packages are recorded, errno of a child that could not record
_STATE = struct.Struct("<Q8s?i")


@dataclass(frozen=True)
class ChildFile:
    """A source that a child loaded, with the current values of its cells."""

    path: str  # relative to the workspace, with forward slashes
    digest: str  # SHA-256 of the source, hexadecimal
    map: bytes  # the map of its probes; empty if the process that runs the tests knows the source
    cells: list[int]  # the values that its probes set or counted


class ChildrenOfTests:
    """The children of one process that runs tests.

    Number 0 stands for code outside tests; each attempt of a test has its own number.

    Raises OSError when the workspace is not writable.
    """

    def __init__(self, workspace: str, settings: Mapping[str, object], counting: bool):
        self.counting = counting  # whether cells count
        above = make_recording_folder(workspace, CHILDREN)
        _sweep(above)
        self.folder = os.path.join(above, f"{os.getpid()}-{os.urandom(8).hex()}")
        os.mkdir(self.folder, 0o700)
        self._owner = HeldLock(os.path.join(self.folder, _OWNER))
        with open(os.path.join(self.folder, SETTINGS), "w", encoding="utf-8") as stream:
            json.dump({**settings, "counting": counting}, stream)
        with open(os.path.join(self.folder, STATE), "wb+") as stream:
            stream.write(_STATE.pack(0, b"", bool(settings["sources"]), 0))
            stream.flush()
            self._state = mmap.mmap(stream.fileno(), _STATE.size)
        self._seen = self._state[MARK]
        self._there = False  # whether files of children may be in the folder
        self._known: dict[str, ChildOfTest] = {}  # by path
        self.number = 0
        self._last = 0

    def inject_env(self, environ: MutableMapping[str, str]) -> None:
        """Make Python processes that are started with this environment record themselves."""
        former = environ.get("PYTHONPATH")
        environ["PYTHONPATH"] = f"{BOOTSTRAP_FOLDER}{os.pathsep}{former}" if former else BOOTSTRAP_FOLDER
        self.use_number(0)

    def remove_env(self, environ: MutableMapping[str, str]) -> None:
        """Undo :meth:`inject_env`, even if the tests have changed the variables since."""
        environ.pop(CHILD_VARIABLE, None)
        # a test may have added entries, which stay
        entries = environ.get("PYTHONPATH", "").split(os.pathsep)
        if BOOTSTRAP_FOLDER in entries:
            entries.remove(BOOTSTRAP_FOLDER)
            if entries:
                environ["PYTHONPATH"] = os.pathsep.join(entries)
            else:
                del environ["PYTHONPATH"]

    def next_number(self) -> int:
        """Choose a new number for children that are started from now on."""
        self._last += 1
        self.use_number(self._last)
        return self._last

    def use_number(self, number: int) -> None:
        """Use this number for children that are started from now on."""
        self.number = number
        self._owner.hold()
        # for fork servers, which outlive the test that started them; others get it by their environment
        self._state[:8] = number.to_bytes(8, "little")
        os.environ[CHILD_VARIABLE] = f"{self.folder}{os.sep}{number}"

    @property
    def any(self) -> bool:
        """Whether there may be a child that is not merged yet."""
        mark = self._state[MARK]
        # the folder is listed only after a child has begun: after each test this asks memory alone
        if mark != self._seen:
            self._seen, self._there = mark, True
        return self._there

    @property
    def failure(self) -> str:
        """Why a child could not record itself; empty if all could."""
        number = int.from_bytes(self._state[FAILURE], "little")
        return os.strerror(number) if number else ""

    def numbers(self) -> set[int]:
        """Return the numbers of children that are not merged yet.

        Empty if no child was started.
        """
        return {child.number for child in self.all()}

    def started_by(self, numbers: set[int]) -> list[ChildOfTest]:
        """Return the children that were started with one of some numbers."""
        return [child for child in self.all() if child.number in numbers]

    def all(self) -> list[ChildOfTest]:
        """Return the children that are not merged yet."""
        return self._found() if self.any else []

    def _found(self) -> list[ChildOfTest]:
        names: list[str] = []
        with contextlib.suppress(OSError):  # a test removed the folder
            names = sorted(os.listdir(self.folder))
        known, self._known = self._known, {}
        for name in names:
            number, dash, _ = name.partition("-")
            if name.endswith(SUFFIX) and dash and number.isdigit():
                path = os.path.join(self.folder, name)
                self._known[path] = known.get(path) or ChildOfTest(path, int(number), self.counting)
        self._there = bool(self._known)
        return list(self._known.values())

    def close(self) -> None:
        """Remove the folder; children that still run no longer count."""
        self.release()
        _remove(self.folder)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(self.folder))

    @property
    def closed(self) -> bool:
        """Whether the run is over."""
        return not self._owner.held

    def release(self) -> None:
        """Release the folder, so that others may remove it; a forked child does this, as the folder belongs to its
        parent.
        """
        self._owner.release()


class ChildOfTest:
    """The files of a child in the folder."""

    def __init__(self, path: str, number: int, counting: bool):
        self.path = path  # its log
        self.number = number  # the number with which it was started
        self.counting = counting  # whether its cells count
        self.lasts = False  # whether it was seen to run outside of the test that started it
        self._read = 0  # how much of the log was read
        self._sources: list[_Stored] = []
        self._imports: list[tuple[str, list[_Stored]]] = []
        self._importing: dict[int, list[_Stored]] = {}  # first imports that did not end, by number
        self._maps: dict[tuple[str, str], bytes] = {}

    @property
    def runs(self) -> bool:
        """Whether it is still running."""
        return is_locked(self.path)

    def take(self, *, everything: bool = True) -> tuple[list[ChildFile], list[tuple[str, list[ChildFile]]]]:
        """Read what it executed since the last call, and reset that; unreadable parts are left out.

        The cells of what it executed, and of its first imports. Those of first imports that have not ended are among
        the former, if everything is asked for.
        """
        with contextlib.suppress(OSError, LogDamage, *DAMAGE):  # the last frame of a killed child
            self._read_log()
        unfinished = [stored for parts in self._importing.values() for stored in parts] if everything else []
        found: list[ChildFile] = []
        imports: list[tuple[str, list[ChildFile]]] = []
        with contextlib.suppress(OSError, ValueError):  # it has no cells yet, or a test removed the file
            with open(self.path.removesuffix(SUFFIX) + CELLS, "rb+") as stream:
                cells = mmap.mmap(stream.fileno(), 0)
            with cells:
                found += filter(None, (stored.take(cells, self.counting) for stored in (*self._sources, *unfinished)))
                for module, parts in self._imports:
                    if files := list(filter(None, (stored.take(cells, self.counting) for stored in parts))):
                        imports.append((module, files))
        return found, imports

    def _read_log(self) -> None:
        with open(self.path, "rb") as stream:
            stream.seek(self._read)
            log = stream.read()
        start = self._read
        for kind, payload, end in frames(log, header=not start):
            self._read = start + end
            if kind == FrameKind.FILE:
                head, source_map = split_json(payload)
                key = str(head["path"]), str(head["digest"])
                source_map = self._maps.setdefault(key, source_map)
                first = int(head.get("import", 0))
                stored = _Stored(*key, source_map, int(head["at"]), int(head["cells"]))
                (self._importing.setdefault(first, []) if first else self._sources).append(stored)
            elif kind == FrameKind.SHARED:
                head, _ = split_json(payload)
                self._imports.append((str(head["module"]), self._importing.pop(int(head["import"]))))

    def remove(self) -> None:
        """Remove its files; what a running child still writes is lost."""
        for path in (self.path.removesuffix(SUFFIX) + CELLS, self.path):
            with contextlib.suppress(OSError):
                os.unlink(path)


@dataclass(eq=False)
class _Stored:
    """Where the cells of a source are, of all that a child executed of it or of what a first import did."""

    path: str
    digest: str
    map: bytes
    at: int
    cells: int
    taken: list[int] = field(default_factory=list)  # the counts that were taken; another process may not reset them
    new: bool = True  # whether nothing was taken yet

    def take(self, stored: mmap.mmap, counting: bool) -> ChildFile | None:
        """The values of the cells since the last call; None if nothing is new."""
        cells, new = cells_in(stored, self.at, self.cells, counting), self.new
        if counting:
            now, cells = cells, [n - taken for n, taken in zip(cells, self.taken or repeat(0), strict=False)]
            self.taken = now
        self.new = False
        return ChildFile(self.path, self.digest, self.map, cells) if new or any(cells) else None


def _sweep(above: str) -> None:
    """Remove the folders of processes that were killed."""
    for name in os.listdir(above):
        folder = os.path.join(above, name)
        owner = os.path.join(folder, _OWNER)
        if os.path.exists(owner) and not is_locked(owner):
            with contextlib.suppress(OSError):
                os.unlink(owner)  # without locks, open files can't be removed
                _remove(folder)


def _remove(folder: str) -> None:
    """Remove a folder with all that is in it; links are not followed. A test may have replaced what shutil uses."""
    with contextlib.suppress(OSError):
        with os.scandir(folder) as found:
            entries = list(found)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _remove(entry.path)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
        os.rmdir(folder)
