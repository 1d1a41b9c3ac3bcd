"""The fixes that the last search has shown, in their order, so that the number that a user has read can be applied."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from suspectra.evidence.boundary import Boundary
from suspectra.evidence.logs.experiments import FOLDER
from suspectra.evidence.sources import SourceReader
from suspectra.fixes.fix import Fix
from suspectra.mutation.edit import Edit
from suspectra_recorder.folders import make_recording_folder

_NAME = "fixes.json"
_MAX_BYTES = 8 << 20


@dataclass(frozen=True)
class KeptEdits:
    """The edits of one file."""

    file: str  # relative to the workspace
    edits: tuple[Edit, ...]


def keep(workspace: Path, tests: Collection[str], fixes: Sequence[Fix], digests: Mapping[str, str]) -> None:
    """Keep the fixes of some tests, which are for sources with these digests.

    Raises RecordingError when a folder is a link, or can't be made.
    """
    written = [[(one.file, one.edits) for one in fix.candidates] for fix in fixes]
    known = {"tests": sorted(tests), "digests": dict(digests), "fixes": written}
    folder = make_recording_folder(os.path.realpath(workspace), FOLDER)
    unfinished = os.path.join(folder, f"{_NAME}.{os.getpid()}")
    with suppress(OSError):  # it is searched again then
        with open(unfinished, "x", encoding="utf-8") as stream:
            json.dump(known, stream)
        os.replace(unfinished, os.path.join(folder, _NAME))


def kept(workspace: Path, tests: Collection[str]) -> list[tuple[KeptEdits, ...]]:
    """The fixes that are kept for these tests; none if a source is another one by now."""
    boundary = Boundary(workspace)
    path = boundary.real(f".suspectra/{FOLDER}/{_NAME}")
    try:
        if path is None or os.stat(path).st_size > _MAX_BYTES:
            return []
        found = json.loads(Path(path).read_bytes())
        if found["tests"] != sorted(tests):
            return []
        read = SourceReader(workspace)
        for file, digest in found["digests"].items():
            if hashlib.sha256(read(file) or b"").hexdigest() != digest:
                return []
        fixes = [tuple(_edits(*one) for one in fix) for fix in found["fixes"]]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # it may come from others
        return []
    known = all(one.file in found["digests"] for fix in fixes for one in fix)
    return fixes if known else []


def _edits(file: str, edits: Sequence[Sequence[object]]) -> KeptEdits:
    """What was written of one file.

    Raises ValueError for anything else.
    """
    made = []
    for written in edits:
        line, column, end_line, end_column, text, whole = written
        if not (isinstance(line, int) and isinstance(column, int) and isinstance(text, str)):
            raise ValueError(f"{file}: these are not edits")
        if not (isinstance(end_line, int) and isinstance(end_column, int)):
            raise ValueError(f"{file}: these are not edits")
        made.append(Edit(line, column, end_line, end_column, text, bool(whole)))
    return KeptEdits(file, tuple(made))
