"""How long a reader waits for a first ranking, beside how long the technique that was chosen takes.

A technique that takes long has stages, and editors show the first one until the last is there. Both are timed on one
recording, each by a localizer of its own as in the server: from evidence that was just read to the first report, and to
the last one.

    python benchmarks/first_ranking.py
    python benchmarks/first_ranking.py --tests 1000 --lines 100000 --technique nn-perm
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from large_recording import LINES, Project

from suspectra.evidence.recording import RecordingSource
from suspectra.localizer import Localizer
from suspectra.techniques import make_technique


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", type=int, default=400)
    parser.add_argument("--lines", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--technique", action="append", help="repeatable")
    options = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        Project(Path(scratch), options.tests, options.lines // LINES, failing=0.02, counts=True).make()
        for name in options.technique or ["ochiai+cp", "cp", "evidence", "nn-perm"]:
            first, last = [], []
            for _ in range(options.rounds):
                evidence = RecordingSource(Path(scratch), edges=True).read()
                begun = time.perf_counter()
                times = [time.perf_counter() - begun for _ in Localizer(make_technique(name)).improve(evidence)]
                first.append(times[0])
                last.append(times[-1])
            quick, better = statistics.median(first), statistics.median(last)
            found[name] = {"first": round(quick, 4), "last": round(better, 4), "ratio": round(better / quick, 1)}
            print(f"{name:10} first {quick:8.3f} s   last {better:8.3f} s   {better / quick:6.1f} times as long")
    print(json.dumps({"tests": options.tests, "lines": options.lines, "techniques": found}))


if __name__ == "__main__":
    main()
