"""What the user decided about failure groups, in a file of the workspace, so that it outlives the server."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from suspectra.errors import SuspectraError
from suspectra.evidence.sources import read_regular, reason
from suspectra.failure_groups.decisions import Decisions
from suspectra_recorder.complete_file import complete_file
from suspectra_recorder.folders import make_recording_folder
from suspectra_recorder.settings import FOLDER

log = logging.getLogger(__name__)

NAME = "groups.json"
VERSION = 1
MAX_SIZE = 4 * 2**20  # bytes of the file
MAX_DECISIONS = 100  # the newest are kept
MAX_NAMES = 20_000  # of tests, in all of them


class DecisionsFile:
    """``.suspectra/groups.json`` of a workspace. Both methods touch the disk: for one worker thread.

    Parameters
    ----------
    root : Path
        The workspace.
    writable : bool
        Whether anything may be written.
    """

    def __init__(self, root: Path, *, writable: bool = True):
        self._root = root
        self._writable = writable

    def load(self) -> Decisions:
        """What is kept; nothing where it can't be understood."""
        try:
            self._refuse_links()
            content = json.loads(read_regular(self._file, MAX_SIZE))
            if content["version"] != VERSION:
                raise ValueError("another version of Suspectra made it")
            return within_limits(Decisions.from_list(content["decisions"]))
        except (FileNotFoundError, NotADirectoryError):
            return Decisions()
        except (OSError, LookupError, TypeError, ValueError, RecursionError) as error:
            log.warning("%s: what it says of failure groups is not used: %s", self._file, reason(error))
            return Decisions()

    def write(self, decisions: Decisions) -> None:
        """Keep decisions in place of those before."""
        if not self._writable:
            return
        try:
            self._refuse_links()
            if not decisions.made:
                self._file.unlink(missing_ok=True)
                return
            make_recording_folder(str(self._root))
            with complete_file(self._file, 0o600) as stream:
                content = {"version": VERSION, "decisions": decisions.as_list()}
                stream.write(json.dumps(content, indent=1).encode("ascii") + b"\n")
        except (OSError, ValueError, SuspectraError) as error:
            log.warning("%s can't be written, so groups last until the server ends: %s", self._file, reason(error))

    @property
    def _file(self) -> Path:
        return self._root / FOLDER / NAME

    def _refuse_links(self) -> None:
        for path in (self._file.parent, self._file):
            if path.is_symlink():
                raise ValueError(f"{path.name} is a link, which may lead out of the workspace; remove the link")


def within_limits(decisions: Decisions) -> Decisions:
    """The newest decisions, as many as may be kept."""
    names, kept = 0, 0
    for decision in reversed(decisions.made[-MAX_DECISIONS:]):
        names += len(decision.left) + len(decision.right)
        if names > MAX_NAMES:
            break
        kept += 1
    return Decisions(decisions.made[len(decisions.made) - kept :])
