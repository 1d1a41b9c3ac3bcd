"""Suspicious behaviours (the subgraphs of a report) in words: their lines and their tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from suspectra.report import RankedReport, SubgraphReport
from suspectra.spectrum import Elements

MAX_BEHAVIOURS = 10  # number of behaviours in texts for people


def behaviours(report: RankedReport) -> Iterator[dict[str, object]]:
    """Iterate over the subgraphs, best first, with the field names of the JSON output; none for other reports."""
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
    """List statements as files and lines; consecutive ones form a range."""
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
    """Describe the best behaviours in a line each; a last line says how many more there are."""
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
