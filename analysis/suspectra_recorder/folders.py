"""The folders to which the recorder writes: recordings in the workspace, and the user's cache outside it.

The content of a workspace may come from others: a link could lead out of it, and code in the recorder's cache would be
run. So links are refused, and the cache is where only the user can write.

So what is read from the workspace is only data, and what is executed, such as instrumented code, is in the user's
cache. The recorder finds that folder by itself, since it has only the standard library.
"""

from __future__ import annotations

import contextlib
import shutil
import stat
from collections.abc import Mapping

from suspectra_recorder.errors import Problem, SuspectraError, UsageError
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.cache import is_own
from suspectra_recorder.instrumentation.library_references import hashlib, os, sys, time
from suspectra_recorder.settings import FOLDER

__builtins__ = library_references.builtins

OLDEST = 30 * 24 * 3600.0  # seconds after the last run, after which a workspace's cache is removed
MAX_WORKSPACES = 200  # in the cache; beyond, those with the oldest last run are removed
MAX_REMOVED = 20  # caches that one run removes; the next run continues
_MAX_ENTRIES = 10_000  # entries of the cache folder that are looked at


class RecordingError(SuspectraError):
    """Nothing can be recorded, but the tests still run."""


def make_recording_folder(workspace: str, *names: str) -> str:
    """Make a folder below ``.suspectra`` in a workspace, and keep it out of version control.

    Raises RecordingError when one of the folders is a link or a file, or can't be made.
    """
    folder = workspace
    for part in (FOLDER, *names):
        folder = os.path.join(folder, part)
        shown = os.path.relpath(folder, workspace).replace(os.sep, "/")
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder)
            # `lstat`, since a link to a folder may lead out of the workspace
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                cause = "nothing can be recorded: it is a link or a file, not a folder of the workspace"
                raise RecordingError(Problem(shown, "", cause, "remove it and record again"))
        except OSError as error:
            cause = f"nothing can be recorded: {error.strerror or error}"
            cure = "make the workspace writable, or choose another with --workspace"
            raise RecordingError(Problem(shown, "", cause, cure)) from error
    _ignore(os.path.join(workspace, FOLDER, ".gitignore"))
    return folder


def refuse_links(folder: str) -> None:
    """Check that a recording's folder is not a link, and neither is the ``.suspectra`` folder above it.

    Raises UsageError when one of them is a link.
    """
    above = os.path.dirname(os.path.abspath(folder))
    for path in (above,) * (os.path.basename(above) == FOLDER) + (folder,):
        if os.path.islink(path):
            cause = "it is a link, which may lead out of the workspace"
            raise UsageError(Problem(path, "", cause, "remove the link and record again, or name the folder itself"))


def folder_name(path: str, workspace: str) -> str:
    """Name a folder as :class:`suspectra_recorder.log.history.WholeFiles` does.

    A slash if it contains the workspace; empty if neither contains the other.
    """
    path = os.path.realpath(path)
    if os.path.join(workspace, "").startswith(os.path.join(path, "")):
        return "/"
    inside = path.startswith(os.path.join(workspace, ""))
    return os.path.relpath(path, workspace).replace(os.sep, "/") + "/" if inside else ""


def _ignore(path: str) -> None:
    with contextlib.suppress(OSError), open(path, "x", encoding="utf-8") as stream:
        stream.write("# Made by Suspectra; nothing in here belongs under version control.\n*\n")


def cache_folder(workspace: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the user's private cache folder for a workspace, and make it.

    A folder to which only this user can write. None if there is none: no home, a folder of another user, or one inside
    the workspace, whose content may come from others.
    """
    base = _user_caches(environ)
    if base is None:
        return None
    name = hashlib.sha256(workspace.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    whole = os.path.join(base, "suspectra", name)
    # the workspace may come from others, and so would the code in this cache
    if _is_inside(os.path.realpath(whole), workspace):
        return None
    try:
        os.makedirs(base, mode=0o700, exist_ok=True)
        folder = base
        for part in ("suspectra", name):
            folder = os.path.join(folder, part)
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            if not _is_own_folder(folder):
                return None
        # its time is that of the last run, by which `_tidy` chooses
        os.utime(folder)
        _tidy(os.path.dirname(folder), folder)
    except OSError:
        return None
    return folder


def _is_own_folder(path: str) -> bool:
    """Whether a folder belongs to this user, is not a link, and is not writable for others.

    False if others may have written to it.
    """
    status = os.lstat(path)
    return stat.S_ISDIR(status.st_mode) and is_own(status)


def _user_caches(environ: Mapping[str, str]) -> str | None:
    """The system's folder for caches of this user."""
    named = environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", "")
    if os.path.isabs(named):
        return named
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        return None
    caches = {"win32": ("AppData", "Local"), "darwin": ("Library", "Caches")}.get(sys.platform, (".cache",))
    return os.path.join(home, *caches)


def _is_inside(path: str, folder: str) -> bool:
    return os.path.join(path, "").startswith(os.path.join(folder, ""))


def _tidy(parts: str, used: str) -> None:
    """Remove the caches of workspaces without a recent run."""
    found = []
    with os.scandir(parts) as entries:
        for number, entry in enumerate(entries):
            if number >= _MAX_ENTRIES:
                break
            if entry.path != used and entry.is_dir(follow_symlinks=False):
                found.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
    found.sort()
    crowded = len(found) + 1 - MAX_WORKSPACES
    old = time.time() - OLDEST
    removed = [path for number, (age, path) in enumerate(found) if number < crowded or age < old]
    for path in removed[:MAX_REMOVED]:
        shutil.rmtree(path, ignore_errors=True)
