"""What every technique costs on one recording: seconds, peak memory and how soon it stops, each in its own process.

All formulas see the same pairs of counts, so the 49 of them are one row: the time is that of all together, one after
the other. A technique that is refused beforehand is shown with the reason. Running work stops where it looks at its
token, so the longest time between two looks is the longest that anybody who cancels may have to wait.

The debugging model is a row too: the transition matrix over Ochiai's ranking, its hitting times and HT_Rank.

    python benchmarks/scale.py --techniques            # as a part of the whole
    python benchmarks/scale.py --techniques --only cp --only sober
"""

from __future__ import annotations

import json
import os
import resource
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from suspectra.base.cancellation import Token, cancellable, checked
from suspectra.base.errors import SuspectraError

ROWS = {
    "formulas": [],
    "formulas, clones": [("clone_failed", True)],
    "cp": [],
    "evidence": [],
    "branch": [],
    "cbi": [],
    "sbbfl": [],
    "ochiai+cp": [],
    "sober": [],
    "nn-perm": [],
    "debugging model": [],
}
COUNTED = ("sober", "nn-perm")  # need how often
MAX_SECONDS, MAX_GB, MAX_WAIT = 30.0, 4.0, 0.5


class Watched(Token):
    """A token that nobody cancels, and that knows how long it was not looked at.

    Attributes
    ----------
    longest : float
        Seconds by the clock.
    longest_worked : float
        Seconds of this thread on a processor: what counts on a machine that is busy with other things.
    """

    def __init__(self) -> None:
        self.longest = self.longest_worked = 0.0
        self._last = time.perf_counter(), time.thread_time()

    @property
    def cancelled(self) -> bool:  # type: ignore[override]  # so that each look at the attribute is noticed
        """Never, but somebody looks."""
        now = time.perf_counter(), time.thread_time()
        self.longest = max(self.longest, now[0] - self._last[0])
        self.longest_worked = max(self.longest_worked, now[1] - self._last[1])
        self._last = now
        return False


def ranking(folder: Path, row: str) -> Callable[[], None]:
    """All that is done from choosing a technique to its ranking."""
    from suspectra.evidence.recording import RecordingSource
    from suspectra.localizer import Localizer
    from suspectra.techniques import make_technique
    from suspectra.techniques.formulas import FORMULAS

    model = row == "debugging model"
    names = list(FORMULAS) if row.startswith("formulas") else ["ochiai" if model else row]
    techniques = [make_technique(name, break_ties=None, **dict(ROWS[row])) for name in names]

    def rank() -> None:
        edges = model or any(technique.info.wants_edges for technique in techniques)
        flow = model or any(technique.info.needs_flow for technique in techniques)
        evidence = RecordingSource(folder, edges=edges, flow=flow).read()
        localizer = Localizer(techniques[0])
        report = localizer.update(evidence)
        for technique in checked(techniques[1:]):  # each is work of its own
            report = localizer.select(technique)
        if model:
            from suspectra.markov.debugging_model import DebuggingModel

            made = DebuggingModel.from_report(report, localizer.program)
            made.expected_steps, made.ht_rank  # noqa: B018

    return rank


def measured(folder: Path, row: str) -> dict[str, Any]:
    """One row, in this process."""
    rank, token = ranking(folder, row), Watched()
    found: dict[str, Any] = {}
    started, worked = time.perf_counter(), time.process_time()
    try:
        with cancellable(token):
            rank()
    except SuspectraError as error:
        found["refused"] = str(error.problem)
    _ = token.cancelled  # the last stretch counts, too
    found["seconds"] = time.perf_counter() - started
    found["processor"] = time.process_time() - worked
    helped = resource.getrusage(resource.RUSAGE_CHILDREN)
    found["helpers"] = helped.ru_utime + helped.ru_stime  # processes that read control flow, meanwhile
    found["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found["cancel_seconds"], found["cancel_processor"] = token.longest, token.longest_worked
    return found


def in_child(folder: Path, row: str) -> dict[str, Any]:
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
        text = stream.read()
    os.waitpid(child, 0)
    found: dict[str, Any] = json.loads(text) if text else {"failed": True}
    return found


def techniques(folder: Path, counted: Path, only: Iterable[str] = ()) -> dict[str, dict[str, object]]:
    """All rows, or some, printed as they come.

    Parameters
    ----------
    folder, counted : Path
        A workspace with a recording, and one whose recording contains counts.
    only : iterable of str
        Names of rows; none for all.
    """
    rows = {}
    print(f"{'technique':20}{'clock':>10}{'processor':>12}{'helpers':>10}{'peak':>10}", end="")
    print(f"{'cancel within':>15}{'processor':>12}")
    for row in [row for row in ROWS if row in (tuple(only) or ROWS)]:
        found = rows[row] = in_child(counted if row in COUNTED else folder, row)
        if found.get("failed"):
            print(f"{row:20} failed")
            continue
        found["reached"] = _reached(found, found["seconds"], found["cancel_seconds"])
        found["reached_by_processor"] = _reached(found, found["processor"], found["cancel_processor"])
        print(f"{row:20}{found['seconds']:>8.2f} s{found['processor']:>10.2f} s{found['helpers']:>8.2f} s", end="")
        print(f"{found['peak_gb']:>7.2f} GB", end="")
        print(f"{1000 * found['cancel_seconds']:>12.0f} ms{1000 * found['cancel_processor']:>9.0f} ms", end="")
        missed = "missed by the clock alone" if found["reached_by_processor"] else "MISSED"
        print(f"  {'reached' if found['reached'] else missed}", flush=True)
        if "refused" in found:
            print(f"  refused: {found['refused']}")
    return {row: {k: round(v, 3) if isinstance(v, float) else v for k, v in one.items()} for row, one in rows.items()}


def _reached(found: dict[str, Any], seconds: float, wait: float) -> bool:
    """Whether a row meets the aims: within the limits or refused, and soon cancelled."""
    within = found["peak_gb"] <= MAX_GB and seconds <= MAX_SECONDS
    return (within or "refused" in found) and wait <= MAX_WAIT
