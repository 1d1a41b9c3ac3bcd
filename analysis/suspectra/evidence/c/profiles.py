"""Raw profiles of ``--coverage`` builds: a folder for each test, in the layout of ``GCOV_PREFIX``.

Nothing is executed, not even gcov. The notes (``.gcno``) are read where the compiler wrote them, next to the objects.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence import places
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.c.builder import CAssembler, TestProfile
from suspectra.evidence.c.compilation_folder import with_folder
from suspectra.evidence.c.failures import CFailures
from suspectra.evidence.c.optimisation import optimised_by
from suspectra.evidence.evidence import Evidence, TestResult
from suspectra.evidence.formats.outcomes import Outcomes, read_outcomes
from suspectra.evidence.opening import read_evidence
from suspectra.evidence.source_paths import TEST_PATTERNS, SourcePaths
from suspectra.evidence.sources import MAX_SOURCE, reason
from suspectra.program.c.files import parse_notes, parse_profile
from suspectra.program.c.object import CObject, Profile

Mark = tuple[int, int, int]
"""Changes when a file does: inode, size, and time of the last modification."""


class GcovRawSource:
    """Profiles that ``GCOV_PREFIX`` separates by test.

    Raises EvidenceError by read, when there are no profiles, or none that can be used.
    """

    def __init__(
        self,
        workspace: str | os.PathLike[str],
        profiles: str | os.PathLike[str],
        *,
        outcomes: str | os.PathLike[str] | Outcomes | None = None,
        build: Sequence[str | os.PathLike[str]] = (),
        mapping: Iterable[tuple[str, str]] = (),
        test_patterns: Sequence[str] = TEST_PATTERNS,
    ):
        self.workspace = os.path.abspath(workspace)  # the folder of the sources
        self.profiles = Path(os.path.abspath(Path(self.workspace, profiles)))
        self._outcomes = outcomes if outcomes is not None else self.profiles / "outcomes.json"
        self._boundary = Boundary(self.workspace)
        self._paths = SourcePaths(self.workspace, mapping, test_patterns)
        self._notes = NotesFolder(self._paths, build)
        self._assembler = CAssembler(self._paths)
        self._failures = CFailures(self._paths)
        self._read: dict[str, tuple[Mark, CObject, Profile]] = {}

    def watched(self) -> Sequence[str]:
        """Return the folder of profiles, and the file of outcomes."""
        outcomes = [] if isinstance(self._outcomes, Mapping) else [os.path.join(self.workspace, self._outcomes)]
        return [str(self.profiles), places.below(self.profiles), *outcomes]

    def read(self) -> Evidence:
        """Read the current state of the folder.

        Rows of tests whose profiles did not change are the same objects.

        Raises EvidenceError when there is no such folder, or nothing of it can be used.
        """
        if not self._boundary.may_look(self.profiles) or not self.profiles.is_dir():
            cure = "run each test with GCOV_PREFIX=FOLDER/TEST, or use suspectra record-c"
            raise EvidenceError(Problem(str(self.profiles), "", "there is no such folder of profiles", cure))
        outcomes = self._read_outcomes()
        problems: list[Problem] = []
        self._notes.begin()
        profiles = []
        for folder in sorted(
            path for path in self.profiles.iterdir() if self._boundary.may_look(path) and path.is_dir()
        ):
            name = unquote(folder.name)
            result = outcomes.get(name)
            if result is None:
                problems.append(_no_outcome(str(folder)))
                continue
            profiles.append(self._profile(folder, result, problems))
        problems += [_no_profile(str(self.profiles), name) for name in outcomes if name not in _names(profiles)]
        profiles += [
            TestProfile(result, (), {})
            for name, result in outcomes.items()
            if name not in _names(profiles) and result.verdict.failing
        ]
        objects = self._notes.objects
        if not objects:
            raise EvidenceError(problems[0] if problems else _empty(str(self.profiles)))
        digests, stale = source_digests(objects, self._paths)
        problems += stale
        evidence = self._assembler.evidence(str(self.profiles), objects, digests, profiles, problems)
        return self._failures.added(evidence, self._outcomes)

    def _read_outcomes(self) -> Outcomes:
        if isinstance(self._outcomes, Mapping):
            return self._outcomes
        return read_outcomes(os.path.join(self.workspace, self._outcomes), self._boundary)

    def _profile(self, folder: Path, result: TestResult, problems: list[Problem]) -> TestProfile:
        marks, counters = [], {}
        root = os.fspath(folder)
        for path, mark in sorted(_marked_profiles(root)):
            try:
                there = path[len(root) :]
                notes = self._notes.find(there, beside=path)
                profile = self._counters(path, mark, notes)
            except EvidenceError as error:
                problems.append(error.problem)
                continue
            problems += profile.problems
            marks.append((notes.name, mark))
            counters[notes.name] = np.frombuffer(profile.counters, np.int64)
        if not counters:
            problems.append(_no_profile(str(folder), result.name))
        return TestProfile(result, tuple(marks), counters)

    def _counters(self, path: str, mark: Mark, notes: CObject) -> Profile:
        known = self._read.get(path)
        if known is None or known[0] != mark or known[1] is not notes:
            try:
                data = read_evidence(path, self._boundary)
            except (OSError, ValueError) as error:
                cure = "run the test again"
                raise EvidenceError(Problem(path, "", f"it can't be read: {reason(error)}", cure)) from None
            self._read[path] = known = (mark, notes, parse_profile(data, notes, path))
        return known[2]


@dataclass
class _Known:
    mark: Mark
    notes: CObject


class NotesFolder:
    """The ``.gcno`` files of profiles; each is read once, and again when it changes."""

    def __init__(self, paths: SourcePaths, build: Sequence[str | os.PathLike[str]] = ()):
        self._paths = paths
        self.roots = [os.path.realpath(root) for root in (paths.workspace, *build)]
        self._known: dict[str, _Known] = {}
        self._fresh: dict[str, CObject | EvidenceError] = {}
        self._homes: dict[str, str] = {}

    def begin(self) -> None:
        """Start a new reading: forget the requested notes, and check again whether they changed."""
        self._fresh = {}

    @property
    def objects(self) -> dict[str, CObject]:
        """The notes requested since :meth:`begin`, by path."""
        return {found.name: found for found in self._fresh.values() if isinstance(found, CObject)}

    def find(self, profile: str, beside: str | None = None) -> CObject:
        """Read the notes of a profile.

        The same object as long as the file does not change.

        Raises EvidenceError when they are missing, outside the permitted folders, or damaged.
        """
        home = self._home(profile)
        if home not in self._fresh:
            notes_path = os.path.splitext(beside)[0] + ".gcno" if beside is not None else home
            try:
                # copies beside the profiles of many tests are equal, so only the first one is read
                self._fresh[home] = self._load(home if os.path.exists(home) else notes_path, home, beside or profile)
            except EvidenceError as error:
                self._fresh[home] = error
        found = self._fresh[home]
        if isinstance(found, EvidenceError):
            raise found
        return found

    def path(self, profile: str) -> str:
        """Find the notes of a profile, of any compiler.

        Raises EvidenceError when they are missing, or outside the permitted folders.
        """
        home = self._home(profile)
        self._check_place(home, profile)
        if not os.path.exists(home):
            raise _no_notes(home, profile)
        return home

    def _home(self, profile: str) -> str:
        home = self._homes.get(profile)
        if home is None:
            home = self._homes[profile] = os.path.splitext(self._paths.locate(profile))[0] + ".gcno"
        return home

    def _check_place(self, path: str, profile: str) -> None:
        real = os.path.realpath(path)
        if not any(real.startswith(root + os.sep) for root in self.roots) and os.path.exists(path):
            cause = f"its object's notes {path} lie outside the workspace and are not read"
            cure = "name the build folder with --build, or open the folder that contains both"
            raise EvidenceError(Problem(profile, "", cause, cure))

    def _load(self, path: str, home: str, profile: str) -> CObject:
        self._check_place(path, profile)
        try:
            mark = mark_of(path)
            known = self._known.get(path)
            if known is None or known.mark != mark:
                known = self._known[path] = _Known(mark, self._parsed(path))
        except (OSError, ValueError):
            raise _no_notes(home, profile) from None
        return known.notes

    def _parsed(self, path: str) -> CObject:
        compiled = with_folder(parse_notes(read_evidence(path), path), self.roots)
        return replace(compiled, optimised=_optimisation(path))


def _no_notes(home: str, profile: str) -> EvidenceError:
    cause = f"the notes of its object, {home}, are missing"
    cure = "keep the .gcno files of the build; for a build of another machine map its folder with --map"
    return EvidenceError(Problem(profile, "", cause, cure))


def profile_files(folder: str | os.PathLike[str]) -> list[str]:
    """List every ``.gcda`` file below a folder, sorted."""
    return [path for path, _ in sorted(_marked_profiles(os.fspath(folder)))]


def _marked_profiles(folder: str) -> list[tuple[str, Mark]]:
    """Every ``.gcda`` file below a folder with its mark. A suite has tens of thousands, so each takes one system
    call.
    """
    found, folders = [], [folder]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".gcda"):
                    stat = entry.stat(follow_symlinks=False)
                    found.append((entry.path, (stat.st_ino, stat.st_size, stat.st_mtime_ns)))
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return found


def source_digests(objects: Mapping[str, CObject], paths: SourcePaths) -> tuple[dict[str, str], list[Problem]]:
    """Compute the SHA-256 of the sources that did not change since they were compiled."""
    built: dict[str, int] = {}
    for path, compiled in objects.items():
        try:
            at = os.stat(path).st_mtime_ns
        except OSError:
            continue
        for name in compiled.sources:
            source = paths.resolve(name, compiled.folder)
            if source is not None:
                built[source] = min(at, built.get(source, at))
    digests, problems = {}, []
    for source, at in sorted(built.items()):
        whole = os.path.join(paths.workspace, source)
        try:
            changed = os.stat(whole).st_mtime_ns > at
            content = read_evidence(whole, limit=MAX_SOURCE)
        except (OSError, ValueError):
            cure = "map the folder it was compiled in with --map"
            problems.append(Problem(source, "", "the source is missing", cure))
            continue
        if changed:
            cause = "it changed after it was compiled, so its lines may have moved"
            problems.append(Problem(source, "", cause, "build again and run the tests again"))
        else:
            digests[source] = hashlib.sha256(content).hexdigest()
    return digests, problems


def _optimisation(notes: str) -> str | None:
    """How an object was optimised, by the path of its notes; empty where it was not, None where nothing says it."""
    try:
        return optimised_by(read_evidence(os.path.splitext(notes)[0] + ".o"))
    except (OSError, ValueError):
        return None


def mark_of(path: str | os.PathLike[str]) -> Mark:
    """Return a value that changes when the file does."""
    stat = os.stat(path)
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _names(profiles: Sequence[TestProfile]) -> set[str]:
    return {profile.result.name for profile in profiles}


def _no_outcome(folder: str) -> Problem:
    cause = "it is not known how this test ended, so its profile is not used"
    return Problem(folder, "", cause, "add the test to the outcomes")


def _no_profile(place: str, name: str) -> Problem:
    cause = "it left no profile: it was killed, crashed, or ran no code built with --coverage"
    cure = "let it end by itself, or link the crash handler (suspectra record-c says how)"
    return Problem(place, f"test {name}", cause, cure)


def _empty(folder: str) -> Problem:
    cure = "build with --coverage and run each test with GCOV_PREFIX=FOLDER/TEST"
    return Problem(folder, "", "it contains no profiles", cure)
