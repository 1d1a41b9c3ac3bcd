"""The recording of ``suspectra record-c`` as evidence."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.location import Location
from suspectra.evidence.c.builder import CAssembler, TestProfile
from suspectra.evidence.c.call_ends import CallEnd, counting_functions, ends_of_calls
from suspectra.evidence.c.changes import CChangesSincePass
from suspectra.evidence.c.demangling import demangled
from suspectra.evidence.c.later_builds import LaterBuilds
from suspectra.evidence.c.lines import CLineTables
from suspectra.evidence.c.outdated import without_outdated
from suspectra.evidence.c.store import FOLDER, CRecording, LastPass, StoredObject, StoredTest, unpacked
from suspectra.evidence.c.tables import ends_fitted, fitted, lost_functions
from suspectra.evidence.evidence import Evidence, TestResult, Verdict
from suspectra.evidence.source_changes import SourceLines
from suspectra.evidence.source_paths import TEST_PATTERNS, SourcePaths
from suspectra.program.c.ending import BlockEnd
from suspectra.program.c.files import parse_notes
from suspectra.program.c.object import CObject
from suspectra.runs.measured_file import MeasuredFile
from suspectra_recorder.log.stack import Stack, StackFrame

_AGAIN = "run suspectra record-c again"
_MAX_COUNTERS = 1 << 30  # bytes of one test's counters


@dataclass(frozen=True, eq=False, kw_only=True)
class CRecordedFile(MeasuredFile):
    """One source file as a recording knows it. A recording keeps digests of lines, and no source text."""

    recorded: Callable[[], SourceLines | None]  # returns the digests of its lines, None where they are missing

    @classmethod
    def from_file(cls, file: MeasuredFile, recorded: Callable[[], SourceLines | None]) -> CRecordedFile:
        """The same file with its digests."""
        return cls(**{one.name: getattr(file, one.name) for one in fields(MeasuredFile)}, recorded=recorded)

    def lines_in(self, text: bytes) -> Ints | None:
        """Find the lines in another text of the file.

        Of shape (lines + 1,). For each line of the run, counted from 1, its line in the text; 0 for one that was
        edited, that says nothing, or that can't be told from others. None if the recording has no usable digests of the
        lines.
        """
        as_run = self.recorded()
        last = int(self.end_line.max(initial=0))
        return None if as_run is None else as_run.lines_in(SourceLines.from_text(self.path, text), last)


_CMAKE = ("CMakeLists.txt", ".cmake")


class CRecordingSource:
    """The recording of a workspace's C and C++ tests.

    A test keeps its row as long as its record and the objects are the same. Counters of an earlier build are mapped to
    the latest one, function by function: they are valid if the control flow of the function is the same, even if it
    moved. A changed function counts as not executed by these tests, and a problem says so.

    Raises EvidenceError by read, when there is no recording, or nothing of it can be used.
    """

    recorded_by: ClassVar[str] = "record-c"

    def __init__(self, workspace: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None):
        self.workspace = os.path.abspath(workspace)  # paths of the evidence are relative to it
        root = Path(self.workspace)
        self._recording = CRecording(root / (folder if folder is not None else FOLDER), root)
        self._parsed: dict[tuple[Hashable, ...], CObject | EvidenceError] = {}
        self._assemblers: tuple[CAssembler, CLineTables] | None = None
        self._settings: tuple[object, ...] | None = None
        self._evidence: Evidence | None = None
        self._was_torn = False
        self._stacks: dict[str, tuple[StoredTest, Stack]] = {}
        self._damaged: list[str] = []
        self._unsure: list[Problem] = []  # where tests ended
        self._lost: dict[str, set[str]] = {}  # files of functions that tests executed and that are other ones now
        self._changes = CChangesSincePass()
        self._later_builds = LaterBuilds(self.workspace)
        self._built: dict[str, tuple[str, bytes]] = {}  # sources that were changed and built since, with their texts
        self._files: dict[str, tuple[MeasuredFile, CRecordedFile]] = {}

    @property
    def command(self) -> tuple[str, ...]:
        """How the tests are recorded again, as in the newest run that was read; empty if none was."""
        return self._recording.command

    def watched(self) -> Sequence[str]:
        """Return the log of the recording."""
        return [str(self._recording.log)]

    def read(self) -> Evidence:
        """Read the current state of the recording.

        Raises EvidenceError when there is no recording, or nothing of it can be used.
        """
        changed = self._recording.update()
        recording = self._recording
        newest = {path: recording.objects[number] for path, number in self._newest().items()}
        built = self._later_builds.sources(newest.values())
        changed = changed or built != self._built
        if not changed and self._evidence is not None and self._was_torn == self._recording.torn:
            return self._evidence
        self._built, self._was_torn = built, recording.torn
        problems = self._problems()
        objects: dict[str, CObject] = {}
        for path, stored in newest.items():
            parsed = self._notes(stored)
            if isinstance(parsed, EvidenceError):
                problems.append(parsed.problem)
            else:
                objects[path] = parsed
        if not recording.tests:
            problem = Problem(recording.name, "", "no test was recorded yet", _AGAIN)
            raise EvidenceError(problems[0] if problems else problem)
        outdated: dict[str, set[str]] = {}
        self._damaged.clear()
        self._unsure.clear()
        self._lost.clear()
        by_gcovr = any(test.table for test in recording.tests.values())
        counted = [test for test in recording.tests.values() if not by_gcovr or (test.objects and not test.table)]
        profiles = [self._profile(test, objects, newest, outdated) for test in counted]
        problems += [_outdated(path, sorted(names)) for path, names in sorted(outdated.items())]
        problems += self._unsure
        if self._damaged:
            some = "; ".join(self._damaged[:3])
            cause = (
                f"the counters of {len(self._damaged)} tests can't be used ({some}), which count as executing nothing"
            )
            problems.append(Problem(recording.name, "", cause, f"{_AGAIN} for these tests"))
        source, exclusions = recording.name, recording.exclusions
        if excluded := exclusions.problem(source):
            problems.append(excluded)
        assembler, lines = self._assembled_with()
        digests = self._digests() if counted else {}
        given = [] if by_gcovr else problems
        evidence = assembler.evidence(source, objects, digests, profiles, given, exclusions) if counted else None
        if evidence is None or by_gcovr:
            results = {test.name: _result(test) for test in recording.tests.values()}
            evidence = lines.evidence(recording, results, evidence, digests, problems)
        evidence = without_outdated(evidence, recording, self._sources_now(), self._lost)
        files = self._with_lines(evidence.files)
        since_pass = self._changes.update(recording, self._current_digests(), files, self._sources_of)
        self._evidence = replace(evidence, files=files, stacks=self._placed(files), changed=since_pass)
        return self._evidence

    def _with_lines(self, files: Sequence[MeasuredFile]) -> tuple[MeasuredFile, ...]:
        """Files with the digests of their lines; the same objects as before where nothing changed."""
        previous, self._files = self._files, {}
        for file in files:
            known = previous.get(file.path)
            if known is None or known[0] is not file:
                known = file, CRecordedFile.from_file(file, partial(self._recording.lines, file.digest or ""))
            self._files[file.path] = known
        return tuple(recorded for _, recorded in self._files.values())

    def _sources_now(self) -> dict[str, tuple[str, SourceLines | None]]:
        """The digest of each source in the newest build, with its lines if no test was recorded with it."""
        recorded = {path: (digest, None) for path, digest in self._current_digests().items()}
        built = {path: (digest, SourceLines.from_text(path, text)) for path, (digest, text) in self._built.items()}
        return {**recorded, **built}

    def _current_digests(self) -> dict[str, str]:
        digests = self._digests()
        for test in self._recording.tests.values():
            digests.update(test.sources)
        return digests

    def _sources_of(self, ran: LastPass) -> set[str]:
        """All sources that a test was compiled from, also those that changed before it ran."""
        found: set[str] = set()
        assembler, _ = self._assembled_with()
        for stored in (self._recording.objects.get(number) for number in ran.objects):
            notes = self._notes(stored) if stored else None
            if isinstance(notes, CObject):
                resolved = (assembler.paths.resolve(name, notes.folder) for name in notes.sources)
                found.update(name for name in resolved if name is not None)
        return found

    def _placed(self, files: Sequence[MeasuredFile]) -> dict[str, Stack]:
        """The stacks of failed tests, without calls in sources that changed since."""
        homes: dict[str, list[tuple[str, int, int]]] = {}
        for file in files:
            for name, first, last in file.functions:
                homes.setdefault(name, []).append((file.path, first, last))
        current_digests = self._current_digests()
        previous, self._stacks = self._stacks, {}
        for test in self._recording.tests.values():
            if (head := test.fields.get("stack")) is None:
                continue
            try:
                stack = Stack.from_dict(head)
            except (LookupError, TypeError, ValueError):
                self._damaged.append(test.name)
                continue
            recorded_digests = self._recording.digests_of(test)
            calls = (_at_home(frame, homes.get(frame.function, ())) for frame in stack.frames)
            frames = tuple(call for call in calls if recorded_digests.get(call.file) == current_digests.get(call.file))
            stack = replace(stack, frames=frames)
            known = previous.get(test.name)
            self._stacks[test.name] = known if known == (test, stack) else (test, stack)
        return {name: stack for name, (_, stack) in self._stacks.items()}

    def _assembled_with(self) -> tuple[CAssembler, CLineTables]:
        run = self._recording.run
        moved = [(run["workspace"], ".")] if run.get("workspace", self.workspace) != self.workspace else []
        mapping = tuple((there, here) for there, here in [*run.get("mapping", ()), *moved])
        settings = (mapping, tuple(run.get("test_patterns", TEST_PATTERNS)))
        if self._assemblers is None or settings != self._settings:
            self._settings = settings
            paths = SourcePaths(self.workspace, *settings)
            self._assemblers = CAssembler(paths), CLineTables(paths)
        return self._assemblers

    def _digests(self) -> dict[str, str]:
        recording = self._recording
        return {
            source: digest
            for number in sorted(self._newest().values())
            for source, digest in recording.objects[number].sources.items()
        }

    def _newest(self) -> dict[str, int]:
        """The last build of each object that a test of the recording executes, or did when it passed last."""
        recording = self._recording
        runs = (ran for test in recording.tests.values() for ran in (test, test.last_pass) if ran is not None)
        numbers = {number for ran in runs for number in ran.objects}
        used = {recording.objects[number].path for number in numbers if number in recording.objects}
        return {path: number for path, number in recording.newest.items() if path in used}

    def _problems(self) -> list[Problem]:
        """The recorder's problems about the current tests, and problems of the log."""
        problems = [Problem(*problem) for test in self._recording.tests.values() for problem in test.fields["problems"]]
        if self._recording.torn:
            cause = "its last record is not whole: the recorder was stopped while it wrote it"
            problems.append(Problem(self._recording.name, "", cause, f"{_AGAIN} for the tests that are missing"))
        if self._recording.odd:
            cause = f"{self._recording.odd} of its records can't be understood and are left out"
            problems.append(Problem(self._recording.name, "", cause, f"delete it, then {_AGAIN}"))
        if _left_no_profile(self._recording.tests.values()):
            problems.append(nothing_measured(self._recording.name))
        return problems

    def _notes(self, stored: StoredObject) -> CObject | EvidenceError:
        key = (stored.digest, stored.folder, stored.optimised, stored.foreign, stored.operands)
        if key not in self._parsed:
            try:
                parsed = parse_notes(self._recording.notes(stored.digest), stored.path)
                self._parsed[key] = replace(
                    parsed,
                    folder=stored.folder or parsed.folder,
                    optimised=stored.optimised,
                    foreign=stored.foreign,
                    operands=stored.operands,
                )
            except EvidenceError as error:
                self._parsed[key] = error
        return self._parsed[key]

    def _profile(
        self,
        test: StoredTest,
        objects: dict[str, CObject],
        newest: dict[str, StoredObject],
        outdated: dict[str, set[str]],
    ) -> TestProfile:
        counters: dict[str, Ints] = {}
        ends: dict[str, list[BlockEnd]] = {}
        calls, (assembler, _) = self._calls(test), self._assembled_with()
        recorded_objects: list[tuple[StoredObject, CObject]] = []
        for number in test.objects:
            stored = self._recording.objects.get(number)
            recorded = self._notes(stored) if stored else None
            if stored is None or not isinstance(recorded, CObject):
                break  # without its notes, the number of its counters is not known
            recorded_objects.append((stored, recorded))
        whole = len(recorded_objects) == len(test.objects)
        packed = self._counters(test, sum(recorded.counters for _, recorded in recorded_objects), whole)
        result = _result(test)
        ran: list[tuple[StoredObject, CObject, Ints]] = []
        at = 0
        for stored, recorded in recorded_objects:
            if packed is not None:
                ran.append((stored, recorded, packed[at : at + recorded.counters]))
                at += recorded.counters
        counting = counting_functions(one[1:] for one in ran) if calls else frozenset()
        for stored, recorded, values in ran:
            result = _in_its_source(result, recorded, values, assembler.paths)
            present = objects.get(stored.path)
            if present is None:
                continue
            stopped = ends_of_calls(recorded, values, calls, assembler.paths, counting)
            unsure = {end.ident for end in stopped if not end.sure}
            names = [demangled(function.name) for function in recorded.functions if function.ident in unsure]
            self._unsure += [_unsure(test.name, name) for name in names]
            if stored.digest != newest[stored.path].digest:
                gone = lost_functions(values, stopped, recorded, present)
                files = {assembler.paths.resolve(function.file, recorded.folder) or "" for function in gone}
                self._lost.setdefault(test.name, set()).update(files - {""})
                stopped = ends_fitted(stopped, recorded, present)
                values, changed = fitted(values, recorded, present)
                if changed:
                    outdated.setdefault(stored.path, set()).update(changed)
            counters[stored.path] = values
            if stopped:
                ends[stored.path] = stopped
        return TestProfile(result, test.key, counters, ends)

    def _calls(self, test: StoredTest) -> list[CallEnd]:
        """The calls that had not returned when a test, or a process of it, crashed."""
        try:
            return [
                CallEnd(str(file), int(line), str(name), bool(calling), int(times), *map(str, compiler))
                for file, line, name, calling, times, *compiler in test.fields.get("ends", ())
            ]
        except (TypeError, ValueError):
            self._damaged.append(f"{test.name}: where it ended can't be understood")
            return []

    def _counters(self, test: StoredTest, count: int, whole: bool) -> Ints | None:
        """The counters of a test; None, and a problem, if they do not fit its objects.

        If the notes of an object are missing, there may be more than `count`.
        """
        try:
            data = unpacked(test.counters, 8 * count if whole else _MAX_COUNTERS)
            if len(data) < 8 * count or len(data) % 8:
                raise ValueError("there are fewer than its objects have")
        except ValueError as error:
            self._damaged.append(f"{test.name}: {error}")
            return None
        return np.frombuffer(data, "<i8")


