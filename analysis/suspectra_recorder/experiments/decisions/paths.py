"""Noting the path of a run: its decisions and the calls in which they were made, in order, for each thread."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial

from suspectra_recorder.experiments.decisions.call_marks import Body, insert_marks
from suspectra_recorder.experiments.decisions.decision_points import DecisionPoint
from suspectra_recorder.experiments.decisions.switchboard import Switchboard
from suspectra_recorder.experiments.loading import Instrument
from suspectra_recorder.experiments.messages import Findings, RunRequest, ThreadColumns
from suspectra_recorder.experiments.number_columns import column_text
from suspectra_recorder.experiments.numbered_sources import NumberedSources
from suspectra_recorder.experiments.pausable import Pausable
from suspectra_recorder.experiments.run_kind import RunKind
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import _thread, sys
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

MAX_CALLS, MAX_MOVES = 5_000_000, 20_000_000
"""Calls of a thread that are noted, and how often they begin, wait, go on and end; of more the first ones."""

_frame = sys._getframe


class _Thread:
    """What one thread does."""

    def __init__(self) -> None:
        self.events, self.tops, self.tops_at = array("i"), array("i"), array("i")
        self.functions, self.callers, self.lines = array("i"), array("i"), array("i")
        self.stack = [-1]  # the calls that are being executed, after -1

    def moved(self) -> None:
        """Note which call is being executed from now on."""
        if len(self.tops) < MAX_MOVES:
            self.tops.append(self.stack[-1])
            self.tops_at.append(len(self.events))

    def as_text(self) -> ThreadColumns:
        """The columns, as JSON can have them."""
        return {
            "events": column_text(self.events),
            "tops": column_text(self.tops),
            "tops_at": column_text(self.tops_at),
            "functions": column_text(self.functions),
            "callers": column_text(self.callers),
            "lines": column_text(self.lines),
        }


class CallMarks(Pausable, Instrument):
    """The calls of a process; instrumented code has it as a constant.

    It runs in the middle of the program, and never calls it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sources: NumberedSources[Body] = NumberedSources()  # the loaded sources, with their functions
        self._threads: dict[int, _Thread] | None = None
        self._kept: dict[int, list[object]] = {}  # what is about to be yielded, by thread

    def insert(self, tree: ast.Module, path: str, placeholder: str, *, asserts: bool) -> Callable[[], None]:
        """Mark the calls of a source's functions."""
        bodies = insert_marks(tree, placeholder, self.sources.next)
        return partial(self.sources.add, path, bodies)

    def start(self) -> Callable[[], Callable[[int], object]]:
        """Note calls from now on.

        Gives what notes the decisions of the present thread: a function that gets twice the number of a decision, and 1
        more where it came out true.
        """
        self._threads = {}
        return lambda: self._thread_or_new().events.append

    def stop(self) -> list[_Thread]:
        """Note nothing more.

        What was noted, of the threads in the order in which they came.
        """
        threads, self._threads = self._threads or {}, None
        return list(threads.values())

    def _thread(self) -> _Thread | None:
        # a look at the set first: mostly no thread pauses, and this is asked at each call
        if self._threads is None or (self.paused and _thread.get_ident() in self.paused):
            return None
        return self._thread_or_new()

    def _thread_or_new(self) -> _Thread:
        threads, ident = self._threads, _thread.get_ident()
        if threads is None:
            return _Thread()
        if ident not in threads:
            threads[ident] = _Thread()
        return threads[ident]

    # what instrumented code calls

    def enter(self, number: int) -> None:
        """A call of a function begins."""
        thread = self._thread()
        if thread is not None and len(thread.functions) < MAX_CALLS:
            caller = _frame(1).f_back
            call = len(thread.functions)
            thread.functions.append(number)
            thread.callers.append(thread.stack[-1])
            thread.lines.append((caller.f_lineno or -1) if caller is not None else -1)
            thread.stack.append(call)
            thread.moved()
            thread.events.append(-1 - call)

    def leave(self, number: int) -> None:
        """The innermost call of a function ends, with those in it that ended by an exception."""
        if (thread := self._thread()) is not None:
            stack, functions = thread.stack, thread.functions
            for depth in range(len(stack) - 1, 0, -1):
                if functions[stack[depth]] == number:
                    del stack[depth:]
                    thread.moved()
                    return

    def left(self, entered: None, value: object) -> object:
        """A call of a lambda ends."""
        thread = self._thread()
        if thread is not None and len(thread.stack) > 1:
            thread.stack.pop()
            thread.moved()
        return value

    def suspend(self, value: object) -> int:
        """A call waits, and gives a value away."""
        # not in a local variable of the program, and by thread, since others go on meanwhile
        self._kept.setdefault(_thread.get_ident(), []).append(value)
        thread = self._thread()
        if thread is None or len(thread.stack) == 1:
            return -1
        call = thread.stack.pop()
        thread.moved()
        return call

    def take(self) -> object:
        """The value that a call gives away.

        What was kept last in this thread.
        """
        return self._kept[_thread.get_ident()].pop()

    def resume(self, call: int, value: object) -> object:
        """A call goes on with a value."""
        if call >= 0 and (thread := self._thread()) is not None:
            thread.stack.append(call)
            thread.moved()
        return value


class NotingPath(RunKind):
    """The program with its path; the decisions in ``"switched"``, where there are any, come out the other way."""

    alters = False

    def __init__(self, board: Switchboard, sources: Callable[[], dict[str, str]], marks: CallMarks | None = None):
        self.instrument = self.marks = marks or CallMarks()
        self._board, self._sources = board, sources
        self._turned: Callable[[], int] | None = None

    def apply(self, job: RunRequest) -> None:
        """Note decisions and calls from now on."""
        self._board.listen_by_thread(self.marks.start())
        points = [DecisionPoint(*point) for point in job.get("switched", ())]
        self._turned = self._board.turn(points) if points else None

    def take_back(self) -> Findings:
        """The columns of each thread, and where decisions and functions are."""
        found: Findings = {
            "threads": [thread.as_text() for thread in self.marks.stop()],
            "sites": [(source.path, source.first, source.points) for source in self._board.sources.loaded],
            "functions": [(source.path, source.first, source.points) for source in self.marks.sources.loaded],
            "sources": self._sources(),
        }
        if self._turned is not None:
            found["reached"] = self._turned()
        return found
