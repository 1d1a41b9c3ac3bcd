"""The lines that runs of tests execute, in order, and where two runs go on at different lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from suspectra.base.location import Location
from suspectra.experiments.altered_runs import Runs
from suspectra.experiments.run_answers import read_column
from suspectra_recorder.experiments.messages import MachineRunAnswer, RunRequest

LINES: RunRequest = {"kind": "lines"}
"""The job that changes nothing, and notes the lines."""

_MAX_STEPS = 10_000_000  # decisions that a run may make meanwhile
_INDENT = "    "


class ExecutedLine(NamedTuple):
    """A line that a run executes."""

    location: Location  # the line
    depth: int  # in how many calls it is, from 1


def executed_lines(runs: Runs, test: str, seconds: float) -> list[ExecutedLine]:
    """Run a test unaltered, and note the lines that it executes.

    Without those of test code, and at most `MAX_LINES` of the recorder.
    """
    (answer,) = runs.ask(test, [LINES], steps=_MAX_STEPS, seconds=seconds)
    return lines_of(answer)


def lines_of(answer: MachineRunAnswer) -> list[ExecutedLine]:
    """Read what a machine answered to the job `LINES`.

    In the order of the run.
    """
    files = answer.get("files", [])
    table = read_column(answer.get("lines", "")).reshape(-1, 3)
    return [ExecutedLine(Location(files[file], line, line), depth) for file, line, depth in table.tolist()]


def common_lines(run: Sequence[ExecutedLine], other: Sequence[ExecutedLine]) -> int:
    """Count the lines that two runs execute before they go on at different ones.

    The length of the shorter one where it is the beginning of the other.
    """
    pairs = zip(run, other, strict=False)
    shorter = min(len(run), len(other))
    return next((place for place, (mine, its) in enumerate(pairs) if mine != its), shorter)


def as_text(run: Sequence[ExecutedLine], source: Callable[[str, int], str]) -> str:
    """Write a run as text that can be compared line by line with that of another one."""
    texts = (f"{_INDENT * (one.depth - 1)}{source(one.location.file, one.location.line).rstrip()}" for one in run)
    return "".join(f"{text}  # {one.location.short}\n" for text, one in zip(texts, run, strict=True))
