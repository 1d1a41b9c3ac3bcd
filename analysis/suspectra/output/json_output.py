"""The ranking as one JSON object, the contract with other tools."""

from __future__ import annotations

import json
from typing import TextIO

from suspectra.output.behaviours import behaviours
from suspectra.output.ranking import Listing
from suspectra.report import SubgraphReport


def write_json(ranking: Listing, out: TextIO) -> None:
    """Write the ranking, one suspect a line.

    Parameters
    ----------
    ranking : Ranking
        What to write.
    out : TextIO
        Written to.

    Notes
    -----
    JSON has no infinity: an infinite score is written as the largest double, ±1.7976931348623157e308. Text is
    escaped to ASCII, so the output does not depend on the terminal's encoding.
    """
    report = ranking.report
    head: dict[str, object] = {
        "technique": report.technique.name,
        "clone_failed": report.technique.clone_failed,
        "passed": report.spectrum.counts.passed,
        "failed": report.spectrum.counts.failed,
        "elements": len(report),
        "tied_beyond": ranking.tied_beyond,
        "problems": [problem.as_dict() for problem in ranking.problems],
        "collection_errors": [error.as_dict() for error in ranking.evidence.collection_errors],
    }
    if isinstance(report, SubgraphReport):
        head["subgraphs"] = list(behaviours(report))
    out.write(json.dumps(head, indent=1, allow_nan=False)[:-2])
    out.write(',\n "suspects": [')
    encode = json.JSONEncoder(allow_nan=False).encode
    separator = "\n  "
    for entry in ranking.entries():
        out.write(separator + encode(entry))
        separator = ",\n  "
    out.write("\n ]\n}\n")
