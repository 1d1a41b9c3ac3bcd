"""Suspicious behaviours (the subgraphs of a report) in words: their lines and their tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from suspectra.report import RankedReport, SubgraphReport
from suspectra.spectrum import Elements

MAX_BEHAVIOURS = 10  # number of behaviours in texts for people


def behaviours(report: RankedReport) -> Iterator[dict[str, object]]:
    """Iterate over the subgraphs, best first, with the field names of the JSON output; none for other reports.

    Parameters
    ----------
    report : RankedReport
        Any ranking.

    Yields
    ------
    dict of str to object
        Score, counts and statements.

    Examples
    --------
    >>> import numpy as np
    >>> from suspectra import Spectrum, make_technique
    >>> from suspectra.report import Subgraph
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> graphs = [Subgraph(np.array([0, 1]), np.array([0, 1]), ef=1, ep=0)]
    >>> report = SubgraphReport.from_subgraphs(make_technique("sbbfl"), spectrum, graphs, np.array([1.0]))
    >>> [(one["score"], one["ef"], one["ep"], len(one["statements"])) for one in behaviours(report)]
    [(1.0, 1, 0, 2)]
    """
    if not isinstance(report, SubgraphReport):
        return
    for graph, level in zip(report.subgraphs, report.subgraph_level.tolist(), strict=True):
        yield {
            "score": float(report.level_score[level]),
            "ef": graph.ef,
            "ep": graph.ep,
            "edges": len(graph.edges),
            "statements": [
                {"file": where.file, "line": where.line, "end_line": where.end_line}
                for where in map(report.spectrum.elements.location, graph.elements.tolist())
            ],
        }


def lines_of(elements: Elements, chosen: list[int]) -> str:
    """List statements as files and lines; consecutive ones form a range.

    Parameters
    ----------
    elements : Elements
        The statements.
    chosen : list of int
        Columns, ascending.

    Returns
    -------
    str
        Such as ``cart.py:1-3, 6; shop.py:2``.

    Examples
    --------
    >>> from suspectra.spectrum import Spectrum
    >>> lines_of(Spectrum.from_matrix([[1] * 9], [True]).elements, [0, 1, 2, 5])
    'program:1-3, 6'
    """
    parts = []
    for file, members in groupby(chosen, lambda element: elements.files[elements.file[element]]):
        ranges: list[list[int]] = []
        last = -2
        for element in members:
            first_line, last_line = int(elements.line[element]), int(elements.end_line[element])
            if element == last + 1:
                ranges[-1][1] = last_line
            else:
                ranges.append([first_line, last_line])
            last = element
        parts.append(f"{file}:" + ", ".join(f"{a}-{b}" if a != b else f"{a}" for a, b in ranges))
    return "; ".join(parts)


def sentences(report: RankedReport) -> list[str]:
    """Describe the best behaviours in a line each; a last line says how many more there are.

    Parameters
    ----------
    report : RankedReport
        Any ranking.

    Returns
    -------
    list of str
        Empty for a report without subgraphs.

    Examples
    --------
    >>> import numpy as np
    >>> from suspectra import Spectrum, make_technique
    >>> from suspectra.report import Subgraph
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> graphs = [Subgraph(np.array([0, 1]), np.array([0, 1]), ef=1, ep=0)]
    >>> report = SubgraphReport.from_subgraphs(make_technique("sbbfl"), spectrum, graphs, np.array([1.0]))
    >>> sentences(report)
    ['1. 1.0000  program:1-2  (1 of 1 failed and 0 of 1 passed tests)']
    """
    if not isinstance(report, SubgraphReport):
        return []
    counts, elements = report.spectrum.counts, report.spectrum.elements
    lines = []
    for number, (graph, level) in enumerate(zip(report.subgraphs, report.subgraph_level.tolist(), strict=True), 1):
        if number > MAX_BEHAVIOURS:
            lines.append(f"and {len(report.subgraphs) - MAX_BEHAVIOURS} more")
            break
        where = lines_of(elements, graph.elements.tolist())
        tests = f"{graph.ef} of {counts.failed} failed and {graph.ep} of {counts.passed} passed tests"
        lines.append(f"{number}. {report.level_score[level]:.4f}  {where}  ({tests})")
    return lines
