"""What every technique costs on one recording: seconds, peak memory and how soon it stops, each in its own process.

All formulas see the same pairs of counts, so the 49 of them are one row: the time is that of all together, one after
the other. A technique that is refused beforehand is shown with the reason. To measure how soon it stops, it runs again
and is cancelled at each quarter of the time it took; the longest wait counts.

    python benchmarks/scale.py --techniques            # as a part of the whole
"""

from __future__ import annotations

import json
import os
import resource
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from suspectra.cancellation import Cancelled, Token, cancellable
from suspectra.errors import NothingToRank

ROWS = {
    "formulas": [],
    "formulas, clones": [("clone_failed", True)],
    "cp": [],
    "branch": [],
    "cbi": [],
    "sbbfl": [],
    "ochiai+cp": [],
    "sober": [],
    "nn-perm": [],
}
COUNTED = ("sober", "nn-perm")  # need how often
MOST_SECONDS, MOST_GB, MOST_WAIT = 30.0, 4.0, 0.5


def ranking(folder: Path, row: str) -> Callable[[], None]:
    """All that is done from choosing a technique to its ranking."""
    from suspectra.evidence.recording import RecordingSource
    from suspectra.localizer import Localizer
    from suspectra.techniques import make_technique
    from suspectra.techniques.formulas import FORMULAS

    names = list(FORMULAS) if row.startswith("formulas") else [row]
    techniques = [make_technique(name, **dict(ROWS[row])) for name in names]

    def rank() -> None:
        edges = any(technique.info.needs != "lines" for technique in techniques)
        evidence = RecordingSource(folder, edges=edges).read()
        localizer = Localizer(techniques[0])
        localizer.update(evidence)
        for technique in techniques[1:]:
            localizer.select(technique)

    return rank


def waits(rank: Callable[[], None], after: float) -> float:
    """Seconds from cancelling to the end of the work."""
    from suspectra.program import python_graphs

    python_graphs._flows.cache_clear()  # each run is the first
    python_graphs._parsed._known.clear()
    token, ended = Token(), []

    def work() -> None:
        with cancellable(token), suppress(Cancelled, NothingToRank):
            rank()
        ended.append(time.perf_counter())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(after)
    token.cancelled = True
    cancelled = time.perf_counter()
    thread.join()
    return max(0.0, ended[0] - cancelled)


def measured(folder: Path, row: str) -> dict[str, object]:
    """One row, in this process."""
    rank, found = ranking(folder, row), {}
    started, worked = time.perf_counter(), time.process_time()
    try:
        rank()
    except NothingToRank as error:
        found["refused"] = str(error.problem)
    found["seconds"] = time.perf_counter() - started
    found["processor"] = time.process_time() - worked
    found["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found["cancel_seconds"] = max(waits(rank, found["seconds"] * part / 4) for part in (1, 2, 3))
    return found


def in_child(folder: Path, row: str) -> dict[str, object]:
    """One row in a process of its own, whose memory is then that of the technique."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, json.dumps(measured(folder, row)).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        told = stream.read()
    os.waitpid(child, 0)
    return json.loads(told) if told else {"failed": True}


def techniques(folder: Path, counted: Path) -> dict[str, dict[str, object]]:
    """All rows, printed as they come.

    Parameters
    ----------
    folder, counted : Path
        A workspace with a recording, and one whose recording holds counts.
    """
    rows = {}
    print(f"{'technique':20}{'clock':>10}{'processor':>12}{'peak':>10}{'stops in':>11}")
    for row in ROWS:
        found = rows[row] = in_child(counted if row in COUNTED else folder, row)
        if found.get("failed"):
            print(f"{row:20} failed")
            continue
        met = found["peak_gb"] <= MOST_GB and found["seconds"] <= MOST_SECONDS
        found["reached"] = (met or "refused" in found) and found["cancel_seconds"] <= MOST_WAIT
        print(f"{row:20}{found['seconds']:>8.2f} s{found['processor']:>10.2f} s{found['peak_gb']:>7.2f} GB", end="")
        print(f"{1000 * found['cancel_seconds']:>8.0f} ms  {'reached' if found['reached'] else 'MISSED'}", flush=True)
        if "refused" in found:
            print(f"  refused: {found['refused']}")
    return {row: {k: round(v, 3) if isinstance(v, float) else v for k, v in one.items()} for row, one in rows.items()}
