"""The probes of names that are attributes: of modules, of classes, and those that are imported."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from suspectra_recorder.experiments.traces.probe_names import Probe, named
from suspectra_recorder.experiments.traces.traced_calls import TracedState
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import sys

__builtins__ = library_references.builtins

_module: Any = ModuleType
_names_in = _module.__dict__["__dict__"].__get__


def module_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of names that modules bind and import."""
    node, heap, write = state.columns.node, state.heap, state.heap.write
    loaded, get_frame = sys.modules, sys._getframe

    def binds_in_module(*names: str) -> None:
        """A statement of a module has bound names."""
        module = _module_of(get_frame(1 + state.between).f_globals, loaded)
        if module is not None:
            for name in names:
                write(module, name, state.current.stored)

    def imports(site: int, names: tuple[tuple[str, str], ...], origin: str, level: int, always: bool) -> None:
        """``from origin import name as bound``; in functions always, at import only what is known of the module."""
        space = get_frame(1 + state.between).f_globals
        call = state.current
        known = heap.stored.get(id(loaded.get(_absolute(space, origin, level))), {})
        importing = _module_of(space, loaded)
        for number, (name, bound) in enumerate(names):
            found = known.get(name)
            if found is not None or always:
                made = node(site + number, call.number, 0, -1, call.uses if found is None else [*call.uses, found])
                if not always and importing is not None:
                    write(importing, bound, made)
        call.uses.clear()
        call.pending.clear()

    return named(binds_in_module, imports)


def class_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of names that bodies of classes bind."""
    bindings, bind = state.bindings, state.heap.bind

    def class_begins() -> None:
        """The body of a class begins."""
        bindings.append(None)

    def binds_in_class(*names: str) -> None:
        """A statement of the body has bound names."""
        bindings.extend((name, state.current.stored) for name in names)

    def class_ends(thing: Any) -> None:
        """The class was made."""
        found: list[tuple[str, int]] = []
        while bindings and (bound := bindings.pop()) is not None:
            found.append(bound)
        if issubclass(type(thing), type):
            for name, made in reversed(found):
                bind(thing, name, made)

    return named(class_begins, binds_in_class, class_ends)


def _module_of(space: dict[str, Any], loaded: dict[str, ModuleType]) -> Any:
    """The module that has these names, None for other code."""
    # code of `exec` may have any name in its globals
    module = loaded.get(space.get("__name__", ""))
    return module if issubclass(type(module), ModuleType) and _names_in(module) is space else None


def _absolute(space: dict[str, Any], name: str, level: int) -> str:
    """The full name of a module that code with these globals imports from."""
    if not level:
        return name
    package = space.get("__package__") or ""
    parts = str(package).split(".")[: 1 - level or None]
    return ".".join([*parts, name] if name else parts)
