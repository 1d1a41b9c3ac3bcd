"""Kill the recorder and the server with SIGKILL at random moments, and see that nothing recorded is lost.

The recorder: a run of pytest notes when each test begins. Every test that was over before the last one began must be
in the recording, those of earlier runs too, and the recording must be whole but for its end. The moments are spread
over the length of a whole run; every second one falls into its tests and the end of the run, where logs are tidied.
The server: it is killed while evidence changes under it and a reader moves about; the recording and the reader's
learned counts must be as they were or newer, and the next server must come to the ranking of a fresh reading.

    python benchmarks/kills.py --kills 200
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from editor_client import Client, Log, Message
from generated_project import make_project, record

from suspectra.base.errors import EvidenceError
from suspectra.evidence.recording import RecordingSource

TESTS = """\
import os, time
import pytest
import app

@pytest.mark.parametrize("n", range({first}, {last}))
def test_f(n):
    descriptor = os.open("begun.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, b"%d\\n" % n)
    os.close(descriptor)
    time.sleep(0.002)
    assert app.f(n) != 7
"""
EACH = 100  # tests in a file


def kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def kill_recorders(kills: int, chance: random.Random) -> list[str]:
    failures = []
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch).resolve()
        (work / "app.py").write_text("def f(n):\n    if n % 3:\n        return n\n    return -n\n")
        command = [sys.executable, "-m", "suspectra", "record", "--", sys.executable, "-m", "pytest", "-q"]
        command += ["-p", "no:cacheprovider"]
        known: set[int] = set()
        before, tests = _lengths(work, command)
        hit = number = 0
        while hit < kills:
            number += 1
            (work / "begun.txt").unlink(missing_ok=True)
            file = _write_tests(work, number % 3)  # files run again replace their tests
            process = subprocess.Popen(
                [*command, file], cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )
            if number % 2:
                time.sleep(chance.uniform(0, before + tests))
            else:
                _wait_for_tests(work, process)
                time.sleep(chance.uniform(0, tests))
            if process.poll() is None:  # an undisturbed run is no kill
                kill(process)
                hit += 1
            begun = [int(n) for n in (work / "begun.txt").read_text().split()] if (work / "begun.txt").exists() else []
            known |= set(begun[:-1])
            failures += [f"kill {number}: {text}" for text in _missing(work, known)]
    return failures


def _write_tests(work: Path, number: int) -> str:
    file, first = f"test_{number}.py", number * EACH
    (work / file).write_text(TESTS.format(first=first, last=first + EACH))
    return file


def _wait_for_tests(work: Path, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None and not (work / "begun.txt").exists():
        time.sleep(0.001)


def _lengths(work: Path, command: list[str]) -> tuple[float, float]:
    """Seconds of an undisturbed run until its first test, and from there on."""
    started = time.monotonic()
    process = subprocess.Popen(
        [*command, _write_tests(work, 0)], cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _wait_for_tests(work, process)
    begun = time.monotonic()
    process.wait()
    return begun - started, time.monotonic() - begun


def _missing(work: Path, known: set[int]) -> list[str]:
    try:
        evidence = RecordingSource(work).read()
    except EvidenceError as error:
        return [f"the recording can't be read: {error}"] if known else []
    there = {int(test.name.partition("[")[2][:-1]) for test in evidence.tests}
    odd = [str(problem) for problem in evidence.problems if "checksum" in problem.cause or "damaged" in problem.cause]
    lost = sorted(known - there)
    return ([f"lost {lost}"] if lost else []) + odd


def kill_servers(kills: int, chance: random.Random) -> list[str]:
    failures = []
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch).resolve() / "project"
        make_project(work, 3, 30)
        record(work)
        os.environ["XDG_STATE_HOME"] = scratch  # where the reader's counts are kept
        learned = Path(scratch, "suspectra", "learned-jumps.json")
        log, moves = Log(work / ".suspectra" / "recording"), 0
        for number in range(kills):
            client = Client([sys.executable, "-m", "suspectra_server"])
            client.initialize(work, {"learnJumps": True})
            if number % 2:
                client.ranked()
            end = time.monotonic() + chance.uniform(0, 0.6)
            step = 2
            while time.monotonic() < end:
                step += 1
                log.change(chance)
                client.send(
                    "workspace/executeCommand", {"command": "suspectra.server.nextSuspect", "arguments": []}, step
                )
                time.sleep(0.01)
            client.process.kill()
            client.process.wait()
            failures += [f"kill {number}: {text}" for text in _not_as_before(learned, moves)]
            moves = _moves(learned)
        failures += _differs(work)
    return failures


def _moves(learned: Path) -> int:
    if not learned.exists():
        return 0
    counts = json.loads(learned.read_text())
    return int(counts["jumps"]) + int(counts["returns"])


def _not_as_before(learned: Path, moves: int) -> list[str]:
    try:
        return [] if _moves(learned) >= moves else [f"{moves} moves were known, now {_moves(learned)}"]
    except (ValueError, KeyError) as error:
        return [f"the learned counts are damaged: {error}"]


def _differs(work: Path) -> list[str]:
    """Whether a new server comes to another number of failing tests than a fresh reading."""
    evidence = RecordingSource(work).read()
    expected = sum(test.verdict.value == "failed" for test in evidence.tests)
    client = Client([sys.executable, "-m", "suspectra_server"])
    client.initialize(work)
    client.ranked()
    found: Message = {}

    def answer(message: Message) -> bool:
        found.update(message)
        return message.get("id") == 9

    client.send("suspectra/suspects", {"limit": 1}, 9)
    client.until(answer)
    client.end()
    problems = [str(problem) for problem in evidence.problems]
    same = found["result"]["failed"] == expected
    return problems + ([] if same else [f"{found['result']['failed']} failing tests, not {expected}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20, help="of each")
    parser.add_argument("--of", choices=["recorder", "server"], action="append")
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    chance, results = random.Random(options.seed), {}
    for name, act in (("recorder", kill_recorders), ("server", kill_servers)):
        if not options.of or name in options.of:
            failures = act(options.kills, chance)
            results[name] = {"kills": options.kills, "failures": failures}
            print(f"the {name} was killed {options.kills} times: {len(failures)} failures")
            print("".join(f"  {failure}\n" for failure in failures), end="")
    print(json.dumps({"benchmark": "kills", **results}))
    sys.exit(any(result["failures"] for result in results.values()))


if __name__ == "__main__":
    main()
