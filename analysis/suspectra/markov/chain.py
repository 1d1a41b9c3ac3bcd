"""Markov chains of a reader who debugs (paper 003, Definitions 22 to 30).

A chain is stored as *rates*: the off-diagonal part of its transition matrix. What a row sum lacks to 1 is the
probability of a self-loop. "Every line of the same function" would be a clique, so each function has one *hub*, a state
that takes no time. A location goes to its hub at rate q·m (m lines, rate q to each), and the hub goes to each of its m
lines at rate 1/m. The share q that would come back to the location itself makes the row sum 1 + q instead of 1, which
leaves every expected time exactly as it is without the hub and keeps the matrix as sparse as the control flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from suspectra.base.arrays import Bools, FloatMatrix, Floats, Ints
from suspectra.base.cancellation import check
from suspectra.markov.jumps import JumpModel
from suspectra.markov.structure import Structure, usage_error, whole_numbers


@dataclass(frozen=True, eq=False)
class Chain:
    """A first-order Markov model of debugging (paper 003). Build one with the functions of this module.

    The order of states is groups, subgraphs, locations, hubs. State 0, the best group, is the start.
    """

    # off-diagonal transition probabilities; a location with a hub has a row sum above 1 (see the module); shape
    # (states, states)
    rates: FloatMatrix
    # the numbers of groups and of subgraphs
    groups: int
    subgraphs: int
    location: Ints  # the location of each of these states, ascending; shape (states of locations,)
    locations: int  # the number of locations in the program. Locations that are not in the report have no state
    hub_size: Ints  # the number of locations of each hub; shape (hubs,)
    jumps: JumpModel  # the probabilities with which readers leave the ranking
    structure: Structure  # the neighbours to which they jump

    @property
    def first_location(self) -> int:
        """The first location's state."""
        return self.groups + self.subgraphs

    @property
    def first_hub(self) -> int:
        """The first hub's state; the states before it are those of the paper."""
        return self.first_location + len(self.location)

    @property
    def states(self) -> int:
        """How many states there are, hubs included."""
        return self.first_hub + len(self.hub_size)

    @cached_property
    def state_of_location(self) -> Ints:
        """State by location, -1 for a location that is not in the report; shape (locations,)."""
        state = np.full(self.locations, -1, np.int64)
        state[self.location] = self.first_location + np.arange(len(self.location))
        return state

    @property
    def takes_time(self) -> Floats:
        """1.0 for a state of the paper, 0.0 for a hub, shape (states,)."""
        return (np.arange(self.states) < self.first_hub).astype(float)

    @cached_property
    def group_of_location(self) -> Ints:
        """For a ranked list the group of each location's state; all -1 for a chain with subgraphs."""
        group = np.full(len(self.location), -1, np.int64)
        if not self.subgraphs and len(group):
            up = self.rates[: self.groups, self.first_location : self.first_hub].tocoo()
            group[up.col] = up.row
        return group

    @cached_property
    def is_ranked_list(self) -> bool:
        """Whether this is the chain of paper 003, Definition 28: a ranked list without jumps."""
        if self.subgraphs:
            return False
        from_locations = self.rates[self.first_location : self.first_hub]
        return bool(from_locations.indices.max(initial=0) < self.groups)

    def row(self, state: int) -> tuple[Ints, Floats]:
        """Return the transitions of the paper's chain from a state.

        The states that they lead to, ascending, and their probabilities; both of shape (k,).

        Raises IndexError when there is no such state, or it is a hub.
        """
        if not 0 <= state < self.first_hub:
            raise IndexError(f"no state {state} in a chain of {self.first_hub}")
        probability: dict[int, float] = {}
        for target, rate in self._entries(state):
            if target < self.first_hub:
                probability[target] = probability.get(target, 0.0) + rate
                continue
            for member, hub_rate in self._entries(target):
                if member != state:
                    probability[member] = probability.get(member, 0.0) + rate * hub_rate
        self_loop = 1 - sum(probability.values())
        if self_loop > 1e-12:
            probability[state] = self_loop
        targets = np.array(sorted(probability), np.int64)
        return targets, np.array([probability[t] for t in targets.tolist()])

    def _entries(self, state: int) -> list[tuple[int, float]]:
        span = slice(self.rates.indptr[state], self.rates.indptr[state + 1])
        return list(zip(self.rates.indices[span].tolist(), self.rates.data[span].tolist(), strict=True))

    def not_ergodic_because(self) -> str | None:
        """Return why the chain is not ergodic, or None when it is."""
        check()
        count, part = csgraph.connected_components(self.rates, directed=True, connection="strong")
        if count <= 1:
            return None
        if self.jumps.p_jump == 1:
            return "p_jump is 1, so a reader who jumped never comes back to the ranking"
        reached = csgraph.breadth_first_order(self.rates, 0, directed=True, return_predecessors=False)
        unreachable = self.states - len(reached)
        if unreachable:
            return f"{unreachable} of {self.states} states can't be reached from the start of the ranking"
        without_return = int(np.count_nonzero(part != part[0]))
        return f"from {without_return} of {self.states} states there is no way back to the start of the ranking"

    def require_ergodic(self) -> None:
        """Raise a UsageError with the reason when the chain is not ergodic."""
        reason = self.not_ergodic_because()
        if reason:
            cure = "set p_jump below 1" if self.jumps.p_jump == 1 else "give every location a way back"
            raise usage_error(f"the debugging model is not ergodic: {reason}", cure)


