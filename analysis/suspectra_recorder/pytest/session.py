"""The hooks of pytest that record a session."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from _pytest.assertion import rewrite

from suspectra_recorder import early_start
from suspectra_recorder.activity import COLLECTION, TEST, Activity
from suspectra_recorder.distinct_names import distinct_names
from suspectra_recorder.errors import Problem
from suspectra_recorder.failures.explaining_functions import in_pytest, in_unittest
from suspectra_recorder.failures.explanations import Explanations
from suspectra_recorder.failures.failed_run import record_failure, report_problem, report_status
from suspectra_recorder.failures.hook_errors import HookErrors, contained, failed
from suspectra_recorder.failures.tracebacks import Tracebacks
from suspectra_recorder.folders import RecordingError
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.failure_guard import named
from suspectra_recorder.instrumentation.library_references import os, sys
from suspectra_recorder.instrumentation.standard_library import StandardLibrary
from suspectra_recorder.log.collection import describe
from suspectra_recorder.log.compaction import compact
from suspectra_recorder.log.stack import Stack
from suspectra_recorder.named_tests import take_tests
from suspectra_recorder.options import OPTIONS, SUSPECTS
from suspectra_recorder.probe_choice import ProbeChoice, choose
from suspectra_recorder.progress import ProgressWriter
from suspectra_recorder.pytest.assertions import instrument_rewritten
from suspectra_recorder.pytest.fixture_dependencies import SharedSetup, TestFiles
from suspectra_recorder.pytest.selection import ChosenTests
from suspectra_recorder.pytest.verdict import Attempts, failure_message
from suspectra_recorder.pytest.whole_run import (
    REPORTS,
    file_of_argument,
    folders_gone_through,
    leave_out_coverage,
    switch_off,
)
from suspectra_recorder.recorded_files import RecordedFiles, test_patterns
from suspectra_recorder.recorded_outcome import TestRecord
from suspectra_recorder.recorder import Recorder
from suspectra_recorder.settings import VARIABLE, RecordingSettings, inject_env, recording_folder, remove_env

__builtins__ = library_references.builtins

_FAILING = ("failed", "error")


def start(config: pytest.Config) -> None:
    """Record this process."""
    began = early_start.take()
    asked = RecordingSettings.from_json(os.environ[VARIABLE]) if VARIABLE in os.environ else RecordingSettings()
    remove_env(asked, os.environ)
    chosen = {option.name: option.combine([getattr(asked, option.name), *option.given(config)]) for option in OPTIONS}
    settings = replace(
        asked, workspace=asked.workspace or str(config.rootpath), run=asked.run or os.urandom(16).hex(), **chosen
    )
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if began is not None and began.suits(settings.recorder, counting=settings.counts):
        choice = began.choice
    else:
        choice = choose(settings.recorder, recording_folder(settings.workspace), counting=settings.counts)
    by_module = settings.by_module or _is_by_module(sys.argv)
    settings = replace(settings, recorder=choice.recorder, by_module=by_module)  # for the workers of pytest-xdist too
    files, folder = _named_files(config), str(config.invocation_params.dir)
    scope = RecordedFiles(
        settings.workspace,
        settings.sources,
        include_tests=settings.include_tests,
        patterns=test_patterns(config.getini("python_files"), files, folder),
    )
    take_tests(scope, files, folder)
    scope.mixed.update(os.path.realpath(os.path.join(folder, file.partition("::")[0])) for file in files)
    try:
        recorder = Recorder(
            scope,
            settings.run,
            worker,
            _invocation(config, by_module=by_module),
            counting=settings.counts,
            monitoring=choice.monitoring,
            early=began,
            later=settings.channel >= 0,
            activity=settings.activity,
        )
        session = _Session(config, settings, recorder, worker, choice)
    except Exception as error:
        if began is not None:
            began.close()
        problem = error.problem if isinstance(error, RecordingError) else failed("the start", named(error))
        # the tests run all the same
        config.pluginmanager.register(_NoRecording(settings, problem), "suspectra-session")
        return
    if session.by_itself:
        leave_out_coverage(config)
    config.pluginmanager.register(session, "suspectra-session")
    config.pluginmanager.register(_Reports(session), "suspectra-reports")
    config.pluginmanager.register(_ActivityHooks(recorder.activity), "suspectra-activity")
    config.add_cleanup(session.end)
    # from here on an error of the recorder is a problem in the recording
    session.attempt("the start", lambda: recorder.start(launched=bool(asked.environment)))


def failed_to_start(config: pytest.Config, error: BaseException) -> None:
    """Record that pytest ended by an exception before the recording began."""
    settings = RecordingSettings.from_json(os.environ.get(VARIABLE, ""))
    remove_env(settings, os.environ)
    if (began := early_start.take()) is not None:
        began.close()
    if settings.workspace and settings.channel < 0:
        record_failure(settings, lambda scope: describe(error, scope.name, scope.root))


def failure_of_pytest(around: BaseException | None) -> BaseException | None:
    """Return the exception with which pytest ends, which may be an exit because of something that is missing.

    None if pytest ends in another way, such as by `pytest.exit` or `sys.exit(0)`.
    """
    error = sys.exc_info()[1]
    failed = error.code not in (None, 0) if isinstance(error, SystemExit) else isinstance(error, Exception)
    if error is around or not failed or isinstance(error, pytest.exit.Exception):
        return None
    return error


class _NoRecording:
    """Stands in for a session that can't be recorded: the tests run normally, and the reason is printed."""

    def __init__(self, settings: RecordingSettings, problem: Problem):
        self.settings = settings
        self.problem = problem

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.settings.status:
            terminalreporter.write_line(f"suspectra: {self.problem}", yellow=True)

    def pytest_unconfigure(self) -> None:
        report_problem(self.settings, self.problem)


