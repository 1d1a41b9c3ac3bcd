"""Running tests with only some of the changes: in a copy of the workspace, so the user's files are never touched."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from suspectra.base.deadline import seconds_until
from suspectra.base.errors import Problem
from suspectra.base.operating_system import FORK, require
from suspectra.changes.baselines import Baseline
from suspectra.changes.mixed_files import MixedFiles
from suspectra.changes.mixed_tests import ExecutedChanges, MixedFailure, MixedRun
from suspectra.changes.units import ChangeUnit
from suspectra.changes.value_trace import MAX_VALUES, ValueTrace
from suspectra.experiments.collection_problems import first_line
from suspectra.experiments.dependences import read_columns
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.processes.runner import CommandToRun, Streams
from suspectra.processes.scratch import ScratchFolder
from suspectra.processes.waiting import WaitingProcess
from suspectra.program.languages import is_python
from suspectra_recorder.experiments.mixed_messages import KIND, MixedAnswer, MixedGreeting, MixedRequest
from suspectra_recorder.experiments.start_request import StartRequest

_MIXED_START_S = 60.0
"""For pytest and its plugins."""
_FIRST_S = 120.0
"""For importing the program and running the tests, as long as nobody knows how long that takes."""
_FACTOR, _LEAST_S = 10, 2.0
"""Tests with other changes may take so many times as long as in the first run, and a run at least so long."""
_WITHOUT_S = 15.0
"""For a run without any change, at least: nobody knows yet how long the tests take that pass."""
_LOADING_FACTOR = 3
"""The same for a run with all that is loaded, which later ones find in memory."""
_HANGING_S = 2.0
"""For a test that hangs with all changes, as long as nobody knows how long it takes without."""
_TRACED = 5
"""How many times as long a run may take of which each line is noted."""
_PASSED = ("passed", "xpassed")
_FAILED = ("failed", "error")


class MixedProgram:
    """A copy of the workspace in which any of the changes since a baseline can be made.

    Raises EvidenceError when pytest can't be started. Raises UsageError where processes can't fork.
    """

    preparing = "collecting the tests in a copy of the workspace"

    def __init__(self, setup: RerunSetup, folder: Path, tests: Sequence[FailingTest], end: float = math.inf):
        require(FORK, "running tests with some of the changes", "use WSL, or `git bisect`")
        self.runs = 0  # how many there were
        self._setup, self._folder, self._end = setup, folder, end
        self._tests = {test.name: test for test in tests}
        # how long those may take that hang with all changes
        self._limits = {test.name: _HANGING_S for test in tests if test.hangs_s}
        self._uncollected = any(test.uncollected for test in tests)
        self._modules: list[str] = []
        self._process: WaitingProcess | None = None
        self._again = False  # whether a process that was started can make several runs
        self._used = False  # whether it has made one
        self._seconds = _FIRST_S
        self._loading = 0.0  # how long it takes to load the program
        self._passing: dict[str, float] = {}  # how long tests take at most that pass
        self._scratch = ScratchFolder()
        self._files = MixedFiles(setup.workspace, folder)

    def run(
        self, baseline: Baseline, made: Collection[ChangeUnit], tests: Iterable[str], *, fresh: bool = True
    ) -> MixedRun:
        """Run tests with some of the changes since a baseline.

        Unless `fresh`, functions may just get other code where that is enough: what they did at import is not repeated.

        Raises TimeIsUp when there is no time left.
        """
        names = [name for name in tests if name in self._tests]
        contents = baseline.contents(made)
        # where a module can't be collected, what can't be compiled may be why
        if not self._uncollected and not all(_compiles(path, text) for path, text in contents.items()):
            return MixedRun(frozenset(), {}, {}, "it can't be compiled")
        self._files.write(contents)
        self.runs += 1
        begin = time.monotonic()
        self._get_ready()
        ready = time.monotonic()
        answer = self._asked(names, sorted(contents), fresh=fresh, without=bool(baseline.units) and not made)
        for name, one in answer.get("tests", {}).items():
            if one["verdict"] in _PASSED:
                self._passing[name] = max(self._passing.get(name, 0.0), one["seconds"])
                if name in self._limits:
                    self._limits[name] = max(_LEAST_S / 2, _FACTOR * one["seconds"])
        if not self._modules and "modules" in answer:
            self._modules = answer["modules"]
            took, all_of_it = sum(one["seconds"] for one in answer["tests"].values()), time.monotonic() - begin
            self._loading = max(time.monotonic() - ready - took, 0.0)
            self._seconds = max(_LEAST_S, _FACTOR * took, _LOADING_FACTOR * all_of_it)
        return _run_of(answer, uncollected=self._uncollected)

    def trace(self, baseline: Baseline, made: Collection[ChangeUnit], test: str) -> ValueTrace | None:
        """Run a test with some of the changes since a baseline, and note values; None where that is not possible.

        Raises TimeIsUp when there is no time left.
        """
        contents = baseline.contents(made)
        self._files.write(contents)
        self.runs += 1
        columns = self._scratch.file(f"columns-{self.runs}")
        answer = self._asked([test], sorted(contents), columns=columns)
        if "dependences" not in answer:
            return None
        return ValueTrace.from_answer(answer["dependences"], read_columns(Path(columns)), self._source)

    def executed(
        self, baseline: Baseline, made: Collection[ChangeUnit], tests: Iterable[str]
    ) -> ExecutedChanges | None:
        """Run tests with some of the changes, and see what they execute; None where that is not possible.

        Raises TimeIsUp when there is no time left.
        """
        contents = baseline.contents(made)
        self._files.write(contents)
        self.runs += 1
        answer = self._asked(list(tests), sorted(contents), lines=True)
        if "executed" not in answer:
            return None
        by_test = {name: [(file, line) for file, line in lines] for name, lines in answer["executed"].items()}
        imported = frozenset((file, line) for file, line in answer["imported"])
        return ExecutedChanges(by_test, imported, frozenset(answer["opened"]))

    def _source(self, path: str) -> bytes:
        return (self._folder / path).read_bytes()

    def load_nothing_before(self) -> None:
        """Let each run load by itself what it needs, in a process that has loaded nothing of that."""
        self._modules = []
        self._stop()

    def _asked(
        self,
        names: list[str],
        files: list[str],
        *,
        fresh: bool = True,
        columns: str = "",
        lines: bool = False,
        without: bool = False,  # whether none of the changes is made, so that tests may take as long as they need
    ) -> MixedAnswer:
        self._get_ready()
        assert self._process is not None
        seconds = max(self._seconds, _WITHOUT_S) if without else self._seconds_for(names)
        limit = seconds_until(self._end, seconds * (_TRACED if lines or columns else 1))
        request: MixedRequest = {
            "tests": names,
            "seconds": limit,
            "limits": {} if columns else {name: self._limit(name, without) for name in names if name in self._limits},
            "modules": self._modules,
            "files": files,
            "fresh": fresh or not self._again,
            "columns": columns,
            "most": MAX_VALUES,
            "lines": lines,
        }
        self._used = True
        try:
            self._process.send(request)
            answer: MixedAnswer = json.loads(next(self._process.lines(limit + _LEAST_S)))
        except (OSError, EOFError):  # it was ended by what it ran, or a module that it loaded before
            self.load_nothing_before()
            return {}
        return answer

    def _get_ready(self) -> None:
        """Start pytest, unless it waits already."""
        if self._process is None or (self._used and not self._again):
            self._stop()
            self._start()

    def _seconds_for(self, names: Collection[str]) -> float:
        """How long a run of some tests may take: of those that were seen to pass it is known how long they need."""
        if not self._passing.keys() >= set(names):
            return self._seconds
        known = _FACTOR * sum(self._passing[name] for name in names)
        return min(self._seconds, max(2 * _LEAST_S, known, 2 * _LOADING_FACTOR * self._loading))

    def _limit(self, name: str, without: bool) -> float:
        return max(self._limits[name], self._tests[name].hangs_s) if without else self._limits[name]

    def _start(self) -> None:
        files = sorted({test.file for test in self._tests.values()})

        def program_for(channel: int) -> CommandToRun:
            environment = dict(os.environ)
            order = StartRequest(
                str(self._folder),
                tuple(self._tests),
                (KIND,),
                str(self._scratch.path),
                tuple(self._setup.safety.excluded),
                str(self._setup.workspace),
                channel=channel,
            )
            order.put_into(environment)
            arguments = (*self._setup.command, "-p", "no:cacheprovider", *files)
            return CommandToRun(arguments, str(self._folder), environment, Streams.EVENTS)

        self._process, self._used = WaitingProcess(program_for), False
        late = Problem(files[0], "", "pytest did not start in time", "look at what its plugins do")
        command, seconds, end = self._setup.command, _MIXED_START_S, self._end
        line = first_line(self._process, command, files[0], seconds=seconds, end=end, late=late)
        greeting: MixedGreeting = json.loads(line)
        self._again = greeting["again"]

    def _stop(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def close(self) -> None:
        """End all processes."""
        self._stop()
        self._scratch.remove()


def _run_of(answer: MixedAnswer, *, uncollected: bool) -> MixedRun:
    """What a process has answered; tests that can't be collected have failed where the question is about that."""
    tests = answer.get("tests", {})
    tests = {**tests, **answer.get("uncollected", {})} if uncollected else tests
    bad = {name: one for name, one in tests.items() if one["verdict"] in _FAILED}
    return MixedRun(
        frozenset(name for name, one in tests.items() if one["verdict"] in _PASSED),
        {name: MixedFailure(one["exception"], one["place"]) for name, one in bad.items()},
        {name: one["message"] for name, one in bad.items()},
        answer.get("error", ""),
        answer.get("exchanged", False),
        bool(answer),
    )


@lru_cache(maxsize=256)
def _compiles(path: str, text: bytes | None) -> bool:
    """Whether a mixture can be Python: of the newest syntax, only the interpreter of the tests knows."""
    if text is None or not is_python(path):
        return True
    try:
        compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
