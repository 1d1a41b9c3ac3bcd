"""Reading the profiles of a test: by this package as counters, or by gcovr as lines.

This package reads profiles of gcc 9 to 15, which is quick and gives whole flow graphs. gcovr reads those of other
versions, and those of clang, whose counters contain less than llvm-cov knows.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.recording.crash_calls import CallUnderWay
from suspectra.c.recording.gcovr import Gcovr, GcovrObject, measured_object
from suspectra.c.recording.llvm_gcov import counted_files
from suspectra.evidence.c.call_ends import CallEnd, counting_functions, ends_of_calls
from suspectra.evidence.c.exclusions import NO_EXCLUSIONS, Exclusions
from suspectra.evidence.c.profiles import NotesFolder, optimisation_problems, profile_files, source_digests
from suspectra.evidence.c.writer import CRecorder
from suspectra.evidence.formats.gcovr import gcovr_table
from suspectra.evidence.opening import read_evidence
from suspectra.evidence.source_paths import SourcePaths
from suspectra.program.c.files import parse_profile
from suspectra.program.c.flow import CFlow, FlowEnd
from suspectra.program.c.object import CFunction, CObject


@dataclass
class TestData:
    """What one test executed."""

    __test__ = False

    # little-endian counters, by the index of the object in the recording
    counters: dict[int, bytes] = field(default_factory=dict)
    table: bytes = b""  # the files of gcovr's report as JSON, if gcovr read the profile; else empty
    # with a table: digests of its sources that did not change since they were compiled
    sources: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.counters or self.table)


class ProfileReader:
    """Reads the profiles of tests, and chooses the reader."""

    def __init__(
        self,
        recorder: CRecorder,
        paths: SourcePaths,
        notes: NotesFolder,
        gcovr: Gcovr,
        *,
        flow_graphs: bool = False,  # whether profiles of clang are read as counters, too
    ):
        self._flow_graphs = flow_graphs
        self.recorder, self.paths, self.notes, self.gcovr = recorder, paths, notes, gcovr
        self.objects: dict[str, int] = {}
        self.readers: set[str] = set()
        """Descriptions of the readers that were used."""
        self._described: dict[str, GcovrObject] = {}
        self._digests: dict[str, str] = {}
        self._marked_notes: dict[str, bool] = {}  # whether sources of an object have markers
        self._findable: dict[str, bool] = {}  # whether llvm-cov finds the sources of an object
        self._lock = threading.Lock()

    @property
    def folders(self) -> set[str]:
        """Where the objects of all profiles so far were compiled."""
        with self._lock:
            described = list(self._described.values())
        return {one.folder for one in described if one.folder} | {os.path.dirname(one.notes) for one in described}

    def read(
        self, measured: Sequence[tuple[GcovrObject, str]], ends: Sequence[CallEnd], problems: list[Problem]
    ) -> TestData:
        """Read the profiles of objects; `ends` are of calls that had not returned at a crash.

        Counters by object, or gcovr's report if gcovr read the profiles.
        """
        others = [
            one
            for one, _ in measured
            if not one.compiler.known
            or (one.compiler.is_clang and not self._flow_graphs and self._named_as_found(one.notes))
        ]
        if others:
            try:
                return self._by_gcovr(measured, others, ends, problems)
            except EvidenceError as error:
                problems.append(error.problem)
        return TestData(self._counters(measured, problems))

    def measured(self, prefix: str, problems: list[Problem]) -> list[tuple[GcovrObject, str]]:
        """Find the objects of the profiles in a folder, each with the path of its profile where it was built."""
        found: list[tuple[GcovrObject, str]] = []
        for path in profile_files(prefix):
            there = os.sep + os.path.relpath(path, prefix)
            try:
                with self._lock:
                    found.append((self._describe(self.notes.path(there), path), there))
            except EvidenceError as error:
                problems.append(error.problem)
        return found

    def placed(self, calls: Iterable[CallUnderWay], measured: Sequence[tuple[GcovrObject, str]]) -> list[CallUnderWay]:
        """Put calls in the files that the notes name: `addr2line` of binutils 2.40 can take a header for its source."""
        functions: dict[str, list[tuple[CFunction, str]]] = {}
        for _, there in measured:
            with suppress(EvidenceError), self._lock:
                notes = self.notes.find(there)
                for function in notes.functions:
                    functions.setdefault(function.name, []).append((function, notes.folder))
        return [_placed(call, functions.get(call.function, ())) for call in calls]

    def _describe(self, notes: str, profile: str) -> GcovrObject:
        known = self._described.get(notes)
        if known is None:
            known = self._described[notes] = measured_object(notes, "", self.notes.roots)
        return GcovrObject(known.notes, known.compiler, known.folder, profile)

    def _by_gcovr(
        self,
        found: Sequence[tuple[GcovrObject, str]],
        others: Sequence[GcovrObject],
        ends: Sequence[CallEnd],
        problems: list[Problem],
    ) -> TestData:
        measured = [one for one, _ in found]
        commands = sorted({self.gcovr.gcov(one.compiler) for one in measured})
        if len(commands) == 1 and all(one.compiler.is_clang for one in measured) and self._all_lines_count(measured):
            reader = commands[0]
            files: list[dict[str, Any]] = [
                {**one} for one in counted_files(reader, measured, self.paths, self.gcovr.cancel)
            ]
        else:
            reader = f"gcovr {self.gcovr.version} with {' and '.join(commands)}"
            files = self.gcovr.read(measured)
        if ends:
            self._correct(files, found, ends)
        sources = sorted(gcovr_table(files, self.paths, self.recorder.recording.log))
        built = max(os.stat(one.notes).st_mtime_ns for one in measured)
        digests = {}
        for source in sources:
            whole = os.path.join(self.paths.workspace, source)
            if not os.path.isfile(whole):
                cause = "its tests executed it, but the source is missing, so its lines may be wrong"
                problems.append(Problem(source, "", cause, "map the folder it was compiled in with --map"))
            elif os.stat(whole).st_mtime_ns > built:
                cause = "it changed after it was compiled, so its lines may have moved"
                problems.append(Problem(source, "", cause, "build again and run the tests again"))
            else:
                digests[source] = self._digest(whole)
        compilers = sorted({str(one.compiler) for one in others})
        why = "whose own reader knows more" if compilers == ["clang"] else "which is not known here"
        self.readers.add(reader)
        built_by = f"{' and '.join(compilers)}, {why}, built the program"
        cause = f"{reader} read the profiles, since {built_by}: there are no flow graphs"
        cure = (
            "to have flow graphs (CP needs them), and quicker recordings, build with gcc 9 to 15, or use --flow-graphs"
        )
        problems.append(Problem("", "", cause, cure))
        return TestData({}, json.dumps([_stripped(file) for file in files], separators=(",", ":")).encode(), digests)

    def _named_as_found(self, notes: str) -> bool:
        """Whether the sources of an object are where their names in the notes say, as llvm-cov needs them."""
        with self._lock:
            if notes not in self._findable:
                try:
                    compiled = self.notes.find(f"{os.path.splitext(notes)[0]}.gcda")
                except EvidenceError:
                    return True  # then llvm-cov says what is wrong
                start = compiled.folder or os.path.dirname(notes)
                self._findable[notes] = all(
                    os.path.exists(os.path.join(start, source))
                    for source in compiled.sources
                    if self.paths.resolve(source, compiled.folder) is not None
                )
            return self._findable[notes]

    def _all_lines_count(self, measured: Sequence[GcovrObject]) -> bool:
        """Whether neither settings of gcovr nor markers in the sources exclude anything."""
        if self.gcovr.settings.file:
            return False
        with self._lock:
            for one in measured:
                if one.notes not in self._marked_notes:
                    compiled = self.notes.find(f"{os.path.splitext(one.notes)[0]}.gcda")
                    found = {self.paths.resolve(source, compiled.folder) for source in compiled.sources}
                    self._marked_notes[one.notes] = self._marked(source for source in found if source)
            return not any(self._marked_notes[one.notes] for one in measured)

    def _correct(
        self, files: list[dict[str, Any]], found: Sequence[tuple[GcovrObject, str]], ends: Sequence[CallEnd]
    ) -> None:
        """Count the lines and decisions of functions that did not return again, as gcov takes it that all return."""
        tables = {
            self.paths.resolve(file["file"]): {line["line_number"]: line for line in file["lines"]} for file in files
        }
        objects = []
        for one, there in found:
            # else of a compiler that only gcovr knows
            with suppress(EvidenceError, OSError, ValueError):
                with self._lock:
                    notes = self.notes.find(there)
                profile = parse_profile(read_evidence(one.profile), notes, there)
                objects.append((notes, np.frombuffer(profile.counters, np.int64)))
        counting = counting_functions(objects)
        for notes, counters in objects:
            stopped = ends_of_calls(notes, counters, ends, self.paths, counting)
            for ident, blocks in groupby(stopped, lambda end: end.ident):
                function = next(one for one in notes.functions if one.ident == ident)
                first = notes.first_counter[ident]
                flow = CFlow([function], clang={0} if notes.compiler.is_clang else ())
                stops = [FlowEnd(0, end.block, end.line, end.times) for end in blocks]
                arcs = flow.arc_counts(counters[None, first : first + len(function.counted)], stops)
                executed = flow.lines_executed(arcs, stops)[:, 0]
                decisions = flow.decisions(arcs[:, 0])
                for (_, file, number), ran in zip(flow.lines, executed.tolist(), strict=True):
                    line = tables.get(self.paths.resolve(file, notes.folder), {}).get(number)
                    if line is not None:
                        line["count"] = max(line["count"], 1) if ran else 0
                        taken = decisions.get((file, number), [])
                        if len(taken) == len(line.get("branches", ())):
                            for branch, count in zip(line["branches"], taken, strict=True):
                                branch["count"] = count

    def _digest(self, path: str) -> str:
        with self._lock:
            if path not in self._digests:
                with open(path, "rb") as file:
                    self._digests[path] = hashlib.sha256(file.read()).hexdigest()
            return self._digests[path]

    def _counters(self, measured: Sequence[tuple[GcovrObject, str]], problems: list[Problem]) -> dict[int, bytes]:
        """The counters of every object that a test ran, by the object's index."""
        counters: dict[int, bytes] = {}
        for one, there in measured:
            try:
                with self._lock:
                    notes = self.notes.find(there)
                    number = self._number(notes, problems)
                with open(one.profile, "rb") as file:
                    profile = parse_profile(file.read(), notes, there)
            except EvidenceError as error:
                problems.append(error.problem)
                continue
            self.readers.add(f"Suspectra ({notes.compiler})")
            problems += profile.problems
            values = profile.counters
            if sys.byteorder == "big":
                values.byteswap()
            counters[number] = values.tobytes()
        return counters

    def _number(self, notes: CObject, problems: list[Problem]) -> int:
        if notes.name not in self.objects:
            digests, stale = source_digests({notes.name: notes}, self.paths)
            problems += [*stale, *optimisation_problems({notes.name: notes})]
            with open(notes.name, "rb") as file:
                data = file.read()
            folder = notes.folder if notes.compiler.is_clang else ""
            self.objects[notes.name] = self.recorder.add_object(notes.name, data, digests, folder)
        return self.objects[notes.name]

    def exclusions(self, previous: Exclusions = NO_EXCLUSIONS) -> Exclusions:
        """Ask gcovr which lines are excluded, after some tests were recorded.

        gcovr is asked once, about the objects: the exclusions are the same for all tests.

        Raises EvidenceError when gcovr failed.
        """
        lines: dict[str, set[int]] = {}
        objects = {path: compiled for path, compiled in self.notes.objects.items() if path in self.objects}
        for compiled in objects.values():
            for file, line in {at[1:] for function in compiled.functions for at in function.lines}:
                source = self.paths.resolve(file, compiled.folder)
                if source is not None:
                    lines.setdefault(source, set()).add(line)
        settings = self.gcovr.settings
        why = [f"{key} in {settings.file}" for key in settings.choose_lines]
        if "no-markers" not in settings.choose_lines and self._marked(lines):
            why.append("exclusion markers")
        if not why:
            return previous.replaced(lines, NO_EXCLUSIONS)
        report = self.gcovr.read([self._described[path] for path in objects])
        counted = gcovr_table(report, self.paths, self.recorder.recording.log)
        counted_lines = {path: set(table.lines) for path, table in counted.items()}
        files = frozenset(path for path in lines if not counted_lines.get(path))
        excluded = {path: frozenset(lines[path] - counted_lines[path]) for path in sorted(lines) if path not in files}
        reason = f"gcovr {self.gcovr.version} leaves them out ({', '.join(why)})"
        found = Exclusions({path: numbers for path, numbers in excluded.items() if numbers}, files, reason)
        return previous.replaced(lines, found)

    def _marked(self, sources: Iterable[str]) -> bool:
        """Whether any source has an exclusion marker."""
        for source in sources:
            try:
                with open(os.path.join(self.paths.workspace, source), "rb") as file:
                    if _MARKER.search(file.read()):
                        return True
            except OSError:
                continue
        return False


def _placed(call: CallUnderWay, functions: Sequence[tuple[CFunction, str]]) -> CallUnderWay:
    place = call.places[-1]
    files = {
        os.path.join(folder, file)
        for function, folder in functions
        for _, file, line in function.lines
        if line == place.line
    }
    if not files or os.path.basename(place.path) in map(os.path.basename, files):
        return call
    return call._replace(places=(*call.places[:-1], place._replace(path=min(files))))


_MARKER = re.compile(rb"[GL]COVR?_EXCL_")
_LINE_FIELDS = ("line_number", "count", "gcovr/excluded", "gcovr/noncode")


def _stripped(file: dict[str, Any]) -> dict[str, Any]:
    """The parts of a file in gcovr's report that are used."""
    return {
        "file": file["file"],
        "functions": [
            {name: function[name] for name in ("name", "demangled_name", "lineno") if name in function}
            for function in file.get("functions", ())
        ],
        "lines": [
            {
                **{name: line[name] for name in _LINE_FIELDS if name in line},
                "branches": [
                    {name: branch[name] for name in ("count", "gcovr/excluded") if name in branch}
                    for branch in line.get("branches", ())
                ],
            }
            for line in file["lines"]
        ],
    }
