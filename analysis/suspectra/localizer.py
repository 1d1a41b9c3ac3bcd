"""The pipeline from evidence to report. Only this module knows the order of its stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from suspectra.base.english import many
from suspectra.base.errors import NothingToRank, Problem
from suspectra.base.technique_info import Need
from suspectra.evidence.changes import besides, failing_since
from suspectra.evidence.evidence import Evidence, TestResult
from suspectra.evidence.failures import exception_names, first_failure
from suspectra.failure_groups.decisions import GroupDecisions
from suspectra.failure_groups.ranking import GroupedRanking, rank_groups
from suspectra.program import Program
from suspectra.report import RankedReport
from suspectra.report.caveats import silent_failures
from suspectra.spectrum import Counts, Spectrum
from suspectra.techniques.technique import Technique
from suspectra_recorder.log.collection import summary

_NOTHING_EXECUTED = "the failing tests run none of the code that may be a suspect"
_WITH_TESTS = "with --include-tests, in editors the setting includeTests, test code may be suspected, too"


class Localizer:
    """Keeps a ranking up to date.

    Each stage passes on unchanged parts as the same objects, so the cost of an update depends on the size of the
    change and not on the size of the project.

    Parameters
    ----------
    technique : Technique
        The technique that ranks.
    include_tests : bool
        Let test code be suspected too.
    count : callable, optional
        Replaces the local computation of :attr:`Spectrum.counts`, for example by a cluster's.

    Attributes
    ----------
    evidence : Evidence or None
        The last evidence that was given.
    report : RankedReport or None
        The last good ranking; it stays when newer evidence gives none.

    Examples
    --------
    >>> from suspectra import make_technique
    >>> localizer = Localizer(make_technique("ochiai"))
    >>> localizer.report is None
    True
    >>> localizer.select(make_technique("dstar"))
    Traceback (most recent call last):
    suspectra.base.errors.NothingToRank: there is no evidence yet. Fix: run the tests with suspectra record
    >>> import numpy as np
    >>> from suspectra.evidence.evidence import TestResult, Verdict
    >>> from suspectra.runs.measured_file import MeasuredFile
    >>> lines, rows = np.array([1, 2], np.int32), (np.array([0, 1], np.int32), np.array([0], np.int32))
    >>> cart = MeasuredFile("cart.py", None, lines, lines, np.array([-1, -1], np.int32), ())
    >>> tests = TestResult("test_all", Verdict.FAILED), TestResult("test_none", Verdict.PASSED)
    >>> evidence = Evidence("by hand", tests, (cart,), rows, np.zeros(0, np.int32))
    >>> [report.suspect(0).location.line for report in localizer.improve(evidence)]
    [2]
    >>> localizer.program.files[0].path, localizer.groups().groups[0].title
    ('cart.py', 'cart.py:2')
    >>> localizer.count(evidence) is localizer.report.spectrum
    True
    """

    def __init__(
        self,
        technique: Technique,
        *,
        include_tests: bool = False,
        count: Callable[[Spectrum], Counts] | None = None,
    ):
        self.technique = technique
        self.include_tests = include_tests
        self._count = count
        self.evidence: Evidence | None = None
        self.report: RankedReport | None = None
        self._spectrum: Spectrum | None = None
        self._counted: tuple[Evidence, bool] | None = None  # what that was made of
        self._groups: GroupedRanking | None = None
        self._previous: dict[Technique, RankedReport] = {}  # the last report of each stage

    def update(self, evidence: Evidence) -> RankedReport:
        """Rank new evidence.

        Parameters
        ----------
        evidence : Evidence
            All the evidence, not only what changed.

        Returns
        -------
        RankedReport
            Also stored in `report`.

        Raises
        ------
        NothingToRank
            When the evidence gives no ranking; `report` is then still the last good one.

        Examples
        --------
        >>> from suspectra import Evidence, make_technique
        >>> from suspectra.evidence.evidence import TestResult, Verdict
        >>> from suspectra.runs.measured_file import MeasuredFile
        >>> import numpy as np
        >>> lines, rows = np.array([1, 2], np.int32), (np.array([0, 1], np.int32), np.array([0], np.int32))
        >>> cart = MeasuredFile("cart.py", None, lines, lines, np.array([-1, -1], np.int32), ())
        >>> tests = TestResult("test_all", Verdict.FAILED), TestResult("test_none", Verdict.PASSED)
        >>> localizer = Localizer(make_technique("ochiai"))
        >>> report = localizer.update(Evidence("by hand", tests, (cart,), rows, np.zeros(0, np.int32)))
        >>> print(report.suspect(0).location)
        cart.py:2
        >>> localizer.select(make_technique("dstar")).technique.name
        'dstar'
        """
        return self._rank(self.technique, self.count(evidence), evidence)

    def improve(self, evidence: Evidence) -> Iterator[RankedReport]:
        """Rank new evidence stage by stage: a quick ranking first where the technique takes long.

        Parameters
        ----------
        evidence : Evidence
            All the evidence, not only what changed.

        Yields
        ------
        RankedReport
            Each is better than the one before, and is stored in `report`. The last one equals the result of
            :meth:`update`. The caller may stop at any of them.

        Raises
        ------
        NothingToRank
            When a stage gives no ranking; `report` is then still the last good one.
        """
        spectrum = self.count(evidence)
        for stage in self.technique.stages:
            yield self._rank(stage, spectrum, evidence)

    def count(self, evidence: Evidence) -> Spectrum:
        """Count what the tests of new evidence execute, which :meth:`update` then need not do.

        Parameters
        ----------
        evidence : Evidence
            All the evidence, not only what changed.

        Returns
        -------
        Spectrum
            The same one until evidence or settings change.
        """
        basis = evidence, self.include_tests
        if self._spectrum is None or self._counted != basis:
            self._spectrum = evidence.spectrum(include_tests=self.include_tests, previous=self._spectrum)
            if self._count is not None:
                self._spectrum.count_by(self._count)
        self.evidence, self._counted = evidence, basis
        return self._spectrum

    def _rank(self, technique: Technique, spectrum: Spectrum, evidence: Evidence) -> RankedReport:
        try:
            report = technique.localize(spectrum, evidence.program, self._previous.get(technique, self.report))
            require_suspects(report)
        except NothingToRank as error:
            raise NothingToRank(_in_context(error.problem, evidence)) from None
        known = {**self._previous, technique: report}
        self._previous = {stage: known[stage] for stage in self.technique.stages if stage in known}
        self.report = report
        return report

    def groups(self, decisions: GroupDecisions | None = None) -> GroupedRanking:
        """The failure groups of the current evidence, each with its own ranking.

        Parameters
        ----------
        decisions : Decisions, optional
            The user's decisions about which tests belong together.

        Returns
        -------
        GroupedRanking
            Groups keep their numbers from one call to the next.

        Raises
        ------
        NothingToRank
            When there is no ranking.
        """
        if self.report is None or self.evidence is None:
            raise NothingToRank(_no_evidence())
        self._groups = rank_groups(
            self.report,
            self.technique,
            self.evidence.program,
            exceptions=exception_names(self.evidence),
            decisions=decisions,
            previous=self._groups,
            since=failing_since(self.evidence),
        )
        return self._groups

    def select(self, technique: Technique, *, include_tests: bool | None = None) -> RankedReport:
        """Rank the same evidence by another technique.

        Parameters
        ----------
        technique : Technique
            The technique to use from now on.
        include_tests : bool, optional
            Whether test code may be suspected. The default leaves this unchanged.

        Returns
        -------
        RankedReport
            Also stored in `report`.

        Raises
        ------
        NothingToRank
            When there is no evidence yet, or it gives no ranking.
        """
        self.technique = technique
        if include_tests is not None and include_tests != self.include_tests:
            self.include_tests = include_tests
            self._spectrum = None
        if self.evidence is None:
            raise NothingToRank(_no_evidence())
        return self.update(self.evidence)

    @property
    def program(self) -> Program | None:
        """The program model of the current evidence."""
        return self.evidence.program if self.evidence else None

    def problems(self) -> list[Problem]:
        """The problems of the evidence, followed by those of the ranking.

        Collection errors are not among them; see :attr:`suspectra.evidence.evidence.Evidence.collection_errors`.

        Returns
        -------
        list of Problem
            In display order.

        Examples
        --------
        >>> from suspectra import make_technique
        >>> Localizer(make_technique("ochiai")).problems()
        []
        """
        found = list(self.evidence.problems) if self.evidence else []
        if self.evidence is not None and self.evidence.edges is not None and Need.COUNTS in self.technique.info.needs:
            found += [problem for problem in [self.evidence.edges.uncounted] if problem is not None]
        if self.evidence is not None and _all_failed_in_setup(self.evidence):
            found.append(_broken_setup(self.evidence))
        if self.report is not None and self.evidence is not None:
            setup = _stopped_in_setup(self.evidence, self.report.spectrum)
            if len(self.evidence.failing) / 2 < len(setup) < len(self.evidence.tests):
                found.append(_broken_setup(self.evidence, setup))
            caveats = self.report.caveats(explained=[test.name for test in setup])
            found += [replace(caveat, file=self.evidence.source) for caveat in caveats]
        return found


def _no_evidence() -> Problem:
    return Problem("", "", "there is no evidence yet", "run the tests with suspectra record")


def require_suspects(report: RankedReport) -> None:
    """Reject a ranking to which no failing test contributes.

    Raises NothingToRank when nothing that may be a suspect was measured, or no failing test executes any of it.
    """
    if not len(report):
        cause = "no statement of the workspace was measured that may be a suspect"
        cure = f"check what is measured; {_WITH_TESTS}"
    elif not report.spectrum.suspected:
        cause = _NOTHING_EXECUTED
        cure = f"measure the code that they test; {_WITH_TESTS}"
    else:
        return
    raise NothingToRank(Problem("", "", cause, cure))


def _all_failed_in_setup(evidence: Evidence) -> bool:
    return bool(evidence.tests) and all(test.phases.get("setup") == "failed" for test in evidence.tests)


def _stopped_in_setup(evidence: Evidence, spectrum: Spectrum) -> list[TestResult]:
    """The tests whose setup failed before they executed anything that is recorded."""
    silent = set(silent_failures(spectrum))
    return [test for test in evidence.failing if test.name in silent and test.phases.get("setup") == "failed"]


def _broken_setup(evidence: Evidence, stopped: Sequence[TestResult] = ()) -> Problem:
    """That tests failed in setup: some of the failing ones, or all tests."""
    whole = f"all {len(evidence.tests)} tests"
    who = f"{len(stopped):,} of {many(len(evidence.failing), 'failing test')}" if stopped else whole
    first = (stopped or evidence.tests)[0].message
    cause = f"{who} failed in setup" + (f": {first}" if first else "")
    return Problem(evidence.source, "", cause, cure_of_setup(evidence, [test.name for test in stopped]))


def cure_of_setup(evidence: Evidence, tests: Sequence[str]) -> str:
    """What the user can do about tests that fail before they begin."""
    stacks = filter(None, (evidence.stacks.get(name) for name in tests or evidence.stacks))
    packages = dict.fromkeys(stack.missing_package for stack in stacks)
    packages.pop("", None)
    if not packages:
        return "fix the fixture they share, or the environment the tests run in"
    return cure_by_installing(packages)


def cure_by_installing(packages: Iterable[str]) -> str:
    """What the user can do about packages that are not there."""
    return f"run `python -m pip install {' '.join(packages)}` where the tests run"


def _in_context(problem: Problem, evidence: Evidence) -> Problem:
    """Add the source of the evidence to a problem, and what its tests and collection errors explain."""
    cause = problem.cause
    uncollected = summary(evidence.collection_errors)
    stacks = [evidence.stacks.get(test.name) for test in evidence.failing]
    no_fixture = bool(stacks) and all(stack and stack.is_missing_fixture for stack in stacks)
    if not evidence.tests:
        cause = uncollected or "the evidence contains no tests"
    elif _all_failed_in_setup(evidence):
        cause = _broken_setup(evidence).cause
    elif no_fixture:
        cause = _broken_setup(evidence, evidence.failing).cause
    elif evidence.failing:
        cause += f" ({first_failure(evidence)})"
    skipped = sum(not test.verdict.counted for test in evidence.tests)
    if skipped:
        cause += f"; {skipped} {'was' if skipped == 1 else 'were'} skipped or failed as expected"
    if evidence.tests and uncollected:
        nothing = "none of the recorded tests fails" if not evidence.failing else cause
        cause = f"{uncollected}; {nothing}"
    for sentence in besides(evidence):
        cause += f"; {sentence[0].lower()}{sentence[1:].rstrip('.')}"
    cure = problem.cure
    if uncollected:
        cure = evidence.collection_errors[0].cure
    elif no_fixture:
        cure = cure_of_setup(evidence, [test.name for test in evidence.failing])
    elif problem.cause == _NOTHING_EXECUTED and len(evidence.at_import):
        cure = f"look at what they use that ran while modules were imported, such as constants, or {problem.cure}"
    return replace(problem, file=problem.file or evidence.source, cause=cause, cure=cure)
