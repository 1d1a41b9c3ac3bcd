"""The part of a chain around one state, for a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.markov.chain import Chain


@dataclass(frozen=True)
class ModelNode:
    """A state in the picture: an element, a rank, or a subgraph."""

    state: int  # state of the chain
    kind: str  # `location`, `rank` or `subgraph`
    number: int  # index of the element; or the number of the rank or subgraph, from 1


@dataclass(frozen=True)
class ModelEdge:
    """A transition between two states of the picture."""

    # states of the chain
    source: int
    target: int
    probability: float  # probability of this transition for a reader in `source`


@dataclass(frozen=True)
class Neighbourhood:
    """The part of a chain around one state."""

    nodes: tuple[ModelNode, ...]  # the first is the centre
    edges: tuple[ModelEdge, ...]  # all transitions between these nodes


def states_around(chain: Chain, state: int, limit: int) -> list[int]:
    """Return a state, its likeliest next states, and the ranking around these.

    The centre first. For each state of the ranking there are also the ranks before and after it, and its three
    likeliest further states.
    """
    chosen: dict[int, None] = {state: None}
    for center in (state, *_likeliest(chain, state, limit)):
        chosen[center] = None
    for center in [one for one in chosen if one < chain.first_location]:
        others = [other for other in _likeliest(chain, center, len(chosen) + 3) if other not in chosen]
        chosen |= dict.fromkeys([*others[:3], *_beside(chain, center)])
    return list(chosen)


def edges_among(chain: Chain, states: Sequence[int]) -> tuple[ModelEdge, ...]:
    """Return the transitions between some states.

    In the order of `states`.
    """
    among = frozenset(states)
    return tuple(
        ModelEdge(source, target, probability)
        for source in states
        for target, probability in zip(*(values.tolist() for values in chain.row(source)), strict=True)
        if target in among
    )


def _likeliest(chain: Chain, state: int, limit: int) -> list[int]:
    targets, probability = chain.row(state)
    likeliest: list[int] = targets[np.argsort(-np.round(probability, 12), kind="stable")[:limit]].tolist()
    return likeliest


def _beside(chain: Chain, state: int) -> list[int]:
    """The ranks before and after a rank."""
    near = (state - 1, state + 1) if state < chain.groups else ()
    return [place for place in near if 0 <= place < chain.groups]
