"""`LoadedFile`: an instrumented source of this process, with its cells."""

from __future__ import annotations

import operator
from collections.abc import Callable, MutableSequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any, NamedTuple

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.cell_constants import CELLS
from suspectra_recorder.instrumentation.library_references import hashlib

__builtins__ = library_references.builtins

SOURCE_LOADER: Any = next(cls for cls in SourceFileLoader.__mro__ if "get_code" in vars(cls))
"""The class from which all loaders of sources inherit ``get_code``."""


@dataclass(eq=False, repr=False, slots=True)
class LoadedFile:
    """An instrumented source of this process."""

    path: str  # the recorded name: relative to the workspace, with forward slashes
    digest: str  # SHA-256 of the source, hexadecimal
    cells: MutableSequence[int]  # the cells that probes set or count; the length is a multiple of eight
    map: bytes  # the compressed suspectra_recorder.instrumentation.probes.ModuleMap
    traced: bool = True  # whether it has probes
    untouched: list[int] = field(init=False)
    target: MutableSequence[int] = field(init=False)  # what probes store into
    # for results that are kept, see `suspectra_recorder.instrumentation.kept_results`
    found: set[str] = field(default_factory=set)  # the texts of places where a result may be found
    find: Callable[..., object] = max  # called when one is, with what is known of the place
    make: Callable[..., AbstractContextManager[object]] = nullcontext  # makes the context in which one is made
    stored: Callable[[str, object], object] = operator.is_  # called when something was stored at a place

    def __post_init__(self) -> None:
        self.untouched = list(self.cells)
        self.target = self.cells

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the object as a constant of code.

        In a process that records the same source, it is unpickled as that process's file. Other processes, which may
        not have Suspectra, get unused cells.
        """
        # made there by `type`, since Suspectra may not be importable
        names = {CELLS: list(self.untouched), "found": set(), "make": nullcontext, "stored": operator.is_}
        room = _Later(type, "Cells", (), names)
        return getattr, (_Later(getattr, SOURCE_LOADER, "get_code"), placeholder(self.path, self.digest), room)


class LoadedCode(NamedTuple):
    """The code that was made of a source, and what it was made of."""

    path: str  # the path of the file
    source: bytes  # the file as it was on disk
    code: CodeType  # with probes
    file: LoadedFile  # with the cells
    variant: str  # how else the code differs from the source, empty if it does not


class _Later:
    """Is unpickled as the result of a call."""

    def __init__(self, function: Callable[..., object], *arguments: object):
        self._call = function, arguments

    def __reduce__(self) -> tuple[object, ...]:
        return self._call


def placeholder(name: str, digest: str) -> str:
    """Return the placeholder string of a file in compiled code.

    A name that does not occur elsewhere in the source.
    """
    unique = hashlib.sha256(f"{name}\0{digest}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"__suspectra_{unique}__"
