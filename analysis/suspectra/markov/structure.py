"""The structure of the program over locations: functions, control flow and calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from suspectra.base.arrays import Floats, Ints
from suspectra.base.cancellation import check
from suspectra.base.errors import Problem, UsageError
from suspectra.markov.jumps import JumpModel

Pairs: TypeAlias = Ints  # integers, shape (k, 2): locations x, y


@dataclass(frozen=True, eq=False)
class Structure:
    """Which locations of a program belong together."""

    function: Ints | None = None  # the function of each location, -1 for none; shape (locations,)
    control_flow: Pairs | None = None  # pairs (x, y): location x runs just before location y in some test; shape (k, 2)
    calls: Pairs | None = None  # pairs (x, y): location x calls the function that starts at location y; shape (k, 2)

    def functions(self, count: int) -> Ints:
        """Return the function of each location.

        Of shape (count,).

        Raises UsageError when the numbers of functions and locations differ.
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
        """Return unordered pairs of neighbours, and the weight of each beyond that of a common function.

        Of shapes (k, 2) and (k,).

        Raises UsageError when a pair names an unknown location.
        """
        count = len(function)
        kinds = ((self.control_flow, jumps.control_flow), (self.calls, jumps.calls))
        named = [(_pairs(edges, count), weight) for edges, weight in kinds if edges is not None and weight > 0]
        if not named:
            return np.zeros((0, 2), np.int64), np.zeros(0)
        check()
        both = np.sort(np.concatenate([edges for edges, _ in named]), axis=1)
        check()
        weight = np.repeat([w for _, w in named], [len(edges) for edges, _ in named]).astype(float)
        differ = both[:, 0] != both[:, 1]
        key, which = np.unique(both[differ] @ np.array([count, 1]), return_inverse=True)
        check()
        largest = np.zeros(len(key))
        np.maximum.at(largest, which.reshape(-1), weight[differ])
        x, y = key // count, key % count
        same_function = (function[x] == function[y]) & (function[x] >= 0)
        largest -= np.where(same_function, jumps.same_function, 0.0)
        adds = largest > 0
        return np.stack([x[adds], y[adds]], axis=1), largest[adds]

    def reachable(self, location: Ints, locations: int, jumps: JumpModel) -> Ints:
        """Return some locations and all to which jumps lead from them, ascending.

        Raises UsageError when the structure does not fit the number of locations.
        """
        if not jumps.p_jump:
            return location
        function = self.functions(locations)
        pairs, _ = self.neighbours(jumps, function)
        inside = np.flatnonzero(function >= 0) if jumps.same_function else np.zeros(0, np.int64)
        # each function is one more node, and its lines are connected with that
        source, target = np.append(pairs[:, 0], inside), np.append(pairs[:, 1], locations + function[inside])
        nodes = locations + int(function.max(initial=-1)) + 1
        links = sparse.coo_array((np.ones(len(source), bool), (source, target)), shape=(nodes, nodes))
        _, part = csgraph.connected_components(links, directed=False)
        return np.flatnonzero(np.isin(part[:locations], part[location]))

    def among(self, location: Ints, locations: int) -> Structure:
        """Restrict the structure to some locations, which get new numbers.

        Raises UsageError when the structure does not fit the number of locations.
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
    """Convert values to indices.

    Raises UsageError when they are not whole numbers.
    """
    numbers = np.asarray(values)
    if not numbers.size:
        return numbers.astype(np.int64)
    if numbers.dtype.kind not in "iu":
        raise usage_error(f"{what} are not whole numbers", "give indices counted from 0 (see groups_of for scores)")
    return numbers.astype(np.int64)


def usage_error(cause: str, cure: str) -> UsageError:
    """Make the error for values that do not fit."""
    return UsageError(Problem("", "", cause, cure))
