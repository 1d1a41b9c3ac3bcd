"""Evidence by lines for recorded C and C++ tests, if gcovr read the profiles of any of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from suspectra.base.english import many
from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.c.store import CRecording, StoredTest, unpacked
from suspectra.evidence.evidence import Evidence, TestResult
from suspectra.evidence.formats.gcovr import gcovr_table
from suspectra.evidence.formats.line_tables import FileLines, LineAssembler, LineTable, TableRow
from suspectra.evidence.source_paths import SourcePaths

_MAX_TABLE = 1 << 28  # bytes of one test's lines
_AGAIN = "record all tests again"


class CLineTables:
    """The lines that each recorded test executed.

    Tests with counters are converted to lines too, without branches. A file that changed since a test was recorded
    counts as not executed by the test, since its lines may have moved.
    """

    def __init__(self, paths: SourcePaths):
        self._paths = paths
        self._assembler = LineAssembler(paths)
        self._tables: dict[tuple[str, tuple[int, int]], tuple[LineTable, Problem | None]] = {}
        self._current: dict[tuple[str, tuple[int, int], frozenset[str]], LineTable] = {}

    def evidence(
        self,
        recording: CRecording,
        results: Mapping[str, TestResult],
        counted: Evidence | None,  # the tests with counters, if there are any
        digests: Mapping[str, str],
        problems: Sequence[Problem],
    ) -> Evidence:
        """Build evidence of all tests of a recording."""
        found = list(problems)
        by_counters = _by_counters(counted) if counted is not None else {}
        newest = dict(digests)
        for test in recording.tests.values():
            newest.update(test.sources)
        stale: dict[str, list[str]] = {}
        rows = []
        tables: dict[tuple[str, tuple[int, int]], tuple[LineTable, Problem | None]] = {}
        current: dict[tuple[str, tuple[int, int], frozenset[str]], LineTable] = {}
        for test in recording.tests.values():
            key = (test.name, test.key)
            if test.table:
                tables[key] = table, damage = self._tables.get(key) or self._table(recording, test)
                found += [damage] if damage else []
            else:
                table = by_counters.get(test.name, {})
            of = test.sources if test.table else digests
            old = frozenset(path for path in table if path in newest and of.get(path) != newest[path])
            for path in old:
                stale.setdefault(path, []).append(test.name)
            whole = (*key, old)
            fresh = self._current.get(whole) if test.table else None
            if fresh is None:
                fresh = {path: file for path, file in table.items() if path not in old}
            current[whole] = fresh
            rows.append(TableRow(results[test.name], fresh))
        self._tables, self._current = tables, current
        found += [_changed(path, names) for path, names in sorted(stale.items())]
        if by_counters:
            found.append(_mixed(recording, len(by_counters)))
        return self._assembler.evidence(recording.name, rows, found, newest)

    def _table(self, recording: CRecording, test: StoredTest) -> tuple[LineTable, Problem | None]:
        try:
            files = json.loads(unpacked(test.table, _MAX_TABLE))
            if not isinstance(files, list):
                raise ValueError("it is not a list of files")
            return gcovr_table(files, self._paths, Path(recording.log)), None
        except EvidenceError as error:
            cause = error.problem.cause
        except (ValueError, RecursionError) as error:
            cause = str(error)
        cause = f"its lines can't be used ({cause}), so it counts as executing nothing"
        return {}, Problem(recording.name, f"test {test.name}", cause, "record this test again")


def _by_counters(counted: Evidence) -> dict[str, LineTable]:
    """Convert rows to lines that count as executed once or not at all."""
    lines = [(file.path, line) for file in counted.files for line in file.line.tolist()]
    functions = {file.path: {name: (first, last) for name, first, last in file.functions} for file in counted.files}
    found: dict[str, LineTable] = {}
    for result, row in zip(counted.tests, counted.rows, strict=True):
        table = {file.path: FileLines(functions=functions[file.path]) for file in counted.files}
        hit = set(row.tolist())
        for at, (path, line) in enumerate(lines):
            table[path].lines[line] = int(at in hit)
        found[result.name] = table
    return found


def _changed(path: str, names: Sequence[str]) -> Problem:
    some = ", ".join(names[:3])
    cause = f"it changed since tests were recorded, and counts as not executed by {many(len(names), 'test')} ({some})"
    return Problem(path, "", cause, _AGAIN)


def _mixed(recording: CRecording, count: int) -> Problem:
    cause = f"{count} tests were recorded without gcovr, and their branches are left out beside those that gcovr read"
    return Problem(recording.name, "", cause, _AGAIN)
