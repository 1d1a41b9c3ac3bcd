"""Running C and C++ tests one by one, and recording what each of them executes.

The programs must be built with ``--coverage``. Every test gets a folder of its own, in memory, as ``GCOV_PREFIX``, so
profiles are never mixed. At the end of a test its profile is added to the workspace's recording.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError, Problem, UsageError
from suspectra.base.location import Location
from suspectra.base.operating_system import ELSEWHERE, FILE_LOCKS, require
from suspectra.c.recording.case import NOTED, NOTED_FILE, CCase, judge, signal_name
from suspectra.c.recording.crash_calls import (
    CALLS_FILE,
    INLINED,
    LEFT_FILE,
    OTHER_FILES,
    CallUnderWay,
    CrashCalls,
    unknown_calls,
    unwritten_profiles,
)
from suspectra.c.recording.crash_handler import HANDLER, build_crash_handler, with_library
from suspectra.c.recording.environment import environment_of
from suspectra.c.recording.gcovr import Gcovr
from suspectra.c.recording.profiles import ProfileReader, TestData
from suspectra.c.recording.schedule import TestSchedule
from suspectra.c.recording.suite import CSuite, located
from suspectra.c.recording.test_programs import prints_failure
from suspectra.c.recording.whole_programs import WholeProgram, whole_programs
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.c.call_ends import CallEnd
from suspectra.evidence.c.demangling import demangled
from suspectra.evidence.c.exclusions import NO_EXCLUSIONS
from suspectra.evidence.c.profiles import NotesFolder
from suspectra.evidence.c.source import nothing_measured
from suspectra.evidence.c.writer import CRecorder
from suspectra.evidence.evidence import TestResult, Verdict
from suspectra.evidence.failure_text import MAX_TEXT, c_failure
from suspectra.evidence.formats.outcomes import Outcomes, failure_texts, read_outcomes
from suspectra.evidence.merged_problems import merged
from suspectra.evidence.opening import open_evidence
from suspectra.evidence.source_paths import TEST_PATTERNS, SourcePaths
from suspectra.processes.events import ProgramEnded, Stopped
from suspectra.processes.runner import CommandToRun, memory_folder, run
from suspectra.processes.scratch import ScratchFolder
from suspectra_recorder.folders import cache_folder
from suspectra_recorder.log.collection import file_digest
from suspectra_recorder.log.stack import FailedLine, Stack

DEFAULT_TIMEOUT_S = 300.0
"""For a test without a time limit of its own: a test that hangs must not hold up the others for ever."""

_CURE = "build the tests, and check the command"
_MAX_ENDS = 512  # places in the code of a crashed program

Progress = Callable[[int, int, TestResult], None]
"""Called after each test with the numbers of finished and of all tests, and the result."""


@dataclass(frozen=True)
class CRun:
    """The result of :func:`record_c`."""

    tests: tuple[TestResult, ...]  # the results, in the order in which the tests ended
    problems: tuple[Problem, ...]  # the problems found
    cancelled: bool  # whether it was stopped before its end
    seconds: float  # the duration of the whole run
    folder: str  # the folder of the recording
    readers: tuple[str, ...] = ()  # descriptions of the readers of the profiles
    not_run: int = 0  # how many of the tests could not be run, without disabled ones; they count as skipped


def record_c(
    workspace: str | os.PathLike[str],
    suite: CSuite,
    *,
    build: Sequence[str | os.PathLike[str]] = (),
    junit: str | os.PathLike[str] | None = None,
    select: Collection[str] | None = None,  # run only these tests, with the fixtures they need
    timeout: float | None = None,  # seconds for tests without a time limit of their own; 300 unless given
    jobs: int = 2,
    mapping: Iterable[tuple[str, str]] = (),
    test_patterns: Sequence[str] = TEST_PATTERNS,
    crash_handler: bool = True,
    progress: Progress | None = None,
    cancel: Token | None = None,
    command: Sequence[str] = (),
) -> CRun:
    """Run tests and record what each of them executes, in ``.suspectra/recording-c`` of the workspace.

    The result, also if the run was cancelled.

    Raises UsageError when a selected test does not exist, another recording is running, or on Windows. Raises
    EvidenceError when `junit` can't be read.
    """
    cure = f"{ELSEWHERE}; profiles that are there already can be ranked: see `suspectra rank --gcov`"
    require(FILE_LOCKS, "recording tests of C and C++", cure)
    begun = time.monotonic()
    workspace = os.path.abspath(workspace)  # tests run in folders of their own
    cases = _selected(suite.cases, select)
    outcomes = read_outcomes(os.path.join(workspace, junit), Boundary(workspace)) if junit is not None else {}
    pairs = tuple(mapping)
    paths = SourcePaths(workspace, pairs, test_patterns)
    fields = {
        "workspace": workspace,
        "mapping": [list(pair) for pair in pairs],
        "test_patterns": list(test_patterns),
        "command": list(command),
    }
    stop = cancel or Token()
    with CRecorder(workspace, fields) as recorder, ScratchFolder() as scratch:
        preload, unbuilt = _crash_handler(workspace, str(scratch)) if crash_handler else (None, None)
        notes = NotesFolder(paths, [*suite.build, *build])
        reader = ProfileReader(recorder, paths, notes, Gcovr(workspace, stop), looks_into_programs=preload is not None)
        files = _WorkspaceFiles(
            SourcePaths(workspace, pairs, test_patterns),
            [*suite.build, *(os.fspath(folder) for folder in build)],
            lambda: reader.folders,
        )
        session = _Session(recorder, paths, reader, outcomes, preload, timeout or DEFAULT_TIMEOUT_S, stop, files)
        results, problems = session.run(cases, jobs, progress)
        together = session.run_together(cases, results, problems) if not stop.cancelled else []
        if not stop.cancelled and select is None:
            recorder.end([*(case.name for case in suite.cases), *(test.name for test in together)])
        results += together
        problems = [*suite.problems, *([unbuilt] if unbuilt else []), *problems, *session.left_out()]
        crashes = [problem for problem in problems if _NO_PROFILE in problem.cause]
        if not reader.readers and len(crashes) < len(results):  # else each says why
            problems = [*(problem for problem in problems if problem not in crashes), nothing_measured()]
        if reader.objects and not stop.cancelled:
            try:
                previous = recorder.recording.exclusions if select is not None else NO_EXCLUSIONS
                recorder.exclude(reader.exclusions(previous, problems))
            except EvidenceError as error:
                problems.append(error.problem)
        folder = str(recorder.folder)
    seconds = time.monotonic() - begun
    readers = tuple(sorted(reader.readers))
    found = tuple(merged(problems))
    return CRun(tuple(results), found, stop.cancelled, seconds, folder, readers, session.not_run)


def _crash_handler(workspace: str, scratch: str) -> tuple[str | None, Problem | None]:
    """The crash handler from the user's cache, or a new one in a temporary folder."""
    return build_crash_handler(cache_folder(os.path.realpath(workspace)) or scratch)


