"""Probes, and the map with their meanings.

A *cell* is an entry of a list, which instrumented code sets to 1. A *probe* is a fact that is true if its cell is set:
a statement was reached, or an arm of a branch was taken. Several probes may share a cell: if two statements are always
reached together, a single store is enough.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import IntEnum

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.conditions import Condition
from suspectra_recorder.instrumentation.outline import Outline, numbered
from suspectra_recorder.instrumentation.own import json, struct, sys, zlib

__builtins__ = own.builtins


class Kind(IntEnum):
    """The kinds of probes. The numbers are part of the recording's format.

    Examples
    --------
    >>> Kind(2)
    <Kind.ARM: 2>
    """

    STATEMENT = 0  # the statement that starts on `line` was reached
    ENTRY = 1  # the code that starts on `-line` was entered at `target`
    ARM = 2  # the branch on `line` went to `target`
    FLOW = 3  # `target` was reached from `line`, its only way in
    FALSE = 4  # condition number `target`, in the statement on `line`, was false
    TRUE = 5  # the same condition was true


@dataclass(frozen=True)
class Probe:
    """A fact that is true for every run that sets the cell.

    Parameters
    ----------
    kind : Kind
        The kind of the fact.
    cell : int
        The index of the cell.
    line : int
        First line of the statement; for the kinds that are arcs their start, in coverage.py's convention
        (a negative number is the entry of the code that starts on that line).
    target : int
        For conditions their index in the map. Else the end of the arc, negative for the exit of the code that starts
        there; 0 if there is none, or it is not known (after a ``finally``).
    function : int
        Index of the innermost function, -1 outside of functions.

    Examples
    --------
    >>> Probe(Kind.ARM, cell=4, line=7, target=9)
    Probe(kind=<Kind.ARM: 2>, cell=4, line=7, target=9, function=-1)
    """

    kind: Kind
    cell: int
    line: int
    target: int = 0
    function: int = -1


@dataclass(frozen=True)
class Statement:
    """A logical line with code in it.

    Parameters
    ----------
    line, end_line : int
        First and last line, counted from 1.
    function : int
        Index of the innermost function, -1 outside of functions.
    checksum : int
        Checksum of its text without comments and white space between tokens.

    Examples
    --------
    >>> Statement(line=7, end_line=9, function=-1, checksum=0).end_line
    9
    """

    line: int
    end_line: int
    function: int
    checksum: int


@dataclass(frozen=True)
class FunctionSpan:
    """A function in a map.

    Parameters
    ----------
    name : str
        Dotted name within the module.
    line, end_line : int
        The line of its ``def``, and its last line.

    Examples
    --------
    >>> FunctionSpan("Cart.total", line=3, end_line=8)
    FunctionSpan(name='Cart.total', line=3, end_line=8)
    """

    name: str
    line: int
    end_line: int


@dataclass
class ModuleMap:
    r"""Everything that readers need to know about an instrumented source, so that they need not parse it.

    The cell of a statement with its own cell has the index of the statement. Further cells belong to arms without a
    statement of their own.

    Parameters
    ----------
    statements : list of Statement
        Ascending.
    functions : list of FunctionSpan
        The functions, in the order of their first lines.
    conditions : list of Condition
        Conditions inside expressions; empty without counts.
    probes : list of Probe
        In the order of their cells.
    cells : int
        The number of cells.
    outline : Outline or None
        The outline of the source.

    Examples
    --------
    >>> from suspectra_recorder.instrumentation.rewriting import instrument
    >>> _, map = instrument(b"if paid:\n    price = 0\n", "price.py", "cells")
    >>> [statement.line for statement in map.statements], map.cells
    ([1, 2], 3)
    >>> [(probe.kind.name, probe.line, probe.target) for probe in map.probes]
    [('STATEMENT', 1, 0), ('ENTRY', -1, 1), ('STATEMENT', 2, 0), ('ARM', 1, 2), ('ARM', 1, -1)]
    >>> len(ModuleMap().to_bytes()) < len(map.to_bytes())
    True
    """

    statements: list[Statement] = field(default_factory=list)
    functions: list[FunctionSpan] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    cells: int = 0
    outline: Outline | None = None

    def to_bytes(self) -> bytes:
        """Encode the map for recordings and the cache: sizes and functions as JSON, then int32 columns.

        Returns
        -------
        bytes
            Compressed.
        """
        head = json.dumps(
            {
                "cells": self.cells,
                "statements": len(self.statements),
                "probes": len(self.probes),
                "conditions": [[c.line, c.column, c.end_line, c.end_column] for c in self.conditions],
                "functions": [[f.name, f.line, f.end_line] for f in self.functions],
                "outline": self.outline and self.outline.as_json(),
            },
            separators=(",", ":"),
        ).encode()
        columns: list[list[int]] = [
            [s.line for s in self.statements],
            [s.end_line for s in self.statements],
            [s.function for s in self.statements],
            [s.checksum for s in self.statements],
            [p.kind for p in self.probes],
            [p.cell for p in self.probes],
            [p.line for p in self.probes],
            [p.target for p in self.probes],
            [p.function for p in self.probes],
        ]
        body = b"".join(_int32(column) for column in columns)
        return zlib.compress(struct.pack("<I", len(head)) + head + body, 1)


def cells_of_functions(source_map: bytes) -> tuple[Outline | None, dict[tuple[str, int], list[int]]]:
    r"""Decode which cells belong to which function, from a map of this process; it must be trusted.

    Parameters
    ----------
    source_map : bytes
        From `ModuleMap.to_bytes`.

    Returns
    -------
    outline : Outline or None
        The outline of the source.
    cells : dict of (str, int) to list of int
        Ascending, by the name of the function and its index among functions of that name; for code outside of functions
        by an empty name.

    Examples
    --------
    >>> from suspectra_recorder.instrumentation.rewriting import instrument
    >>> _, map = instrument(b"def price():\n    return 20\n", "price.py", "cells")
    >>> cells_of_functions(map.to_bytes())[1]
    {('', 0): [0], ('price', 0): [1]}
    """
    data = zlib.decompress(source_map)
    (length,) = struct.unpack_from("<I", data)
    head = json.loads(data[4 : 4 + length])
    columns = array("i", data[4 + length :])
    if sys.byteorder == "big":
        columns.byteswap()
    keys = [("", 0), *numbered(name for name, _, _ in head["functions"])]
    found: dict[tuple[str, int], set[int]] = {key: set() for key in keys}
    first, size = 4 * head["statements"], head["probes"]
    cells, functions = columns[first + size : first + 2 * size], columns[first + 4 * size :]
    for cell, function in zip(cells, functions, strict=True):
        found[keys[function + 1]].add(cell)
    return Outline.from_json(head["outline"]), {key: sorted(cells) for key, cells in found.items()}


def _int32(values: list[int]) -> bytes:
    column = array("i", values)
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()
