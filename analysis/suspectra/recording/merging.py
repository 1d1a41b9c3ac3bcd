"""Combining recordings that were made apart: the shards of one run, and runs of other days.

Recordings name files relative to their workspace, so it does not matter on which machine they were made. All runs
are kept side by side in one log, with those of their tests that no newer run has replaced.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suspectra.errors import EvidenceError, Problem, UsageError
from suspectra_recorder.complete_file import complete_file
from suspectra_recorder.folders import refuse_links
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.frames import (
    DAMAGE,
    MAGIC,
    SUFFIX,
    FrameKind,
    LogDamage,
    frame,
    frames,
    held,
    read_json,
    split_json,
)
from suspectra_recorder.log.history import WholeFiles, newest, newest_errors

_BELOW = Path(".suspectra", "recording")
_C_LOG = "tests.log"  # what tells a recording of C and C++ tests
_MAX_SIZE = 1 << 30
_AGAIN = "run these tests again, or merge what was read"


@dataclass(frozen=True)
class Merged:
    """What a merge did.

    Parameters
    ----------
    folder : Path
        Of the merged recording.
    tests, replaced : int
        Tests of the merged recording, and records that a newer run of the same test replaced.
    runs : int
        Sections of the inputs that were kept: one for each process that ran tests.
    problems : tuple of Problem
        What could not be read.
    """

    folder: Path
    tests: int
    replaced: int
    runs: int
    problems: tuple[Problem, ...]


@dataclass
class _Run:
    """One process's run: frames as they are, and name and time of each test."""

    head: dict[str, Any]
    order: int  # of the input it is from
    files: dict[str, str] = field(default_factory=dict)  # digest by path
    frames: list[tuple[FrameKind, bytes]] = field(default_factory=list)
    tests: list[tuple[str, int, bytes]] = field(default_factory=list)
    errors: list[CollectionError] = field(default_factory=list)

    @property
    def started(self) -> int:
        return int(self.head["started"])


def merge(out: Path, inputs: Sequence[Path]) -> Merged:
    """Combine recordings into one.

    Of each test its newest record counts. A test that an input's own later runs no longer found is left out; one that
    only an older input knows stays, as the newer ones may be shards that never had it.

    Parameters
    ----------
    out : Path
        Folder of the merged recording; empty, new, or one of the inputs.
    inputs : sequence of Path
        Folders of recordings, or of workspaces that hold one.

    Returns
    -------
    Merged
        What it did.

    Raises
    ------
    UsageError, EvidenceError
        When there is nothing to merge, or `out` holds something else.
    """
    folders = list(dict.fromkeys(map(_recording_in, inputs)))
    refuse_links(str(out))
    old = _logs(out) if out.is_dir() else []
    if old and out.resolve() not in folders:
        cure = "name a new folder, or name this one among the inputs too"
        raise UsageError(Problem(str(out), "", "it holds another recording already", cure))
    problems: list[Problem] = []
    runs: list[_Run] = []
    collections: list[WholeFiles] = []
    for order, folder in enumerate(folders):
        runs += _read(folder, order, problems, collections)
    live = newest(((name, at) for run in _by_age(runs) for name, at, _ in run.tests), ())
    everything = sum(len(run.tests) for run in runs)
    seen: set[str] = set()
    for run in reversed(_by_age(runs)):  # where times are equal the newest run has it
        counting = [test for test in run.tests if live.get(test[0]) == test[1] and test[0] not in seen]
        run.tests = list({name: (name, at, payload) for name, at, payload in counting}.values())
        seen.update(name for name, _, _ in run.tests)
    errors = set(newest_errors(((run.head["run"], error) for run in runs for error in run.errors), collections))
    for run in runs:
        run.errors = [error for error in run.errors if error in errors]
    latest = max(run.started for run in runs)
    runs = [run for run in _by_age(runs) if run.tests or run.errors or run.started == latest]
    problems += _versions(runs)
    _write(out, runs, old)
    return Merged(out, len(live), everything - len(live), len(runs), tuple(problems))


def _by_age(runs: Iterable[_Run]) -> list[_Run]:
    return sorted(runs, key=lambda run: (run.started, run.order))


def _recording_in(path: Path) -> Path:
    for folder in (path, path / _BELOW):
        if (folder / _C_LOG).is_file():
            cause = "it is a recording of C and C++ tests, which can't be merged"
            raise UsageError(Problem(str(folder), "", cause, "run the suite's shards into one recording"))
        if folder.is_dir() and _logs(folder):
            refuse_links(str(folder))
            return folder.resolve()
    raise EvidenceError(Problem(str(path), "", "there is no recording in it", "name the folder of a recording"))


