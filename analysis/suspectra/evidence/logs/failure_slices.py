"""The log of slices.

It has lines and distances alone, so that the technique is pure, and no value of the program is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from suspectra.base.english import many
from suspectra.evidence.logs.per_test_log import Logged, PerTestLog
from suspectra.runs.reported_lines import FailureSlice


def add_slices(workspace: Path, made: Iterable[Logged[FailureSlice]]) -> None:
    """Add slices to the log; of a test, and of other sources, older ones are removed.

    Raises EvidenceError when it can't be written. Raises RecordingError when its folder is a link, or can't be made.
    """
    known = {one.test: one for one in SLICES.read(workspace)[0]} | {one.test: one for one in made}
    SLICES.write(workspace, known.values())


def _encoded(found: FailureSlice) -> dict[str, object]:
    lines: dict[str, list[tuple[int, int]]] = {}
    for (file, line), distance in found.distance.items():
        lines.setdefault(file, []).append((line, distance))
    return {"lines": lines}


def _decoded(test: str, entry: Mapping[str, Any]) -> FailureSlice:
    distance = {(file, number): steps for file, lines in entry["lines"].items() for number, steps in lines}
    if not all(type(number) is int and type(steps) is int for (_, number), steps in distance.items()):
        raise ValueError
    return FailureSlice(test, distance)


def _left_out(count: int) -> str:
    return f"{many(count, 'slice')} {'was' if count == 1 else 'were'} made"


SLICES = PerTestLog("slices.jsonl", "slices", _encoded, _decoded, _left_out, "suspectra slice --failure")
"""What failures depend on: lines and distances, no values."""
