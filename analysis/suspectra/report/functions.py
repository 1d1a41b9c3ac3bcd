"""The functions of a ranking: a reader takes a function as a whole, so functions have an order of their own.

The order of their first statements is not the best one. What puts statements of a tie in order, such as that one
returns, says little of their functions. Four keys are compared one after the other:

1. the best tie that a statement of the function is in, as the tests leave it;
2. how many failing tests failed in the same statement of it;
3. how many of its statements are in that tie: the more, the more probable it is that the fault is among them;
4. its first statement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.spectrum import Elements

MAX_LINES = 3
"""How many statements of a function are listed with it."""


@dataclass(frozen=True)
class SuspectFunction:
    """A function that failing tests execute.

    Parameters
    ----------
    file : str
        Relative to the workspace, with forward slashes.
    name : str
        Qualified; empty for what is outside of functions.
    score : float
        That of its first statement.
    rank_best, rank_worst : int
        1 + the number of functions that rank higher, and the number of those that rank higher or the same.
    raised : int
        How many failing tests failed in one of its statements, the most of any.
    tied : int
        How many of its statements are in the best tie that it has a part in.
    elements : tuple of int
        Its statements that failing tests execute, best first.

    Examples
    --------
    >>> from suspectra import Spectrum, make_technique
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> function = make_technique("ochiai").localize(spectrum).functions()[0]
    >>> function.name, function.file, function.elements, function.tied
    ('', 'program', (1, 0), 1)
    """

    file: str
    name: str
    score: float
    rank_best: int
    rank_worst: int
    raised: int
    tied: int
    elements: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class FunctionLevels:
    """The functions that some statements are in, and the order of these functions.

    Parameters
    ----------
    number : numpy.ndarray of int, shape (k,)
        The index of each function; -1 - the index of the file for what is outside of functions.
    level : numpy.ndarray of int, shape (k,)
        0 for the functions that rank highest, 1 for the next ones.
    raised : numpy.ndarray of int, shape (k,)
        How many failing tests failed in one of its statements, the most of any.
    tied : numpy.ndarray of int, shape (k,)
        How many of its statements are in its best tie.
    of : numpy.ndarray of int, shape (n,)
        The function of each statement, as an index into the others.

    Examples
    --------
    >>> import numpy as np
    >>> from suspectra import Spectrum
    >>> from suspectra.report import FunctionLevels
    >>> elements = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False]).elements
    >>> level = np.array([1, 0])
    >>> found = FunctionLevels.from_statements(elements, np.array([0, 1]), level, level, np.array([0, 0]))
    >>> found.level.tolist(), found.tied.tolist(), found.of.tolist()
    ([0], [1], [0, 0])
    """

    number: Ints
    level: Ints
    raised: Ints
    tied: Ints
    of: Ints

    def __len__(self) -> int:
        return len(self.number)

    @classmethod
    def from_statements(
        cls, elements: Elements, statements: Ints, level: Ints, tie: Ints, raised: Ints
    ) -> FunctionLevels:
        """Rank the functions of some statements by the levels and ties of these, and by the tests that failed there.

        Parameters
        ----------
        elements : Elements
            What has the functions.
        statements : numpy.ndarray of int, shape (n,)
            The statements, as indices of elements.
        level : numpy.ndarray of int, shape (n,)
            The level of each in the ranking, 0 for the highest.
        tie : numpy.ndarray of int, shape (n,)
            The tie of each, as the tests leave it.
        raised : numpy.ndarray of int, shape (n,)
            How many failing tests failed in each.

        Returns
        -------
        FunctionLevels
            The functions, in the order of their numbers.
        """
        inside = elements.function[statements]
        number, of = np.unique(
            np.where(inside >= 0, inside, -1 - elements.file[statements].astype(np.int64)), return_inverse=True
        )
        most = np.iinfo(np.int64).max
        best, first, failed = np.full(len(number), most), np.full(len(number), most), np.zeros(len(number), np.int64)
        np.minimum.at(best, of, tie)
        np.minimum.at(first, of, level)
        np.maximum.at(failed, of, raised)
        tied = np.bincount(of[tie == best[of]], minlength=len(number))
        keys = np.stack([best, -failed, -tied, first])
        _, rank = np.unique(keys, axis=1, return_inverse=True)
        return cls(number, rank.reshape(-1), failed, tied, of)
