"""What very large suites cost: load, rank, one test changed, one file changed, another technique, memory.

A recording is made as the recorder would have left it (`large_recording.py`): a twentieth of the statements are a core
that most tests execute, the rest a long tail with neighbours used together. The stages are measured in a fresh process,
as the server runs them: evidence, spectrum, ranking, suspects, marks. Then the server itself is asked, over standard
input and output. Growth exponents are the slopes of log time over log nonzeros.

    python benchmarks/scale.py                                        # a tenth of the size each way
    python benchmarks/scale.py --tests 10000 --lines 1000000          # the aims' size, minutes
    python benchmarks/scale.py --techniques                           # every technique, and how soon it stops
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
from large_recording import LINES, Project
from technique_scale import ROWS, techniques

from suspectra.report import RankedReport

AIMS = {
    "cold_seconds": 20.0,
    "peak_gb": 2.0,
    "test_changed_ms": 20.0,
    "switch_ms": 300.0,
    "server_test_changed_ms": 20.0,
}
TECHNIQUES = ("dstar", "op2", "barinel", "tarantula", "jaccard", "ochiai")
TOP = 100


class Clock:
    """Seconds by the clock and of the processor."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def stop(self) -> tuple[float, float]:
        return time.perf_counter() - self.wall, time.process_time() - self.cpu


