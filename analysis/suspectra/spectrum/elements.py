"""Elements: the statements that are ranked, and the functions they are in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.location import Location

_MAX_LINES = 200  # whose elements are looked up
_MAX_BLANK = 10  # lines of comments and white space between deleted text and the elements around it


@dataclass(frozen=True)
class Function:
    """A function or method of a source file.

    Parameters
    ----------
    file : int
        Index into the files of the table it belongs to.
    name : str
        Qualified name, such as ``Cart.total``.
    line, end_line : int
        First and last line, counted from 1, both included.

    Examples
    --------
    >>> Function(0, "Cart.total", 12, 18).name
    'Cart.total'
    """

    file: int
    name: str
    line: int
    end_line: int


@dataclass(frozen=True, eq=False)
class Elements:
    """The statements that a technique can score, as columns.

    Parameters
    ----------
    files : tuple of str
        Workspace-relative paths with forward slashes.
    file : ndarray of int32, shape (n,)
        Index into `files`; elements are sorted by file, then by line.
    line, end_line : ndarray of int32, shape (n,)
        First and last line of each statement, counted from 1.
    function : ndarray of int32, shape (n,)
        Index of the innermost enclosing function, -1 at module level.
    functions : tuple of Function
        All functions of all files.
    versions : tuple, optional
        For each file an object whose identity changes only when the file does.

    Examples
    --------
    >>> one = np.array([0, 0], np.int32)
    >>> lines = np.array([3, 7], np.int32)
    >>> elements = Elements(("cart.py",), one, lines, lines, one - 1, ())
    >>> print(elements.location(1))
    cart.py:7
    >>> elements.file_start.tolist()
    [0, 2]
    """

    files: tuple[str, ...]
    file: Ints
    line: Ints
    end_line: Ints
    function: Ints
    functions: tuple[Function, ...]
    versions: tuple[object, ...] = ()

    def __len__(self) -> int:
        return len(self.line)

    def location(self, element: int) -> Location:
        """Return the location of an element.

        Parameters
        ----------
        element : int
            Its column.

        Returns
        -------
        Location
            The file and the lines of its statement.
        """
        return Location(self.files[self.file[element]], int(self.line[element]), int(self.end_line[element]))

    def function_name(self, element: int) -> str:
        """The qualified name of the enclosing function, empty at module level.

        Parameters
        ----------
        element : int
            Its column.

        Returns
        -------
        str
            Qualified, such as ``Cart.total``.

        Examples
        --------
        >>> file, lines = np.array([0, 0], np.int32), np.array([3, 7], np.int32)
        >>> total = Function(0, "Cart.total", 6, 8)
        >>> elements = Elements(("cart.py",), file, lines, lines, np.array([-1, 0], np.int32), (total,))
        >>> elements.function_name(1), elements.function_name(0)
        ('Cart.total', '')
        """
        index = self.function[element]
        return self.functions[index].name if index >= 0 else ""

    def in_file(self, path: str) -> slice[int, int]:
        """The elements of one file, as a slice of the columns (empty for an unknown file).

        Parameters
        ----------
        path : str
            Relative to the workspace, with forward slashes.

        Returns
        -------
        slice
            From the first column to one past the last.

        Examples
        --------
        >>> file, lines = np.array([0, 1, 1], np.int32), np.array([3, 1, 2], np.int32)
        >>> elements = Elements(("cart.py", "tax.py"), file, lines, lines, np.full(3, -1, np.int32), ())
        >>> elements.in_file("tax.py"), elements.in_file("order.py")
        (slice(1, 3, None), slice(0, 0, None))
        """
        index = self._file_index.get(path)
        if index is None:
            return slice(0, 0)
        return slice(int(self.file_start[index]), int(self.file_start[index + 1]))

    def at(self, path: str, line: int) -> int | None:
        """Return the innermost element whose lines include `line`, or None.

        Parameters
        ----------
        path : str
            Relative to the workspace, with forward slashes.
        line : int
            Counted from 1.

        Returns
        -------
        int or None
            Its column. Where several statements include the line, the one that starts last.

        Examples
        --------
        >>> file, lines = np.array([0, 0], np.int32), np.array([3, 7], np.int32)
        >>> elements = Elements(("cart.py",), file, lines, lines + 1, np.array([-1, -1], np.int32), ())
        >>> elements.at("cart.py", 8), elements.at("cart.py", 5)
        (1, None)
        """
        span = self.in_file(path)
        first, last = self.line[span], self.end_line[span]
        containing = np.flatnonzero((first <= line) & (line <= last))
        if not len(containing):
            return None
        # the latest start is the innermost: a statement inside a multi-line one starts after it
        return span.start + int(containing[np.argmax(first[containing])])

    def touched(self, path: str, line: int, end_line: int) -> list[int]:
        """Return the elements that a change touches.

        Parameters
        ----------
        path : str
            Relative to the workspace, with forward slashes.
        line, end_line : int
            The lines of the change, counted from 1, both included. Of deleted text `line` is what follows it, and
            `end_line` is less.

        Returns
        -------
        list of int
            The columns of what is on these lines; of deleted text those of what is before it and behind it.

        Examples
        --------
        >>> file, lines = np.array([0, 0], np.int32), np.array([3, 7], np.int32)
        >>> elements = Elements(("cart.py",), file, lines, lines + 1, np.array([-1, -1], np.int32), ())
        >>> elements.touched("cart.py", 7, 7), elements.touched("cart.py", 6, 5)
        ([1], [0, 1])
        """
        lines = range(line, min(end_line, line + _MAX_LINES) + 1) if end_line >= line else (line,)
        found = [element for one in lines if (element := self.at(path, one)) is not None]
        if end_line < line:
            before = (self.at(path, one) for one in range(line - 1, max(line - 1 - _MAX_BLANK, 0), -1))
            after = (self.at(path, one) for one in range(line, line + _MAX_BLANK))
            for around in (before, after):
                found += [element for element in around if element is not None][:1]
        return list(dict.fromkeys(found))

    def starting(self, file: Ints, line: Ints) -> Ints:
        """Return the element that starts on each of some lines, -1 where none does.

        Parameters
        ----------
        file : ndarray of int, shape (k,)
            Indices into `files`.
        line : ndarray of int, shape (k,)
            Counted from 1.

        Returns
        -------
        ndarray of int64, shape (k,)
            Columns.

        Examples
        --------
        >>> file, lines = np.array([0, 0], np.int32), np.array([3, 7], np.int32)
        >>> elements = Elements(("cart.py",), file, lines, lines, np.array([-1, -1], np.int32), ())
        >>> elements.starting(np.array([0, 0]), np.array([7, 5])).tolist()
        [1, -1]
        """
        ends = np.stack([self.file_start[file], self.file_start[file + 1]], axis=1)
        found = np.array(
            [start + np.searchsorted(self.line[start:end], at) for (start, end), at in zip(ends, line, strict=True)],
            np.int64,
        )
        exists = found < ends[:, 1]
        exists[exists] = self.line[found[exists]] == line[exists]
        return np.where(exists, found, -1)

    @cached_property
    def _file_index(self) -> dict[str, int]:
        return {path: i for i, path in enumerate(self.files)}

    @cached_property
    def file_start(self) -> Ints:
        """The first column of each file, then the number of columns; shape (files + 1,)."""
        return np.searchsorted(self.file, np.arange(len(self.files) + 1))
