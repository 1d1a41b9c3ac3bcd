"""Control-flow edges as columns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from suspectra.arrays import Bools, Ints


class EdgeKind(str, Enum):
    """What the two ends of an edge are.

    Examples
    --------
    >>> EdgeKind("arc") is EdgeKind.ARC
    True
    """

    ARC = "arc"  # two lines, as coverage.py has it: a negative one is entry or exit of the code that starts there
    BLOCK = "block"  # two basic blocks of one function
    OUTCOME = "outcome"  # a line, and -1 - the number of one outcome of its decision


FIRST_OUTCOME = 1 << 30
"""Among arcs, the target of the first condition's false outcome; its true one and those of others follow."""


@dataclass(frozen=True, eq=False)
class Edges:
    """Control-flow edges, as columns.

    Parameters
    ----------
    file : ndarray of int32, shape (m,)
        Index into the elements' files.
    source, target : ndarray of int32, shape (m,)
        Lines that the edge leaves and enters, or block numbers: `kind` says which.
    function : ndarray of int32, shape (m,)
        Index into the elements' functions, -1 where it is not known.
    kind : EdgeKind
        What `source` and `target` are.
    complete : bool
        Whether every edge a test traversed is recorded. A recorder that marks decisions need not mark the ways between
        them: these follow from the statements.
    conditions : tuple of ndarray of int32, each of shape (k, 4)
        For each file the conditions inside expressions, whose outcomes are edges too, where the evidence tells them:
        first line and column, last line and column behind. Columns are characters, from 0. An outcome leads from the
        line of its statement to `FIRST_OUTCOME` + 2 × the number of the condition, + 1 where it is true.

    Examples
    --------
    >>> zeros = np.zeros(2, np.int32)
    >>> edges = Edges(zeros, np.array([2, 2]), np.array([3, 4]), zeros)
    >>> len(edges), edges.kind.value, edges.is_outcome.tolist()
    (2, 'arc', [False, False])
    """

    file: Ints
    source: Ints
    target: Ints
    function: Ints
    kind: EdgeKind = EdgeKind.ARC
    complete: bool = True
    conditions: tuple[Ints, ...] = ()

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def is_outcome(self) -> Bools:
        """Whether an edge is the outcome of a condition inside an expression; shape (m,)."""
        return np.asarray(self.target) >= FIRST_OUTCOME if self.conditions else np.zeros(len(self), bool)