class _Session:
    """One run of the recorder."""

    def __init__(
        self,
        recorder: CRecorder,
        paths: SourcePaths,
        reader: ProfileReader,
        outcomes: Outcomes,
        preload: str | None,
        timeout: float,
        stop: Token,
        files: _WorkspaceFiles,
    ):
        self.files, self.crash_calls = files, CrashCalls()
        self.recorder, self.paths, self.reader, self.outcomes = recorder, paths, reader, outcomes
        self.preload, self.timeout, self.stop = preload, timeout, stop
        self._lock = threading.Lock()
        self.not_run = 0
        self._beside = False  # whether tests run beside each other
        self._expected: set[str] = set()  # the cases that passed, and print that something failed

    def run(
        self, cases: Sequence[CCase], jobs: int, progress: Progress | None
    ) -> tuple[list[TestResult], list[Problem]]:
        """Run all cases and return their results."""
        self._beside = jobs > 1
        schedule = TestSchedule(cases)
        results: list[TestResult] = []
        problems: list[Problem] = []
        running: dict[Future[tuple[TestResult | None, list[Problem]]], CCase] = {}
        with ThreadPoolExecutor(max(1, jobs)) as pool:
            while True:
                while len(running) < max(1, jobs) and not self.stop.cancelled and (case := schedule.next()):
                    running[pool.submit(self._test, case, schedule.unable(case))] = case
                if not running:
                    break
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    case = running.pop(future)
                    result, found = future.result()
                    schedule.ended(case, result)
                    problems += found
                    if result is not None:
                        results.append(result)
                        if progress is not None:
                            progress(len(results), len(cases), result)
        return results, problems

    def left_out(self) -> Sequence[Problem]:
        """Say which sources were left out, if no source of the workspace was measured."""
        found = (notes for path, notes in self.reader.notes.objects.items() if path in self.reader.objects)
        inside = [self.paths.resolve(name, notes.folder) for notes in found for name in notes.sources]
        return self.paths.problems("") if inside and not any(inside) else ()

    def run_together(
        self, cases: Sequence[CCase], alone: Sequence[TestResult], problems: list[Problem]
    ) -> list[TestResult]:
        """Run whole programs whose cases ran alone, and say what ends in another way.

        The results of those that fail in a way in which no case does alone.
        """
        ended = {result.name: result for result in alone}
        found = (self._together(program, ended, problems) for program in whole_programs(cases, ended))
        return [result for result in found if result is not None]

    def _together(
        self, program: WholeProgram, alone: Mapping[str, TestResult], problems: list[Problem]
    ) -> TestResult | None:
        """Run a whole program; its result if it fails in a way in which none of its cases does alone."""
        kept: list[TestResult] = []

        def fails_in_its_own_way(result: TestResult, end: ProgramEnded) -> bool:
            output = _clipped(end.stdout) + _clipped(end.stderr)
            completed = not end.signal and end.stopped is None
            differs, said = program.differences(
                result, output, alone, self._expected, completed=completed, beside=self._beside
            )
            problems.extend(said)
            kept.extend([result] if differs else [])
            return differs

        case = replace(program.whole, timeout=program.whole.timeout or self.timeout)
        with ScratchFolder(memory_folder()) as scratch:
            problems.extend(self._run(case, str(scratch), fails_in_its_own_way)[1])
        return next(iter(kept), None)

    def _test(self, case: CCase, unable: str) -> tuple[TestResult | None, list[Problem]]:
        """Run one test and record it; without result if it was cancelled."""
        case = replace(case, timeout=case.timeout or self.timeout)
        if unable:
            problems = []
            if not case.disabled:
                problems = [Problem(case.name, "", f"this test was not run: {unable}", "fix that and record it again")]
            return self._not_run(case, unable, problems)
        with ScratchFolder(memory_folder()) as scratch:
            return self._run(case, str(scratch))

    def _run(
        self,
        case: CCase,
        scratch: str,
        wanted: Callable[[TestResult, ProgramEnded], bool] = lambda result, ended: True,  # whether it is to be recorded
    ) -> tuple[TestResult | None, list[Problem]]:
        prefix = os.path.join(scratch, "profile")
        os.mkdir(prefix)
        argv = tuple(word.replace("{scratch}", scratch) for word in case.argv)
        environment = self._environment(case, prefix)
        try:
            ended = run(CommandToRun(argv, case.folder, environment, timeout=case.timeout, cure=_CURE), self.stop)
        except EvidenceError as error:
            return self._not_run(case, error.problem.cause, [error.problem])
        if ended.stopped is Stopped.CANCELLED:
            return None, []
        problems: list[Problem] = _complaints(case, ended)
        measured = self.reader.measured(prefix, problems)
        self.reader.add_programs(scratch)
        if empty := [one for one in measured if not os.path.getsize(one[0].profile)]:
            measured = [one for one in measured if one not in empty]
            problems.append(_about_empty(case, empty[0][1]))
        result = self._result(case, ended, scratch)
        if not wanted(result, ended):
            return result, []
        unknown: list[Problem] = []
        crashes = [
            self.reader.placed(calls, measured)
            for calls in self.crash_calls.read(os.path.join(scratch, CALLS_FILE), unknown)
        ]
        stack = self._stack(case, ended, result, scratch, crashes) if result.verdict.failing else None
        if stack is not None and not stack.frames:
            stack = None
        others = {
            name: [
                call
                for calls in self.crash_calls.read(os.path.join(scratch, name), [])
                for call in self.reader.placed(calls, measured)
            ]
            for name in OTHER_FILES
        }
        inlined = [INLINED] if any(len(call.places) > 1 for call in others[LEFT_FILE]) else []
        ends = self._ends([call for calls in (*crashes, *others.values()) for call in calls], case.folder)
        if not crashes and not ends and stack is not None and ended.signal:
            # a sanitizer's own, without the linker's names
            ends = [CallEnd(frame.file, frame.line, "", calling=False) for frame in reversed(stack.frames)]
        own = [call for calls in crashes for call in calls if not call.inherited]
        if own and not ends:
            unknown = [_elsewhere(own)]
        data = self.reader.read(measured, problems)
        unwritten = unwritten_profiles(scratch)
        problems += (
            _about_the_end(
                case,
                ended,
                result,
                bool(data),
                None if ends else unknown,
                handled=self.preload is not None,
                recorded=unwritten > 0,
            )
            or _about_processes(case, unwritten, ended)
            or _about_calls(case, [*unknown_calls(scratch), *inlined])
        )
        self._store(result, problems, data, stack, ends)
        return result, problems

    def _ends(self, crashed: Sequence[CallUnderWay], folder: str) -> list[CallEnd]:
        """Where functions of the workspace ended that had not returned at a crash, once for each place in their code.

        What a call ended in is known by the address: a line can have several blocks.
        """
        times: Counter[CallUnderWay] = Counter()
        for call in crashed:
            if not call.inherited:
                times[call._replace(times=abs(call.times) and 1)] += call.times
        found = []
        # where as many go on as end, nothing is left over
        for call, number in [one for one in times.items() if one[1] or not one[0].times][:_MAX_ENDS]:
            for at, place in enumerate(call.places):
                if (name := self.files.resolve(place.path, folder)) is None:
                    continue
                end = CallEnd(name[0], place.line, call.function, call.calling, number)
                if len(call.places) == 1:
                    found.append(end)
                    continue
                # gcc counts what it inlines in the function around it, clang on its own
                if at == 0:
                    found.append(end._replace(compiler="gcc"))
                found.append(end._replace(function=place.function, calling=at > 0 or call.calling, compiler="clang"))
        return found

    def _not_run(self, case: CCase, why: str, problems: list[Problem]) -> tuple[TestResult, list[Problem]]:
        """Record a test that was not run; without problem one that is disabled."""
        result = TestResult(case.name, Verdict.SKIPPED, case.location, message=f"not run: {why}")
        self._store(result, problems, TestData())
        with self._lock:
            self.not_run += bool(problems)
        return result, problems

    def _stack(
        self, case: CCase, ended: ProgramEnded, result: TestResult, scratch: str, crashes: Sequence[list[CallUnderWay]]
    ) -> Stack | None:
        """The stack of a failed or crashed test, as far as it is known."""
        calls = [
            place._replace(function=demangled(place.function))
            for call in (crashes[0] if crashes else ())
            if call.times > 0
            for place in call.places
        ]
        texts = [_clipped(ended.stderr), _clipped(ended.stdout)]
        report = case.report.replace("{scratch}", scratch)
        if report and os.path.exists(report):
            texts += failure_texts(report)
        kind = "timeout" if ended.stopped is Stopped.TIMEOUT else signal_name(ended.signal) if ended.signal else ""
        failure = c_failure("\n".join(texts), calls, kind)
        stack = failure.stack(lambda path: self.files.resolve(path, case.folder)) if failure is not None else None
        if stack is None:
            return None
        own = next((call for call in reversed(stack.frames) if self.paths.is_test(call.file)), None)
        if (line := own or (stack.innermost if stack.assertion else None)) is not None:
            digest = file_digest(os.path.join(self.paths.workspace, line.file))
            stack = replace(stack, test_line=FailedLine(line.file, line.line, digest))
        return stack if stack.exception else stack.saying(result.message)

    def _environment(self, case: CCase, prefix: str) -> dict[str, str]:
        scratch = os.path.dirname(prefix)
        more = {"GCOV_PREFIX": prefix, "SUSPECTRA_CALLS": os.path.join(scratch, CALLS_FILE)}
        environment = environment_of(case, more)
        if case.noted:
            environment[NOTED] = os.path.join(scratch, NOTED_FILE)
        environment.pop("GCOV_PREFIX_STRIP", None)
        if self.preload is not None:
            environment = with_library(environment, self.preload)
        return environment

    def _result(self, case: CCase, ended: ProgramEnded, scratch: str) -> TestResult:
        verdict, message = judge(case, ended)
        if case.noted and not _noted(case, scratch):
            verdict, message = Verdict.SKIPPED, "its program does not run it without the others"
        location = case.location
        report = case.report.replace("{scratch}", scratch)
        if report and os.path.exists(report):
            own, place = _own_report(report, self.paths.workspace)
            location = location or place
            if own.verdict is Verdict.SKIPPED and not verdict.failing:
                verdict, message = own.verdict, own.message
            elif own.verdict.failing and not verdict.failing:
                self._expected.add(case.name)
            elif verdict.failing and own.message and not ended.signal:
                message = own.message
        elif case.whole and not verdict.failing and prints_failure(case, _clipped(ended.stdout)):
            self._expected.add(case.name)
        known = self.outcomes.get(case.name)
        if known is not None:
            verdict, message = known.verdict, known.message or (message if known.verdict.failing else "")
        return TestResult(case.name, verdict, location, message=message, seconds=round(ended.seconds, 4))

    def _store(
        self,
        result: TestResult,
        problems: Sequence[Problem],
        data: TestData,
        stack: Stack | None = None,
        ends: Sequence[CallEnd] = (),
    ) -> None:
        place = result.location
        fields = {
            "verdict": result.verdict.value,
            "message": result.message,
            "seconds": result.seconds,
            "location": [place.file, place.line, place.end_line] if place else None,
            "problems": [[p.file, p.place, p.cause, p.cure] for p in problems],
            "stack": stack.as_dict() if stack is not None else None,
            **({"ends": list(ends)} if ends else {}),
        }
        with self._lock:
            counters = data.counters
            self.recorder.add_test(
                result.name, fields, list(counters), list(counters.values()), data.table, data.sources
            )


