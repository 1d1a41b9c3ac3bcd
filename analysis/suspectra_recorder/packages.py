"""Which distributions are installed, by the names of their folders alone: no metadata is read."""

from __future__ import annotations

from collections.abc import Iterable

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import os

__builtins__ = own.builtins

_ENDINGS = (".dist-info", ".egg-info")
_MAX_PACKAGES = 5_000


def installed(folders: Iterable[str]) -> dict[str, str]:
    """Look up the distributions in some folders.

    Parameters
    ----------
    folders : iterable of str
        Such as ``sys.path``; of two folders with the same distribution the first one counts, as for imports.

    Returns
    -------
    dict of str to str
        The versions by name, as the names of their folders have them.

    Examples
    --------
    >>> for name in ("attrs-23.2.0.dist-info", "six-1.16.0-py3.12.egg-info", "attrs"):
    ...     (folder / name).mkdir()
    >>> installed([str(folder), "/no/such/folder"])
    {'attrs': '23.2.0', 'six': '1.16.0'}
    """
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
