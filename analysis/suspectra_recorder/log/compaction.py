"""Keeping the folder of logs small: what later runs replaced is dropped, and many logs become one.

A log that a process still writes is locked by it and left alone. The merged log is complete under its final name
before the old ones go; in between the same records exist twice, which readers take for one.
"""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from suspectra_recorder.complete_file import complete_file
from suspectra_recorder.errors import Problem
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.frames import (
    DAMAGE,
    MAGIC,
    SUFFIX,
    FrameKind,
    LogDamage,
    frame,
    lock,
)
from suspectra_recorder.log.history import WholeFiles, current, newest, newest_errors
from suspectra_recorder.log.reader import LogReader, RecordedTest, Run, Shared, Source

MAX_LOGS = 16
MIN_WASTE = 1 << 20


@dataclass
class _Test:
    name: str
    time: int
    size: int
    payload: bytes
    shares: tuple[str, ...]
    section: int


@dataclass
class _Section:
    """The frames of one process's run."""

    run: Run
    files: list[bytes] = field(default_factory=list)
    outside: list[bytes] = field(default_factory=list)
    shared: list[tuple[str, bytes]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    errors: list[CollectionError] = field(default_factory=list)
    collections: list[WholeFiles] = field(default_factory=list)


class _Log(LogReader):
    """A log that nobody writes, locked, as it is copied."""

    def __init__(self, path: str, descriptor: int):
        super().__init__()
        self.path = path
        self.descriptor = descriptor
        self.sections: list[_Section] = []
        self.tests: list[_Test] = []

    @property
    def collections(self) -> list[WholeFiles]:
        """Those of all sections."""
        return [collection for section in self.sections for collection in section.collections]

    def on_run(self, run: Run) -> None:
        self.sections.append(_Section(run))

    def on_source(self, source: Source) -> None:
        self.sections[-1].files.append(source.payload)

    def on_test(self, test: RecordedTest) -> None:
        section = len(self.sections) - 1
        self.tests.append(_Test(test.name, test.time, len(test.payload), test.payload, test.shares, section))

    def on_outside(self, rows: bytes) -> None:
        self.sections[-1].outside.append(rows)

    def on_shared(self, shared: Shared) -> None:
        self.sections[-1].shared.append((shared.name, shared.payload))

    def on_collection(self, collection: WholeFiles) -> None:
        self.sections[-1].collections.append(collection)

    def on_problem(self, problem: Problem) -> None:
        self.sections[-1].problems.append(problem)

    def on_collection_error(self, error: CollectionError) -> None:
        self.sections[-1].errors.append(error)

    def on_damage(self, end: int, error: Exception) -> None:
        raise LogDamage(end, "damaged record") from error


def compact(folder: str, *, max_logs: int = MAX_LOGS, min_waste: int = MIN_WASTE) -> None:
    """Drop logs of which nothing counts any more, and merge the others when they are many or mostly waste.

    Anything that goes wrong leaves the logs as they are.

    Parameters
    ----------
    folder : str
        Of the recording.
    max_logs : int, optional
        From how many on they are merged.
    min_waste : int, optional
        Bytes that no longer count, from which on they are merged.
    """
    logs: list[_Log] = []
    try:
        for name in sorted(os.listdir(folder)):
            if name.endswith(SUFFIX) and not os.path.islink(os.path.join(folder, name)):
                log = _open(os.path.join(folder, name))
                if log is not None:
                    logs.append(log)
        _tidy(folder, logs, max_logs, min_waste)
    except (OSError, *DAMAGE):
        return
    finally:
        for log in logs:
            os.close(log.descriptor)


def _open(path: str) -> _Log | None:
    """A log that nobody writes, locked; None for any other and for damaged ones."""
    descriptor = os.open(path, os.O_RDWR)
    if not lock(descriptor, wait=False):
        os.close(descriptor)
        return None
    log = _Log(path, descriptor)
    try:
        with open(path, "rb") as stream:
            log.read(stream.read())
    except LogDamage as damage:
        if "torn" not in damage.cause:
            os.close(descriptor)
            return None
    except (OSError, *DAMAGE):
        os.close(descriptor)
        return None
    return log


def _tidy(folder: str, logs: list[_Log], max_logs: int, min_waste: int) -> None:
    if not any(log.sections for log in logs):
        return
    live = newest(((t.name, t.time) for log in logs for t in log.tests), [c for log in logs for c in log.collections])
    latest = max(_order(s) for log in logs for s in log.sections)[1]
    _drop_old_errors(logs)
    _drop_old_collections(logs)
    kept: list[_Log] = []
    waste = 0
    for log in logs:
        log.tests, dead = _split(log, live)
        current = any(s.run.name == latest for s in log.sections)
        errors = any(section.errors for section in log.sections)
        if not log.tests and not current and not log.collections and not errors:
            os.unlink(log.path)
        else:
            kept.append(log)
            waste += dead
    if len(kept) > max_logs or waste > min_waste:
        _merge(folder, kept)


def _drop_old_errors(logs: list[_Log]) -> None:
    errors = [(section.run.name, error) for log in logs for section in log.sections for error in section.errors]
    live = set(newest_errors(errors, [collection for log in logs for collection in log.collections]))
    for section in (section for log in logs for section in log.sections):
        section.errors = [error for error in section.errors if error in live]


def _drop_old_collections(logs: list[_Log]) -> None:
    """Keep what counts of collections: a log that can't be tidied now may hold tests that they found no more."""
    live = {(c.time, c.run): c for c in current([c for log in logs for c in log.collections])}
    for section in (section for log in logs for section in log.sections):
        section.collections = [live[c.time, c.run] for c in section.collections if (c.time, c.run) in live]


def _split(log: _Log, live: Mapping[str, int]) -> tuple[list[_Test], int]:
    kept = [t for t in log.tests if live.get(t.name) == t.time]
    return kept, sum(t.size for t in log.tests) - sum(t.size for t in kept)


def _merge(folder: str, logs: list[_Log]) -> None:
    """One log in place of many, each source in it once."""
    latest = max(_order(section) for log in logs for section in log.sections)
    kept = [
        (section, [test for test in log.tests if test.section == number])
        for log in logs
        for number, section in enumerate(log.sections)
    ]
    kept = [
        (section, tests)
        for section, tests in kept
        if tests or section.errors or section.collections or _order(section) == latest
    ]
    numbers: dict[bytes, int] = {}
    out = [MAGIC]
    for section, tests in sorted(kept, key=lambda pair: _order(pair[0])):
        out.append(frame(FrameKind.RUN, json.dumps(section.run.head).encode()))
        out += [frame(FrameKind.SCOPE, collection.payload()) for collection in section.collections]
        if not tests and not section.errors and _order(section) != latest:
            continue
        for payload in section.files:
            if payload in numbers:
                out.append(frame(FrameKind.SAME, struct.pack("<I", numbers[payload])))
            else:
                numbers[payload] = len(numbers)
                out.append(frame(FrameKind.FILE, payload))
        used = {name for test in tests for name in test.shares}
        out += [frame(FrameKind.SHARED, payload) for name, payload in section.shared if not name or name in used]
        out += [frame(FrameKind.TEST, test.payload) for test in tests]
        out += [frame(FrameKind.OUTSIDE, payload) for payload in section.outside]
        out += [frame(FrameKind.PROBLEM, json.dumps(problem.as_dict()).encode()) for problem in section.problems]
        out += [frame(FrameKind.ERROR, json.dumps(error.as_dict()).encode()) for error in section.errors]
    _replace(folder, logs, b"".join(out))


def _order(section: _Section) -> tuple[int, str]:
    return section.run.started, section.run.name


def _replace(folder: str, logs: list[_Log], data: bytes) -> None:
    with complete_file(os.path.join(folder, f"{time.time_ns():020d}-{os.getpid()}-merged{SUFFIX}")) as stream:
        stream.write(data)
        stream.flush()
        newest = max(os.stat(log.path).st_mtime_ns for log in logs)
        if newest > time.time_ns():  # the clock was set back; the time of a log says how new its records are
            os.utime(stream.name, ns=(newest, newest))
    for log in logs:
        os.unlink(log.path)
