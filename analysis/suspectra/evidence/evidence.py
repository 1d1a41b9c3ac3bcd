"""`Evidence`, the result of every reader: the tests, how they ended, and what each executed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from suspectra.base.arrays import Bools, Ints, Row
from suspectra.base.cached_property import CachedProperty
from suspectra.base.errors import Problem
from suspectra.base.location import Location
from suspectra.program import Program
from suspectra.program.languages import is_c
from suspectra.runs.experiment import UNDO, Experiment
from suspectra.runs.measured_file import MeasuredFile
from suspectra.runs.observation import Observation
from suspectra.runs.reported_lines import FailureSlice, ReportedPaths
from suspectra.spectrum import ChangedRows, Edges, Elements, Function, Spectrum, changes_by_git, chosen
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.stack import Stack, StackFrame

if TYPE_CHECKING:
    from suspectra.program.flow_graph import FlowGraph
    from suspectra.program.flow_readers import FlowReading


class Verdict(str, Enum):
    """How a test ended. Only PASSED, XPASSED, FAILED and ERROR count for the ranking.

    The values are those in recordings.

    Examples
    --------
    >>> Verdict("error").failing, Verdict.SKIPPED.counted
    (True, False)
    """

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"  # setup or teardown failed
    SKIPPED = "skipped"
    XFAILED = "xfailed"  # failed as expected: counts neither as passed nor as failed
    XPASSED = "xpassed"  # passed although a failure was expected (strict: FAILED)

    failing: bool
    """Whether the test counts as failed."""
    counted: bool
    """Whether the test counts at all."""

    def __init__(self, value: str):
        # attributes are faster than properties: they are read for every test after each change
        self.failing = value in ("failed", "error")
        self.counted = value not in ("skipped", "xfailed")


@dataclass(frozen=True)
class TestResult:
    """One test of a run.

    Parameters
    ----------
    name : str
        The test's full id, for pytest its node id.
    verdict : Verdict
        How it ended.
    location : Location, optional
        Where the test is defined, relative to the workspace.
    phases : dict of str to str
        pytest's own outcome of each phase: ``setup``, ``call``, ``teardown``.
    message : str
        The first line of the failure, empty for a test that passed.
    seconds : float
        Its duration; 0 if the evidence does not say.
    flaky : bool
        Whether it was run again in the same session and ended differently.

    Examples
    --------
    >>> result = TestResult("tests/test_cart.py::test_sum", Verdict.FAILED, Location("tests/test_cart.py", 4, 6))
    >>> result.verdict.failing, str(result.location)
    (True, 'tests/test_cart.py:4-6')
    """

    __test__ = False  # tells pytest that this is not a test class

    name: str
    verdict: Verdict
    location: Location | None = None
    phases: dict[str, str] = field(default_factory=dict)
    message: str = ""
    seconds: float = 0.0
    flaky: bool = False


T = TypeVar("T")
_NAME, _COUNTED, _FAILING = attrgetter("name"), attrgetter("verdict.counted"), attrgetter("verdict.failing")


class Outcomes(NamedTuple):
    """What a spectrum needs to know of tests, in columns.

    Parameters
    ----------
    names : sequence of str
        Their names.
    failing : ndarray of bool, shape (tests,)
        Whether each counts as failed.
    counted : ndarray of bool, shape (tests,)
        Whether each counts at all.

    Examples
    --------
    >>> outcomes = Outcomes.from_tests([TestResult("test_a", Verdict.FAILED), TestResult("test_b", Verdict.SKIPPED)])
    >>> outcomes.names, outcomes.failing.tolist(), outcomes.counted.tolist()
    (('test_a', 'test_b'), [True, False], [True, False])
    """

    names: Sequence[str]
    failing: Bools
    counted: Bools

    @classmethod
    def from_tests(cls, tests: Sequence[TestResult]) -> Outcomes:
        """Look at each test.

        Parameters
        ----------
        tests : sequence of TestResult
            In any order.

        Returns
        -------
        Outcomes
            In this order.
        """
        failing, counted = (np.fromiter(map(get, tests), bool, len(tests)) for get in (_FAILING, _COUNTED))
        return cls(tuple(map(_NAME, tests)), failing, counted)


@dataclass(frozen=True, eq=False)
class EdgeEvidence:
    """The control-flow edges that tests traversed.

    Parameters
    ----------
    edges : Edges
        The table.
    rows : tuple of ndarray of int32, shape (k,)
        For each test the sorted indices of the edges it traversed.
    counts : tuple of ndarray of int, shape (k,), or None
        How often each edge was traversed, aligned with `rows`; None if that was not counted.
    graphs : tuple of FlowGraph
        Whole flow graphs, if the evidence has them (for compiled objects); else empty.
    uncounted : Problem, optional
        Why there are no counts although some tests were counted. It matters only for techniques that need counts.

    Examples
    --------
    >>> zeros = np.zeros(2, np.int32)
    >>> edges = Edges(zeros, np.array([2, 2]), np.array([3, 4]), zeros)
    >>> evidence = EdgeEvidence(edges, (np.array([0]), np.array([1])))
    >>> len(evidence.edges), [row.tolist() for row in evidence.rows]
    (2, [[0], [1]])
    """

    edges: Edges
    rows: tuple[Row, ...]
    counts: tuple[Ints, ...] | None = None
    graphs: tuple[FlowGraph, ...] = ()
    uncounted: Problem | None = None


class Replaced(NamedTuple):
    """Something of which a test ran with another version when it passed.

    Parameters
    ----------
    name : str
        A distribution, ``Python`` for the interpreter, or a file relative to the workspace.
    before, after : str
        The versions; empty where it was not there, and both empty for a file.

    Examples
    --------
    >>> str(Replaced("numpy", "1.26.4", "2.1.0")), str(Replaced("rates.csv", "", ""))
    ('numpy 1.26.4 → 2.1.0', 'rates.csv')
    """

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        if not (self.before or self.after):
            return self.name
        if not self.before:
            return f"{self.name} {self.after} is new"
        if not self.after:
            return f"{self.name} {self.before} is gone"
        return f"{self.name} {self.before} → {self.after}"


@dataclass(frozen=True, eq=False)
class Evidence:
    """One consistent state of the evidence.

    Parameters
    ----------
    source : str
        The name of its origin in messages.
    tests : sequence of TestResult
        In the order of the run, with skipped tests.
    files : tuple of MeasuredFile
        The measured files.
    rows : sequence of ndarray of int32
        For each test the sorted indices of the statements that it executed, over all `files` in order. A reader that
        reads again returns the same array objects for tests that did not change.
    at_import : ndarray of int32, shape (k,)
        Statements that ran outside any test, mostly while modules were imported.
    edges : EdgeEvidence, optional
        Traversed control flow, where it was measured.
    problems : tuple of Problem
        All that could not be read or matched; nothing is dropped silently.
    runs : sequence, optional
        Identifies the run of each test. A reader that sets it guarantees that tests with equal values executed the same
        statements in every file that is the same object as before.
    collection_errors : tuple of CollectionError
        What the last run could not collect; `tests` has no tests of it.
    stacks : mapping of str to Stack
        The stacks of failing tests, by name, with the lines of `files`. Empty if the evidence has none. A reader that
        reads again returns the same objects for tests that did not change.
    source_of : callable, optional
        Given a path, returns the current bytes of the source file, or None if it can't be read. Flow graphs of Python
        and kinds of statements are read from it.
    reading : FlowReading, optional
        The reading of control flow that was begun with the recording, if any.
    experiments : tuple of Experiment
        The results of running its tests again with something altered, if they were read.
    observations : tuple of Observation
        What predicates hold for the values of some of its tests, if they were read.
    slices : tuple of FailureSlice
        What the failures of some of its tests depend on, if that was read.
    paths : tuple of ReportedPaths
        What searches for paths have reported about some of its tests, if that was read.
    changed : mapping of str to ndarray of int32
        By failing test, the sorted indices of statements that changed since it passed, executed or not; `ChangedRows`
        if not all are known to have passed. A reader that reads again returns the same objects for unchanged tests.
    old : frozenset of str
        The failing tests that failed before the oldest change, by name.
    replaced : tuple of Replaced
        What else changed since failing tests passed: files, packages, the interpreter.
    outcomes : Outcomes, optional
        Those of `tests`, from a reader that has them already.

    Examples
    --------
    >>> from suspectra.runs.measured_file import MeasuredFile
    >>> lines, rows = np.array([1, 2], np.int32), (np.array([0, 1], np.int32), np.array([0], np.int32))
    >>> cart = MeasuredFile("cart.py", None, lines, lines, np.array([-1, -1], np.int32), ())
    >>> tests = TestResult("test_all", Verdict.FAILED), TestResult("test_none", Verdict.PASSED)
    >>> evidence = Evidence("by hand", tests, (cart,), rows, np.zeros(0, np.int32))
    >>> evidence.spectrum().counts.ep.tolist()
    [1, 0]
    >>> evidence.elements.files, evidence.program.files[0].path, evidence.is_c
    (('cart.py',), 'cart.py', False)
    >>> [test.name for test in evidence.failing], evidence.digests
    (['test_all'], {'cart.py': None})
    """

    source: str
    tests: Sequence[TestResult]
    files: tuple[MeasuredFile, ...]
    rows: Sequence[Row]
    at_import: Row
    edges: EdgeEvidence | None = None
    problems: tuple[Problem, ...] = ()
    runs: Sequence[Hashable] = ()
    collection_errors: tuple[CollectionError, ...] = ()
    stacks: Mapping[str, Stack] = field(default_factory=dict)
    source_of: Callable[[str], bytes | None] | None = None
    reading: FlowReading | None = None
    experiments: tuple[Experiment, ...] = ()
    observations: tuple[Observation, ...] = ()
    slices: tuple[FailureSlice, ...] = ()
    paths: tuple[ReportedPaths, ...] = ()
    changed: Mapping[str, Row] = field(default_factory=dict)
    old: frozenset[str] = frozenset()
    replaced: tuple[Replaced, ...] = ()
    outcomes: Outcomes | None = None

    @property
    def program(self) -> Program:
        """The measured files and flow graphs."""
        graphs = self.edges.graphs if self.edges else ()
        return Program(
            self.files,
            graphs,
            self.source_of,
            self.reading,
            self.experiments,
            self.observations,
            self.slices,
            self.paths,
        )

    @cached_property
    def failing(self) -> tuple[TestResult, ...]:
        """The tests that failed."""
        if self.outcomes is None:
            return tuple(test for test in self.tests if test.verdict.failing)
        return tuple(self.tests[i] for i in np.flatnonzero(self.outcomes.failing).tolist())

    @property
    def digests(self) -> dict[str, str | None]:
        """The digests of the measured files by path, None where one is not known."""
        return {file.path: file.digest for file in self.files}

    @property
    def is_c(self) -> bool:
        """Whether it is of a program in C or C++."""
        return any(is_c(file.path) for file in self.files)

    @CachedProperty
    def elements(self) -> Elements:
        """The statements of all files in one table; the same object as long as the files are the same."""
        return join_files(self.files)

    def spectrum(self, *, include_tests: bool = False, previous: Spectrum | None = None) -> Spectrum:
        """Make the spectrum of the tests that count.

        Parameters
        ----------
        include_tests : bool
            Whether test code may be suspected too.
        previous : Spectrum, optional
            The spectrum of the previous evidence; what did not change is shared with it.

        Returns
        -------
        Spectrum
            Its rows are the same array objects.
        """
        outcomes = self.outcomes or Outcomes.from_tests(self.tests)
        counted = outcomes.counted
        tests = chosen(outcomes.names, counted)
        failed = outcomes.failing[counted]
        rows = chosen(self.rows, counted)
        edge_rows = chosen(self.edges.rows, counted) if self.edges else None
        edge_counts = chosen(self.edges.counts, counted) if self.edges and self.edges.counts else None
        runs = chosen(self.runs, counted) if self.runs else ()
        if previous is not None and previous.elements.versions is self.files:
            Evidence.elements.give(self, previous.elements)  # avoids comparing file by file
        candidates = self.candidates(include_tests)
        raised = self._raised(tests, failed, candidates)
        if (
            previous is not None
            and previous.elements is self.elements
            and previous.edges is (self.edges.edges if self.edges else None)
            and previous.candidates is candidates
        ):
            return previous.with_rows(
                tests, failed, rows, edge_rows, edge_counts, runs, raised, self._suspected_changes
            )
        after = Spectrum(
            tests,
            failed,
            self.elements,
            rows,
            candidates,
            self.edges.edges if self.edges else None,
            edge_rows,
            edge_counts,
            runs,
            raised,
            self._suspected_changes,
        )
        if previous is not None:
            after.follow_files(previous)
        return after

    @cached_property
    def _suspected_changes(self) -> Mapping[str, Row]:
        """`changed` without that of tests that fail without these changes, too, or were broken by other ones."""
        assumed = changes_by_git(self.changed).keys()
        harmless = self.failed_before & assumed | {one.test for one in self.undone_elsewhere} & self.changed.keys()
        if not harmless:
            return self.changed
        kept = {test: row for test, row in self.changed.items() if test not in harmless}
        return ChangedRows(kept, assumed - harmless)

    @cached_property
    def undone_elsewhere(self) -> tuple[Experiment, ...]:
        """The undone changes without which a test passes, if it executes no statement of the program in any of them.

        Such are changes of data and of test code, and those of what runs at import, as of the default of a parameter.

        Examples
        --------
        >>> Evidence("by hand", (), (), (), np.zeros(0, np.int32)).undone_elsewhere
        ()
        """
        undone = [one for one in self.experiments if one.kind == UNDO and one.outcome.repairs]
        if not undone:
            return ()
        names = {one.test for one in undone}
        rows = {test.name: row for test, row in zip(self.tests, self.rows, strict=True) if test.name in names}
        candidates = self.candidates(include_tests=False)

        def is_suspected(one: Experiment) -> bool:
            found = self.elements.touched(one.file, one.line, one.end_line)
            return any(candidates[at] and at in rows.get(one.test, ()) for at in found)

        shown = {one.test for one in undone if is_suspected(one)}
        return tuple(one for one in undone if one.test not in shown)

    @cached_property
    def failed_before(self) -> frozenset[str]:
        """The failing tests that failed before the program was changed, by name.

        Earlier runs show it, or runs without the changes.

        Examples
        --------
        >>> from dataclasses import replace
        >>> rows = (np.zeros(0, np.int32),)
        >>> evidence = Evidence("by hand", (TestResult("test_all", Verdict.FAILED),), (), rows, np.zeros(0, np.int32))
        >>> replace(evidence, old=frozenset({"test_all"})).failed_before
        frozenset({'test_all'})
        """
        undone = [one for one in self.experiments if one.kind == UNDO]
        found = self.old.union(one.test for one in undone if not one.outcome.repairs)
        return found.difference(one.test for one in undone if one.outcome.repairs)

    def _raised(self, tests: Sequence[str], failed: Bools, candidates: Bools) -> Ints | None:
        """The candidate in which each test failed, -1 if there is none; None without any stack."""
        if not self.stacks:
            return None
        raised = np.full(len(tests), -1, np.int32)
        known: dict[StackFrame, int] = {}  # failing tests have most frames in common
        for test in np.flatnonzero(failed).tolist():
            if (stack := self.stacks.get(tests[test])) is not None:
                raised[test] = _innermost_candidate(stack, self.elements, candidates, known)
        return raised

    def candidates(self, include_tests: bool) -> Bools:
        """Return which elements may be suspects; the same object as long as the files are the same.

        Parameters
        ----------
        include_tests : bool
            Whether test code may be suspected too.

        Returns
        -------
        ndarray of bool, shape (elements,)
            True for candidates, in the order of `elements`.

        Examples
        --------
        >>> from suspectra.runs.measured_file import MeasuredFile
        >>> lines, outside = np.array([1, 2], np.int32), np.array([-1, -1], np.int32)
        >>> cart = MeasuredFile("cart.py", None, lines, lines, outside, ())
        >>> test_cart = MeasuredFile("test_cart.py", None, lines, lines, outside, (), is_test=True)
        >>> files = cart, test_cart
        >>> Evidence("by hand", (), files, (), np.zeros(0, np.int32)).candidates(include_tests=False).tolist()
        [True, True, False, False]
        """
        return _candidates(self.elements, include_tests)


class EvidenceSource(Protocol):
    """A source of evidence, which can be read again when it changes.

    Examples
    --------
    >>> class ByHand:
    ...     def watched(self):
    ...         return []
    ...     def read(self):
    ...         return Evidence("by hand", (TestResult("test_all", Verdict.PASSED),), (), (), np.zeros(0, np.int32))
    >>> source: EvidenceSource = ByHand()
    >>> source.read().source
    'by hand'
    """

    def watched(self) -> Sequence[str]:
        """Return absolute paths of the files and folders to watch.

        Returns
        -------
        sequence of str
            They may not exist yet.
        """
        ...

    def read(self) -> Evidence:
        """Read the current state.

        An implementation caches what it read: rows, files and edges that did not change are the same objects as before.

        Returns
        -------
        Evidence
            The whole evidence, even if only little of it is new.

        Raises
        ------
        EvidenceError
            When nothing can be read.
        """
        ...


def _innermost_candidate(stack: Stack, elements: Elements, candidates: Bools, known: dict[StackFrame, int]) -> int:
    """The candidate of the innermost frame that is in one, where the test failed; -1 for none.

    `known` is a cache of the candidates of frames.
    """
    for frame in reversed(stack.frames):
        if frame not in known:
            element = elements.at(frame.file, frame.line)
            known[frame] = element if element is not None and candidates[element] else -1
        if known[frame] >= 0:
            return known[frame]
    return -1


@lru_cache(maxsize=8)
def join_files(files: tuple[MeasuredFile, ...]) -> Elements:
    """Join the elements of all files to one table."""
    sizes = [len(file.line) for file in files]
    functions: list[Function] = []
    offsets = []
    for index, file in enumerate(files):
        offsets.append(len(functions))
        functions += file.functions_at(index)

    def column(parts: Iterable[Ints]) -> Ints:
        return np.concatenate([np.zeros(0, np.int32), *parts]).astype(np.int32, copy=False)

    function = column(file.function for file in files)
    return Elements(
        tuple(file.path for file in files),
        np.repeat(np.arange(len(files), dtype=np.int32), sizes),
        column(file.line for file in files),
        column(file.end_line for file in files),
        np.where(function >= 0, function + np.repeat(np.array(offsets, np.int32), sizes), -1).astype(np.int32),
        tuple(functions),
        files,
    )


@lru_cache(maxsize=8)
def _candidates(elements: Elements, include_tests: bool) -> Bools:
    files = cast("tuple[MeasuredFile, ...]", elements.versions)
    return np.asarray(np.array([include_tests or not file.is_test for file in files], np.bool_)[elements.file])
