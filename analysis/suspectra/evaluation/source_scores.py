"""Scores of reports over the program dependence graph of Python sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from scipy import sparse

from suspectra.base.errors import Problem, UsageError
from suspectra.evaluation.scores import dependence_score
from suspectra.program.python.dependence_graph import ProgramDependenceGraph

FileLine = tuple[str, int]
"""A file, and a line of it from 1."""


def pdg_score(
    sources: Mapping[str, bytes], report: Iterable[FileLine], faulty: Iterable[FileLine], *, all_faults: bool = False
) -> float:
    """Say which share of a program need not be examined, from the statements of a report on (paper 001, Equation 1).

    Raises UsageError when no faulty line has a statement.
    """
    graph = ProgramDependenceGraph.from_sources(sources)
    faults = [node for place in faulty for node in graph.at(*place)]
    if not faults:
        cause, cure = "no faulty line has a statement", "name the line on which the faulty statement begins"
        raise UsageError(Problem("", "", cause, cure))
    one, other = graph.edges.T
    edges = sparse.csr_array((np.ones(len(one)), (one, other)), shape=(len(graph), len(graph)))
    reported = [node for place in report for node in graph.at(*place)]
    return dependence_score(edges, reported, faults, all_faults=all_faults)
