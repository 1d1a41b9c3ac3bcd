"""The log of one process of a run, which may be opened later than it is written to."""

from __future__ import annotations

from collections.abc import Mapping

from suspectra_recorder.errors import Problem
from suspectra_recorder.folders import RecordingError, make_recording_folder
from suspectra_recorder.installed_packages import installed
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, os, sys, time
from suspectra_recorder.log.frames import SUFFIX, FrameKind
from suspectra_recorder.log.writer import LogWriter
from suspectra_recorder.settings import FOLDER, RECORDING

__builtins__ = library_references.builtins


class _Clock:
    """A clock that is never behind what is recorded: of two records of a test the later one counts.

    The system's clock may have been set back meanwhile.

    Raises OSError when the folder can't be read.
    """

    def __init__(self, folder: str):
        with os.scandir(folder) as entries:
            times = (entry.stat(follow_symlinks=False).st_mtime_ns for entry in entries if entry.is_file())
            newest = max(times, default=0)
        # how far the system's clock is behind this one, in nanoseconds: 0 unless it was set back
        # the times of logs say how new their records are: `LogOfRun.write` sets them where the clock was set back
        self.behind = max(0, newest + 1 - time.time_ns())
        self._last = 0

    def now(self) -> int:
        """Return the time in nanoseconds since the epoch, no less than the last time."""
        now = time.time_ns() + self.behind
        if now < self._last:
            self.behind += self._last - now
            now = self._last
        self._last = now
        return now


class LogOfRun:
    """The log of this process.

    Raises RecordingError when the workspace is not writable.
    """

    def __init__(self, workspace: str, run: str, worker: str, about: Mapping[str, object], *, later: bool = False):
        self.folder = make_recording_folder(workspace, RECORDING)  # the folder of the logs
        self._run, self._worker, self._about = run, worker, about
        self._problems: list[bytes] = []
        self._writer: LogWriter | None = None
        self.stopped = ""  # why it is not complete
        try:
            self._clock = _Clock(self.folder)
        except OSError as error:
            raise _unwritable(error) from error
        if not later:
            self.open()

    def open(self) -> None:
        """Open a new log.

        Raises RecordingError when it can't be made.
        """
        name = f"{os.getpid()}{'-' + self._worker if self._worker else ''}{SUFFIX}"
        try:
            self._clock = _Clock(self.folder)  # others may have written meanwhile
            started = self._clock.now()
            self._writer = LogWriter(os.path.join(self.folder, f"{started:020d}-{name}"))
        except OSError as error:
            raise _unwritable(error) from error
        head = {
            "run": self._run,
            "worker": self._worker,
            "started": started,
            "python": sys.version.split()[0],
            "executable": sys.executable,
            "packages": installed(sys.path),
            **self._about,
        }
        self.write(FrameKind.RUN, json.dumps(head).encode())
        for problem in self._problems:
            self.write(FrameKind.PROBLEM, problem)

    def write(self, kind: FrameKind, payload: bytes) -> bool:
        """Append one frame, if the log is open; if that fails, nothing more is written.

        False where it was not written.
        """
        if self._writer is None or not self._writer.is_open:
            return False
        try:
            self._writer.write(kind, payload)
            if self._clock.behind:
                os.utime(self.path, ns=(self.now(), self.now()))  # the next run reads this time
        except OSError as error:  # a full disk must not fail the tests
            self._writer.close()
            # said only when the tests have ended: some of them check what is printed
            self.stopped = error.strerror or str(error)
            return False
        return True

    def problem(self, payload: bytes) -> None:
        """Append a problem, or keep it for the log."""
        if self._writer is None:
            self._problems.append(payload)
        self.write(FrameKind.PROBLEM, payload)

    def now(self) -> int:
        """Return the time, in nanoseconds since the epoch; it never goes back."""
        return self._clock.now()

    @property
    def path(self) -> str:
        """The file, empty before it is opened."""
        return "" if self._writer is None else self._writer.path

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return 0 if self._writer is None else self._writer.size

    @property
    def is_open(self) -> bool:
        """Whether it can be written."""
        return self._writer is not None and self._writer.is_open

    def payload(self, offset: int) -> bytes:
        """Read the payload of the frame at an offset."""
        assert self._writer is not None
        return self._writer.payload(offset)

    def close(self) -> None:
        """Close it, so that others may merge or remove it."""
        if self._writer is not None:
            self._writer.close()

    def report_failure(self) -> None:
        """Say why it is not complete; only after the tests, some of which check what is printed."""
        if self.stopped and sys.__stderr__ is not None:
            sys.__stderr__.write(f"suspectra: recording stopped: {self.stopped}\n")


def _unwritable(error: OSError) -> RecordingError:
    return RecordingError(
        Problem(
            f"{FOLDER}/{RECORDING}",
            "",
            f"nothing can be recorded: {error.strerror or error}",
            "make the workspace writable, or choose another with --workspace",
        )
    )
