"""Makes the recording of a large suite, as the recorder would have left it, without running the suite.

Every module of the project is one template, whose probes are the recorder's own. What a test executes in a module is
what some real call of the template's functions executed. Use is skewed as it is in programs: a core of modules that
nearly every test enters (its statements are the dense columns), and a long tail that few tests do, neighbours
together.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suspectra.base.arrays import Ints
from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.instrumentation.loaded_file import LoadedFile
from suspectra_recorder.instrumentation.outline import Outline
from suspectra_recorder.instrumentation.probes import Kind, ModuleMap
from suspectra_recorder.instrumentation.rewriting import instrument
from suspectra_recorder.log.frames import FrameKind, frame, pack_rows, with_json
from suspectra_recorder.log.writer import LogWriter

FUNCTIONS = 22  # of each module
TESTS_IN_A_FILE = 100
PATTERNS = 512
REMEMBERED = 200  # tests that can be run again as they were

FUNCTION = """\


def work_{number}(value):
    total = value
    for step in range(2):
        total += step
        if total % {odd} == 0:
            total -= 1
        else:
            total += 2
    total = total * 3
    return total
"""
LINES = 2 + 9 * FUNCTIONS  # statements of each module


def source(number: int, version: int = 0) -> bytes:
    """A module; a later version has statements more at its end."""
    body = "".join(FUNCTION.format(number=i, odd=2 + i % 4) for i in range(FUNCTIONS))
    names = ", ".join(f"work_{i}" for i in range(FUNCTIONS))
    more = "".join(f"VERSION = {i}\n" for i in range(version))
    return f'# part {number:07}\nNAME = "part"\n{body}\n\nFUNCTIONS = ({names})\n{more}'.encode()


@dataclass
class Template:
    """The map of the modules' probes, and what calls of their functions set."""

    version: int = 0
    cells: int = 0
    map: bytes = b""
    patterns: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
    lines: Ints = field(default_factory=lambda: np.zeros(0, int))
    times: list[bytes] = field(default_factory=list)  # how often each pattern passes the cells it sets

    @classmethod
    def make(cls, chance: np.random.Generator, version: int = 0) -> Template:
        """Instrument the module, and call it in many ways."""
        tree, module_map = instrument(source(0, version), "part.py", "__cells__")
        size = -(-module_map.cells // 8)
        cells = [0] * size * 8
        space: dict[str, Any] = {"__name__": "part"}
        file = LoadedFile("part.py", "", cells, b"")
        exec(with_cells(compile(tree, "part.py", "exec"), "__cells__", file), space)
        patterns = np.zeros((PATTERNS, size), np.uint8)
        for pattern in patterns:
            cells[:] = [0] * len(cells)
            called = chance.random(FUNCTIONS) < chance.beta(2, 1.5)
            called[chance.integers(FUNCTIONS)] = True
            for function in np.flatnonzero(called).tolist():
                space["FUNCTIONS"][function](int(chance.integers(12)))
            pattern[:] = np.packbits(np.array(cells, bool))
        facts = [p.cell for p in module_map.probes if p.kind == Kind.STATEMENT]
        fired = np.unpackbits(patterns, axis=1)
        times = [chance.integers(1, 10, int(row.sum())).astype("<u8").tobytes() for row in fired]
        return cls(version, size * 8, module_map.to_bytes(), patterns, fired[:, facts].sum(axis=1), times)


class EndedLog:
    """A log that no process keeps open.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path):
        self._path = path

    def write(self, kind: FrameKind, payload: bytes) -> None:
        """Add a frame."""
        with open(self._path, "ab", buffering=0) as file:
            file.write(frame(kind, payload))

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class Project:
    """A workspace with the recording of a suite.

    Parameters
    ----------
    folder : Path
    tests, modules : int
    failing : float
        The share of tests that fail, about.
    counts : bool
        The recorder counted how often each cell was passed.
    """

    folder: Path
    tests: int
    modules: int
    failing: float = 0.01
    seed: int = 1
    counts: bool = False
    hits: int = 0
    remembered: dict[int, tuple[list[int], bytes]] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    verdicts: dict[int, str] = field(default_factory=dict)
    traced: dict[LogWriter | EndedLog, int] = field(
        default_factory=dict
    )  # sources with probes that each log names first

    def make(self, *, sources: bool = True) -> None:
        """Write the sources and the recording."""
        self.chance = np.random.default_rng(self.seed)
        self.template = Template.make(self.chance)
        self.core = max(1, self.modules // 20)
        popular = 1 / np.arange(1, self.modules - self.core + 1) ** 0.8 if self.modules > self.core else np.ones(1)
        self.popular = np.cumsum(popular) / popular.sum()
        # the core is not entered by every test alike
        self.entered = np.linspace(1.0, 0.3, self.core)
        self.clock = time.time_ns() - 10**12
        recording = self.folder / ".suspectra" / "recording"
        recording.mkdir(parents=True)
        (self.folder / "pkg").mkdir()
        (self.folder / "tests").mkdir()
        for number in range(-(-self.tests // TESTS_IN_A_FILE)):
            (self.folder / self.test_file(number)).write_text("")
        if sources:
            for number in range(self.modules):
                (self.folder / self.path(number)).write_bytes(source(number))
        # the fault stands where about so many tests come by
        self.fault = self.core + int(np.searchsorted(self.popular, 0.2)) % max(self.modules - self.core, 1)
        self.fault = min(self.fault, self.modules - 1)
        passing_by = float(np.mean([self.fault in self.touched() for _ in range(1000)]))
        self.fails = min(0.9, self.failing / max(passing_by, 1e-9))
        self.log: LogWriter | EndedLog = self.section("0", range(self.modules))
        for number in range(self.tests):
            self.test(number)

    @staticmethod
    def path(module: int) -> str:
        return f"pkg/part_{module:07}.py"

    @staticmethod
    def test_file(number: int) -> str:
        return f"tests/test_{number:04}.py"

    @classmethod
    def name(cls, test: int) -> str:
        return f"{cls.test_file(test // TESTS_IN_A_FILE)}::test_case[{test}]"

    def section(self, name: str, modules: range | list[int], template: Template | None = None) -> LogWriter:
        """A new log with one run in it that loads these modules."""
        template = template or self.template
        log = LogWriter(str(self.folder / ".suspectra" / "recording" / f"{name}.log"))
        self.clock += 1000
        log.write(FrameKind.RUN, json.dumps({"run": name, "worker": "", "started": self.clock}).encode())
        for module in modules:
            digest = hashlib.sha256(source(module, template.version)).hexdigest()
            head = {"path": self.path(module), "digest": digest, "cells": template.cells, "is_test": False}
            log.write(FrameKind.FILE, with_json(head, template.map))
        empty, outline = hashlib.sha256(b"").hexdigest(), ModuleMap(outline=Outline()).to_bytes()
        for number in range(-(-self.tests // TESTS_IN_A_FILE)):
            head = {"path": self.test_file(number), "digest": empty, "cells": 0, "is_test": True, "traced": False}
            log.write(FrameKind.FILE, with_json(head, outline))
        self.traced[log] = len(modules)
        return log

    def touched(self) -> Ints:
        """The modules that some test enters."""
        core = np.flatnonzero(self.chance.random(self.core) < self.entered)
        if self.modules == self.core:
            return core
        starts = np.searchsorted(self.popular, self.chance.random(1 + self.chance.poisson(4)))
        sizes = 1 + self.chance.poisson(4, len(starts))
        tail = np.concatenate([np.arange(s, s + n) for s, n in zip(starts, sizes, strict=True)]) + self.core
        return np.concatenate([core, np.unique(tail[tail < self.modules])])

    def test(self, number: int, *, verdict: str = "", touched: Ints | None = None) -> None:
        """Run a test again, or for the first time."""
        touched = self.touched() if touched is None else touched
        chosen = self.chance.integers(PATTERNS, size=len(touched))
        if not verdict:
            hit = self.fault in touched and self.chance.random() < self.fails
            verdict = "failed" if hit or number == 0 else "passed"
        if verdict == "failed" and self.fault not in touched:
            touched, chosen = np.append(touched, self.fault), np.append(chosen, 7)
        if verdict == "failed":
            chosen = np.where(touched == self.fault, 7, chosen)
        self.hits += int(self.template.lines[chosen].sum())
        bits = self.patterns(chosen)
        if number < REMEMBERED:
            self.remembered[number] = touched.tolist(), bits
        self.write(self.log, number, verdict, touched.tolist(), bits)

    def patterns(self, chosen: Sequence[int] | Ints, template: Template | None = None) -> bytes:
        """The cells that some patterns set, module by module, and behind them how often, where that is counted."""
        template = template or self.template
        bits = template.patterns[chosen].tobytes()
        return b"".join([bits, *(template.times[one] for one in chosen)]) if self.counts else bits

    def again(self, number: int, verdict: str) -> None:
        """One of the first tests once more: it executes the same and ends in a given way."""
        number = 1 + number % (min(REMEMBERED, self.tests) - 1)  # test 0 always fails
        self.write(self.log, number, verdict, *self.remembered[number])

    def by_the_fault(self, number: int, verdict: str) -> None:
        """The same, but what it executes has the fault, as in the tests that fail by it."""
        number = 1 + number % (min(REMEMBERED, self.tests) - 1)
        touched, bits = self.remembered[number]
        size = self.template.cells // 8
        parts = {module: bits[place * size : (place + 1) * size] for place, module in enumerate(touched)}
        parts[self.fault] = self.template.patterns[7].tobytes()
        self.write(self.log, number, verdict, list(parts), b"".join(parts.values()))

    def end_run(self) -> None:
        """The run that wrote the recording has ended: what follows is added by runs that end at once."""
        sources = self.traced.pop(self.log)
        self.log.close()
        self.log = EndedLog(self.folder / ".suspectra" / "recording" / "0.log")
        self.traced[self.log] = sources

    def edit(self, module: int) -> None:
        """Write a later version of a module, and run a few tests that enter it."""
        module %= self.modules
        version = self.versions[module] = self.versions.get(module, 0) + 1
        (self.folder / self.path(module)).write_bytes(source(module, version))
        template = Template.make(self.chance, version)
        log = self.section(f"{self.clock}", [module], template)
        for number in self.chance.integers(self.tests, size=10).tolist():
            self.write(log, number, self.verdicts[number], [0], self.patterns([number % PATTERNS], template))
        log.close()

    def recordings(self) -> list[Path]:
        """The logs."""
        return sorted((self.folder / ".suspectra" / "recording").iterdir())

    def write(self, log: LogWriter | EndedLog, number: int, verdict: str, touched: list[int], bits: bytes) -> None:
        """The frame of a test."""
        self.clock += 1
        self.verdicts[number] = verdict
        head = {
            "name": self.name(number),
            "verdict": verdict,
            "phases": {"setup": "passed", "call": verdict, "teardown": "passed"},
            "message": "assert False" if verdict == "failed" else "",
            "seconds": 0.01,
            "location": [self.test_file(number // TESTS_IN_A_FILE), 1 + number % TESTS_IN_A_FILE],
            "flaky": False,
            "time": self.clock,
        }
        log.write(
            FrameKind.TEST, with_json(head, pack_rows([*touched, self.traced[log] + number // TESTS_IN_A_FILE], bits))
        )
