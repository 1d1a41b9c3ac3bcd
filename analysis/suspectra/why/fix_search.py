"""The change with which all tests pass, at the end of an answer: one that experiments have made, or a fix."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field

from suspectra.base.errors import EvidenceError, SuspectraError
from suspectra.base.location import Location
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.named_tests import with_failing
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.suspicion import Suspicion
from suspectra.fixes.diff import difference, shown_lines
from suspectra.fixes.fix import WITH_CHANGE, Fix, fix_in_words, in_order, passing, with_others
from suspectra.fixes.kept_fixes import KeptEdits, keep, kept
from suspectra.fixes.search import FixInquiry
from suspectra.mutation.edit import Edit
from suspectra.runs.experiment import Experiment
from suspectra.techniques.experiments.repairs import Repair
from suspectra.why.answer import AnswerFix


@dataclass
class AnswerFixSearch:
    """Searches fixes for the tests of one failure group, and chooses the one that an answer shows."""

    setup: RerunSetup
    evidence: Evidence  # with all that experiments have shown
    tests: Sequence[FailingTest]
    seconds: float
    tried: int = field(default=0, init=False)  # changes that were run
    _suspicion: Suspicion = field(init=False)
    _found: list[Fix] = field(default_factory=list, init=False)
    _kept: list[tuple[KeptEdits, ...]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        names = [test.name for test in self.tests]
        self._suspicion = Suspicion(with_failing(self.evidence, names), everywhere=True)

    def steps(self) -> Generator[Fix]:
        """Search, and yield each fix. They are kept, so that the command for fixes can write one."""
        inquiry = FixInquiry(
            self.setup, self.tests, self._suspicion, failed_before=self.evidence.failed_before, seconds=self.seconds
        )
        with suppress(EvidenceError), closing(inquiry.steps()) as steps:
            for fix in steps:
                self._found.append(fix)
                yield fix
        self.tried = inquiry.tried
        workspace, names = self.setup.workspace, {test.name for test in self.tests}
        if self._found and not kept(workspace, names):  # what the user has seen keeps its numbers
            with suppress(SuspectraError):  # what can't be kept is searched again
                keep(workspace, names, in_order(self._found), inquiry.sources)
        self._kept = kept(workspace, names)

    def shown(self, suspect: Location | None) -> AnswerFix | None:
        """The likeliest fix, of those at the suspect if there are any."""
        ordered = [one for one in in_order(self._found) if not one.hides and len(one.repaired) == len(self.tests)]
        there = [one for one in ordered if suspect and (one.file, one.line) == (suspect.file, suspect.line)]
        fix = min((*there, *ordered), key=lambda one: one.is_narrow, default=None)
        if fix is None:
            return None
        diff = difference(fix.candidates, self._suspicion.read)
        edits = tuple(KeptEdits(one.file, one.edits) for one in fix.candidates)
        at = Location(fix.file, fix.line, fix.end_line)
        alone = f"; it may fit only {'this test' if len(self.tests) == 1 else 'these tests'}" if fix.is_narrow else ""
        said = f"{fix_in_words(fix, len(self.tests), WITH_CHANGE)}{alone}"
        number = self._kept.index(edits) + 1 if edits in self._kept else 0
        return AnswerFix(at, shown_lines(diff), said, diff, edits, number)


def tried_change(
    repair: Repair, evidence: Evidence, tests: Sequence[str], known: Sequence[tuple[KeptEdits, ...]]
) -> AnswerFix | None:
    """A change that experiments have made, with which all of some failing tests pass, and all others that were run.

    As it is written in a known fix of the statement, if there is one.
    """
    made: dict[object, list[Experiment]] = defaultdict(list)
    for one in repair.made:
        made[one.key[1:]].append(one)
    accepted = [several for several in made.values() if all(one.outcome.repairs for one in several)]
    several = max((one for one in accepted if {test.test for test in one}.issuperset(tests)), key=len, default=None)
    read = evidence.program.source_of if evidence.program is not None else None
    if several is None or read is None:
        return None
    first, others = several[0], len({one.test for one in several}.difference(tests))
    at = Location(first.file, first.line, first.end_line)
    edits: tuple[KeptEdits, ...] = (
        KeptEdits(first.file, (Edit(first.line, first.column, first.end_line, first.end_column, first.replacement),)),
    )
    number = next((number for number, fix in enumerate(known, 1) if _changes(fix, at)), 0)
    edits = known[number - 1] if number else edits
    diff = difference(edits, read)
    said = with_others(f"{passing(len(tests), len(tests))} {WITH_CHANGE}", others)
    return AnswerFix(at, shown_lines(diff), said, diff, edits, number) if diff else None


def _changes(fix: Sequence[KeptEdits], at: Location) -> bool:
    return any(one.file == at.file and any(at.line <= edit.line <= at.end_line for edit in one.edits) for one in fix)
