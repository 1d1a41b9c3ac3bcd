"""How long it takes to decide which tests a change can reach, beside reading the recording for a ranking.

A recording is made as the recorder would have left it (`large_recording.py`), then sources are edited: a comment, the
body of a function in a module that most tests enter and in one of the tail, a constant of a module. Each decision is
made in a process of its own, as `suspectra record --failed-and-affected` makes it.

    python benchmarks/affected_tests.py                              # 10,000 tests, 20,000 lines
    python benchmarks/affected_tests.py --lines 1000000
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from large_recording import LINES, Project

DECIDE = """
import json, sys, time
start, used = time.perf_counter(), time.process_time()
from suspectra.selection.selection import select
selection = select(sys.argv[1])
took = time.perf_counter() - start, time.process_time() - used
print(json.dumps([*took, len(selection.failed), len(selection.affected), selection.known]))
"""
READ = """
import sys, time
start, used = time.perf_counter(), time.process_time()
from suspectra.evidence.recording import RecordingSource
RecordingSource(sys.argv[1]).read()
print([time.perf_counter() - start, time.process_time() - used])
"""


def timed(code: str, folder: Path, rounds: int) -> list[float]:
    """Medians of what the code prints."""
    command = [sys.executable, "-c", code, str(folder)]
    runs = [json.loads(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(rounds)]
    return [statistics.median(values) for values in zip(*runs, strict=True)]


def edits(project: Project) -> dict[str, tuple[int, Callable[[str], str]]]:
    """What is edited: a module, and how."""
    tail = project.core + (project.modules - project.core) // 2

    def body(text: str) -> str:
        return text.replace("total * 3", "3 * total", 1)

    return {
        "nothing": (0, lambda text: text),
        "a comment": (0, lambda text: "# a comment\n\n" + text),
        "a function most tests enter the module of": (0, body),
        "a function of the tail": (tail, body),
        "a constant of a module": (tail, lambda text: text.replace('"part"', '"another"')),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=10_000)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder), options.tests, max(20, options.lines // LINES))
        project.make()
        project.log.close()
        print(f"{options.tests:,} tests, {project.modules:,} modules, {project.modules * LINES:,} statements")
        read = timed(READ, Path(folder), options.rounds)
        print(f"{'reading all of it, to rank':45} {read[0]:6.2f} s, processor {read[1]:6.2f} s")
        for name, (module, edit) in edits(project).items():
            path = Path(folder) / project.path(module)
            before = path.read_text()
            path.write_text(edit(before))
            clock, processor, failed, affected, known = timed(DECIDE, Path(folder), options.rounds)
            path.write_text(before)
            print(
                f"{'changed: ' + name:45} {clock:6.2f} s, processor {processor:6.2f} s: "
                f"{failed:.0f} failed, {affected:,.0f} reached of {known:,.0f}"
            )
            figures[name] = round(clock, 3)
    print(json.dumps({"tests": options.tests, "statements": project.modules * LINES, "read": read[0], **figures}))


if __name__ == "__main__":
    main()
