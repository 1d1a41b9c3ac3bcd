"""The probes of values, decisions, loops and comprehensions."""

from __future__ import annotations

from collections.abc import Callable
from types import GeneratorType
from typing import Any

from suspectra_recorder.experiments.traces.calls import ANY, Pending, TracedCall, TracedState, ended
from suspectra_recorder.experiments.traces.heap import WHOLE
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import sys

__builtins__ = library_references.builtins

Probe = Callable[..., Any]


def value_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of values, decisions, loops and comprehensions."""
    columns, heap, frames = state.columns, state.heap, state.frames
    node, text, shares = columns.node, columns.text, columns.owner
    content, write, stored_of = heap.content, heap.write, heap.stored.get
    get_frame, defaults = sys._getframe, state.defaults

    def v(site: int, value: Any) -> Any:
        call = state.current
        call.stored = made = node(site, call.number, text(value), -1, call.uses)
        call.uses.clear()
        if call.pending:
            call.pending.clear()
        if call.update is not None:
            write(call.update[0], call.update[1], made)
            call.update = None
        return value

    def va(site: int, value: Any) -> Any:
        call = state.current
        if stored_of(id(value)) is not None:
            content(value, call.uses)
            v(site, value)
            write(value, WHOLE, call.stored)
            return value
        return v(site, value)

    def nested(site: int, value: Any, lit: int, outcome: int) -> int:
        call = state.current
        begin = call.pending[-1].last if call.pending else 0
        uses = call.uses
        made = node(site, call.number, lit, outcome, uses[begin:])
        del uses[begin:]
        uses.append(made)
        return made

    def vn(site: int, value: Any) -> Any:
        nested(site, value, text(value), -1)
        return value

    def df(site: int, value: Any) -> Any:
        call = state.current
        node(site, call.number, text(value), -1, call.uses[call.pending[-1].last if call.pending else 0 :])
        defaults[site] = id(value) if defaults.get(site, id(value)) == id(value) else ANY
        return value

    def vt(site: int, value: Any) -> Any:
        v(site, value)
        state.current.parts.append(state.current.stored)
        return value

    def e(site: int, value: Any) -> Any:
        call = state.current
        call.raising = node(site, call.number, text(value), -1, call.uses)
        call.uses.clear()
        return value

    def a(site: int, truth: bool) -> bool:
        call = state.current
        made = node(site, call.number, 0, 1 if truth else 0, call.uses)
        if not truth:
            call.raising = made
        call.uses.clear()
        call.pending.clear()
        return truth

    def l(site: int) -> None:  # noqa: E743
        call = state.current
        made = node(site, call.number, 0, -1, call.uses)
        call.stored = made
        call.uses.clear()
        call.pending.clear()

    def l0() -> None:
        state.current.uses.clear()
        state.current.parts.clear()

    def d(value: Any) -> Any:
        state.current.uses.clear()
        state.current.pending.clear()
        return value

    def b(site: int, truth: bool) -> bool:
        call = state.current
        if call.frame != frames[site]:
            call = state.back_to(frames[site])
        made = node(site, call.number, 0, 1 if truth else 0, call.uses)
        call.uses.clear()
        if call.pending:
            call.pending.clear()
        if call.gives:
            call.decided(made)
        if made >= columns.most:
            state.on_full()
        return truth

    def bn(site: int, truth: bool) -> bool:
        made = nested(site, truth, 0, 1 if truth else 0)
        if state.current.gives:
            state.current.decided(made)
        return truth

    def i(site: int, value: Any) -> Any:
        call = state.current
        node(site, call.number, 0, -1, call.uses)
        call.uses.clear()
        call.pending.clear()
        return value

    def i2(site: int, value: Any) -> Any:
        call = state.current
        node(site, call.number, 0, -1, call.uses[call.pending[-1].last if call.pending else 0 :])
        return value

    def in_(site: int, value: Any) -> Any:
        i2(site, value)
        call = state.current
        begin = call.pending[-1].last if call.pending else 0
        call.pending.append(Pending(-1, begin, len(call.uses), None, True, 1))
        return value

    def j(site: int) -> bool:
        call = state.current
        begin = call.pending[-1].last if call.pending else 0
        node(site, call.number, 0, -1, call.uses[begin:])
        del call.uses[begin:]
        return True

    def ve(site: int, value: Any) -> Any:
        nested(site, value, text(value), -1)
        call = state.current
        if call.pending:
            call.pending[-1].last = len(call.uses)
        return value

    def jg(site: int) -> bool:
        call = state.suspended.get(id(get_frame(1 + state.between)))
        if call is not None:
            resumer = state.current
            if call is not resumer:
                call.caller = resumer
                state.current = call
            node(site, call.number, 0, -1, call.uses if call is resumer else [*call.uses, *resumer.uses])
        return True

    def yg(site: int, value: Any) -> Any:
        call = state.current
        made = node(site, call.number, text(value), -1, call.uses)
        call.uses.clear()
        ended(call, made, value)
        state.leave(call)
        return value

    def gen(site: int, value: Any) -> Any:
        if type(value) is GeneratorType:
            state.calls += 1
            parent = state.current
            call = TracedCall(state.calls, frames[site], parent, gives=True)
            columns.called(parent.number)
            node(site, state.calls, 0, -1, [])
            call.owners = [(parent.frame, parent.number), *parent.owners]
            for owner in call.owners:
                shares(state.calls, owner)
            state.suspended[id(value.gi_frame)] = call
        return value

    def m(site: int, value: Any) -> Any:
        call = state.current
        while call.pending and call.pending.pop().site >= 0:
            pass
        nested(site, value, text(value), -1)
        return value

    return {
        "v": v,
        "va": va,
        "vn": vn,
        "df": df,
        "vt": vt,
        "e": e,
        "a": a,
        "l": l,
        "l0": l0,
        "d": d,
        "b": b,
        "bn": bn,
        "i": i,
        "i2": i2,
        "in_": in_,
        "j": j,
        "ve": ve,
        "jg": jg,
        "yg": yg,
        "gen": gen,
        "m": m,
    }
