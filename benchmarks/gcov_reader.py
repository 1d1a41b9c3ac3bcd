"""The reader of raw profiles against running gcov once a test, on the same files in one run.

Builds Debian's Lua (see examples/lua-from-debian) with --coverage, runs each of its tests with a folder of its own as
GCOV_PREFIX, and then reads all profiles: by the raw reader, and by one `gcov --json-format` for each test over all its
objects, whose output is thrown away unread. Before that, every line count of every test is compared with gcov's, and
every arc count is checked for conservation.

    python benchmarks/gcov_reader.py --rounds 5
    python benchmarks/gcov_reader.py --source lua5.4-5.4.4/src     # without apt-get source
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.evidence.c.profiles import GcovRawSource, profile_files
from suspectra.evidence.evidence import TestResult, Verdict
from suspectra.program.c.files import parse_notes, parse_profile
from suspectra.program.c.flow import CFlow
from suspectra.program.c.object import CObject

ROOT = Path(__file__).parents[1]
TARGET = 10


def build(folder: Path, source: Path | None) -> list[Path]:
    """The project, built; returns its tests."""
    script = ROOT / "examples" / "lua-from-debian" / "prepare.py"
    given = ["--source", str(source.resolve())] if source else []
    subprocess.run([sys.executable, str(script), str(folder), "--fault", "none", *given], check=True)
    (folder / "build").mkdir()
    flags = ["-O0", "-g", "--coverage", "-DLUA_USE_POSIX", "-DLUA_USE_DLOPEN", "-c"]
    names = sorted(path.name for path in (folder / "src").glob("*.c") if path.name != "luac.c")
    objects = []
    for name in names:
        objects.append(folder / "build" / name.replace(".c", ".o"))
        subprocess.run(["gcc", *flags, f"../src/{name}", "-o", objects[-1].name], cwd=folder / "build", check=True)
    subprocess.run(["gcc", "--coverage", *objects, "-o", folder / "build" / "lua", "-lm", "-ldl"], check=True)
    return sorted((folder / "tests").glob("*.lua"))


def run(folder: Path, tests: list[Path], profiles: Path, copies: int) -> dict[str, TestResult]:
    """Run every test several times; each profile goes below `profiles`. Links the notes beside, for gcov."""
    results = {}
    for test in [test.with_stem(f"{test.stem}.{copy}") for test in tests for copy in range(copies)]:
        environment = {**os.environ, "GCOV_PREFIX": str(profiles / test.stem)}
        script = test.with_stem(test.stem.partition(".")[0])
        done = subprocess.run(
            [folder / "build" / "lua", script],
            env=environment,
            capture_output=True,
            check=False,
        )
        results[test.stem] = TestResult(test.stem, Verdict.FAILED if done.returncode else Verdict.PASSED)
        for path in profile_files(profiles / test.stem):
            notes = Path(path).with_suffix(".gcno")
            notes.symlink_to(folder / "build" / notes.name)
    return results


def gcov(profiles: Path, test: str, keep: bool = False) -> str:
    """One gcov over all objects of a test; what it prints, if that is kept."""
    files = profile_files(profiles / test)
    done = subprocess.run(
        ["gcov", "--json-format", "-b", "-c", "-t", *map(os.path.basename, files)],
        cwd=os.path.dirname(files[0]),
        stdout=subprocess.PIPE if keep else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
        text=True,
    )
    return done.stdout or ""


def compare(folder: Path, profiles: Path, tests: list[str]) -> tuple[int, int, int]:
    """(lines of the program, line counts compared, differences); raises if flow is not conserved."""
    objects: dict[str, CObject] = {}
    flows: dict[str, CFlow] = {}
    compared = differing = 0
    lines = set()
    for test in tests:
        ours: Counter[tuple[str, int]] = Counter()
        for path in profile_files(profiles / test):
            name = Path(path).stem
            if name not in objects:
                objects[name] = parse_notes((folder / "build" / f"{name}.gcno").read_bytes(), name)
                flows[name] = CFlow(objects[name].functions)
            profile = parse_profile(Path(path).read_bytes(), objects[name], path)
            flow = flows[name]
            arcs = flow.arc_counts(np.array([profile.counters]))
            check_conservation(flow, arcs[:, 0])
            counts = flow.line_counts(arcs)[:, 0].tolist()
            for (_, file, line), count in zip(flow.lines, counts, strict=True):
                ours[file, line] += count
        theirs: Counter[tuple[str, int]] = Counter()
        for text in gcov(profiles, test, keep=True).splitlines():
            for file in json.loads(text)["files"]:
                for line in file["lines"]:
                    theirs[file["file"], line["line_number"]] += line["count"]
        keys = ours.keys() | theirs.keys()
        lines |= keys
        compared += len(keys)
        differing += sum(key not in ours or key not in theirs or ours[key] != theirs[key] for key in keys)
    return len(lines), compared, differing


def check_conservation(flow: CFlow, arcs: Ints) -> None:
    """What enters a block leaves it, but for entries and exits."""
    balance = np.bincount(flow.target, arcs, flow.blocks) - np.bincount(flow.source, arcs, flow.blocks)
    ends = np.concatenate([flow.first_block[:-1], flow.first_block[:-1] + 1])
    balance[ends] = 0
    if balance.any():
        raise SystemExit(f"flow is not conserved in {np.count_nonzero(balance)} blocks")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--copies", type=int, default=5, help="runs of each script, for a suite of usual size")
    parser.add_argument("--source", type=Path, help="a folder with Lua's sources, instead of apt-get source")
    options = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as scratch:
        folder, profiles = Path(scratch, "lua"), Path(scratch, "profiles")
        folder.mkdir()
        tests = build(folder, options.source)
        results = run(folder, tests, profiles, options.copies)
        names = list(results)
        sample = names[:: options.copies]  # gcov takes its time
        lines, compared, differing = compare(folder, profiles, sample)
        print(f"{lines:,} executable lines, {len(names)} tests")
        print(f"{compared:,} line counts, of which {differing} differ from gcov's")
        print("arc counts satisfy conservation in every block of every test")
        ours, again, theirs = [], [], []
        for _ in range(options.rounds):
            begun = time.perf_counter()
            source = GcovRawSource(folder, profiles, outcomes=results)
            evidence = source.read()
            ours.append((time.perf_counter() - begun) / len(names))
            name = names[len(ours) % len(names)]
            for path in profile_files(profiles / name):
                os.utime(path)
            begun = time.perf_counter()
            source.read()
            again.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            for name in sample:
                gcov(profiles, name)
            theirs.append((time.perf_counter() - begun) / len(sample))
        ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
        raw, other = statistics.median(ours) * 1e3, statistics.median(theirs) * 1e3
        edges = len(evidence.edges.edges) if evidence.edges else 0
        print(f"raw reader, all tests from nothing: {raw:.2f} ms a test (notes, lines and {edges:,} edges)")
        print(f"raw reader, one test after it ran again: {statistics.median(again) * 1e3:.1f} ms")
        print(f"gcov --json-format: {other:.1f} ms a test")
        print(f"the raw reader is {ratio:.1f} times as fast (target {TARGET})")
    figures = {
        "benchmark": "gcov_reader",
        "lines": lines,
        "tests": len(names),
        "line_counts_compared": compared,
        "line_counts_differing": differing,
        "raw_ms_per_test": round(raw, 3),
        "raw_ms_one_test_again": round(statistics.median(again) * 1e3, 2),
        "gcov_ms_per_test": round(other, 2),
        "ratio": round(ratio, 1),
        "target_ratio": TARGET,
        "met": ratio >= TARGET and not differing,
    }
    print(json.dumps(figures))
    sys.exit(0 if figures["met"] else 1)


if __name__ == "__main__":
    main()
