"""The description of a study: a TOML file.

::

    [study]
    techniques = ["ochiai", "cp", "ochiai+cp", { name = "dstar", exponent = 3, label = "DStar3" }]
    clone = "both"               # true, false or "both"
    ht_rank = true               # rank by expected steps, with p_jump = 0.5 unless given
    faults = 2                   # compose so many versions of a program of a corpus, and rank each fault
    t_score = true               # also search along dependences from the first five statements
    corpus = ["corpora/siemens"] # folders in the corpus format
    sources = "sources"          # the sources that their subjects were recorded from, if they are available

    [[subject]]                  # evidence of a program of your own
    family = "shop"
    name = "shop 17"
    workspace = "shop"
    recording = "shop/.suspectra/recording"   # or: coverage = "…", junit = "…"
    faults = "shop/faults.txt"
    each_fault = true            # rank each fault of the file, not the best-ranked one alone

Relative paths are relative to the file's folder.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from suspectra.base.errors import EvidenceError, NothingToRank, Problem, UsageError
from suspectra.evaluation.composing import ComposedFiles, compositions
from suspectra.evaluation.corpus import Subject, SubjectFile, read_index, read_subject
from suspectra.evaluation.faults import FaultList
from suspectra.evaluation.study import StudiedTechnique, StudyPlan

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_CLONE: dict[bool | str, tuple[bool, ...]] = {False: (False,), True: (True,), "both": (False, True)}
Table = dict[str, object]
ValueT = TypeVar("ValueT")
_STUDY = {
    "techniques",
    "clone",
    "corpus",
    "unexecuted_last",
    "results",
    "ht_rank",
    "p_jump",
    "sources",
    "faults",
    "t_score",
}
_FLAGS = {"include_tests", "each_fault"}
_SUBJECT = {"family", "name", "workspace", "recording", "coverage", "junit", "faults", *_FLAGS}


@dataclass(frozen=True)
class EvidenceSubject:
    """A subject that consists of the evidence of a workspace and a list of faults."""

    family: str  # the group of the subject in tables
    name: str  # the name of the subject
    workspace: Path  # the folder that paths of the evidence are relative to
    recording: Path | None  # the folder of a recording
    # a coverage.py data file and a JUnit XML file of the same run
    coverage: Path | None
    junit: Path | None
    faults: Path  # the list of faults
    include_tests: bool = False  # whether test code may be suspected
    each_fault: bool = False  # whether each fault of the list is ranked, not the best-ranked one

    def files(self) -> list[Path]:
        """The files that its results depend on."""
        recorded = sorted(self.recording.iterdir()) if self.recording and self.recording.is_dir() else []
        return [*recorded, *(path for path in (self.coverage, self.junit, self.faults) if path)]

    def read(self) -> Subject:
        """Read the evidence and the faults.

        Raises EvidenceError when the evidence or the list of faults can't be read. Raises NothingToRank when no fault
        is a measured statement that may be a suspect.
        """
        from suspectra.evidence.discovery import find_source

        evidence = find_source(
            self.workspace, coverage=self.coverage, junit=self.junit, recording=self.recording, edges=True
        ).read()
        spectrum = evidence.spectrum(include_tests=self.include_tests)
        faults, problems = FaultList.read(self.faults).elements(spectrum.elements)
        faulty = np.unique(np.concatenate([np.zeros(0, np.int64), *faults]))
        faulty = faulty[spectrum.candidates[faulty]]
        if not len(faulty):
            cause = "none of its faults is in the ranking"
            raise NothingToRank(problems[0] if problems else Problem(str(self.faults), "", cause, "correct its lines"))
        faults = [left for one in faults if len(left := one[spectrum.candidates[one]])] if self.each_fault else []
        named = tuple((str(spectrum.elements.location(int(one[0]))), one) for one in faults)
        return Subject(self.family, self.name, spectrum, evidence.program, faulty, named)


AnySubject = SubjectFile | EvidenceSubject | ComposedFiles


def read_any(subject: AnySubject) -> Subject:
    """Read a subject of either kind."""
    return read_subject(subject) if isinstance(subject, SubjectFile) else subject.read()


@dataclass(frozen=True)
class StudyConfig:
    """The content of a study file."""

    plan: StudyPlan  # what to do with each subject
    subjects: tuple[AnySubject, ...]  # the subjects of corpora and workspaces
    problems: tuple[Problem, ...]  # invalid rows of the indices of corpora
    results: Path | None = None  # the folder that stores the results of each subject

    @classmethod
    def read(cls, path: Path) -> StudyConfig:
        """Read a study file.

        Its subjects are not read yet.

        Raises UsageError when it is not TOML, or contains an unknown key or an invalid value. Raises EvidenceError when
        a corpus has no index.
        """
        try:
            with open(path, "rb") as file:
                data = tomllib.load(file)
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _wrong(path, "", f"it can't be read: {getattr(error, 'strerror', None) or error}") from None
        return _Parser(path).config(data)


def read_corpora(
    folders: Sequence[Path], sources: Path | None = None, faults: int = 1
) -> tuple[list[AnySubject], list[Problem]]:
    """Read the indices of several corpora, and compose versions with several faults if they are wanted.

    In the order of the indices.

    Raises EvidenceError when there is no subject at all.
    """
    subjects, problems = [], []
    for folder in folders:
        found, bad = read_index(folder, sources)
        subjects += found
        problems += bad
    if folders and not subjects:
        empty = Problem(str(folders[0]), "", "its index names no subject", "name another corpus")
        raise EvidenceError(problems[0] if problems else empty)
    if faults == 1:
        return [*subjects], problems
    composed = compositions(subjects, faults)
    if folders and not composed:
        cause = f"no {faults} versions have the same statements, and failing tests of their own"
        raise EvidenceError(Problem(str(folders[0]), "", cause, "name a corpus with more versions of a program"))
    return [*composed], problems


class _Parser:
    def __init__(self, path: Path):
        self.path, self.folder = path, path.absolute().parent

    def config(self, data: Table) -> StudyConfig:
        self.known("", data, {"study", "subject"})
        study: Table = self.value(data, "study", dict, {})
        self.known("[study]", study, _STUDY)
        clone = study.get("clone", False)
        if not isinstance(clone, (bool, str)) or clone not in _CLONE:
            raise _wrong(self.path, "clone", f"it is {clone!r}", 'give true, false or "both"')
        choices = tuple(self.choice(entry) for entry in self.value(study, "techniques", list, []))
        plan = StudyPlan(
            choices,
            _CLONE[clone],
            self.value(study, "unexecuted_last", bool, False),
            self.value(study, "ht_rank", bool, False),
            self.number(study, "p_jump", 0.5),
            self.value(study, "t_score", bool, False),
        )
        plan.check()
        sources = self.value(study, "sources", str, "")
        corpora = [self.folder / folder for folder in self.strings(study, "corpus")]
        faults = self.value(study, "faults", int, 1)
        if faults < 1:
            raise _wrong(self.path, "faults", f"it is {faults}", "give the number of versions that are composed")
        subjects, problems = read_corpora(corpora, self.folder / sources if sources else None, faults)
        own = [self.subject(entry, i) for i, entry in enumerate(self.value(data, "subject", list, []), 1)]
        if not subjects and not own:
            raise _wrong(self.path, "", "it names no subject", "add a corpus to [study], or a [[subject]]")
        results = self.value(study, "results", str, f"{self.path.stem}.results")
        return StudyConfig(plan, (*subjects, *own), tuple(problems), self.folder / results)

    def choice(self, entry: object) -> StudiedTechnique:
        if isinstance(entry, str):
            return StudiedTechnique(entry)
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise _wrong(self.path, "techniques", f"{entry!r} names no technique", 'give a name, or { name = "…", … }')
        rest = {key: value for key, value in entry.items() if key not in ("name", "label")}
        return StudiedTechnique(entry["name"], tuple(sorted(rest.items())), str(entry.get("label", "")))

    def subject(self, entry: object, number: int) -> EvidenceSubject:
        place = f"subject {number}"
        if not isinstance(entry, dict):
            raise _wrong(self.path, place, "it is not a table", "write [[subject]]")
        self.known(place, entry, _SUBJECT)
        missing = {"name", "faults"} - entry.keys()
        if missing:
            raise _wrong(self.path, place, f"it has no {' and no '.join(sorted(missing))}", "add it")
        text = {key: self.value(entry, key, str, "") for key in _SUBJECT - _FLAGS}
        path = {key: self.folder / text[key] if text[key] else None for key in ("recording", "coverage", "junit")}
        return EvidenceSubject(
            text["family"] or text["name"],
            text["name"],
            self.folder / text["workspace"],
            path["recording"],
            path["coverage"],
            path["junit"],
            faults=self.folder / text["faults"],
            include_tests=self.value(entry, "include_tests", bool, False),
            each_fault=self.value(entry, "each_fault", bool, False),
        )

    def strings(self, table: Table, key: str) -> list[str]:
        value = table.get(key, [])
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise _wrong(self.path, key, "it is not a list of folders", f'write {key} = ["…"]')
        return value

    def value(self, table: Table, key: str, kind: type[ValueT], default: ValueT) -> ValueT:
        value = table.get(key, default)
        if not isinstance(value, kind):
            raise _wrong(self.path, key, f"it is {value!r}", f"give a {kind.__name__}")
        return value

    def number(self, table: Table, key: str, default: float) -> float:
        value = table.get(key, default)
        if not isinstance(value, (int, float)):
            raise _wrong(self.path, key, f"it is {value!r}", "give a number")
        return float(value)

    def known(self, place: str, table: Table, keys: set[str]) -> None:
        strange = sorted(table.keys() - keys)
        if strange:
            cure = f"known are {', '.join(sorted(keys))}"
            raise _wrong(self.path, place, f"it says {strange[0]!r}, which means nothing here", cure)


def _wrong(path: Path, place: str, cause: str, cure: str = "correct it") -> UsageError:
    return UsageError(Problem(str(path), place, cause, cure))
