"""Recording of unittest. There is no runner or result class of our own, so the output of the tests stays the same.

Tests are recorded whether they are run by ``python -m unittest`` or by a script. Only the standard library is used, so
pytest need not be installed.
"""

from __future__ import annotations

import atexit
import inspect
import unittest
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import loader as loading
from unittest import suite as suites

from suspectra_recorder.activity import TEST
from suspectra_recorder.distinct_names import distinct_names
from suspectra_recorder.failures.explaining_functions import in_unittest
from suspectra_recorder.failures.explanations import Explanations
from suspectra_recorder.failures.failed_run import report_problem, report_status
from suspectra_recorder.failures.hook_errors import HookErrors
from suspectra_recorder.failures.tracebacks import Tracebacks
from suspectra_recorder.folders import RecordingError, folder_name
from suspectra_recorder.instrumentation.library_references import os, sys, time
from suspectra_recorder.log.collection import CollectionError, describe, one_line
from suspectra_recorder.log.compaction import compact
from suspectra_recorder.log.stack import Stack
from suspectra_recorder.named_tests import take_tests
from suspectra_recorder.probe_choice import choose
from suspectra_recorder.progress import ProgressWriter
from suspectra_recorder.pytest.fixture_dependencies import TestFiles
from suspectra_recorder.pytest.selection import ChosenTests
from suspectra_recorder.recorded_files import RecordedFiles
from suspectra_recorder.recorded_outcome import TestRecord
from suspectra_recorder.recorder import Recorder
from suspectra_recorder.settings import VARIABLE, RecordingSettings, recording_folder, remove_env
from suspectra_recorder.unittest.results import listen
from suspectra_recorder.unittest.suites import leave_out, succeed_without_tests, tests_of

PATTERNS = ("test*.py", "*_test.py")
_MAX_MESSAGE = 500
_OF_MODULES = ("tearDownModule",)
_TEARDOWNS = ("tearDownClass", *_OF_MODULES)
_ALL = "test*.py"  # the pattern that finds all modules with tests
_OWN = "unittest.loader"  # the module of the tests that stand for a module that can't be imported


def start() -> None:
    """Record this process until it ends."""
    settings = RecordingSettings.from_json(os.environ[VARIABLE])
    remove_env(settings, os.environ)
    choice = choose(settings.recorder or "auto", recording_folder(settings.workspace), counting=settings.counts)
    scope = RecordedFiles(settings.workspace, settings.sources, include_tests=settings.include_tests, patterns=PATTERNS)
    about = {"runner": "unittest", "arguments": sys.orig_argv[1:], "folder": _started_in(settings.workspace)}
    try:
        recorder = Recorder(
            scope,
            settings.run,
            "",
            about,
            counting=settings.counts,
            monitoring=choice.monitoring,
            activity=settings.activity,
        )
    except RecordingError as error:
        report_problem(settings, error.problem)
        return
    session = _Session(replace(settings, recorder=choice.recorder), recorder, choice.monitoring, choice.objection)
    session.install()
    recorder.start()
    if settings.children:
        recorder.record_children()
    # `unittest.main` ends the process by an exception, and a script may go on after it
    atexit.register(session.end)


def _started_in(workspace: str) -> str:
    """The current folder relative to the workspace: a script, or a module to import, is found from there."""
    try:
        folder = os.path.relpath(os.getcwd(), os.path.realpath(workspace))
    except (OSError, ValueError):  # it is gone, or on another drive
        return ""
    return "" if folder == os.curdir else folder


class _Outcome:
    """The outcome of one test, from the notifications of its result object."""

    def __init__(self, stack_of: Callable[..., Stack | None]) -> None:
        self.verdict = ""
        self.message = ""
        self.stack: Stack | None = None
        self._stack_of = stack_of

    def take(self, verdict: str, message: str = "") -> None:
        """Take one notification of the result object. Nothing replaces a failure."""
        if self.verdict not in ("failed", "error"):
            self.verdict, self.message = verdict, one_line(message, _MAX_MESSAGE)

    def fail(self, error: Any, *, assertion: bool = False, subtest: Any = None) -> None:
        """The result object was notified of an exception; the first one is where the test failed."""
        message = _message(error)
        if self.verdict not in ("failed", "error"):
            self.stack = self._stack_of(error, message, assertion=assertion)
        self.take("failed", f"{subtest._subDescription()} {message}" if subtest is not None else message)

    def listen(self, result: Any, explanations: Explanations) -> Callable[[], None]:
        """Follow the notifications of a result object, and capture the code that explains failures separately."""
        handlers: dict[str, Callable[..., None]] = {
            "addSuccess": lambda test: self.take("passed"),
            "addFailure": lambda test, error: self.fail(error, assertion=True),
            "addError": lambda test, error: self.fail(error),
            "addSkip": lambda test, reason: self.take("skipped", str(reason)),
            "addExpectedFailure": lambda test, error: self.take("xfailed", _message(error)),
            "addUnexpectedSuccess": lambda test: self.take("failed", "it passed although a failure was expected"),
            "addSubTest": lambda test, subtest, error: self.fail(error, subtest=subtest) if error else None,
        }
        return listen(result, handlers, explanations)


