"""Comparing cases that ran alone with a run of their whole program: some fail only alone, or only with the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from suspectra.base.errors import Problem
from suspectra.c.recording.case import CCase
from suspectra.c.recording.test_programs import Framework, framework_for, printed_name
from suspectra.evidence.evidence import TestResult

_NUMBER = re.compile(r" \(\d+\)$")


@dataclass(frozen=True)
class WholeProgram:
    """A program all of whose cases ran alone."""

    whole: CCase  # runs all of them
    cases: tuple[CCase, ...]
    framework: Framework

    def differences(
        self,
        together: TestResult,  # how the whole program ended
        output: str,  # what it printed
        alone: Mapping[str, TestResult],  # how the cases ended
        expected: Collection[str] = (),  # the cases that print a failure although they pass
        *,
        completed: bool,  # whether it ended by itself, and so ran all cases
        beside: bool = False,  # whether cases ran beside others
    ) -> tuple[bool, list[Problem]]:
        """Say which cases end in another way with the others.

        Whether the run of the whole program fails in a way that no case does alone, and what to say.
        """
        failed = self.framework.failed_cases(output) if together.verdict.failing else set()
        names = {case.name: printed_name(self.framework, case) for case in self.cases}
        # several have one name if they were numbered to tell them apart
        plain = Counter(_NUMBER.sub("", name) for name in names.values())
        unclear = {name for name in names.values() if plain[_NUMBER.sub("", name)] > 1}
        failing_alone = [case for case in self.cases if case.name in alone and alone[case.name].verdict.failing]
        reached = self.framework.stops is None or not self.framework.stops.search(output)
        known = completed and reached and (bool(failed) or not together.verdict.failing)
        only_alone = [one for one in failing_alone if known and names[one.name] not in failed | unclear]
        others_fail = failed - unclear - {names[case.name] for case in failing_alone}
        passing_alone = [case for case in self.cases if case.name in alone and case not in failing_alone]
        only_together = [
            case for case in passing_alone if names[case.name] in others_fail and case.name not in expected
        ]
        others = f"when all cases of {self.whole.name} run together"
        recorded = f"another case leaves something behind; that run is recorded as the test {self.whole.name}"
        first = _FIRST + _BESIDE * beside
        said = [_problem(case, f"this test fails alone, and passes {others}", first) for case in only_alone]
        said += [_problem(case, f"this test passes alone, and fails {others}", recorded) for case in only_together]
        if together.verdict.failing and not failing_alone and not only_together:
            cause = f"each case of {self.whole.name} passes alone, but they fail together: {together.message}"
            hurried = together.message.startswith("timed out")
            said.append(Problem(self.whole.name, "", cause, _TIME if hurried else recorded))
            return True, said
        return bool(only_together), said


_TIME = "they may need more time together: raise the time limit of the test"
_FIRST = "it needs something that another case does first"
_BESIDE = ", or can't run beside another one: record it again with --jobs 1"


def _problem(case: CCase, cause: str, cure: str) -> Problem:
    return Problem(case.name, "", cause, cure)


def whole_programs(cases: Iterable[CCase], ran: Collection[str]) -> list[WholeProgram]:
    """Find the programs whose cases have all run alone."""
    groups: dict[tuple[object, ...], list[CCase]] = {}
    for case in cases:
        if case.whole is not None:
            groups.setdefault((case.whole.name, case.whole.argv, case.whole.folder), []).append(case)
    found = []
    for group in groups.values():
        whole = group[0].whole
        if whole is None or len(group) == 1 or not all(case.name in ran for case in group):
            continue
        framework = framework_for(whole)
        if framework is not None:
            found.append(WholeProgram(whole, tuple(group), framework))
    return found
