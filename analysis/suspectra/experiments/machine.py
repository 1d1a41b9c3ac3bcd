"""Machines: processes that have collected tests and run them on request, each time in a child of their own.

Where programs can't fork, each run is a process that collects the test again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from suspectra.cancellation import check
from suspectra.errors import EvidenceError, Problem, SuspectraError
from suspectra.experiments.answers import Answer, Trace, answer_of
from suspectra.experiments.deadline import TimeIsUp, seconds_until
from suspectra.experiments.not_collected import ended_early, not_collected
from suspectra.experiments.runs import Alteration, Runs
from suspectra.operating_system import ELSEWHERE, FORK, require
from suspectra.processes.events import Ended
from suspectra.processes.runner import Program, Streams, run
from suspectra.processes.scratch import ScratchFolder
from suspectra.processes.waiting import WaitingProcess
from suspectra_recorder.experiments.exchange import UNMADE, Greeting, Job, Request, RunAnswer
from suspectra_recorder.experiments.order import Order

START_S = 120.0
"""For collecting the tests of a module: large projects import for a minute."""

MEMORY, FILE_SIZE = 2 << 30, 64 << 20
"""Bytes that an altered run may take besides what the waiting process has, and may write into a file."""

_ANSWER_S = 5.0
"""How much longer than its own limits allow a process may take to answer, or to end, on a busy machine."""


class Machine(Runs):
    r"""A process that has collected some tests of a module, and waits.

    Parameters
    ----------
    command : sequence of str
        What runs pytest: program and arguments, without tests.
    workspace : Path
        Where it runs.
    file : str
        The test module, relative to the workspace.
    tests : sequence of str
        The node ids of its tests that will be asked for.
    kinds : sequence of str
        The kinds of jobs that will be asked for, besides those that need no preparation.
    excluded : sequence of str
        The names of markers; tests that have one are never run.
    original : Path, optional
        The folder whose copy `workspace` is.
    notices : list of Problem, optional
        A list that others have, too, to which notices are added.
    end : float
        When the tests have to be collected, as ``time.monotonic`` has it.
    meanwhile : callable
        Called while they are collected.

    Attributes
    ----------
    tests : frozenset of str
        Those that were collected.
    sources : mapping of str to str
        The digests of the sources of the workspace that were loaded, by path.
    notices : list of Problem
        What is different from a run by pytest itself.
    threads : tuple of str
        The names of threads that were started before the tests, and do not run in them.

    Raises
    ------
    EvidenceError
        When the tests can't be collected.
    TimeIsUp
        When they are not collected in time.
    UsageError
        Where processes can't fork.

    Examples
    --------
    >>> import sys
    >>> _ = (folder / "cart.py").write_text("def price(free):\n    return 0 if free else 20\n")
    >>> test = "from cart import price\n\ndef test_price():\n    assert price(True) == 20\n"
    >>> _ = (folder / "test_cart.py").write_text(test)
    >>> command, name = [sys.executable, "-m", "pytest"], "test_cart.py::test_price"
    >>> with Machine(command, folder, "test_cart.py", [name]) as machine:
    ...     switch = {"kind": "switch", "file": "cart.py", "number": 0, "instance": 1, "action": "other"}
    ...     answers = machine.ask(name, [{"kind": "plain"}, switch], steps=100, seconds=10)
    >>> [answer["outcome"] for answer in answers], sorted(machine.sources)
    (['failed', 'passed'], ['cart.py', 'test_cart.py'])
    """

    together = True

    def __init__(
        self,
        command: Sequence[str],
        workspace: Path,
        file: str,
        tests: Sequence[str],
        kinds: Sequence[str] = (),
        excluded: Sequence[str] = (),
        original: Path | None = None,
        notices: list[Problem] | None = None,
        end: float = math.inf,
        meanwhile: Callable[[], object] = lambda: None,
    ):
        require(FORK, "following a test step by step", f"{ELSEWHERE}; `suspectra investigate` works here, too")
        self._command, self._file, self.workspace = tuple(command), file, workspace
        self._scratch = ScratchFolder()

        def program_for(channel: int) -> Program:
            environment = dict(os.environ)
            order = Order(
                str(workspace),
                tuple(tests),
                tuple(kinds),
                str(self._scratch.path),
                tuple(excluded),
                str(original or workspace),
                channel=channel,
            )
            order.put_into(environment)
            arguments = (*command, *_for_doctests(file, tests), str(workspace / file))
            return Program(arguments, str(workspace), environment, Streams.EVENTS)

        self._process = WaitingProcess(program_for)
        try:
            meanwhile()
            greeting = self._greeting(file, end)
        except BaseException:
            self.close()
            raise
        self.tests = frozenset(greeting["tests"])
        self.notices: list[Problem] = [] if notices is None else notices
        self.notices += _left_out(greeting["left_out"], self.notices)
        self.threads = tuple(greeting["threads"])
        self.sources = greeting["sources"]
        self._greeted = greeting

    def _greeting(self, file: str, end: float) -> Greeting:
        try:
            greeting: Greeting = json.loads(next(self._process.lines(seconds_until(end, START_S + _ANSWER_S))))
            return greeting
        except EOFError:
            self._process.ended()
            if self._process.error is not None:
                raise self._process.error from None
            raise EvidenceError(ended_early(file, self._process.printed, self._command)) from None
        except TimeoutError:
            seconds_until(end)
            cause = f"it was not collected within {START_S:.0f} s"
            raise EvidenceError(Problem(file, "", cause, "look at what it does while it is imported")) from None

    def ask(
        self, test: str, jobs: Sequence[Job], *, steps: int, seconds: float, end: float = math.inf, keep: bool = False
    ) -> list[RunAnswer]:
        """Run a test once for each job, in one process as long as that lives."""
        what = request(test, jobs, steps=steps, seconds=seconds, end=end)
        return self._ask({**what, "keep": True} if keep else what, len(jobs))

    def fork(
        self, test: str, alterations: Sequence[Alteration], *, steps: int, seconds: float, end: float = math.inf
    ) -> tuple[list[Answer], Trace | None]:
        """Run a test unaltered, and fork it where it is to be altered."""
        jobs = [alteration.to_json() for alteration in alterations]
        what: Request = {**request(test, jobs, steps=steps, seconds=seconds, end=end), "fork": True}
        answers = self._ask(what, len(jobs) + 1)
        by_job = {answer["job"]: answer for answer in answers if "job" in answer}
        crashed: RunAnswer = {"outcome": "crashed", "exception": "", "seconds": 0.0}
        control = by_job.get(len(jobs))
        return (
            [answer_of(by_job.get(job, crashed)) for job in range(len(jobs))],
            None if control is None else Trace.from_answer(control),
        )

    def _ask(self, what: Request, answers: int) -> list[RunAnswer]:
        if what["test"] not in self.tests:
            raise EvidenceError(not_collected(self._file, what["test"], self._greeted))
        self._send(what)
        try:
            # it sees to the limits itself, so it is late only where it hangs
            lines = self._process.lines(2 * what["seconds"] + _ANSWER_S)
            found: list[RunAnswer] = [json.loads(line) for line in islice(lines, answers)]
        except (EOFError, TimeoutError):
            raise _gone() from None
        made = [answer for answer in found if answer["outcome"] != UNMADE]
        for answer in made:
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
    r"""Runs a test in a new process each time; slow, and all there is where programs can't fork.

    Parameters
    ----------
    command : sequence of str
        What runs pytest: program and arguments, without tests.
    workspace : Path
        Where it runs.
    file : str
        The test module, relative to the workspace.
    excluded : sequence of str
        The names of markers; tests that have one are never run.
    original : Path, optional
        The folder whose copy `workspace` is.
    notices : list of Problem, optional
        A list that others have, too, to which notices are added.

    Examples
    --------
    >>> import sys
    >>> _ = (folder / "test_cart.py").write_text("def test_price():\n    assert 20 > 21\n")
    >>> runs = FreshRuns([sys.executable, "-m", "pytest"], folder, "test_cart.py")
    >>> answer, = runs.ask("test_cart.py::test_price", [{"kind": "plain"}], steps=100, seconds=10)
    >>> answer["outcome"], answer["exception"]
    ('failed', 'AssertionError')
    """

    def __init__(
        self,
        command: Sequence[str],
        workspace: Path,
        file: str,
        excluded: Sequence[str] = (),
        original: Path | None = None,
        notices: list[Problem] | None = None,
    ):
        self._original = str(original or workspace)
        self.notices: list[Problem] = [] if notices is None else notices
        self._command, self.workspace, self._file = tuple(command), workspace, file
        self._excluded = tuple(excluded)

    def ask(
        self, test: str, jobs: Sequence[Job], *, steps: int, seconds: float, end: float = math.inf, keep: bool = False
    ) -> list[RunAnswer]:
        """Run a test once for each job, each in a process of its own."""
        return [self._answer(request(test, [job], steps=steps, seconds=seconds, end=end)) for job in jobs]

    def _answer(self, what: Request) -> RunAnswer:
        check()
        with ScratchFolder() as scratch:
            return self._answer_in(scratch, what)

    def _answer_in(self, scratch: Path, what: Request) -> RunAnswer:
        test, seconds = what["test"], what["seconds"]
        answers = scratch / "answers"
        answers.touch()
        environment = dict(os.environ)
        kinds = tuple(job["kind"] for job in what["jobs"])
        order = Order(
            str(self.workspace),
            (test,),
            kinds,
            str(scratch),
            self._excluded,
            self._original,
            request=json.dumps(what),
            answers=str(answers),
        )
        order.put_into(environment)
        arguments = (*self._command, *_for_doctests(self._file, [test]), str(self.workspace / self._file))
        most, left = seconds + START_S, what.get("all_seconds", math.inf)
        ended = run(Program(arguments, str(self.workspace), environment, timeout=min(most, left), guarded=True))
        greeting, *found = map(json.loads, answers.read_bytes().splitlines() or [b"{}"])
        if found:
            answer: RunAnswer = found[0]
            self.notices += _noticed(answer, self.notices)
            return answer
        if ended.stopped is not None and left < most:
            raise TimeIsUp
        if test not in greeting.get("tests", ()):
            raise EvidenceError(not_collected(self._file, test, greeting))
        return {"outcome": _cut_off(ended), "exception": "", "seconds": ended.seconds}

    def close(self) -> None:
        """Nothing is left."""


def request(test: str, jobs: Sequence[Job], *, steps: int, seconds: float, end: float = math.inf) -> Request:
    """What a machine is asked.

    Parameters
    ----------
    test : str
        Its name.
    jobs : sequence of Job
        A run each.
    steps : int
        How many decisions a run may make.
    seconds : float
        How long a run may take.
    end : float
        When all of them have to be over, as ``time.monotonic`` has it.

    Returns
    -------
    Request
        With the limits of the machine.

    Raises
    ------
    TimeIsUp
        When there is no time left.

    Examples
    --------
    >>> asked = request("test_cart", [{"kind": "trace"}], steps=1000, seconds=10)
    >>> asked["jobs"], asked["memory"] >> 30
    ([{'kind': 'trace'}], 2)
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


