"""Reading the tests of a recording, to decide which of them to run again.

Unlike the reader for rankings, this one unpacks only the sources and rows that are needed, so that it is quick with any
number of tests. Damage is not an error: a test that can't be read counts as unknown.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
import zlib
from array import array
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from suspectra_recorder.instrumentation.outline import Outline, numbered
from suspectra_recorder.log.frames import DAMAGE, SUFFIX, LogDamage, split_json
from suspectra_recorder.log.history import WholeFiles, inflate, inflate_head, newest
from suspectra_recorder.log.reader import LogReader, RecordedTest, Run, Shared, Source

_FAILING = frozenset({"failed", "error"})
_MAX_LOG = 1 << 30
_MAX_MAP = 1 << 27
_MAX_ROWS = 1 << 28
_MAX_CELLS = 1 << 24  # of one source


@dataclass(eq=False)
class Version:
    r"""One version of a source that tests ran.

    Parameters
    ----------
    path, digest : str
        Path relative to the workspace, and SHA-256.
    traced : bool
        Whether it had probes; otherwise it contains tests or their fixtures.
    cells : int
        The number of cells of its probes.
    blob : bytes
        The compressed map of its probes.

    Examples
    --------
    >>> from suspectra_recorder.instrumentation.rewriting import instrument
    >>> module_map = instrument(b"def total():\n    return 0\n", "cart.py", "cells")[1]
    >>> cart = Version("cart.py", "9f86d081", True, module_map.cells, module_map.to_bytes())
    >>> cart.outline.functions[0].name, cart.units, cart.size
    ('total', frozenset({'total'}), 1)
    >>> {name: f"{mask:08b}" for name, mask in cart.masks().items()}
    {('total', 0): '01000000'}
    """

    path: str
    digest: str
    traced: bool
    cells: int
    blob: bytes = field(repr=False)

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

    def masks(self) -> dict[tuple[str, int], int]:
        """Find the cells of each function.

        Returns
        -------
        dict of (str, int) to int
            The cells as bits, as in a row, by the name of the function and its index among functions of that name.

        Raises
        ------
        ValueError, struct.error, KeyError, TypeError
            When the map is damaged.
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
class Section:
    """What one process recorded in one run.

    Parameters
    ----------
    python : str
        The version of Python.
    started : int
        Time of the start, in nanoseconds since the epoch.
    versions : list of Version or None
        The versions of its sources, in order; None for a damaged one.
    outside : list of Rows
        What ran outside tests.

    Examples
    --------
    >>> section = Section("3.12.3", versions=[None])
    >>> section.python, section.started, section.outside
    ('3.12.3', 0, [])
    """

    python: str
    started: int = 0
    versions: list[Version | None] = field(default_factory=list)
    outside: list[Rows] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Rows:
    r"""What was executed in a part of a run.

    Parameters
    ----------
    section : Section
        The run.
    packed : bytes
        The rows as in the log.

    Examples
    --------
    >>> from suspectra_recorder.log.frames import pack_rows
    >>> from suspectra_recorder.instrumentation.rewriting import instrument
    >>> module_map = instrument(b"def total():\n    return 0\n", "cart.py", "cells")[1]
    >>> cart = Version("cart.py", "9f86d081", True, module_map.cells, module_map.to_bytes())
    >>> rows = Rows(Section("3.12.3", versions=[None, cart]), pack_rows([1], bytes([0b11000000])))
    >>> rows.touched(), [(version.path, f"{cells:08b}") for version, cells in rows.bits()]
    ((1,), [('cart.py', '11000000')])
    """

    section: Section
    packed: bytes = field(repr=False)

    def touched(self) -> tuple[int, ...]:
        """List the sources that were executed, or that the rows depend on.

        Returns
        -------
        tuple of int
            Their indices, in the order of packing.

        Raises
        ------
        ValueError, struct.error
            When the rows are damaged.
        """
        head = inflate_head(self.packed, 4 + 4 * len(self.section.versions))
        (count,) = struct.unpack_from("<I", head)
        numbers = struct.unpack_from(f"<{count}I", head, 4)
        if any(number >= len(self.section.versions) for number in numbers):
            raise ValueError("sources that are not there")
        return numbers

    def bits(self) -> Iterator[tuple[Version, int]]:
        """Unpack the cells of each touched source.

        Yields
        ------
        version : Version
            A touched source.
        cells : int
            One bit for each of its cells, set where the cell was executed.

        Raises
        ------
        ValueError, struct.error
            When the rows are damaged.
        """
        numbers = self.touched()
        data = inflate(self.packed, _MAX_ROWS)
        start = 4 + 4 * len(numbers)
        for number in numbers:
            version = self.section.versions[number]
            if version is None:
                raise ValueError("a source whose map is damaged")
            yield version, int.from_bytes(data[start : start + version.size], "big")
            start += version.size


@dataclass(frozen=True, eq=False)
class Imported:
    """What ran while modules were imported.

    Parameters
    ----------
    rows : Rows
        What was executed.
    module : str
        The path of the module; empty if there were several, or one outside the workspace.

    Examples
    --------
    >>> Imported(Rows(Section("3.12.3"), b""), "cart.py").module
    'cart.py'
    """

    rows: Rows
    module: str = ""


