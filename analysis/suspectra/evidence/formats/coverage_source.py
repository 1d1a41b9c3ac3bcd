"""Evidence from coverage.py's data (what each test executed) and JUnit XML (how it ended)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.english import listed
from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.location import Location
from suspectra.evidence import places
from suspectra.evidence.boundary import Boundary, inside, shown
from suspectra.evidence.evidence import EdgeEvidence, Evidence, TestResult
from suspectra.evidence.failure_text import Failure
from suspectra.evidence.formats.coverage_data import (
    HOW_TO_SWITCH_CONTEXTS_ON,
    CoverageData,
    MeasuredData,
    NewerSchema,
    parallel_files,
)
from suspectra.evidence.formats.coverage_hits import FileHits, Hits
from suspectra.evidence.formats.coverage_json import HOW_TO_WRITE, CoverageJson
from suspectra.evidence.formats.coverage_library import LibraryData
from suspectra.evidence.formats.junit import Case
from suspectra.evidence.formats.junit_matching import Matching, address, is_node_id, node_id_of
from suspectra.evidence.formats.junit_reports import Reports
from suspectra.evidence.formats.measured_paths import MeasuredPaths
from suspectra.evidence.sources import Signature, SourceReader, Sources, SourceUnreadable, signature
from suspectra.evidence.test_code import TestCode
from suspectra.program.python.source import PythonSource
from suspectra.runs.measured_file import MeasuredFile
from suspectra_recorder.log.stack import Stack, StackFrame

T = TypeVar("T")
_PHASES = ("setup", "run", "teardown")
_MAX_HITS = 100_000_000  # sorting them takes 0.8 GB

_NOTHING: Signature = (0, 0, 0, 0)
_IMPORT = 0  # the row of code outside tests; the rows of tests follow


class CoverageSource:
    """Reads coverage.py's data and the JUnit XML of one run of pytest or unittest as evidence.

    Reading again reuses the objects of unchanged parts, and returns the same evidence if no file changed.
    """

    def __init__(self, workspace: Path, coverage: Path, *junit: Path):
        self.workspace = Path(workspace)  # the folder. Files outside it are not suspects, and are never opened
        self.coverage = self.workspace / coverage  # with the data files of single processes beside it
        # paths and patterns of reports, relative ones from the workspace; without any, all in the workspace
        self.junit = [self.workspace / path for path in junit or (Path(places.REPORTS),)]
        self.name = shown(self.workspace, self.coverage)
        self._boundary = Boundary(self.workspace)
        self._reports = Reports(self._boundary)
        self._sources = Sources(self.workspace)
        self._parsed: dict[str, tuple[Signature | None, _Parsed]] = {}
        self._last: tuple[dict[str, Signature | None], Evidence] | None = None

    def watched(self) -> Sequence[str]:
        """Return the files and the patterns of files."""
        return [
            os.path.realpath(self.coverage),
            os.path.abspath(places.parts_of(self.coverage)),
            *map(_watchable, self.junit),
        ]

    def names_tests(self) -> bool:
        """Whether the data says which test executed a line; this needs contexts."""
        try:
            with ExitStack() as stack:
                return bool(_Contexts([data.contexts for data in self._open(stack, [])]).tests)
        except EvidenceError:
            return True

    def reports(self) -> list[Path]:
        """Find the JUnit files that are there, and those that were named; the latest is the last."""
        states: dict[str, Signature | None] = {}
        for path in map(str, self.junit):
            states |= dict(places.found(path, self._boundary)) if places.is_pattern(path) else {path: signature(path)}
        return [Path(path) for path in sorted(states, key=lambda path: (states[path] or _NOTHING, path))]

    def data_files(self) -> list[Path]:
        """Find the data file and those of single processes that belong to it."""
        parts = parallel_files(self.coverage, self._boundary)
        return [self.coverage, *parts] if os.path.lexists(self.coverage) or not parts else parts

    def _open(self, stack: ExitStack, problems: list[Problem]) -> list[MeasuredData]:
        """Open the data files.

        Raises EvidenceError when none can be read.
        """
        opened, refused = [], []
        for path in self.data_files():
            try:
                opened.append(_opened(stack, path, shown(self.workspace, path), self._boundary))
            except EvidenceError as error:
                refused.append(error)
        if not opened:
            raise refused[0]
        problems += [error.problem for error in refused]
        return opened

    def read(self) -> Evidence:
        """Read the files, and the statements of the measured sources.

        Raises EvidenceError when no data or no report can be read, or none can be of the same run.
        """
        states = self._states()
        if self._last and states | self._states_of_sources(self._last[1]) == self._last[0]:
            return self._last[1]
        evidence = self._share(self._read())
        self._last = states | self._states_of_sources(evidence), evidence
        return evidence

    def _states(self) -> dict[str, Signature | None]:
        return {str(path): signature(path) for path in [*self.data_files(), *self.reports()]}

    def _states_of_sources(self, evidence: Evidence) -> dict[str, Signature | None]:
        return {file.path: self._sources.signature(file.path) for file in evidence.files}

    def _read(self) -> Evidence:
        problems: list[Problem] = []
        with ExitStack() as stack:
            opened = self._open(stack, problems)
            contexts = _Contexts([data.contexts for data in opened])
            if not contexts.tests:
                cause = "it contains no contexts, so it does not say which test executed a line"
                is_json = any(isinstance(data, CoverageJson) for data in opened)
                cure = HOW_TO_WRITE if is_json else HOW_TO_SWITCH_CONTEXTS_ON
                raise EvidenceError(Problem(self.name, "", cause, cure))
            results = self._reports.read(self.reports(), contexts.tests)
            matching = results.matching
            tests, row_of, failures = self._tests(results.cases, matching)
            problems += [*results.problems, *_mismatches(matching, results.cases, results.name, self.name)]
            paths = MeasuredPaths(self.workspace, [path for data in opened for _, path in data.files])
            hits = self._hits(opened, paths, contexts.rows(row_of), len(tests) + 1, problems)
            has_arcs = all(data.has_arcs for data in opened)
        if not matching.found and not matching.ambiguous:
            raise EvidenceError(_other_run(results.cases[0], contexts.tests[0], results.name, self.name))
        test_files = {test.name.partition("::")[0] for test in tests if is_node_id(test.name)}
        test_files |= {test.location.file for test in tests if test.location}
        code = TestCode(test_files)
        files = tuple(replace(file, is_test=file.path in code) for file in hits.files)
        tests = [self._located(test, files) for test in tests]
        rows = hits.rows()
        return Evidence(
            self.name,
            tuple(tests),
            files,
            rows[1:],
            rows[_IMPORT],
            hits.edges() if has_arcs else None,
            tuple(problems),
            stacks=_stacks(failures, paths, files),
            source_of=SourceReader(self.workspace),
        )

    def _tests(
        self, cases: Sequence[Case], matching: Matching
    ) -> tuple[list[TestResult], dict[str, int], dict[str, Failure]]:
        """The tests in the order of the run, the row of each test in the coverage data, and the failures."""
        name_of = {case.key: name for name, found in matching.found.items() for case in found}
        merged: dict[str, Case] = {}
        left_out = {case.key for case, _ in matching.ambiguous} | {
            case.key for case in matching.alone if _unknown(case)
        }
        for case in cases:
            if case.key in left_out:
                continue
            name = name_of.get(case.key) or node_id_of(case, self.workspace)
            merged[name] = merged[name].merged(replace(case, flaky=False)) if name in merged else case
        tests = [
            TestResult(
                name, case.verdict, self._location(name, case), case.phases, case.message, case.seconds, case.flaky
            )
            for name, case in merged.items()
        ]
        matched = set(matching.found)
        row_of = {test.name: row for row, test in enumerate(tests, 1) if test.name in matched}
        failures = {name: case.failure for name, case in merged.items() if case.verdict.failing and case.failure}
        return tests, row_of, failures

    def _location(self, name: str, case: Case) -> Location | None:
        if not case.line or not case.file:
            return None
        path = inside(self.workspace, case.file)
        return Location(path, case.line, case.line) if path else None

    def _located(self, test: TestResult, files: Iterable[MeasuredFile]) -> TestResult:
        """Find where a failing test is defined, so that an editor can go there."""
        if test.location or not test.verdict.failing or not is_node_id(test.name):
            return test
        file, *names = test.name.partition("[")[0].split("::")
        path = inside(self.workspace, file)
        if path is None:
            return test
        parsed = self._parse(path)
        if parsed.source is None:
            return test
        wanted = ".".join(names)
        for name, line, end_line in parsed.source.functions:
            if name == wanted:
                return replace(test, location=Location(path, line, end_line))
        return test

    def _hits(
        self,
        opened: Sequence[MeasuredData],
        paths: MeasuredPaths,
        rows_of_contexts: Sequence[_RowOf],
        rows: int,
        problems: list[Problem],
    ) -> Hits:
        """Read the measured files one by one, so that memory is bounded by the largest file and the result."""
        hits = Hits(rows)
        by_path: dict[str, list[tuple[int, int]]] = {}
        resolved = {raw: paths.resolve(raw) for raw in dict.fromkeys(raw for data in opened for _, raw in data.files)}
        for number, data in enumerate(opened):
            for identifier, raw in data.files:
                if path := resolved[raw]:
                    by_path.setdefault(path, []).append((number, identifier))
        measured_at = max((signature(path) or _NOTHING)[0] for path in self.data_files())
        notes = _Notes(self.name)
        for path, identifiers in sorted(by_path.items()):
            plugin = any(identifier in opened[number].plugins for number, identifier in identifiers)
            parsed = self._unparsed(path) if plugin else self._parse(path)
            if parsed.problem:
                problems.append(parsed.problem)
            parts = [FileHits.from_data(opened[number], one, rows_of_contexts[number]) for number, one in identifiers]
            hits.add(path, parsed.source, FileHits.joined(parts), parsed.digest)
            found = self._sources.signature(path)
            if found and found[0] > measured_at:
                notes.changed.append(path)
            if hits.count > _MAX_HITS:
                cause = f"it contains more than {_MAX_HITS:,} executed lines"
                raise EvidenceError(Problem(self.name, "", cause, "measure fewer files (coverage's `source` option)"))
        notes.too_long = hits.too_long
        problems += paths.problems(self.name) + notes.problems()
        return hits

    def _unparsed(self, path: str) -> _Parsed:
        """A file that is no Python, such as a template."""
        try:
            return _Parsed(None, path, None, self._sources.get(path).digest)
        except SourceUnreadable:
            return _Parsed(None, path)

    def _parse(self, path: str) -> _Parsed:
        state = self._sources.signature(path)
        known = self._parsed.get(path)
        if known and known[0] == state:
            return known[1]
        parsed = self._parse_now(path)
        self._parsed[path] = state, parsed
        return parsed

    def _parse_now(self, path: str) -> _Parsed:
        try:
            text = self._sources.get(path)
        except SourceUnreadable as error:
            return _Parsed(None, path, error.problem)
        try:
            return _Parsed(PythonSource.parse(text.data), path, None, text.digest)
        except SyntaxError as error:
            place = f"line {error.lineno}" if error.lineno else ""
            cause = f"this interpreter can't compile it ({error.msg}): only the lines that ran are known"
            cure = "run Suspectra with the Python that runs the tests, and run the tests again if the file has changed"
            return _Parsed(None, path, Problem(path, place, cause, cure), text.digest)

    def _share(self, evidence: Evidence) -> Evidence:
        """Replace objects by equal ones of the last evidence."""
        if self._last is None:
            return evidence
        previous = self._last[1]
        old_files = {file.path: file for file in previous.files}
        files = tuple(_same_or(old_files.get(file.path), file, _same_file) for file in evidence.files)
        same_files = len(files) == len(previous.files) and all(
            a is b for a, b in zip(files, previous.files, strict=True)
        )
        if same_files:
            files = previous.files
        stacks = {name: _same_stack(previous.stacks.get(name), stack) for name, stack in evidence.stacks.items()}
        shared = replace(evidence, files=files, stacks=stacks)
        if not same_files:
            return shared
        old_rows = {test.name: row for test, row in zip(previous.tests, previous.rows, strict=True)}
        names = [test.name for test in evidence.tests]
        rows = tuple(
            _same_or(old_rows.get(n), row, np.array_equal) for n, row in zip(names, evidence.rows, strict=True)
        )
        at_import = _same_or(previous.at_import, evidence.at_import, np.array_equal)
        return replace(shared, rows=rows, at_import=at_import, edges=_shared_edges(previous, evidence, names))


def _watchable(path: Path) -> str:
    return os.path.abspath(path) if places.is_pattern(str(path)) else os.path.realpath(path)


def _opened(stack: ExitStack, path: Path, name: str, boundary: Boundary) -> MeasuredData:
    if path.suffix == ".json":
        return CoverageJson(path, name, boundary)
    try:
        return stack.enter_context(CoverageData(path, name, boundary))
    except NewerSchema as newer:
        return LibraryData(path, newer, boundary)


def _stacks(failures: Mapping[str, Failure], paths: MeasuredPaths, files: Iterable[MeasuredFile]) -> dict[str, Stack]:
    """The stacks of failed tests in measured files, with function names, which pytest does not always write."""
    measured = {file.path: file for file in files}

    @cache
    def resolve(path: str) -> tuple[str, bool] | None:
        name = paths.named(path)
        return (name, not measured[name].is_test) if name in measured else None

    def named(frame: StackFrame) -> StackFrame:
        return frame._replace(function=measured[frame.file].function_at(frame.line) or frame.function)

    stacks = {name: failure.stack(resolve) for name, failure in failures.items()}
    return {name: replace(stack, frames=tuple(map(named, stack.frames))) for name, stack in stacks.items()}


def _same_stack(previous: Stack | None, current: Stack) -> Stack:
    return previous if previous == current else current


@dataclass(frozen=True, eq=False)
class _Parsed:
    """A source's statements, or the reason why they are not known."""

    source: PythonSource | None
    path: str
    problem: Problem | None = None
    digest: str | None = None  # of the text in which the lines of the data are placed


