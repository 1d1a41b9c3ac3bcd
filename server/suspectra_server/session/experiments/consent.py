"""The user's consent to altered runs, asked once for each workspace, in a file on this machine.

The file is not in the workspace: a repository could bring it along.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import platformdirs

from suspectra_recorder.complete_file import complete_file

log = logging.getLogger(__name__)

MAX_SIZE = 1 << 20  # bytes of the file
MAX_WORKSPACES = 1_000  # the newest are kept


class Consent:
    """Which workspaces the user allows altered runs in.

    Both methods access the file, so one worker thread calls them.
    """

    def __init__(self, file: Path | None = None):
        # `experiments.json` in the user's state folder unless given
        self.file = file or platformdirs.user_state_path("suspectra", appauthor=False) / "experiments.json"
        self._given: set[str] = set()  # in this session, whether the file can be written or not

    def is_given(self, root: Path) -> bool:
        """Whether the user has allowed altered runs in a workspace folder."""
        real = os.path.realpath(root)
        return real in self._given or real in self._read()

    def give(self, root: Path) -> None:
        """Remember that the user allows them."""
        real = os.path.realpath(root)
        self._given.add(real)
        workspaces = [*(known for known in self._read() if known != real), real][-MAX_WORKSPACES:]
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with complete_file(self.file, 0o600) as stream:
                stream.write(json.dumps({"workspaces": workspaces}).encode() + b"\n")
        except OSError as error:
            log.warning("%s can't be written, so you will be asked again: %s", self.file, error)

    def _read(self) -> list[str]:
        """The workspaces in the file; none if it can't be read."""
        try:
            with open(self.file, "rb") as file:
                workspaces = json.loads(file.read(MAX_SIZE))["workspaces"]
            return [one for one in workspaces if isinstance(one, str)]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            log.warning("%s can't be used, so you will be asked again: %s", self.file, error)
            return []
