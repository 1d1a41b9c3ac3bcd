"""Probes, and the map that says what each of them means.

A *cell* is a place in a list that instrumented code sets to one when it passes. A *probe* is a fact that holds
when its cell is set: a statement was reached, an arm of a branch was taken. Several probes may share a cell,
because where one statement is reached if and only if another one is, a single store is enough for both.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import IntEnum

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.conditions import Condition
from suspectra_recorder.instrumentation.outline import Outline
from suspectra_recorder.instrumentation.own import json, struct, sys, zlib

__builtins__ = own.builtins


class Kind(IntEnum):
    """What a probe stands for. The numbers are part of the recording's format."""

    STATEMENT = 0  # the statement that starts on `line` was reached
    ENTRY = 1  # the code that starts on `-line` was entered at `target`
    ARM = 2  # the branch on `line` went to `target`
    FLOW = 3  # `target` was reached from `line`, its only way in
    FALSE = 4  # the condition with the number `target` in the statement on `line` came out false
    TRUE = 5  # and this one true


@dataclass(frozen=True)
class Probe:
    """A fact that holds for every run that sets the cell.

    Parameters
    ----------
    kind : Kind
        What it tells.
    cell : int
        Which place of the file's list is set.
    line : int
        First line of the statement; for the kinds that are arcs their start, in coverage.py's convention
        (a negative number is the entry of the code that starts on that line).
    target : int
        For conditions their number in the map. Else the end of the arc, negative for the exit of the code that
        starts there; 0 where there is none, or where it is not known (behind a ``finally``).
    function : int
        Index of the innermost function, -1 outside of functions.
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
        Of its text, blind to indentation.
    """

    line: int
    end_line: int
    function: int
    checksum: int


@dataclass(frozen=True)
class FunctionSpan:
    """A function, as a map has it.

    Parameters
    ----------
    name : str
        Dotted, inside the module.
    line, end_line : int
        That of its ``def``, and its last one.
    """

    name: str
    line: int
    end_line: int


@dataclass
class ModuleMap:
    """All that later readers need to know of an instrumented source, so that none of them has to parse it.

    The cell of a statement that has one of its own is the statement's number; cells above the number of
    statements belong to arms that have no statement to themselves.

    Parameters
    ----------
    statements : list of Statement
        Ascending.
    functions : list of FunctionSpan
        As they begin.
    conditions : list of Condition
        Those inside expressions; empty unless probes count.
    probes : list of Probe
        In the order of their cells.
    cells : int
        How many there are.
    outline : Outline or None
        What each function does.
    """

    statements: list[Statement] = field(default_factory=list)
    functions: list[FunctionSpan] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    cells: int = 0
    outline: Outline | None = None

    def to_bytes(self) -> bytes:
        """The map as recordings and the cache hold it: sizes and functions as JSON, then int32 columns.

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


def _int32(values: list[int]) -> bytes:
    column = array("i", values)
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()
