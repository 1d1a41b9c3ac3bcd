"""Instrumented sources of this process, with their cells."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from typing import Any

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.cells import CELLS
from suspectra_recorder.instrumentation.own import hashlib

__builtins__ = own.builtins

SOURCE_LOADER: Any = next(cls for cls in SourceFileLoader.__mro__ if "get_code" in vars(cls))
"""What all loaders of sources have their ``get_code`` from."""


@dataclass(eq=False, repr=False, slots=True)
class LoadedFile:
    """An instrumented source of this process.

    Parameters
    ----------
    path : str
        As the scope named it: relative to the workspace, forward slashes.
    digest : str
        SHA-256 of the source, hexadecimal.
    cells : mutable sequence of int
        What the probes set or count; its length is a multiple of eight.
    map : bytes
        The compressed :class:`~suspectra_recorder.instrumentation.probes.ModuleMap`.
    traced : bool
        Whether it has probes, or is only known to matter.
    """

    path: str
    digest: str
    cells: MutableSequence[int]
    map: bytes
    traced: bool = True
    untouched: list[int] = field(init=False)
    target: MutableSequence[int] = field(init=False)  # what probes store into

    def __post_init__(self) -> None:
        self.untouched = list(self.cells)
        self.target = self.cells

    def __reduce__(self) -> tuple[Any, ...]:
        """As a constant of code that is pickled.

        Where the same source is recorded it comes back as the file of there; other processes need not know of Suspectra
        and get room for what nobody asks for.
        """
        room = _Later(type, "Cells", (), {CELLS: list(self.untouched)})
        return getattr, (_Later(getattr, SOURCE_LOADER, "get_code"), placeholder(self.path, self.digest), room)


class _Later:
    """What a call returns in the process that loads it from a pickle."""

    def __init__(self, function: Callable[..., object], *arguments: object):
        self._call = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self._call


def placeholder(name: str, digest: str) -> str:
    """The string that stands for a file in code that is compiled.

    Parameters
    ----------
    name : str
        The recorded name of the source.
    digest : str
        SHA-256 of the source, hexadecimal.

    Returns
    -------
    str
        One that nothing else in the source is called.
    """
    unique = hashlib.sha256(f"{name}\0{digest}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"__suspectra_{unique}__"
