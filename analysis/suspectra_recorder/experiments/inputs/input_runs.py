"""The kind of runs in which a test, or a call that it makes, gets another input; its path is noted."""

from __future__ import annotations

import functools
from collections.abc import Callable
from traceback import walk_tb
from typing import Any

import pytest

from suspectra_recorder.experiments.decisions.paths import NotingPath
from suspectra_recorder.experiments.decisions.switchboard import Switchboard
from suspectra_recorder.experiments.failed_phases import FailedPhases
from suspectra_recorder.experiments.inputs.input_marks import InputMarks
from suspectra_recorder.experiments.inputs.input_parts import as_written
from suspectra_recorder.experiments.inputs.symbols import SymbolicPath
from suspectra_recorder.experiments.messages import Findings, RunRequest
from suspectra_recorder.failures.tracebacks import causes_of
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins


class TryingInput(NotingPath):
    """Another input: the ``"call"`` that gets it, the values ``"given"``, and whether its parts are ``"symbolic"``."""

    def __init__(
        self,
        board: Switchboard,
        sources: Callable[[], dict[str, str]],
        name_of: Callable[[str], str | None],
        is_test: Callable[[str], bool],
    ):
        marks = InputMarks(is_test)
        super().__init__(board, sources, marks)
        self._input = marks
        self._path = SymbolicPath()
        self.plugin = self._test = TestInput(marks, name_of)

    def apply(self, job: RunRequest) -> None:
        """Note the path, and change the input from now on."""
        path = self._path = SymbolicPath(self._input.position)
        call = job["call"]
        self._input.try_input(path if job["symbolic"] else None, job["given"], call=call, whole=job["whole"])
        self._test.start(path, job["drawn"], active=call == 0, watching=call < 0)
        super().apply(job)

    def take_back(self) -> Findings:
        """The path, the constraints, the input, and what came of it."""
        # what is read of the results from here on is no part of the path
        self._path.closed = True
        found, tried = super().take_back(), self._input
        answer: Findings = {
            **found,
            "constraints": self._path.constraints,
            "input": {
                "function": tried.function,
                "arguments": tried.arguments,
                "parts": tried.parts.found,
                "unsupported": tried.unsupported,
                "positions": self._path.positions,
                "begin": tried.begin,
                "end": tried.end,
                "returned": tried.end >= 0,
                "raised": self._test.raised,
                "result": tried.result,
                "calls": tried.calls,
                "drawn": self._test.drawn,
                "strategies": self._test.strategies,
                "parameters": self._test.parameters,
            },
        }
        tried.try_input(None, {}, call=0)
        self._test.active = self._test.watching = False
        return answer


class TestInput(FailedPhases):
    """A plugin that calls a test with other arguments: those of its parameters, or those that a property test drew."""

    __test__ = False

    def __init__(self, marks: InputMarks, name_of: Callable[[str], str | None]) -> None:
        self._marks, self._name_of = marks, name_of
        self.start(SymbolicPath(), "", active=False, watching=False)

    def start(self, path: SymbolicPath, drawn: str, *, active: bool, watching: bool) -> None:
        """Expect the next run."""
        self._path, self._given, self.active, self.watching = path, drawn, active, watching
        self.drawn, self.raised = "", False
        self.strategies: dict[str, str] = {}
        self.parameters: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_assertrepr_compare(self) -> None:
        """The comparison of an assert failed; to explain it, pytest may compare more."""
        self._path.closed = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Call the test.

        True if it was called.
        """
        property_test = getattr(pyfuncitem.obj, "hypothesis", None)
        arguments = getattr(getattr(pyfuncitem, "callspec", None), "params", {})
        self.parameters = [name for name in arguments if name in pyfuncitem.funcargs]
        if property_test is not None and self.watching:
            self._watch(pyfuncitem.obj, property_test)
        if not self.active:
            return None
        fixtures = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        function = pyfuncitem.obj
        if property_test is not None:
            function = property_test.inner_test
            if pyfuncitem.cls is not None:
                function = functools.partial(function, pyfuncitem.obj.__self__)
            given = ast.literal_eval(self._given)
        else:
            given = {name: fixtures[name] for name in self.parameters if name in fixtures}
        # only the test itself is looked at, not its fixtures
        self._marks.begin = self._marks.position()
        function(**{**fixtures, **self._marks.change(given)})
        self._marks.end = self._marks.position()
        return True

    def failed(self, phase: str, error: pytest.ExceptionInfo[BaseException]) -> None:
        """Keep whether the exception that ended the test came out of the program."""
        if phase == "call":
            traces = [error.tb, *(cause.__traceback__ for cause in causes_of(error.value))]
            paths = (frame.f_code.co_filename for trace in traces for frame, _ in walk_tb(trace))
            self.raised = any(self._name_of(path) is not None for path in paths)

    def _watch(self, function: Any, property_test: Any) -> None:
        """Keep the arguments with which a property fails last: those that it shows."""
        test = property_test.inner_test
        strategies = dict(property_test._given_kwargs)
        self.strategies = {name: repr(strategy) for name, strategy in strategies.items()}

        @functools.wraps(test)
        def watched(*positional: Any, **named: Any) -> Any:
            try:
                return test(*positional, **named)
            except Exception:
                self.drawn = as_written({name: named[name] for name in strategies if name in named})
                raise

        # Hypothesis calls this one for each example
        property_test.inner_test = watched
        function = getattr(function, "__func__", function)
        settings = function._hypothesis_internal_use_settings
        # the arguments that it shows are those to which it has shrunk the failure
        phases = [*settings.phases, *(phase for phase in type(settings)().phases if phase.name == "shrink")]
        function._hypothesis_internal_use_settings = type(settings)(settings, phases=phases)
