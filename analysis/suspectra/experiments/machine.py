"""Machines: processes that have collected tests and run them on request, each time in a child of their own.

Where programs can't fork, each run is a process that collects the test again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from suspectra.base.cancellation import check
from suspectra.base.deadline import TimeIsUp, seconds_until
from suspectra.base.errors import EvidenceError, Problem, SuspectraError
from suspectra.base.operating_system import ELSEWHERE, FORK, require
from suspectra.experiments.altered_runs import Alteration, Runs
from suspectra.experiments.collection_problems import first_line, not_collected
from suspectra.experiments.run_answers import AlteredRunAnswer, Trace, answer_of
from suspectra.processes.events import ProgramEnded
from suspectra.processes.runner import CommandToRun, Streams, run
from suspectra.processes.scratch import ScratchFolder
from suspectra.processes.waiting import WaitingProcess
from suspectra_recorder.experiments.messages import UNMADE, Greeting, MachineRunAnswer, Request, RunRequest
from suspectra_recorder.experiments.start_request import StartRequest

START_S = 120.0
"""For collecting the tests of a module: large projects import for a minute."""

MEMORY, FILE_SIZE = 2 << 30, 64 << 20
"""Bytes that an altered run may take besides what the waiting process has, and may write into a file."""

_ANSWER_S = 5.0
"""How much longer than its own limits allow a process may take to answer, or to end, on a busy machine."""


class Machine(Runs):
    """A process that has collected some tests of a module, and waits.

    Raises EvidenceError when the tests can't be collected. Raises TimeIsUp when they are not collected in time,
    UsageError where processes can't fork.
    """

    together = True

    def __init__(
        self,
        command: Sequence[str],
        workspace: Path,
        file: str,
        tests: Sequence[str],
        kinds: Sequence[str] = (),
        excluded: Sequence[str] = (),  # the names of markers; tests that have one are never run
        original: Path | None = None,
        notices: list[Problem] | None = None,
        end: float = math.inf,
        meanwhile: Callable[[], object] = lambda: None,
        others: Sequence[str] = (),  # more modules that are collected with it
    ):
        super().__init__()
        require(FORK, "following a test step by step", f"{ELSEWHERE}; `suspectra investigate` works here, too")
        self._command, self._file, self.workspace = tuple(command), file, workspace
        self._scratch = ScratchFolder()

        def program_for(channel: int) -> CommandToRun:
            environment = dict(os.environ)
            order = StartRequest(
                str(workspace),
                tuple(tests),
                tuple(kinds),
                str(self._scratch.path),
                tuple(excluded),
                str(original or workspace),
                channel=channel,
            )
            order.put_into(environment)
            arguments = arguments_for((file, *others), tests, command, workspace)
            return CommandToRun(arguments, str(workspace), environment, Streams.EVENTS)

        self._process = WaitingProcess(program_for)
        try:
            meanwhile()
            greeting = self._greeting(file, end)
        except BaseException:
            self.close()
            raise
        self.tests = frozenset(greeting["tests"])  # those that were collected
        # what is different from a run by pytest itself
        self.notices: list[Problem] = [] if notices is None else notices
        self.notices += _left_out(greeting["left_out"], self.notices)
        # the names of threads that were started before the tests, and do not run in them
        self.threads = tuple(greeting["threads"])
        self.sources = greeting["sources"]  # the digests of the sources of the workspace that were loaded, by path
        self._greeted = greeting
        # whether all tests were collected, but for those that are not to be run
        self.complete = self.tests.union(greeting.get("excluded", {})).issuperset(tests)

    def _greeting(self, file: str, end: float) -> Greeting:
        cause = f"it was not collected within {START_S:.0f} s"
        late = Problem(file, "", cause, "look at what it does while it is imported")
        seconds = START_S + _ANSWER_S
        line = first_line(self._process, self._command, file, seconds=seconds, end=end, late=late)
        greeting: Greeting = json.loads(line)
        return greeting

    def ask(
        self,
        test: str,
        jobs: Sequence[RunRequest],
        *,
        steps: int,
        seconds: float,
        end: float = math.inf,
        keep: bool = False,
        shared: bool = False,
        directly: bool = False,
    ) -> list[MachineRunAnswer]:
        """Run a test once for each job, in one process as long as that lives."""
        what = request(test, jobs, steps=steps, seconds=seconds, end=end)
        if keep:
            what["keep"] = True
        if keep and shared and not self._touched.get(test):
            what["shared"] = True
        if directly:
            what["directly"] = True
        return self._ask(what, len(jobs))

    def fork(
        self, test: str, alterations: Sequence[Alteration], *, steps: int, seconds: float, end: float = math.inf
    ) -> tuple[list[AlteredRunAnswer], Trace | None]:
        """Run a test unaltered, and fork it where it is to be altered."""
        jobs = [alteration.to_json() for alteration in alterations]
        what: Request = {**request(test, jobs, steps=steps, seconds=seconds, end=end), "fork": True}
        answers = self._ask(what, len(jobs) + 1)
        by_job = {answer["job"]: answer for answer in answers if "job" in answer}
        crashed: MachineRunAnswer = {"outcome": "crashed", "exception": "", "seconds": 0.0}
        control = by_job.get(len(jobs))
        return (
            [answer_of(by_job.get(job, crashed)) for job in range(len(jobs))],
            None if control is None else Trace.from_answer(control),
        )

    def forked(
        self,
        test: str,
        jobs: Sequence[RunRequest],
        *,
        steps: int,
        seconds: float,
        end: float = math.inf,
    ) -> list[MachineRunAnswer | None]:
        """Run a test unaltered, and fork it where the function that all jobs edit is first executed.

        None for jobs that were not reached, can't be done like this, or were not run in time.
        """
        what: Request = {**request(test, jobs, steps=steps, seconds=seconds, end=end), "fork": True, "directly": True}
        answers: Sequence[MachineRunAnswer]
        try:
            answers = self._ask(what, len(jobs) + 1)
        except TimeIsUp as cut:
            answers = cut.answers
        by_job = {answer["job"]: answer for answer in answers if "job" in answer}
        found = [by_job.get(number) for number in range(len(jobs))]
        return [None if one is None or one["outcome"] == "not reached" else one for one in found]

    def _ask(self, what: Request, answers: int) -> list[MachineRunAnswer]:
        if what["test"] not in self.tests:
            raise EvidenceError(not_collected(self._file, what["test"], self._greeted))
        self._send(self.knowing_what_it_touches(what))
        try:
            # it sees to the limits itself, so it is late only where it hangs
            lines = self._process.lines(2 * what["seconds"] + _ANSWER_S)
            found: list[MachineRunAnswer] = [json.loads(line) for line in islice(lines, answers)]
        except (EOFError, TimeoutError, ValueError):  # or altered code has answered itself
            raise _gone() from None
        made = [answer for answer in found if answer["outcome"] != UNMADE]
        for answer in made:
            self._learn(what["test"], answer)
            self.notices += _noticed(answer, self.notices)
        if len(made) < len(found):
            raise TimeIsUp(made)
        return made

    def _send(self, what: Request) -> None:
        try:
            self._process.send(what)
        except OSError:
            raise _gone() from None

    def close(self) -> None:
        """End it, and whatever its tests left running."""
        self._process.close()
        self._scratch.remove()

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FreshRuns(Runs):
    """Runs a test in a new process each time; slow, and all there is where programs can't fork."""

    def __init__(
        self,
        command: Sequence[str],
        workspace: Path,
        file: str,
        excluded: Sequence[str] = (),  # the names of markers; tests that have one are never run
        original: Path | None = None,
        notices: list[Problem] | None = None,
    ):
        super().__init__()
        self._original = str(original or workspace)
        # a list that others have, too, to which notices are added
        self.notices: list[Problem] = [] if notices is None else notices
        self._command, self.workspace, self._file = tuple(command), workspace, file
        self._excluded = tuple(excluded)

    def ask(
        self,
        test: str,
        jobs: Sequence[RunRequest],
        *,
        steps: int,
        seconds: float,
        end: float = math.inf,
        keep: bool = False,
        shared: bool = False,
        directly: bool = False,
    ) -> list[MachineRunAnswer]:
        """Run a test once for each job, each in a process of its own."""
        return [self._answer(request(test, [job], steps=steps, seconds=seconds, end=end)) for job in jobs]

    def _answer(self, what: Request) -> MachineRunAnswer:
        check()
        with ScratchFolder() as scratch:
            return self._answer_in(scratch, what)

    def _answer_in(self, scratch: Path, what: Request) -> MachineRunAnswer:
        test, seconds = what["test"], what["seconds"]
        kinds = tuple(job["kind"] for job in what["jobs"])
        order = StartRequest(
            str(self.workspace),
            (test,),
            kinds,
            str(scratch),
            self._excluded,
            self._original,
            requests=json.dumps([self.knowing_what_it_touches(what)]),
        )
        most, left = seconds + START_S, what.get("all_seconds", math.inf)
        ended, greeting, found = run_once(self._command, order, self._file, min(most, left))
        if found:
            answer: MachineRunAnswer = found[0]
            self._learn(test, answer)
            self.notices += _noticed(answer, self.notices)
            return answer
        if ended.stopped is not None and left < most:
            raise TimeIsUp
        if greeting is None or test not in greeting["tests"]:
            raise EvidenceError(not_collected(self._file, test, greeting))
        return cut_off(stopped=ended.stopped is not None, seconds=ended.seconds)

    def close(self) -> None:
        """Nothing is left."""


