"""The kinds of runs that compare and change states: which statements are executed, and what variables refer to.

A state is a graph of at most `MAX_NODES` values; it is read, and changed, in the process of the test, by
`memory_graph.py` and `memory_changes.py`. What is different between two states, delta debugging and bisection are pure,
and elsewhere (`suspectra/paths`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from functools import partial
from traceback import walk_tb
from types import FrameType

import pytest

from suspectra_recorder.experiments.decisions.statement_marks import NOTHING, MarkedStatement, insert_statement_marks
from suspectra_recorder.experiments.failed_comparisons import FailedComparisons
from suspectra_recorder.experiments.failed_phases import FailedPhases
from suspectra_recorder.experiments.loading import Instrument
from suspectra_recorder.experiments.messages import Findings, MemoryChange, MemoryGraph, RunRequest
from suspectra_recorder.experiments.number_columns import column_text
from suspectra_recorder.experiments.numbered_sources import NumberedSources
from suspectra_recorder.experiments.pausable import Pausable
from suspectra_recorder.experiments.run_kind import RunKind
from suspectra_recorder.experiments.values.memory_changes import NotChanged, change, look_up_functions
from suspectra_recorder.experiments.values.memory_graph import Variable, memory_graph
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import _thread, hashlib, json, sys
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

MAX_EXECUTED = 1_000_000
"""Executed statements of a run that are noted; of more the first ones."""

_MAX_FRAMES = 50
_frame = sys._getframe


class StatementMarks(Pausable, Instrument):
    """The executed statements of a process; instrumented code has it as a constant.

    It runs in the middle of the program, and never calls it. Of several threads, it follows the one that runs the test.
    """

    def __init__(self) -> None:
        super().__init__()
        self.at: Callable[[int], None] = _ignore  # called before each statement, with its number
        self.sources: NumberedSources[MarkedStatement] = NumberedSources()  # the loaded sources, with their statements
        self._first_of_call: set[int] = set()

    def insert(self, tree: ast.Module, path: str, placeholder: str, *, asserts: bool) -> Callable[[], None]:
        """Mark the statements of a source's functions."""
        first = self.sources.next
        statements = insert_statement_marks(tree, placeholder, first)
        # the first statement of a body: when it is executed, a call has begun
        begins = [first + one.block for one in statements if one.owner == NOTHING]
        self._first_of_call.update(begins)
        return partial(self.sources.add, path, statements)

    def leave(self) -> None:
        """Do nothing before statements."""
        self.at = _ignore

    def note(self) -> Callable[[], Findings]:
        """Note the statements that are executed from now on."""
        executed, calls, called_at = array("i"), array("i"), array("i")
        call_of: dict[int, tuple[object, int, int]] = {}  # code, call and last statement, by the identity of a frame
        begins, thread, ident = self._first_of_call, _thread.get_ident(), _thread.get_ident
        paused = self.paused

        def caller(frame: FrameType | None) -> int:
            while frame is not None:
                code, _, last = call_of.get(id(frame), (None, -1, -1))
                # a frame that has ended may have left its identity to another one
                if code is frame.f_code:
                    return last
                frame = frame.f_back
            return -1

        def at(number: int) -> None:
            if len(executed) >= MAX_EXECUTED or ident() != thread or thread in paused:
                return
            frame = _frame(1)
            if number in begins:
                call = len(called_at)
                called_at.append(caller(frame.f_back))
            else:
                _, call, _ = call_of.get(id(frame), (None, -1, -1))
            call_of[id(frame)] = frame.f_code, call, len(executed)
            executed.append(number)
            calls.append(call)

        self.at = at
        return lambda: {
            "executed": column_text(executed),
            "calls": column_text(calls),
            "called_at": column_text(called_at),
        }

    def stop_at(self, point: int, changes: list[MemoryChange]) -> Callable[[], Findings]:
        """Read the state before an executed statement, and change it."""
        found: Findings = {"reached": 0, "refused": ""}
        thread, ident = _thread.get_ident(), _thread.get_ident
        left = point
        codes: set[int] = set()  # of functions with statements; code is kept by its module or its frame

        def at(number: int) -> None:
            nonlocal left
            if ident() != thread or thread in self.paused:
                return
            # a frame without statements of its own, as of a library, has no variables that count
            codes.add(id(_frame(1).f_code))
            left -= 1
            if left >= 0:
                return
            # once: what is executed from here on is another state
            self.at = _ignore
            frames = [frame for frame in _frames(_frame(1)) if id(frame.f_code) in codes][:_MAX_FRAMES][::-1]
            found["reached"] = 1
            if not changes:
                found["memory"] = _state(frames)
                return
            try:
                change(frames, changes)
            except NotChanged as error:
                found["refused"] = str(error)

        self.at = at
        return lambda: found


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _state(frames: list[FrameType]) -> MemoryGraph:
    variables = [
        Variable(depth, frame.f_code.co_name, name, value)
        for depth, frame in reversed(list(enumerate(frames)))
        for name, value in list(frame.f_locals.items())
        if name[:1] not in ".@"  # of Python and pytest
    ]
    return memory_graph(variables)


