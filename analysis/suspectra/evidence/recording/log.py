"""What has been read of one log: sections, records and collections, in the order they were appended."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from suspectra.cancellation import Cancelled, checked
from suspectra.errors import Problem
from suspectra.evidence.evidence import TestResult, Verdict
from suspectra.evidence.recording.records import Record, Section
from suspectra.evidence.recording.source_map import SourceMap
from suspectra.location import Location
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.frames import (
    DAMAGE,
    MAGIC,
    Frame,
    FrameKind,
    LogDamage,
    frames,
    inside,
    read_json,
    split_json,
)
from suspectra_recorder.log.history import WholeFiles

_MAX_LOG = 1 << 30
_AGAIN = "run the tests again"


class Log:
    """What has been read of one log."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.reading = object()  # another one when the log is read from its start again
        self.offset = 0
        self.identity: tuple[int, int] | None = None
        self.sections: list[Section] = []
        self.records: list[Record] = []
        self.collections: list[WholeFiles] = []
        self.problems: list[Problem] = []
        self._damage: list[Problem] = []

    def update(self, path: Path, name: str, source_map: Callable[..., SourceMap]) -> None:
        """Read what was appended since the last time; `name` is what problems call the log.

        Parameters
        ----------
        path : Path
            The file.
        name : str
            What problems call it.
        source_map : callable
            Given the head and the body of a ``FILE`` frame, the map; kept ones are shared.
        """
        self.problems = self._damage
        try:
            data = self._appended(path)
        except OSError as error:
            cause = f"can't be read: {error.strerror or error}"
            self.problems = [*self._damage, Problem(name, "", cause, _AGAIN)]
            return
        if data is None:
            return
        start = self.offset
        try:
            for frame in checked(frames(data, header=start == 0)):
                try:
                    self._add(frame, source_map)
                except DAMAGE as error:
                    place = f"frame that ends at byte {start + frame.end}"
                    cause = f"does not hold what it should ({type(error).__name__}: {error})"
                    self._damage.append(Problem(name, place, cause, _AGAIN))
                self.offset = start + frame.end
        except Cancelled:
            self._clear()  # a frame may stand for an earlier one, so reading can't go on in the middle
            raise
        except LogDamage as damage:
            place = f"byte {start + damage.offset}"
            if damage.cause == "torn frame":
                cause = "the last entry is cut off, as it is when a process is killed; all before it was read"
            else:
                cause = f"{damage.cause}; nothing after this place was read"
            self.problems = [*self._damage, Problem(name, place, cause, _AGAIN)]
        else:
            self.problems = list(self._damage)

    def _appended(self, path: Path) -> bytes | None:
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(0, "no regular file")
            if status.st_size > _MAX_LOG:
                raise OSError(0, f"larger than {_MAX_LOG >> 20} MiB")
            identity = (status.st_dev, status.st_ino)
            if identity != self.identity or status.st_size < self.offset:
                self._clear()
                self.identity = identity
                self.problems = self._damage
            if status.st_size == self.offset and self.offset:
                return None
            if not self.offset:
                head = stream.read(len(MAGIC))
                if head != MAGIC:
                    return head  # enough to see that it is no log
            stream.seek(self.offset)
            return stream.read(_MAX_LOG)

    def _add(self, frame: Frame, source_map: Callable[..., SourceMap]) -> None:
        payload = frame.payload
        if frame.kind == FrameKind.RUN:
            head = read_json(payload)
            self.sections.append(Section(str(head["run"]), int(head["started"])))
            return
        section = self.sections[-1]
        if frame.kind == FrameKind.FILE:
            section.maps.append(None)  # keeps the numbers right when the map is damaged
            head, blob = split_json(payload)
            section.maps[-1] = source_map(head, blob)
        elif frame.kind == FrameKind.TEST:
            head, rows = split_json(payload)
            self.records.append(Record(_test_result(head), int(head["time"]), section, rows))
        elif frame.kind == FrameKind.OUTSIDE:
            section.outside.append(payload)
        elif frame.kind == FrameKind.SHARED:
            head, rows = split_json(payload)  # for those who choose tests, but damage is told by all
            if "name" not in head or not rows:
                raise ValueError("nothing that is shared")
            if not head["name"]:
                section.outside.append(rows)  # a first import
        elif frame.kind == FrameKind.SCOPE:
            self.collections.append(WholeFiles.from_payload(payload, section.run))
        elif frame.kind == FrameKind.PROBLEM:
            head = read_json(payload)
            section.problems.append(Problem(*(str(head[k]) for k in ("file", "place", "cause", "cure"))))
        elif frame.kind == FrameKind.ERROR:
            section.errors.append(CollectionError.from_dict(read_json(payload)))


def _test_result(head: dict[str, Any]) -> TestResult:
    place = head.get("location")
    location = None
    if place is not None:
        file, line = place
        location = Location(inside(file), int(line), int(line))
    return TestResult(
        name=str(head["name"]),
        verdict=Verdict(head["verdict"]),
        location=location,
        phases={str(phase): str(outcome) for phase, outcome in dict(head["phases"]).items()},
        message=str(head["message"]),
        seconds=float(head["seconds"]),
        flaky=bool(head["flaky"]),
    )
