"""What was learned from a reader's moves: two counts, in a file on this machine."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import platformdirs

from suspectra.base.errors import UsageError
from suspectra.markov.learning import JumpHabit
from suspectra_recorder.complete_file import complete_file

log = logging.getLogger(__name__)

MAX_SIZE = 4096  # bytes; the file contains two numbers


class LearnedMoves:
    """The reader's habit. The file is read and written for each move, so that several editors add to the same counts.

    All methods access the file, so one worker thread calls them. `habit` is immutable and may be read by any thread.
    """

    def __init__(self, file: Path | None = None):
        # `learned-jumps.json` in the user's state folder unless given
        self.file = file or platformdirs.user_state_path("suspectra", appauthor=False) / "learned-jumps.json"
        self.habit = self._read()

    def add(self, jumped: bool) -> None:
        """Count one move."""
        known = self._read()
        self.habit = known.after(jumped)
        if not self._write():
            self.habit = known

    def reset(self) -> bool:
        """Delete everything; True if there was anything."""
        existed = self.file.exists() or self.habit != JumpHabit()
        self.habit = JumpHabit()
        try:
            self.file.unlink(missing_ok=True)
        except OSError as error:
            log.warning("%s can't be removed: %s", self.file, error.strerror)
        return existed

    def _read(self) -> JumpHabit:
        """What is in the file; no moves if it can't be read."""
        try:
            with open(self.file, "rb") as file:
                known = json.loads(file.read(MAX_SIZE))
            counts = known["jumps"], known["returns"]
            if not all(type(count) is int for count in counts):
                raise ValueError("the counts are not whole numbers")
            return JumpHabit(*counts)
        except FileNotFoundError:
            return JumpHabit()
        except (OSError, ValueError, TypeError, KeyError, RecursionError, UsageError) as error:
            log.warning("%s can't be used, so learning starts again from zero: %s", self.file, error)
            return JumpHabit()

    def _write(self) -> bool:
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with complete_file(self.file) as stream:
                stream.write(json.dumps({"jumps": self.habit.jumps, "returns": self.habit.returns}).encode() + b"\n")
        except OSError as error:
            log.warning("%s can't be written, so the move is not counted: %s", self.file, error)
            return False
        return True
