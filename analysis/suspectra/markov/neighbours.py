"""Neighbours: the statements to which a reader may jump from a statement, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Floats, Ints
from suspectra.markov.jumps import JumpModel
from suspectra.markov.locations import Locations
from suspectra.markov.move import CALLED_FROM_HERE, CALLS_THIS, RUNS_JUST_AFTER, RUNS_JUST_BEFORE, SAME_FUNCTION


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Which statements of a program are neighbours (paper 003, Definition 26, and calls)."""

    function: Ints  # the function of each element, -1 for none; shape (elements,)
    flow: Ints  # pairs of elements: the first runs just before the second; shape (k, 2)
    calls: Ints  # pairs of elements: the first calls the function that starts at the second; shape (k, 2)
    jumps: JumpModel  # the weight of each kind of neighbour

    def weights(self, element: int, locations: Locations) -> Floats:
        """Return the weight of a jump from an element to each location.

        Of shape (locations,). 0 for locations that are not neighbours, and for the element's own location.
        """
        weight = np.zeros(len(locations))
        function = self.function[element]
        if function >= 0:
            weight[self.function[locations.elements] == function] = self.jumps.same_function
        for pairs, own in ((self.flow, self.jumps.control_flow), (self.calls, self.jumps.calls)):
            near = locations.of_element[_partners(pairs, element)]
            near = near[near >= 0]
            weight[near] = np.maximum(weight[near], own)
        if locations.of_element[element] >= 0:
            weight[locations.of_element[element]] = 0
        return weight

    def reasons(self, element: int, other: int) -> list[str]:
        """Return why an element is a neighbour of another one.

        The most specific first; empty if they are not neighbours or `p_jump` is 0.
        """
        if not self.jumps.p_jump:
            return []
        found = []
        for pairs, weight, arriving, leaving in (
            (self.flow, self.jumps.control_flow, RUNS_JUST_BEFORE, RUNS_JUST_AFTER),
            (self.calls, self.jumps.calls, CALLS_THIS, CALLED_FROM_HERE),
        ):
            if weight and _holds(pairs, other, element):
                found.append(arriving)
            if weight and _holds(pairs, element, other):
                found.append(leaving)
        function = self.function[element]
        if self.jumps.same_function and function >= 0 and self.function[other] == function:
            found.append(SAME_FUNCTION)
        return found


def _partners(pairs: Ints, element: int) -> Ints:
    return np.concatenate([pairs[pairs[:, 0] == element, 1], pairs[pairs[:, 1] == element, 0]])


def _holds(pairs: Ints, source: int, target: int) -> bool:
    return bool(((pairs[:, 0] == source) & (pairs[:, 1] == target)).any())
