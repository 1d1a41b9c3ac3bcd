"""The part of each file in the tables of statements and edges, with indices within the file.

Results with indices within the file are valid as long as the file does not change, wherever its columns are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from suspectra.arrays import Ints
from suspectra.spectrum import Edges, Elements


@dataclass(frozen=True)
class FilePart:
    """One file of the tables. Parts with equal content are equal, wherever their columns are.

    Parameters
    ----------
    lines, functions, arc_ends : bytes
        First lines of the statements, their functions, and the ends of the arcs, all integers of 32 bits.
    function_lines : tuple of int
        The first line of each of its functions.
    file, first_element, first_function : int
        The index of the file, and of its first element and function in the tables.
    columns : ndarray of int64, shape (arcs,)
        Columns of its arcs in the spectrum.

    Examples
    --------
    >>> lines = np.arange(1, 4, dtype=np.int32)
    >>> elements = Elements(("f.py",), lines * 0, lines, lines, lines * 0 - 1, ())
    >>> edges = Edges(np.zeros(2, int), np.array([1, 2]), np.array([2, 3]), np.zeros(2, int))
    >>> (part,) = file_parts(elements, edges)
    >>> part.arcs, part.elements_at(np.array([3, 9])).tolist()
    ({(1, 2): 0, (2, 3): 1}, [2, -1])
    >>> part.ends.tolist(), part.element_of_line, part.function_of_line, part.function_of(0)
    ([[1, 2], [2, 3]], {1: 0, 2: 1, 3: 2}, {}, -1)
    """

    lines: bytes
    functions: bytes
    arc_ends: bytes
    function_lines: tuple[int, ...]
    file: int = field(compare=False)
    first_element: int = field(compare=False)
    first_function: int = field(compare=False)
    columns: Ints = field(compare=False)

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

        Parameters
        ----------
        lines : ndarray of int, shape (k,)
            Counted from 1.

        Returns
        -------
        ndarray of int32, shape (k,)
            Indices within the file.
        """
        file_lines = np.frombuffer(self.lines, np.int32)
        if not len(file_lines):
            return np.full(len(lines), -1, np.int32)
        position = file_lines.searchsorted(lines, "right") - 1
        return np.where((position >= 0) & (file_lines[position] == lines), position, -1).astype(np.int32)

    def numbers_of(self, ends: Ints) -> Ints:
        """Return the index of each of some arcs within the file, -1 for others.

        Parameters
        ----------
        ends : ndarray of int32, shape (k, 2)
            First and last line of each arc.

        Returns
        -------
        ndarray of int32, shape (k,)
            Indices within the file.

        Examples
        --------
        >>> lines = np.arange(1, 4, dtype=np.int32)
        >>> elements = Elements(("f.py",), lines * 0, lines, lines, lines * 0 - 1, ())
        >>> edges = Edges(np.zeros(2, int), np.array([1, 2]), np.array([2, 3]), np.zeros(2, int))
        >>> (part,) = file_parts(elements, edges)
        >>> part.numbers_of(np.array([[2, 3], [3, 1]], np.int32)).tolist()
        [1, -1]
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
        """Return the function of a statement, -1 for none.

        Parameters
        ----------
        element : int
            Its index within the file.

        Returns
        -------
        int
            Its index within the file.
        """
        return int(np.frombuffer(self.functions, np.int32, 1, 4 * element)[0])


def arc_codes(ends: Ints) -> Ints:
    """Encode each arc as one integer.

    Parameters
    ----------
    ends : ndarray of int, shape (k, 2)
        Lines, which may be negative.

    Returns
    -------
    ndarray of int64, shape (k,)
        Different for different arcs.

    Examples
    --------
    >>> arc_codes(np.array([[1, 2], [1, -1]])).tolist()
    [4294967298, 8589934591]
    """
    return ends[:, 0].astype(np.int64) << 32 | ends[:, 1].astype(np.int64) & 0xFFFFFFFF


def file_parts(elements: Elements, edges: Edges) -> Iterator[FilePart]:
    """Iterate over the parts of all files with arcs, in the order of the files; outcomes of conditions are left out.

    Parameters
    ----------
    elements : Elements
        The statements of all files.
    edges : Edges
        Arcs between their lines.

    Yields
    ------
    FilePart
        With indices within its file.

    Examples
    --------
    >>> lines = np.arange(1, 4, dtype=np.int32)
    >>> elements = Elements(("f.py",), lines * 0, lines, lines, lines * 0 - 1, ())
    >>> edges = Edges(np.zeros(2, int), np.array([1, 2]), np.array([2, 3]), np.zeros(2, int))
    >>> [part.ends.tolist() for part in file_parts(elements, edges)]
    [[[1, 2], [2, 3]]]
    >>> list(file_parts(elements, Edges(np.zeros(0, int), np.zeros(0, int), np.zeros(0, int), np.zeros(0, int))))
    []
    """
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
