"""Noting the path of a run: its decisions and the calls in which they were made, in order, for each thread."""

from __future__ import annotations

from array import array
from binascii import b2a_base64
from collections.abc import Callable
from functools import partial

from suspectra_recorder.experiments.call_marks import Body, insert_marks
from suspectra_recorder.experiments.exchange import Findings, Job, ThreadColumns
from suspectra_recorder.experiments.loading import Instrument
from suspectra_recorder.experiments.numbered_sources import NumberedSources
from suspectra_recorder.experiments.run_kind import RunKind
from suspectra_recorder.experiments.switchboard import Switchboard
from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import _thread, sys
from suspectra_recorder.instrumentation.own_syntax import ast

__builtins__ = own.builtins

MAX_EVENTS = 20_000_000
"""Decisions and calls of a thread that are noted; of more the first ones."""

_frame = sys._getframe


class _Thread:
    """What one thread does.

    Attributes
    ----------
    events, call_of, functions, callers, lines : array of int
        See `ThreadColumns`.
    stack : list of int
        The calls that are being executed.
    """

    def __init__(self) -> None:
        self.events, self.call_of = array("i"), array("i")
        self.functions, self.callers, self.lines = array("i"), array("i"), array("i")
        self.stack: list[int] = []

    def note(self, event: int) -> None:
        """Note a decision in the call that is being executed."""
        if len(self.events) < MAX_EVENTS:
            self.events.append(event)
            self.call_of.append(self.stack[-1] if self.stack else -1)

    def as_text(self) -> ThreadColumns:
        """The columns, as JSON can have them."""
        return {
            "events": _text(self.events),
            "call_of": _text(self.call_of),
            "functions": _text(self.functions),
            "callers": _text(self.callers),
            "lines": _text(self.lines),
        }


def _text(column: array[int]) -> str:
    return b2a_base64(column.tobytes(), newline=False).decode()


class CallMarks(Instrument):
    """The calls of a process; instrumented code has it as a constant.

    It runs in the middle of the program, and never calls it.

    Attributes
    ----------
    sources : NumberedSources of Body
        The loaded sources, with their functions.
    """

    def __init__(self) -> None:
        self.sources: NumberedSources[Body] = NumberedSources()
        self._threads: dict[int, _Thread] | None = None
        self._kept: dict[int, list[object]] = {}  # what is about to be yielded, by thread

    def insert(self, tree: ast.Module, path: str, placeholder: str, *, asserts: bool) -> Callable[[], None]:
        """Mark the calls of a source's functions."""
        bodies = insert_marks(tree, placeholder, self.sources.next)
        return partial(self.sources.add, path, bodies)

    def start(self) -> None:
        """Note calls from now on."""
        self._threads = {}

    def stop(self) -> list[_Thread]:
        """Note nothing more.

        Returns
        -------
        list of _Thread
            What was noted, of the threads in the order in which they came.
        """
        threads, self._threads = self._threads or {}, None
        return list(threads.values())

    def note(self, event: int) -> None:
        """Note a decision.

        Parameters
        ----------
        event : int
            Twice its number, and 1 more where it came out true.
        """
        if (thread := self._thread()) is not None:
            thread.note(event)

    def _thread(self) -> _Thread | None:
        threads = self._threads
        if threads is None:
            return None
        ident = _thread.get_ident()
        if ident not in threads:
            threads[ident] = _Thread()
        return threads[ident]

    # what instrumented code calls

    def enter(self, number: int) -> None:
        """A call of a function begins.

        Parameters
        ----------
        number : int
            Of the function.
        """
        if (thread := self._thread()) is not None:
            caller = _frame(1).f_back
            call = len(thread.functions)
            thread.functions.append(number)
            thread.callers.append(thread.stack[-1] if thread.stack else -1)
            thread.lines.append((caller.f_lineno or -1) if caller is not None else -1)
            thread.stack.append(call)
            thread.note(-1 - call)

    def leave(self, number: int) -> None:
        """The innermost call of a function ends, with those in it that ended by an exception.

        Parameters
        ----------
        number : int
            Of the function.
        """
        if (thread := self._thread()) is not None:
            stack, functions = thread.stack, thread.functions
            for depth in range(len(stack) - 1, -1, -1):
                if functions[stack[depth]] == number:
                    del stack[depth:]
                    return

    def left(self, entered: None, value: object) -> object:
        """A call of a lambda ends.

        Parameters
        ----------
        entered : None
            What :meth:`enter` returned: it was called before the body.
        value : object
            What the lambda returns.

        Returns
        -------
        object
            The same value.
        """
        if (thread := self._thread()) is not None and thread.stack:
            thread.stack.pop()
        return value

    def suspend(self, value: object) -> int:
        """A call waits, and gives a value away.

        Parameters
        ----------
        value : object
            Kept until it is taken.

        Returns
        -------
        int
            The call.
        """
        self._kept.setdefault(_thread.get_ident(), []).append(value)
        thread = self._thread()
        return thread.stack.pop() if thread is not None and thread.stack else -1

    def take(self) -> object:
        """The value that a call gives away.

        Returns
        -------
        object
            What was kept last in this thread.
        """
        return self._kept[_thread.get_ident()].pop()

    def resume(self, call: int, value: object) -> object:
        """A call goes on with a value.

        Parameters
        ----------
        call : int
            The call.
        value : object
            What it was sent, or waited for.

        Returns
        -------
        object
            The same value.
        """
        if call >= 0 and (thread := self._thread()) is not None:
            thread.stack.append(call)
        return value


class NotingPath(RunKind):
    """The program as it is, with its path.

    Parameters
    ----------
    board : Switchboard
        The decisions of this process.
    sources : callable
        Gives the digests of the files that are loaded.
    """

    def __init__(self, board: Switchboard, sources: Callable[[], dict[str, str]]):
        self.instrument = self._marks = CallMarks()
        self._board, self._sources = board, sources

    def apply(self, job: Job) -> None:
        """Note decisions and calls from now on."""
        self._marks.start()
        self._board.listen(self._marks.note)

    def take_back(self) -> Findings:
        """The columns of each thread, and where decisions and functions are."""
        return {
            "threads": [thread.as_text() for thread in self._marks.stop()],
            "sites": [(source.path, source.first, source.points) for source in self._board.sources.loaded],
            "functions": [(source.path, source.first, source.points) for source in self._marks.sources.loaded],
            "sources": self._sources(),
        }