class _Contexts:
    """coverage.py's contexts as tests.

    pytest-cov writes ``node id|phase``; coverage.py's own ``dynamic_context`` a dotted name. A static context
    (``--context``) is a prefix of either, followed by a bar; alone it stands for code outside tests.
    """

    def __init__(self, contexts: Sequence[Mapping[int, str]]):  # of each data file, by its own numbers
        self._files = len(contexts)
        self._test = {(file, key): _test_of(name) for file, some in enumerate(contexts) for key, name in some.items()}
        named = [name for name in self._test.values() if name]
        static = {before for name in named for before, bar, _ in [name.partition("|")] if bar and "::" not in before}
        for key, name in self._test.items():
            before, bar, after = name.partition("|")
            if name in static:
                self._test[key] = ""
            elif bar and before in static and "[" not in before:
                self._test[key] = after
        self.tests = list(dict.fromkeys(name for name in self._test.values() if name))

    def rows(self, row_of: Mapping[str, int]) -> list[_RowOf]:
        """Map the contexts of each data file to rows; -1 for tests without a row."""
        rows: list[list[tuple[int, int]]] = [[] for _ in range(self._files)]
        for (file, key), test in sorted(self._test.items()):
            rows[file].append((key, row_of.get(test, -1) if test else _IMPORT))
        return [_RowOf(*np.array(some, np.int64).reshape(-1, 2).T) for some in rows]


