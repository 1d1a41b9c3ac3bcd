"""Which distributions are installed, by the names of their folders alone: no metadata is read."""

from __future__ import annotations

from collections.abc import Iterable

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os

__builtins__ = library_references.builtins

_ENDINGS = (".dist-info", ".egg-info")
_MAX_PACKAGES = 5_000


def installed(folders: Iterable[str]) -> dict[str, str]:
    """Look up the distributions in some folders."""
    found: dict[str, str] = {}
    for folder in folders:
        try:
            names = os.listdir(folder) if folder else []
        except OSError:
            continue
        for name in sorted(names):
            stem, dot, ending = name.rpartition(".")
            package, _, version = stem.partition("-")
            if dot + ending in _ENDINGS and version and len(found) < _MAX_PACKAGES:
                found.setdefault(package, version.partition("-py")[0])
    return found
