"""What a run leaves behind for the program that started it."""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import TYPE_CHECKING, Any

from suspectra.processes.scratch import ScratchFolder
from suspectra_recorder.activity import SIZE, Doing, read_activity
from suspectra_recorder.log.frames import SUFFIX
from suspectra_recorder.settings import recording_folder

if TYPE_CHECKING:
    from suspectra_recorder.pytest.selection import SelectionFields


class RunFiles:
    """The files that the processes of a run write, as a context manager that removes all but the logs."""

    def __init__(self, workspace: str):
        self._folder = recording_folder(workspace)
        self._before = self._logs()
        self._scratch = ScratchFolder()
        self.status = self._scratch.file("status")
        self.activity = self._scratch.file("activity")
        try:
            with open(self.activity, "wb") as stream:
                stream.write(bytes(SIZE))
        except OSError:  # the disk is full
            self.activity = ""  # the file in which the process notes what it is doing; empty if there is no room for it

    def __enter__(self) -> RunFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._scratch.remove()

    def selection(self, fields: SelectionFields) -> str:
        """Write which tests are to run to a file for the plugin; return its path."""
        path = self._scratch.file("selection")
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(fields, stream)
        return path

    def lines(self) -> list[dict[str, Any]]:
        """Read what the processes said at their end.

        Empty if none got that far.
        """
        lines = []
        with open(self.status, encoding="utf-8", errors="replace") as stream:
            for line in stream:
                try:
                    lines.append(json.loads(line))
                except ValueError:
                    continue
        return lines

    def doing(self) -> list[Doing]:
        """Read what the process of the tests was doing when it ended.

        The outermost first; empty if it was between two tests.
        """
        return read_activity(self.activity) if self.activity else []

    def new_logs(self) -> list[str]:
        """List the logs that the run made.

        Paths, the oldest first.
        """
        return [os.path.join(self._folder, name) for name in sorted(self._logs() - self._before)]

    def _logs(self) -> set[str]:
        try:
            return {name for name in os.listdir(self._folder) if name.endswith(SUFFIX)}
        except OSError:
            return set()
