"""A process that has collected some tests, and waits: each run that it is asked for happens in a child of its own.

It never runs a test itself: threads and pools do not survive a fork. Where it can't fork it runs one request, and ends.

Each run is a fork with limits for time, memory, the size of files and the number of decisions: a switched condition can
make a loop endless, which ends after twenty times the decisions of the failing run, in milliseconds. pytest's own
protocol runs the test, so fixtures and plugins work as usual; features of a whole run (workers, repetitions, reports,
coverage) are switched off.

Several altered runs of a test share a child, followed by the unaltered test as a control. Who asks repeats them alone
unless that makes the same decisions, in the same order, as the second unaltered run of another child; the first run of
a child fills caches. Between two runs in a child, a test of a class gets a new instance, and properties of Hypothesis
always try the same examples. A request is passed to the child in memory, since tests may clear their environment.
"""

from __future__ import annotations

import atexit
import copy
import gc
import threading
import unittest
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from suspectra_recorder.distinct_names import distinct_names
from suspectra_recorder.experiments.children import MachineChildren
from suspectra_recorder.experiments.containment import Containment
from suspectra_recorder.experiments.decisions.switchboard import MAX_DECISIONS, Switchboard
from suspectra_recorder.experiments.direct_runs import DirectRuns
from suspectra_recorder.experiments.failed_check import FailedCheck, WatchedCheck, failed_check, passes_only_by
from suspectra_recorder.experiments.limits import limit
from suspectra_recorder.experiments.loading import ExperimentHook
from suspectra_recorder.experiments.messages import (
    FORKED_STARTS,
    Greeting,
    MachineRunAnswer,
    Request,
    RunRequest,
)
from suspectra_recorder.experiments.mixed_messages import KIND as MIXED
from suspectra_recorder.experiments.mixed_runs import MixedRuns
from suspectra_recorder.experiments.pausable import Pausable
from suspectra_recorder.experiments.pauses import Pauses
from suspectra_recorder.experiments.preloaded import loaded_besides
from suspectra_recorder.experiments.run_kinds import make_kinds
from suspectra_recorder.experiments.start_forks import StartForks
from suspectra_recorder.experiments.start_request import VARIABLE, StartRequest
from suspectra_recorder.failures.tracebacks import message_digest, raised_by_example, type_names
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import hashlib, json, os, time
from suspectra_recorder.named_tests import take_tests
from suspectra_recorder.pytest.verdict import Attempt
from suspectra_recorder.pytest.whole_run import OPTIONS_OF_WHOLE_RUNS, leave_out_coverage, switch_off
from suspectra_recorder.recorded_files import RecordedFiles, test_patterns
from suspectra_recorder.unrecorded_modules import imported_files

__builtins__ = library_references.builtins

NAME = "suspectra-machine"
_MAX_ERRORS = 20  # of collection, that are passed on
_UNKNOWN = "", ""  # name and digest
_EXAMPLE_S = 0.02
"""What an altered run gets for each further example of a property: a repaired one goes through all of them."""
_MAX_EXAMPLES_S = 4.0
"""For all examples together: who asks waits for an answer so much longer."""
_ALTERING = "switched", "replaced", "given", "changes"
"""What in a request alters the program, whatever the kind of the run."""
_CHANGING = (list, dict, set)
_LONG_S = 0.3
"""For the set-up of a fixture: most tests take less to run."""


_begun: _Machine | None = None


def begin() -> None:
    """Instrument what is imported from now on, if the environment orders a machine."""
    global _begun
    if VARIABLE in os.environ and _begun is None:
        order = StartRequest.from_file(os.environ[VARIABLE])
        # before pytest: its own options may import the program
        order.import_from_workspace()
        if {MIXED, FORKED_STARTS}.intersection(order.kinds):  # nothing is instrumented
            return
        _begun = _made(order)


def start(manager: pytest.PytestPluginManager) -> None:
    """Make this process a machine, if its environment orders one."""
    global _begun
    if VARIABLE in os.environ and not manager.has_plugin(NAME):
        order = StartRequest.from_file(os.environ[VARIABLE])
        if {MIXED, FORKED_STARTS}.intersection(order.kinds):
            order.take_out_of(os.environ)
            order.import_from_workspace()
            manager.register(MixedRuns(order) if MIXED in order.kinds else StartForks(order, _started_in_fork), NAME)
            return
        begin()
        machine, _begun = _begun, None
        assert machine is not None
        machine.order.take_out_of(os.environ)
        machine.order.import_from_workspace()  # also what pytest has put on the path since
        _register(machine, manager, NAME)


