"""Coverage by lines, one table for each test: the common part of gcov's JSON, gcovr, lcov and Cobertura."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from suspectra.base.arrays import Ints, Row
from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence import places
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.c.builder import NOTHING
from suspectra.evidence.c.failures import CFailures
from suspectra.evidence.c.profiles import Mark, mark_of
from suspectra.evidence.evidence import EdgeEvidence, Evidence, TestResult
from suspectra.evidence.formats.outcomes import Outcomes, read_outcomes
from suspectra.evidence.merged_problems import merged
from suspectra.evidence.opening import read_evidence
from suspectra.evidence.source_paths import TEST_PATTERNS, SourcePaths
from suspectra.evidence.sources import Sources, SourceUnreadable, reason
from suspectra.evidence.test_code import with_c_tests_marked
from suspectra.runs.measured_file import MeasuredFile
from suspectra.spectrum import EdgeKind, Edges


@dataclass
class FileLines:
    """One test's counts in one source file."""

    lines: dict[int, int] = field(default_factory=dict)  # how often each executable line ran
    # how often each outcome of the branches on a line was taken; numbered from 0 within the line
    branches: dict[tuple[int, int], int] = field(default_factory=dict)
    # lines of each function; `end_line` is 0 if the format does not say
    functions: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, line: int, count: int) -> None:
        """Add to the count of a line, which may have several (instances of a template)."""
        self.lines[line] = self.lines.get(line, 0) + count


LineTable = Mapping[str, FileLines]
"""The counts of one test, by path relative to the workspace."""


@dataclass(frozen=True, eq=False)
class TableRow:
    """A test and its line table."""

    result: TestResult  # how it ended
    table: LineTable  # the same object as long as its file does not change


class LineAssembler:
    """Builds evidence from line tables; rows of unchanged tests are the same objects while the lines are the same.

    Branch outcomes become edges with the line as `source` and ``-1 - number`` as `target`, since these formats do not
    name basic blocks; there are no flow graphs then.
    """

    def __init__(self, paths: SourcePaths):
        self.paths = paths  # maps the paths of the evidence to this machine
        self._shape: tuple[object, ...] | None = None
        self._rows: dict[int, tuple[LineTable, Row, Row, Ints]] = {}

    def evidence(
        self,
        source: str,
        rows: Sequence[TableRow],  # one for each test, in the order of the evidence
        problems: Iterable[Problem],
        digests: Mapping[str, str] | None = None,  # SHA-256 of the sources, by path in the workspace, if known
    ) -> Evidence:
        """Build evidence from the current tables.

        With edges if the format has branches.
        """
        self._lay_out([row.table for row in rows], digests or {})
        known = {id(row.table): self._rows.get(id(row.table)) or self._row(row.table) for row in rows}
        self._rows = known
        columns = [known[id(row.table)] for row in rows]
        edges = None
        if len(self._edges):
            edges = EdgeEvidence(self._edges, tuple(c[2] for c in columns), tuple(c[3] for c in columns))
        found = (*problems, *self.paths.problems(source))
        tests = tuple(row.result for row in rows)
        return Evidence(source, tests, self._files, tuple(c[1] for c in columns), NOTHING, edges, tuple(merged(found)))

    def _lay_out(self, tables: Sequence[LineTable], digests: Mapping[str, str]) -> None:
        lines: dict[str, set[int]] = {}
        branches: dict[str, set[tuple[int, int]]] = {}
        functions: dict[str, dict[str, tuple[int, int]]] = {}
        for table in {id(table): table for table in tables}.values():
            for path, file in table.items():
                lines.setdefault(path, set()).update(file.lines)
                branches.setdefault(path, set()).update(file.branches)
                functions.setdefault(path, {}).update(file.functions)
        shape = (lines, branches, functions, dict(digests))
        if shape == self._shape:
            return
        self._shape, self._rows = shape, {}
        names = sorted(path for path in lines if lines[path])
        self._files = with_c_tests_marked(
            [
                measured_file(path, sorted(lines[path]), functions[path], self.paths.is_test(path), digests.get(path))
                for path in names
            ],
            self.paths.beginning,
        )
        self._column: dict[tuple[str, int], int] = {}
        self._edge: dict[tuple[str, int, int], int] = {}
        edges: list[tuple[int, int, int, int]] = []
        first = 0
        for index, measured in enumerate(self._files):
            start = len(self._column)
            for line in measured.line.tolist():
                self._column[measured.path, line] = len(self._column)
            for line, number in sorted(branches[measured.path]):
                at = self._column.get((measured.path, line))
                inside = int(measured.function[at - start]) if at is not None else -1
                self._edge[measured.path, line, number] = len(edges)
                edges.append((index, line, -1 - number, inside + first if inside >= 0 else -1))
            first += len(measured.functions)
        file_column, source, target, function = np.array(edges, np.int32).reshape(-1, 4).T.copy()
        self._edges = Edges(file_column, source, target, function, EdgeKind.OUTCOME)

    def _row(self, table: LineTable) -> tuple[LineTable, Row, Row, Ints]:
        hit = [self._column[path, line] for path, file in table.items() for line, n in file.lines.items() if n > 0]
        taken = {
            self._edge[path, line, number]: count
            for path, file in table.items()
            for (line, number), count in file.branches.items()
            if count > 0 and (path, line, number) in self._edge
        }
        edge_row = np.array(sorted(taken), np.int32)
        counts = np.array([taken[edge] for edge in edge_row.tolist()], np.int64)
        return table, np.array(sorted(hit), np.int32), edge_row, counts


