"""Changes that an earlier search has found to break tests: they are kept in the log of experiments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from suspectra.changes.baselines import Baseline
from suspectra.changes.isolation import BreakingChange
from suspectra.changes.units import ChangeUnit
from suspectra.changes.value_trace import ValueDifference
from suspectra.evidence.logs.experiments import read_causes


def known_causes(workspace: Path, recorded: Mapping[str, str | None]) -> Iterator[BreakingChange]:
    """The causes that were found with the sources as they are now, in the order in which they were found."""
    for entry in read_causes(workspace, recorded):
        try:
            yield _cause(entry)
        except (KeyError, TypeError, ValueError):  # another version, or no program, wrote it
            continue


def _cause(entry: Mapping[str, object]) -> BreakingChange:
    difference = entry["first_difference"]
    found = ValueDifference(**_object(difference)) if difference is not None else None  # type: ignore[arg-type]
    return BreakingChange(
        tests=_texts(entry["tests"]),
        units=_units(entry["change"]),
        mends=_texts(entry["mends"]),
        alone_breaks=_texts(entry["alone_breaks"]),
        minimal=entry["minimal"] is True,
        since=Baseline(str(entry["since"]), ()),
        total=int(str(entry["total"])),
        difference=found,
        going_with=_units(entry["going_with"]),
        besides=_units(entry["besides"]),
        run=_units(entry["run"]),
    )


def _units(entries: object) -> tuple[ChangeUnit, ...]:
    found = tuple(ChangeUnit(**_object(one)) for one in cast("list[object]", entries))  # type: ignore[arg-type]
    if not all(isinstance(one.line, int) and isinstance(one.end_line, int) for one in found):
        raise TypeError
    return found


def _object(entry: object) -> dict[str, object]:
    if not isinstance(entry, dict):
        raise TypeError
    return {str(name): value if isinstance(value, int) else str(value) for name, value in entry.items()}


def _texts(entries: object) -> tuple[str, ...]:
    if not isinstance(entries, list):
        raise TypeError
    return tuple(map(str, entries))
