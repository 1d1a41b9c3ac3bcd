"""The runner: what it tells of a program, and that nothing of it is left."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

import pytest

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError
from suspectra.processes import runner
from suspectra.processes.events import Output, ProgramEnded, Started, Stopped, TestProgress, Trouble
from suspectra.processes.runner import CommandToRun, Streams, run

SLEEPER = "import subprocess, sys, time; subprocess.Popen(['sleep', '600']); {then}; time.sleep(600)"


def python(code, folder, **options):
    return CommandToRun((sys.executable, "-c", code), str(folder), os.environ, **options)


def followed(program, token=None, when=lambda event: None):
    events = []

    def notify(event):
        events.append(event)
        when(event)

    assert run(program, token, notify) is events[-1]
    return events


def group_is_gone(pid):
    """Nothing of a group runs; nobody may have waited yet for what has ended."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    return not any(int(group) == pid and state[0] not in "ZX" for group, state in map(str.split, listed.splitlines()))


def test_a_run_is_reported_from_start_to_end(tmp_path):
    progress = tmp_path / "progress"
    progress.touch()
    code = (
        "import sys; from suspectra_recorder.progress import ProgressWriter; progress = ProgressWriter(sys.argv[1]);"
        "progress.collected(2); progress.ended(True); progress.trouble('no more'); print('one'); print('x' * 100_000);"
        "print('two', file=sys.stderr, end=''); sys.stdout.flush(); sys.exit(3)"
    )
    program = python(code, tmp_path, streams=Streams.EVENTS, progress=progress, guarded=True)
    events = followed(CommandToRun((*program.arguments, str(progress)), *list(vars(program).values())[1:]))
    assert isinstance(events[0], Started)
    reported = [event for event in events if isinstance(event, TestProgress | Trouble)]
    assert reported[-2:] == [TestProgress(1, 1, 2), Trouble("no more")]
    lines = [line for event in events if isinstance(event, Output) for line in event.lines]
    assert (lines[0], lines[-1].lstrip("x"), len("".join(lines))) in [("one", "", 100_006), ("one", "two", 100_006)]
    assert (events[-1].code, events[-1].status, events[-1].stopped) == (3, 3, None)


@pytest.mark.parametrize("guarded", [False, True], ids=["group", "watchdog"])
def test_cancelling_ends_all_that_a_program_started(tmp_path, guarded):
    token = Token()

    def cancel(event):
        token.cancelled |= isinstance(event, Output)

    code = SLEEPER.format(then="print('begun', flush=True)")
    events = followed(python(code, tmp_path, streams=Streams.EVENTS, guarded=guarded), token, cancel)
    assert events[-1].stopped is Stopped.CANCELLED
    if not guarded:  # a watchdog goes on by itself; test_processes.py waits for it
        assert group_is_gone(events[0].pid)


def test_the_limits_of_a_program(tmp_path, monkeypatch):
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + SLEEPER.format(then="pass")
    events = followed(python(stubborn, tmp_path, timeout=0.2))
    assert (events[-1].stopped, events[-1].signal, events[-1].status) == (Stopped.TIMEOUT, 9, 137)
    assert group_is_gone(events[0].pid)
    monkeypatch.setattr(runner, "MAX_OUTPUT", 1000)
    ended = run(CommandToRun(("yes",), str(tmp_path), os.environ))
    assert (ended.stopped, ended.stdout) == (Stopped.OUTPUT, b"y\n" * 500)


def test_what_a_program_leaves_in_its_group_is_ended(tmp_path):
    events = followed(
        CommandToRun(("sh", "-c", "sleep 600 & echo out; echo err >&2; exit 4"), str(tmp_path), os.environ)
    )
    started, ended = events
    assert (ended.code, ended.stdout, ended.stderr) == (4, b"out\n", b"err\n")
    assert group_is_gone(started.pid)


def test_an_error_of_the_follower_ends_the_program(tmp_path):
    pids = []

    def fail(event):
        pids.append(event.pid)
        raise LookupError

    with pytest.raises(LookupError):
        run(python(SLEEPER.format(then="pass"), tmp_path), notify=fail)
    with suppress(ChildProcessError):  # the runner waits for it, too
        os.waitpid(pids[0], 0)
    assert group_is_gone(pids[0])


def test_what_can_not_be_started_is_said(tmp_path):
    with pytest.raises(EvidenceError, match=r"it can't be started: No such file or directory. Fix: build it first"):
        run(CommandToRun(("no-such-program",), str(tmp_path), os.environ, cure="build it first"))


def test_shells_speak_of_signals_as_processes_do(tmp_path):
    ended = run(CommandToRun(("sh", "-c", "sh -c 'kill -SEGV $$'"), str(tmp_path), os.environ))
    assert ended == ProgramEnded(None, 11, stderr=ended.stderr, stdout=ended.stdout, seconds=ended.seconds)
    assert ended.status == 139
