"""The search for a change with which all tests pass, as the end of an answer."""

from __future__ import annotations

import re
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
from suspectra.fixes.diff import difference
from suspectra.fixes.fix import Fix, fix_in_words, in_order
from suspectra.fixes.kept_fixes import keep
from suspectra.fixes.search import FixInquiry
from suspectra.why.answer import AnswerFix

_SIGNS = {"-": "−", "+": "+"}


@dataclass
class FixSearch:
    """Searches fixes for the tests of one failure group, and chooses the one that an answer shows."""

    setup: RerunSetup
    evidence: Evidence  # with all that experiments have shown
    tests: Sequence[FailingTest]
    seconds: float
    tried: int = field(default=0, init=False)  # changes that were run
    _suspicion: Suspicion = field(init=False)
    _found: list[Fix] = field(default_factory=list, init=False)

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
        if self._found:
            with suppress(SuspectraError):  # what can't be kept is searched again
                keep(self.setup.workspace, {test.name for test in self.tests}, in_order(self._found), inquiry.sources)

    def shown(self, suspect: Location | None) -> AnswerFix | None:
        """The likeliest fix, of those at the suspect if there are any."""
        ordered = [one for one in in_order(self._found) if not one.hides and len(one.repaired) == len(self.tests)]
        there = [one for one in ordered if suspect and (one.file, one.line) == (suspect.file, suspect.line)]
        if not ordered:
            return None
        fix = (there or ordered)[0]
        diff = difference(fix.candidates, self._suspicion.read)
        at = Location(fix.file, fix.line, fix.end_line)
        return AnswerFix(at, _shown(diff), fix_in_words(fix, len(self.tests), "with this change"), diff)


def _shown(diff: str) -> tuple[str, ...]:
    """The lines of a difference that are shown, without their indentation; what it imports comes last."""
    hunks = [hunk.splitlines()[1:] for hunk in re.split("^@@", diff, flags=re.MULTILINE)[1:]]
    shown = [_shown_of(hunk) for hunk in hunks if hunk]
    return tuple(line for lines in sorted(shown, key=_is_import) for line in lines)


def _shown_of(hunk: Sequence[str]) -> list[str]:
    """What a hunk removes and adds; if it only adds, with what is before and behind that."""
    changed = [number for number, line in enumerate(hunk) if line[:1] in _SIGNS]
    if all(hunk[number].startswith("+") for number in changed):
        changed = [number for number in range(changed[0] - 1, changed[-1] + 2) if 0 <= number < len(hunk)]
    return [f"{_SIGNS.get(hunk[number][:1], ' ')} {hunk[number][1:].strip()}" for number in changed]


def _is_import(lines: Sequence[str]) -> bool:
    return all(line[2:].startswith(("import ", "from ")) for line in lines if line[:1] != " ")