def _logs(folder: Path) -> list[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        cause = f"it can't be read: {error.strerror or error}"
        raise EvidenceError(Problem(str(folder), "", cause, "check the folder's permissions")) from None
    return [Path(e.path) for e in entries if e.name.endswith(SUFFIX) and e.is_file(follow_symlinks=False)]


def _read(folder: Path, order: int, problems: list[Problem], everything: list[WholeFiles]) -> list[_Run]:
    """The runs of one recording, without the tests that its own later runs no longer found; adds its collections."""
    runs: list[_Run] = []
    collections: list[WholeFiles] = []
    for path in _logs(folder):
        if held(path):
            cure = "wait until they have ended, then merge"
            raise UsageError(Problem(str(path), "", "tests are still being recorded into it", cure))
        try:
            if path.stat().st_size > _MAX_SIZE:
                raise OSError(0, f"larger than {_MAX_SIZE >> 20} MiB")
            data = path.read_bytes()
        except OSError as error:
            problems.append(Problem(str(path), "", f"can't be read: {error.strerror or error}", _AGAIN))
            continue
        _read_log(data, str(path), order, runs, collections, problems)
    if not runs:
        cause = problems[-1].cause if problems else "nothing was recorded in it"
        raise EvidenceError(Problem(str(folder), "", cause, "leave it out, or record again"))
    live = newest(((name, at) for run in runs for name, at, _ in run.tests), collections)
    for run in runs:
        run.tests = [test for test in run.tests if live.get(test[0]) == test[1]]
    everything += collections
    return runs


def _read_log(
    data: bytes, name: str, order: int, runs: list[_Run], collections: list[WholeFiles], problems: list[Problem]
) -> None:
    run: _Run | None = None
    try:
        for kind, payload, end in frames(data):
            try:
                if kind == FrameKind.RUN:
                    run = _Run(read_json(payload), order)
                    run.head["run"], run.head["started"] = str(run.head["run"]), int(run.head["started"])
                    runs.append(run)
                elif run is None:
                    raise ValueError("no run before it")
                else:
                    _add(run, FrameKind(kind), payload, collections)
            except DAMAGE as error:
                cause = f"does not hold what it should ({type(error).__name__}: {error})"
                problems.append(Problem(name, f"frame that ends at byte {end}", cause, _AGAIN))
    except LogDamage as damage:
        problems.append(Problem(name, f"byte {damage.offset}", f"{damage.cause}; all before it was read", _AGAIN))


def _add(run: _Run, kind: FrameKind, payload: bytes, collections: list[WholeFiles]) -> None:
    if kind == FrameKind.TEST:
        head, _ = split_json(payload)
        run.tests.append((str(head["name"]), int(head["time"]), payload))
    elif kind == FrameKind.SCOPE:
        collections.append(WholeFiles.from_payload(payload, run.head["run"]))
    elif kind == FrameKind.ERROR:
        run.errors.append(CollectionError.from_dict(read_json(payload)))
    else:
        run.frames.append((kind, payload))  # damaged or not: rows number the files by their order
        if kind == FrameKind.FILE:
            head, _ = split_json(payload)
            if not head.get("traced", True):
                return
            run.files[str(head["path"])] = str(head["digest"])


def _versions(runs: Iterable[_Run]) -> list[Problem]:
    """The files of which the merged runs executed different versions."""
    versions: dict[str, dict[str, None]] = {}
    for run in runs:
        for path, digest in run.files.items():
            versions.setdefault(path, {})[digest] = None
    return [
        Problem(
            path,
            "",
            f"the recordings hold {len(digests)} versions of it; lines are those of the newest run, and on lines that"
            " changed nothing is known of the tests that ran another",
            "merge recordings of one state of the sources",
        )
        for path, digests in sorted(versions.items())
        if len(digests) > 1
    ]


def _write(out: Path, runs: Sequence[_Run], old: Sequence[Path]) -> None:
    """One log, complete under its name before any other goes."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with complete_file(out / f"{time.time_ns():020d}-{os.getpid()}-merged{SUFFIX}") as stream:
            stream.write(MAGIC)
            for run in runs:
                stream.write(frame(FrameKind.RUN, json.dumps(run.head).encode()))
                for kind, payload in run.frames:
                    stream.write(frame(kind, payload))
                for _, _, payload in run.tests:
                    stream.write(frame(FrameKind.TEST, payload))
                for error in run.errors:
                    stream.write(frame(FrameKind.ERROR, json.dumps(error.as_dict()).encode()))
        for path in old:
            path.unlink(missing_ok=True)
    except OSError as error:
        cause = f"it can't be written: {error.strerror or error}"
        raise UsageError(Problem(str(out), "", cause, "name a folder that can be written to")) from None
