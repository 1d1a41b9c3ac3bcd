"""The probes of attributes and items."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from suspectra_recorder.experiments.traces.calls import TracedCall, TracedState
from suspectra_recorder.experiments.traces.heap import WHOLE, item_key
from suspectra_recorder.experiments.traces.value_probes import Probe
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import sys

__builtins__ = library_references.builtins

_module: Any = ModuleType
_names_in = _module.__dict__["__dict__"].__get__


def object_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of attributes and items."""
    columns, heap = state.columns, state.heap
    node = columns.node
    content, item, write, stored_of = heap.content, heap.item, heap.write, heap.stored.get
    of_classes, bindings, loaded, get_frame = heap.of_classes, state.bindings, sys.modules, sys._getframe

    def o(thing: Any, key: str) -> Any:
        known = stored_of(id(thing))
        if known is not None:
            found = known.get(key)
            if found is not None:
                state.current.uses.append(found)
                return thing
            found = known.get(WHOLE)
            if found is not None:
                state.current.uses.append(found)
        if key in of_classes:
            found = heap.attribute(thing, key)
            if found >= 0:
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

    def late(call: TracedCall) -> int:
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

    def module_of(space: dict[str, Any]) -> Any:
        """The module that has these names, None for other code."""
        module = loaded.get(space.get("__name__", ""))
        return module if issubclass(type(module), ModuleType) and _names_in(module) is space else None

    def bm(*names: str) -> None:
        module = module_of(get_frame(1 + state.between).f_globals)
        if module is not None:
            for name in names:
                write(module, name, state.current.stored)

    def im(site: int, names: tuple[tuple[str, str], ...], origin: str, level: int, always: bool) -> None:
        space = get_frame(1 + state.between).f_globals
        call = state.current
        known = heap.stored.get(id(loaded.get(_absolute(space, origin, level))), {})
        importing = module_of(space)
        for number, (name, bound) in enumerate(names):
            found = known.get(name)
            if found is not None or always:
                made = node(site + number, call.number, 0, -1, call.uses if found is None else [*call.uses, found])
                if not always and importing is not None:
                    write(importing, bound, made)
        call.uses.clear()
        call.pending.clear()

    def cb() -> None:
        bindings.append(None)

    def bc(*names: str) -> None:
        bindings.extend((name, state.current.stored) for name in names)

    def ca(thing: Any) -> None:
        found: list[tuple[str, int]] = []
        while bindings and (bound := bindings.pop()) is not None:
            found.append(bound)
        if issubclass(type(thing), type):
            for name, made in reversed(found):
                heap.bind(thing, name, made)

    reads: dict[str, Probe] = {"o": o, "p": p, "s": s, "t": t, "u": u, "ud": ud, "au": au, "tu": tu}
    return {**reads, "w": w, "tw": tw, "td": td, "bm": bm, "bc": bc, "cb": cb, "ca": ca, "im": im}


def _absolute(space: dict[str, Any], name: str, level: int) -> str:
    """The full name of a module that code with these globals imports from."""
    if not level:
        return name
    package = space.get("__package__") or ""
    parts = str(package).split(".")[: 1 - level or None]
    return ".".join([*parts, name] if name else parts)
