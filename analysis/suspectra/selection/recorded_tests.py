"""Reading the tests of a recording, to decide which of them to run again.

Unlike the reader for rankings, this one unpacks only the sources and rows that are needed, so that it is quick with any
number of tests. Damage is not an error: a test that can't be read counts as unknown.
"""

from __future__ import annotations

import os
import struct
import sys
import zlib
from array import array
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from suspectra.evidence.opening import open_evidence
from suspectra_recorder.instrumentation.outline import Outline, numbered
from suspectra_recorder.log.frames import DAMAGE, SUFFIX, LogDamage, split_json
from suspectra_recorder.log.history import WholeFiles, inflate, inflate_head, newest
from suspectra_recorder.log.reader import LoggedRun, LogReader, RecordedTest, Shared, Source

_FAILING = frozenset({"failed", "error"})
_MAX_LOG = 1 << 30
_MAX_MAP = 1 << 27
_MAX_ROWS = 1 << 28
_MAX_CELLS = 1 << 24  # of one source


@dataclass(eq=False)
class RecordedVersion:
    """One version of a source that tests ran."""

    # path relative to the workspace, and SHA-256
    path: str
    digest: str
    traced: bool  # whether it had probes; otherwise it contains tests or their fixtures
    cells: int  # the number of cells of its probes
    blob: bytes = field(repr=False)  # the compressed map of its probes

    @cached_property
    def _map(self) -> tuple[dict[str, Any], bytes]:
        return split_json(inflate(self.blob, _MAX_MAP))

    @cached_property
    def outline(self) -> Outline | None:
        """Its outline, None if it is not known."""
        try:
            return Outline.from_json(self._map[0].get("outline"))
        except DAMAGE:
            return None

    @cached_property
    def units(self) -> frozenset[str]:
        """The names of its functions."""
        return frozenset(f.name for f in self.outline.functions) if self.outline else frozenset()

    @property
    def tests(self) -> frozenset[str]:
        """The names of those that are only tests."""
        return frozenset(self.outline.tests) if self.outline else frozenset()

    def masks(self) -> dict[tuple[str, int], int]:
        """Find the cells of each function.

        The cells as bits, as in a row, by the name of the function and its index among functions of that name.

        Raises ValueError, struct.error, KeyError, TypeError when the map is damaged.
        """
        head, body = self._map
        keys = numbered(str(name) for name, _, _ in head["functions"])
        statements, probes = int(head["statements"]), int(head["probes"])
        columns = array("i", body)
        if sys.byteorder == "big":
            columns.byteswap()
        if min(statements, probes) < 0 or len(columns) != 4 * statements + 5 * probes:
            raise ValueError("sizes that do not fit")
        cell, function = (columns[4 * statements + i * probes :][:probes] for i in (1, 4))
        masks = dict.fromkeys(keys, 0)
        for position, number in zip(cell, function, strict=True):
            if number >= 0:
                masks[keys[number]] |= 1 << (8 * self.size - 1 - position)
        return masks

    @property
    def size(self) -> int:
        """The size of a row's bits in bytes."""
        return -(-self.cells // 8)


@dataclass(eq=False)
class RecordedSection:
    """What one process recorded in one run."""

    python: str  # the version of Python
    started: int = 0  # time of the start, in nanoseconds since the epoch
    # the versions of its sources, in order; None for a damaged one
    versions: list[RecordedVersion | None] = field(default_factory=list)
    outside: list[PackedRows] = field(default_factory=list)  # what ran outside tests


@dataclass(frozen=True, eq=False)
class PackedRows:
    """What was executed in a part of a run."""

    section: RecordedSection  # the run
    packed: bytes = field(repr=False)  # the rows as in the log

    def touched(self) -> tuple[int, ...]:
        """List the sources that were executed, or that the rows depend on.

        Their indices, in the order of packing.

        Raises ValueError, struct.error when the rows are damaged.
        """
        head = inflate_head(self.packed, 4 + 4 * len(self.section.versions))
        (count,) = struct.unpack_from("<I", head)
        numbers = struct.unpack_from(f"<{count}I", head, 4)
        if any(number >= len(self.section.versions) for number in numbers):
            raise ValueError("sources that are not there")
        return numbers

    def bits(self) -> Iterator[tuple[RecordedVersion, int]]:
        """Unpack the cells of each touched source.

        One bit for each of its cells, set where the cell was executed.

        Raises ValueError, struct.error when the rows are damaged.
        """
        for number, cells in self.numbered():
            version = self.section.versions[number]
            assert version is not None
            yield version, cells

    def numbered(self) -> Iterator[tuple[int, int]]:
        """Unpack the same, by the number of each source."""
        numbers = self.touched()
        data = inflate(self.packed, _MAX_ROWS)
        start = 4 + 4 * len(numbers)
        for number in numbers:
            version = self.section.versions[number]
            if version is None:
                raise ValueError("a source whose map is damaged")
            yield number, int.from_bytes(data[start : start + version.size], "big")
            start += version.size


@dataclass(frozen=True, eq=False)
class Imported:
    """What ran while modules were imported."""

    rows: PackedRows  # what was executed
    module: str = ""  # the path of the module; empty if there were several, or one outside the workspace


@dataclass(frozen=True, eq=False)
class KnownTest:
    """A test of the recording."""

    name: str  # its id
    failing: bool  # whether it failed in its last run
    time: int  # time of its end, in nanoseconds since the epoch
    rows: PackedRows  # what it executed
    # names of shared rows: shared fixtures that it uses, and code that explained its failed assertions
    shares: tuple[str, ...] = ()
    seconds: float = 0.0  # how long it took


@dataclass
class RecordedTests:
    """The tests of a recording."""

    tests: dict[str, KnownTest] = field(default_factory=dict)  # by name
    # shared rows by name: what tests depend on but did not execute themselves
    shared: dict[str, list[PackedRows]] = field(default_factory=dict)
    imported: list[Imported] = field(default_factory=list)  # what ran during imports, in the order of the runs
    command: tuple[str, ...] = ("python", "-m", "pytest")  # how the tests of the newest run are run again
    folder: str = ""  # from where, relative to the workspace; empty for the workspace itself
    interpreter: str = ""  # the path of the Python that ran them, there; empty if it is not known

    def versions(self) -> list[RecordedVersion]:
        """List all sources that the tests ran, each version once.

        Sources of the newest run come last.
        """
        sections = dict.fromkeys(test.rows.section for test in self.tests.values())
        found = {(v.path, v.digest, v.traced): v for s in sections for v in s.versions if v is not None}
        return list(found.values())


def recorded_tests(folder: str | os.PathLike[str]) -> RecordedTests:
    """Read the logs of a recording.

    Without damaged parts; empty if there are no logs.
    """
    tests: list[KnownTest] = []
    collections: list[WholeFiles] = []
    recorded = RecordedTests()
    versions: dict[tuple[str, str, bool, int], RecordedVersion] = {}
    for data in _logs(folder):
        with suppress(LogDamage):
            _Log(recorded, tests, collections, versions).read(data)
    times = newest(((t.name, t.time) for t in tests), collections)
    recorded.tests = {t.name: t for t in sorted(tests, key=lambda t: t.time) if times.get(t.name) == t.time}
    return recorded


def _logs(folder: str | os.PathLike[str]) -> Iterator[bytes]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(SUFFIX))
    except OSError:
        return
    for name in names:
        try:
            with open_evidence(os.path.join(folder, name), limit=sys.maxsize, follow=False) as stream:
                data = stream.read(_MAX_LOG)
        except (OSError, ValueError):
            continue
        yield data


