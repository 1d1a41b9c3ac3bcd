"""The part of each file in the tables of statements and edges, with indices within the file.

Results with indices within the file are valid as long as the file does not change, wherever its columns are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.spectrum import Edges, Elements


@dataclass(frozen=True)
class FilePart:
    """One file of the tables. Parts with equal content are equal, wherever their columns are."""

    lines: bytes  # first lines of the statements, their functions, and the ends of the arcs, all integers of 32 bits
    # first lines of the statements, their functions, and the ends of the arcs, all integers of 32 bits
    functions: bytes
    arc_ends: bytes  # first lines of the statements, their functions, and the ends of the arcs, all integers of 32 bits
    function_lines: tuple[int, ...]  # the first line of each of its functions
    file: int = field(compare=False)  # the index of the file, and of its first element and function in the tables
    # the index of the file, and of its first element and function in the tables
    first_element: int = field(compare=False)
    # the index of the file, and of its first element and function in the tables
    first_function: int = field(compare=False)
    columns: Ints = field(compare=False)  # columns of its arcs in the spectrum; shape (arcs,)

    @cached_property
    def arcs(self) -> dict[tuple[int, int], int]:
        """The index of each arc within the file."""
        ends = np.frombuffer(self.arc_ends, np.int32).reshape(-1, 2).tolist()
        return {(source, target): number for number, (source, target) in enumerate(ends)}

    @cached_property
    def ends(self) -> Ints:
        """The ends of the arcs; int32, shape (k, 2)."""
        return np.frombuffer(self.arc_ends, np.int32).reshape(-1, 2)

    @cached_property
    def element_of_line(self) -> dict[int, int]:
        """The statement that begins on a line."""
        lines = np.frombuffer(self.lines, np.int32).tolist()
        return dict(zip(lines, range(len(lines)), strict=True))

    def elements_at(self, lines: Ints) -> Ints:
        """Return the statement that begins on each of some lines, -1 where none does.

        Of shape (k,).
        """
        file_lines = np.frombuffer(self.lines, np.int32)
        if not len(file_lines):
            return np.full(len(lines), -1, np.int32)
        position = file_lines.searchsorted(lines, "right") - 1
        return np.where((position >= 0) & (file_lines[position] == lines), position, -1).astype(np.int32)

    def numbers_of(self, ends: Ints) -> Ints:
        """Return the index of each of some arcs within the file, -1 for others.

        Of shape (k,).
        """
        codes, order = self._codes
        wanted = arc_codes(ends)
        if not len(codes):
            return np.full(len(wanted), -1, np.int32)
        position = codes.searchsorted(wanted, "right") - 1
        return np.where((position >= 0) & (codes[position] == wanted), order[position], -1).astype(np.int32)

    @cached_property
    def _codes(self) -> tuple[Ints, Ints]:
        codes = arc_codes(self.ends)
        order = np.argsort(codes, kind="stable")
        return codes[order], order

    @cached_property
    def function_of_line(self) -> dict[int, int]:
        """The function that begins on a line."""
        return dict(zip(self.function_lines, range(len(self.function_lines)), strict=True))

    def function_of(self, element: int) -> int:
        """Return the function of a statement, -1 for none."""
        return int(np.frombuffer(self.functions, np.int32, 1, 4 * element)[0])


def arc_codes(ends: Ints) -> Ints:
    """Encode each arc as one integer.

    Of shape (k,).
    """
    return ends[:, 0].astype(np.int64) << 32 | ends[:, 1].astype(np.int64) & 0xFFFFFFFF


def file_parts(elements: Elements, edges: Edges) -> Iterator[FilePart]:
    """Iterate over the parts of all files with arcs, in the order of the files; outcomes of conditions are left out."""
    order = np.argsort(edges.file, kind="stable")
    order = order[~edges.is_outcome[order]]
    files, starts = np.unique(edges.file[order], return_index=True)
    ends = np.stack([edges.source, edges.target], axis=1).astype(np.int32)
    owner = np.array([function.file for function in elements.functions], np.int64)
    line_of_function = [function.line for function in elements.functions]
    for file, columns in zip(files.tolist(), np.split(order, starts)[1:], strict=True):
        span = elements.in_file(elements.files[file])
        first, last = np.searchsorted(owner, [file, file + 1]).tolist()
        function = elements.function[span]
        yield FilePart(
            elements.line[span].astype(np.int32).tobytes(),
            np.where(function >= 0, function - first, -1).astype(np.int32).tobytes(),
            ends[columns].tobytes(),
            tuple(line_of_function[first:last]),
            file,
            span.start,
            first,
            columns,
        )
