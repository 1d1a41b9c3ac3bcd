"""`LoadedFile`: an instrumented source of this process, with its cells."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any, NamedTuple

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.cells import CELLS
from suspectra_recorder.instrumentation.own import hashlib

__builtins__ = own.builtins

SOURCE_LOADER: Any = next(cls for cls in SourceFileLoader.__mro__ if "get_code" in vars(cls))
"""The class from which all loaders of sources inherit ``get_code``."""


@dataclass(eq=False, repr=False, slots=True)
class LoadedFile:
    """An instrumented source of this process.

    Parameters
    ----------
    path : str
        The recorded name: relative to the workspace, with forward slashes.
    digest : str
        SHA-256 of the source, hexadecimal.
    cells : mutable sequence of int
        The cells that probes set or count; the length is a multiple of eight.
    map : bytes
        The compressed :class:`~suspectra_recorder.instrumentation.probes.ModuleMap`.
    traced : bool
        Whether it has probes.

    Examples
    --------
    >>> file = LoadedFile("price.py", "9b5e", [0] * 8, b"map")
    >>> file.target[2] = 1
    >>> file.cells
    [0, 0, 1, 0, 0, 0, 0, 0]
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

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the object as a constant of code.

        In a process that records the same source, it is unpickled as that process's file. Other processes, which may
        not have Suspectra, get unused cells.
        """
        room = _Later(type, "Cells", (), {CELLS: list(self.untouched)})
        return getattr, (_Later(getattr, SOURCE_LOADER, "get_code"), placeholder(self.path, self.digest), room)


class LoadedCode(NamedTuple):
    """The code that was made of a source, and what it was made of.

    Parameters
    ----------
    path : str
        The path of the file.
    source : bytes
        The file as it was on disk.
    code : CodeType
        With probes.
    file : LoadedFile
        With the cells.
    variant : str
        How else the code differs from the source, empty if it does not.

    Examples
    --------
    >>> code = compile("vat = 20", "price.py", "exec")
    >>> LoadedCode("/work/price.py", b"vat = 20", code, LoadedFile("price.py", "9b5e", [0] * 8, b""), "").file.path
    'price.py'
    """

    path: str
    source: bytes
    code: CodeType
    file: LoadedFile
    variant: str


class _Later:
    """Is unpickled as the result of a call."""

    def __init__(self, function: Callable[..., object], *arguments: object):
        self._call = function, arguments

    def __reduce__(self) -> tuple[object, ...]:
        return self._call


def placeholder(name: str, digest: str) -> str:
    """Return the placeholder string of a file in compiled code.

    Parameters
    ----------
    name : str
        The recorded name of the source.
    digest : str
        SHA-256 of the source, hexadecimal.

    Returns
    -------
    str
        A name that does not occur elsewhere in the source.

    Examples
    --------
    >>> placeholder("price.py", "9b5e")
    '__suspectra_e6b1aaffba3875d7__'
    """
    unique = hashlib.sha256(f"{name}\0{digest}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"__suspectra_{unique}__"
