"""The probes of functions that can be suspended: generators, coroutines and generator expressions."""

from __future__ import annotations

from types import GeneratorType
from typing import Any

from suspectra_recorder.experiments.traces.probe_names import Probe, named
from suspectra_recorder.experiments.traces.traced_calls import TracedCall, TracedState, ended
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import sys

__builtins__ = library_references.builtins


def suspension_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of generators and coroutines."""
    columns = state.columns
    node, text = columns.node, columns.text

    def yields(site: int, value: Any) -> Any:
        call = state.current
        made = node(site, call.number, text(value), -1, call.uses)
        call.uses.clear()
        ended(call, made, value)
        state.leave(call)
        return value

    def here() -> TracedCall:
        return state.current

    def is_sent(call: TracedCall, value: Any, site: int) -> Any:
        resumer = state.current
        if call is not resumer:
            call.caller = resumer
            state.current = call
        if value is not None and resumer.pending:
            pending = resumer.pending[-1]
            made = node(site, call.number, text(value), -1, [*pending.nodes, *resumer.uses[pending.begin :]])
            columns.share(made, pending.site, resumer.number)
            call.uses.append(made)
        return value

    def delegates(value: Any) -> Any:
        state.leave(state.current)
        return value

    def delegated(call: TracedCall, value: Any) -> Any:
        resumer = state.current
        if call is not resumer:
            call.caller = resumer
            if resumer.returned >= 0 and resumer.result is value:
                call.uses.append(resumer.returned)
                if resumer.uses and resumer.uses[-1] == resumer.returned:
                    resumer.uses.pop()
            else:
                call.uses.extend(resumer.uses)
            state.current = call
        return value

    def goes_on() -> None:
        state.resumed()

    return named(yields, here, is_sent, delegates, delegated, goes_on)


def generator_expression_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of generator expressions, whose elements are yielded."""
    columns, frames, get_frame = state.columns, state.frames, sys._getframe
    node = columns.node

    def generator_round(site: int) -> bool:
        call = state.suspended.get(id(get_frame(1 + state.between)))
        if call is not None:
            resumer = state.current
            if call is not resumer:
                call.caller = resumer
                state.current = call
            node(site, call.number, 0, -1, call.uses if call is resumer else [*call.uses, *resumer.uses])
        return True

    def generator_expression(site: int, value: Any) -> Any:
        if type(value) is GeneratorType:
            state.calls += 1
            parent = state.current
            call = TracedCall(state.calls, frames[site], parent, gives=True)
            columns.called(parent.number)
            node(site, state.calls, 0, -1, [])
            call.owners = [(parent.frame, parent.number), *parent.owners]
            for owner in call.owners:
                columns.owner(state.calls, owner)
            state.suspended[id(value.gi_frame)] = call
        return value

    return named(generator_round, generator_expression)
