"""What the program says of locations: their functions, what runs just before what, and calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from suspectra.arrays import Floats, Ints
from suspectra.cancellation import check
from suspectra.errors import Problem, UsageError
from suspectra.markov.jumps import JumpModel

Pairs: TypeAlias = Ints  # integers, shape (k, 2): locations x, y


@dataclass(frozen=True, eq=False)
class Structure:
    """What the program says about which locations belong together.

    Parameters
    ----------
    function : ndarray of int, shape (locations,), optional
        The function of each location, -1 for none.
    control_flow : ndarray of int, shape (k, 2), optional
        Location x runs just before location y in some test.
    calls : ndarray of int, shape (k, 2), optional
        Location x calls the function that starts at location y.

    Examples
    --------
    >>> structure = Structure(function=np.array([0, 0, 1]), calls=np.array([[2, 0]]))
    >>> structure.functions(3).tolist()
    [0, 0, 1]
    """

    function: Ints | None = None
    control_flow: Pairs | None = None
    calls: Pairs | None = None

    def functions(self, count: int) -> Ints:
        """The function of each location.

        Parameters
        ----------
        count : int
            How many locations there are.

        Returns
        -------
        ndarray of int64, shape (count,)
            -1 where there is none, or none is known.

        Raises
        ------
        UsageError
            When there are not as many functions as locations.
        """
        if self.function is None:
            return np.full(count, -1, np.int64)
        function = whole_numbers(self.function, "the functions")
        if len(function) != count:
            raise usage_error(
                f"{len(function)} locations have a function and {count} have a rank", "give one function a location"
            )
        return function

    def neighbours(self, jumps: JumpModel, function: Ints) -> tuple[Pairs, Floats]:
        """Unordered pairs of neighbours, and the weight each adds to what their common function already gives.

        Parameters
        ----------
        jumps : JumpModel
            The weights.
        function : ndarray of int64, shape (locations,)
            As :meth:`functions` gives it.

        Returns
        -------
        pairs : ndarray of int64, shape (k, 2)
            Each pair once.
        weight : ndarray of float64, shape (k,)
            Above zero.

        Raises
        ------
        UsageError
            When a pair names a location that is not there.
        """
        count = len(function)
        kinds = ((self.control_flow, jumps.control_flow), (self.calls, jumps.calls))
        named = [(_pairs(edges, count), weight) for edges, weight in kinds if edges is not None and weight > 0]
        if not named:
            return np.zeros((0, 2), np.int64), np.zeros(0)
        both = np.sort(np.concatenate([edges for edges, _ in named]), axis=1)
        weight = np.repeat([w for _, w in named], [len(edges) for edges, _ in named]).astype(float)
        check()
        apart = both[:, 0] != both[:, 1]
        key, which = np.unique(both[apart] @ np.array([count, 1]), return_inverse=True)
        check()
        largest = np.zeros(len(key))
        np.maximum.at(largest, which.reshape(-1), weight[apart])
        x, y = key // count, key % count
        together = (function[x] == function[y]) & (function[x] >= 0)
        largest -= np.where(together, jumps.same_function, 0.0)
        adds = largest > 0
        return np.stack([x[adds], y[adds]], axis=1), largest[adds]

    def among(self, location: Ints, locations: int) -> Structure:
        """The structure over some of the locations, numbered anew.

        Parameters
        ----------
        location : ndarray of int64, shape (k,)
            These.
        locations : int
            How many there are in all.

        Returns
        -------
        Structure
            Over k locations.

        Raises
        ------
        UsageError
            When it does not fit so many locations.
        """
        number = np.full(locations, -1, np.int64)
        number[location] = np.arange(len(location))

        def inside(edges: Pairs | None) -> Pairs | None:
            if edges is None:
                return None
            renamed: Pairs = number[_pairs(edges, locations)]
            return renamed[(renamed >= 0).all(axis=1)]

        function = None if self.function is None else self.functions(locations)[location]
        return Structure(function, inside(self.control_flow), inside(self.calls))


def _pairs(edges: Pairs, count: int) -> Pairs:
    pairs = whole_numbers(edges, "the neighbours").reshape(-1, 2)
    if len(pairs) and not (0 <= pairs.min() and pairs.max() < count):
        raise usage_error("a neighbour is not in the program", f"name locations from 0 to {count - 1}")
    return pairs


def whole_numbers(values: object, what: str) -> Ints:
    """See that values are indices.

    Parameters
    ----------
    values : array_like of int
        What a caller gave.
    what : str
        What they are, for the message.

    Returns
    -------
    ndarray of int64, shape of `values`
        The same numbers.

    Raises
    ------
    UsageError
        When they are not whole numbers.

    Examples
    --------
    >>> whole_numbers([0, 2, 1], "the groups").tolist()
    [0, 2, 1]
    """
    numbers = np.asarray(values)
    if not numbers.size:
        return numbers.astype(np.int64)
    if numbers.dtype.kind not in "iu":
        raise usage_error(f"{what} are not whole numbers", "give indices counted from 0 (see groups_of for scores)")
    return numbers.astype(np.int64)


def usage_error(cause: str, cure: str) -> UsageError:
    """What is raised for values that do not fit.

    Parameters
    ----------
    cause, cure : str
        As in :class:`~suspectra.errors.Problem`.

    Returns
    -------
    UsageError
        Without a file.

    Examples
    --------
    >>> print(usage_error("there is no location to rank", "give a report"))
    there is no location to rank. Fix: give a report
    """
    return UsageError(Problem("", "", cause, cure))
