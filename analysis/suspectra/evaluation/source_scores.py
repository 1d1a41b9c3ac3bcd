"""Scores of reports over the program dependence graph of Python sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from scipy import sparse

from suspectra.base.errors import Problem, UsageError
from suspectra.evaluation.scores import dependence_score, t_score
from suspectra.program.python.dependence_graph import ProgramDependenceGraph

FileLine = tuple[str, int]
"""A file, and a line of it from 1."""


class SourceSearch:
    """Searches for faults along the dependences of a program, from the statements of a report on."""

    def __init__(self, sources: Mapping[str, bytes], report: Iterable[FileLine]):
        self._graph = ProgramDependenceGraph.from_sources(sources)
        one, other = self._graph.edges.T
        size = len(self._graph)
        self._edges = sparse.csr_array((np.ones(len(one)), (one, other)), shape=(size, size))
        self._report = self._nodes(report)

    def t_score(self, faulty: Iterable[FileLine]) -> float:
        """Say which share of the program is examined (paper 000, §5.1.3). 1 where no faulty line has a statement."""
        faults = self._nodes(faulty)
        return t_score(self._edges, self._report, faults) if faults else 1.0

    def pdg_score(self, faulty: Iterable[FileLine], *, all_faults: bool = False) -> float:
        """Say which share of the program need not be examined (paper 001, Equation 1).

        Raises UsageError when no faulty line has a statement.
        """
        faults = self._nodes(faulty)
        if not faults:
            cause, cure = "no faulty line has a statement", "name the line on which the faulty statement begins"
            raise UsageError(Problem("", "", cause, cure))
        return dependence_score(self._edges, self._report, faults, all_faults=all_faults)

    def _nodes(self, places: Iterable[FileLine]) -> list[int]:
        return [node for place in places for node in self._graph.at(*place)]


def pdg_score(
    sources: Mapping[str, bytes], report: Iterable[FileLine], faulty: Iterable[FileLine], *, all_faults: bool = False
) -> float:
    """Say which share of a program need not be examined, from the statements of a report on (paper 001, Equation 1).

    Raises UsageError when no faulty line has a statement.
    """
    return SourceSearch(sources, report).pdg_score(faulty, all_faults=all_faults)