def _test_of(context: str) -> str:
    test, bar, phase = context.rpartition("|")
    return test if bar and phase in _PHASES else context


@dataclass(frozen=True)
class _RowOf:
    """Rows by context identifier."""

    keys: Ints
    rows: Ints

    def __call__(self, contexts: Ints) -> Ints:
        if not len(self.keys):
            return np.full(len(contexts), -1)
        index = np.minimum(np.searchsorted(self.keys, contexts), len(self.keys) - 1)
        return np.where(self.keys[index] == contexts, self.rows[index], -1)


class _Notes:
    """Collects notes about files, to report them together."""

    def __init__(self, name: str):
        self.name = name
        self.changed: list[str] = []
        self.too_long: list[str] = []

    def problems(self) -> list[Problem]:
        found = []
        if self.too_long:
            cause = f"lines ran that {listed(self.too_long, 'file')} no longer has"
            found.append(Problem(self.name, "", cause, "run the tests again: the sources were changed"))
        changed = [path for path in self.changed if path not in self.too_long]
        if changed:
            cause = f"{listed(changed, 'file')} changed after the tests ran, so line numbers may be off"
            found.append(Problem(self.name, "", cause, "run the tests again"))
        return found


def _mismatches(matching: Matching, cases: Sequence[Case], junit: str, coverage: str) -> list[Problem]:
    """Report every test case and every context without a counterpart, with the reason."""
    found = []

    def report(file: str, items: Sequence[object], noun: str, reason: str, cure: str) -> None:
        if items:
            found.append(Problem(file, "", f"{listed(items, noun)} {reason}", cure))

    crashed = [case for case in matching.alone if case.crashed]
    collected = [case for case in matching.alone if "collect" in case.phases]
    executed = [case for case in matching.alone if case.verdict.counted and not _unknown(case)]
    failing = [case for case in executed if case.verdict.failing]
    passing = [case for case in executed if not case.verdict.failing]
    report(
        junit,
        crashed,
        "test",
        "crashed their process: what they executed is lost, so they are left out",
        "record them with `suspectra record`, which keeps what ran before the end",
    )
    report(junit, collected, "module", "could not be imported, so their tests did not run", "fix the import")
    report(
        junit,
        failing,
        "failed test",
        "have no context in the coverage data: they executed no measured line, or only in another process",
        "measure the code they test (--cov), or use `suspectra record`",
    )
    report(
        junit,
        passing,
        "passed test",
        "have no context in the coverage data: they count as executing no measured line",
        "measure the code they test (--cov) if it matters",
    )
    for case, tests in matching.ambiguous:
        cause = f"the test case {case} may be any of {' and '.join(tests)}; it is left out"
        found.append(
            Problem(junit, "", cause, "give them different names, or write the report with junit_family=xunit1")
        )
    report(
        coverage,
        matching.missing,
        "test",
        f"have no test case in {junit}, so how they ended is not known: they are left out",
        "take both files from one run",
    )
    merged = [name for name, several in matching.found.items() if len(several) > 1]
    report(
        coverage,
        merged,
        "context",
        "stand for several test cases each, which are taken as one test that failed if any of them failed",
        "use pytest-cov's `--cov-context=test`, which tells parametrised cases apart",
    )
    return found


