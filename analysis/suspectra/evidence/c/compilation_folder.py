"""The folder in which clang ran, which its notes do not contain, though sources may be named as seen from there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from suspectra.evidence.opening import read_evidence
from suspectra.program.c.object import CObject

_FOLDER = re.compile(rb"(?<=\0)/[^\0]{1,4095}(?=\0)")
_MAX_TRIED = 200  # folders


def with_folder(compiled: CObject, roots: Sequence[str]) -> CObject:
    """The object with the folder in which it was compiled, if its notes do not say it and it can be found.

    That is one from which its sources are found: one that its debug information names, else the nearest one above the
    notes. Only folders in `roots` are looked into.
    """
    relative = [source for source in compiled.sources if not os.path.isabs(source) and not source.startswith("<")]
    if compiled.folder or not relative:
        return compiled
    best, most = "", 0
    for folder in dict.fromkeys((*_named_folders(compiled.name, roots), *_folders_above(compiled.name, roots))):
        found = sum(os.path.exists(os.path.join(folder, source)) for source in relative)
        if found > most:
            best, most = folder, found
        if found == len(relative):
            break
    return replace(compiled, folder=best)


def _named_folders(notes: str, roots: Sequence[str]) -> list[str]:
    """The folders that are named in the debug information of an object."""
    try:
        data = read_evidence(os.path.splitext(notes)[0] + ".o")
    except (OSError, ValueError):
        return []
    named = dict.fromkeys(match[0].decode("utf-8", "surrogateescape") for match in _FOLDER.finditer(data))
    return [path for path in list(named)[:_MAX_TRIED] if _is_in(path, roots) and os.path.isdir(path)]


def _folders_above(notes: str, roots: Sequence[str]) -> Iterator[str]:
    folder = os.path.dirname(os.path.abspath(notes))
    while _is_in(folder, roots):
        yield folder
        folder = os.path.dirname(folder)


def _is_in(path: str, roots: Sequence[str]) -> bool:
    real = os.path.realpath(path)
    return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in roots)
