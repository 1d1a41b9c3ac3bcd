"""Child processes of tests: what they run counts for the test that started them.

The process that runs the tests has a folder for them, whose path and the current test are in an environment variable.
A child maps its cells to a file in this folder (:mod:`suspectra_recorder.children.shared_cells`), so nothing has to be
done when it ends, even if it is killed. When a test ends, the cells of its children are added to its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass

from suspectra_recorder.children.child_log import CELLS, FAILURE, MARK, STATE
from suspectra_recorder.children.shared_cells import stored_cells
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
        return {child.number for child in self._all()} if self.any else set()

    def started_by(self, numbers: set[int]) -> list[ChildOfTest]:
        """Return the children that were started with one of some numbers."""
        found = [child for child in self._all() if child.number in numbers] if self.any else []
        return sorted(found, key=lambda child: child.path)

    def _all(self) -> Iterator[ChildOfTest]:
        self._there = False
        try:
            names = os.listdir(self.folder)
        except OSError:
            return  # a test removed the folder
        for name in names:
            number, dash, _ = name.partition("-")
            if name.endswith(SUFFIX) and dash and number.isdigit():
                self._there = True
                yield ChildOfTest(os.path.join(self.folder, name), int(number), self.counting)

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


@dataclass(frozen=True)
class ChildOfTest:
    """The files of a child in the folder."""

    path: str  # its log
    number: int  # the number with which it was started
    counting: bool  # whether its cells count

    @property
    def runs(self) -> bool:
        """Whether it is still running."""
        return is_locked(self.path)

    def contents(self) -> tuple[list[ChildFile], list[tuple[str, list[ChildFile]]]]:
        """Read the sources that it loaded, and what its first imports ran; unreadable parts are left out.

        The cells of everything else that it ran, and of first imports that did not end.
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
            pass  # the last frame of a killed child
        return [*found, *(file for files in running.values() for file in files)], imports

    def remove(self) -> None:
        """Remove its files; what a running child still writes is lost."""
        for path in (self.path.removesuffix(SUFFIX) + CELLS, self.path):
            with contextlib.suppress(OSError):
                os.unlink(path)


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