def groups_of(scores: Sequence[float] | Floats) -> Ints:
    """Return the group of each location (paper 003, Definition 28): 0 for the highest score.

    NaN and -inf share the last group.

    Of shape (locations,).
    """
    values = np.asarray(scores, float)
    values = np.where(np.isnan(values), -np.inf, values)
    _, group = np.unique(-values, return_inverse=True)
    return group.reshape(-1)


def ranked_list(
    group: Sequence[int] | Ints,  # the group of each location in the ranking, 0 for the best
    structure: Structure | None = None,
    jumps: JumpModel | None = None,
) -> Chain:
    """Build the chain of a ranked list, with jumps where there are neighbours (paper 003, Definitions 28 and 29).

    Raises UsageError when there is no location, or the structure does not fit them.
    """
    rank = whole_numbers(group, "the groups")
    if not len(rank):
        raise usage_error("there is no location to rank", "give a report with at least one location")
    _, rank = np.unique(rank, return_inverse=True)
    rank = rank.reshape(-1)
    count, groups = len(rank), int(rank.max()) + 1
    state = groups + np.arange(count)
    size = np.bincount(rank, minlength=groups)
    jumps, structure = jumps or JumpModel(), structure or Structure()
    jumping, leaves, hub_size = _jump_rates(count, structure, jumps, groups)
    return_rate = np.where(leaves, 1 - jumps.p_jump, 1.0)
    members = _Rates(rank, state, 0.5 / size[rank])
    rates = [*_spine(groups, count), members, _Rates(state, rank, return_rate), *jumping]
    total = groups + count + len(hub_size)
    return Chain(_matrix(rates, total), groups, 0, np.arange(count), count, hub_size, jumps, structure)


def unordered(
    reported: Sequence[int] | Ints,
    locations: int,
    structure: Structure | None = None,
    jumps: JumpModel | None = None,
) -> Chain:
    """Build the chain of an unordered report: the reported locations are one group, all others the next.

    Raises UsageError when a location is not in the program.
    """
    group = np.ones(locations, np.int64)
    named = whole_numbers(reported, "the reported locations")
    if len(named) and not (0 <= named.min() and named.max() < locations):
        raise usage_error("a reported location is not in the program", f"name locations from 0 to {locations - 1}")
    group[named] = 0
    return ranked_list(group, structure, jumps)


