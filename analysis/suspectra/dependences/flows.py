"""Which assignment each name of a run refers to: flow dependences through variables.

The process that ran the test only noted which nodes there are, in order, and to which call each belongs. What a node
reads and binds by name is known from the source. So each name refers to the last node before that bound it in the same
call; in the call that the function was defined in, for variables of functions around it; anywhere, for variables of
modules.

So the traced process notes only what the source can't tell. Functions that share variables are told apart by their
cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.cancellation import checked

_CHUNK = 1 << 18


@dataclass(frozen=True, eq=False)
class Names:
    """What the sites of a run read and bind by name."""

    frame: Ints  # the function, or module, in whose calls each site is executed; shape (sites,)
    # the variables of each site
    uses: Sequence[Sequence[int]]
    defines: Sequence[Sequence[int]]
    scope: Ints  # the function or module that each variable belongs to; shape (variables,)
    is_global: Ints  # whether it belongs to a module; shape (variables,)


def variable_flows(names: Names, site: Ints, call: Ints, shared: Ints, owners: Ints, bound: Ints) -> tuple[Ints, Ints]:
    """Find the flow dependences through variables.

    Of shape (dependences,).
    """
    if not len(site):
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    resolution = _Resolution(names, site, call, owners)
    resolution.define(site, call, bound)
    found = []
    every = np.arange(len(site), dtype=np.int64)
    for begin in checked(range(0, len(site), _CHUNK)):
        part = slice(begin, begin + _CHUNK)
        found.append(resolution.read(every[part], site[part], call[part]))
    if len(shared):
        found.append(resolution.read(shared[:, 0].astype(np.int64), shared[:, 1], shared[:, 2]))
    source = np.concatenate([one for one, _ in found]).astype(np.int32)
    target = np.concatenate([one for _, one in found]).astype(np.int32)
    return source, target


class _Table:
    """A list of numbers for each site."""

    def __init__(self, rows: Sequence[Sequence[int]]):
        self.count = np.array([len(row) for row in rows], np.int64)
        self.start = np.concatenate([[0], np.cumsum(self.count)])
        self.flat = np.array([one for row in rows for one in row], np.int64)

    def for_sites(self, site: Ints) -> tuple[Ints, Ints]:
        """For each number of some sites: the index of the site among them, and the number."""
        count = self.count[site]
        row = np.repeat(np.arange(len(site)), count)
        inside = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        return row, self.flat[self.start[site][row] + inside]


class _Resolution:
    def __init__(self, names: Names, site: Ints, call: Ints, owners: Ints):
        self._names, self._nodes = names, len(site)
        self._uses, self._defines = _Table(names.uses), _Table(names.defines)
        self._calls = int(call.max()) + 1 if len(call) else 1
        if len(owners):
            self._calls = max(self._calls, int(owners[:, [0, 2]].max()) + 1)
        self._frame_of_call = np.full(self._calls, -1, np.int64)
        self._frame_of_call[call] = names.frame[site]
        self._width = int(max(names.scope.max(initial=0), names.frame.max(initial=0))) + 2
        keys = owners[:, 0].astype(np.int64) * self._width + owners[:, 1] if len(owners) else np.zeros(0, np.int64)
        order = np.argsort(keys, kind="stable")
        self._owner_keys = keys[order]
        self._owner_calls = owners[order, 2].astype(np.int64) if len(owners) else np.zeros(0, np.int64)
        self._calls_of_frame = np.lexsort((np.arange(self._calls), self._frame_of_call))

    def define(self, site: Ints, call: Ints, bound: Ints) -> None:
        """Know which nodes bind which variables."""
        row, variable = self._defines.for_sites(site)
        keys = [self._keys(variable, call[row].astype(np.int64))]
        positions, nodes = [row], [row]
        if len(bound):
            at, variable = self._defines.for_sites(bound[:, 1])
            keys.append(self._keys(variable, bound[at, 2].astype(np.int64)))
            positions.append(bound[at, 0].astype(np.int64))
            nodes.append(bound[at, 3].astype(np.int64))
        key, position, node = (np.concatenate(one) for one in (keys, positions, nodes))
        self._keys_defined, rank = np.unique(key, return_inverse=True)
        place = rank.astype(np.int64) * (self._nodes + 1) + position
        order = np.argsort(place, kind="stable")  # of two at one position the later one counts: bound parameters
        self._places, self._defining = place[order], node[order]

    def read(self, node: Ints, site: Ints, call: Ints) -> tuple[Ints, Ints]:
        """Find what bound the variables that some nodes read: those nodes, and the readers."""
        row, variable = self._uses.for_sites(site)
        key = self._keys(variable, call[row].astype(np.int64))
        rank = np.searchsorted(self._keys_defined, key)
        known = rank < len(self._keys_defined)
        known[known] = self._keys_defined[rank[known]] == key[known]
        rank, reader = rank[known], node[row[known]]
        at = np.searchsorted(self._places, rank * (self._nodes + 1) + reader) - 1
        found = at >= 0
        found[found] = self._places[at[found]] // (self._nodes + 1) == rank[found]
        source, target = self._defining[at[found]], reader[found]
        earlier = source < target
        return source[earlier], target[earlier]

    def _keys(self, variable: Ints, call: Ints) -> Ints:
        """A number for each variable of a call."""
        return np.asarray(variable * (self._calls + 1) + self._owner(variable, call))

    def _owner(self, variable: Ints, call: Ints) -> Ints:
        """The call whose variable it is; one after the last for variables of modules."""
        scope = self._names.scope[variable].astype(np.int64)
        owner = np.where(self._frame_of_call[call] == scope, call, -1)
        missing = np.flatnonzero((owner < 0) & ~self._names.is_global[variable])
        if len(missing):
            keys = call[missing] * self._width + scope[missing]
            at = np.searchsorted(self._owner_keys, keys)
            known = at < len(self._owner_keys)
            known[known] = self._owner_keys[at[known]] == keys[known]
            owner[missing[known]] = self._owner_calls[at[known]]
            rest = missing[~known]
            owner[rest] = self._last_call(scope[rest], call[rest])
        owner[self._names.is_global[variable]] = self._calls
        return owner

    def _last_call(self, scope: Ints, call: Ints) -> Ints:
        """The last call of a function before another call, where it is not known which one it was."""
        order = self._calls_of_frame
        place = (self._frame_of_call[order] + 1) * self._calls + order
        at = np.searchsorted(place, (scope + 1) * self._calls + call) - 1
        found = order[np.maximum(at, 0)]
        return np.where((at >= 0) & (self._frame_of_call[found] == scope), found, call)
