"""Keeping the folder of logs small: what later runs replaced is dropped, and many logs become one.

A log that a process still writes is locked by it and left alone. The merged log is complete under its final name
before the old ones go; in between the same records exist twice, which readers take for one.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
import time
from dataclasses import dataclass, field

from suspectra.recording.history import WholeFiles, inflate, newest
from suspectra.recording.log import (
    MAGIC,
    SUFFIX,
    FrameKind,
    LogDamage,
    frame,
    frames,
    hold,
    pack_rows,
    split_json,
    with_json,
)

MOST_LOGS = 16
LEAST_WASTE = 1 << 20
_MAX_ROWS = 1 << 28


@dataclass
class _Test:
    name: str
    time: int
    size: int
    payload: bytes
    section: int


@dataclass
class _Section:
    """The frames of one process's run."""

    run: dict
    files: list[bytes] = field(default_factory=list)
    outside: list[bytes] = field(default_factory=list)
    problems: list[bytes] = field(default_factory=list)


@dataclass
class _Log:
    path: str
    descriptor: int
    sections: list[_Section] = field(default_factory=list)
    tests: list[_Test] = field(default_factory=list)
    collections: list[WholeFiles] = field(default_factory=list)


def compact(folder: str, *, most_logs: int = MOST_LOGS, least_waste: int = LEAST_WASTE) -> None:
    """Drop logs of which nothing counts any more, and merge the others when they are many or mostly waste.

    Anything that goes wrong leaves the logs as they are.
    """
    logs: list[_Log] = []
    try:
        for name in sorted(os.listdir(folder)):
            if name.endswith(SUFFIX):
                log = _open(os.path.join(folder, name))
                if log is not None:
                    logs.append(log)
        _tidy(folder, logs, most_logs, least_waste)
    except (OSError, ValueError, struct.error):
        return
    finally:
        for log in logs:
            os.close(log.descriptor)


def _open(path: str) -> _Log | None:
    """A log that nobody writes, locked; None for any other and for damaged ones."""
    descriptor = os.open(path, os.O_RDWR)
    if not hold(descriptor, wait=False):
        os.close(descriptor)
        return None
    log = _Log(path, descriptor)
    try:
        with open(path, "rb") as stream:
            _read(log, stream.read())
    except LogDamage as damage:
        if "torn" not in damage.cause:
            os.close(descriptor)
            return None
    except (OSError, ValueError, KeyError, TypeError):
        os.close(descriptor)
        return None
    return log


def _read(log: _Log, data: bytes) -> None:
    for kind, payload, _ in frames(data):
        if kind == FrameKind.RUN:
            log.sections.append(_Section(json.loads(payload)))
        elif kind == FrameKind.FILE:
            log.sections[-1].files.append(payload)
        elif kind == FrameKind.TEST:
            head, _ = split_json(payload)
            section = len(log.sections) - 1
            log.tests.append(_Test(head["name"], int(head["time"]), len(payload), payload, section))
        elif kind == FrameKind.OUTSIDE:
            log.sections[-1].outside.append(payload)
        elif kind == FrameKind.SCOPE:
            log.collections.append(WholeFiles.from_payload(payload))
        elif kind == FrameKind.PROBLEM:
            log.sections[-1].problems.append(payload)


def _tidy(folder: str, logs: list[_Log], most_logs: int, least_waste: int) -> None:
    if not any(log.sections for log in logs):
        return
    live = newest(((t.name, t.time) for log in logs for t in log.tests), [c for log in logs for c in log.collections])
    latest = max((s.run.get("started", 0), s.run.get("run")) for log in logs for s in log.sections)[1]
    kept: list[_Log] = []
    waste = 0
    for log in logs:
        log.tests, dead = _split(log, live)
        current = any(s.run.get("run") == latest for s in log.sections)
        if not log.tests and not current and not log.collections:
            os.unlink(log.path)
        else:
            kept.append(log)
            waste += dead
    if len(kept) > most_logs or waste > least_waste:
        _merge(folder, kept)


def _split(log: _Log, live) -> tuple[list[_Test], int]:
    kept = [t for t in log.tests if live.get(t.name) == t.time]
    return kept, sum(t.size for t in log.tests) - sum(t.size for t in kept)


def _merge(folder: str, logs: list[_Log]) -> None:
    """One log with one section in place of many."""
    # each map once, and where it came last: readers take the last map of a path for its present state
    maps = [payload for log in logs for section in log.sections for payload in section.files]
    files = list(dict.fromkeys(reversed(maps)))[::-1]
    numbers = {payload: number for number, payload in enumerate(files)}
    outside: dict[int, int] = {}
    sizes: dict[int, int] = {}
    tests: list[bytes] = []
    problems: dict[bytes, None] = {}
    for log in logs:
        mappings = [[numbers[payload] for payload in section.files] for section in log.sections]
        for section, mapping in zip(log.sections, mappings, strict=True):
            problems.update(dict.fromkeys(section.problems))
            for payload in section.outside:
                _unite(_renumbered(payload, mapping), files, outside, sizes)
        for test in log.tests:
            head, rows = split_json(test.payload)
            touched, bits = _renumbered(rows, mappings[test.section])
            tests.append(frame(FrameKind.TEST, with_json(head, pack_rows(touched, bits))))
    last = max((s.run for log in logs for s in log.sections), key=lambda run: run.get("started", 0))
    united = b"".join(outside[n].to_bytes(sizes[n], "big") for n in outside)
    out = [MAGIC, frame(FrameKind.RUN, json.dumps(last).encode())]
    out += [frame(FrameKind.FILE, payload) for payload in files]
    out += tests
    out += [frame(FrameKind.OUTSIDE, pack_rows(list(outside), united))] if outside else []
    out += [frame(FrameKind.PROBLEM, payload) for payload in problems]
    _replace(folder, logs, b"".join(out))


def _replace(folder: str, logs: list[_Log], data: bytes) -> None:
    handle, partial = tempfile.mkstemp(dir=folder, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        newest = max(os.stat(log.path).st_mtime_ns for log in logs)
        if newest > time.time_ns():  # the clock was set back; the time of a log says how new its records are
            os.utime(partial, ns=(newest, newest))
        os.replace(partial, os.path.join(folder, f"{time.time_ns():020d}-{os.getpid()}-merged{SUFFIX}"))
    except OSError:
        os.unlink(partial)
        raise
    for log in logs:
        os.unlink(log.path)


def _renumbered(rows: bytes, mapping: list[int]) -> tuple[list[int], bytes]:
    data = inflate(rows, _MAX_ROWS)
    (count,) = struct.unpack_from("<I", data)
    touched = struct.unpack_from(f"<{count}I", data, 4)
    return [mapping[n] for n in touched], data[4 + 4 * count :]


def _unite(rows, files, outside: dict[int, int], sizes: dict[int, int]) -> None:
    touched, bits = rows
    start = 0
    for number in touched:
        head, _ = split_json(files[number])
        size = -(-int(head["cells"]) // 8)
        value = int.from_bytes(bits[start : start + size], "big")
        outside[number] = outside.get(number, 0) | value
        sizes[number] = size
        start += size