def _cut_off(ended: Ended) -> str:
    return "timeout" if ended.stopped is not None else "crashed"


def _gone() -> SuspectraError:
    return EvidenceError(Problem("", "", "the process that runs the tests has ended", "run it again"))


def _noticed(answer: RunAnswer, known: Sequence[Problem]) -> list[Problem]:
    """What is different in a run from one by pytest itself.

    Parameters
    ----------
    answer : RunAnswer
        How it ended.
    known : sequence of Problem
        What was said before.

    Returns
    -------
    list of Problem
        What is new.
    """
    slow = [
        Problem("", "", f"each run sets up {fixture} anew, which takes long", "choose tests that do without it")
        for fixture in answer.get("slow_fixtures", ())
    ]
    return [*(one for one in slow if one not in known), *_left_out(answer.get("left_out", {}), known)]


def _for_doctests(file: str, tests: Iterable[str]) -> list[str]:
    """What lets pytest find doctests of a module, which unittest may have found; they have the name of the module."""
    module = f".{file.removesuffix('.py').removesuffix('/__init__')}".replace("/", ".")
    inside = (test.removeprefix(f"{file}::").split(".") for test in tests if test.startswith(f"{file}::"))
    names = (".".join(parts[:count]) for parts in inside for count in range(1, len(parts) + 1))
    return ["--doctest-modules"] if file.endswith(".py") and any(module.endswith(f".{name}") for name in names) else []


def _left_out(failures: Mapping[str, str], known: Sequence[Problem]) -> list[Problem]:
    """The files in which nothing is altered or traced.

    Parameters
    ----------
    failures : mapping of str to str
        Why they could not be instrumented, by file.
    known : sequence of Problem
        What was said before.

    Returns
    -------
    list of Problem
        One for each file of which nothing was said.
    """
    whole = "report it; the file runs as it is, and nothing in it is altered or traced"
    functions = "switch that off to have them altered or traced, too"
    found = [
        Problem(file, "", cause, whole if cause.startswith("could not be instrumented") else functions)
        for file, cause in failures.items()
    ]
    return [problem for problem in found if problem not in known]
