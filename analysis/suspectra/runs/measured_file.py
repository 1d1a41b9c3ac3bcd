"""One source file as it was measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suspectra.base.cached_property import CachedProperty
from suspectra.spectrum import Function


@dataclass(frozen=True, eq=False)
class MeasuredFile:
    """The statements of one source file, as it was when the tests ran.

    Parameters
    ----------
    path : str
        Relative to the workspace, forward slashes.
    digest : str or None
        SHA-256 (hexadecimal) of the file's bytes when the tests ran; None when it is unknown.
    line, end_line : ndarray of int32, shape (k,)
        First and last line of each executable statement, in ascending order of `line`.
    function : ndarray of int32, shape (k,)
        Index into `functions`, -1 at module level.
    functions : tuple of (name, line, end_line)
        Qualified name, first and last line of each function.
    is_test : bool
        Whether it is test code, which is measured but ranked only on request.

    Examples
    --------
    >>> lines = np.array([1, 3], np.int32)
    >>> cart = MeasuredFile("cart.py", None, lines, lines, np.array([-1, 0], np.int32), (("total", 2, 3),))
    >>> cart.functions_at(4)
    (Function(file=4, name='total', line=2, end_line=3),)
    """

    path: str
    digest: str | None
    line: np.ndarray
    end_line: np.ndarray
    function: np.ndarray
    functions: tuple[tuple[str, int, int], ...]
    is_test: bool = False

    def function_at(self, line: int) -> str:
        """The name of the innermost function that contains a line.

        Parameters
        ----------
        line : int
            Counted from 1.

        Returns
        -------
        str
            The qualified name; empty at module level, and for a line that is in no statement.

        Examples
        --------
        >>> lines = np.array([1, 3], np.int32)
        >>> cart = MeasuredFile("cart.py", None, lines, lines, np.array([-1, 0], np.int32), (("total", 2, 3),))
        >>> cart.function_at(3), cart.function_at(1)
        ('total', '')
        """
        at = np.flatnonzero((self.line <= line) & (line <= self.end_line))
        function = int(self.function[at[-1]]) if len(at) else -1
        return self.functions[function][0] if function >= 0 else ""

    def lines_in(self, text: bytes) -> np.ndarray | None:
        """Find the lines of the statements in another text of the file.

        Parameters
        ----------
        text : bytes
            The text, such as the present one.

        Returns
        -------
        ndarray of int32, shape (lines + 1,), or None
            For each line of the run, counted from 1, its line in the text; 0 where it is not known. None here: most
            evidence has nothing that tells statements again.

        Examples
        --------
        >>> lines = np.array([1, 3], np.int32)
        >>> cart = MeasuredFile("cart.py", None, lines, lines, np.array([-1, 0], np.int32), (("total", 2, 3),))
        >>> cart.lines_in(b"total = 0") is None
        True
        """
        return None

    def functions_at(self, index: int) -> tuple[Function, ...]:
        """The functions of this file. Calls with the same index return the same objects.

        Parameters
        ----------
        index : int
            The index of this file in the table of files.

        Returns
        -------
        tuple of Function
            In the order of `functions`.
        """
        known, functions = self._functions_at
        if known != index:
            functions = tuple(Function(index, *span) for span in self.functions)
            MeasuredFile._functions_at.give(self, (index, functions))
        return functions

    @CachedProperty
    def _functions_at(self) -> tuple[int, tuple[Function, ...]]:
        """The index that was asked for last, and the functions with it."""
        return -1, ()
