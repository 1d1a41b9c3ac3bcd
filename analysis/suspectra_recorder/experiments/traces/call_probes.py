"""The probes of calls: what is called and passed, where traced functions begin and end, and exceptions."""

from __future__ import annotations

from types import AsyncGeneratorType, CoroutineType, FrameType, FunctionType, GeneratorType, TracebackType
from typing import Any

from suspectra_recorder.experiments.traces.calls import ANY, Pending, TracedCall, TracedState, ended
from suspectra_recorder.experiments.traces.heap import is_native
from suspectra_recorder.experiments.traces.value_probes import Probe
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import _thread, sys

__builtins__ = library_references.builtins

_GENERATOR = 0x20 | 0x200  # flags of the code of generators, and of asynchronous ones


def _frame_of(value: object) -> object | None:
    """The frame of a generator or coroutine, None for other objects."""
    if type(value) is GeneratorType:
        return value.gi_frame
    if type(value) is CoroutineType:
        return value.cr_frame
    if type(value) is AsyncGeneratorType:
        return value.ag_frame
    return None


def call_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of calls, and of exceptions."""
    columns, heap = state.columns, state.heap
    node, share, shares, text = columns.node, columns.share, columns.owner, columns.text
    called = columns.called
    frames, captured, defaulted, defaults = state.frames, state.captured, state.defaulted, state.defaults
    this_thread, ident = state.thread, _thread.get_ident
    get_frame, exc_info = sys._getframe, sys.exc_info
    cells_of: dict[int, tuple[int, int]] = {}  # scope and call that have a variable, by cell
    deferred: dict[int, tuple[TracedCall, Pending]] = {}  # calls that have given a generator or coroutine
    kept: list[object] = []  # cells, so that no other one gets the identity

    def enter(site: int, values: tuple[object, ...], cells: Any, frame: FrameType | None) -> bool:
        if ident() != this_thread:
            state.foreign()
            return False
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
        if pending is None and caller.pending and not caller.pending[-1].left:
            pending = caller.pending[-1]
        called(caller.number)
        if pending is None:
            node(site, state.calls, 0, -1, caller.uses)
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

    def pass_on(site: int, values: tuple[object, ...], pending: Pending, call: TracedCall, entry: int) -> None:
        """Find the argument that each parameter was given: it is the same object."""
        given, nodes = pending.given, pending.nodes
        unmatched: list[int] = []
        for number, value in enumerate(values):
            for at, one in enumerate(given):
                if one is value:
                    columns.bind(entry, site + 1 + number, call.number, nodes[at])
                    del given[at], nodes[at]
                    break
            else:
                unmatched.append(number)
        for number in unmatched:
            value, place = values[number], site + 1 + number
            if not nodes:
                if defaults.get(defaulted.get(place, -1)) in (id(value), ANY):
                    columns.bind(entry, place, call.number, node(place, call.number, text(value), -1, []))
                continue
            if number == 0 and type(pending.function) is not FunctionType and len(unmatched) > 1:
                continue  # the object whose method it is
            columns.bind(entry, place, call.number, node(place, call.number, text(value), -1, nodes))
        given.clear()
        nodes.clear()

    def n(site: int, values: tuple[object, ...], cells: Any) -> bool:
        return enter(site, values, cells, None)

    def ng(site: int, values: tuple[object, ...], cells: Any) -> None:
        enter(site, values, cells, get_frame(1 + state.between))

    def kn(site: int, function: Any, left: int) -> Any:
        call = state.current
        call.pending.append(Pending(site, len(call.uses), len(call.uses), function, is_native(function), left))
        return function

    def k(site: int, function: Any, left: int) -> Any:
        call = state.current
        begin = call.pending[-1].last if call.pending else 0
        call.pending.append(Pending(site, begin, len(call.uses), function, is_native(function), left))
        return function

    def g(site: int, value: Any) -> Any:
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

    def gn(site: int, value: Any) -> Any:
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

    def c(site: int, value: Any) -> Any:
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

    def native(call: TracedCall, pending: Pending, value: Any) -> int:
        """The node of a call of code that is not traced."""
        uses, function = call.uses, pending.function
        sources = [*uses[pending.begin :], *pending.nodes]
        if not pending.entered or pending.native:
            heap.called(function, pending.given, sources)
        made = node(pending.site if pending.native else pending.site + 1, call.number, text(value), -1, sources)
        del uses[pending.begin :]
        uses.append(made)
        frame = None if pending.entered else _frame_of(value)
        if frame is not None:
            deferred[id(frame)] = call, pending
            return made
        if pending.native or not pending.entered:
            heap.changed(function, pending.given, made, native=pending.native)
        heap.born(value, made)
        return made

    def cd(site: int, value: Any) -> Any:
        c(site, value)
        call = state.current
        call.uses.clear()
        if call.pending:
            call.pending.clear()
        return value

    def r(site: int, value: Any) -> Any:
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

    def rn(site: int) -> None:
        call = state.current
        if call.frame != frames[site]:
            call = state.back_to(frames[site])
        ended(call, node(site, call.number, text(None), -1, []), None)
        call.uses.clear()

    def rl(entered: bool, site: int, value: Any) -> Any:
        return r(site, value) if entered else value

    def rf(site: int, value: Any) -> Any:
        call = state.current
        if call.frame != frames[site]:
            call = state.back_to(frames[site])
        ended(call, node(site, call.number, text(value), -1, call.uses), value)
        call.uses.clear()
        return value

    def z() -> None:
        state.leave(state.current)

    def zf(frame: int) -> None:
        state.leave(state.back_to(frame))

    def zfg(frame: int) -> None:
        state.leave(state.resumed())

    def here() -> TracedCall:
        return state.current

    def y(site: int, value: Any) -> Any:
        call = state.current
        made = node(site, call.number, text(value), -1, call.uses)
        call.uses.clear()
        ended(call, made, value)
        state.leave(call)
        return value

    def res(call: TracedCall, value: Any, site: int) -> Any:
        resumer = state.current
        if call is not resumer:
            call.caller = resumer
            state.current = call
        if value is not None and resumer.pending:
            pending = resumer.pending[-1]
            made = node(site, call.number, text(value), -1, [*pending.nodes, *resumer.uses[pending.begin :]])
            share(made, pending.site, resumer.number)
            call.uses.append(made)
        return value

    def yf(value: Any) -> Any:
        state.leave(state.current)
        return value

    def resf(call: TracedCall, value: Any) -> Any:
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

    def f() -> None:
        state.resumed()

    def origin(call: TracedCall) -> int:
        """The node where the exception that is being handled comes from."""
        _, error, trace = exc_info()
        return source_of(call, error, trace)

    def swallowed(error: BaseException, trace: TracebackType) -> int:
        """The node where an exception comes from that no handler gets, but a context manager, as that of a subtest."""
        found = state.origins.for_exception(error, None)
        if found < 0:
            found = source_of(state.current, error, trace)
            state.origins.add(error, trace, found)
        return found

    def source_of(call: TracedCall, error: BaseException | None, trace: TracebackType | None) -> int:
        if call.raised_again[0] == id(error):
            call.pending.clear()
            state.raised_at = call.raised_again[1]
            call.raised_again = 0, -1
        elif call.raising >= 0 and trace is not None and trace.tb_next is None:
            state.raised_at = call.raising
        elif trace is None or trace.tb_next is None or id(error) != state.raised:
            if call.pending and call.pending[-1].site >= 0:  # else a comprehension raised it
                pending = call.pending[-1]
                if pending.entered and id(error) == state.raised:
                    call.uses.append(state.raised_at)
                call.pending.clear()
                state.raised_at = native(call, pending, error)
            else:
                site = state.site_at(call.frame, trace.tb_lineno if trace is not None else -1)
                if site >= 0:
                    if (state.is_with(site) or call.pending) and columns.count:
                        call.uses.append(columns.count - 1)  # of a comprehension, what its variables got last
                    state.raised_at = node(site, call.number, 0, -1, call.uses)
                else:
                    state.raised_at = -1
                call.pending.clear()
        call.raising = -1
        state.raised = id(error)
        return state.raised_at

    def h(site: int) -> None:
        call = state.current
        if call.frame != frames[site]:
            call = state.back_to(frames[site])
        handled(site, call)

    def hg(site: int) -> None:
        state.resumed()
        handled(site, state.current)

    def handled(site: int, call: TracedCall) -> None:
        source = origin(call)
        call.handled = id(exc_info()[1]), source
        state.raised = 0
        node(site, call.number, 0, -1, [source] if source >= 0 else [])
        call.uses.clear()
        call.pending.clear()
        call.items.clear()
        call.parts.clear()

    def ra(site: int) -> None:
        call, error = state.current, exc_info()[1]
        sources = [call.handled[1]] if call.handled[0] == id(error) and call.handled[1] >= 0 else []
        call.raised_again = id(error), node(site, call.number, 0, -1, sources)
        call.uses.clear()

    def leave(call: TracedCall) -> None:
        _, error, trace = exc_info()
        if type(error) is not GeneratorExit:
            again = call.raised_again[0] == id(error)
            state.origins.add(error, trace, source_of(call, error, trace), raised_again=again)
        call.uses.clear()

    def xm(frame: int) -> None:
        call = state.back_to(frame)
        if call.frame == frame:
            leave(call)

    def x(frame: int) -> None:
        xm(frame)
        if state.current.frame == frame:
            state.leave(state.current)

    def xmg(frame: int) -> None:
        leave(state.resumed())

    def xg(frame: int) -> None:
        call = state.resumed()
        leave(call)
        state.leave(call)

    state.swallowed = swallowed
    return {
        "n": n,
        "ng": ng,
        "kn": kn,
        "k": k,
        "g": g,
        "gn": gn,
        "c": c,
        "cd": cd,
        "r": r,
        "rl": rl,
        "rn": rn,
        "rf": rf,
        "z": z,
        "zf": zf,
        "zfg": zfg,
        "here": here,
        "y": y,
        "res": res,
        "yf": yf,
        "resf": resf,
        "f": f,
        "h": h,
        "ra": ra,
        "hg": hg,
        "xm": xm,
        "x": x,
        "xmg": xmg,
        "xg": xg,
    }
