"""Choosing the cheaper way of recording: probes that store, or ``sys.monitoring``.

A probe that stores costs the same each time it is passed. With ``sys.monitoring`` it costs much more the first time
that a test passes it, and almost nothing later. How often probes are passed is not known, but earlier recordings tell
how many probes each test passed and how much CPU time it used. From this follows the overhead of ``sys.monitoring``,
which is chosen if it is small.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from suspectra_recorder.instrumentation.monitoring import unavailable
from suspectra_recorder.log.frames import FRAME, MAGIC, SUFFIX, FrameKind, split_json, unpack_rows
from suspectra_recorder.options import RECORDERS

MICROSECONDS_PER_PROBE = 10.0
"""``sys.monitoring`` is chosen if tests use at least this much CPU time per passed probe.

The first pass of a probe then takes about 0.5 µs, so the overhead is at most about 5 % (benchmarks/probe_cost.py).
"""

_SAMPLE = 400
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error, zlib.error)


class ProbeChoice(NamedTuple):
    """The way of recording, with the reason if it is not the requested one."""

    monitoring: bool  # whether to use `sys.monitoring` instead of probes that store
    objection: str = ""  # why it is not the requested way; empty if it is

    @property
    def recorder(self) -> str:
        """Its name."""
        return "monitoring" if self.monitoring else "probes"


def choose(asked: str, folder: str, *, counting: bool) -> ProbeChoice:
    """Choose how to record.

    The requested way if that is possible.
    """
    if asked not in RECORDERS:
        choice = choose("auto", folder, counting=counting)
        return choice._replace(objection=f"there is no recorder {asked!r}, only {', '.join(RECORDERS)}")
    if asked == "probes":
        return ProbeChoice(False)
    obstacle = "sys.monitoring can't count" if counting else unavailable()
    if obstacle:
        return ProbeChoice(False, f"recording by probes: {obstacle}" if asked == "monitoring" else "")
    return ProbeChoice(asked == "monitoring" or microseconds_per_probe(folder) >= MICROSECONDS_PER_PROBE)


def microseconds_per_probe(folder: str) -> float:
    """Estimate the CPU time per passed probe from a sample of the recorded tests."""
    seconds, passed = 0.0, 0
    # a sample, since a start of pytest must not wait until all logs are read
    tests = [(path, place) for path in _logs(folder) for place in _tests(path)]
    for path, (start, end) in tests[:: -(-len(tests) // _SAMPLE) or 1]:
        try:
            with open(path, "rb") as stream:
                stream.seek(start)
                head, rows = split_json(stream.read(end - start))
            cells = int.from_bytes(unpack_rows(rows)[1], "big").bit_count()
            work = float(head["cpu"])
        except _DAMAGE:
            continue
        if cells:
            seconds += work
            passed += cells
    return 1e6 * seconds / passed if passed else 0.0


def _logs(folder: str) -> list[str]:
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(SUFFIX))
    except OSError:
        return []


def _tests(path: str) -> Iterator[tuple[int, int]]:
    """The positions in a log of tests that were recorded without counts; nothing else is read."""
    try:
        with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            wanted = False
            start = len(MAGIC)
            while start + FRAME.size <= len(data):
                length, _, kind = FRAME.unpack_from(data, start)
                end = start + FRAME.size - 1 + length
                if not length or end > len(data):
                    return
                if kind == FrameKind.RUN:
                    wanted = json.loads(data[start + FRAME.size : end]).get("counts") is False
                elif kind == FrameKind.TEST and wanted:
                    yield start + FRAME.size, end
                start = end
    except _DAMAGE:
        return
