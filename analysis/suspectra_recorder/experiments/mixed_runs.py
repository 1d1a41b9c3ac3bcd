"""A process that has loaded pytest and what the tests use, but nothing of the program: each run is a fork of it.

In a fork the program is loaded from a folder that is another one before each run, so that a run takes no longer than
importing the program. Which other modules a run has loaded is told with its answer, and with the next request they are
loaded before the fork. Where a plugin of pytest has loaded a part of the program already, no fork may be made after
another: the greeting says so.
"""

from __future__ import annotations

import importlib
import select
import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypedDict

import pytest

from suspectra_recorder.distinct_names import distinct_names
from suspectra_recorder.experiments.limits import be_alone
from suspectra_recorder.experiments.start_request import StartRequest
from suspectra_recorder.failures.tracebacks import raised_by_example
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, os, signal, sys, time
from suspectra_recorder.pytest.verdict import Attempt
from suspectra_recorder.pytest.whole_run import OPTIONS_OF_WHOLE_RUNS, leave_out_coverage, switch_off

__builtins__ = library_references.builtins

KIND = "mixed"
"""The kind of runs for which a machine starts so."""

_CHUNK = 1 << 16
_NOT_BEFORE = ("pytest", "_pytest", "conftest")  # what pytest itself loads as each run needs it


class MixedOutcome(TypedDict):
    """How a test ended."""

    verdict: str  # as in recordings
    exception: str  # the type of the exception, empty where it passed
    place: str  # the innermost function of the workspace in which it was raised, with its file
    message: str  # the first line
    seconds: float


class MixedGreeting(TypedDict):
    """What there is to know before the first run."""

    again: bool  # whether several runs may follow each other


class MixedRequest(TypedDict):
    """What to run."""

    tests: list[str]  # the names of the tests
    seconds: float  # how long all of them may take
    modules: list[str]  # what to load before


class MixedAnswer(TypedDict, total=False):
    """How a run ended."""

    tests: dict[str, MixedOutcome]  # those that ended
    modules: list[str]  # what it has loaded that is no part of the workspace
    error: str  # why something could not be collected, in a line


class MixedRuns:
    """The plugin that waits for requests while pytest starts, and in each fork lets it go on."""

    def __init__(self, order: StartRequest):
        self._order = order
        self._workspace = order.workspace + os.sep
        self._wanted: frozenset[str] = frozenset()
        self._names: dict[str, str] = {}  # of tests, by node id
        self._answer: MixedAnswer = {"tests": {}, "modules": [], "error": ""}
        self._attempts: dict[str, Attempt] = {}
        self._pipe = -1

    # while pytest starts

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Iterator[None]:
        """Wait here: nothing of the program has been loaded yet."""
        leave_out_coverage(early_config)
        self._serve()
        self._order.import_from_workspace()
        yield

    def _serve(self) -> None:
        """Answer requests until nobody asks any more; returns in the fork that runs the tests."""
        channel = socket.socket(fileno=self._order.channel)
        loaded = [one for one in sys.modules.values() if self._is_ours(one)]
        greeting: MixedGreeting = {"again": not loaded}
        channel.sendall(_line(greeting))
        with channel.makefile("rb") as requests:
            for line in requests:
                request: MixedRequest = json.loads(line)
                _load(request["modules"])
                read, write = os.pipe()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # about forks
                    pid = os.fork()
                if not pid:
                    be_alone()
                    channel.close()
                    os.close(read)
                    self._pipe, self._wanted = write, frozenset(request["tests"])
                    return
                with suppress(OSError):
                    os.setpgid(pid, pid)  # before it is killed, whoever comes first
                os.close(write)
                answer = _all(read, time.monotonic() + request["seconds"])
                os.close(read)
                with suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                channel.sendall(answer if answer.endswith(b"\n") else b"{}\n")
        os._exit(0)

    def _is_ours(self, module: object) -> bool:
        """Whether a module is of the workspace, without packages that are installed in it."""
        path = getattr(module, "__file__", None)
        if not isinstance(path, str):
            return False
        roots = (self._workspace, (self._order.original or self._order.workspace) + os.sep)
        return path.startswith(roots) and "site-packages" not in path

    # in a fork

    @pytest.hookimpl(hookwrapper=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Iterator[None]:
        """Switch off what belongs to a whole run."""
        switch_off(config, OPTIONS_OF_WHOLE_RUNS)
        config.option.basetemp = os.path.join(self._order.scratch, "tmp")
        yield

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep why something could not be collected."""
        if report.failed and not self._answer["error"]:
            lines = str(report.longrepr).strip().splitlines()
            self._answer["error"] = lines[-1].removeprefix("E ").strip() if lines else report.nodeid

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Keep the tests that are asked for, whatever other plugins do."""
        names = distinct_names({item: item.nodeid for item in items})
        yield
        excluded = frozenset(self._order.excluded)
        kept = [item for item in items if names.get(item, item.nodeid) in self._wanted]
        items[:] = [item for item in kept if excluded.isdisjoint(marker.name for marker in item.iter_markers())]
        self._names = {item.nodeid: names.get(item, item.nodeid) for item in items}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Look at the exception of a phase, and at the report of it."""
        outcome: Any = yield
        name = self._names.get(item.nodeid, item.nodeid)
        attempt = self._attempts.setdefault(name, Attempt())
        report = outcome.get_result()
        attempt.add(report)
        known = self._answer["tests"].get(name)
        exception, place = (known["exception"], known["place"]) if known else ("", "")
        if call.excinfo is not None and report.outcome == "failed" and not exception:
            error, traceback = raised_by_example(call.excinfo.value, call.excinfo.tb)
            exception, place = type(error).__name__, self._place(traceback)
        self._answer["tests"][name] = {
            "verdict": attempt.verdict,
            "exception": exception,
            "place": place,
            "message": attempt.message,
            "seconds": attempt.seconds,
        }

    def _place(self, traceback: Any) -> str:
        found = ""
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if code.co_filename.startswith(self._workspace) and "site-packages" not in code.co_filename:
                found = f"{code.co_filename[len(self._workspace) :]}:{code.co_name}"
            traceback = traceback.tb_next
        return found

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Answer, and end: all tests are over, with what was set up for them."""
        self._answer["modules"] = [
            name
            for name, module in list(sys.modules.items())
            if not self._is_ours(module) and name.partition(".")[0] not in _NOT_BEFORE and name != "__main__"
        ]
        answer = _line(self._answer)
        while answer:
            answer = answer[os.write(self._pipe, answer) :]
        os._exit(0)


def _line(what: object) -> bytes:
    return json.dumps(what).encode() + b"\n"


def _load(names: list[str]) -> None:
    """Import modules that runs will need, as far as that goes."""
    threads = threading.active_count()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            if name not in sys.modules:
                with suppress(BaseException):
                    importlib.import_module(name)
                if threading.active_count() > threads:  # it would not be there in a fork
                    return


def _all(descriptor: int, end: float) -> bytes:
    """All that is written to a pipe until then."""
    found = b""
    while (left := end - time.monotonic()) > 0 and select.select([descriptor], [], [], left)[0]:
        part = os.read(descriptor, _CHUNK)
        if not part:
            break
        found += part
        if found.endswith(b"\n"):
            break
    return found