def _unknown(case: Case) -> bool:
    """Whether it is unknown what a case executed, which differs from executing nothing."""
    return case.crashed or "collect" in case.phases


def _other_run(case: Case, test: str, junit: str, coverage: str) -> Problem:
    known = ".".join(address(test)) if is_node_id(test) else test
    cause = f"none of its test cases is in {coverage}: it has {case}, the coverage data {known}"
    return Problem(junit, "", cause, "take both files from one run of the tests")


def _same_or(old: T | None, new: T, same: Callable[[T, T], bool]) -> T:
    return old if old is not None and same(old, new) else new


def _same_file(old: MeasuredFile, new: MeasuredFile) -> bool:
    return (
        (old.path, old.digest, old.functions, old.is_test) == (new.path, new.digest, new.functions, new.is_test)
        and np.array_equal(old.line, new.line)
        and np.array_equal(old.end_line, new.end_line)
        and np.array_equal(old.function, new.function)
    )


def _shared_edges(before: Evidence, evidence: Evidence, names: Sequence[str]) -> EdgeEvidence | None:
    new, old = evidence.edges, before.edges
    if new is None or old is None:
        return new
    columns = ("file", "source", "target", "function")
    if not all(np.array_equal(getattr(old.edges, c), getattr(new.edges, c)) for c in columns):
        return new
    known = {test.name: row for test, row in zip(before.tests, old.rows, strict=True)}
    rows = tuple(_same_or(known.get(n), row, np.array_equal) for n, row in zip(names, new.rows, strict=True))
    return replace(new, edges=old.edges, rows=rows)