@contained
class _Session:
    def __init__(
        self, config: pytest.Config, settings: RecordingSettings, recorder: Recorder, worker: str, choice: ProbeChoice
    ):
        self.config = config
        self.settings = settings
        self.recorder = recorder
        self.worker = worker
        self.choice = choice
        self.numbered: dict[pytest.Item, str] = {}  # whose node id an earlier one has
        self.current = ""
        self.attempts = Attempts()
        self.setups = 0
        self.reported = False
        self.whole: set[str] = set()
        self.broken: set[str] = set()
        self.tried: set[str] = set()
        self.failed = self.ended = self.interrupted = False
        self.attempt = HookErrors(recorder).attempt
        self.around = sys.exc_info()[1]  # of a program that runs pytest while it handles an exception
        self.selection = ChosenTests.read(settings.selection)
        self.new = self.deselected = 0
        self.progress = ProgressWriter(settings.progress)
        self.test_files = TestFiles(recorder)
        self.shared = SharedSetup(recorder, self.attempt)
        self.shares: tuple[str, ...] = ()
        self.tracebacks = Tracebacks(recorder.scope)
        self.stack: Stack | None = None
        self.undo = instrument_rewritten(rewrite, recorder.hook, recorder.imports.capture)
        self.explanations = Explanations(recorder)
        in_pytest(self.explanations, rewrite, config)
        in_unittest(self.explanations, recorder.imports.when_executed)

    @property
    def by_itself(self) -> bool:
        """Whether an editor runs some of the tests."""
        return self.selection is not None and self.selection.by_itself

    # before the tests

    @pytest.hookimpl(hookwrapper=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Iterator[None]:
        """Keep the reports of the last run of all tests."""
        if self.by_itself:
            switch_off(config, REPORTS)
        yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        if self.selection is not None:
            self.selection.shorten(self.config)
        manager = self.config.pluginmanager
        if manager.has_plugin("dsession"):  # the workers of pytest-xdist are started after this
            settings = replace(self.settings, activity="")  # it says itself which worker was killed by which test
            if settings.environment:
                inject_env(settings, os.environ)
            else:  # the workers find the plugin as this process did
                os.environ[VARIABLE] = settings.to_json()
        elif self.settings.children and self.settings.channel < 0:
            self.recorder.record_children()

    def begin_run(self, selection: ChosenTests, progress: str, session: pytest.Session) -> None:
        """Record some of the collected tests, in the process that was asked to run them."""
        self.recorder.open_log()
        if self.settings.children:
            self.recorder.record_children()
        self.selection, self.progress = selection, ProgressWriter(progress)
        selection.shorten(self.config)
        self.new = selection.apply(session.items, self.config, self._name)
        self.progress.collected(len(session.items))
        self.recorder.planned(len(session.items))

    def pytest_report_header(self) -> str | None:
        if self.settings.status or self.worker:
            return None
        how = " by sys.monitoring" if self.choice.monitoring else ""
        return f"suspectra: recording{how} to {os.path.relpath(self.recorder.log.folder, self.config.rootpath)}"

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> Iterator[None]:
        if isinstance(report, pytest.CollectReport):
            self._not_collected(call.excinfo.value, node.nodeid, str(getattr(node, "path", "")))
        with self.explanations.capture():
            yield

    def pytest_internalerror(self, excinfo: Any) -> None:
        self._not_collected(excinfo.value)

    def _not_collected(self, error: BaseException, collector: str = "", home: str = "") -> None:
        """Record a collection error; without a collector the whole run failed."""
        scope = self.recorder.scope
        self.failed = self.failed or not collector
        self.recorder.not_collected(describe(error, scope.name, scope.root, collector=collector, home=home))

    def _note_failure(self) -> None:
        """Record an exception that ends pytest, such as a usage error or a conftest that can't be imported."""
        if self.failed or (error := failure_of_pytest(self.around)) is None:
            return
        if not (self.reported and isinstance(error, SystemExit)):  # a plugin may end all by it after the tests
            self._not_collected(error)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        file, _, inner = report.nodeid.partition("::")
        # with --lf pytest leaves out files in which nothing failed: an empty result says nothing of these
        if report.nodeid and (report.failed or report.result or not self._last_failed):
            self.tried.add(report.nodeid)
        if report.failed:
            self.broken.add(file)
        # a module outside of pytest's root is not found by its name
        elif not inner and (file.endswith(".py") or os.path.isfile(os.path.join(str(self.config.rootpath), file))):
            self.whole.add(file)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        names = distinct_names({item: item.nodeid for item in items})  # before any of them is deselected
        self.numbered = {item: name for item, name in names.items() if name != item.nodeid}
        yield
        # each worker of pytest-xdist collects the same
        if self.worker in ("", "gw0"):
            root = str(self.config.rootpath)
            # a file of which single tests are named is collected, but not as a whole
            partly = {file_of_argument(a, root) for a in self.config.args if "::" in a}
            # files that were collected in part, or not at all, keep their other recorded tests
            whole = set() if self._last_failed else self.whole - self.broken - partly
            files: dict[str, list[str]] = {f: [] for f in sorted(whole)}
            for name in names.values():
                file = name.split("::")[0]
                if file in files:
                    files[file].append(name)
            through = folders_gone_through(self.config, self.recorder.scope.root)
            self.recorder.collected(files, {"", *through, *self._all_tried(names.values(), partly)})
        if self.selection is not None:
            self.new = self.selection.apply(items, self.config, self._name)
        for item in items:
            self._files_of(item)  # record them now, after they were imported
        self.test_files.imported()

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self.deselected += len(items)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        # each worker of pytest-xdist collects all tests, and the process that starts them none
        if self.worker in ("", "gw0") and not self.config.pluginmanager.has_plugin("dsession"):
            self.progress.collected(len(session.items))
        if not self.config.pluginmanager.has_plugin("dsession"):
            self.recorder.planned(len(session.items))

    @property
    def _last_failed(self) -> bool:
        """Whether pytest leaves out files in which nothing failed."""
        return bool(getattr(self.config.option, "lf", False))

    def _all_tried(self, names: Iterable[str], partly: set[str]) -> set[str]:
        """The node ids that were tried; see :class:`suspectra_recorder.log.history.WholeFiles`."""
        tried = set()
        for name in {*self.tried, *names}:
            file, *inner = name.split("::")
            if file in partly or self._last_failed:
                tried |= {"::".join([file, *inner[:depth]]) for depth in range(1, len(inner) + 1)} | {f"{file}::"}
            elif not inner:
                tried.add(file)
        return tried

    # each test

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, None]:
        self.recorder.begin()
        self.current, self.attempts, self.setups = item.nodeid, Attempts(), 0
        self.shares, self.stack = (), None
        self.shared.begin()
        self.explanations.begin()
        outcome = yield
        self.current = ""
        # before the record, which names what is shared
        explained = self.explanations.end()
        if outcome.excinfo is not None or not self.attempts.all:
            self.recorder.discard()  # interrupted: the test did not end
            return
        shares = (*self.shares, *explained)
        if self.stack is not None and self.stack.is_missing_fixture:
            self.recorder.restart_attempt()  # what other fixtures ran before has nothing to do with it
            shares = ()
        last = self.attempts.last
        seconds = sum(attempt.seconds for attempt in self.attempts.all)
        self.recorder.test(
            TestRecord(
                self._name(item),
                last.verdict,
                last.phases,
                last.message,
                seconds,
                self._location(item),
                self.attempts.flaky,
                shares,
                self.stack.saying(last.message) if self.stack is not None and last.verdict in _FAILING else None,
            ),
            self._files_of(item),
        )
        self.progress.ended(last.verdict in _FAILING)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self.setups += 1
        self.stack = None
        # a plugin runs the test again in the same protocol
        if self.setups > 1:
            self.recorder.restart_attempt()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        # before the teardown, which may remove fixtures
        self.shares = self.shared.used_by(item)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, None]:
        if self.current:
            yield from self.shared.set_up(fixturedef, request)
        else:
            yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_post_finalizer(self, fixturedef: Any) -> None:
        self.shared.torn_down(fixturedef)

    def failed_phase(self, item: pytest.Item, call: Any, report: pytest.TestReport) -> None:
        """Note the stack of the first phase or subtest that ended with an exception, as that of the test."""
        if report.failed and call.when != "call" and call.excinfo is not None:
            self.shared.failed([entry.frame.code.raw for entry in call.excinfo.traceback])
        # a teardown may fail for what the test left behind
        if self.stack is None and report.failed and item.nodeid == self.current and call.excinfo is not None:
            error, traceback = call.excinfo.value, call.excinfo.tb
            message = getattr(getattr(report.longrepr, "reprcrash", None), "message", "")
            assertion = issubclass(type(error), pytest.fail.Exception)
            function = str(getattr(item, "originalname", item.name))
            self.stack = self.tracebacks.stack(error, traceback, function, assertion=assertion).saying(message)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.nodeid == self.current:
            self.attempts.add(report)
        elif report.when == "???":  # type: ignore[comparison-overlap] # pytest-xdist: the worker died running it
            message = failure_message(report)
            self.recorder.lost(TestRecord(report.nodeid, "failed", {"call": "failed"}, message))
            self.progress.ended(failed=True)

    # after the tests

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.choice.objection and not self.settings.status:
            terminalreporter.write_line(f"suspectra: {self.choice.objection}", yellow=True)
        asked = not self.settings.status and SUSPECTS.combine(SUSPECTS.given(self.config))
        if asked and any(map(terminalreporter.stats.get, _FAILING)):
            with StandardLibrary():
                from suspectra_recorder.pytest.first_suspects import show
            show(terminalreporter, self.settings.workspace)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        self.interrupted = not issubclass(excinfo.type, pytest.Session.Interrupted)  # by which pytest ends a run itself

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.selection and self.selection.left_out:
            session.exitstatus = pytest.ExitCode.OK  # no test is affected, which is a success
        self.test_files.imported()
        self.recorder.outside()
        self._note_failure()
        self.report()  # a worker of pytest-xdist may be killed after this

    def pytest_unconfigure(self) -> None:
        self.end()

    def end(self) -> None:
        """End the recording, also if pytest never started the session."""
        if self.ended:
            return
        self.ended = True
        if not self.interrupted and not self.worker:
            self.recorder.ended()
        undo = (self.explanations.undo, self.undo)
        for step in (*undo, self._note_failure, self.recorder.stop, self.report, self._compact):
            self.attempt("the end", step)

    def _compact(self) -> None:
        if not self.worker and self.settings.channel < 0:  # somebody waits for the process that was asked
            compact(self.recorder.log.folder)

    def report(self) -> None:
        if not self.reported:
            self.reported = True
            status = {"tests": self.recorder.tests, "new": self.new, "worker": self.worker}
            status["deselected"], status["planned"] = self.deselected, self.recorder.plan
            status["interrupted"] = self.interrupted
            status["lost"], status["stopped"] = self.recorder.lost_tests, self.recorder.log.stopped
            status["suspects"] = self.recorder.has_suspects
            status["errors"] = [error.as_dict() for error in self.recorder.errors]
            report_status(
                self.settings, {**status, "monitoring": self.choice.monitoring, "objection": self.choice.objection}
            )

    def _name(self, item: pytest.Item) -> str:
        return self.numbered.get(item, item.nodeid)

    def _files_of(self, item: pytest.Item) -> tuple[int, ...]:
        return self.test_files.numbers(str(item.path), parted=isinstance(item, pytest.Function))

    def _location(self, item: pytest.Item) -> tuple[str, int] | None:
        file, line, _ = item.location
        name = self.recorder.scope.name(os.path.join(str(self.config.rootpath), file))
        return None if name is None else (name, (line or 0) + 1)