def _doctest(test: Any) -> Any:
    """The examples that a test runs; None for a test that is no doctest."""
    return getattr(test, "_dt_test", None)


def _message(error: Any) -> str:
    kind, value = error[0], error[1]
    try:
        text = str(value)
    except Exception:  # from the program's own __str__
        text = ""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return f"{kind.__name__}: {first}" if first else kind.__name__


class _Session:
    """One process that runs tests of unittest."""

    def __init__(self, settings: RecordingSettings, recorder: Recorder, monitoring: bool, objection: str):
        self.settings, self.recorder = settings, recorder
        self.monitoring, self.objection = monitoring, objection
        self.errors = HookErrors(recorder)
        self.files = TestFiles(recorder)
        self.running = False
        self.whole: dict[str, None] = {}  # the files of modules that were loaded with all of their tests
        self.broken: dict[str, None] = {}
        self.tried: dict[str, None] = {}  # the names that were loaded, under which an earlier run may have failed to
        self.loading = ""  # the name that the loader is asked for
        self.unloaded: dict[int, tuple[Any, CollectionError]] = {}  # by id: tests that stand for what can't be loaded
        self.shared: dict[type | str, str] = {}  # by class or module: the name of what its setup ran
        self.names: dict[int, str] = {}  # by id, of the tests of the suite that runs
        self.set_up: type | None = None  # the class that is set up: a function may make several of one name
        self.selection = ChosenTests.read(settings.selection) or ChosenTests({}, ())
        self.known = {*self.selection.left_out, *self.selection.chosen}
        recorded = {*self.known, *self.selection.known}
        self.teardowns = {name for name in recorded if name.rpartition("::")[2] in _TEARDOWNS}
        self.progress = ProgressWriter(settings.progress)
        self.explanations = Explanations(recorder)
        self.tracebacks = Tracebacks(recorder.scope)
        self.new = 0
        self.interrupted = False
        self.deselected: int | None = None  # None until a suite runs in this process

    def install(self) -> None:
        """Patch unittest so that its tests are recorded."""
        in_unittest(self.explanations, self.recorder.imports.when_executed)
        self._wrap(unittest.TestCase, "run", self._run_test)
        self._wrap(suites.TestSuite, "_handleModuleFixture", self._set_up)
        self._wrap(suites.TestSuite, "_handleClassSetUp", self._set_up)
        self._wrap(suites.TestSuite, "_tearDownPreviousClass", self._tear_down_class)
        self._wrap(suites.TestSuite, "_handleModuleTearDown", self._tear_down_module)
        self._wrap(suites.BaseTestSuite, "run", self._run_suite)
        self._wrap(suites.TestSuite, "run", self._run_suite)
        self._wrap(loading.TestLoader, "loadTestsFromModule", self._load_module)
        self._wrap(loading.TestLoader, "loadTestsFromName", self._load_name)
        self._wrap(loading.TestLoader, "discover", self._discover)
        self._wrap(loading, "_make_failed_test", self._fail_to_load)

    def _wrap(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        setattr(owner, name, self.errors.around(name, around, getattr(owner, name)))

    # loading

    def _load_module(self, load: Callable[..., Any], loader: Any, module: Any, *arguments: Any, **more: Any) -> Any:
        # with patterns (-k) only a part of its tests is loaded
        if not getattr(loader, "testNamePatterns", None) and (name := self._file(module)) is not None:
            self.whole[name] = None
            self.tried[module.__name__] = None
        return load(loader, module, *arguments, **more)

    def _discover(self, discover: Callable[..., Any], loader: Any, *arguments: Any, **more: Any) -> Any:
        # as it was called: by position or by name
        given = inspect.signature(discover).bind(loader, *arguments, **more).arguments
        start, all_named = given["start_dir"], given.get("pattern", _ALL) == _ALL
        if all_named and not getattr(loader, "testNamePatterns", None) and os.path.isdir(start):
            self.tried[folder_name(os.path.abspath(start), self.recorder.scope.root)] = None
        return discover(loader, *arguments, **more)

    def _load_name(self, load: Callable[..., Any], loader: Any, name: str, *arguments: Any, **more: Any) -> Any:
        outer, self.loading = self.loading, name
        self.tried[name] = None
        try:
            return load(loader, name, *arguments, **more)
        finally:
            self.loading = outer

    def _fail_to_load(self, make: Callable[..., Any], name: str, exception: Any, *arguments: Any, **more: Any) -> Any:
        """Remember why something can't be loaded until the test that unittest makes in its place is run.

        The loader also makes such a test when it merely tries to import a class as a module.
        """
        made = make(name, exception, *arguments, **more)
        error = self._describe(sys.exc_info()[1] or exception, self.loading or name)
        # with the test, so that no other one gets its identity
        self.unloaded.update((id(test), (test, error)) for test in tests_of(made[0]))
        return made

    def _describe(self, error: BaseException, name: str) -> CollectionError:
        """The error that keeps a module, or a name in it, from being loaded by its dotted name."""
        scope, words = self.recorder.scope, name.split(".")
        # the longest part of the name that is a file; the rest is in it
        for count in range(len(words), 0, -1):
            base = os.path.join(*words[:count])
            paths = (os.path.join(p, base) + end for p in sys.path for end in (f"{os.sep}__init__.py", ".py"))
            found = next(filter(os.path.isfile, paths), None)
            if found and (file := scope.name(found)):
                inner = words[count:] if isinstance(error, AttributeError) else []  # else it is all of the module
                return describe(error, scope.name, scope.root, collector="::".join([file, *inner]), home=found)
        return describe(error, scope.name, scope.root, collector=name)

    def _report_unloaded(self, suite: Any) -> None:
        for test in tests_of(suite):
            if known := self.unloaded.pop(id(test), None):
                self.broken[known[1].collector] = None
                self.recorder.not_collected(known[1])

    # running

    def _run_suite(self, run: Callable[..., Any], suite: Any, result: Any, *arguments: Any, **more: Any) -> Any:
        if self.running or getattr(result, "_testRunEntered", False):
            return run(suite, result, *arguments, **more)  # a part of what is being run
        # without the tests that unittest makes of what it could not load
        tests = [test for test in tests_of(suite) if type(test).__module__ != _OWN]
        take_tests(self.recorder.scope, map(self._path, tests), "")
        names = self.names = distinct_names({id(test): self._name(test) for test in tests})
        left_out = {i for i, name in names.items() if self._is_needless(name)}
        around = {owner for i, name in names.items() if i not in left_out for owner in _owners(name)}
        # a teardown that failed still counts where its class or module does not run now
        untried = [name for name in self.teardowns if name.rpartition("::")[0] not in around]
        self._report_unloaded(suite)
        self._report_collected([*names.values(), *untried])
        self.deselected = len(left_out) + (self.deselected or 0)
        if left_out:
            leave_out(suite, left_out)
            if len(left_out) == len(names) and self.selection.left_out:
                succeed_without_tests()
        self.new += sum(name not in self.known for name in names.values()) if self.known else 0
        self.progress.collected(len(tests) - len(left_out))
        self.recorder.planned(self.recorder.plan + len(tests) - len(left_out))
        classes: dict[str, list[Any]] = {}
        for test in tests:
            if id(test) not in left_out:
                classes.setdefault(_class_name(type(test)), []).append(test)
        undo = self._listen_between(result, classes)
        try:
            return run(suite, result, *arguments, **more)
        except KeyboardInterrupt:
            self.interrupted = True
            raise
        finally:
            undo()
            self.names = {}
            self.recorder.outside()

    def _is_needless(self, name: str) -> bool:
        """Whether a test may be left out. It may not if the teardown of its class or module failed."""
        only = self.selection.only
        if only is not None:
            return name not in only
        needed = any(f"{owner}::{what}" in self.teardowns for owner in _owners(name) for what in _TEARDOWNS)
        return not needed and self.selection.left_out.get(name) == sys.version.split()[0]

    def _report_collected(self, names: list[str]) -> None:
        files: dict[str, list[str]] = {name: [] for name in self.whole if name not in self.broken}
        for name in names:
            file = name.partition("::")[0]
            if file in files:
                files[file].append(name)
        tests_of = (f"{name.partition('::')[0]}::" for name in names)
        self.recorder.collected(files, {"", *self.whole, *self.broken, *self.tried, *tests_of})

    def _listen_between(self, result: Any, classes: dict[str, list[Any]]) -> Callable[[], None]:
        """Record setups and teardowns of classes and modules that fail or skip all tests."""
        attempt = self.errors.attempt

        def record_error(verdict: str, test: Any, message: str, error: Any = None) -> None:
            if not self.running and isinstance(test, suites._ErrorHolder):  # type: ignore[attr-defined] # private
                what, _, where = test.id().partition(" (")
                stack = self._stack(what, error, message) if error is not None else None
                self._ended_around(verdict, what, where.rstrip(")"), classes, one_line(message, _MAX_MESSAGE), stack)

        return listen(
            result,
            {
                "addError": lambda test, error: attempt(
                    "addError", record_error, "error", test, _message(error), error
                ),
                "addSkip": lambda test, reason: attempt("addSkip", record_error, "skipped", test, str(reason)),
            },
            self.explanations,
        )

    def _stack(self, function: str, error: Any, message: str, *, assertion: bool = False) -> Stack | None:
        """Where an exception was raised; None if that can't be found out."""

        def stack() -> Stack:
            return self.tracebacks.stack(error[1], error[2], function, assertion=assertion).saying(message)

        found: Stack | None = self.errors.attempt("the traceback", stack)
        return found

    def _ended_around(
        self, verdict: str, what: str, where: str, classes: dict[str, list[Any]], message: str, stack: Stack | None
    ) -> None:
        """Record the tests of a class or module whose setup failed or skipped them, or the failure of its teardown."""
        rows = self.recorder.hook.harvest()
        tests = [t for name, own in classes.items() if name == where or name.startswith(f"{where}.") for t in own]
        setup = what.startswith("setUp")
        # its message has only the name of the class, which others may have, too
        if what == "setUpClass":
            tests = [test for test in tests if type(test) is self.set_up]
        names = [self._name(test) for test in tests]
        if not setup:  # the tests are over, and were recorded
            owners = _owners(names[0]) if names else (where, where)
            names = [f"{owners[what in _OF_MODULES]}::{what}"]
        phases = {"setup" if setup else "teardown": {"error": "failed"}.get(verdict, verdict)}
        for name, test in zip(names, tests or [None], strict=False):
            self.recorder.hook.mark(*rows)
            location, files = (self._location(test), self._files(test)) if test is not None else (None, ())
            shares = self._shares(test) if test is not None else ()
            record = TestRecord(name, verdict, phases, message, 0.0, location, shares=shares, stack=stack)
            self.recorder.test(record, files)
            if test is not None:
                self.progress.ended(failed=verdict == "error")
        self.recorder.hook.mark(*rows)

    def _set_up(self, set_up: Callable[..., Any], suite: Any, test: Any, result: Any) -> Any:
        """The setup of a class or module belongs to each of its tests."""
        if self.running or getattr(result, "_previousTestClass", None) is type(test):
            return set_up(suite, test, result)
        self.recorder.outside()
        # its message names the class, of which there may be several
        self.set_up = type(test) if set_up.__name__ == "_handleClassSetUp" else None
        began = self.recorder.begin_apart()
        try:
            with self._doing(test):
                return set_up(suite, test, result)
        finally:
            if name := self.recorder.end_setup(began):
                self.shared[self.set_up or type(test).__module__] = name

    def _tear_down_class(self, tear_down: Callable[..., Any], suite: Any, test: Any, result: Any) -> Any:
        owner = getattr(result, "_previousTestClass", None)
        return self._tear_down(owner if owner is not type(test) else None, tear_down, suite, test, result)

    def _tear_down_module(self, tear_down: Callable[..., Any], suite: Any, result: Any) -> Any:
        owner = getattr(getattr(result, "_previousTestClass", None), "__module__", None)
        return self._tear_down(owner, tear_down, suite, result)

    def _tear_down(self, owner: type | str | None, tear_down: Callable[..., Any], *arguments: Any) -> Any:
        """A teardown counts for no test, unless it fails and is recorded as one."""
        if self.running or owner is None:
            return tear_down(*arguments)
        began = self.recorder.begin_apart()
        try:
            return tear_down(*arguments)
        finally:
            self.recorder.end_teardown(began, self.shared.get(owner, ""))

    def _run_test(self, run: Callable[..., Any], test: Any, result: Any = None) -> Any:
        # a test may run other tests, which belong to it
        if self.running or result is None or type(test).__module__ == _OWN:
            return run(test, result)
        self.recorder.begin()
        self.running = True
        outcome, began = _Outcome(partial(self._stack, getattr(test, "_testMethodName", ""))), time.perf_counter()
        self.explanations.begin()
        undo = outcome.listen(result, self.explanations)
        try:
            with self._doing(test):
                return run(test, result)
        except BaseException:
            outcome.verdict = ""  # interrupted: the test did not end
            raise
        finally:
            self.running = False
            undo()
            if outcome.verdict or _ended(outcome):
                self._record(test, outcome, time.perf_counter() - began)
            else:
                self.recorder.discard()

    def _doing(self, test: Any) -> AbstractContextManager[None]:
        _, line = self._location(test) or ("", 1)
        return self.recorder.activity.during(TEST, self._name(test), self._path(test), line)

    def _record(self, test: Any, outcome: _Outcome, seconds: float) -> None:
        self.progress.ended(failed=outcome.verdict == "failed")
        explained = self.explanations.end()
        self.recorder.test(
            TestRecord(
                self._name(test),
                outcome.verdict,
                {"call": {"xfailed": "skipped", "error": "failed"}.get(outcome.verdict, outcome.verdict)},
                outcome.message if outcome.verdict != "passed" else "",
                seconds,
                self._location(test),
                False,
                (*self._shares(test), *explained),
                None if _doctest(test) else outcome.stack,  # it raises the same whatever its examples raised
            ),
            self._files(test),
        )

    def _shares(self, test: Any) -> tuple[str, ...]:
        return tuple(filter(None, (self.shared.get(type(test)), self.shared.get(type(test).__module__))))

    # names

    def _file(self, module: Any) -> str | None:
        path = getattr(module, "__file__", None)
        return self.recorder.scope.name(path) if path else None

    def _path(self, test: Any) -> str:
        # its class is that of the module `doctest`
        if example := _doctest(test):
            return example.filename or ""
        return getattr(sys.modules.get(type(test).__module__), "__file__", None) or ""

    def _name(self, test: Any) -> str:
        """The name that pytest gives the test, so that either runner can use what the other recorded."""
        if (known := self.names.get(id(test))) is not None:
            return known
        path = self._path(test)
        file = self.recorder.scope.name(path) if path else None
        if file is not None and (example := _doctest(test)):
            return f"{file}::{example.name}"
        method = getattr(test, "_testMethodName", None)
        if file is None or method is None or isinstance(test, unittest.FunctionTestCase):
            return str(test.id())
        return f"{file}::{type(test).__qualname__.replace('.', '::')}::{method}"

    def _location(self, test: Any) -> tuple[str, int] | None:
        path = self._path(test)
        name = self.recorder.scope.name(path) if path else None
        if name is not None and (example := _doctest(test)):
            return name, (example.lineno or 0) + 1
        method = inspect.unwrap(getattr(type(test), getattr(test, "_testMethodName", ""), None) or _location_of_none)
        code = getattr(method, "__code__", None)
        return None if name is None else (name, code.co_firstlineno if code and code.co_filename == path else 1)

    def _files(self, test: Any) -> tuple[int, ...]:
        path = self._path(test)
        return self.files.numbers(path, parted=not _doctest(test)) if path else ()

    def end(self) -> None:
        """Finish the recording when the process ends."""
        if not self.interrupted:
            self.recorder.ended()
        for step in (self.explanations.undo, self.files.imported, self.recorder.stop, self._report, self._compact):
            self.errors.attempt("the end", step)

    def _report(self) -> None:
        status: dict[str, Any] = {
            "tests": self.recorder.tests,
            "new": self.new,
            "runner": "unittest",
            "planned": self.recorder.plan,
            "interrupted": self.interrupted,
            "monitoring": self.monitoring,
        }
        status["suspects"] = self.recorder.has_suspects
        errors = [error.as_dict() for error in self.recorder.errors]
        if self.deselected is not None:
            status["deselected"] = self.deselected
        report_status(self.settings, {**status, "objection": self.objection, "errors": errors})

    def _compact(self) -> None:
        compact(self.recorder.log.folder)


def _location_of_none() -> None:
    """Takes the place of a missing method."""


def _ended(outcome: _Outcome) -> bool:
    """Whether the test ended. One without a notification and without an exception has passed."""
    if not outcome.verdict and sys.exc_info()[0] is None:
        outcome.verdict = "passed"
        return True
    return False


def _owners(name: str) -> tuple[str, str]:
    """The names of the class and the module of a test."""
    return name.rpartition("::")[0], name.partition("::")[0]


def _class_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
