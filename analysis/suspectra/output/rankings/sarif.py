"""The ranking as SARIF 2.1.0, for code scanning services and editors.

References
----------
https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from suspectra import __version__
from suspectra.base.errors import Problem
from suspectra.base.technique_info import TechniqueInfo
from suspectra.base.visible import safe
from suspectra.evidence.changes import besides
from suspectra.evidence.evidence import TestResult
from suspectra.evidence.failures import failed_in
from suspectra.output.rankings.ranking import Listing, RankingEntry, change_in_words, group_head
from suspectra.output.rankings.table import rank_text, score_text
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.stack import Stack

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "SRCROOT"
_CLOSE_RANK = 10
_MAX_RELATED = 20


def write_sarif(ranking: Listing, out: TextIO, workspace: Path) -> None:
    """Write a log of one run: the technique is the rule, suspects are results, failing tests are related locations.

    The level says how far up it is: ``error`` for the suspects that share the first rank, ``warning`` up to rank
    10, ``note`` for the rest of what failing tests execute, ``none`` for what none executes. The failure groups are
    under the run's `properties`; those of a result name the group in which it ranks best. A result's `stacks` are
    those of the tests that failed in it, 20 at most, the innermost call first. A result's `rank` goes from 100
    (first) down towards 0. The counts and all failing tests are under `properties`; related locations are 20 at
    most.
    """
    tests = {test.name: test for test in ranking.evidence.tests}
    statements = max(len(ranking.report), 1)
    run = {
        "tool": {
            "driver": {
                "name": "Suspectra",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(ranking.report.technique.info)],
            }
        },
        "columnKind": "unicodeCodePoints",
        "properties": {
            "without": list(ranking.report.without),
            "groups": [group_head(one) for one in ranking.groups],
        },
        "originalUriBaseIds": {_ROOT: {"uri": workspace.resolve().as_uri().rstrip("/") + "/"}},
        "invocations": [
            {
                "executionSuccessful": not ranking.evidence.collection_errors,
                "toolExecutionNotifications": [
                    *map(_uncollected, ranking.evidence.collection_errors),
                    *(
                        {"level": "note", "message": {"text": safe(text)}}
                        for text in besides(ranking.evidence, ranking.report.spectrum)
                    ),
                    *_cut(ranking),
                    *(_notification(problem) for problem in ranking.problems),
                ],
            }
        ],
    }
    encode = json.JSONEncoder(allow_nan=False).encode
    out.write(f'{{"$schema": {encode(SCHEMA)}, "version": "2.1.0", "runs": [{encode(run)[:-1]}, "results": [')
    separator = "\n "
    group, rank = ranking.group_ranks()
    for element, entry in zip(ranking.order.tolist(), ranking.entries(), strict=True):
        result = _result(entry, ranking.report.technique.info, tests, statements)
        failed = failed_in(ranking.evidence, ranking.report.spectrum, element)
        if failed:
            result["stacks"] = [_stack(name, ranking.evidence.stacks[name]) for name in failed[:_MAX_RELATED]]
        if group[element]:
            result["properties"] |= {"group": int(group[element]), "group_rank": int(rank[element])}
        out.write(separator + encode(result))
        separator = ",\n "
    out.write("\n]}]}\n")


def _rule(info: TechniqueInfo) -> dict[str, object]:
    return {
        "id": info.name,
        "name": info.title,
        "shortDescription": {"text": f"Suspicious by {info.title}"},
        "fullDescription": {"text": f"{info.title} = {info.formula} ({info.paper}). {info.advice}".strip()},
    }


def _result(entry: RankingEntry, info: TechniqueInfo, tests: dict[str, TestResult], statements: int) -> dict[str, Any]:
    location: dict[str, object] = {"physicalLocation": _physical(entry["file"], entry["line"], entry["end_line"])}
    if entry["function"]:
        location["logicalLocations"] = [{"fullyQualifiedName": entry["function"], "kind": "function"}]
    failing = entry["failing_tests"]
    rank = rank_text(entry["rank_best"], entry["rank_worst"])
    by = "read by" if entry["only_read"] else "executed by"
    text = (
        f"Suspect {rank} of {statements}: {info.title} {score_text(entry['score'])}, {by}"
        f" {entry['ef']} of {entry['ef'] + entry['nf']} failed and {entry['ep']} of {entry['ep'] + entry['np']}"
        " passed tests"
    )
    if badge := change_in_words(entry):
        text += f"; {badge}"
    if entry["reason"]:
        text += f". {entry['reason']}"
    numbers: dict[str, object] = {**entry}
    properties = (
        "ef",
        "ep",
        "nf",
        "np",
        "score",
        "rank_best",
        "rank_average",
        "rank_worst",
        "standard_rank",
        "changed",
        "changed_by_git",
    )
    return {
        "ruleId": info.name,
        "ruleIndex": 0,
        "level": _level(entry),
        "message": {"text": safe(text)},
        "rank": round(100 * (1 - (entry["rank_best"] - 1) / statements), 4),
        "locations": [location],
        "relatedLocations": [
            _related(number, name, tests.get(name)) for number, name in enumerate(failing[:_MAX_RELATED])
        ],
        "properties": {name: numbers[name] for name in properties} | {"failing_tests": failing},
    }


def _level(entry: RankingEntry) -> str:
    if not entry["ef"]:
        return "none"
    if entry["rank_best"] == 1:
        return "error"
    return "warning" if entry["rank_best"] <= _CLOSE_RANK else "note"


def _related(number: int, name: str, test: TestResult | None) -> dict[str, object]:
    related: dict[str, object] = {
        "id": number,
        "message": {"text": f"failing test {name}" + (f": {test.message}" if test and test.message else "")},
        "logicalLocations": [{"fullyQualifiedName": name, "kind": "function"}],
    }
    if test and test.location:
        place = test.location
        related["physicalLocation"] = _physical(place.file, place.line, place.end_line)
    return related


def _stack(test: str, stack: Stack) -> dict[str, object]:
    frames = []
    for frame in reversed(stack.frames):
        location: dict[str, object] = {"physicalLocation": _physical(frame.file, frame.line, frame.line)}
        if frame.function:
            location["logicalLocations"] = [{"fullyQualifiedName": frame.function, "kind": "function"}]
        frames.append({"location": location})
    return {"message": {"text": f"{test}: {stack.what}" if stack.what else test}, "frames": frames}


def _file_name(file: str) -> bytes:
    """The bytes of a name, which may not be UTF-8."""
    try:
        return file.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return file.encode("utf-8", "surrogatepass")


def _physical(file: str, line: int, end_line: int) -> dict[str, object]:
    return {
        "artifactLocation": {"uri": quote(_file_name(file)), "uriBaseId": _ROOT},
        "region": {"startLine": line, "endLine": end_line},
    }


def _cut(ranking: Listing) -> list[dict[str, object]]:
    """A note if the results end within a tie."""
    return [{"level": "note", "message": {"text": f"the last suspect {ranking.cut}"}}] if ranking.cut else []


def _uncollected(error: CollectionError) -> dict[str, object]:
    found: dict[str, object] = {"level": "error", "message": {"text": safe(str(error))}, "properties": error.as_dict()}
    if error.file:
        found["locations"] = [{"physicalLocation": _physical(error.file, error.line, error.line)}]
    return found


def _notification(problem: Problem) -> dict[str, object]:
    return {"level": "warning", "message": {"text": safe(str(problem))}, "properties": problem.as_dict()}