class _WorkspaceFiles:
    """Maps the files that compilers and test frameworks name to the workspace."""

    def __init__(self, paths: SourcePaths, folders: Sequence[str], compiled_in: Callable[[], Collection[str]]):
        self._paths = paths
        self._folders = [paths.workspace, *folders]
        self._compiled_in = compiled_in

    def resolve(self, path: str, folder: str) -> tuple[str, bool] | None:
        """Return the path in the workspace, and whether the file may have suspects.

        None for a file that does not exist or is outside the workspace.
        """
        for start in (folder, *self._folders, *sorted(self._compiled_in())):
            if found := self._at(path, os.path.join(self._paths.workspace, start)):
                return found
        if not os.path.dirname(path):  # some frameworks name no folder, and sources may be beside the build
            for start in sorted(self._compiled_in()):
                if found := self._shorter(os.path.join(start, path)):
                    return found
        return self._shorter(path)

    def _shorter(self, path: str) -> tuple[str, bool] | None:
        """A file of the workspace by what a path ends with."""
        # debug information has the folder of the compiler in front of a name that was made shorter (-ffile-prefix-map)
        inside = os.path.relpath(path, self._paths.workspace) if os.path.isabs(path) else os.path.normpath(path)
        parts = inside.split(os.sep)
        shorter = (os.path.join(*parts[at:]) for at in range(1, len(parts)) if os.pardir not in parts)
        return next((found for name in shorter if (found := self._at(name, self._paths.workspace))), None)

    def _at(self, path: str, folder: str) -> tuple[str, bool] | None:
        name = self._paths.resolve(path, folder)
        if name is None or not os.path.isfile(os.path.join(self._paths.workspace, name)):
            return None
        return name, not self._paths.is_test(name)


