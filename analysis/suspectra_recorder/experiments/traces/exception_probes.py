"""The probes of exceptions: where they came from, what handles them, and what they end."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from suspectra_recorder.experiments.traces.call_probes import native_calls
from suspectra_recorder.experiments.traces.probe_names import Probe, named
from suspectra_recorder.experiments.traces.traced_calls import TracedCall, TracedState
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import sys

__builtins__ = library_references.builtins

Sources = Callable[[TracedCall, BaseException | None, TracebackType | None], int]


def exception_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of exceptions."""
    source_of = _sources(state)

    def swallowed(error: BaseException, trace: TracebackType) -> int:
        """The node where an exception comes from that no handler gets, but a context manager, as that of a subtest."""
        found = state.origins.for_exception(error, None)
        if found < 0:
            found = source_of(state.current, error, trace)
            state.origins.add(error, trace, found)
        return found

    state.swallowed = swallowed
    return {**_handling(state, source_of), **_leaving(state, source_of)}


def _sources(state: TracedState) -> Sources:
    columns, native = state.columns, native_calls(state)
    node = columns.node

    def source_of(call: TracedCall, error: BaseException | None, trace: TracebackType | None) -> int:
        if call.raised_again[0] == id(error):
            call.pending.clear()
            state.raised_at = call.raised_again[1]
            call.raised_again = 0, -1
        # the last link of the traceback: it was raised here
        elif call.raising >= 0 and trace is not None and trace.tb_next is None:
            state.raised_at = call.raising
        elif trace is None or trace.tb_next is None or id(error) != state.raised:
            if call.pending and call.pending[-1].site >= 0:  # else a comprehension raised it
                pending = call.pending[-1]
                # it came out of the traced function that was called
                if pending.entered and id(error) == state.raised:
                    call.uses.append(state.raised_at)
                call.pending.clear()
                state.raised_at = native(call, pending, error)
            else:
                line = trace.tb_lineno if trace is not None else -1
                site = state.site_at(call.frame, line)
                if site >= 0:
                    if (state.is_with(site) or call.pending) and columns.count:
                        call.uses.append(columns.count - 1)  # of a comprehension, what its variables got last
                    if line >= 0 and not call.pending:  # which part of the statement raised it, nobody knows
                        known = {site, *columns.sites_of(call.uses)}
                        parts = [one for one in state.parts_at(call.frame, line) if one not in known]
                        call.uses.extend(node(one, call.number, 0, -1, []) for one in parts)
                    state.raised_at = node(site, call.number, 0, -1, call.uses)
                else:
                    state.raised_at = -1
                call.pending.clear()
        call.raising = -1
        state.raised = id(error)
        return state.raised_at

    return source_of


def _handling(state: TracedState, source_of: Sources) -> dict[str, Probe]:
    frames, node, exc_info = state.frames, state.columns.node, sys.exc_info

    def handles(site: int) -> None:
        """An ``except`` begins."""
        call = state.current
        if call.frame != frames[site]:
            call = state.back_to(frames[site])
        handled(site, call)

    def handles_resumed(site: int) -> None:
        """The same in a generator or coroutine."""
        state.resumed()
        handled(site, state.current)

    def handled(site: int, call: TracedCall) -> None:
        _, error, trace = exc_info()
        source = source_of(call, error, trace)
        call.handled = id(error), source
        # what is raised from now on is new, even if it gets the same identity
        state.raised = 0
        node(site, call.number, 0, -1, [source] if source >= 0 else [])
        call.uses.clear()
        call.pending.clear()
        call.items.clear()
        call.parts.clear()

    def raises_again(site: int) -> None:
        """A ``raise`` without an exception."""
        call, error = state.current, exc_info()[1]
        sources = [call.handled[1]] if call.handled[0] == id(error) and call.handled[1] >= 0 else []
        call.raised_again = id(error), node(site, call.number, 0, -1, sources)
        call.uses.clear()

    return named(handles, handles_resumed, raises_again)


def _leaving(state: TracedState, source_of: Sources) -> dict[str, Probe]:
    exc_info = sys.exc_info

    def leave(call: TracedCall) -> None:
        _, error, trace = exc_info()
        # that comes when a generator is dropped, and is no failure
        if type(error) is not GeneratorExit:
            again = call.raised_again[0] == id(error)
            source = source_of(call, error, trace)
            if source < 0 and error is not None and (source := state.origins.known(error, trace)) >= 0:
                state.raised_at = source
            state.origins.add(error, trace, source, raised_again=again)
        call.uses.clear()

    def is_left_before_cleanup(frame: int) -> None:
        """An exception leaves the body of a function, whose ``finally`` or ``with`` follows."""
        call = state.back_to(frame)
        if call.frame == frame:
            leave(call)

    def is_left(frame: int) -> None:
        """An exception leaves a function."""
        is_left_before_cleanup(frame)
        if state.current.frame == frame:
            state.leave(state.current)

    def is_left_before_cleanup_resumed(frame: int) -> None:
        """The same of a generator or coroutine that cleans up."""
        leave(state.resumed())

    def is_left_resumed(frame: int) -> None:
        """The same of one that does not."""
        call = state.resumed()
        leave(call)
        state.leave(call)

    return named(is_left_before_cleanup, is_left, is_left_before_cleanup_resumed, is_left_resumed)
