"""The structure of the program under test: what techniques beyond the formulas need to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suspectra.measured_file import MeasuredFile
    from suspectra.program.flow_graph import FlowGraph


@dataclass(frozen=True, eq=False)
class Program:
    """The measured files; flow graphs the evidence does not hold are built when a technique asks for them.

    Parameters
    ----------
    files : tuple of MeasuredFile
        In the order of the spectrum's element table.
    graphs : tuple of FlowGraph
        Flow graphs, where the evidence holds them.
    source_of : callable, optional
        The bytes of a source file as it is now, None where it can't be read.

    Examples
    --------
    >>> program = Program((), source_of=lambda path: b"total = 0" if path == "cart.py" else None)
    >>> program.source_of("cart.py")
    b'total = 0'
    """

    files: tuple[MeasuredFile, ...]
    graphs: tuple[FlowGraph, ...] = ()
    source_of: Callable[[str], bytes | None] | None = None