def _clipped(output: bytes) -> str:
    """The beginning and the end of an output."""
    if len(output) > MAX_TEXT:
        output = output[: MAX_TEXT // 2] + b"\n" + output[-MAX_TEXT // 2 :]
    return output.decode("utf-8", "replace")


def _selected(cases: Sequence[CCase], select: Collection[str] | None) -> list[CCase]:
    """The selected tests, with the fixtures they require."""
    if select is None:
        return list(cases)
    divided = {case.whole.name for case in cases if case.whole}
    unknown = sorted(set(select) - {case.name for case in cases} - divided)
    if unknown:
        problem = Problem("", f"test {unknown[0]}", "there is no such test", "look up its name in the list of tests")
        raise UsageError(problem)
    wanted = {*select, *(case.name for case in cases if case.whole and case.whole.name in select)}
    while True:
        fixtures = {fixture for case in cases if case.name in wanted for fixture in case.required}
        more = {case.name for case in cases if fixtures & {*case.setup, *case.cleanup}} - wanted
        if not more:
            return [case for case in cases if case.name in wanted]
        wanted |= more


def _noted(case: CCase, scratch: str) -> bool:
    """Whether a test that is chosen by its number has run under its name."""
    try:
        text = Path(scratch, NOTED_FILE).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return False
    return text.split("\t")[1:2] == [case.noted]


def _own_report(path: str, workspace: str) -> tuple[TestResult, Location | None]:
    """Read the test's own XML: its first failure, and the location of the test."""
    try:
        cases = list(read_outcomes(path).values())
    except EvidenceError:
        return TestResult("", Verdict.PASSED), None
    order = sorted(cases, key=lambda case: not case.verdict.failing)
    skipped = all(case.verdict is Verdict.SKIPPED for case in cases)
    first = order[0] if not skipped else cases[0]
    if first.verdict is Verdict.SKIPPED and not skipped:
        first = replace(first, verdict=Verdict.PASSED)
    with open_evidence(path) as file:
        beginning = file.read(1 << 20).decode("utf-8", "replace")
    found = re.search(r'<testcase [^>]*?file="([^"]+)"[^>]*? line="(\d+)"', beginning)
    return first, located(found[1], int(found[2]), workspace) if found else None


_NO_PROFILE = " and left no profile"
_CHECKS_LIMIT = b"Test timeout expired"  # as Check says it
_LIBGCOV = re.compile(rb"^(?:libgcov )?profiling(?: error)?:(.+)$", re.MULTILINE)


def _complaints(case: CCase, ended: ProgramEnded) -> list[Problem]:
    """The messages of the profiling runtime on standard error about profiles that it could not write or merge."""
    found = dict.fromkeys(match[1].decode("utf-8", "replace").strip() for match in _LIBGCOV.finditer(ended.stderr))
    cure = "build everything again with one compiler; let no two programs share an object that they build differently"
    return [
        Problem(case.name, "", f"its coverage is not complete, says the profiling runtime: {text}", cure)
        for text in found
    ]


def _about_empty(case: CCase, profile: str) -> Problem:
    """What to say of a test that left an empty profile."""
    cause = "it is empty: the program was killed before it wrote its profile, or had no memory or disk space for that"
    return Problem(case.name, profile, cause, "free some, or end it by exit() or by a signal such as SIGTERM")


def _elsewhere(calls: Sequence[CallUnderWay]) -> Problem:
    """What to say if no call that was under way at a crash is in a source of the workspace."""
    cause = f"their sources, such as {calls[0].places[0].path}, are not in the workspace"
    return Problem("", "", cause, "map the folder by which the compiler names them to one here with --map")


def _about_processes(case: CCase, unwritten: int, ended: ProgramEnded) -> list[Problem]:
    """What to say of processes that have written no profile."""
    if not unwritten:
        return []
    which = "a process of this test" if unwritten == 1 else f"{unwritten} processes of this test"
    why = "ended by SIGKILL or a system call of its own, not allowed to write (another user, chroot), or still running"
    cause = f"{which} left no profile: {'it' if unwritten == 1 else 'each'} was {why} at the end"
    cure = "end it by exit(), or by another signal, such as SIGTERM"
    if _CHECKS_LIMIT in ended.stdout + ended.stderr:
        cure = "Check killed it at its own time limit: set CK_FORK=no, and record with --timeout"
    return [Problem(case.name, "", cause, cure)]


def _about_calls(case: CCase, unknown: Sequence[Problem]) -> list[Problem]:
    """What to say if it is not known of all calls where they ended."""
    doubt = "lines on the way out of functions that were under way may count as executed"
    return [Problem(case.name, "", f"{problem.cause}: {doubt}", problem.cure) for problem in unknown]


def _about_the_end(
    case: CCase,
    ended: ProgramEnded,
    result: TestResult,
    measured: bool,
    unknown: list[Problem] | None,
    *,
    handled: bool,  # whether the library that keeps profiles was to be loaded
    recorded: bool,  # whether that was loaded into a program with a profile
) -> list[Problem]:
    """What to say of a test that did not end by itself, unless it is known which calls were under way.

    If not, `unknown` says why, as far as that is known.
    """
    by_itself = not (ended.signal or ended.stopped is Stopped.TIMEOUT)
    if by_itself or not result.verdict.counted or (measured and unknown is None):
        return []
    way = result.message.partition(":")[0] if ended.stopped else f"was ended by {signal_name(ended.signal or 0)}"
    if measured:
        why = f" ({unknown[0].cause})" if unknown else ""
        cause = (
            f"this test {way}, and the calls that were under way are not known{why}: lines after that point, in the"
            " same straight piece of code and on the way out, may count as executed"
        )
        cure = unknown[0].cure if unknown else "compile it with -g, and record this test again"
        return [Problem(case.name, "", cause, cure)]
    cause = f"this test {way}{_NO_PROFILE}"
    cure = f"build its program with --coverage and do not strip it, or add {HANDLER} to it with -DSUSPECTRA_LINKED"
    if ended.signal == signal.SIGKILL:
        cause, cure = f"{cause}, since nothing can keep that", "end it by another signal, such as SIGTERM"
    elif recorded and ended.signal:
        cause = f"{cause}: this signal was ignored or blocked, or the program was just handling one"
        cure = "test it without its handler of signals, or let that end it by _exit() or by raising the signal again"
    if not handled:
        cure = f"switch the crash handler on, or add {HANDLER} to its program with -DSUSPECTRA_LINKED"
    return [Problem(case.name, "", cause, cure)]