class NotingStatements(RunKind):
    """The program as it is, with the statements that it executes."""

    alters = False

    def __init__(self, marks: StatementMarks, failure: FailureDescription):
        self.instrument = self._marks = marks
        self.plugin = self._failure = failure
        self._answer: Callable[[], Findings] = Findings

    def apply(self, job: RunRequest) -> None:
        """Note statements from now on."""
        self._failure.start()
        self._answer = self._marks.note()

    def take_back(self) -> Findings:
        """The executed statements, where they are, and how the test failed."""
        self._marks.leave()
        statements = [(source.path, source.first, source.points) for source in self._marks.sources.loaded]
        return {**self._answer(), **self._failure.described(), "statements": statements}


class ChangingState(RunKind):
    """The state before an executed statement is read, or changed."""

    alters = False

    def __init__(self, marks: StatementMarks, failure: FailureDescription):
        self._marks, self._failure = marks, failure
        self._answer: Callable[[], Findings] = Findings

    def prepare(self) -> None:
        """Look up what changes variables."""
        look_up_functions()

    def apply(self, job: RunRequest) -> None:
        """Wait for the statement from now on."""
        self._failure.start()
        self._answer = self._marks.stop_at(job["point"], job["changes"])

    def take_back(self) -> Findings:
        """The state, or why it could not be changed, and how the test failed."""
        self._marks.leave()
        return {**self._answer(), **self._failure.described()}


class FailureDescription(FailedPhases):
    """A plugin that knows how a test failed: what was compared, and where the exception was raised."""

    def __init__(self, name_of: Callable[[str], str | None], is_test: Callable[[str], bool]):
        self._sides: list[tuple[object, object]] = []
        self._comparisons = FailedComparisons(self._sides)
        self._name_of, self._is_test = name_of, is_test
        self._raised: tuple[str, int] | None = None
        self._line, self._failed = 0, False

    def start(self) -> None:
        """Expect the failure of a run."""
        self._sides.clear()
        self._raised, self._line, self._failed = None, 0, False

    def described(self) -> Findings:
        """How the test failed.

        Digests of the sides of comparisons that failed, and where the exception was raised and passed through.
        """
        failed = [[_digest(left), _digest(right)] for left, right in self._sides]
        self._sides.clear()
        return {"failed": failed, "raised": self._raised, "line": self._line}

    @pytest.hookimpl(tryfirst=True)
    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> None:
        """Keep the sides of an assert that says what a value is; others say what holds for many values."""
        if op in ("==", "is"):
            self._comparisons.pytest_assertrepr_compare(left, right)

    def failed(self, phase: str, error: pytest.ExceptionInfo[BaseException]) -> None:
        """Keep where the test failed, and what a method of unittest compared."""
        self._comparisons.failed(phase, error)
        if not self._failed:
            self._failed = True
            for frame, line in walk_tb(error.tb):
                path = frame.f_code.co_filename
                name = self._name_of(path)
                if name is not None:
                    self._raised = name, line
                elif self._is_test(path):
                    self._raised, self._line = None, line


def make_state_kinds(name_of: Callable[[str], str | None], is_test: Callable[[str], bool]) -> dict[str, RunKind]:
    """The kinds ``statements`` and ``memory``."""
    marks, failure = StatementMarks(), FailureDescription(name_of, is_test)
    return {"statements": NotingStatements(marks, failure), "memory": ChangingState(marks, failure)}


def _digest(value: object) -> str:
    """A short text that equal values of Python's own types have in common."""
    graph = memory_graph([Variable(0, "", "", value)])
    return hashlib.sha256(json.dumps(graph["nodes"]).encode()).hexdigest()[:16]


def _ignore(number: int) -> None:
    pass