class _Log(LogReader):
    """Collects the records of one log, without damaged ones."""

    def __init__(
        self,
        recorded: RecordedTests,
        tests: list[KnownTest],
        collections: list[WholeFiles],
        versions: dict[tuple[str, str, bool, int], RecordedVersion],
    ):
        super().__init__()
        self.recorded = recorded
        self.tests = tests
        self.collections = collections
        self.versions = versions
        self.section = RecordedSection("")

    def on_run(self, run: LoggedRun) -> None:
        self.section = RecordedSection(run.python, run.started)
        self.recorded.command, self.recorded.folder = run.command, run.folder  # the newest run comes last
        self.recorded.interpreter = str(run.head.get("executable") or "")

    def on_source(self, source: Source) -> None:
        self.section.versions.append(self._version(source))

    def on_lost_source(self, payload: bytes) -> None:
        self.section.versions.append(None)

    def on_test(self, test: RecordedTest) -> None:
        rows = PackedRows(self.section, test.rows)
        seconds = float(test.head.get("seconds", 0.0))
        self.tests.append(KnownTest(test.name, test.verdict in _FAILING, test.time, rows, test.shares, seconds))

    def on_shared(self, shared: Shared) -> None:
        rows = PackedRows(self.section, shared.rows)
        if shared.name:
            self.recorded.shared.setdefault(shared.name, []).append(rows)
        else:
            self.recorded.imported.append(Imported(rows, shared.module))

    def on_outside(self, rows: bytes) -> None:
        self.recorded.imported.append(Imported(PackedRows(self.section, rows)))

    def on_collection(self, collection: WholeFiles) -> None:
        self.collections.append(collection)

    def _version(self, source: Source) -> RecordedVersion:
        key = (source.path, source.digest, source.traced, zlib.crc32(source.map))
        if key not in self.versions:
            if not 0 <= source.cells <= _MAX_CELLS:
                raise ValueError("more cells than there can be")
            self.versions[key] = RecordedVersion(*key[:3], source.cells, source.map)
        return self.versions[key]