@dataclass(frozen=True, eq=False)
class KnownTest:
    """A test of the recording.

    Parameters
    ----------
    name : str
        Its id.
    failing : bool
        Whether it failed in its last run.
    time : int
        Time of its end, in nanoseconds since the epoch.
    rows : Rows
        What it executed.
    shares : tuple of str
        Names of shared rows: fixtures that earlier tests ran for it, and code that explained its failed assertions.
    seconds : float
        How long it took.

    Examples
    --------
    >>> test = KnownTest("test_sum", True, 2, Rows(Section("3.12.3"), b""))
    >>> test.name, test.failing, test.rows.section.python
    ('test_sum', True, '3.12.3')
    """

    name: str
    failing: bool
    time: int
    rows: Rows
    shares: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass
class RecordedTests:
    r"""The tests of a recording.

    Parameters
    ----------
    tests : dict of str to KnownTest
        By name.
    shared : dict of str to Rows
        Shared rows by name: what tests depend on but did not execute themselves.
    imported : list of Imported
        What ran during imports, in the order of the runs.
    command : tuple of str
        How the tests of the newest run are run again.
    folder : str
        From where, relative to the workspace; empty for the workspace itself.
    interpreter : str
        The path of the Python that ran them, there; empty if it is not known.

    Examples
    --------
    >>> from suspectra_recorder.instrumentation.rewriting import instrument
    >>> module_map = instrument(b"def total():\n    return 0\n", "cart.py", "cells")[1]
    >>> cart = Version("cart.py", "9f86d081", True, module_map.cells, module_map.to_bytes())
    >>> rows = Rows(Section("3.12.3", versions=[cart]), b"")
    >>> recorded = RecordedTests({name: KnownTest(name, False, 2, rows) for name in ("test_sum", "test_tax")})
    >>> [version.path for version in recorded.versions()]
    ['cart.py']
    """

    tests: dict[str, KnownTest] = field(default_factory=dict)
    shared: dict[str, Rows] = field(default_factory=dict)
    imported: list[Imported] = field(default_factory=list)
    command: tuple[str, ...] = ("pytest",)
    folder: str = ""
    interpreter: str = ""

    def versions(self) -> list[Version]:
        """List all sources that the tests ran, each version once.

        Returns
        -------
        list of Version
            Sources of the newest run come last.
        """
        sections = dict.fromkeys(test.rows.section for test in self.tests.values())
        found = {(v.path, v.digest, v.traced): v for s in sections for v in s.versions if v is not None}
        return list(found.values())


def recorded_tests(folder: str | os.PathLike[str]) -> RecordedTests:
    """Read the logs of a recording.

    Parameters
    ----------
    folder : str or os.PathLike[str]
        The folder of the recording.

    Returns
    -------
    RecordedTests
        Without damaged parts; empty if there are no logs.

    Examples
    --------
    >>> from suspectra_recorder.log.frames import MAGIC, FrameKind, frame, with_json
    >>> from suspectra_recorder.record import TestRecord
    >>> run = frame(FrameKind.RUN, b'{"run": "monday", "started": 1, "python": "3.12.3"}')
    >>> test = frame(FrameKind.TEST, with_json(TestRecord("test_sum", "failed").head(2)))
    >>> _ = (folder / "1.log").write_bytes(MAGIC + run + test)
    >>> [(test.name, test.failing, test.rows.section.python) for test in recorded_tests(folder).tests.values()]
    [('test_sum', True, '3.12.3')]
    """
    tests: list[KnownTest] = []
    collections: list[WholeFiles] = []
    recorded = RecordedTests()
    versions: dict[tuple[str, str, bool, int], Version] = {}
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
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    for name in names:
        try:
            with open(os.open(os.path.join(folder, name), flags), "rb") as stream:
                if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                    yield stream.read(_MAX_LOG)
        except OSError:
            continue


class _Log(LogReader):
    """Collects the records of one log, without damaged ones."""

    def __init__(
        self,
        recorded: RecordedTests,
        tests: list[KnownTest],
        collections: list[WholeFiles],
        versions: dict[tuple[str, str, bool, int], Version],
    ):
        super().__init__()
        self.recorded = recorded
        self.tests = tests
        self.collections = collections
        self.versions = versions
        self.section = Section("")

    def on_run(self, run: Run) -> None:
        self.section = Section(run.python, run.started)
        self.recorded.command, self.recorded.folder = run.command, run.folder  # the newest run comes last
        self.recorded.interpreter = str(run.head.get("executable") or "")

    def on_source(self, source: Source) -> None:
        self.section.versions.append(self._version(source))

    def on_lost_source(self, payload: bytes) -> None:
        self.section.versions.append(None)

    def on_test(self, test: RecordedTest) -> None:
        rows = Rows(self.section, test.rows)
        seconds = float(test.head.get("seconds", 0.0))
        self.tests.append(KnownTest(test.name, test.verdict in _FAILING, test.time, rows, test.shares, seconds))

    def on_shared(self, shared: Shared) -> None:
        rows = Rows(self.section, shared.rows)
        if shared.name:
            self.recorded.shared[shared.name] = rows
        else:
            self.recorded.imported.append(Imported(rows, shared.module))

    def on_outside(self, rows: bytes) -> None:
        self.recorded.imported.append(Imported(Rows(self.section, rows)))

    def on_collection(self, collection: WholeFiles) -> None:
        self.collections.append(collection)

    def _version(self, source: Source) -> Version:
        key = (source.path, source.digest, source.traced, zlib.crc32(source.map))
        if key not in self.versions:
            if not 0 <= source.cells <= _MAX_CELLS:
                raise ValueError("more cells than there can be")
            self.versions[key] = Version(*key[:3], source.cells, source.map)
        return self.versions[key]