@dataclass(frozen=True)
class _Parsed:
    marks: tuple[Mark | None, ...]
    tables: Mapping[str, LineTable]
    problems: tuple[Problem, ...]


class LineSource:
    """Coverage files in a folder: a file or a folder of files for each test; or a single file with all tests.

    Raises EvidenceError by read, when nothing can be read.
    """

    suffixes: tuple[str, ...] = ()
    """Suffixes of files of the format."""

    advice: str = ""
    """How to get evidence per test in this format."""

    def __init__(
        self,
        workspace: str | os.PathLike[str],
        location: str | os.PathLike[str],
        *,
        outcomes: str | os.PathLike[str] | Outcomes | None = None,
        mapping: Iterable[tuple[str, str]] = (),
        test_patterns: Sequence[str] = TEST_PATTERNS,
    ):
        self.workspace = os.path.abspath(workspace)  # the folder of the sources
        self.location = Path(os.path.abspath(Path(self.workspace, location)))
        folder = self.location if self.location.is_dir() else self.location.parent
        self._outcomes = outcomes if outcomes is not None else folder / "outcomes.json"
        self._boundary = Boundary(self.workspace)
        self._paths = SourcePaths(self.workspace, mapping, test_patterns)
        self._assembler = LineAssembler(self._paths)
        self._sources = Sources(Path(self.workspace))
        self._failures = CFailures(self._paths)
        self._parsed: dict[str, _Parsed] = {}

    def parse(self, path: Path) -> Mapping[str, LineTable]:
        """Read one file.

        A table for each test, by name; under '' if the file names no test.

        Raises EvidenceError when it can't be read, or is not of the format.
        """
        raise NotImplementedError

    def content(self, path: Path, cure: str) -> bytes:
        """Read the bytes of one file.

        Raises EvidenceError when it can't be read, or must not be.
        """
        try:
            return read_evidence(path, self._boundary)
        except (OSError, ValueError) as error:
            raise EvidenceError(Problem(str(path), "", f"it can't be read: {reason(error)}", cure)) from None

    def written(self, name: str) -> str:
        """Return the form of a test's name in the format."""
        return name

    def watched(self) -> Sequence[str]:
        """Return the coverage files, and the file of outcomes."""
        outcomes = [] if isinstance(self._outcomes, Mapping) else [os.path.join(self.workspace, self._outcomes)]
        return [str(self.location), places.below(self.location), *outcomes]

    def read(self) -> Evidence:
        """Read the current state of the files.

        Tables of files that did not change are the same objects.

        Raises EvidenceError when no file, or not the outcomes, can be read.
        """
        outcomes = self._outcomes
        if not isinstance(outcomes, Mapping):
            outcomes = read_outcomes(os.path.join(self.workspace, outcomes), self._boundary)
        problems: list[Problem] = []
        tables: dict[str, LineTable] = {}
        for name, files in self._entries():
            parsed = self._read_entry(name, files)
            problems += parsed.problems
            tables.update({test or name: table for test, table in parsed.tables.items()})
        if not tables:
            raise EvidenceError(problems[0] if problems else self._nothing())
        rows = self._rows(tables, outcomes, problems)
        digests = self._digests({path for table in tables.values() for path in table})
        evidence = self._assembler.evidence(str(self.location), rows, problems, digests)
        return self._failures.added(evidence, self._outcomes)

    def _digests(self, paths: Iterable[str]) -> dict[str, str]:
        """The digests of the texts in which lines are looked for; the formats do not know which texts ran."""
        found = {}
        for path in paths:
            with suppress(SourceUnreadable):
                found[path] = self._sources.get(path).digest
        return found

    def _rows(self, tables: Mapping[str, LineTable], outcomes: Outcomes, problems: list[Problem]) -> list[TableRow]:
        rows = []
        full = {self.written(name): name for name in outcomes}
        for name, table in tables.items():
            known = name if name in outcomes else full.get(name)
            if known is not None:
                rows.append(TableRow(outcomes[known], table))
            else:
                cause = "it is not known how this test ended, so its coverage is not used"
                problems.append(Problem(str(self.location), f"test {name}", cause, "add the test to the outcomes"))
        empty: LineTable = {}
        for name, result in outcomes.items():
            if name not in tables and self.written(name) not in tables and result.verdict.counted:
                cause = "there is no coverage of this test, so it counts as executing nothing"
                problems.append(Problem(str(self.location), f"test {name}", cause, self.advice))
                rows.append(TableRow(result, empty))
        return rows

    def _entries(self) -> list[tuple[str, list[Path]]]:
        """The names of tests with their files."""
        if not self._boundary.may_look(self.location):
            cause = "it is a link that leads out of the workspace"
            raise EvidenceError(Problem(str(self.location), "", cause, self.advice))
        if not self.location.exists():
            raise EvidenceError(Problem(str(self.location), "", "there is no such file or folder", self.advice))
        if not self.location.is_dir():
            return [(self._test_name(self.location), [self.location])]
        entries = []
        for path in sorted(self.location.iterdir()):
            if self._boundary.may_look(path) and path.is_dir():
                files = sorted(file for file in path.rglob("*") if file.name.endswith(self.suffixes))
                if files:
                    entries.append((unquote(path.name), files))
            elif path.name.endswith(self.suffixes) and path.name != "outcomes.json":
                entries.append((self._test_name(path), [path]))
        return entries

    def _test_name(self, path: Path) -> str:
        suffix = next((suffix for suffix in self.suffixes if path.name.endswith(suffix)), path.suffix)
        return unquote(path.name[: len(path.name) - len(suffix)])

    def _read_entry(self, name: str, files: Sequence[Path]) -> _Parsed:
        key = str(files[0].parent) + "\0" + name
        marks = tuple(self._mark(file) for file in files)
        known = self._parsed.get(key)
        if known is not None and known.marks == marks:
            return known
        tables: dict[str, dict[str, FileLines]] = {}
        problems = []
        for file in files:
            try:
                for test, table in self.parse(file).items():
                    _merge(tables.setdefault(test, {}), table)
            except EvidenceError as error:
                problems.append(error.problem)
        self._parsed[key] = parsed = _Parsed(marks, tables, tuple(problems))
        return parsed

    def _mark(self, file: Path) -> Mark | None:
        try:
            return mark_of(file) if self._boundary.may_look(file) else None
        except OSError:
            return None  # reading it says why

    def _nothing(self) -> Problem:
        ends = " or ".join(self.suffixes)
        return Problem(str(self.location), "", f"it contains no file whose name ends with {ends}", self.advice)