def stages(project: Project, rounds: int) -> dict[str, float]:
    """The stages as the server runs them, in this process."""
    from suspectra.evidence.recording import RecordingSource
    from suspectra.localizer import Localizer
    from suspectra.techniques import make_technique
    from suspectra_server.state.documents import Disk, Texts
    from suspectra_server.state.ranking import Ranking
    from suspectra_server.state.snapshot import Snapshot

    source, localizer, texts = (
        RecordingSource(project.folder),
        Localizer(make_technique("ochiai")),
        Texts(),
    )
    disk = Disk(project.folder)

    def marks(report: RankedReport) -> int:
        """From a report to what is sent to the editor, file by file."""
        ranking = Ranking.from_report(localizer.technique, evidence, report, localizer.problems(), TOP)
        files = {suspect.location.file: ranking.files[suspect.location.file] for suspect in ranking.suspects}
        texts.take(files.values(), disk.read(files))
        placed = {path: found for path, file in files.items() if (found := texts.placement(file))}
        return sum(map(len, Snapshot(ranking, placed).by_file.values()))

    figures: dict[str, float] = {}
    clock = Clock()
    evidence = source.read()
    figures["load_seconds"], figures["load_cpu"] = clock.stop()
    first = Clock()
    report = localizer.update(evidence)
    figures["marks"] = marks(report)
    figures["rank_seconds"], figures["rank_cpu"] = first.stop()
    figures["cold_seconds"], figures["cold_cpu"] = clock.stop()
    counts = report.spectrum.counts
    figures |= {"failed": counts.failed, "passed": counts.passed}
    figures["dense_columns"] = float(np.mean(counts.ef + counts.ep > 0.2 * project.tests))

    def changed() -> int:
        nonlocal evidence
        evidence = source.read()
        return marks(localizer.update(evidence))

    def timed(name: str, prepare: Callable[[int], object], act: Callable[[], object], count: int) -> None:
        found = []
        for number in range(count + 1):
            prepare(number)
            clock = Clock()
            act()
            found.append(clock.stop())
        wall, cpu = zip(*found[1:], strict=True)  # the first one is warming up
        figures[f"{name}_ms"] = 1000 * statistics.median(wall)
        figures[f"{name}_best_ms"] = 1000 * min(wall)
        figures[f"{name}_cpu_ms"] = 1000 * statistics.median(cpu)

    chance = random.Random(3)
    timed("test_changed", lambda _: project.test(chance.randrange(project.tests)), changed, rounds)
    timed("outcome_flipped", lambda n: project.again(n, "failed" if n % 2 else "passed"), changed, rounds)

    def switch() -> None:
        marks(localizer.select(make_technique(names.pop())))

    names = [TECHNIQUES[n % len(TECHNIQUES)] for n in range(rounds + 1)]
    timed("switch", lambda _: None, switch, rounds)
    timed("file_changed", lambda n: project.edit(project.modules // 2 + n), changed, min(rounds, 3))
    figures["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return figures


def through_server(project: Project, rounds: int) -> dict[str, float]:
    """The same from outside: from the end of a write to the last diagnostics of the new ranking.

    Of tests, one fails after another and passes again: by the fault of the others, or for a reason of its own, which
    can change the failure groups.
    """
    from editor_client import start

    project.end_run()  # while a run goes on, the server leaves the machine to the tests
    project.clock = time.time_ns()  # later than what the stages have written
    client, cold = start(project.folder, {"technique": "ochiai"})

    def peak() -> float:
        status = Path(f"/proc/{client.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 2**20

    figures: dict[str, float] = {"server_cold_seconds": cold}
    for name, run in (("test_changed", project.by_the_fault), ("own_reason", project.again)):
        found = []
        for number in range(rounds):
            time.sleep(2.5)  # a ranking is followed by a rest, longest after the first
            client.drain()
            run(50 + number // 2, "failed" if number % 2 == 0 else "passed")
            written = time.perf_counter()
            published, last = client.ranked()
            if published:
                found.append(1000 * (last - written))
        figures[f"server_{name}_changes"] = len(found)
        if found:
            figures[f"server_{name}_ms"] = statistics.median(found)
            figures[f"server_{name}_best_ms"] = min(found)
    if sys.platform == "linux":
        figures["server_peak_gb"] = peak()
    client.end()
    return figures


def measure(tests: int, lines: int, rounds: int, server: bool, seed: int) -> dict[str, float]:
    """One size, in a folder of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        project = Project(Path(scratch), tests, max(2, lines // LINES), seed=seed)
        clock = Clock()
        project.make()
        figures: dict[str, float] = {"tests": tests, "lines": project.modules * LINES, "nonzeros": project.hits}
        figures["made_seconds"] = clock.stop()[0]
        figures["recording_mb"] = sum(f.stat().st_size for f in project.recordings()) / 2**20
        read, write = os.pipe()
        child = os.fork()  # memory and processor time are then those of the stages alone
        if child == 0:
            try:
                os.write(write, json.dumps(stages(project, rounds)).encode())
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as stream:
            text = stream.read()
        os.waitpid(child, 0)
        figures |= json.loads(text)
        if server:
            figures |= through_server(project, min(rounds, 12))
    return {name: round(value, 4) for name, value in figures.items()}


def every_technique(tests: int, lines: int, only: list[str]) -> dict[str, dict[str, object]]:
    """What every technique costs at one size, or some of them."""
    with tempfile.TemporaryDirectory() as scratch:
        plain, counted = Path(scratch, "plain"), Path(scratch, "counted")
        for counts, folder in enumerate((plain, counted)):
            folder.mkdir()
            project = Project(folder, tests, max(2, lines // LINES), counts=bool(counts))
            project.make()
        print(f"{tests:,} tests x {project.modules * LINES:,} statements, {project.hits:,} nonzeros")
        return techniques(plain, counted, only)


def exponents(rounds: int, largest: float) -> tuple[dict[str, float], list[dict[str, float]]]:
    """Slopes of log time over log nonzeros; a hundred lines a test."""
    found = []
    for nonzeros in (1e4, 1e5, 1e6, 1e7):
        if nonzeros <= largest:
            # each test executes about 1.8 statements of the core for each test there is, and 1,600 of the tail
            tests = max(6, round((math.sqrt(1600**2 + 7.2 * nonzeros) - 1600) / 3.6))
            found.append(measure(tests, 100 * tests, rounds, False, 1))
    across = np.log([one["nonzeros"] for one in found])
    names = (
        "load_cpu",
        "rank_cpu",
        "cold_cpu",
        "test_changed_cpu_ms",
        "switch_cpu_ms",
        "file_changed_cpu_ms",
        "peak_gb",
    )
    slopes = {name: round(float(np.polyfit(across, np.log([one[name] for one in found]), 1)[0]), 2) for name in names}
    return slopes, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", type=int, default=1_000)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--largest", type=float, default=1e7, help="nonzeros up to which growth is measured")
    parser.add_argument("--no-server", action="store_true")
    parser.add_argument("--techniques", action="store_true", help="what every technique costs, and nothing else")
    parser.add_argument("--only", action="append", choices=list(ROWS), default=[], help="one of them; may be repeated")
    options = parser.parse_args()
    if options.techniques:
        print(json.dumps(every_technique(options.tests, options.lines, options.only)))
        return
    figures = measure(options.tests, options.lines, options.rounds, not options.no_server, 1)
    print(f"{figures['tests']:,} tests x {figures['lines']:,} statements, {figures['nonzeros']:,} nonzeros;", end=" ")
    print(f"{figures['dense_columns']:.1%} of the columns executed by every fifth test or more")
    print(f"recording of {figures['recording_mb']:.0f} MB, made in {figures['made_seconds']:.0f} s")
    print(f"{'':32}{'clock':>10}{'processor':>12}")
    for name in ("load", "rank", "cold"):
        print(f"{name:32}{figures[f'{name}_seconds']:>8.2f} s{figures[f'{name}_cpu']:>10.2f} s")
    for name in ("test_changed", "outcome_flipped", "switch", "file_changed"):
        print(
            f"{name.replace('_', ' '):32}{figures[f'{name}_ms']:>7.1f} ms{figures[f'{name}_cpu_ms']:>9.1f} ms", end=""
        )
        print(f"   best {figures[f'{name}_best_ms']:.1f} ms")
    print(f"{'peak memory':32}{figures['peak_gb']:>8.2f} GB")
    if not options.no_server:
        print(f"through the server: first diagnostics after {figures['server_cold_seconds']:.1f} s", end=", ")
        for name in ("test_changed", "own_reason"):
            clock, best = (figures.get(f"server_{name}_{kind}", float("nan")) for kind in ("ms", "best_ms"))
            print(f"{name.replace('_', ' ')} {clock:.0f} ms (best {best:.0f})", end=", ")
        print()
    slopes, sizes = exponents(max(3, options.rounds // 4), options.largest)
    print(f"growth exponents from {sizes[0]['nonzeros']:,} to {sizes[-1]['nonzeros']:,} nonzeros:")
    for name, slope in slopes.items():
        print(f"  {name:24}{slope:>6.2f}")
    used = {"cold_seconds": "cold_cpu", "test_changed_ms": "test_changed_cpu_ms", "switch_ms": "switch_cpu_ms"}
    met = {name: figures[name] < aim for name, aim in AIMS.items() if name in figures}
    met_by_processor = {name: figures[used[name]] < AIMS[name] for name in used}
    for name, reached in met.items():
        line = f"aim {name} below {AIMS[name]:g}: {'reached' if reached else 'MISSED'} ({figures[name]:.3g})"
        print(line + (f", {figures[used[name]]:.3g} of the processor" if name in used else ""))
    print(json.dumps({**figures, "exponents": slopes, "reached": met, "reached_by_processor": met_by_processor}))


if __name__ == "__main__":
    main()
