"""Reading the profiles of a test: by this package as counters, or by gcovr as lines.

This package reads profiles of gcc 9 to 15 and of clang, which is quick and gives whole flow graphs. gcovr reads those
of other versions.
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
from typing import Any

from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.recording.crash_calls import CallUnderWay
from suspectra.c.recording.gcovr import Gcovr, GcovrObject, measured_object
from suspectra.c.recording.measured_programs import MeasuredPrograms
from suspectra.c.recording.told_lines import ToldLines
from suspectra.evidence.c.call_ends import common_name
from suspectra.evidence.c.exclusions import NO_EXCLUSIONS, Exclusions
from suspectra.evidence.c.profiles import NotesFolder, profile_files, source_digests
from suspectra.evidence.c.store import StoredObject
from suspectra.evidence.c.tables import optimised, perhaps_optimised
from suspectra.evidence.c.writer import CRecorder
from suspectra.evidence.formats.gcovr import gcovr_table
from suspectra.evidence.source_paths import SourcePaths
from suspectra.program.c.files import parse_profile
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
        looks_into_programs: bool,  # whether a library in the programs says which ones wrote profiles
    ):
        self.looks_into_programs = looks_into_programs
        self.recorder, self.paths, self.notes, self.gcovr = recorder, paths, notes, gcovr
        self.objects: dict[str, int] = {}
        self._programs = MeasuredPrograms()
        self.readers: set[str] = set()
        """Descriptions of the readers that were used."""
        self._described: dict[str, GcovrObject] = {}
        self._digests: dict[str, str] = {}
        self._told = ToldLines(paths)
        self._lock = threading.Lock()

    @property
    def folders(self) -> set[str]:
        """Where the objects of all profiles so far were compiled."""
        with self._lock:
            described = list(self._described.values())
        return {one.folder for one in described if one.folder} | {os.path.dirname(one.notes) for one in described}

    def read(self, measured: Sequence[tuple[GcovrObject, str]], problems: list[Problem]) -> TestData:
        """Read the profiles of objects: counters by object, or gcovr's report if gcovr read the profiles."""
        if not all(one.compiler.known for one, _ in measured):
            try:
                return self._by_gcovr([one for one, _ in measured], problems)
            except EvidenceError as error:
                problems.append(error.problem)
        return TestData(self._counters(measured, problems))

    def add_programs(self, scratch: str) -> None:
        """Find out how the programs were compiled that a test with a scratch folder ran."""
        with self._lock:
            self._programs.add(scratch)

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
                    functions.setdefault(common_name(function.name), []).append((function, notes.folder))
        return [_placed(call, functions.get(common_name(call.function), ())) for call in calls]

    def _describe(self, notes: str, profile: str) -> GcovrObject:
        known = self._described.get(notes)
        if known is None:
            known = self._described[notes] = measured_object(notes, "", self.notes.roots)
        return GcovrObject(known.notes, known.compiler, known.folder, profile)

    def _by_gcovr(self, measured: Sequence[GcovrObject], problems: list[Problem]) -> TestData:
        commands = sorted({self.gcovr.gcov(one.compiler) for one in measured})
        reader = f"gcovr {self.gcovr.version} with {' and '.join(commands)}"
        files = self.gcovr.read(measured)
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
        compilers = sorted({str(one.compiler) for one in measured if not one.compiler.known})
        self.readers.add(reader)
        built_by = f"{' and '.join(compilers)}, which is not known here, built the program"
        cause = f"{reader} read the profiles, since {built_by}: there are no flow graphs"
        cure = "to have flow graphs (CP needs them), and quicker recordings, build with gcc 9 to 15 or clang"
        problems.append(Problem("", "", cause, cure))
        return TestData({}, json.dumps([_stripped(file) for file in files], separators=(",", ":")).encode(), digests)

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
                    number = self._number(notes, there, problems)
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

    def _number(self, notes: CObject, profile: str, problems: list[Problem]) -> int:
        if notes.name not in self.objects:
            digests, stale = source_digests({notes.name: notes}, self.paths)
            how = notes.optimised
            if how is None:
                how = self._programs.optimised(profile)
            problems += stale
            if how or (how is None and self.looks_into_programs and not notes.inlined):
                problems.append(optimised(notes.name, how) if how else perhaps_optimised(notes.name))
            with open(notes.name, "rb") as file:
                data = file.read()
            folder = notes.folder if notes.compiler.is_clang else ""
            stored = StoredObject(
                notes.name,
                hashlib.sha256(data).hexdigest(),
                digests,
                folder,
                how or "",
                foreign=self._told.foreign(notes, digests),
                operands=self._told.operands(notes, digests) if how == "" else frozenset(),
            )
            self.objects[notes.name] = self.recorder.add_object(stored, data)
        return self.objects[notes.name]

    def exclusions(self, previous: Exclusions, problems: list[Problem]) -> Exclusions:
        """Ask gcovr which lines are excluded, after some tests were recorded.

        gcovr is asked once, about the objects: the exclusions are the same for all tests.

        Raises EvidenceError when gcovr failed.
        """
        objects = {path: compiled for path, compiled in self.notes.objects.items() if path in self.objects}
        lines = self._lines(objects.values())
        settings = self.gcovr.settings
        why = [f"{key} in {settings.file}" for key in settings.choose_lines]
        if "no-markers" not in settings.choose_lines and self._marked(lines):
            why.append("exclusion markers")
        if not why:
            return previous.replaced(lines, NO_EXCLUSIONS)
        elsewhere = [path for path, compiled in objects.items() if not self._named_as_found(compiled)]
        if elsewhere:
            which = " and ".join(why)
            cause = f"gcovr can't find its sources where the compiler says, so {which} have no effect in them"
            cure = "compile without -ffile-prefix-map and -fdebug-prefix-map"
            problems += [Problem(path, "", cause, cure) for path in elsewhere]
            objects = {path: compiled for path, compiled in objects.items() if path not in elsewhere}
            lines = self._lines(objects.values())
        report = self.gcovr.read([self._described[path] for path in objects])
        counted = gcovr_table(report, self.paths, self.recorder.recording.log)
        counted_lines = {path: set(table.lines) for path, table in counted.items()}
        files = frozenset(path for path in lines if not counted_lines.get(path))
        excluded = {path: frozenset(lines[path] - counted_lines[path]) for path in sorted(lines) if path not in files}
        reason = f"gcovr {self.gcovr.version} leaves them out ({', '.join(why)})"
        found = Exclusions({path: numbers for path, numbers in excluded.items() if numbers}, files, reason)
        return previous.replaced(lines, found)

    def _lines(self, objects: Iterable[CObject]) -> dict[str, set[int]]:
        """The lines of the workspace that objects have, by source."""
        lines: dict[str, set[int]] = {}
        for compiled in objects:
            for file, line in {at[1:] for function in compiled.functions for at in function.lines}:
                source = self.paths.resolve(file, compiled.folder)
                if source is not None:
                    lines.setdefault(source, set()).add(line)
        return lines

    def _named_as_found(self, compiled: CObject) -> bool:
        """Whether the sources of an object are where their names say: llvm-cov needs them, gcov does not."""
        start = compiled.folder or os.path.dirname(compiled.name)
        return not compiled.compiler.is_clang or all(
            os.path.exists(os.path.join(start, source))
            for source in compiled.sources
            if self.paths.resolve(source, compiled.folder) is not None
        )

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