def _unsure(test: str, function: str) -> Problem:
    cause = (
        f"where in {function} it ended is not sure, as clang does not count every way through: lines behind that may"
        " count, or be missing"
    )
    return Problem(test, "", cause, "build with gcc for exact figures")


def _at_home(frame: StackFrame, homes: Sequence[tuple[str, int, int]]) -> StackFrame:
    """Correct the file of a call to that of its function.

    addr2line of binutils 2.40 names the first file of an object where a source is included by another one.
    """
    fitting = {path for path, first, last in homes if first <= frame.line <= last}
    return frame._replace(file=fitting.pop()) if len(fitting) == 1 else frame


def _result(test: StoredTest) -> TestResult:
    fields = test.fields
    place = fields.get("location")
    return TestResult(
        test.name,
        Verdict(fields["verdict"]),
        Location(*place) if place else None,
        message=fields.get("message", ""),
        seconds=fields.get("seconds", 0.0),
    )


def _in_its_source(result: TestResult, recorded: CObject, values: Ints, paths: SourcePaths) -> TestResult:
    """The result with the place of the program's `main`, where CTest only says which line of CMake adds the test."""
    main = recorded.by_name.get("main")
    if main is None or result.location is None or not result.location.file.endswith(_CMAKE):
        return result
    first = recorded.first_counter[main.ident]
    if not values[first : first + len(main.counted)].any():
        return result
    file = paths.resolve(main.file, recorded.folder)
    return result if file is None else replace(result, location=Location(file, main.line, main.line))


def nothing_measured(source: str = "") -> Problem:
    """What to do where no test left a profile."""
    cure = "compile and link with --coverage, keep the .gcno files, and name the build folder with --build"
    return Problem(source, "", "no test left a profile", cure)


def _left_no_profile(tests: Iterable[StoredTest]) -> bool:
    """Whether no test left a profile, and one that ran does not say why."""
    ran = [test for test in tests if Verdict(test.fields["verdict"]).counted]
    return not any(test.objects or test.table for test in ran) and any(not test.fields["problems"] for test in ran)


def _outdated(path: str, names: list[str]) -> Problem:
    some = ", ".join(names[:3])
    cause = (
        f"{len(names)} of its functions ({some}) changed since some tests were recorded, and count as not executed "
        "by these"
    )
    return Problem(path, "", cause, "record all tests again")
