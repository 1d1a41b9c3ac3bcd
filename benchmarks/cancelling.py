"""How soon slices, causes, observations and paths stop when somebody cancels them, and whether processes are left.

    python benchmarks/cancelling.py --times 8
    python benchmarks/cancelling.py --times 8 --kind nearest-path --kind apg

The failing test of a small project takes a tenth of a second and makes many dependences; a second one catches every
exception and goes on, so it does not end when it is asked to. Each kind of work is started again and again, in a
thread of its own as in an editor, and cancelled at another moment of it: while tests are collected, run and traced, and
while the trace is read. The same for the command `suspectra causes`, which is interrupted as by Ctrl+C. The table has
the longest and the median time until the work has ended, and until no process of it is left.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from suspectra.base.cancellation import Cancelled, Token, cancellable
from suspectra.causes.inquiry import CauseInquiry
from suspectra.cli.rerun import failing_tests
from suspectra.evidence.discovery import find_source
from suspectra.evidence.evidence import Evidence
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.suspicion import Suspicion
from suspectra.experiments.trace_inquiry import TraceInquiry
from suspectra.experiments.value_inquiry import ValueInquiry
from suspectra.paths.searches.inquiry import PathInquiry

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q")
TARGET_S, TIMEOUT_S = 0.5, 30.0
CODE = """\
import time


def mixed(rounds):
    first, second = 0, 1
    for number in range(rounds):
        if number % 3:
            first, second = second, first + number
        else:
            second += first % 7
    return first


def waits(begun):
    open(begun, "w").close()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            time.sleep(1)
        except BaseException:
            pass
    return 1
"""
TESTS = """\
import os

from long_code import mixed, waits


def test_long():
    assert mixed(ROUNDS) == 1


def test_passes():
    assert mixed(1) == 0


def test_does_not_end():
    begun = os.environ.get("SUSPECTRA_WAITS")
    assert (waits(begun) if begun else mixed(2)) == 5
"""
Work = Callable[[Path, Evidence, Suspicion, str], Generator[object]]


def slices(root: Path, evidence: Evidence, suspicion: Suspicion, test: str) -> Generator[object]:
    yield from TraceInquiry(RerunSetup(root, PYTEST), list(failing_tests(evidence, [test]).values()), suspicion).steps()


def causes(root: Path, evidence: Evidence, suspicion: Suspicion, test: str) -> Generator[object]:
    yield from CauseInquiry(RerunSetup(root, PYTEST), failing_tests(evidence, [test])[test], suspicion).steps()


def observations(root: Path, evidence: Evidence, suspicion: Suspicion, test: str) -> Generator[object]:
    tests = list(failing_tests(evidence, [test]).values())
    yield from ValueInquiry(setup=RerunSetup(root, PYTEST), tests=tests, suspects=suspicion, seconds=60.0).steps()


def paths(technique: str, root: Path, evidence: Evidence, suspicion: Suspicion, test: str) -> Generator[object]:
    failing = failing_tests(evidence, [test])[test]
    yield from PathInquiry(
        RerunSetup(root, PYTEST), test=failing, spectrum=evidence.spectrum(), seconds=60.0, technique=technique
    ).steps()


KINDS: dict[str, Work] = {
    "slices": slices,
    "causes": causes,
    "observations": observations,
    **{technique: partial(paths, technique) for technique in ("nearest-path", "apg", "cause-transitions")},
}
COMMAND = "command causes"


def descendants() -> set[int]:
    """The processes that this one started, and those that they started."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        if state not in (b"Z", b"X"):
            parents[int(name)] = int(parent)
    found, level = set[int](), {os.getpid()}
    while level:
        level = {process for process, parent in parents.items() if parent in level} - found
        found |= level
    return found


def until_gone(began: float) -> float:
    """Seconds until no process is left."""
    while descendants():
        if time.perf_counter() - began > TIMEOUT_S:
            return float("inf")
        time.sleep(0.005)
    return time.perf_counter() - began


def cancelled(work: Callable[[], Generator[object]], after: float) -> tuple[float, float] | None:
    """How long the work went on, and how long its processes; None if it had ended before."""
    token = Token()

    def run() -> None:
        with cancellable(token):
            try:
                with closing(work()) as steps:
                    for _ in steps:
                        pass
            except Cancelled:
                pass

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(after)
    if not thread.is_alive():
        return None
    began, token.cancelled = time.perf_counter(), True
    thread.join(TIMEOUT_S)
    ended = time.perf_counter() - began if not thread.is_alive() else float("inf")
    return ended, until_gone(began)


def interrupted(root: Path, test: str, after: float) -> tuple[float, float] | None:
    """The same for the command, which is interrupted."""
    command = [sys.executable, "-m", "suspectra", "causes", test, "--", *PYTEST]
    process = subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(after)
        return None
    except subprocess.TimeoutExpired:
        pass
    began = time.perf_counter()
    process.send_signal(signal.SIGINT)
    process.wait(TIMEOUT_S)
    return time.perf_counter() - began, until_gone(began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=8, help="How often each is cancelled.")
    parser.add_argument("--kind", action="append", choices=[*KINDS, COMMAND], help="Repeatable; by default all.")
    parser.add_argument("--rounds", type=int, default=100_000, help="Of the loop in the long test.")
    chosen = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="suspectra-cancelling-") as name:
        root = Path(name).resolve()
        (root / "long_code.py").write_text(CODE)
        (root / "test_long.py").write_text(TESTS.replace("ROUNDS", str(chosen.rounds)))
        record = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST]
        subprocess.run(record, cwd=root, stdout=subprocess.DEVNULL, check=False)
        evidence = find_source(root, edges=True).read()
        suspicion = Suspicion(evidence, everywhere=True)
        print(f"{'work':40} {'ended: median':>14} {'longest':>8} {'no process: median':>19} {'longest':>8}  cancelled")
        for kind in chosen.kind or (*KINDS, COMMAND):
            for test in ("test_long", "test_does_not_end"):
                os.environ.pop("SUSPECTRA_WAITS", None)
                if test == "test_does_not_end":
                    os.environ["SUSPECTRA_WAITS"] = str(root / "waits")
                full = f"test_long.py::{test}"
                times = []
                for number in range(chosen.times):
                    after = 0.4 + 8.0 * number / chosen.times
                    if kind in KINDS:
                        one = cancelled(partial(KINDS[kind], root, evidence, suspicion, full), after)
                    else:
                        one = interrupted(root, full, after + 1.0)
                    if one is not None:
                        times.append(one)
                ends, gone = zip(*times, strict=True)
                row = {
                    "ended_median": statistics.median(ends),
                    "ended_longest": max(ends),
                    "gone_median": statistics.median(gone),
                    "gone_longest": max(gone),
                    "times": len(times),
                }
                found[f"{kind}, {test}"] = row
                print(
                    f"{f'{kind}, {test}':40} {row['ended_median']:14.3f} {row['ended_longest']:8.3f}"
                    f" {row['gone_median']:19.3f} {row['gone_longest']:8.3f}  {len(times)} times",
                    flush=True,
                )
    print(json.dumps({"target_s": TARGET_S, "kinds": found}))


if __name__ == "__main__":
    main()
