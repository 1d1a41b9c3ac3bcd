"""Calls of traced functions that have not ended, and the state of a traced run that all probes share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

from suspectra_recorder.experiments.traces.heap import Heap
from suspectra_recorder.experiments.traces.origins import Origins
from suspectra_recorder.experiments.traces.trace_columns import Columns
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import _thread, sys

__builtins__ = library_references.builtins

_get_frame = sys._getframe

ANY = 0
"""Stands for the identity of any object."""


class TracedCall:
    """A call of a traced function that has not ended, or is suspended."""

    __slots__ = ("caller", "frame", "gives", "handled", "items", "number", "owners", "parts", "pending",
                 "raised_again", "raising", "result", "returned", "stored", "update", "uses")  # fmt: skip

    def __init__(self, number: int, frame: int, caller: TracedCall | None, *, gives: bool = False):
        self.number, self.frame, self.caller, self.gives = number, frame, caller, gives
        self.uses: list[int] = []
        self.pending: list[Pending] = []  # calls in the expression that is being evaluated
        self.items: list[object] = []  # objects whose items are about to be read or written
        self.parts: list[int] = []  # nodes of `a, b.c = d, e` whose targets follow
        self.owners: list[tuple[int, int]] = []  # scopes around the function, and the calls that have their variables
        self.stored = self.raising = self.returned = -1  # nodes: of the assignment, the exception, the called function
        self.result: object = None  # what that returned
        self.update: tuple[object, object] | None = None  # the target of `a.b += c`
        # exceptions that a handler got or raised again, by identity, and the nodes where they came from
        self.handled: tuple[int, int] = (0, -1)
        self.raised_again: tuple[int, int] = (0, -1)

    def decided(self, made: int) -> None:
        """Tell whoever takes the values of a generator what it decided: that says which one comes next, if any."""
        if self.caller is not None:
            self.caller.uses.append(made)


class Pending:
    """A call that traced code is about to make, or has made."""

    __slots__ = ("begin", "entered", "function", "given", "last", "left", "mark", "native", "nodes", "site")

    def __init__(self, site: int, begin: int, mark: int, function: object, native: bool, left: int):
        self.site, self.begin, self.mark, self.last, self.left = site, begin, mark, mark, left
        self.function, self.native, self.entered = function, native, False
        self.given: list[object] = []
        self.nodes: list[int] = []


class TracedState:
    """A traced run."""

    __slots__ = ("between", "bindings", "calls", "captured", "columns", "current", "defaulted", "defaults", "deferred",
                 "frames", "heap", "is_with", "on_full", "on_thread", "origins", "parts_at", "raised", "raised_at",
                 "root", "site_at", "suspended", "swallowed", "thread", "threads")  # fmt: skip

    def __init__(
        self,
        columns: Columns,
        frames: Sequence[int],
        captured: dict[int, tuple[int, list[str]]],
        site_at: Callable[[int, int], int],
        parts_at: Callable[[int, int], list[int]],
        is_with: Callable[[int], bool],
        on_thread: Callable[[], None],
        on_full: Callable[[], None],
    ):
        self.columns, self.heap, self.frames, self.captured = columns, Heap(), frames, captured
        self.site_at, self.parts_at, self.is_with = site_at, parts_at, is_with
        self.on_thread, self.on_full = on_thread, on_full
        self.root = self.current = TracedCall(0, -1, None)
        self.calls = self.raised = self.between = 0
        # the identity of the exception that left a traced function last, and the node where it came from
        self.raised_at = -1
        self.origins = Origins()  # the nodes where exceptions that left traced functions came from
        # by the identity of their frames: the calls of generators and coroutines, and for those that no traced code has
        # begun to execute the call that gave them
        self.suspended: dict[int, TracedCall] = {}
        self.deferred: dict[int, tuple[TracedCall, Pending]] = {}
        # gives the node where an exception came from that the call which is being executed handles without a handler:
        # from the exception, and its traceback in the function of that call
        self.swallowed: Callable[[BaseException, TracebackType], int] = lambda error, trace: -1
        self.thread = _thread.get_ident()
        self.threads: list[int] = []  # threads that executed traced code, which is left out
        self.defaulted: Mapping[int, int] = {}  # for parameters with defaults the sites of these
        self.defaults: dict[int, int] = {}  # the identity of each default by its site, or `ANY` if there were several
        # names that bodies of classes have bound, and their nodes; None where a body begins
        self.bindings: list[tuple[str, int] | None] = []

    def rest(self) -> None:
        """Forget what was being executed: the modules are imported, and tests follow."""
        self.root = self.current = TracedCall(0, -1, None)
        self.origins.clear()
        self.threads.clear()
        self.bindings.clear()
        self.raised, self.raised_at, self.between = 0, -1, 0

    def foreign(self) -> None:
        """Another thread executes traced code."""
        self.threads.append(_thread.get_ident())
        self.on_thread()

    def back_to(self, frame: int) -> TracedCall:
        """The innermost call of a function: exceptions may have ended others unseen."""
        call: TracedCall | None = self.current
        while call is not None and call.frame != frame:
            call = call.caller
        if call is not None:
            self.current = call
        return self.current

    def resumed(self) -> TracedCall:
        """The call of a function that can be suspended, whoever resumed it. Only probes may ask for theirs."""
        call = self.suspended.get(id(_get_frame(2 + self.between)))
        if call is not None and call is not self.current:
            # whoever resumed it may be another one than before
            inner: TracedCall | None = self.current
            while inner is not None and inner is not call:
                inner = inner.caller
            if inner is None:
                call.caller = self.current
            self.current = call
        return self.current

    def leave(self, call: TracedCall) -> None:
        """A call ends, or is suspended."""
        self.current = call.caller or self.root


def ended(call: TracedCall, made: int, value: object) -> None:
    """A call gives something back."""
    caller = call.caller
    if caller is not None:
        caller.uses.append(made)
        caller.returned, caller.result = made, value
