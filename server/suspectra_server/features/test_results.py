"""The requests about tests: why a line is suspected and because of which tests, how tests ended, what they executed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import numpy as np
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra.evidence.compared_values import ComparedValues
from suspectra.evidence.evidence import Evidence, TestResult
from suspectra_server.features.commands.arguments import Json, is_count, parse_fields
from suspectra_server.features.failures import range_of_failure, tests_executing
from suspectra_server.features.locations import to_protocol
from suspectra_server.features.suspect_texts import json_number, one_line, sentences_beyond
from suspectra_server.messages import (
    ComparedMessage,
    Coverage,
    DocumentUri,
    ExplanationMessage,
    MeasuredFileMessage,
    Test,
    TestResults,
)
from suspectra_server.protocol import COVERAGE, EXPLANATION, TEST_RESULTS
from suspectra_server.safe_text import plain
from suspectra_server.session.folder import Folder
from suspectra_server.session.navigation.ranked_statement import RankedStatement
from suspectra_server.session.session import Session
from suspectra_server.state.documents import Units
from suspectra_server.state.marks import FailureMark
from suspectra_server.state.ranking import Ranking
from suspectra_server.state.snapshot import Snapshot

DEFAULT_TESTS = 100  # failing ones, and passing ones, that an explanation names


def register(session: Session) -> None:
    """Answer `suspectra/explanation`, `suspectra/testResults` and `suspectra/coverage`."""

    @session.feature(EXPLANATION)
    def explanation(params: Json) -> ExplanationMessage | None:
        given = parse_fields(params)
        uri, line, limit = given.get("uri"), given.get("line"), given.get("limit")
        limit = DEFAULT_TESTS if limit is None else limit
        if not isinstance(uri, str) or not is_count(line) or not is_count(limit):
            raise JsonRpcInvalidParams("the params are {uri, line, limit?}, the line counted from 0")
        found = session.folders.containing(uri)
        return _explanation(session, *found, line, limit) if found else None

    @session.feature(TEST_RESULTS)
    async def test_results(params: Json) -> list[TestResults]:
        rankings = [
            (folder, ranking, ranking.evidence)
            for folder in session.folders
            if (ranking := folder.snapshot.ranking).evidence is not None
        ]
        executed = await asyncio.gather(
            *(
                asyncio.to_thread(_by_file, evidence, [folder.uri_of(path) for path in evidence.elements.files])
                for folder, _, evidence in rankings
            )
        )
        return [
            {
                "folder": folder.uri,
                "tests": _tests(folder, session.units, ranking, evidence.tests),
                "files": files,
            }
            for (folder, ranking, evidence), files in zip(rankings, executed, strict=True)
        ]

    @session.feature(COVERAGE)
    async def coverage(params: Json) -> list[Coverage]:
        given = parse_fields(params)
        uri, test = given.get("uri"), given.get("test")
        if not isinstance(uri, str) or not isinstance(test, (str, type(None))):
            raise JsonRpcInvalidParams("the params are {uri, test?}")
        found = session.folders.containing(uri)
        if found is None:
            return []
        folder, path = found
        await folder.sources.read([path])
        return _coverage(folder, path, test)


def _explanation(session: Session, folder: Folder, path: str, line: int, limit: int) -> ExplanationMessage | None:
    snapshot = folder.current()
    suspect = snapshot.suspect_at(path, line)
    where = to_protocol(session, RankedStatement(folder, snapshot.ranking, suspect.element)) if suspect else None
    if suspect is None or where is None:
        return None
    ranking = snapshot.ranking
    explanation, spectrum = ranking.explain(suspect), ranking.ranked.spectrum
    passing = sorted(spectrum.tests[i] for i in spectrum.tests_executing(suspect.element) if not spectrum.failed[i])
    failing, passing = (
        [ranking.tests[name] for name in names[:limit] if name in ranking.tests]
        for names in (tests_executing(ranking, suspect), passing)
    )
    as_run = ranking.recorded_line(suspect.element)
    sentences = (*sentences_beyond(ranking, suspect), ranking.shared, ranking.failed_in(suspect))
    return {
        "location": where,
        "technique": ranking.technique.info.title,
        "score": json_number(suspect.score),
        "ef": suspect.ef,
        "ep": suspect.ep,
        "nf": suspect.nf,
        "np": suspect.np,
        "headline": plain(one_line(ranking, suspect)),
        "group": ranking.group.heading if ranking.group else "",
        "sentences": [plain(sentence) for sentence in sentences if sentence],
        "formula": plain(explanation.formula),
        "substituted": plain(explanation.substituted),
        "failing": _tests(folder, session.units, ranking, failing),
        "passing": _tests(folder, session.units, ranking, passing),
        "onlyRead": suspect.only_read,
        "examined": as_run in snapshot.examined | snapshot.innocent,
        "innocent": as_run in snapshot.innocent,
    }


def _tests(folder: Folder, units: Units, ranking: Ranking, tests: Iterable[TestResult]) -> list[Test]:
    """Each as a `Test` of the protocol; one that is defined outside the folder has no location."""
    placed = folder.snapshot.failure_of if folder.snapshot.ranking is ranking else {}
    return [
        {
            "name": plain(test.name),
            "verdict": test.verdict.value,
            "message": plain(test.message),
            "calls": ranking.calls_of(test.name),
            "seconds": test.seconds,
            "uri": folder.uri_of(location.file) if location else None,
            "line": location.line if location else None,
            "failed": _failed(folder, placed.get(test.name), units),
            "compared": _compared(ranking, test.name),
        }
        for test in tests
        for location in [test.location if test.location and test.location.file in ranking.inside else None]
    ]


def _failed(folder: Folder, mark: FailureMark | None, units: Units) -> lsp.Location | None:
    where = range_of_failure(folder, mark, units) if mark else None
    return lsp.Location(folder.uri_of(mark.file), where) if mark and where else None


def _compared(ranking: Ranking, test: str) -> ComparedMessage | None:
    stack = ranking.evidence.stacks.get(test) if ranking.evidence else None
    compared = ComparedValues.from_stack(stack) if stack else None
    return {"expected": plain(compared.expected), "actual": plain(compared.actual)} if compared else None


def _by_file(evidence: Evidence, uris: Sequence[DocumentUri]) -> list[MeasuredFileMessage]:
    """For each file that is not test code, how much was executed, and by which tests; in a worker thread."""
    elements = evidence.elements
    executed = np.zeros(len(elements), bool)
    executed[evidence.at_import] = True
    tests: list[list[int]] = [[] for _ in elements.files]
    for index, row in enumerate(evidence.rows):
        executed[row] = True
        for file in np.unique(elements.file[row]).tolist():
            tests[file].append(index)
    found: list[MeasuredFileMessage] = []
    for file, path in enumerate(elements.files):
        own = elements.in_file(path)
        if not evidence.files[file].is_test and own.stop > own.start:
            found.append(
                {
                    "uri": uris[file],
                    "statements": own.stop - own.start,
                    "executed": int(executed[own].sum()),
                    "tests": tests[file],
                }
            )
    return found


def _coverage(folder: Folder, path: str, test: str | None) -> list[Coverage]:
    """How many tests executed each statement of a file that can be placed in its text now."""
    snapshot: Snapshot = folder.current()
    evidence = snapshot.ranking.evidence
    placement = folder.placement(path)
    if evidence is None or placement is None:
        return []
    elements = evidence.elements
    own = elements.in_file(path)
    counts = np.zeros(own.stop - own.start, np.int64)
    for result, row in zip(evidence.tests, evidence.rows, strict=True):
        if test is None or result.name == test:
            low, high = np.searchsorted(row, [own.start, own.stop])
            counts[row[low:high] - own.start] += 1
    if test is None:
        at_import = evidence.at_import[(evidence.at_import >= own.start) & (evidence.at_import < own.stop)]
        counts[at_import - own.start] = np.maximum(counts[at_import - own.start], 1)
    found: list[Coverage] = []
    for count, element in zip(counts.tolist(), range(own.start, own.stop), strict=True):
        if lines := placement.current_lines(elements.location(element)):
            found.append({"line": lines[0] + 1, "endLine": lines[1] + 1, "tests": count})
    return found
