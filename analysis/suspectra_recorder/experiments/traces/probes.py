"""What the probes of traced code do, by name: while nothing is traced, and while a run is.

The probes are closures over the state of the run, since they are called several times for each statement. A node is
made when what it stands for ends. The `uses` of a call collect the nodes that were read since its last node, as far as
they can't be known from the source: those that stored what is read from objects, and what calls gave back.
"""

from __future__ import annotations

from typing import Any

from suspectra_recorder.experiments.traces.call_probes import call_probes
from suspectra_recorder.experiments.traces.entry_probes import entry_probes
from suspectra_recorder.experiments.traces.exception_probes import exception_probes
from suspectra_recorder.experiments.traces.exit_probes import exit_probes
from suspectra_recorder.experiments.traces.namespace_probes import class_probes, module_probes
from suspectra_recorder.experiments.traces.object_probes import read_probes, write_probes
from suspectra_recorder.experiments.traces.probe_names import Probe
from suspectra_recorder.experiments.traces.suspension_probes import generator_expression_probes, suspension_probes
from suspectra_recorder.experiments.traces.traced_calls import TracedState
from suspectra_recorder.experiments.traces.value_probes import (
    decision_probes,
    iteration_probes,
    statement_probes,
    value_probes,
)
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

_SUBJECTS = (
    *(value_probes, statement_probes, decision_probes, iteration_probes),
    *(read_probes, write_probes, module_probes, class_probes),
    *(call_probes, entry_probes, exit_probes, exception_probes),
    *(suspension_probes, generator_expression_probes),
)


def probes(state: TracedState) -> dict[str, Probe]:
    """The probes of a run."""
    return {name: probe for subject in _SUBJECTS for name, probe in subject(state).items()}


def _nothing(*given: object) -> None:
    """For probes that give nothing back."""


def _first(value: Any, *others: object) -> Any:
    return value


def _second(site: object, value: Any, *others: object) -> Any:
    return value


def _third(entered: object, site: object, value: Any) -> Any:
    return value


def _true(site: object) -> bool:
    return True


_GIVE_NOTHING = (
    *("enter", "enter_suspendable", "executed", "forget", "leaves", "leaves_after_cleanup"),
    *("leaves_after_cleanup_resumed", "handles", "handles_resumed", "is_left", "is_left_before_cleanup"),
    *("is_left_resumed", "is_left_before_cleanup_resumed", "here", "goes_on", "binds_in_module", "binds_in_class"),
    *("class_begins", "class_ends", "imports", "raises_again", "returns_none"),
)
_GIVE_FIRST = (
    *("attribute", "constant_item", "item_of", "item", "content", "deep_content", "stores_attribute", "stores_item"),
    *("deletes_item", "changes_item", "changes_attribute", "discard", "delegates"),
)
_GIVE_SECOND = (
    *("assigned", "assigned_again", "assigned_inside", "default", "assigned_part", "element", "raises", "asserts"),
    *("decided", "decided_inside", "calls", "calls_name", "argument", "argument_value", "result", "result_dropped"),
    *("returns", "returns_before_cleanup", "yields", "iterates", "iterates_inside", "iterates_first"),
    *("comprehension", "generator_expression", "is_sent", "delegated"),
)
idle: dict[str, Probe] = {
    **dict.fromkeys(_GIVE_NOTHING, _nothing),
    **dict.fromkeys(_GIVE_FIRST, _first),
    **dict.fromkeys(_GIVE_SECOND, _second),
    "returns_from_lambda": _third,
    "round": _true,
    "generator_round": _true,
}
"""What each probe does while nothing is traced: it gives back what it is given."""
