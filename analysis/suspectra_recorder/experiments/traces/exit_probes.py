"""The probes where traced functions end without an exception."""

from __future__ import annotations

from typing import Any

from suspectra_recorder.experiments.traces.probe_names import Probe, named
from suspectra_recorder.experiments.traces.traced_calls import TracedState, ended
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins


def exit_probes(state: TracedState) -> dict[str, Probe]:
    """The probes where traced functions end without an exception."""
    node, text, frames = state.columns.node, state.columns.text, state.frames

    def returns(site: int, value: Any) -> Any:
        """``return value``, which ends the call."""
        call = state.current
        if call.frame != frames[site]:
            call = state.back_to(frames[site])
        caller = call.caller
        made = node(site, call.number, text(value), -1, call.uses)
        if caller is not None:
            caller.uses.append(made)
            caller.returned, caller.result = made, value
            state.current = caller
        return value

    def returns_none(site: int) -> None:
        """``return``, or the end of a function that can return a value."""
        call = state.current
        if call.frame != frames[site]:
            call = state.back_to(frames[site])
        ended(call, node(site, call.number, text(None), -1, []), None)
        call.uses.clear()

    def returns_from_lambda(entered: bool, site: int, value: Any) -> Any:
        """The value of a lambda."""
        # entered or not: see `entry_probes.enter`
        return returns(site, value) if entered else value

    def returns_before_cleanup(site: int, value: Any) -> Any:
        """``return value`` inside of ``try`` or ``with``: what cleans up still belongs to the call."""
        call = state.current
        if call.frame != frames[site]:
            call = state.back_to(frames[site])
        ended(call, node(site, call.number, text(value), -1, call.uses), value)
        call.uses.clear()
        return value

    def leaves() -> None:
        """The end of a function that gives nothing."""
        state.leave(state.current)

    def leaves_after_cleanup(frame: int) -> None:
        """The ``finally`` around the body of a function that cleans up."""
        state.leave(state.back_to(frame))

    def leaves_after_cleanup_resumed(frame: int) -> None:
        """The same of a generator or coroutine, whoever resumed it last."""
        state.leave(state.resumed())

    return named(
        returns,
        returns_none,
        returns_from_lambda,
        returns_before_cleanup,
        leaves,
        leaves_after_cleanup,
        leaves_after_cleanup_resumed,
    )
