"""Merging recordings: of the shards of one run, or of several runs.

Recordings name files relative to their workspace, so it does not matter on which machine they were made. All runs
are kept side by side in one log, with those of their tests that no newer run has replaced.

The runs share sources, but the log still says which version each of them loaded: otherwise questions about what runs at
import would find old versions for ever.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from suspectra.base.errors import EvidenceError, Problem, UsageError
from suspectra.evidence.opening import read_evidence
from suspectra.evidence.sources import reason
from suspectra_recorder.complete_file import complete_file
from suspectra_recorder.folders import refuse_links
from suspectra_recorder.log.frames import SUFFIX, LogDamage
from suspectra_recorder.log.history import newest, newest_errors
from suspectra_recorder.log.locks import is_locked
from suspectra_recorder.log.sections import LogSection, SectionReader, log_of, part_passes

_BELOW = Path(".suspectra", "recording")
_C_LOG = "tests.log"  # what tells a recording of C and C++ tests
_AGAIN = "run these tests again, or merge what was read"


@dataclass(frozen=True)
class Merged:
    """What a merge did."""

    folder: Path  # of the merged recording
    # tests of the merged recording, and records that a newer run of the same test replaced
    tests: int
    replaced: int
    runs: int  # sections of the inputs that were kept: one for each process that ran tests
    problems: tuple[Problem, ...]  # what could not be read


class _Log(SectionReader):
    """A log of an input, and what could not be read of it."""

    def __init__(self, name: str):
        super().__init__()
        self.name = name
        self.problems: list[Problem] = []

    def on_unknown(self, kind: int) -> None:
        raise ValueError(f"a record of kind {kind}, which this version does not know")

    def on_damage(self, end: int, error: Exception) -> None:
        cause = f"does not contain what it should ({type(error).__name__}: {error})"
        self.problems.append(Problem(self.name, f"frame that ends at byte {end}", cause, _AGAIN))


def merge(out: Path, inputs: Sequence[Path]) -> Merged:
    """Combine recordings into one.

    Of each test its newest record counts, and its last pass is kept where it does not pass now. A test that an input's
    own later runs no longer found is left out; one that only an older input knows stays, as the newer ones may be
    shards that never had it.

    Raises UsageError, EvidenceError when there is nothing to merge, or `out` contains something else.
    """
    folders = list(dict.fromkeys(map(_recording_in, inputs)))
    refuse_links(str(out))
    old = _logs(out) if out.is_dir() else []
    if old and out.resolve() not in folders:
        cure = "name a new folder, or name this one among the inputs too"
        raise UsageError(Problem(str(out), "", "it contains another recording already", cure))
    problems: list[Problem] = []
    sections = [section for folder in folders for section in _read(folder, problems)]
    sections.sort(key=lambda section: section.run.started)  # those of later inputs behind others of the same time
    collections = [collection for section in sections for collection in section.collections]
    live = newest(((test.name, test.time) for section in sections for test in section.tests), ())
    everything = sum(len(section.tests) for section in sections)
    part_passes(sections, live)
    seen: set[str] = set()
    for section in reversed(sections):  # where times are equal the newest run has it
        counting = [test for test in section.tests if live.get(test.name) == test.time and test.name not in seen]
        section.tests = list({test.name: test for test in counting}.values())
        seen.update(test.name for test in section.tests)
    errors = set(newest_errors(((s.run.name, error) for s in sections for error in s.errors), collections))
    for section in sections:
        section.errors = [error for error in section.errors if error in errors]
        section.collections = []  # an input that never had a test says nothing of it
    latest = sections[-1].run.started
    sections = [s for s in sections if s.tests or s.passes or s.errors or s.run.started == latest]
    problems += _versions(section for section in sections if section.tests or not section.passes)
    _write(out, sections, old)
    return Merged(out, len(live), everything - len(live), len(sections), tuple(problems))


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


def _read(folder: Path, problems: list[Problem]) -> list[LogSection]:
    """The sections of one recording, without the tests that its later runs no longer found."""
    sections: list[LogSection] = []
    for path in _logs(folder):
        if is_locked(path):
            cure = "wait until they have ended, then merge"
            raise UsageError(Problem(str(path), "", "tests are still being recorded into it", cure))
        try:
            data = read_evidence(path, follow=False)
        except (OSError, ValueError) as error:
            problems.append(Problem(str(path), "", f"it can't be read: {reason(error)}", _AGAIN))
            continue
        log = _Log(str(path))
        try:
            log.read(data)
        except LogDamage as damage:
            place, cause = f"byte {damage.offset}", f"{damage.cause}; all before it was read"
            log.problems.append(Problem(log.name, place, cause, _AGAIN))
        sections += log.sections
        problems += log.problems
    if not sections:
        cause = problems[-1].cause if problems else "nothing was recorded in it"
        raise EvidenceError(Problem(str(folder), "", cause, "leave it out, or record again"))
    collections = [collection for section in sections for collection in section.collections]
    live = newest(((test.name, test.time) for section in sections for test in section.tests), collections)
    part_passes(sections, live)
    for section in sections:
        section.tests = [test for test in section.tests if live.get(test.name) == test.time]
    return sections


def _versions(sections: Iterable[LogSection]) -> list[Problem]:
    """The files of which the merged runs executed different versions."""
    versions: dict[str, dict[str, None]] = {}
    for section in sections:
        for path, digest in section.digests.items():
            versions.setdefault(path, {})[digest] = None
    return [
        Problem(
            path,
            "",
            f"the recordings contain {len(digests)} versions of it; lines are those of the newest run, and on lines"
            " that changed nothing is known of the tests that ran another",
            "merge recordings of one state of the sources",
        )
        for path, digests in sorted(versions.items())
        if len(digests) > 1
    ]


def _write(out: Path, sections: Sequence[LogSection], old: Sequence[Path]) -> None:
    """One log, complete under its name before any other goes."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with complete_file(out / f"{time.time_ns():020d}-{os.getpid()}-merged{SUFFIX}") as stream:
            stream.writelines(log_of(sections))
        for path in old:
            path.unlink(missing_ok=True)
    except OSError as error:
        cause = f"it can't be written: {error.strerror or error}"
        raise UsageError(Problem(str(out), "", cause, "name a folder that can be written to")) from None
