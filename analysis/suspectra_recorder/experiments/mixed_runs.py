"""A process that has loaded pytest and what the tests use, but nothing of the program: each run is in a fork of it.

In a fork the program is loaded, from a folder that is another one before each run, and the tests are collected. Such a
fork waits, too: each run is a fork of it. So long as only bodies of functions differ from what it has loaded, the next
run gives its functions their new code, which takes milliseconds (`exchanged_code.py`). Which other modules a run has
loaded is told with its answer, and with the next request they are loaded before the program is. Where a plugin of
pytest has loaded a part of the program already, no fork may be made after another: the greeting says so.
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from suspectra_recorder.distinct_names import distinct_names
from suspectra_recorder.experiments.exchanged_code import LoadedProgram
from suspectra_recorder.experiments.last_executed import LastExecuted
from suspectra_recorder.experiments.loading import ExperimentHook
from suspectra_recorder.experiments.messages import RunRequest
from suspectra_recorder.experiments.mixed_messages import (
    MixedAnswer,
    MixedGreeting,
    MixedRequest,
)
from suspectra_recorder.experiments.preloaded import fork, kill, load, loaded_besides
from suspectra_recorder.experiments.start_request import StartRequest
from suspectra_recorder.experiments.traces.traced_runs import TracingDependences
from suspectra_recorder.failures.tracebacks import raised_by_example
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, os, signal, sys, time
from suspectra_recorder.log.collection import cause_of, is_below
from suspectra_recorder.pytest.verdict import Attempt
from suspectra_recorder.pytest.whole_run import OPTIONS_OF_WHOLE_RUNS, leave_out_coverage, switch_off
from suspectra_recorder.recorded_files import RecordedFiles, test_patterns

__builtins__ = library_references.builtins

_CHUNK = 1 << 16
_MAX_COLLECTED = 3  # forks that have loaded the program and wait
_FORK_GRACE_S = 1.0
"""How much longer a fork may take to answer than its run."""
_STOPPED_AGAIN_S = 0.5
"""After which a test is stopped once more, which has caught what stopped it."""


class TestHangs(BaseException):
    """Raised in a test that takes longer than it may."""

    __test__ = False


class MixedRuns:
    """The plugin that waits for requests while pytest starts, and in each fork lets it go on."""

    def __init__(self, order: StartRequest):
        self._order = order
        self._names: dict[str, str] = {}  # of tests, by node id
        self._answer: MixedAnswer = {"tests": {}, "modules": [], "error": ""}
        self._attempts: dict[str, Attempt] = {}
        self._uncollected: dict[str, str] = {}  # by node id: the name of the exception
        self._own = RecordedFiles(order.workspace, include_tests=True)
        self._original = RecordedFiles(order.original or order.workspace, include_tests=True)
        self._tracing: TracingDependences | None = None
        self._executed: LastExecuted | None = None
        self._threads = 1  # before tests are collected

    # while pytest starts

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config, args: list[str]) -> Iterator[None]:
        """Wait here: nothing of the program has been loaded yet."""
        leave_out_coverage(early_config)
        self._request, self._asked = self._serve()
        self._end = time.monotonic() + self._request["seconds"]
        self._write = self._asked.fileno()
        self._order.import_from_workspace()
        if self._request["columns"]:
            self._trace(
                test_patterns(early_config.getini("python_files"), args, str(early_config.invocation_params.dir))
            )
        self._program = LoadedProgram(self._order.workspace, self._request["files"])
        if self._request["lines"]:
            self._executed = LastExecuted(self._order.workspace, self._request["files"])
        outcome: Any = yield
        if outcome.excinfo is not None:  # such as a conftest.py that can't be imported
            error = cause_of(outcome.excinfo[1])
            self._answer["error"] = f"{type(error).__name__}: {error}".partition("\n")[0]
            self._uncollected[""] = type(error).__name__
            self._answer["ends"] = True
            self.pytest_sessionfinish()

    def _serve(self) -> tuple[MixedRequest, socket.socket]:
        """Answer requests until nobody asks any more; returns in the fork that loads the program."""
        channel = socket.socket(fileno=self._order.channel)
        loaded = [one for one in sys.modules.values() if self._is_ours(one)]
        greeting: MixedGreeting = {"again": not loaded}
        channel.sendall(_line(greeting))
        collected: list[_Collected] = []  # the one that was used last is the last
        requests = channel.makefile("rb")
        while line := requests.readline():
            request: MixedRequest = json.loads(line)
            whole = request["fresh"] or request["lines"] or bool(request["columns"])
            answer = b"" if whole else _answer_of(collected, line, request["seconds"])
            if not answer:
                load(request["modules"])
                while len(collected) >= _MAX_COLLECTED:
                    collected.pop(0).close()
                ours, theirs = socket.socketpair()
                if not (pid := fork()):
                    requests.close()
                    for one in (channel, ours, *(other.asked for other in collected)):
                        one.close()
                    return request, theirs
                theirs.close()
                made = _Collected(pid, ours)
                answer = made.answer(request["seconds"])
                if whole or not made.alive or json.loads(answer).get("ends"):
                    made.close()
                else:
                    collected.append(made)
            channel.sendall(answer or b"{}\n")
        return os._exit(0)

    def _is_ours(self, module: object) -> bool:
        """Whether a module is of the workspace, without packages that are installed in it."""
        path = getattr(module, "__file__", None)
        return isinstance(path, str) and (self._own(path) is not None or self._original(path) is not None)

    # in a fork

    def _trace(self, patterns: list[str]) -> None:
        """Let what is loaded from now on tell what it does."""
        scope = RecordedFiles(self._order.workspace, include_tests=True, patterns=patterns)
        self._tracing = TracingDependences(lambda name: scope.is_test_code(os.path.join(self._order.workspace, name)))
        if self._tracing.instrument is not None:
            ExperimentHook(scope, [self._tracing.instrument]).install()
        self._tracing.begin()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Iterator[None]:
        """Switch off what belongs to a whole run."""
        switch_off(config, OPTIONS_OF_WHOLE_RUNS)
        config.option.basetemp = os.path.join(self._order.scratch, "tmp")
        yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Count threads: those of plugins are not needed by runs, and those of the program would be."""
        self._threads = threading.active_count()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep why something could not be collected."""
        if report.failed and not self._answer["error"]:
            lines = str(report.longrepr).strip().splitlines()
            self._answer["error"] = lines[-1].removeprefix("E ").strip() if lines else report.nodeid
        if report.failed:
            self._uncollected.setdefault(report.nodeid, "")

    def pytest_exception_interact(self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[None]) -> None:
        """Keep which exception was in the way of collecting something."""
        if isinstance(node, pytest.Collector) and call.excinfo is not None:
            self._uncollected[node.nodeid] = type(cause_of(call.excinfo.value)).__name__

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Keep the tests that may be asked for, whatever other plugins do."""
        names = distinct_names({item: item.nodeid for item in items})
        yield
        excluded, wanted = frozenset(self._order.excluded), frozenset(self._order.tests)
        kept = [item for item in items if names.get(item, item.nodeid) in wanted]
        items[:] = [item for item in kept if excluded.isdisjoint(marker.name for marker in item.iter_markers())]
        self._names = {item.nodeid: names.get(item, item.nodeid) for item in items}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Wait for requests, and let pytest go on in a fork for each; in this process where it can't be forked."""
        fresh = self._request["fresh"] or self._request["lines"]
        alone = fresh or threading.active_count() > self._threads or session.testsfailed
        if self._tracing is not None:
            columns, most = self._request["columns"], self._request["most"]
            job: RunRequest = {"kind": "dependences", "columns": columns, "most": most}
            self._tracing.prepare()
            self._tracing.apply(job)
        elif alone:
            self._answer["ends"] = True
        else:
            self._program.look()
            self._serve_collected()
        wanted = frozenset(self._request["tests"])
        session.items[:] = [item for item in session.items if self._names[item.nodeid] in wanted]
        if self._executed is not None:
            self._answer["imported"], self._answer["executed"] = self._executed.take(), {}

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Stop a test that hangs, where that is known."""
        seconds = self._request["limits"].get(self._names.get(item.nodeid, item.nodeid), 0.0)
        if not seconds:
            yield
            return
        before = signal.signal(signal.SIGALRM, _stop)
        signal.setitimer(signal.ITIMER_REAL, seconds, _STOPPED_AGAIN_S)
        yield
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Keep what a test executes."""
        yield
        if self._executed is not None:
            self._answer["executed"][self._names.get(item.nodeid, item.nodeid)] = self._executed.take()

    def _serve_collected(self) -> None:
        """Answer requests until nobody asks any more; returns in the fork that runs the tests."""
        requests, end = self._asked.makefile("rb"), self._end
        while True:
            newer = self._program.newer(self._request["files"])
            if newer is None:
                answer = _line({"refused": True})
            else:
                read, write = os.pipe()
                if not (pid := fork()):
                    requests.close()
                    self._asked.close()
                    os.close(read)
                    self._write = write
                    self._answer["exchanged"] = end != self._end
                    for function, code in newer:
                        function.__code__ = code
                    return
                os.close(write)
                answer = _all(read, end, self._asked.fileno())
                os.close(read)
                kill(pid)
            try:
                self._asked.sendall(answer if answer.endswith(b"\n") else b"{}\n")
                line = requests.readline()
            except OSError:
                line = b""
            if not line:
                os._exit(0)
            self._request = json.loads(line)
            end = time.monotonic() + self._request["seconds"]

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
            exception = type(error).__name__
            place = "" if isinstance(error, TestHangs) else self._place(traceback)  # it may be stopped anywhere
        self._answer["tests"][name] = {
            "verdict": attempt.verdict,
            "exception": exception,
            "place": place,
            "message": attempt.message,
            "seconds": attempt.seconds,
        }

    def _in_the_way(self, name: str) -> str | None:
        """The exception because of which a test was not collected; None where there was none."""
        return next((exception for at, exception in self._uncollected.items() if is_below(name, at)), None)

    def _place(self, traceback: Any) -> str:
        found = ""
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if (name := self._own(code.co_filename)) is not None:
                found = f"{name}:{code.co_name}"
            traceback = traceback.tb_next
        return found

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Answer, and end: all tests are over, with what was set up for them."""
        if self._tracing is not None and self._tracing.traces:
            self._answer["dependences"] = self._tracing.take_back()["dependences"]
        if self._executed is not None:
            self._answer["opened"] = sorted(self._executed.opened.names)
        self._answer["modules"] = loaded_besides(self._is_ours)
        uncollected = self._answer["uncollected"] = {}
        for name in self._request["tests"]:
            if name not in self._answer["tests"] and (exception := self._in_the_way(name)) is not None:
                uncollected[name] = {
                    "verdict": "error",
                    "exception": exception,
                    "place": "",
                    "message": self._answer["error"],
                    "seconds": 0.0,
                }
        answer = _line(self._answer)
        while answer:
            answer = answer[os.write(self._write, answer) :]
        os._exit(0)


def _stop(number: int, frame: object) -> None:
    raise TestHangs


class _Collected:
    """A fork that loads the program, collects the tests, and waits."""

    def __init__(self, pid: int, asked: socket.socket):
        self._pid, self.asked = pid, asked
        self.alive = True

    def ask(self, line: bytes, seconds: float) -> bytes:
        """Ask for a run; its answer as a line, empty where it gives none."""
        try:
            self.asked.sendall(line)
            return self.answer(seconds)
        except OSError:  # it ends, or has ended
            self.alive = False
            return b""

    def answer(self, seconds: float) -> bytes:
        """Wait for its answer."""
        answer = _all(self.asked.fileno(), time.monotonic() + seconds + _FORK_GRACE_S)
        self.alive = answer.endswith(b"\n")
        return answer if self.alive else b""

    def close(self) -> None:
        """End it, and what it has started."""
        self.asked.close()
        kill(self._pid)


def _answer_of(collected: list[_Collected], line: bytes, seconds: float) -> bytes:
    """The answer of the first fork that can run something, which was used last then; empty if none can."""
    for one in reversed(collected):
        answer = one.ask(line, seconds)
        if not one.alive:
            collected.remove(one)
            one.close()
        elif not json.loads(answer).get("refused"):
            collected.remove(one)
            collected.append(one)
            return answer
    return b""


def _line(what: object) -> bytes:
    return json.dumps(what).encode() + b"\n"


def _all(descriptor: int, end: float, other: int = -1) -> bytes:
    """The line that is written to a descriptor until then, or until the other one can be read: who asked is gone."""
    found = b""
    watched = [descriptor] if other < 0 else [descriptor, other]
    while (left := end - time.monotonic()) > 0:
        ready = select.select(watched, [], [], left)[0]
        if descriptor not in ready:
            break
        part = os.read(descriptor, _CHUNK)
        if not part:
            break
        found += part
        if found.endswith(b"\n"):
            break
    return found