def request(test: str, jobs: Sequence[RunRequest], *, steps: int, seconds: float, end: float = math.inf) -> Request:
    """What a machine is asked.

    Raises TimeIsUp when there is no time left.
    """
    what: Request = {
        "test": test,
        "jobs": list(jobs),
        "steps": steps,
        "seconds": seconds,
        "memory": MEMORY,
        "file_size": FILE_SIZE,
    }
    if end < math.inf:
        what["all_seconds"] = seconds_until(end)
    return what


def run_once(
    command: Sequence[str], order: StartRequest, file: str, timeout: float
) -> tuple[ProgramEnded, Greeting | None, list[MachineRunAnswer]]:
    """Run what is ordered in a process that then ends; how it ended, its greeting if it had one, and its answers."""
    answers = Path(order.scratch) / "answers"
    answers.touch()
    environment = dict(os.environ)
    replace(order, answers=str(answers)).put_into(environment)
    arguments = arguments_for((file,), order.tests, command, order.workspace)
    ended = run(CommandToRun(arguments, order.workspace, environment, timeout=timeout, guarded=True))
    return ended, *answers_in(answers)


def answers_in(file: Path) -> tuple[Greeting | None, list[MachineRunAnswer]]:
    """The greeting of a process that has ended, if it had one, and its answers."""
    greeting, *found = [json.loads(line) for line in file.read_bytes().splitlines()] or [None]
    return greeting, found


