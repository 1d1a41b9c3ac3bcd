"""The probes of attributes and items."""

from __future__ import annotations

from typing import Any

from suspectra_recorder.experiments.dependences.calls import Call, State
from suspectra_recorder.experiments.dependences.heap import WHOLE, item_key
from suspectra_recorder.experiments.dependences.value_probes import Probe
from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins


def object_probes(state: State) -> dict[str, Probe]:
    """The probes of attributes and items.

    Parameters
    ----------
    state : State
        Of the run.

    Returns
    -------
    dict of str to callable
        By name.

    Examples
    --------
    >>> from suspectra_recorder.experiments.dependences.columns import Columns
    >>> state = State(Columns(0), [0], {}, lambda frame, line: -1, lambda site: False, print, print)
    >>> traced = object_probes(state)
    >>> class Cart: ...
    >>> cart = Cart()
    >>> state.heap.write(cart, "total", node=4)
    >>> traced["o"](cart, "total") is cart  # its attribute is read
    True
    >>> state.current.uses
    [4]
    """
    columns, heap = state.columns, state.heap
    content, item, write, stored_of = heap.content, heap.item, heap.write, heap.stored.get

    def o(thing: Any, key: str) -> Any:
        known = stored_of(id(thing))
        if known is not None:
            found = known.get(key)
            if found is None:
                found = known.get(WHOLE)
            if found is not None:
                state.current.uses.append(found)
        return thing

    def p(thing: Any, key: object) -> Any:
        item(thing, key, state.current.uses)
        return thing

    def s(thing: Any) -> Any:
        state.current.items.append(thing)
        return thing

    def t(key: Any) -> Any:
        call = state.current
        thing = call.items.pop()
        known = stored_of(id(thing))
        if known is not None:
            if item_key(key) is None:
                call.uses.extend(known.values())
            else:
                item(thing, key, call.uses)
        return key

    def u(thing: Any) -> Any:
        known = stored_of(id(thing))
        if known is not None:
            state.current.uses.extend(known.values())
        return thing

    def ud(thing: Any) -> Any:
        content(thing, state.current.uses)
        return thing

    def late(call: Call) -> int:
        """The node of the assignment whose target has been evaluated; what it reads is added."""
        made = call.parts.pop(0) if call.parts else call.stored
        for one in call.uses:
            if one < made:
                columns.edge(one, made)
        if not call.parts:
            call.uses.clear()
        return made

    def w(thing: Any, key: str) -> Any:
        write(thing, key, late(state.current))
        return thing

    def tw(key: Any) -> Any:
        call = state.current
        thing = call.items.pop()
        plain = item_key(key)
        if type(key) is int and key < 0 and type(thing) is list:
            plain = key + len(thing)
        known = stored_of(id(thing))
        made = late(call)
        if plain is None and known is not None:
            for one in known.values():
                columns.edge(one, made)
        write(thing, WHOLE if plain is None else plain, made)
        return key

    def td(key: Any) -> Any:
        call = state.current
        thing = call.items.pop()
        made = late(call)
        known = stored_of(id(thing))
        if known is not None:
            for one in known.values():
                columns.edge(one, made)
        write(thing, WHOLE, made)
        return key

    def au(thing: Any, key: str) -> Any:
        state.current.update = thing, key
        return o(thing, key)

    def tu(key: Any) -> Any:
        call = state.current
        thing = call.items[-1]
        plain = item_key(key)
        call.update = thing, WHOLE if plain is None else plain
        return t(key)

    return {"o": o, "p": p, "s": s, "t": t, "u": u, "ud": ud, "w": w, "tw": tw, "td": td, "au": au, "tu": tu}
