"""The part of a chain around one state, for a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.markov.chain import Chain


@dataclass(frozen=True)
class ModelNode:
    """A state in the picture: an element, a rank, or a subgraph.

    Parameters
    ----------
    state : int
        State of the chain.
    kind : str
        ``location``, ``rank`` or ``subgraph``.
    number : int
        Index of the element; or the number of the rank or subgraph, from 1.

    Examples
    --------
    >>> ModelNode(0, "rank", 1).kind
    'rank'
    """

    state: int
    kind: str
    number: int


@dataclass(frozen=True)
class ModelEdge:
    """A transition between two states of the picture.

    Parameters
    ----------
    source, target : int
        States of the chain.
    probability : float
        Probability of this transition for a reader in `source`.

    Examples
    --------
    >>> ModelEdge(0, 3, 0.5).probability
    0.5
    """

    source: int
    target: int
    probability: float


@dataclass(frozen=True)
class Neighbourhood:
    """The part of a chain around one state.

    Parameters
    ----------
    nodes : tuple of ModelNode
        The first is the centre.
    edges : tuple of ModelEdge
        All transitions between these nodes.

    Examples
    --------
    >>> from suspectra.markov.debugging_model import DebuggingModel
    >>> from suspectra import Spectrum, make_technique
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> around = DebuggingModel(make_technique("ochiai").localize(spectrum)).neighbourhood(1, limit=3)
    >>> [(node.kind, node.number) for node in around.nodes]
    [('location', 1), ('rank', 1), ('rank', 2)]
    """

    nodes: tuple[ModelNode, ...]
    edges: tuple[ModelEdge, ...]


def states_around(chain: Chain, state: int, limit: int) -> list[int]:
    """Return a state, its likeliest next states, and the ranking around these.

    Parameters
    ----------
    chain : Chain
        Any chain.
    state : int
        The centre.
    limit : int
        The largest number of states that follow the centre.

    Returns
    -------
    list of int
        The centre first. For each state of the ranking there are also the ranks before and after it, and its three
        likeliest further states.

    Examples
    --------
    >>> from suspectra.markov.chain import ranked_list
    >>> states_around(ranked_list([0, 1, 2]), 3, 8)
    [3, 0, 1]
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

    Parameters
    ----------
    chain : Chain
        Any chain.
    states : sequence of int
        The states.

    Returns
    -------
    tuple of ModelEdge
        In the order of `states`.

    Examples
    --------
    >>> from suspectra.markov.chain import ranked_list
    >>> [(edge.source, edge.target) for edge in edges_among(ranked_list([0, 1]), [0, 2])]
    [(0, 0), (0, 2), (2, 0)]
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
