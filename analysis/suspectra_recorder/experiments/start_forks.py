"""Machines that start as forks of a process that has loaded pytest, and what the program uses, but nothing of it.

So a program with other texts costs what it takes to import it and to collect its tests. Who asks says which modules the
unaltered program has loaded: they are loaded once, before the forks. What altered code would load besides, each fork
loads by itself, contained.
"""

from __future__ import annotations

import select
import socket
import tempfile
from collections.abc import Callable, Iterator

import pytest

from suspectra_recorder.experiments.messages import ForkingGreeting, ForkRequest, StartAnswer
from suspectra_recorder.experiments.orphans import Orphans
from suspectra_recorder.experiments.preloaded import fork, kill, load
from suspectra_recorder.experiments.run_time import RunTime
from suspectra_recorder.experiments.start_request import StartRequest
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, os, sys
from suspectra_recorder.pytest.whole_run import leave_out_coverage
from suspectra_recorder.recorded_files import RecordedFiles

__builtins__ = library_references.builtins

_ENDED_LOOK_S = 0.002
"""How often it is looked whether a fork has ended."""


class StartForks:
    """The plugin that waits for requests while pytest starts, and in each fork lets it go on."""

    def __init__(self, order: StartRequest, become: Callable[[StartRequest, pytest.Config, list[str]], None]):
        self._order, self._become = order, become
        self._own = RecordedFiles(order.workspace, include_tests=True)
        self._original = RecordedFiles(order.original or order.workspace, include_tests=True)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config, args: list[str]) -> Iterator[None]:
        """Wait here: nothing of the program has been loaded yet."""
        leave_out_coverage(early_config)
        order = self._serve()
        order.write_only_to_scratch(os.environ)
        tempfile.tempdir = None  # it may be known since before
        order.import_from_workspace()
        self._become(order, early_config, args)
        yield

    def _serve(self) -> StartRequest:
        """Answer requests until nobody asks any more; returns in a fork, with its order."""
        channel = socket.socket(fileno=self._order.channel)
        greeting: ForkingGreeting = {"forks": not any(map(self._is_ours, sys.modules.values()))}
        channel.sendall(json.dumps(greeting).encode() + b"\n")
        orphans = Orphans()
        requests = channel.makefile("rb")
        while line := requests.readline():
            request: ForkRequest = json.loads(line)
            load(request["modules"])
            if not (pid := fork()):
                requests.close()
                channel.close()
                return StartRequest.from_file(request["order"])
            answer = _answer(pid, request["seconds"], channel)
            orphans.end()
            channel.sendall(json.dumps(answer).encode() + b"\n")
        return os._exit(0)

    def _is_ours(self, module: object) -> bool:
        """Whether a module is of the workspace, without packages that are installed in it."""
        path = getattr(module, "__file__", None)
        return isinstance(path, str) and (self._own(path) is not None or self._original(path) is not None)


def _answer(pid: int, seconds: float, channel: socket.socket) -> StartAnswer:
    """Wait for the end of a fork, or end it where it takes too long, or nobody waits for it."""
    run_time = RunTime(pid, seconds)
    while not (ended := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)):
        if select.select([channel], [], [], _ENDED_LOOK_S)[0]:  # it sends nothing before there is an answer
            break
        if run_time.took >= run_time.look_at - run_time.began and run_time.is_up():
            break
    kill(pid)
    return {"stopped": not ended, "seconds": run_time.took}
