"""What the probes of traced code do, by name: while nothing is traced, and while a run is.

The probes are closures over the state of the run, since they are called several times for each statement. A node is
made when what it stands for ends. The `uses` of a call collect the nodes that were read since its last node, as far as
they can't be known from the source: those that stored what is read from objects, and what calls gave back.

A probe of a name that ends with ``n`` is inside of an expression, so its node is read by what is around it; one that
ends with ``g`` is in a function that can be suspended.
"""

from __future__ import annotations

from typing import Any

from suspectra_recorder.experiments.traces.call_probes import call_probes
from suspectra_recorder.experiments.traces.calls import TracedState
from suspectra_recorder.experiments.traces.object_probes import object_probes
from suspectra_recorder.experiments.traces.value_probes import Probe, value_probes
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins


def probes(state: TracedState) -> dict[str, Probe]:
    """The probes of a run."""
    return {**value_probes(state), **object_probes(state), **call_probes(state)}


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


idle: dict[str, Probe] = {
    **dict.fromkeys(("n", "ng", "l", "l0", "z", "zf", "zfg", "h", "hg", "x", "xm", "xg", "xmg", "here", "f"), _nothing),
    **dict.fromkeys(("bm", "bc", "cb", "ca", "im", "ra", "rn"), _nothing),
    **dict.fromkeys(("o", "p", "s", "t", "u", "ud", "w", "tw", "td", "tu", "au", "d", "yf"), _first),
    **dict.fromkeys(
        (
            "v",
            "va",
            "vn",
            "df",
            "vt",
            "ve",
            "yg",
            "e",
            "a",
            "b",
            "bn",
            "k",
            "kn",
            "g",
            "gn",
            "c",
            "cd",
            "r",
            "rf",
            "y",
            "i",
            "i2",
            "in_",
            "m",
            "gen",
            "res",
            "resf",
        ),
        _second,
    ),
    "rl": _third,
    "j": _true,
    "jg": _true,
}
"""What each probe does while nothing is traced: it gives back what it is given."""
