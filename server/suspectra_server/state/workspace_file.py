"""A JSON file in the folder ``.suspectra`` of a workspace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from suspectra.evidence.opening import read_evidence
from suspectra_recorder.complete_file import complete_file
from suspectra_recorder.folders import make_recording_folder
from suspectra_recorder.settings import FOLDER

MAX_SIZE = 4 * 2**20  # bytes


class WorkspaceFile:
    """A JSON object in a file that may come from an untrusted source. No link is followed.

    All methods access the disk: for one worker thread.
    """

    def __init__(self, root: Path, name: str, version: int):
        self._root = root
        self._version = version
        self.path = root / FOLDER / name

    def read(self) -> Mapping[str, object] | None:
        """The content; None if there is no file.

        Raises OSError, ValueError, RecursionError when it can't be read, is damaged, or of another version.
        """
        self._refuse_links()
        try:
            content = json.loads(read_evidence(self.path, limit=MAX_SIZE))
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not isinstance(content, dict):
            raise ValueError("it is damaged")
        if content.get("version") != self._version:
            raise ValueError("another version of Suspectra made it")
        return content

    def write(self, content: Mapping[str, object] | None) -> None:
        """Replace the content; None removes the file.

        Raises OSError, ValueError, SuspectraError when it can't be written.
        """
        self._refuse_links()
        if content is None:
            self.path.unlink(missing_ok=True)
            return
        make_recording_folder(str(self._root))
        with complete_file(self.path, 0o600) as stream:
            stream.write(json.dumps({"version": self._version, **content}, indent=1).encode("ascii") + b"\n")

    def _refuse_links(self) -> None:
        for path in (self.path.parent, self.path):
            if path.is_symlink():
                raise ValueError(f"{path.name} is a link, which may lead out of the workspace; remove the link")
