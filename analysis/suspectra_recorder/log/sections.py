"""Sections of logs, for copying: read from several logs, and written into one.

Merging and compaction of recordings both copy sections. They differ only in which tests they keep.

A merged log keeps its runs apart, though each source is in it once: it still says which versions each run loaded.
Otherwise questions about what runs at import would find old versions for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from suspectra_recorder.errors import Problem
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, struct
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.frames import MAGIC, FrameKind, frame, split_json, with_json
from suspectra_recorder.log.history import EndedTest, WholeFiles, first_failures, from_newest_runs, last_passes
from suspectra_recorder.log.reader import LoggedRun, LogReader, RecordedTest, Shared, Source

__builtins__ = library_references.builtins


@dataclass
class LogSection:
    """The records of one process of one run."""

    run: LoggedRun  # the name of the run and when it began
    # including damaged ones, since rows refer to sources by their position in the section
    sources: list[bytes] = field(default_factory=list)
    outside: list[bytes] = field(default_factory=list)  # what ran outside of any test
    shared: list[Shared] = field(default_factory=list)  # what tests share, and what first imports ran
    tests: list[RecordedTest] = field(default_factory=list)  # the tests and their rows
    problems: list[Problem] = field(default_factory=list)  # the problems that the recorder reported
    errors: list[CollectionError] = field(default_factory=list)  # what could not be collected
    collections: list[WholeFiles] = field(default_factory=list)  # the files that were collected as a whole
    digests: dict[str, str] = field(default_factory=dict)  # by the path of each source that has probes
    plan: int = 0  # how many tests were about to run
    ended: bool = False  # whether the run ended by itself
    # the last passes of tests that do not pass now, which are not among `tests`
    # last passes, and first failures of tests that never passed
    passes: list[RecordedTest] = field(default_factory=list)


class SectionReader(LogReader):
    """Collects the sections of one log."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[LogSection] = []  # in the order of the log

    def on_run(self, run: LoggedRun) -> None:
        """Begin a section."""
        self.sections.append(LogSection(run))

    def on_source(self, source: Source) -> None:
        """Add the source, and its digest if it has probes."""
        section = self.sections[-1]
        if source.traced:
            section.digests[source.path] = source.digest
        section.sources.append(source.payload)

    def on_lost_source(self, payload: bytes) -> None:
        """Add the damaged source, so that the later ones keep their positions."""
        self.sections[-1].sources.append(payload)

    def on_test(self, test: RecordedTest) -> None:
        """Add the test."""
        self.sections[-1].tests.append(test)

    def on_outside(self, rows: bytes) -> None:
        """Add the rows."""
        self.sections[-1].outside.append(rows)

    def on_shared(self, shared: Shared) -> None:
        """Add the shared rows."""
        self.sections[-1].shared.append(shared)

    def on_collection(self, collection: WholeFiles) -> None:
        """Add the collected files."""
        self.sections[-1].collections.append(collection)

    def on_problem(self, problem: Problem) -> None:
        """Add the problem."""
        self.sections[-1].problems.append(problem)

    def on_collection_error(self, error: CollectionError) -> None:
        """Add the collection error."""
        self.sections[-1].errors.append(error)

    def on_plan(self, tests: int) -> None:
        """Note it."""
        self.sections[-1].plan = tests

    def on_end(self) -> None:
        """Note it."""
        self.sections[-1].ended = True


def part_passes(sections: Iterable[LogSection], live: Mapping[str, int]) -> None:
    """Put last passes, and first failures of tests that never passed, apart from the other tests of their sections."""
    sections = list(sections)
    ended = [
        EndedTest(test.name, test.time, test.passed, section.run.name, test.failed)
        for section in sections
        for test in (*section.tests, *section.passes)
    ]
    times = last_passes(ended, live)
    times |= {first.name: first.time for first in from_newest_runs(first_failures(ended, live))}
    for section in sections:
        section.passes = [t for t in (*section.passes, *section.tests) if times.get(t.name) == t.time]
        section.tests = [t for t in section.tests if times.get(t.name) != t.time]


def _version(payload: bytes) -> bytes:
    """What says which version a source is: another checkout of it was only written at another time."""
    try:
        head, source_map = split_json(payload)
    except ValueError:
        return payload  # damaged
    return with_json({name: value for name, value in head.items() if name != "modified"}, source_map)


def log_of(sections: Iterable[LogSection]) -> Iterator[bytes]:
    """Write sections into one log. Equal sources are written once, and shared rows only if a test of the section uses
    them.
    """
    yield MAGIC
    numbers: dict[bytes, int] = {}
    for section in sections:
        yield frame(FrameKind.RUN, json.dumps(section.run.head).encode())
        yield from (frame(FrameKind.SCOPE, collection.payload()) for collection in section.collections)
        for payload in section.sources:
            version = _version(payload)
            if version in numbers:
                yield frame(FrameKind.SAME, struct.pack("<I", numbers[version]))
            else:
                numbers[version] = len(numbers)
                yield frame(FrameKind.FILE, payload)
        used = {"", *(name for test in section.tests for name in _shares(test))}  # first imports have no name
        yield from (frame(FrameKind.SHARED, shared.payload) for shared in section.shared if shared.name in used)
        yield from (frame(FrameKind.TEST, test.payload) for test in (*section.passes, *section.tests))
        yield from (frame(FrameKind.OUTSIDE, rows) for rows in section.outside)
        yield from (frame(FrameKind.PROBLEM, json.dumps(problem.as_dict()).encode()) for problem in section.problems)
        yield from (frame(FrameKind.ERROR, json.dumps(error.as_dict()).encode()) for error in section.errors)
        if section.plan:
            yield frame(FrameKind.PLAN, json.dumps({"tests": section.plan}).encode())
        if section.ended:
            yield frame(FrameKind.END, json.dumps({"ended": True}).encode())


def _shares(test: RecordedTest) -> tuple[str, ...]:
    try:
        return test.shares
    except TypeError:  # damaged; the ranking reports this
        return ()
