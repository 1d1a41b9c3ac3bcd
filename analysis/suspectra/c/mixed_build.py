"""Running tests of C and C++ with only some of the changes: in a copy, of which only what changed is built again."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from suspectra.base.cancellation import current_token
from suspectra.base.deadline import seconds_until
from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.build_complaint import CURE
from suspectra.c.copied_build import copied_build, targets_of
from suspectra.c.recording.case import CCase, judge
from suspectra.c.recording.case_run import run_case
from suspectra.c.recording.test_programs import divided
from suspectra.c.values.noting import values_of_test
from suspectra.changes.baselines import Baseline
from suspectra.changes.mixed_files import MixedFiles
from suspectra.changes.mixed_tests import ExecutedChanges, MixedFailure, MixedRun
from suspectra.changes.units import ChangeUnit
from suspectra.changes.value_trace import ValueTrace
from suspectra.evidence.evidence import Verdict
from suspectra.processes.events import ProgramEnded, Stopped
from suspectra.processes.runner import CommandToRun, run
from suspectra.processes.scratch import ScratchFolder
from suspectra.report import RankedReport

_MAX_STEP_S = 600.0
"""For one build."""
_MAX_TEST_S = 60.0
"""For one test."""
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\d+(\.\d+)?")  # addresses differ in each run


Executed = Mapping[str, Sequence[tuple[str, int]]]
"""The files and lines that tests execute in the present text, by test."""


class MixedBuild:
    """A second build of a project in a copy of the workspace.

    Raises EvidenceError when nobody can see what has made the first build, or its sources are outside of the workspace.
    """

    preparing = "building the project in a copy"

    def __init__(
        self,
        workspace: Path,
        folder: Path,
        build: Path,
        end: float = math.inf,
        known: Executed | None = None,
        messages: Mapping[str, str] = MappingProxyType({}),  # what tests said when they failed
    ):
        self.runs = 0
        self._known, self._messages = known or {}, messages
        self._workspace, self._folder, self._end = workspace, folder, end
        self._files = MixedFiles(workspace, folder)
        self._scratch = ScratchFolder()
        self._build = copied_build(build, workspace, folder, self._scratch.path, self._run)
        self._cases: dict[str, CCase] = {}  # by name; those of whole programs, too
        # what is built of the project; empty for all, None before the first run
        self._alone: tuple[CCase, ...] | None = None

    def run(
        self, baseline: Baseline, made: Collection[ChangeUnit], tests: Iterable[str], *, fresh: bool = True
    ) -> MixedRun:
        """Build, and run tests with some of the changes since a baseline.

        Raises TimeIsUp when there is no time left.
        """
        names = sorted(tests)
        if self._alone is None:
            # most of a project has nothing to do with its failing tests
            self._alone = self._build.programs(names)
            if self._alone:
                ended = self._run_with(baseline, made, names, fresh)
                if all(name in ended.passed or self._is_recorded(ended.messages.get(name), name) for name in names):
                    return ended
                self._build_all()  # they may need more than their programs
        elif self._alone and not self._cases.keys() >= set(names):
            self._build_all()
        return self._run_with(baseline, made, names, fresh)

    def _is_recorded(self, message: str | None, test: str) -> bool:
        """Whether a test has failed as it did when it was recorded."""
        recorded = self._messages.get(test)
        if message is None or recorded is None:
            return False
        here = message.replace(str(self._folder), str(self._workspace))
        return _NUMBER.sub("#", here) == _NUMBER.sub("#", recorded)

    def _build_all(self) -> None:
        self._alone, self._cases = (), {}

    def _run_with(
        self, baseline: Baseline, made: Collection[ChangeUnit], names: Sequence[str], fresh: bool
    ) -> MixedRun:
        self._files.write(baseline.contents(made))
        self.runs += 1
        known = [self._cases[name] for name in names if name in self._cases]
        # what was built of the rest, and is not built again, a test could take for that of this text
        some = known if not fresh and len(known) == len(names) else ()
        if not self._build.make(self._alone or some):
            return MixedRun(frozenset(), {}, {}, f"they can't be built: {self._build.complaint}", cure=CURE)
        if not self._cases:
            self._list(names)
        passed: set[str] = set()
        failed: dict[str, MixedFailure] = {}
        messages: dict[str, str] = {}
        for name in names:
            if name not in self._cases:
                continue
            verdict, message = self._ended(self._cases[name])
            if verdict is Verdict.PASSED:
                passed.add(name)
            elif verdict.failing:
                messages[name] = message
                # it is the same if the test ends and complains in the same way
                failed[name] = MixedFailure("", _NUMBER.sub("#", message))
        unknown = next((name for name in names if name not in self._cases), "")
        return MixedRun(frozenset(passed), failed, messages, f"the build has no test {unknown}" if unknown else "")

    def _list(self, names: Collection[str]) -> None:
        """List the tests; the cases of their programs only if some of the names are names of these."""
        suite = self._build.suite()
        self._cases = {case.name: case for case in suite.cases}
        if not self._cases.keys() >= set(names):
            self._cases |= {case.name: case for case in divided(suite, self._workspace).cases}

    def _ended(self, case: CCase, waiting: frozenset[str] = frozenset()) -> tuple[Verdict, str]:
        """How a test ends that runs after those that it needs, and before what cleans up after it."""
        waiting = waiting | {case.name}
        others = [one for name, one in self._cases.items() if name not in waiting]
        for one in others:
            if one.name in case.depends or set(one.setup).intersection(case.required):
                ended, _ = self._ended(one, waiting)
                if ended.failing and one.setup:
                    return Verdict.SKIPPED, ""
        found = self._judged(case)
        for one in others:
            if set(one.cleanup).intersection(case.required):
                self._judged(one)
        return found

    def _judged(self, case: CCase) -> tuple[Verdict, str]:
        limited = replace(case, timeout=min(case.timeout or _MAX_TEST_S, _MAX_TEST_S))
        seconds = seconds_until(self._end, limited.timeout or _MAX_TEST_S)
        # profiles of another text would make the runtime of gcov complain
        more = {"GCOV_PREFIX": str(self._scratch.path / f"profiles-{self.runs}")}
        with ScratchFolder() as scratch:
            ended = run_case(case, scratch, current_token(), seconds=seconds, more=more)
        if ended.stopped is Stopped.TIMEOUT:
            seconds_until(self._end)
        return judge(limited, ended)

    def trace(self, baseline: Baseline, made: Collection[ChangeUnit], test: str) -> ValueTrace | None:
        """Run it in a build of its own; None where that can't be made, or the test can't be run alone."""
        self._files.write(baseline.contents(made))
        self.runs += 1
        try:
            targets = targets_of(self._alone or ())
            return values_of_test(self._folder, self._build.folder, self._scratch.path, test, self._end, targets)
        except EvidenceError:
            return None

    def executed(
        self, baseline: Baseline, made: Collection[ChangeUnit], tests: Iterable[str]
    ) -> ExecutedChanges | None:
        """Which files the compiler has read for the programs of the tests; what these execute is known or not."""
        names = list(tests)
        self.run(baseline, made, names)
        programs = {name: Path(case.argv[0]).stem for name, case in self._cases.items() if case.argv}
        others = {*programs.values()} - {programs.get(one) for one in names}
        read = _read_by_compiler(self._build.folder, others)
        folder = str(self._folder)
        own = {os.path.relpath(path, folder) for path in read if path.startswith(folder + os.sep)}
        if not own and self._known:  # nobody has noted it
            own = {path for one in baseline.differences for path in one.paths}
        return ExecutedChanges(self._known, frozenset(), frozenset(own)) if own else None

    def load_nothing_before(self) -> None:
        """Nothing is."""

    def close(self) -> None:
        """Remove the build."""
        self._scratch.remove()

    def _run(
        self, command: Collection[str], folder: Path, more: Mapping[str, str] = MappingProxyType({})
    ) -> ProgramEnded:
        token = current_token()
        token.check()
        name = next(iter(command))
        cure = f"install it: apt-get install {name}" if os.sep not in name else "build the project as before"
        limit = seconds_until(self._end, _MAX_STEP_S)
        environment = {**os.environ, **more}
        program = CommandToRun(tuple(command), str(folder), environment, timeout=limit, guarded=True, cure=cure)
        ended = run(program, token)
        token.check()
        seconds_until(self._end)
        return ended


def _read_by_compiler(build: Path, others: Collection[str | None]) -> set[str]:
    """The files that were read for all targets but some others, as the compiler has noted them for make."""
    found: set[str] = set()
    for noted in build.rglob("*.d"):
        if not any(part.removesuffix(".dir") in others for part in noted.parts if part.endswith(".dir")):
            text = noted.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
            found.update(os.path.normpath(path) for path in text.partition(":")[2].split())
    return found


def by_suspicion(report: RankedReport) -> Executed:
    """What each failing test executes by a ranking, the most suspicious lines last, as if they had run last."""
    spectrum, elements = report.spectrum, report.spectrum.elements
    found: dict[str, list[tuple[str, int]]] = {}
    for name in spectrum.failing_index:
        row = sorted(spectrum.rows[spectrum.test_index[name]].tolist(), key=lambda one: -int(report.position[one]))
        found[name] = [(elements.files[elements.file[one]], int(elements.line[one])) for one in row]
    return found


def tests_to_run(build: Path) -> list[str]:
    """The tests that failed when ctest last ran in a build folder; all of its tests if that is not known.

    Raises EvidenceError when it has none.
    """
    try:
        lines = (build / "Testing" / "Temporary" / "LastTestsFailed.log").read_text(encoding="utf-8").splitlines()
        found = [line.partition(":")[2] for line in lines if ":" in line]
    except OSError:
        found = []
    if not found:
        listed = run(CommandToRun(("ctest", "-N"), str(build), os.environ, cure="install cmake"))
        names = re.findall(r"^\s*Test\s+#\d+:\s(.+)$", listed.stdout.decode("utf-8", "replace"), re.MULTILINE)
        found = [name.strip() for name in names]
    if not found:
        cure = "see what `ctest -N` lists in this folder"
        raise EvidenceError(Problem(str(build), "", "ctest finds no tests there", cure))
    return found
