"""Runs a program in gdb again and again, and lets one of its decisions come out differently each time.

gdb executes this file, in its own Python: only the standard library is imported, and ``gdb`` when it runs. What is to
be done is in a file of JSON that an environment variable names. Each result is appended to another one, as a line.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import threading
from contextlib import suppress
from importlib import import_module
from typing import Any, TypedDict

VARIABLE = "SUSPECTRA_SWITCHES"
"""The environment variable with the name of the file."""

_MEMORY_BYTES = 8 << 30
_FILE_BYTES = 64 << 20
_MAX_STEPS = 200  # instructions between a decision's first jump and its arms


class GdbSwitch(TypedDict):
    """One run."""

    at: str
    """The block and its time, as the recorder in the program understands it; empty for a run that is not altered."""
    block: int
    """The address of the block."""
    jump: int
    """The address of the jump with which the block decides."""
    arms: list[int]
    """The addresses at which execution can go on."""
    to: int
    """That at which it goes on; 0 for the other one of two."""


class Switches(TypedDict):
    """What gdb is to do."""

    results: str
    """The file to which results are appended."""
    stop: int
    """The address of the function at which the recorder stops, in the file of the program."""
    frame: str
    """The name of the register with the address of a frame."""
    seconds: float
    """How long each run may take."""
    output: str
    """The beginning of the names of files with output; the rest is the number of the run, and ``.out`` or ``.err``."""
    arguments: str
    """Those of the program, as a shell understands them."""
    switches: list[GdbSwitch]
    """The runs, in order."""


class SwitchedRun(TypedDict):
    """How a run ended."""

    code: int | None
    """The exit code; None if a signal ended it."""
    signal: int
    """The signal that ended it, else 0."""
    timeout: bool
    """Whether it took too long."""
    switched: int
    """How often a decision was altered."""


class _Runner:
    """Runs the program of this gdb."""

    def __init__(self, gdb: Any, wanted: Switches):
        self._gdb, self._wanted = gdb, wanted
        self._code: int | None = None
        gdb.events.exited.connect(self._exited)

    def _exited(self, event: Any) -> None:
        self._code = getattr(event, "exit_code", None)

    def run(self, number: int, switch: GdbSwitch) -> SwitchedRun:
        """Run it once."""
        gdb, wanted = self._gdb, self._wanted
        output = f"{wanted['output']}{number}"
        gdb.execute(f"set environment SUSPECTRA_PATH_AT {switch['at']}", to_string=True)
        gdb.execute(f"set args {wanted['arguments']} >{output}.out 2>{output}.err </dev/null", to_string=True)
        self._code = None
        gdb.execute("starti", to_string=True)
        process = gdb.selected_inferior().pid
        late = threading.Event()

        def end() -> None:
            late.set()
            os.kill(process, signal.SIGKILL)

        timer = threading.Timer(wanted["seconds"], end)
        timer.start()
        switched = 0
        try:
            gdb.execute("continue", to_string=True)
            while gdb.selected_inferior().pid:
                switched += self._switch(switch)
                if gdb.selected_inferior().pid:
                    gdb.execute("continue", to_string=True)
        except gdb.error:
            if not late.is_set():
                raise
            if gdb.selected_inferior().pid:  # gdb was reading from the program when that was killed
                with suppress(gdb.error):
                    gdb.execute("kill", to_string=True)
        finally:
            timer.cancel()
        number_of_signal = gdb.convenience_variable("_exitsignal") if self._code is None else None
        ended_by = int(number_of_signal) if number_of_signal is not None else 0
        return {"code": self._code, "signal": ended_by, "timeout": late.is_set(), "switched": switched}

    def _switch(self, switch: GdbSwitch) -> int:
        """From the recorder's stop go on to the jump, in the same call, and take another arm; 1 if that was done."""
        gdb, frame_register = self._gdb, self._wanted["frame"]
        if gdb.selected_frame().name() != "suspectra_path_stop":
            return 0
        here = gdb.selected_frame()
        base = int(gdb.parse_and_eval("(unsigned long)&suspectra_path_stop")) - self._wanted["stop"]
        while here is not None and here.pc() != base + switch["block"]:
            here = here.older()  # the recorder's own functions
        if here is None:
            return 0
        call = int(here.read_register(frame_register))
        point = gdb.Breakpoint(f"*{base + switch['jump']}", internal=True)
        point.silent = True
        try:
            while True:
                gdb.execute("continue", to_string=True)
                if not gdb.selected_inferior().pid:
                    return 0
                at = gdb.selected_frame()
                if at.pc() == base + switch["jump"] and int(at.read_register(frame_register)) == call:
                    break
        finally:
            with suppress(gdb.error, RuntimeError):
                point.delete()
        arms = {base + arm for arm in switch["arms"]}
        for _ in range(_MAX_STEPS):
            if gdb.selected_frame().pc() in arms:
                break
            gdb.execute("stepi", to_string=True)
            if not gdb.selected_inferior().pid:
                return 0
        taken = gdb.selected_frame().pc()
        to = base + switch["to"] if switch["to"] else next((arm for arm in arms if arm != taken), taken)
        if taken not in arms or to == taken:
            return 0  # it came out so by itself
        gdb.execute(f"set var $pc = {to}", to_string=True)
        return 1


def _main(gdb: Any) -> None:
    """Do what the file asks for."""
    with open(os.environ[VARIABLE], encoding="utf-8") as file:
        wanted: Switches = json.load(file)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    settings = (
        "confirm off",
        "pagination off",
        "breakpoint pending off",
        "startup-with-shell on",
        "print inferior-events off",
    )
    for setting in settings:
        gdb.execute(f"set {setting}", to_string=True)
    gdb.execute("handle all nostop noprint pass", to_string=True)
    for name in ("LINES", "COLUMNS", VARIABLE):
        gdb.execute(f"unset environment {name}", to_string=True)
    stop = gdb.Breakpoint("suspectra_path_stop", internal=True)
    stop.silent = True
    runner = _Runner(gdb, wanted)
    with open(wanted["results"], "a", encoding="utf-8") as results:
        for number, switch in enumerate(wanted["switches"]):
            results.write(json.dumps(runner.run(number, switch)) + "\n")
            results.flush()


if __name__ == "__main__":
    _main(import_module("gdb"))
