"""The ranking as one JSON object, the contract with other tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TextIO

from suspectra.evidence.changes import changed_at_import
from suspectra.failure_groups.ranking import RankedGroup
from suspectra.output.behaviours import behaviours
from suspectra.output.rankings.ranking import FunctionEntry, Listing, group_head
from suspectra.report import SubgraphReport
from suspectra_recorder.log.stack import Stack


def write_json(ranking: Listing, out: TextIO) -> None:
    """Write the ranking, one suspect per line.

    JSON has no infinity: an infinite score is written as the largest double, ±1.7976931348623157e308. Text is escaped
    to ASCII, so the output does not depend on the terminal's encoding.
    """
    report = ranking.report
    head: dict[str, object] = {
        "technique": report.technique.name,
        "clone_failed": report.technique.clone_failed,
        "without": list(report.without),
        "passed": report.spectrum.counts.passed,
        "failed": report.spectrum.counts.failed,
        "elements": len(report),
        "tied_beyond": ranking.tied_beyond,
        "changed_besides": {
            "at_import": [one._asdict() for one in changed_at_import(ranking.evidence, ranking.ranked_as_changed)],
            "replaced": [one._asdict() for one in ranking.evidence.replaced],
        },
        "problems": [problem.as_dict() for problem in ranking.problems],
        "stacks": {name: _stack(stack) for name, stack in sorted(ranking.evidence.stacks.items())},
        "collection_errors": [error.as_dict() for error in ranking.evidence.collection_errors],
    }
    if isinstance(report, SubgraphReport):
        head["subgraphs"] = list(behaviours(report))
    out.write(json.dumps(head, indent=1, allow_nan=False)[:-2])
    out.write(',\n "groups": [')
    separator = "\n  "
    for group in ranking.groups:
        out.write(separator)
        _write_group(group, ranking, out)
        separator = ",\n  "
    out.write("\n ]")
    _write_rows("functions", map(_function, ranking.functions()), out, " ")
    _write_rows("suspects", ranking.entries(), out, " ")
    out.write("\n}\n")


def _stack(stack: Stack) -> dict[str, object]:
    """The stack of a failed test, outermost call first."""
    lines = {"test_line": stack.test_line, "own_line": stack.own_line}
    return {
        **stack.as_dict(),
        "frames": [frame._asdict() for frame in stack.frames],
        **{name: {"file": line.file, "line": line.line} if line else None for name, line in lines.items()},
    }


def _write_group(ranked: RankedGroup, ranking: Listing, out: TextIO) -> None:
    """Write a failure group, with the suspects that its tests execute."""
    out.write(json.dumps(group_head(ranked))[:-1])
    listed = ranking.for_group(ranked, ranking.top)
    _write_rows("functions", map(_function, listed.functions()), out, "   ")
    _write_rows("suspects", (entry for entry in listed.entries() if entry["ef"]), out, "   ")
    out.write("}")


def _function(entry: FunctionEntry) -> dict[str, object]:
    """A function, with the lines of its first statements."""
    listed: dict[str, object] = {name: value for name, value in entry.items() if name != "suspects"}
    return {**listed, "lines": [suspect["line"] for suspect in entry["suspects"]]}


def _write_rows(name: str, entries: Iterable[Mapping[str, object]], out: TextIO, indent: str) -> None:
    out.write(f',\n{indent}"{name}": [')
    encode = json.JSONEncoder(allow_nan=False).encode
    separator = f"\n{indent} "
    for entry in entries:
        out.write(separator + encode(entry))
        separator = f",\n{indent} "
    out.write(f"\n{indent}]")
