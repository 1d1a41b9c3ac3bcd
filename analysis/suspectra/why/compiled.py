"""Why tests of C and C++ fail: nothing can be altered there, but changes can be undone, and runs compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from suspectra.base.english import every, many
from suspectra.base.errors import EvidenceError, UsageError
from suspectra.c.build_kind import option_of
from suspectra.c.mixed_build import MixedBuild, by_suspicion
from suspectra.c.paths.inquiry import CPathInquiry
from suspectra.report import RankedReport
from suspectra.why.answer import Certainty, Remedy, WhyAnswer
from suspectra.why.inquiry import WhyInquiry

_COMPARED = "nearest-path"


@dataclass(kw_only=True)
class CompiledWhyInquiry(WhyInquiry):
    """Finds out why tests of C and C++ fail: what changed, where they fail, and where the nearest passing run parts."""

    build: Path  # the build that is not changed: a folder, or for plain make a file with the commands of the tests

    def __post_init__(self) -> None:
        build = self.build.resolve()
        messages = {test.name: test.message for test in self.evidence.tests if test.verdict.failing}
        self.start = lambda folder, end: MixedBuild(
            self.setup.workspace, folder, build, end, None if self._unranked else by_suspicion(self._report), messages
        )
        super().__post_init__()

    def _ranked(self, report: RankedReport) -> WhyAnswer:
        """The answer by a ranking; nothing is altered."""
        answer = super()._ranked(report)
        if answer.certainty is not Certainty.LOW:
            return answer
        which = f"what {every(len(answer.tests))} failing tests have in common" if len(answer.tests) > 1 else ""
        because = f"it is only {which or 'what this test runs and few others do'}"
        name = answer.tests[0].rpartition("::")[2]
        build = option_of(self.build, self.setup.workspace)
        command = f"`suspectra paths {name} {build} --technique apg` switches decisions."
        in_editor = "Compare With a Passing Run by… can switch decisions."
        return replace(answer, because=because, surer=Remedy(command, in_editor, command))

    def _learn(self) -> Iterator[str]:
        """Compare the first failing test with the passing ones that are nearest to it."""
        if self.answer.changes or self._left <= 0:
            return
        test = self._tests[0]
        inquiry = CPathInquiry(
            test=test,
            spectrum=self._report.spectrum,
            technique=_COMPARED,
            seconds=self._left,
            workspace=self.setup.workspace,
            build=self.build.resolve(),
        )
        try:
            with closing(inquiry.steps()) as reports:
                for report in reports:
                    yield f"Comparing {test.name} with passing tests: {many(report.candidates, 'run')}"
        except (EvidenceError, UsageError) as error:
            self.note([error.problem])
        self.note(inquiry.problems)
        found = inquiry.report
        if found.summary:
            tried = (*self.answer.tried, many(found.candidates, "compared run"))
            self.answer = replace(self.answer, reasons=(*self.answer.reasons, found.summary), tried=tried)
