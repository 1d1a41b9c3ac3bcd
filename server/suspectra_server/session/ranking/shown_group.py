"""The failure group that is shown, ranked again before the groups of a new state are found.

Finding groups takes far longer than ranking one by a formula, and after a change the shown group is nearly always the
same. So a change reaches most marks at once. If another group is found afterwards, marks change twice.
"""

from __future__ import annotations

from collections.abc import Mapping

from suspectra.evidence.changes import failing_since
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.failures import exception_names
from suspectra.failure_groups.grouping import clearly_joins
from suspectra.failure_groups.groups import FailureGroup
from suspectra.failure_groups.ranking import RankedGroup
from suspectra.failure_groups.since import Since
from suspectra.spectrum import Spectrum, some_failing, without_uses
from suspectra.techniques.formulas import Formula
from suspectra_server.state.group import Group
from suspectra_server.state.ranking import Ranking

MAX_NEW = 10  # tests that newly fail: more of them change the groups


def rank_again(shown: Ranking, evidence: Evidence, spectrum: Spectrum, top: int) -> Ranking | None:
    """Rank the shown failure group after tests ran again, with the tests that it probably has now.

    Finding the groups takes several times as long, and nearly always they are then the same.

    A preliminary one. None where it would not be quick, or where the group may be another one by now.
    """
    technique = shown.technique
    if not isinstance(technique, Formula):  # others may take long, which would be in vain if the group is another one
        return None
    group = _expected(shown, spectrum, failing_since(evidence))
    if group is None:
        return None
    before = without_uses(shown.ranked.spectrum)
    report = technique.localize(some_failing(without_uses(spectrum), group.tests, before))
    if not report.spectrum.suspected:
        return None
    one = RankedGroup(group, report, technique, exceptions=exception_names(evidence), alone=True)
    return shown.after_runs(evidence, spectrum, Group.from_ranked(one), report, top)


def _expected(shown: Ranking, spectrum: Spectrum, since: Mapping[str, Since]) -> FailureGroup | None:
    """The group with those of its tests that still fail, and those that newly fail and clearly join it.

    None if a change broke a test of another group, which is then the one to show.
    """
    group, failing, executed = shown.group, spectrum.failing_index, without_uses(spectrum)
    grouped = {test for one in shown.groups for test in one.tests}
    new = [test for test in failing if test not in grouped]
    if group is None or len(new) > MAX_NEW:
        return None
    before = shown.ranked.spectrum
    if before.elements is not spectrum.elements:
        new = []  # the counts of the group are of other elements
    tests = len(group.covered)
    joined = [test for test in new if clearly_joins(executed.rows[failing[test]], before, tests, executed)]
    if any(since.get(test) is Since.CHANGE for test in new if test not in joined):
        return None
    stay = [test for test in group.tests if test in failing]
    known = {since.get(test) for test in (*stay, *joined)}
    if {Since.CHANGE, Since.BEFORE} <= known:
        return None
    covered = [test for test in group.covered if test in failing]
    if not covered:
        return None
    uncovered = tuple(test for test in group.uncovered if test in failing)
    tests_now = tuple(sorted([*stay, *joined]))
    return FailureGroup(group.number, tests_now, uncovered, since=Since.of_group(tests_now, since))
