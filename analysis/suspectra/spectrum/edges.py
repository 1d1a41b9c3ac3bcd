"""Control-flow edges as columns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Bools, Ints


class EdgeKind(str, Enum):
    """What `source` and `target` of edges mean.

    Examples
    --------
    >>> [kind.value for kind in EdgeKind]
    ['arc', 'block', 'outcome']
    """

    ARC = "arc"  # two lines, as in coverage.py: a negative one is the entry or exit of the code object there
    BLOCK = "block"  # two basic blocks of one function
    OUTCOME = "outcome"  # a line, and -1 - the number of one outcome of its decision


FIRST_OUTCOME = 1 << 30
"""Target number of the first condition's false outcome; even offsets mean false, odd ones true."""


@dataclass(frozen=True, eq=False)
class Edges:
    """Control-flow edges, as columns.

    Parameters
    ----------
    file : ndarray of int32, shape (m,)
        Index into the elements' files.
    source, target : ndarray of int32, shape (m,)
        Line or block number at each end of the edge, according to `kind`.
    function : ndarray of int32, shape (m,)
        Index into the elements' functions, -1 where it is not known.
    kind : EdgeKind
        What `source` and `target` are.
    complete : bool
        Whether every edge that a test traversed is recorded. A recorder of decisions need not mark the edges between
        them: these follow from the statements.
    conditions : tuple of ndarray of int32, each of shape (k, 4)
        For each file the conditions inside expressions, where the evidence has their outcomes, which are edges too:
        first line, first column, last line, and the column after the last. Columns are characters, from 0. An outcome
        leads from the line of its statement to `FIRST_OUTCOME` + 2 × the number of the condition, + 1 where it is true.

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
        """Whether each edge is the outcome of a condition inside an expression; shape (m,)."""
        return np.asarray(self.target) >= FIRST_OUTCOME if self.conditions else np.zeros(len(self), bool)
