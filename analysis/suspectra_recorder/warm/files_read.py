"""What tests were collected from: the files and folders of the workspace that were read meanwhile.

They are known by an audit hook, so what only C code reads, and questions such as whether a file exists, go unseen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from types import FrameType

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import hashlib, os, sys

__builtins__ = library_references.builtins

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_STARTS = ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.system")
_CONNECTS = ("socket.connect", "sqlite3.connect")
# modules that look only for modules, tests and packages in the folders that they list, and those that list for others
_FINDERS = (
    "_frozen_importlib_external",
    "importlib._bootstrap_external",
    "importlib.metadata",
    "importlib_metadata",
    "_pytest.pathlib",
    "_pytest.config",
)
_HELPERS = ("pathlib", "glob", "os")
_TOOLS = ("__pycache__", "site-packages")
_Signature = tuple[int, int, int]


class FilesRead:
    """What was read in a folder."""

    def __init__(self, root: str):
        self._root = os.path.join(root, "")
        self._reading = False
        self._first: dict[str, _Signature | None] = {}  # of each file, when it was first read
        self._listed: dict[str, bool] = {}  # folders, and whether all names in them matter
        self._known: dict[str, tuple[_Signature | None, str]] = {}  # the state of each file
        self._names: dict[str, tuple[str, ...] | None] = {}
        # events that make a process another one than it would be without them: connections, programs
        self.odd: set[str] = set()

    def begin(self) -> None:
        """Note what is read from now on."""
        self._reading = True
        sys.addaudithook(self._hook)

    def end(self, files: Mapping[str, str], folders: Iterable[str]) -> None:
        """Note no more, and remember the state of everything."""
        self._reading = False
        for path in files:
            self._read(path)
        for path, signature in self._first.items():
            # what was written since it was read counts as changed
            digest = _digest(path) if _signature(path) == signature else ""
            self._known[path] = signature, files.get(path) or digest
        for path in folders:
            if self._wanted(path):
                self._listed.setdefault(path, False)
        self._names = {path: _names(path, every) for path, every in self._listed.items()}

    def changed(self) -> Iterator[str]:
        """Compare everything with its state at the end.

        Relative to the root; a folder if the names in it differ.
        """
        for path, (signature, digest) in self._known.items():
            if _signature(path) != signature and _digest(path) != digest:
                yield os.path.relpath(path, self._root).replace(os.sep, "/")
        for path, names in self._names.items():
            if _names(path, self._listed[path]) != names:
                yield os.path.relpath(path, self._root).replace(os.sep, "/")

    def _hook(self, event: str, arguments: tuple[object, ...]) -> None:
        # an audit hook can't be removed, so this is all that it does afterwards
        if self._reading:
            with suppress(Exception):  # which the program would get for its own
                self._note(event, arguments)

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, (str, bytes)) and not (isinstance(flags, int) and flags & _WRITES):
                self._read(os.fsdecode(path))
        elif event in ("os.listdir", "os.scandir"):
            if isinstance(arguments[0], (str, bytes)):
                folder = os.path.abspath(os.fsdecode(arguments[0]))
                if self._wanted(folder):
                    self._listed[folder] = self._listed.get(folder, False) or _lister() not in _FINDERS
        elif event in _STARTS:
            self.odd.add("a program was started")
        elif event in _CONNECTS:
            self.odd.add("a connection was opened")

    def _read(self, path: str) -> None:
        path = os.path.abspath(path)
        if path not in self._first and self._wanted(path) and not os.path.isdir(path):
            self._first[path] = _signature(path)

    def _wanted(self, path: str) -> bool:
        """Whether a path is in the workspace, without what tools keep in it for themselves."""
        inner = os.path.join(path, "")
        if not inner.startswith(self._root):
            return False
        parts = inner[len(self._root) :].split(os.sep)
        return not any(part.startswith(".") or part in _TOOLS for part in parts)


def _lister() -> str:
    """The name of the module whose code lists a folder: the caller of the audit hook, or of what lists for others."""
    # behind `_note` and `_hook`
    frame: FrameType | None = sys._getframe(3)
    name = ""
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] not in _HELPERS:
            break
        frame = frame.f_back
    return name


def _signature(path: str) -> _Signature | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _digest(path: str) -> str:
    """A digest of a file, ``-`` if it can't be read."""
    try:
        with open(path, "rb") as stream:
            return hashlib.sha256(stream.read()).hexdigest()
    except OSError:
        return "-"


def _names(path: str, every: bool) -> tuple[str, ...] | None:
    """The names in a folder that matter: sources and folders, or all but those of tools and editors."""
    try:
        with os.scandir(path) as entries:
            return tuple(
                sorted(
                    entry.name
                    for entry in entries
                    if not entry.name.startswith(".")
                    and entry.name not in _TOOLS
                    and not entry.name.endswith("~")
                    and (every or entry.name.endswith(".py") or entry.is_dir())
                )
            )
    except OSError:
        return None
