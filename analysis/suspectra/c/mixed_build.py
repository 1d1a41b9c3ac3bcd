"""Running tests of CTest with only some of the changes: in a copy, of which only what changed is built again."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from suspectra.base.cancellation import current_token
from suspectra.base.deadline import seconds_until
from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.cmake_cache import cache_entries, cache_script
from suspectra.c.recording.case import COMPLAINT
from suspectra.changes.baselines import Baseline
from suspectra.changes.mixed_files import MixedFiles
from suspectra.changes.mixed_tests import ExecutedChanges, MixedFailure, MixedRun
from suspectra.changes.units import ChangeUnit
from suspectra.changes.value_trace import ValueTrace
from suspectra.processes.events import ProgramEnded
from suspectra.processes.runner import CommandToRun, run
from suspectra.processes.scratch import ScratchFolder
from suspectra.report import RankedReport

_MAX_STEP_S = 600.0
"""For one build, or all tests."""
_JOBS = "2"
_RESULT = re.compile(r"\s*\d+/\d+\s+Test\s+#\d+:\s(?P<name>.+?)\s\.+\s*(?P<how>.*?)\s+[\d.]+ sec\s*$")
_SUMMARY = re.compile(r"^\d+% tests passed")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\d+(\.\d+)?")  # addresses differ in each run


Executed = Mapping[str, Sequence[tuple[str, int]]]
"""The files and lines that tests execute in the present text, by test."""


class MixedBuild:
    """A second build of a CMake project in a copy of the workspace.

    Raises EvidenceError when the folder is none of CMake, or its sources are outside of the workspace.
    """

    def __init__(
        self, workspace: Path, folder: Path, build: Path, end: float = math.inf, known: Executed | None = None
    ):
        self.runs = 0
        self._known = known or {}
        self._folder, self._end = folder, end
        self._files = MixedFiles(workspace, folder)
        self._scratch = ScratchFolder()
        self._build = self._scratch.path / "build"
        entries = cache_entries(build)
        home = Path(os.path.realpath(entries.pop("CMAKE_HOME_DIRECTORY")))
        generator = entries.pop("CMAKE_GENERATOR", "")
        if not home.is_relative_to(workspace):
            cause = f"its sources are in {home}, outside of the workspace"
            raise EvidenceError(Problem(str(build), "", cause, "name the folder of the sources with --workspace"))
        moved = {name: value.replace(str(workspace), str(folder)) for name, value in entries.items()}
        script = self._scratch.path / "settings.cmake"
        script.write_text(cache_script(moved), encoding="utf-8")
        sources = folder / home.relative_to(workspace)
        self._configure = ["cmake", "-C", str(script), "-S", str(sources), "-B", str(self._build)]
        self._configure += ["-G", generator] if generator else []
        self._environment = dict(os.environ)
        self._is_configured = False
        self._programs: dict[str, str] = {}  # by test, the target of CMake that makes its program

    def run(
        self, baseline: Baseline, made: Collection[ChangeUnit], tests: Iterable[str], *, fresh: bool = True
    ) -> MixedRun:
        """Build, and run tests with some of the changes since a baseline.

        Raises TimeIsUp when there is no time left.
        """
        self._files.write(baseline.contents(made))
        self.runs += 1
        if not self._is_configured:
            self._is_configured = not self._run(self._configure).status
        names = sorted(tests)
        if not self._made(names, fresh=fresh):
            return MixedRun(frozenset(), {}, {}, "it can't be built")
        chosen = "|".join(map(re.escape, names))
        # profiles of another text would make the runtime of gcov complain
        self._environment["GCOV_PREFIX"] = str(self._scratch.path / f"profiles-{self.runs}")
        ended = self._run(["ctest", "--output-on-failure", "-R", f"^({chosen})$"], self._build)
        return _ended(ended.stdout.decode("utf-8", "replace"))

    def _made(self, tests: Sequence[str], *, fresh: bool) -> bool:
        """Build everything, or just the programs of some tests if these are known."""
        build = ["cmake", "--build", str(self._build), "--parallel", _JOBS]
        programs = {self._programs.get(test, "") for test in tests}
        if fresh or "" in programs:
            made = not self._run(build).status
            if made and not self._programs:
                listed = self._run(["ctest", "--show-only=json-v1"], self._build)
                self._programs = dict(_programs(listed.stdout, self._build))
            return made
        return not self._run([*build, "--target", *sorted(programs)]).status

    def trace(self, baseline: Baseline, made: Collection[ChangeUnit], test: str) -> ValueTrace | None:
        """Values of compiled programs are not noted."""
        return None

    def executed(
        self, baseline: Baseline, made: Collection[ChangeUnit], tests: Iterable[str]
    ) -> ExecutedChanges | None:
        """Which files the compiler has read for the programs of the tests; what these execute is known or not."""
        names = list(tests)
        self.run(baseline, made, names)
        read = _read_by_compiler(self._build, {*self._programs.values()} - {self._programs.get(one) for one in names})
        folder = str(self._folder)
        own = {os.path.relpath(path, folder) for path in read if path.startswith(folder + os.sep)}
        return ExecutedChanges(self._known, frozenset(), frozenset(own)) if own else None

    def load_nothing_before(self) -> None:
        """Nothing is."""

    def close(self) -> None:
        """Remove the build."""
        self._scratch.remove()

    def _run(self, command: list[str], folder: Path | None = None) -> ProgramEnded:
        token = current_token()
        token.check()
        cure = f"install it: apt-get install cmake, which brings {command[0]}"
        limit = seconds_until(self._end, _MAX_STEP_S)
        where = str(folder or self._folder)
        program = CommandToRun(tuple(command), where, self._environment, timeout=limit, guarded=True, cure=cure)
        ended = run(program, token)
        token.check()
        seconds_until(self._end)
        return ended


def _ended(printed: str) -> MixedRun:
    """How tests ended, by what ctest prints. A failure is the same if it ends and complains in the same way."""
    passed: set[str] = set()
    failed: dict[str, MixedFailure] = {}
    messages: dict[str, str] = {}
    last = ""
    for line in printed.splitlines():
        if found := _RESULT.match(line):
            last = "" if found["how"] == "Passed" else found["name"]
            if last:
                failed[last] = MixedFailure(found["how"].strip("*: "), "")
            else:
                passed.add(found["name"])
        elif _SUMMARY.search(line):
            last = ""  # what follows is about no test
        elif last and last not in messages and COMPLAINT.search(line):
            messages[last] = line.strip()
            failed[last] = failed[last]._replace(place=_NUMBER.sub("#", line.strip()))
    return MixedRun(frozenset(passed), failed, messages)


def _programs(listed: bytes, build: Path) -> Iterator[tuple[str, str]]:
    """The tests whose program is made in the build folder, each with its target, which has the name of the program."""
    try:
        tests = json.loads(listed)["tests"]
    except (ValueError, KeyError):
        return
    for test in tests:
        command = test.get("command", ())
        if command and Path(command[0]).is_relative_to(build):
            yield test["name"], Path(command[0]).stem


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
