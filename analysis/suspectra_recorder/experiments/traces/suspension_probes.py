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
        """``yield value``: the call waits."""
        call = state.current
        made = node(site, call.number, text(value), -1, call.uses)
        call.uses.clear()
        ended(call, made, value)
        state.leave(call)
        return value

    def here() -> TracedCall:
        """The call that is about to wait, for the probe that follows it."""
        return state.current

    def is_sent(call: TracedCall, value: Any, site: int) -> Any:
        """A generator goes on, with what was sent."""
        resumer = state.current
        if call is not resumer:
            call.caller = resumer
            state.current = call
        # it was an argument of `send`, the call that is being made
        if value is not None and resumer.pending:
            pending = resumer.pending[-1]
            made = node(site, call.number, text(value), -1, [*pending.nodes, *resumer.uses[pending.begin :]])
            columns.share(made, pending.site, resumer.number)
            call.uses.append(made)
        return value

    def delegates(value: Any) -> Any:
        """``yield from value`` and ``await value``: the call waits for another one."""
        state.leave(state.current)
        return value

    def delegated(call: TracedCall, value: Any) -> Any:
        """It goes on with what that gave."""
        resumer = state.current
        if call is not resumer:
            call.caller = resumer
            # what the other call returned is read here, and not by whoever resumed this one
            if resumer.returned >= 0 and resumer.result is value:
                call.uses.append(resumer.returned)
                if resumer.uses and resumer.uses[-1] == resumer.returned:
                    resumer.uses.pop()
            else:
                call.uses.extend(resumer.uses)
            state.current = call
        return value

    def goes_on() -> None:
        """A call may have been suspended without a probe, as by ``async for``."""
        state.resumed()

    return named(yields, here, is_sent, delegates, delegated, goes_on)


def generator_expression_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of generator expressions, whose elements are yielded."""
    columns, frames, get_frame = state.columns, state.frames, sys._getframe
    node = columns.node

    def generator_round(site: int) -> bool:
        """Another round of a generator expression; it stands among the conditions, so it is true."""
        call = state.suspended.get(id(get_frame(1 + state.between)))
        if call is not None:
            resumer, uses = state.current, call.uses
            sources = uses
            if call is not resumer:
                call.caller = resumer
                state.current = call
                # who makes a list of the elements still holds those before, on which this one does not depend
                begin = resumer.pending[-1].last if resumer.pending else 0
                sources = [*uses, *resumer.uses[begin:]]
            made = node(site, call.number, 0, -1, sources)
            # all that left elements out stands in this node, however many they were
            if len(uses) > 1:
                uses[:] = [made]
            if made >= columns.most:
                state.on_full()
        return True

    def generator_expression(site: int, value: Any) -> Any:
        """A generator expression was made: its call begins when somebody takes from it."""
        if type(value) is GeneratorType:
            state.calls += 1
            parent = state.current
            call = TracedCall(state.calls, frames[site], parent, gives=True)
            columns.called(parent.number)
            node(site, state.calls, 0, -1, [])
            # it reads the variables of the function around it
            call.owners = [(parent.frame, parent.number), *parent.owners]
            for owner in call.owners:
                columns.owner(state.calls, owner)
            # its body has no probe at the beginning
            state.suspended[id(value.gi_frame)] = call
        return value

    return named(generator_round, generator_expression)