def suspicious_behaviour(
    group: Sequence[int] | Ints,
    members: Sequence[Sequence[int] | Ints],
    locations: int,
    structure: Structure | None = None,
    jumps: JumpModel | None = None,
) -> Chain:
    """Build the chain of ranked subgraphs (paper 003, Definition 30), with jumps where there are neighbours.

    A location in no subgraph has a state if jumps lead to it. Its reader has no subgraph to go back to, and jumps on.

    Raises UsageError when there is no subgraph, or one is empty or names an unknown location.
    """
    rank = whole_numbers(group, "the groups")
    if not len(rank):
        raise usage_error("the report contains no subgraph", "lower min_fails or give more failing tests")
    _, rank = np.unique(rank, return_inverse=True)
    rank = rank.reshape(-1)
    sets = [np.unique(whole_numbers(m, "a subgraph")) for m in members]
    if len(sets) != len(rank) or not all(len(s) for s in sets):
        raise usage_error("a subgraph has no location or no group", "give each subgraph its group and its locations")
    inside = np.concatenate(sets)
    if not (0 <= inside.min() and inside.max() < locations):
        raise usage_error("a subgraph names an unknown location", f"name locations from 0 to {locations - 1}")
    jumps, structure = jumps or JumpModel(), structure or Structure()
    location = structure.reachable(np.unique(inside), locations, jumps)
    of_member = np.searchsorted(location, inside)
    groups, subgraphs = int(rank.max()) + 1, len(rank)
    first = groups + subgraphs
    graph_size = np.array([len(s) for s in sets])
    graph = np.repeat(np.arange(subgraphs), graph_size)
    shared = np.bincount(of_member, minlength=len(location))
    size = np.bincount(rank, minlength=groups)
    narrowed = structure.among(location, locations)
    jumping, leaves, hub_size = _jump_rates(len(location), narrowed, jumps, first, shared > 0)
    return_rate = np.where(leaves, 1 - jumps.p_jump, 1.0)[of_member] / shared[of_member]
    graph_state, member_state = groups + graph, first + of_member
    rates = [
        *_spine(groups, subgraphs),
        _Rates(rank, groups + np.arange(subgraphs), 0.5 / size[rank]),
        _Rates(groups + np.arange(subgraphs), rank, np.full(subgraphs, 0.5)),
        _Rates(graph_state, member_state, 0.5 / graph_size[graph]),
        _Rates(member_state, graph_state, return_rate),
        *jumping,
    ]
    total = first + len(location) + len(hub_size)
    return Chain(_matrix(rates, total), groups, subgraphs, location, locations, hub_size, jumps, structure)


@dataclass(frozen=True, eq=False)
class _Rates:
    source: Ints
    target: Ints
    value: Floats


def _matrix(parts: Sequence[_Rates], states: int) -> FloatMatrix:
    source = np.concatenate([p.source for p in parts])
    target = np.concatenate([p.target for p in parts])
    value = np.concatenate([p.value for p in parts])
    check()
    keep = value > 0
    matrix = sparse.coo_array((value[keep], (source[keep], target[keep])), shape=(states, states)).tocsr()
    check()
    matrix.sum_duplicates()
    return matrix


def _spine(groups: int, weight: int) -> list[_Rates]:
    """The rates between neighbouring groups. The moves that would leave the list at its ends are self-loops."""
    better, worse = np.arange(groups - 1), np.arange(1, groups)
    up = np.full(groups - 1, (weight - 1) / (2 * weight))
    return [_Rates(worse, better, up), _Rates(better, worse, np.full(groups - 1, 1 / (2 * weight)))]


def _jump_rates(
    count: int, structure: Structure, jumps: JumpModel, first: int, returns: Bools | None = None
) -> tuple[list[_Rates], Bools, Ints]:
    """Return the rates between locations (states from `first` on) and hubs, who has neighbours, and the sizes of
    hubs.

    Locations that have no way to return to the ranking, if there are such, always jump.
    """
    check()
    function = structure.functions(count)
    pairs, weight = structure.neighbours(jumps, function)
    size = np.bincount(function[function >= 0], minlength=1)
    peers = np.where(function >= 0, size[function] - 1, 0) * jumps.same_function
    check()
    total = peers + np.bincount(pairs[:, 0], weight, count) + np.bincount(pairs[:, 1], weight, count)
    leaves = total > 0
    jump = np.full(count, jumps.p_jump) if returns is None else np.where(returns, jumps.p_jump, 1.0)
    share = np.divide(jump, total, out=np.zeros(count), where=leaves)
    if jumps.p_jump == 0:
        return [], np.zeros(count, bool), np.zeros(0, np.int64)
    x, y = pairs.T
    rates = [
        _Rates(first + x, first + y, share[x] * weight),
        _Rates(first + y, first + x, share[y] * weight),
    ]
    served = np.flatnonzero(peers > 0)
    if not len(served):
        return rates, leaves, np.zeros(0, np.int64)
    names, hub = np.unique(function[served], return_inverse=True)
    hub_size = size[names]
    hub = hub.reshape(-1)
    hub_state = first + count + hub
    rates += [
        _Rates(first + served, hub_state, share[served] * jumps.same_function * hub_size[hub]),
        _Rates(hub_state, first + served, 1 / hub_size[hub]),
    ]
    return rates, leaves, hub_size
