"""Probes, and the map with their meanings.

A *cell* is an entry of a list, which instrumented code sets to 1. A *probe* is a fact that is true if its cell is set:
a statement was reached, or an arm of a branch was taken. Several probes may share a cell: if two statements are always
reached together, a single store is enough.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import IntEnum

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.conditions import ProbedCondition
from suspectra_recorder.instrumentation.library_references import json, struct, sys, zlib
from suspectra_recorder.instrumentation.outline import Outline, numbered

__builtins__ = library_references.builtins


class Kind(IntEnum):
    """The kinds of probes. The numbers are part of the recording's format."""

    STATEMENT = 0  # the statement that starts on `line` was reached
    ENTRY = 1  # the code that starts on `-line` was entered at `target`
    ARM = 2  # the branch on `line` went to `target`
    FLOW = 3  # `target` was reached from `line`, its only way in
    FALSE = 4  # condition number `target`, in the statement on `line`, was false
    TRUE = 5  # the same condition was true


@dataclass(frozen=True)
class Probe:
    """A fact that is true for every run that sets the cell."""

    kind: Kind  # the kind of the fact
    cell: int  # the index of the cell
    # first line of the statement; for the kinds that are arcs their start, in coverage.py's convention (a negative
    # number is the entry of the code that starts on that line)
    line: int
    target: int = 0  # for conditions their index in the map
    function: int = -1  # index of the innermost function, -1 outside of functions


@dataclass(frozen=True)
class ProbedStatement:
    """A logical line with code in it."""

    line: int  # the first one, counted from 1
    end_line: int  # the last one, included
    function: int  # index of the innermost function, -1 outside of functions
    checksum: int  # checksum of its text without comments and white space between tokens


@dataclass(frozen=True)
class FunctionSpan:
    """A function in a map."""

    name: str  # dotted name within the module
    line: int  # that of its `def`
    end_line: int  # its last one


@dataclass
class ModuleMap:
    """Everything that readers need to know about an instrumented source, so that they need not parse it.

    The cell of a statement with its own cell has the index of the statement. Further cells belong to arms without a
    statement of their own.
    """

    statements: list[ProbedStatement] = field(default_factory=list)  # ascending
    functions: list[FunctionSpan] = field(default_factory=list)  # the functions, in the order of their first lines
    conditions: list[ProbedCondition] = field(
        default_factory=list
    )  # conditions inside expressions; empty without counts
    probes: list[Probe] = field(default_factory=list)  # in the order of their cells
    cells: int = 0  # the number of cells
    outline: Outline | None = None  # the outline of the source

    def to_bytes(self) -> bytes:
        """Encode the map for recordings and the cache: sizes and functions as JSON, then int32 columns."""
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
    """Decode which cells belong to which function, from a map of this process; it must be trusted.

    Ascending, by the name of the function and its index among functions of that name; for code outside of functions by
    an empty name.
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