def cut_off(*, stopped: bool, seconds: float) -> MachineRunAnswer:
    """The answer of a process that ended without one."""
    return {"outcome": "timeout" if stopped else "crashed", "exception": "", "seconds": seconds}


def _gone() -> SuspectraError:
    return EvidenceError(Problem("", "", "the process that runs the tests has ended", "run it again"))


def _noticed(answer: MachineRunAnswer, known: Sequence[Problem]) -> list[Problem]:
    """What is different in a run from one by pytest itself."""
    slow = [
        Problem("", "", f"each run sets up {fixture} anew, which takes long", "choose tests that do without it")
        for fixture in answer.get("slow_fixtures", ())
    ]
    return [*(one for one in slow if one not in known), *_left_out(answer.get("left_out", {}), known)]


def arguments_for(
    files: Iterable[str], tests: Collection[str], command: Sequence[str], workspace: str | os.PathLike[str]
) -> tuple[str, ...]:
    """The command line with which pytest collects tests of some modules."""
    modules = tuple(files)
    options = dict.fromkeys(option for one in modules for option in _for_doctests(one, tests))
    return (*command, *options, *(os.path.join(workspace, one) for one in modules))


def _for_doctests(file: str, tests: Iterable[str]) -> list[str]:
    """What lets pytest find doctests of a module, which unittest may have found; they have the name of the module."""
    module = f".{file.removesuffix('.py').removesuffix('/__init__')}".replace("/", ".")
    inside = (test.removeprefix(f"{file}::").split(".") for test in tests if test.startswith(f"{file}::"))
    names = (".".join(parts[:count]) for parts in inside for count in range(1, len(parts) + 1))
    return ["--doctest-modules"] if file.endswith(".py") and any(module.endswith(f".{name}") for name in names) else []


def _left_out(failures: Mapping[str, str], known: Sequence[Problem]) -> list[Problem]:
    """The files in which nothing is altered or traced."""
    whole = "report it; the file runs as it is, and nothing in it is altered or traced"
    functions = "switch that off to have them altered or traced, too"
    found = [
        Problem(file, "", cause, whole if cause.startswith("could not be instrumented") else functions)
        for file, cause in failures.items()
    ]
    return [problem for problem in found if problem not in known]
