"""The content of one log: sections, records and collections, in the order of the log."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from suspectra.base.cancellation import Cancelled, check, checked
from suspectra.base.errors import Problem
from suspectra.base.location import Location
from suspectra.evidence.evidence import TestResult, Verdict
from suspectra.evidence.opening import open_evidence
from suspectra.evidence.recording.records import RUN_AGAIN, Record, Section
from suspectra.evidence.recording.source_map import SourceMap
from suspectra.evidence.sources import reason
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.frames import MAGIC, LogDamage
from suspectra_recorder.log.history import WholeFiles
from suspectra_recorder.log.locks import is_locked
from suspectra_recorder.log.reader import LoggedOutcome, LoggedRun, LogReader, RecordedTest, Shared, Source

# the end of a log that is locked is not damaged: its process has not written the rest yet
_UNFINISHED = ("empty file", "torn frame")
_MAX_LOG = 1 << 30
_PIECE = 1 << 20  # bytes


class Log(LogReader):
    """The content of one log, which is read incrementally."""

    def __init__(self, source_map: Callable[[Source], SourceMap]) -> None:
        super().__init__()
        self._source_map = source_map
        self._name = ""

    def rewind(self) -> None:
        """Forget everything that was read."""
        super().rewind()
        self.reading = object()  # a new object when the log is read from its start again
        self.identity: tuple[int, int] | None = None
        self.sections: list[Section] = []
        self.records: list[Record] = []
        self.collections: list[WholeFiles] = []
        self.problems: list[Problem] = []
        self._damage: list[Problem] = []

    def update(self, path: Path, name: str) -> None:
        """Read what was appended since the last call."""
        self._name = name
        found: list[Problem] = []
        try:
            damage = self._read_on(path)
            if damage is not None and damage.cause in _UNFINISHED:
                # its process is about to write the rest, or may have done so meanwhile and ended
                damage = None if is_locked(path) else self._read_on(path)
            if damage is not None:
                cause = f"{damage.cause}; nothing after this place was read"
                if damage.cause == "torn frame":
                    cause = "the last entry is cut off, as it is when a process is killed; all before it was read"
                found.append(Problem(name, f"byte {damage.offset}", cause, RUN_AGAIN))
        except (OSError, ValueError) as error:
            found.append(Problem(name, "", f"can't be read: {reason(error)}", RUN_AGAIN))
        self.problems = [*self._damage, *found]

    def _read_on(self, path: Path) -> LogDamage | None:
        """Read what was appended since the last call; return what ended it early."""
        data = self._appended(path)
        if data is None:
            return None
        try:
            self.read(data, checked)
        except Cancelled:
            self.rewind()
            raise
        except LogDamage as damage:
            return damage
        return None

    def _appended(self, path: Path) -> bytes | None:
        with open_evidence(path, limit=_MAX_LOG, follow=False) as stream:
            status = os.fstat(stream.fileno())
            identity = (status.st_dev, status.st_ino)
            if identity != self.identity or status.st_size < self.offset:
                self.rewind()
                self.identity = identity
            if status.st_size == self.offset and self.offset:
                return None
            if not self.offset:
                head = stream.read(len(MAGIC))
                if head != MAGIC:
                    return head  # enough to see that this is not a log
            stream.seek(self.offset)
            return _read(stream)

    def on_run(self, run: LoggedRun) -> None:
        """Begin a section."""
        section = Section(run.name, run.started, python=run.python, packages=run.packages, command=run.command)
        self.sections.append(section)

    def on_source(self, source: Source) -> None:
        """Add its map."""
        self.sections[-1].maps.append(self._source_map(source))

    def on_lost_source(self, payload: bytes) -> None:
        """Reserve its index."""
        self.sections[-1].maps.append(None)

    def on_test(self, test: RecordedTest) -> None:
        """Add its record, with packed rows."""
        outcome = test.outcome()
        result = _test_result(test.name, outcome)
        section = self.sections[-1]
        section.tests.add(test.name)
        setups = tuple(section.setups[name] for name in test.shares if name in section.setups)
        self.records.append(Record(result, test.time, section, (test.rows, *setups), outcome.stack))

    def on_outside(self, rows: bytes) -> None:
        """Add it."""
        self.sections[-1].outside.append(rows)

    def on_shared(self, shared: Shared) -> None:
        """Add first imports and setups; other shared rows are only needed to select tests."""
        if not shared.name:
            self.sections[-1].outside.append(shared.rows)
        elif shared.setup:
            self.sections[-1].setups[shared.name] = shared.rows

    def on_collection(self, collection: WholeFiles) -> None:
        """Add it."""
        self.collections.append(collection)

    def on_problem(self, problem: Problem) -> None:
        """Add it."""
        self.sections[-1].problems.append(problem)

    def on_collection_error(self, error: CollectionError) -> None:
        """Add it."""
        self.sections[-1].errors.append(error)

    def on_plan(self, tests: int) -> None:
        """Note it."""
        self.sections[-1].plan = tests

    def on_end(self) -> None:
        """Note it."""
        self.sections[-1].ended = True

    def on_damage(self, end: int, error: Exception) -> None:
        """Report it."""
        cause = f"does not contain what it should ({type(error).__name__}: {error})"
        self._damage.append(Problem(self._name, f"frame that ends at byte {end}", cause, RUN_AGAIN))


def _read(stream: BinaryIO) -> bytes:
    """Read to the end, cancellable in between: a log that is not in memory yet may take seconds from the disk."""
    data = BytesIO()
    while data.tell() < _MAX_LOG and (piece := stream.read(_PIECE)):
        check()
        data.write(piece)
    return data.getvalue()


def _test_result(name: str, outcome: LoggedOutcome) -> TestResult:
    location = None
    if outcome.location is not None:
        file, line = outcome.location
        location = Location(file, line, line)
    return TestResult(
        name=name,
        verdict=Verdict(outcome.verdict),
        location=location,
        phases=outcome.phases,
        message=outcome.message,
        seconds=outcome.seconds,
        flaky=outcome.flaky,
    )
