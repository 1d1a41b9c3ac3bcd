"""The probes of attributes and items."""

from __future__ import annotations

from typing import Any

from suspectra_recorder.experiments.traces.heap import WHOLE, item_key
from suspectra_recorder.experiments.traces.probe_names import Probe, named
from suspectra_recorder.experiments.traces.traced_calls import TracedCall, TracedState
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins


def read_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of attributes and items that are read."""
    heap = state.heap
    add_content, add_item, stored_of, of_classes = heap.content, heap.item, heap.stored.get, heap.of_classes

    def attribute(thing: Any, key: str) -> Any:
        """``thing.key`` is read."""
        known = stored_of(id(thing))
        if known is not None:
            found = known.get(key)
            if found is not None:
                state.current.uses.append(found)
                return thing
            found = known.get(WHOLE)
            if found is not None:
                state.current.uses.append(found)
        # few names are bound by classes, and to look through the bases takes time
        if key in of_classes:
            found = heap.attribute(thing, key)
            if found >= 0:
                state.current.uses.append(found)
        return thing

    def constant_item(thing: Any, key: object) -> Any:
        """``thing[1]`` or ``thing["key"]`` is read."""
        add_item(thing, key, state.current.uses)
        return thing

    def item_of(thing: Any) -> Any:
        """The object whose item is about to be read or written."""
        state.current.items.append(thing)
        return thing

    def item(key: Any) -> Any:
        """The key under which it is read."""
        call = state.current
        thing = call.items.pop()
        known = stored_of(id(thing))
        if known is not None:
            if item_key(key) is None:
                call.uses.extend(known.values())
            else:
                add_item(thing, key, call.uses)
        return key

    def content(thing: Any) -> Any:
        """An operand: all that was stored in it may be read."""
        known = stored_of(id(thing))
        if known is not None:
            state.current.uses.extend(known.values())
        return thing

    def deep_content(thing: Any) -> Any:
        """An operand of a comparison: what is in its parts may be read, too."""
        add_content(thing, state.current.uses)
        return thing

    def changes_attribute(thing: Any, key: str) -> Any:
        """``thing.key += …``"""
        state.current.update = thing, key
        return attribute(thing, key)

    def changes_item(key: Any) -> Any:
        """``thing[key] += …``"""
        call = state.current
        thing = call.items[-1]
        plain = item_key(key)
        call.update = thing, WHOLE if plain is None else plain
        return item(key)

    return named(attribute, constant_item, item_of, item, content, deep_content, changes_attribute, changes_item)


def write_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of attributes and items that are written."""
    edge, write, stored_of = state.columns.edge, state.heap.write, state.heap.stored.get

    def late(call: TracedCall) -> int:
        """The node of the assignment whose target has been evaluated; what it reads is added."""
        made = call.parts.pop(0) if call.parts else call.stored
        for one in call.uses:
            # what was stored later than the value was made is no part of it
            if one < made:
                edge(one, made)
        if not call.parts:
            call.uses.clear()
        return made

    def stores_attribute(thing: Any, key: str) -> Any:
        """``thing.key = …``"""
        write(thing, key, late(state.current))
        return thing

    def stores_item(key: Any) -> Any:
        """The key of ``thing[key] = …``"""
        call = state.current
        thing = call.items.pop()
        plain = item_key(key)
        if type(key) is int and key < 0 and type(thing) is list:
            # one number for one item
            plain = key + len(thing)
        known = stored_of(id(thing))
        made = late(call)
        if plain is None and known is not None:
            for one in known.values():
                edge(one, made)
        write(thing, WHOLE if plain is None else plain, made)
        return key

    def deletes_item(key: Any) -> Any:
        """The key of ``del thing[key]``"""
        call = state.current
        thing = call.items.pop()
        made = late(call)
        known = stored_of(id(thing))
        if known is not None:
            for one in known.values():
                edge(one, made)
        write(thing, WHOLE, made)
        return key

    return named(stores_attribute, stores_item, deletes_item)
