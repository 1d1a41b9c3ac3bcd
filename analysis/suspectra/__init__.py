"""Suspectra: suspects from spectra.

The package is imported inside the user's own test process by the recorder, so importing it costs nothing:
the public names below are loaded on first use. It may be there before pytest is, which would warn that it comes too
late to rewrite asserts (PYTEST_DONT_REWRITE).

Examples
--------
>>> import suspectra
>>> "ochiai" in suspectra.technique_names()
True
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Elements": "suspectra.spectrum",
    "Evidence": "suspectra.evidence.evidence",
    "Function": "suspectra.spectrum",
    "Localizer": "suspectra.localizer",
    "Location": "suspectra.location",
    "Problem": "suspectra.errors",
    "RankedReport": "suspectra.report",
    "Spectrum": "suspectra.spectrum",
    "SuspectraError": "suspectra.errors",
    "make_technique": "suspectra.techniques",
    "technique_names": "suspectra.techniques",
}
__all__ = sorted([*_PUBLIC, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