def _made(order: StartRequest) -> _Machine:
    machine = _Machine(order)
    if order.watched:
        machine.be_watched()
    machine.hook.install()
    for kind in machine.kinds.values():
        kind.begin()
    return machine


def _register(machine: _Machine, manager: pytest.PytestPluginManager, name: str | None = None) -> None:
    manager.register(machine, name)
    manager.register(machine.pauses)
    for kind in machine.kinds.values():
        if kind.plugin is not None:
            manager.register(kind.plugin)


def _started_in_fork(order: StartRequest, config: pytest.Config, arguments: list[str]) -> None:
    """Make this fork a machine, while pytest starts."""
    machine = _made(order)
    machine.learn(config, arguments)
    _register(machine, config.pluginmanager)


class _Machine:
    """The plugin: it takes the place of the loop that runs the tests."""

    def __init__(self, order: StartRequest):
        self.order = order  # which tests, and who asks
        self.board = Switchboard()
        self.containment = Containment(order.scratch)
        self.kinds = make_kinds(order.kinds, self.board, self._sources, self._name_of, self._is_test)
        self._scope = RecordedFiles(order.workspace, include_tests=True)  # until pytest's options are known
        # kinds may share one
        instruments = list(dict.fromkeys(kind.instrument for kind in self.kinds.values() if kind.instrument))
        alters = "switch" in self.kinds
        # a trace has probes for decisions of its own
        instruments = [*instruments, self.board] if alters else instruments
        self.hook = ExperimentHook(self._scope, instruments, order.altered)
        pausing = [one for one in (self.board, *instruments, *self.kinds.values()) if isinstance(one, Pausable)]
        self.pauses = Pauses(dict.fromkeys(pausing))
        self.items: dict[str, pytest.Item] = {}
        self._digests: dict[str, tuple[str, str] | None] = {}  # name and digest by path; None for what is not ours
        self._names: dict[str, str | None] = {}  # by path: None for what experiments may not alter
        self._modules: list[pytest.Module] = []
        self._errors: list[str] = []
        self._test_names: dict[pytest.Item, str] = {}
        self._excluded: dict[str, str] = {}
        self._examples: dict[str, int] = {}
        self._direct = DirectRuns()
        self._attempt = Attempt()
        self._exception = self._message = ""
        self._types: list[str] = []
        self._check: FailedCheck | None = None
        self._unaltered = False
        self._slow_fixtures: list[str] = []
        self._parameters: dict[str, dict[str, object]] = {}  # as the tests that run in this process get them

    # while pytest starts

    def be_watched(self) -> None:
        """Contain this process from now on if it loads altered files, or else note what it touches."""
        if self.order.altered:
            first: Request = json.loads(self.order.requests)[0]
            limit(first["memory"], first["file_size"])
        self.containment.install()
        if self.order.altered:
            self.containment.close_files()
        self.containment.begin(refuses=bool(self.order.altered), touched=self.order.touched)
        # altered code may end the process before any test is there
        atexit.register(self._answer_begin)

    def _answer_begin(self) -> None:
        """Say what there is before the first test, and what the process did by then."""
        forbidden, touched = self.containment.end() if self.order.watched else ("", [])
        greeting = self.greeting()
        if forbidden:
            greeting["forbidden"] = forbidden
        if touched:
            greeting["touched"] = touched
        if self.order.watched and not self.order.altered:
            greeting["modules"] = loaded_besides(self._is_of_workspace)
        self._answer(greeting)

    def _is_of_workspace(self, module: object) -> bool:
        path = getattr(module, "__file__", None)
        return isinstance(path, str) and self._scope(path) is not None

    def _answer(self, answer: MachineRunAnswer | Greeting) -> None:
        answers = os.open(self.order.answers, os.O_WRONLY | os.O_APPEND)
        os.write(answers, json.dumps(answer).encode() + b"\n")
        os.close(answers)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config, args: list[str]) -> Iterator[None]:
        """Leave pytest-cov out."""
        leave_out_coverage(early_config)
        self.learn(early_config, args)
        yield

    def learn(self, config: pytest.Config, arguments: list[str]) -> None:
        """Learn what test code is."""
        folder = str(config.invocation_params.dir)
        patterns = test_patterns(config.getini("python_files"), arguments, folder)
        self._scope = RecordedFiles(self.order.workspace, include_tests=True, patterns=patterns)
        take_tests(self._scope, arguments, folder)
        self.hook.move(self._scope)
        self._names.clear()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Iterator[None]:
        """Switch off what belongs to a whole run."""
        switch_off(config, OPTIONS_OF_WHOLE_RUNS)
        config.option.basetemp = os.path.join(self.order.scratch, "tmp")
        if self.order.files:
            config.args[:] = self.order.files
        yield

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep why something could not be collected, and which modules were."""
        self._modules += [one for one in report.result or () if isinstance(one, pytest.Module)]
        if report.failed and len(self._errors) < _MAX_ERRORS:
            said = str(report.longrepr).strip().splitlines()[-1].removeprefix("E ").strip()
            self._errors.append(f"{report.nodeid}: {said}")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Keep the tests that will be asked for, whatever other plugins do."""
        # before others deselect any, since the numbers count all tests of a name
        names = distinct_names({item: item.nodeid for item in items})  # as a recording names them
        yield
        wanted = frozenset(self.order.tests)
        self._test_names = {item: name for item in items if (name := names.get(item, item.nodeid)) in wanted}
        for item, name in self._test_names.items():
            self._examples[name] = _use_same_examples(item)
            for marker in item.iter_markers():
                if marker.name in self.order.excluded:
                    self._excluded[name] = marker.name
        items[:] = [item for item, name in self._test_names.items() if name not in self._excluded]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answer until nobody asks any more; the session has no end that others could write about."""
        self.items = {self._test_names[item]: item for item in session.items}
        for kind in self.kinds.values():
            kind.prepare()
        if not self.order.watched:
            self.containment.install()
        self.pauses.begin(session.config, lambda path: self._name_of(path) is not None)
        try:
            if self.order.channel < 0:
                self._run_all()
            else:
                self._serve()
        finally:
            os._exit(0)
        return True

    # what it says

    def greeting(self) -> Greeting:
        """What there is to know before the first request."""
        others = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
        return {
            "tests": list(self.items),
            "excluded": self._excluded,
            "threads": others,
            "by_unittest": [name for name in self.order.tests if name not in self.items and self._is_of_unittest(name)],
            "errors": self._errors,
            "sources": self._sources(),
            "left_out": self._left_out(),
        }

    def _is_of_unittest(self, name: str) -> bool:
        """Whether unittest may find a test that was not collected."""
        inside = name.split("::")[1:]
        loaded = (getattr(module, "_obj", None) for module in self._modules)  # `obj` would import it again
        spaces = [vars(module) for module in loaded if isinstance(module, ModuleType)]
        return any("load_tests" in space for space in spaces) or any(
            isinstance(found := space.get(one), type) and issubclass(found, unittest.TestCase)
            for space in spaces
            for one in inside[:1]
        )

    def _left_out(self) -> dict[str, str]:
        """Why files, or functions of them, could not be instrumented by now; they run as they are."""
        return {
            **{name: f"{tool} compiles functions of it in another form" for name, tool in self.hook.changed.items()},
            **{name: f"could not be instrumented: {why}" for name, why in self.hook.guard.failures.items()},
            **{
                name: "could not be instrumented: another tool loads it"
                for name in self.order.altered.keys() - self.hook.loaded_altered
                if name in self._sources()
            },
        }

    def _sources(self) -> dict[str, str]:
        """The files of the workspace that are loaded, with their digests.

        Each file is looked at once: children inherit what is known of those that were loaded before them.
        """
        found = {}
        for path in imported_files():
            if path not in self._digests:
                self._digests[path] = self._digest(path)
            if (known := self._digests[path]) is not None:
                found[known[0]] = known[1]
        return found

    def _digest(self, path: str) -> tuple[str, str] | None:
        """The name and the digest of a file of the workspace."""
        name = self._scope(path)
        if name is None:
            return None
        try:
            with open(path, "rb") as stream:
                return name, hashlib.sha256(stream.read()).hexdigest()
        except OSError:
            return None

    def _name_of(self, path: str) -> str | None:
        """The path of a file that experiments may alter relative to the workspace, None for any other.

        A run asks about each frame of a traceback. What was loaded when it was forked, such as pytest, needs no look at
        the disk.
        """
        if self._digests.get(path, _UNKNOWN) is None:
            return None
        if path not in self._names:
            self._names[path] = None if self.hook.is_test_code(path) else self.hook.scope(path)
        return self._names[path]

    def _is_test(self, name: str) -> bool:
        """Whether a file, relative to the workspace, is test code."""
        return self.hook.is_test_code(os.path.join(self.order.workspace, name))

    def _serve(self) -> None:
        gc.collect()
        gc.freeze()  # what is there is not touched by a collection, so children share it
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about forks
            MachineChildren(self.order.channel, self.run, self.containment, self._seconds).serve(self.greeting())

    def _seconds(self, request: Request) -> float:
        """How long a run may take: a property that is repaired goes through all of its examples."""
        more = self._examples.get(request["test"], 1) - 1
        return request["seconds"] + min(more * _EXAMPLE_S, _MAX_EXAMPLES_S)

    def _run_all(self) -> None:
        requests: list[Request] = json.loads(self.order.requests)
        self._answer_begin()
        if requests and not self.order.altered:
            limit(requests[0]["memory"], requests[0]["file_size"])
            self.containment.close_files()
        for request in requests:
            if request["test"] in self.items:
                self._answer(self.run(request, request["jobs"][0]))
            elif self.order.altered:  # its module can't be imported any more
                self._answer({"outcome": "error", "exception": "", "seconds": 0.0})

    # a run

    def run(self, request: Request, job: RunRequest, again: bool = False) -> MachineRunAnswer:
        """Run a test in this process, which has not run it before unless `again`."""
        item: Any = self.items[request["test"]]
        if again:
            _forget_last_run(item)
        self._give_parameters(item, again=again)
        self._attempt, self._exception, self._message, self._types = Attempt(), "", "", []
        self._check, self._unaltered = None, job["kind"] == "trace"
        self._slow_fixtures.clear()
        kind = self.kinds[job["kind"]]
        steps, examples = request["steps"], self._examples[request["test"]]  # a repaired test goes through them all
        self.board.limit(min(steps * examples, max(steps, MAX_DECISIONS)))
        if "input" in job:
            self.kinds["input"].apply(job["input"])
        check = job.get("check")
        watched = WatchedCheck(check) if check and not passes_only_by(check, getattr(item, "obj", None)) else None
        in_job = any(job.get(name) for name in _ALTERING) or bool(job.get("input", {}).get("given"))
        altered = kind.alters or in_job or bool(self.order.altered)
        self.containment.begin(refuses=altered, touched=request.get("touched", ()))
        began = time.perf_counter()
        kind.foresee(request["jobs"])
        try:
            kind.apply(job)  # new definitions are altered code, too
            if watched:
                watched.begin()
            began = time.perf_counter()
            outcome = self._outcome(item, directly=request.get("directly", False))
        except BaseException as error:  # one that ends pytest, which this one must not
            outcome, self._exception, self._message = "error", type(error).__name__, message_digest(error)
        seconds = time.perf_counter() - began
        forbidden, touched = self.containment.end()
        stopped = self.board.stopped
        self.board.leave()
        if watched and watched.end() and outcome == "passed":
            # it passed without the check that failed, so it repaired nothing
            outcome = "skipped"
        answer: MachineRunAnswer = {
            "outcome": "refused" if forbidden else "steps" if stopped else outcome,
            "exception": self._exception,
            "message": self._message,
            "seconds": seconds,
        }
        if forbidden:
            answer["forbidden"] = forbidden
        if touched:
            answer["touched"] = touched
        if self._types:
            answer["types"] = self._types
        if self._check:
            answer["check"] = self._check
        if self._slow_fixtures:
            answer["slow_fixtures"] = list(self._slow_fixtures)
        if left_out := self._left_out():
            answer["left_out"] = left_out
        answer.update(kind.take_back())  # type: ignore[typeddict-item]  # some of the same keys
        if "input" in job:
            self.kinds["input"].take_back()
        return answer

    def _outcome(self, item: pytest.Item, *, directly: bool) -> str:
        """Let pytest run a test, or run it directly where it is the same."""
        if not directly or not self._direct.can_run(item):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            return self._attempt.verdict
        ended = self._direct.run(item)
        if ended.error is not None and ended.outcome != "skipped":
            self._exception, self._message = type(ended.error).__name__, message_digest(ended.error)
        return "failed" if self._attempt.verdict == "failed" else ended.outcome  # a subtest may have failed

    def _give_parameters(self, item: Any, *, again: bool) -> None:
        """Let each run have lists of its own as parameters of the test, which the program may change."""
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if not again:
            changing = {name: value for name, value in parameters.items() if type(value) in _CHANGING}
            try:
                self._parameters[item.nodeid] = copy.deepcopy(changing)
            except Exception:  # of objects that can't be copied
                self._parameters[item.nodeid] = {}
        elif kept := self._parameters[item.nodeid]:
            parameters.update(copy.deepcopy(kept))

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
        """A report without the text of a failure, which takes longer to make than most tests take to run."""
        # all that follows is about what the example itself raised
        call.excinfo = _unwrapped(call.excinfo)
        failed = call.excinfo is not None and not isinstance(call.excinfo.value, pytest.skip.Exception)
        if failed and call.excinfo is not None:
            # the first phase that fails is what the test failed by
            self._exception = self._exception or call.excinfo.type.__name__
            self._message = self._message or message_digest(call.excinfo.value)
            # the first failing example of a property need not be the least
            if self._examples[self._test_names[item]] == 1:
                self._types = self._types or type_names(call.excinfo.value)
            if self._unaltered and self._check is None:
                name, is_test = call.excinfo.type.__name__, self.hook.is_test_code
                self._check = failed_check(call.excinfo.tb, name, str(item.path), is_test)
        outcome: Any = "failed" if failed else "passed" if call.excinfo is None else "skipped"
        when: Any = call.when
        return pytest.TestReport(
            item.nodeid, item.location, {}, outcome, None, when, duration=call.duration, start=call.start
        )

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        """Notice what several tests would share in a run by pytest itself, and what takes long."""
        began = time.perf_counter()
        yield
        if fixturedef.scope != "function" and time.perf_counter() - began >= _LONG_S:
            self._slow_fixtures.append(f"{fixturedef.argname} ({fixturedef.scope})")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a phase's report into account, and those of subtests."""
        self._attempt.add(report)


