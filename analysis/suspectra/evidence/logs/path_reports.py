"""The log of what searches for paths have reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from suspectra.base.english import many
from suspectra.evidence.logs.per_test_log import Logged, PerTestLog
from suspectra.evidence.sources import SourceReader
from suspectra.runs.reported_lines import Line, ReportedPaths
from suspectra.spectrum import Spectrum


def add_report(workspace: Path, test: str, technique: str, lines: Iterable[Line], sources: Mapping[str, str]) -> None:
    """Add a report to the log; those of other sources are removed.

    Raises EvidenceError when it can't be written. Raises RecordingError when its folder is a link, or can't be made.
    """
    known = {one.test: one for one in PATHS.read(workspace)[0]}
    before = known[test].found.lines if test in known else {}
    found = ReportedPaths(test, {**before, technique: tuple(dict.fromkeys(lines))})
    PATHS.write(workspace, {**known, test: Logged(test, found, sources)}.values())


def executed_sources(workspace: Path, spectrum: Spectrum, test: str) -> dict[str, str]:
    """Say what the sources look like that a recorded test executes."""
    read, elements = SourceReader(workspace), spectrum.elements
    files = {elements.files[file] for file in elements.file[spectrum.rows[spectrum.test_index[test]]].tolist()}
    return {file: sha256(text).hexdigest() for file in sorted(files) if (text := read(file)) is not None}


def _encoded(found: ReportedPaths) -> dict[str, object]:
    return {"reports": found.lines}


def _decoded(test: str, entry: Mapping[str, Any]) -> ReportedPaths:
    reports = {name: tuple((file, line) for file, line in lines) for name, lines in entry["reports"].items()}
    if not all(type(file) is str and type(line) is int for lines in reports.values() for file, line in lines):
        raise ValueError
    return ReportedPaths(test, reports)


def _left_out(count: int) -> str:
    return f"{many(count, 'search')} for paths {'was' if count == 1 else 'were'} made"


PATHS = PerTestLog("paths.jsonl", "paths", _encoded, _decoded, _left_out, "suspectra paths")
"""Where failing runs and those that pass part: lines, no values."""
