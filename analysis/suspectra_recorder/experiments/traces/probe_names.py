"""`Probe` and `named`: what all modules of probes share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

Probe = Callable[..., Any]


def named(*found: Probe) -> dict[str, Probe]:
    """Probes by their names, by which rewritten code asks for them."""
    return {probe.__name__: probe for probe in found}
