"""The walk through the ranking of a chain until the first location."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from suspectra.base.arrays import Floats, dense_product
from suspectra.markov.chain import Chain
from suspectra.markov.elimination import Factors
from suspectra.markov.elimination_plan import EliminationPlan


class RankingWalk:
    """Which location a reader who returned to the ranking meets first.

    SuperLU is not used for this, because its objects are never freed if they are dropped by another thread than the one
    that made them.
    """

    def __init__(self, chain: Chain):
        self._chain = chain
        rates = chain.rates[: chain.first_location]
        inside = rates[:, : chain.first_location]
        out: Floats = np.asarray(rates[:, chain.first_location :].sum(axis=1)).reshape(-1, 1)
        none = sparse.csr_array((1, chain.first_location + 1))
        rooted = sparse.vstack([none, sparse.hstack([sparse.csr_array(out), inside])], format="csr")
        rooted.sort_indices()
        plan = EliminationPlan(rooted)
        self._factors = Factors(plan, *plan.split(rooted))  # the root is state 0, and state i of the chain is i + 1

    def first_met(self, start: Floats) -> Floats:
        """Return with which probability a reader meets each location first.

        Of shape (locations,).
        """
        chain = self._chain
        visits = self._factors.solve_left(np.concatenate([[0], start]))[1:]
        entered = chain.rates[: chain.first_location, chain.first_location : chain.first_hub].T
        by_location = np.zeros(chain.locations)
        by_location[chain.location] = dense_product(entered, visits)
        return np.maximum(by_location, 0)
