"""Calls of traced functions that have not ended, and the state of a traced run that all probes share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

from suspectra_recorder.experiments.dependences.columns import Columns
from suspectra_recorder.experiments.dependences.heap import Heap
from suspectra_recorder.experiments.dependences.origins import Origins
from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import _thread, sys

__builtins__ = own.builtins

_get_frame = sys._getframe

ANY = 0
"""Stands for the identity of any object."""


class Call:
    """A call of a traced function that has not ended, or is suspended.

    Parameters
    ----------
    number : int
        Of all calls of the run.
    frame : int
        The scope of the function.
    caller : Call or None
        What called it, or resumed it last.
    gives : bool, optional
        Whether it is a generator, which gives its caller one value after the other, and then no more.

    Examples
    --------
    >>> caller = Call(1, frame=0, caller=None)
    >>> call = Call(2, frame=3, caller=caller, gives=True)
    >>> call.caller.number, call.uses
    (1, [])
    >>> call.decided(7)
    >>> caller.uses
    [7]
    """

    __slots__ = ("caller", "frame", "gives", "handled", "items", "number", "owners", "parts", "pending",
                 "raised_again", "raising", "result", "returned", "stored", "update", "uses")  # fmt: skip

    def __init__(self, number: int, frame: int, caller: Call | None, *, gives: bool = False):
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
        """Tell whoever takes the values of a generator what it decided: that says which one comes next, if any.

        Parameters
        ----------
        made : int
            The node of the decision.
        """
        if self.caller is not None:
            self.caller.uses.append(made)


class Pending:
    """A call that traced code is about to make, or has made.

    Parameters
    ----------
    site : int
        Of the call; the next one has only what the expression for the function reads.
    begin, mark : int
        Where in `uses` begins what the function was read from, and what is read afterwards.
    function : object
        What is called.
    native : bool
        Whether that is built in.
    left : int
        How many arguments are still to be evaluated.

    Examples
    --------
    >>> pending = Pending(site=4, begin=0, mark=0, function=len, native=True, left=1)
    >>> pending.entered, pending.given
    (False, [])
    """

    __slots__ = ("begin", "entered", "function", "given", "last", "left", "mark", "native", "nodes", "site")

    def __init__(self, site: int, begin: int, mark: int, function: object, native: bool, left: int):
        self.site, self.begin, self.mark, self.last, self.left = site, begin, mark, mark, left
        self.function, self.native, self.entered = function, native, False
        self.given: list[object] = []
        self.nodes: list[int] = []


class State:
    """A traced run.

    Parameters
    ----------
    columns : Columns
        Takes the nodes.
    frames : sequence of int
        The scope of each site, by number.
    captured : mapping of int to (int, list of str)
        For entries of functions: their scope, and which of the names that functions share are theirs.
    site_at : callable
        Gives the site of the statement at a line of a function, from its scope and the line.
    is_with : callable
        Whether a site is a ``with``.
    on_thread, on_full : callable
        Called when another thread executes traced code, and when there are as many nodes as there may be.

    Attributes
    ----------
    current : Call
        The call that is being executed.
    calls : int
        How many there were.
    suspended : dict of int to Call
        Calls of generators and coroutines, by the identity of their frames.
    raised, raised_at : int
        The identity of the exception that left a traced function last, and the node where it came from.
    origins : Origins
        The nodes where exceptions that left traced functions came from.
    between : int
        How many calls there are between traced code and a probe.
    swallowed : callable
        Gives the node where an exception came from that the call which is being executed handles without a handler:
        from the exception, and its traceback in the function of that call.
    threads : list of int
        Threads that executed traced code, which is left out.
    defaulted : mapping of int to int
        For parameters with defaults the sites of these.
    defaults : dict of int to int
        The identity of each default by its site, or `ANY` if there were several.
    bindings : list of (str, int) or None
        Names that bodies of classes have bound, and their nodes; None where a body begins.

    Examples
    --------
    >>> def on_thread():
    ...     print("another thread")
    >>> state = State(Columns(0), [0], {}, lambda frame, line: -1, lambda site: False, on_thread, print)
    >>> outer = state.current = Call(1, frame=0, caller=state.root)
    >>> state.current = Call(2, frame=3, caller=outer)

    An exception ended the inner call, so the next probe is one of the outer one:

    >>> state.back_to(0) is outer
    True
    >>> state.resumed() is outer
    True
    >>> state.leave(outer)
    >>> state.current is state.root
    True
    >>> state.foreign()
    another thread
    >>> state.rest()
    >>> state.threads
    []
    """

    __slots__ = ("between", "bindings", "calls", "captured", "columns", "current", "defaulted", "defaults", "frames",
                 "heap", "is_with", "on_full", "on_thread", "origins", "raised", "raised_at", "root", "site_at",
                 "suspended", "swallowed", "thread", "threads")  # fmt: skip

    def __init__(
        self,
        columns: Columns,
        frames: Sequence[int],
        captured: dict[int, tuple[int, list[str]]],
        site_at: Callable[[int, int], int],
        is_with: Callable[[int], bool],
        on_thread: Callable[[], None],
        on_full: Callable[[], None],
    ):
        self.columns, self.heap, self.frames, self.captured = columns, Heap(), frames, captured
        self.site_at, self.is_with, self.on_thread, self.on_full = site_at, is_with, on_thread, on_full
        self.root = self.current = Call(0, -1, None)
        self.calls = self.raised = self.between = 0
        self.raised_at = -1
        self.origins = Origins()
        self.suspended: dict[int, Call] = {}
        self.swallowed: Callable[[BaseException, TracebackType], int] = lambda error, trace: -1
        self.thread = _thread.get_ident()
        self.threads: list[int] = []
        self.defaulted: Mapping[int, int] = {}
        self.defaults: dict[int, int] = {}
        self.bindings: list[tuple[str, int] | None] = []

    def rest(self) -> None:
        """Forget what was being executed: the modules are imported, and tests follow."""
        self.root = self.current = Call(0, -1, None)
        self.origins.clear()
        self.threads.clear()
        self.bindings.clear()
        self.raised, self.raised_at, self.between = 0, -1, 0

    def foreign(self) -> None:
        """Another thread executes traced code."""
        self.threads.append(_thread.get_ident())
        self.on_thread()

    def back_to(self, frame: int) -> Call:
        """The innermost call of a function: exceptions may have ended others unseen.

        Parameters
        ----------
        frame : int
            The scope of the function.

        Returns
        -------
        Call
            It is being executed from now on.
        """
        call: Call | None = self.current
        while call is not None and call.frame != frame:
            call = call.caller
        if call is not None:
            self.current = call
        return self.current

    def resumed(self) -> Call:
        """The call of a function that can be suspended, whoever resumed it. Only probes may ask for theirs.

        Returns
        -------
        Call
            It is being executed from now on.
        """
        call = self.suspended.get(id(_get_frame(2 + self.between)))
        if call is not None and call is not self.current:
            inner: Call | None = self.current
            while inner is not None and inner is not call:
                inner = inner.caller
            if inner is None:
                call.caller = self.current
            self.current = call
        return self.current

    def leave(self, call: Call) -> None:
        """A call ends, or is suspended.

        Parameters
        ----------
        call : Call
            Its caller goes on.
        """
        self.current = call.caller or self.root


def ended(call: Call, made: int, value: object) -> None:
    """A call gives something back.

    Parameters
    ----------
    call : Call
        That of a traced function.
    made : int
        The node of the value.
    value : object
        What it gives back.

    Examples
    --------
    >>> caller = Call(1, frame=0, caller=None)
    >>> ended(Call(2, frame=3, caller=caller), made=7, value=20)
    >>> caller.uses, caller.result
    ([7], 20)
    """
    caller = call.caller
    if caller is not None:
        caller.uses.append(made)
        caller.returned, caller.result = made, value
