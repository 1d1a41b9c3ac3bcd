"""What it costs a recording to know what changed since tests passed.

First, the part of instrumenting that only comparisons of sources need: checksums of statements, and outlines of
functions (which also choose the tests that a change can affect). The sources are those of Suspectra's own library; each
is instrumented once and then comes from the user's cache. Second, a run in which tests fail that passed in the run
before, beside the same run in a folder without a recording: processor time, the size of the recording, and the time to
read it. The example in Python, and that in C with --c, once without and once with a fault.

    python benchmarks/kept_sources.py [--rounds N] [--c]
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tokenize
import zlib
from collections.abc import Callable
from pathlib import Path

from suspectra.evidence.c.source import CRecordingSource
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.recording import RecordingSource
from suspectra_recorder.instrumentation.outline import Outline
from suspectra_recorder.instrumentation.rewriting import instrument

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "analysis" / "suspectra"
PYTHON = ("ledger", "src/ledger/tax.py", "ends = [*starts[1:], last + date.resolution]", "ends = [*starts[1:], last]")
C = ("reckoner", "src/evaluate.c", "double result = numbers[0]; /* ", "double result = 0; /* ")


def seconds(work: Callable[[], object]) -> float:
    """Processor time."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def checksums(source: bytes) -> int:
    """Compute a checksum of each token, as for statements; nothing else needs the tokens of most sources."""
    tokens = tokenize.generate_tokens(io.StringIO(source.decode()).readline)
    return sum(zlib.crc32(token.string.encode()) for token in tokens)


def instrumenting(rounds: int) -> dict[str, float]:
    """Seconds for all sources of the library, and what comparisons need of them."""
    sources = [path.read_bytes() for path in sorted(LIBRARY.rglob("*.py"))]
    trees = [ast.parse(source) for source in sources]
    whole, outlines, sums = [], [], []
    for _ in range(rounds):
        whole.append(seconds(lambda: [instrument(source, "f.py", "cells") for source in sources]))
        outlines.append(seconds(lambda: [Outline.from_tree(tree) for tree in trees]))
        sums.append(seconds(lambda: [checksums(source) for source in sources]))
    medians = (statistics.median(times) for times in (whole, outlines, sums))
    return dict(zip(("instrumenting", "outlines", "checksums"), medians, strict=True))


def cpu_seconds(command: list[str], folder: Path) -> float:
    """Processor time of a command and all it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Example:
    """A copy of an example, with or without its fault."""

    def __init__(self, folder: Path, which: tuple[str, str, str, str]):
        name, self.file, self.right, self.wrong = which
        self.folder, self.is_c = folder / name, name == C[0]
        shutil.copytree(ROOT / "examples" / name, self.folder, ignore=shutil.ignore_patterns("build", ".*", "__pyc*"))
        if self.is_c:
            self.tool("cmake", "-S", ".", "-B", "build")

    def tool(self, *command: str) -> None:
        subprocess.run(command, cwd=self.folder, capture_output=True, check=True)

    def change(self, *, faulty: bool) -> None:
        """Put the fault in, or remove it."""
        path = self.folder / self.file
        text = path.read_text("utf-8")
        old, new = (self.right, self.wrong) if faulty else (self.wrong, self.right)
        if old in text:
            path.write_text(text.replace(old, new), "utf-8")
        elif new not in text:
            sys.exit(f"{path} holds neither {old!r} nor {new!r}")
        if self.is_c:
            self.tool("cmake", "--build", "build")

    def record(self) -> float:
        """Record all tests; processor time."""
        suspectra = [sys.executable, "-m", "suspectra"]
        tests = (
            ["record-c", "--ctest", "build"] if self.is_c else ["record", "--", sys.executable, "-m", "pytest", "-q"]
        )
        return cpu_seconds([*suspectra, *tests], self.folder)

    def read(self) -> Evidence:
        return (CRecordingSource if self.is_c else RecordingSource)(self.folder).read()

    def measured(self, *, passed_before: bool) -> tuple[float, float, float]:
        """Seconds of the run with the fault and of reading it, and bytes of the recording."""
        shutil.rmtree(self.folder / ".suspectra", ignore_errors=True)
        self.change(faulty=False)
        if passed_before:
            self.record()
        self.change(faulty=True)
        recording = self.record()
        reading = min(seconds(self.read) for _ in range(3))
        size = sum(path.stat().st_size for path in (self.folder / ".suspectra").rglob("*") if path.is_file())
        return recording, reading, float(size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--c", action="store_true", help="the example in C instead of that in Python")
    options = parser.parse_args()
    found: dict[str, object] = {}
    if not options.c:
        parts = instrumenting(options.rounds)
        share = (parts["outlines"] + parts["checksums"]) / parts["instrumenting"]
        found["instrumenting"] = {**{name: round(value, 2) for name, value in parts.items()}, "share": round(share, 3)}
        print(f"instrumenting the library: {parts['instrumenting']:.2f} s, {share:.0%} of it for comparisons")
    with tempfile.TemporaryDirectory() as folder:
        example = Example(Path(folder), C if options.c else PYTHON)
        alone, later = [], []
        for _ in range(options.rounds):
            alone.append(example.measured(passed_before=False))
            later.append(example.measured(passed_before=True))
        names = "seconds of the run", "seconds of reading", "bytes"
        for name, without, with_ in zip(names, zip(*alone, strict=True), zip(*later, strict=True), strict=True):
            before, after = statistics.median(without), statistics.median(with_)
            found[name] = {"without": round(before, 4), "with": round(after, 4), "ratio": round(after / before, 2)}
            print(f"{name:20} {before:12.4f} without, {after:12.4f} with an earlier pass: × {after / before:.2f}")
        changed = example.read().changed
        print(f"{len(changed)} failing tests know what changed: {[len(row) for row in changed.values()]} statements")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
