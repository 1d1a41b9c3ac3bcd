"""Which way of recording costs less: probes that store, or ``sys.monitoring``.

A probe costs the same each time it is passed; watched by ``sys.monitoring`` it costs much more the first time a test
passes it, and next to nothing from then on. How often probes are passed is not known, but the tests recorded before
tell how many each passed at all, and how much work it did meanwhile. From that follows what ``sys.monitoring`` would
add to the work; it is taken where that is little, whatever the probes would have added.
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
"""CPU time of a test for each probe it passes, from which on ``sys.monitoring`` is taken.

The first pass of a probe takes it about 0.5 µs, so it adds about 5 % at most then (benchmarks/probe_cost.py).
"""

_SAMPLE = 400
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error, zlib.error)


class Choice(NamedTuple):
    """How to record, with the reason where it is not what was asked for.

    Parameters
    ----------
    monitoring : bool
        Whether by ``sys.monitoring``, otherwise by probes that store.
    objection : str
        Why it is not what was asked for; empty where it is.
    """

    monitoring: bool
    objection: str = ""

    @property
    def recorder(self) -> str:
        """Its name."""
        return "monitoring" if self.monitoring else "probes"


def choose(asked: str, folder: str, *, counting: bool) -> Choice:
    """Choose how to record.

    Parameters
    ----------
    asked : str
        One of `RECORDERS`.
    folder : str
        Where earlier runs were recorded.
    counting : bool
        Whether probes are to count, which only stores can.

    Returns
    -------
    Choice
        What was asked for, where that is possible.
    """
    if asked not in RECORDERS:
        choice = choose("auto", folder, counting=counting)
        return choice._replace(objection=f"there is no recorder {asked!r}, only {', '.join(RECORDERS)}")
    if asked == "probes":
        return Choice(False)
    obstacle = "sys.monitoring can't count" if counting else unavailable()
    if obstacle:
        return Choice(False, f"recording by probes: {obstacle}" if asked == "monitoring" else "")
    return Choice(asked == "monitoring" or microseconds_per_probe(folder) >= MICROSECONDS_PER_PROBE)


def microseconds_per_probe(folder: str) -> float:
    """CPU time of the recorded tests for each probe that they passed, out of a sample; 0 when nothing is known.

    Parameters
    ----------
    folder : str
        The logs of a workspace.

    Returns
    -------
    float
        Microseconds.
    """
    seconds, passed = 0.0, 0
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
    """Where in a log the tests stand that were recorded without counts; nothing else of it is read."""
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
