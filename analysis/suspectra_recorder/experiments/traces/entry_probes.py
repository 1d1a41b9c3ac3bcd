"""The probes where traced functions begin: whose call it is, and which argument each parameter was given."""

from __future__ import annotations

from types import FrameType, FunctionType
from typing import Any

from suspectra_recorder.experiments.traces.probe_names import Probe, named
from suspectra_recorder.experiments.traces.traced_calls import ANY, Pending, TracedCall, TracedState
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import _thread, sys

__builtins__ = library_references.builtins

_GENERATOR = 0x20 | 0x200  # flags of the code of generators, and of asynchronous ones


def entry_probes(state: TracedState) -> dict[str, Probe]:
    """The probes where traced functions begin."""
    columns = state.columns
    node, share, shares = columns.node, columns.share, columns.owner
    called = columns.called
    frames, captured = state.frames, state.captured
    this_thread, ident = state.thread, _thread.get_ident
    get_frame, pass_on = sys._getframe, _passing_on(state)
    cells_of: dict[int, tuple[int, int]] = {}  # scope and call that have a variable, by cell
    deferred = state.deferred
    kept: list[object] = []  # cells, so that no other one gets the identity

    def enter(site: int, values: tuple[object, ...], cells: Any, frame: FrameType | None = None) -> bool:
        """A traced function, or the body of a module, begins. False in another thread than that of the test."""
        if ident() != this_thread:
            state.foreign()
            return False  # a lambda asks: its probe at the end was looked up before this one was called
        caller = state.current
        state.calls += 1
        gives = frame is not None and frame.f_code.co_flags & _GENERATOR != 0
        call = TracedCall(state.calls, frames[site], caller, gives=gives)
        pending = None
        if frame is not None:
            state.suspended[id(frame)] = call
            kept_call = deferred.pop(id(frame), None)
            if kept_call is not None:
                caller, pending = kept_call
        # all arguments of the call were evaluated, so this is what it calls
        if pending is None and caller.pending and not caller.pending[-1].left:
            pending = caller.pending[-1]
        called(caller.number)
        if pending is None:
            node(site, state.calls, 0, -1, caller.uses)
        # code that is not traced calls it, with whatever it was given
        elif pending.native or pending.entered:
            entry = node(site, state.calls, 0, -1, [*caller.uses[pending.begin :], *pending.nodes])
            share(entry, pending.site, caller.number)
        else:
            entry = node(site, state.calls, 0, -1, caller.uses[pending.begin : pending.mark])
            share(entry, pending.site + 1, caller.number)
            pass_on(site, values, pending, call, entry)
        if pending is not None:
            pending.entered = True
            caller.returned = -1
        if cells is not None:
            scope, names = captured[site]
            # the cells of the lambda are those of the function itself
            for name, cell in zip(cells.__code__.co_freevars, cells.__closure__):  # noqa: B905 - equal lengths
                if name in names:
                    cells_of[id(cell)] = scope, state.calls
                    kept.append(cell)
                else:
                    owner = cells_of.get(id(cell))
                    if owner is not None and owner not in call.owners:
                        call.owners.append(owner)
                        shares(state.calls, owner)
        state.current = call
        columns.flush_if_full()
        if columns.count >= columns.most:
            state.on_full()
        return True

    def enter_suspendable(site: int, values: tuple[object, ...], cells: Any) -> None:
        """A generator or coroutine begins to be executed, perhaps long after the call that gave it."""
        enter(site, values, cells, get_frame(1 + state.between))

    return named(enter, enter_suspendable)


def _passing_on(state: TracedState) -> Any:
    columns, defaulted, defaults = state.columns, state.defaulted, state.defaults
    node, text, bind = columns.node, columns.text, columns.bind

    def pass_on(site: int, values: tuple[object, ...], pending: Pending, call: TracedCall, entry: int) -> None:
        """Find the argument that each parameter was given: it is the same object."""
        given, nodes = pending.given, pending.nodes
        unmatched: list[int] = []
        for number, value in enumerate(values):
            for at, one in enumerate(given):
                if one is value:
                    bind(entry, site + 1 + number, call.number, nodes[at])
                    del given[at], nodes[at]
                    break
            else:
                unmatched.append(number)
        for number in unmatched:
            value, place = values[number], site + 1 + number
            if not nodes:
                if defaults.get(defaulted.get(place, -1)) in (id(value), ANY):
                    bind(entry, place, call.number, node(place, call.number, text(value), -1, []))
                continue
            if number == 0 and type(pending.function) is not FunctionType and len(unmatched) > 1:
                continue  # the object whose method it is
            bind(entry, place, call.number, node(place, call.number, text(value), -1, nodes))
        given.clear()
        nodes.clear()

    return pass_on
