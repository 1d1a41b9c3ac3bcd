"""The probes of calls: what is called, what is passed, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from suspectra_recorder.experiments.traces.heap import is_native
from suspectra_recorder.experiments.traces.probe_names import Probe, named
from suspectra_recorder.experiments.traces.traced_calls import Pending, TracedCall, TracedState
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins


def call_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of calls."""
    columns, heap, frames = state.columns, state.heap, state.frames
    node, text = columns.node, columns.text
    native = native_calls(state)

    def calls_name(site: int, function: Any, left: int) -> Any:
        """``name(…)``: what is about to be called, and how many arguments say so; the name is read by no object."""
        call = state.current
        call.pending.append(Pending(site, len(call.uses), len(call.uses), function, is_native(function), left))
        return function

    def calls(site: int, function: Any, left: int) -> Any:
        """``a.b(…)``: the same, where what was read to find the function belongs to the call."""
        call = state.current
        begin = call.pending[-1].last if call.pending else 0
        call.pending.append(Pending(site, begin, len(call.uses), function, is_native(function), left))
        return function

    def argument(site: int, value: Any) -> Any:
        """An argument that has no node of its own unless a traced function takes it."""
        call = state.current
        if not call.pending:
            return value
        pending = call.pending[-1]
        pending.left -= 1
        pending.given.append(value)
        if pending.native:
            pending.last = len(call.uses)
        else:
            uses = call.uses
            pending.nodes.append(node(site, call.number, text(value), -1, uses[pending.mark :]))
            del uses[pending.mark :]
        return value

    def argument_value(site: int, value: Any) -> Any:
        """An argument that can be altered, so it has a node in any case."""
        call = state.current
        if not call.pending:
            return value
        pending, uses = call.pending[-1], call.uses
        pending.left -= 1
        made = node(site, call.number, text(value), -1, uses[pending.last :])
        del uses[pending.last :]
        pending.given.append(value)
        if pending.native:
            uses.append(made)
            pending.last = len(uses)
        else:
            pending.nodes.append(made)
        return value

    def result(site: int, value: Any) -> Any:
        """What a call gave back: by a traced function, or by code that is not traced."""
        call = state.current
        if call.frame != frames[site]:
            call = state.back_to(frames[site])
        pending = None
        while call.pending:
            pending = call.pending.pop()
            if pending.site == site:
                break
        else:
            return value
        uses = call.uses
        if pending.entered and not pending.native:
            if call.returned >= 0 and call.result is value:
                del uses[pending.mark :]
                uses.extend(pending.nodes)
                uses.append(call.returned)
                heap.remember(pending.function, call.returned)
                call.result = None
                return value
            if value is None:
                return value
        native(call, pending, value)
        return value

    def result_dropped(site: int, value: Any) -> Any:
        """The same of a call that is a statement: nothing reads it."""
        result(site, value)
        call = state.current
        call.uses.clear()
        if call.pending:
            call.pending.clear()
        return value

    return named(calls_name, calls, argument, argument_value, result, result_dropped)


def native_calls(state: TracedState) -> Callable[[TracedCall, Pending, object], int]:
    """Make the function that makes the node of a call of code that is not traced."""
    columns, heap, deferred = state.columns, state.heap, state.deferred
    node, text = columns.node, columns.text

    def native(call: TracedCall, pending: Pending, value: Any) -> int:
        uses, function = call.uses, pending.function
        sources = [*uses[pending.begin :], *pending.nodes]
        # what a traced function reads has nodes of its own
        if not pending.entered or pending.native:
            heap.called(function, pending.given, sources)
        made = node(pending.site if pending.native else pending.site + 1, call.number, text(value), -1, sources)
        del uses[pending.begin :]
        uses.append(made)
        frame = None if pending.entered else _frame_of(value)
        # nothing is executed before somebody asks for its first value
        if frame is not None:
            deferred[id(frame)] = call, pending
            return made
        if pending.native or not pending.entered:
            heap.changed(function, pending.given, made, native=pending.native)
        # what it gives may be a new object, whose content came from here
        heap.born(value, made)
        return made

    return native


def _frame_of(value: object) -> object | None:
    """The frame of a generator or coroutine, None for other objects."""
    if type(value) is GeneratorType:
        return value.gi_frame
    if type(value) is CoroutineType:
        return value.cr_frame
    if type(value) is AsyncGeneratorType:
        return value.ag_frame
    return None