class _Reports:
    """Separates the reporting of failures from tests, and notes where tests failed.

    Without a failure it does nothing, as it is called six times per test.
    """

    def __init__(self, session: _Session):
        self.explanations = session.explanations
        self.session = session

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Generator[None, Any, None]:
        skipped = call.excinfo is not None and issubclass(call.excinfo.type, pytest.skip.Exception)
        if skipped or (call.excinfo is None and not getattr(item, "_excinfo", None)):  # the latter is unittest's
            yield
        else:
            with self.explanations.capture():
                outcome = yield
            if outcome.excinfo is None:
                report = outcome.get_result()
                self.session.attempt("pytest_runtest_makereport", self.session.failed_phase, item, call, report)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> Iterator[None]:
        if getattr(report, "outcome", "") in ("passed", "skipped"):
            yield
        else:
            with self.explanations.capture():
                yield


class _ActivityHooks:
    """Notes which test runs, and what is being collected."""

    def __init__(self, activity: Activity):
        self._activity = activity

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        """Note what is being collected."""
        with self._activity.during(COLLECTION, collector.nodeid, str(collector.path)):
            yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note which test runs."""
        with self._activity.during(TEST, item.nodeid, str(item.path), (item.location[1] or 0) + 1):
            yield


def _is_by_module(started: Sequence[str]) -> bool:
    """Whether Python was told to run a module, as in ``python -m pytest``: then the current folder is on the path."""
    return bool(started) and os.path.basename(started[0]) == "__main__.py"


def _named_files(config: pytest.Config) -> list[str]:
    """What pytest collects since it is named.

    Files, folders and node ids. Empty where doctests are collected, too: then the files are not only tests.
    """
    options = getattr(config, "known_args_namespace", None) or config.option
    named: list[str] = getattr(options, "file_or_dir", None) or config.getini("testpaths")
    return [] if getattr(options, "doctestmodules", False) else named


def _invocation(config: pytest.Config, *, by_module: bool) -> dict[str, object]:
    """Say how pytest was started."""
    arguments = [str(argument) for argument in config.invocation_params.args]
    return {"pytest": pytest.__version__, "arguments": arguments, "by_module": by_module}
