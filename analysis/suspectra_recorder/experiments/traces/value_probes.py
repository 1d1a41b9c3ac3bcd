"""The probes of values, statements, decisions and iterations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suspectra_recorder.experiments.traces.heap import WHOLE
from suspectra_recorder.experiments.traces.probe_names import Probe, named
from suspectra_recorder.experiments.traces.traced_calls import ANY, Pending, TracedState
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins


def value_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of values."""
    columns, heap, defaults = state.columns, state.heap, state.defaults
    node, text, nested = columns.node, columns.text, _nodes_inside(state)
    content, write, stored_of = heap.content, heap.write, heap.stored.get

    def assigned(site: int, value: Any) -> Any:
        """``x = value``."""
        call = state.current
        call.stored = made = node(site, call.number, text(value), -1, call.uses)
        call.uses.clear()
        if call.pending:
            call.pending.clear()
        if call.update is not None:
            write(call.update[0], call.update[1], made)
            call.update = None
        return value

    def assigned_again(site: int, value: Any) -> Any:
        """What ``x += e`` has made of ``x``."""
        call = state.current
        # `x += y` may have changed the object in place
        if stored_of(id(value)) is not None:
            content(value, call.uses)
            assigned(site, value)
            write(value, WHOLE, call.stored)
            return value
        return assigned(site, value)

    def assigned_inside(site: int, value: Any) -> Any:
        """``(x := value)``, and values that can be altered inside of expressions."""
        nested(site, text(value), -1)
        return value

    def default(site: int, value: Any) -> Any:
        """The default of a parameter, where its function is defined."""
        call = state.current
        node(site, call.number, text(value), -1, call.uses[call.pending[-1].last if call.pending else 0 :])
        # a definition that is executed again, as in a loop, may have another default
        defaults[site] = id(value) if defaults.get(site, id(value)) == id(value) else ANY
        return value

    def assigned_part(site: int, value: Any) -> Any:
        """One of several values, for a target that is an attribute or an item."""
        assigned(site, value)
        state.current.parts.append(state.current.stored)
        return value

    def comprehension(site: int, value: Any) -> Any:
        """The whole of a comprehension."""
        call = state.current
        # back to the mark of the comprehension: an exception may have left calls behind
        while call.pending and call.pending.pop().site >= 0:
            pass
        nested(site, text(value), -1)
        return value

    def element(site: int, value: Any) -> Any:
        """An element of a comprehension."""
        nested(site, text(value), -1)
        call = state.current
        if call.pending:
            call.pending[-1].last = len(call.uses)
        return value

    return named(assigned, assigned_again, assigned_inside, default, assigned_part, comprehension, element)


def statement_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of statements that give nothing."""
    node, text = state.columns.node, state.columns.text

    def executed(site: int) -> None:
        """A statement that gives no value, or what a target binds."""
        call = state.current
        made = node(site, call.number, 0, -1, call.uses)
        call.stored = made
        call.uses.clear()
        call.pending.clear()

    def forget() -> None:
        """What was read so far belongs to nothing that follows."""
        state.current.uses.clear()
        state.current.parts.clear()

    def discard(value: Any) -> Any:
        """The value of an expression that is a statement."""
        state.current.uses.clear()
        state.current.pending.clear()
        return value

    def raises(site: int, value: Any) -> Any:
        """``raise value``."""
        call = state.current
        call.raising = node(site, call.number, text(value), -1, call.uses)
        call.uses.clear()
        return value

    return named(executed, forget, discard, raises)


def decision_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of decisions."""
    columns, frames = state.columns, state.frames
    node, nested = columns.node, _nodes_inside(state)

    def decided(site: int, truth: bool) -> bool:
        """The test of ``if`` or ``while``, another round of ``for``, or a guard of ``case``."""
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

    def decided_inside(site: int, truth: bool) -> bool:
        """A test or an operand inside of an expression."""
        made = nested(site, 0, 1 if truth else 0)
        if state.current.gives:
            state.current.decided(made)
        return truth

    def asserts(site: int, truth: bool) -> bool:
        """The test of ``assert``."""
        call = state.current
        made = node(site, call.number, 0, 1 if truth else 0, call.uses)
        if not truth:
            call.raising = made
        call.uses.clear()
        call.pending.clear()
        return truth

    return named(decided, decided_inside, asserts)


def iteration_probes(state: TracedState) -> dict[str, Probe]:
    """The probes of what loops and comprehensions go through, and of the rounds of comprehensions."""
    columns = state.columns
    node = columns.node

    def iterates(site: int, value: Any) -> Any:
        """What ``for``, ``with`` or ``match`` is about."""
        call = state.current
        node(site, call.number, 0, -1, call.uses)
        call.uses.clear()
        call.pending.clear()
        return value

    def iterates_inside(site: int, value: Any) -> Any:
        """What an inner part of a comprehension goes through."""
        call = state.current
        node(site, call.number, 0, -1, call.uses[call.pending[-1].last if call.pending else 0 :])
        return value

    def iterates_first(site: int, value: Any) -> Any:
        """What a comprehension goes through; all until its end is put apart."""
        iterates_inside(site, value)
        call = state.current
        begin = call.pending[-1].last if call.pending else 0
        call.pending.append(Pending(-1, begin, len(call.uses), None, True, 1))
        return value

    def round(site: int) -> bool:
        """Another round of a comprehension; it stands among the conditions, so it is true."""
        call = state.current
        begin = call.pending[-1].last if call.pending else 0
        made = node(site, call.number, 0, -1, call.uses[begin:])
        del call.uses[begin:]
        if made >= columns.most:
            state.on_full()
        return True

    return named(iterates, iterates_inside, iterates_first, round)


def _nodes_inside(state: TracedState) -> Callable[[int, int, int], int]:
    node = state.columns.node

    def nested(site: int, lit: int, outcome: int) -> int:
        call = state.current
        begin = call.pending[-1].last if call.pending else 0
        uses = call.uses
        made = node(site, call.number, lit, outcome, uses[begin:])
        del uses[begin:]
        uses.append(made)
        return made

    return nested
