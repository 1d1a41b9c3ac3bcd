"""Several JUnit files of one measured run, merged by test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from suspectra.base.english import listed
from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.formats.junit import Case, Report, read_junit
from suspectra.evidence.formats.junit_matching import Matching, match
from suspectra.evidence.sources import Signature, signature


@dataclass(frozen=True)
class Results:
    """How the tests of a measured run ended."""

    name: str  # of the reports that tell
    cases: tuple[Case, ...]  # at most one for each key
    matching: Matching
    problems: tuple[Problem, ...]


class Reports:
    """Reads JUnit files, each only if it has changed since it was last read."""

    def __init__(self, boundary: Boundary):
        self._boundary = boundary
        self._known: dict[Path, tuple[Signature | None, Report]] = {}

    def read(self, paths: Sequence[Path], tests: Sequence[str]) -> Results:
        """Read reports, of which the later ones count where they contradict, and match their cases with tests.

        Raises EvidenceError when there are none, or none of them can be read.
        """
        if not paths:
            cause = "there is no JUnit XML file that says how the tests ended"
            raise EvidenceError(Problem("", "", cause, "write one with `pytest --junit-xml=results.xml`"))
        self._known = {path: known for path, known in self._known.items() if path in paths}
        problems: list[Problem] = []
        refused, read = [], []
        for path in paths:
            try:
                report = self._report(path)
            except EvidenceError as error:
                refused.append(error)
            else:
                read.append((self._shown(path), report))
                problems += report.problems
        if not read:
            raise refused[-1]
        problems += [error.problem for error in refused]
        name, report = next((named for named in reversed(read) if named[1].cases), read[-1])
        if not report.cases:
            cause = "it contains no test case"
            raise EvidenceError(Problem(name, "", cause, "run the tests again with --junit-xml"))
        return _merged(read, tests, problems)

    def _report(self, path: Path) -> Report:
        state = signature(path)
        known = self._known.get(path)
        if known is not None and known[0] == state:
            return known[1]
        report = read_junit(path, self._shown(path), self._boundary)
        self._known[path] = state, report
        return report

    def _shown(self, path: Path) -> str:
        return self._boundary.relative(path) or str(path)


def _merged(read: Sequence[tuple[str, Report]], tests: Sequence[str], problems: list[Problem]) -> Results:
    """Take each test from the last report that has it.

    Tests that were not measured do not count in a report all of whose other tests later ones have: they may have been
    renamed since.
    """
    matched = [(name, report, match(report.cases, tests)) for name, report in read]
    used = [one for one in matched if one[2].found or one[2].ambiguous]
    if not used:
        name, report, matching = next(one for one in reversed(matched) if one[1].cases)
        return Results(name, report.cases, matching, tuple(problems))
    found: dict[str, tuple[str, list[Case]]] = {}
    alone: dict[tuple[str, str, str], Case] = {}
    ambiguous: dict[tuple[str, str, str], tuple[Case, tuple[str, ...]]] = {}
    for name, _, matching in reversed(used):
        replaced = bool(found) and matching.found.keys() <= found.keys()
        both = [test for test in matching.found if test in found]
        differing = [test for test in both if _failing(matching.found[test]) != _failing(found[test][1])]
        if differing:
            later = " and ".join(dict.fromkeys(found[test][0] for test in differing))
            cause = f"{listed(differing, 'test')} ended differently than in {later}, which is later and counts"
            problems.append(Problem(name, "", cause, "delete the report if it is of an earlier run"))
        found = {test: (name, some) for test, some in matching.found.items()} | found
        if not replaced:
            alone = {case.key: case for case in matching.alone} | alone
            ambiguous = {pair[0].key: pair for pair in matching.ambiguous} | ambiguous
    kept = {id(case) for _, some in found.values() for case in some}
    kept |= {id(case) for case in alone.values()} | {id(case) for case, _ in ambiguous.values()}
    cases = tuple(case for _, report, _ in used for case in report.cases if id(case) in kept)
    left = [{*matching.missing} for _, _, matching in used]
    missing = tuple(test for test in tests if all(test in some for some in left))
    joined = Matching(
        {test: some for test, (_, some) in found.items()}, tuple(alone.values()), tuple(ambiguous.values()), missing
    )
    return Results(_names([name for name, _, _ in used]), cases, joined, tuple(problems))


def _failing(cases: Sequence[Case]) -> bool | None:
    """Whether a test failed; None if it was not run to its end."""
    verdicts = [case.verdict for case in cases if case.verdict.counted]
    return any(verdict.failing for verdict in verdicts) if verdicts else None


def _names(names: Sequence[str]) -> str:
    if len(names) > 2:
        return f"{names[-1]} and {len(names) - 1} more reports"
    return " and ".join(names)