def _merge(into: dict[str, FileLines], table: LineTable) -> None:
    """Add the counts of another file of the same test (such as a header that several objects include)."""
    for path, file in table.items():
        known = into.setdefault(path, FileLines())
        for line, count in file.lines.items():
            known.add(line, count)
        for branch, count in file.branches.items():
            known.branches[branch] = known.branches.get(branch, 0) + count
        known.functions.update(file.functions)


def measured_file(
    path: str,
    lines: Sequence[int],
    functions: Mapping[str, tuple[int, int]],  # first and last line by name; 0 for an unknown last line
    is_test: bool,
    digest: str | None = None,  # SHA-256 of the file as it was run, if known
) -> MeasuredFile:
    """Make a file of single-line statements. A function without a last line extends to the next one."""
    line = np.array(lines, np.int32)
    spans = sorted((max(first, 1), last, name) for name, (first, last) in functions.items())
    starts = [first for first, _, _ in spans] + [int(line[-1]) + 1]
    spans = [
        (first, last or max(first, next((s for s in starts[i:] if s > first), first + 1) - 1), name)
        for i, (first, last, name) in enumerate(spans)
    ]
    function = np.full(len(line), -1, np.int32)
    for index in sorted(range(len(spans)), key=lambda i: spans[i][0] - spans[i][1]):
        function[(line >= spans[index][0]) & (line <= spans[index][1])] = index
    named = tuple((name, first, max(first, last)) for first, last, name in spans)
    return MeasuredFile(path, digest, line, line, function, named, is_test)