def _unwrapped(info: pytest.ExceptionInfo[BaseException] | None) -> pytest.ExceptionInfo[BaseException] | None:
    """What ended a phase of a test: of a doctest what its example raised, which nothing else tells."""
    if info is None:
        return None
    error, traceback = raised_by_example(info.value, info.tb)
    if error is info.value or traceback is None:
        return info
    return pytest.ExceptionInfo.from_exc_info((type(error), error, traceback))


def _forget_last_run(item: Any) -> None:
    """Let a test have fixtures of its own, and an instance of its class, if it is one that has these."""
    if hasattr(item, "_initrequest"):
        # otherwise the fixtures of the last run would be used again
        item._initrequest()
    if getattr(item, "cls", None) is not None:
        for name in ("_obj", "_instance"):
            vars(item).pop(name, None)


def _use_same_examples(item: Any) -> int:
    """Let all runs of a property of Hypothesis try the same examples, and end with the first that fails.

    How many examples it tries if none fails; 1 for any other test.
    """
    function: Any = getattr(item, "obj", None)
    function = getattr(function, "__func__", function)
    settings = getattr(function, "_hypothesis_internal_use_settings", None)
    if settings is not None:
        phases = [phase for phase in settings.phases if phase.name in ("explicit", "generate")]
        same = type(settings)(settings, derandomize=True, database=None, deadline=None, phases=phases)
        function._hypothesis_internal_use_settings = same
    return getattr(settings, "max_examples", 1)
