"""Combining recordings that were made apart: the shards of one run, and runs of other days.

Recordings name files relative to their workspace, so it does not matter on which machine they were made. All runs
are kept side by side in one log, with those of their tests that no newer run has replaced.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from suspectra.errors import EvidenceError, Problem, UsageError
from suspectra_recorder.complete_file import complete_file
from suspectra_recorder.folders import refuse_links
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.frames import MAGIC, SUFFIX, FrameKind, LogDamage, frame, is_locked
from suspectra_recorder.log.history import WholeFiles, newest, newest_errors
from suspectra_recorder.log.reader import LogReader, RecordedTest, Run, Shared, Source

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


class _Test(NamedTuple):
    name: str
    time: int
    payload: bytes


@dataclass
class _Section:
    """One process's run: records as they are, and name and time of each test."""

    run: Run
    order: int  # of the input it is from
    digests: dict[str, str] = field(default_factory=dict)  # by path
    sources: list[bytes] = field(default_factory=list)  # damaged or not: rows number them by their order
    outside: list[bytes] = field(default_factory=list)
    shared: list[bytes] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    tests: list[_Test] = field(default_factory=list)
    errors: list[CollectionError] = field(default_factory=list)


class _Log(LogReader):
    """Takes in the records of one log."""

    def __init__(self, name: str, order: int):
        super().__init__()
        self.name = name
        self.order = order
        self.sections: list[_Section] = []
        self.collections: list[WholeFiles] = []
        self.problems: list[Problem] = []  # of reading it

    def on_run(self, run: Run) -> None:
        self.sections.append(_Section(run, self.order))

    def on_source(self, source: Source) -> None:
        section = self.sections[-1]
        if source.traced:
            section.digests[source.path] = source.digest
        section.sources.append(source.payload)

    def on_lost_source(self, payload: bytes) -> None:
        self.sections[-1].sources.append(payload)

    def on_test(self, test: RecordedTest) -> None:
        self.sections[-1].tests.append(_Test(test.name, test.time, test.payload))

    def on_outside(self, rows: bytes) -> None:
        self.sections[-1].outside.append(rows)

    def on_shared(self, shared: Shared) -> None:
        self.sections[-1].shared.append(shared.payload)

    def on_collection(self, collection: WholeFiles) -> None:
        self.collections.append(collection)

    def on_problem(self, problem: Problem) -> None:
        self.sections[-1].problems.append(problem)

    def on_collection_error(self, error: CollectionError) -> None:
        self.sections[-1].errors.append(error)

    def on_unknown(self, kind: int) -> None:
        raise ValueError(f"a record of kind {kind}, which this version does not know")

    def on_damage(self, end: int, error: Exception) -> None:
        cause = f"does not hold what it should ({type(error).__name__}: {error})"
        self.problems.append(Problem(self.name, f"frame that ends at byte {end}", cause, _AGAIN))


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
        The counts of what was merged, and problems.

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
    sections: list[_Section] = []
    collections: list[WholeFiles] = []
    for order, folder in enumerate(folders):
        sections += _read(folder, order, problems, collections)
    live = newest(((test.name, test.time) for section in _by_age(sections) for test in section.tests), ())
    everything = sum(len(section.tests) for section in sections)
    seen: set[str] = set()
    for section in reversed(_by_age(sections)):  # where times are equal the newest run has it
        counting = [test for test in section.tests if live.get(test.name) == test.time and test.name not in seen]
        section.tests = list({test.name: test for test in counting}.values())
        seen.update(test.name for test in section.tests)
    met = ((section.run.name, error) for section in sections for error in section.errors)
    errors = set(newest_errors(met, collections))
    for section in sections:
        section.errors = [error for error in section.errors if error in errors]
    latest = max(section.run.started for section in sections)
    sections = [s for s in _by_age(sections) if s.tests or s.errors or s.run.started == latest]
    problems += _versions(sections)
    _write(out, sections, old)
    return Merged(out, len(live), everything - len(live), len(sections), tuple(problems))


def _by_age(sections: Iterable[_Section]) -> list[_Section]:
    return sorted(sections, key=lambda section: (section.run.started, section.order))


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


def _read(folder: Path, order: int, problems: list[Problem], everything: list[WholeFiles]) -> list[_Section]:
    """The sections of one recording, without the tests that its later runs no longer found; adds its collections."""
    sections: list[_Section] = []
    collections: list[WholeFiles] = []
    for path in _logs(folder):
        if is_locked(path):
            cure = "wait until they have ended, then merge"
            raise UsageError(Problem(str(path), "", "tests are still being recorded into it", cure))
        try:
            if path.stat().st_size > _MAX_SIZE:
                raise OSError(0, f"larger than {_MAX_SIZE >> 20} MiB")
            data = path.read_bytes()
        except OSError as error:
            problems.append(Problem(str(path), "", f"can't be read: {error.strerror or error}", _AGAIN))
            continue
        log = _Log(str(path), order)
        try:
            log.read(data)
        except LogDamage as damage:
            place, cause = f"byte {damage.offset}", f"{damage.cause}; all before it was read"
            log.problems.append(Problem(log.name, place, cause, _AGAIN))
        sections += log.sections
        collections += log.collections
        problems += log.problems
    if not sections:
        cause = problems[-1].cause if problems else "nothing was recorded in it"
        raise EvidenceError(Problem(str(folder), "", cause, "leave it out, or record again"))
    live = newest(((test.name, test.time) for section in sections for test in section.tests), collections)
    for section in sections:
        section.tests = [test for test in section.tests if live.get(test.name) == test.time]
    everything += collections
    return sections


def _versions(sections: Iterable[_Section]) -> list[Problem]:
    """The files of which the merged runs executed different versions."""
    versions: dict[str, dict[str, None]] = {}
    for section in sections:
        for path, digest in section.digests.items():
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


def _write(out: Path, sections: Sequence[_Section], old: Sequence[Path]) -> None:
    """One log, complete under its name before any other goes."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with complete_file(out / f"{time.time_ns():020d}-{os.getpid()}-merged{SUFFIX}") as stream:
            stream.write(MAGIC)
            for section in sections:
                stream.writelines(_frames(section))
        for path in old:
            path.unlink(missing_ok=True)
    except OSError as error:
        cause = f"it can't be written: {error.strerror or error}"
        raise UsageError(Problem(str(out), "", cause, "name a folder that can be written to")) from None


def _frames(section: _Section) -> Iterator[bytes]:
    yield frame(FrameKind.RUN, json.dumps(section.run.head).encode())
    copied = {
        FrameKind.FILE: section.sources,
        FrameKind.OUTSIDE: section.outside,
        FrameKind.SHARED: section.shared,
        FrameKind.TEST: [test.payload for test in section.tests],
    }
    for kind, payloads in copied.items():
        yield from (frame(kind, payload) for payload in payloads)
    for problem in section.problems:
        yield frame(FrameKind.PROBLEM, json.dumps(problem.as_dict()).encode())
    for error in section.errors:
        yield frame(FrameKind.ERROR, json.dumps(error.as_dict()).encode())
