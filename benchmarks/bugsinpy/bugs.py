"""The bugs of BugsInPy that FauxPy's authors ranked: how to run them, where they are, and the published ranks.

Both are read from the histories of two repositories, whose commits are fixed here.
"""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import tarfile
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXPERIMENTS = ("https://github.com/atom-sw/fauxpy-experiments", "fd2d8fd")
BUGSINPY = ("https://github.com/soarsmu/BugsInPy", "11c5f1e")
PUBLISHED = ("Tarantula", "Ochiai", "DStar", "Metallaxis", "Muse", "PS", "ST", "AvgAlfa", "AvgSbst")
"""FauxPy's techniques, and their averages: of all seven but Tarantula, and of those that do not run tests again."""

LEVELS = ("statement", "function")
_COMMIT = re.compile(r'^(buggy|fixed)_commit_id\s*=\s*"(\w+)"', re.MULTILINE)
_TEST_FILES = re.compile(r'^test_file\s*=\s*"([^"]*)"', re.MULTILINE)
_REQUIRED = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
_URL = re.compile(r'^github_url\s*=\s*"([^"]*?)/?"', re.MULTILINE)


@dataclass(frozen=True)
class FaultyFile:
    """A file of a fix, and what the fix changed in it; what it only adds is between two lines, which both count."""

    path: str
    lines: tuple[int, ...]
    functions: tuple[tuple[str, int, int], ...]  # name, first and last line


@dataclass(frozen=True)
class Bug:
    """A bug, as FauxPy's authors ran it."""

    project: str
    number: int
    url: str
    faulty_commit: str
    fixed_commit: str
    changed_tests: tuple[str, ...]  # files that the faulty version takes from the fixed one
    source: str  # the folder whose statements are ranked
    excluded: tuple[str, ...]  # folders in it that are not
    test_files: tuple[str, ...]
    failing: frozenset[str]  # the tests that show the bug, without parameters
    lines: int  # how many lines and functions the source has
    functions: int
    faults: tuple[FaultyFile, ...] = field(repr=False)
    required: dict[str, str] = field(default_factory=dict, repr=False, hash=False)  # versions, by lower-case name

    @property
    def name(self) -> str:
        return f"{self.project}_{self.number}"

    def ranks(self, path: str) -> bool:
        """Whether statements of a file are ranked."""
        return _within(path, self.source) and not any(_within(path, folder) for folder in self.excluded)

    def shows(self, test: str) -> bool:
        """Whether a test is one of those that show the bug."""
        return test.partition("[")[0] in self.failing


def _within(path: str, folder: str) -> bool:
    return folder == "." or path.startswith(f"{folder}/")


class Clone:
    """The history of a repository, which is cloned unless it is there."""

    def __init__(self, url: str, folder: Path):
        self.path = folder / url.rpartition("/")[2]
        if not self.path.exists():
            subprocess.run(["git", "clone", "--quiet", "--bare", url, str(self.path)], check=True)

    def git(self, *arguments: str) -> bytes:
        return subprocess.run(["git", "-C", str(self.path), *arguments], check=True, capture_output=True).stdout

    def read(self, commit: str, path: str) -> str:
        text = self.git("show", f"{commit}:{path}")
        return text.decode("utf-16" if text.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8")

    def unpack(self, commit: str, folder: Path, *paths: str) -> None:
        """Write the files of a commit, all or some."""
        with tarfile.open(fileobj=io.BytesIO(self.git("archive", commit, "--", *paths))) as archive:
            archive.extractall(folder, filter="data")


def read_bugs(clones: Path) -> list[Bug]:
    """All bugs for which ranks are published."""
    experiments, described = Clone(EXPERIMENTS[0], clones), Clone(BUGSINPY[0], clones)
    table = experiments.read(EXPERIMENTS[1], "bash_script_generator/info/subject_info.csv")
    faults = json.loads(experiments.read(EXPERIMENTS[1], "metric_computation/ground_truth_info.json"))
    sizes = json.loads(experiments.read(EXPERIMENTS[1], "metric_computation/size_counts.json"))
    bugs = []
    for row in csv.DictReader(io.StringIO(table)):
        project, number = row["BENCHMARK_NAME"], int(row["BUG_NUMBER"])
        folder, key = f"projects/{project}", f"{project}:{number}"
        info = described.read(BUGSINPY[1], f"{folder}/bugs/{number}/bug.info")
        commits = dict(_COMMIT.findall(info))
        bugs.append(
            Bug(
                project,
                number,
                _URL.findall(described.read(BUGSINPY[1], f"{folder}/project.info"))[0],
                commits.get("buggy") or f"{commits['fixed']}^",
                commits["fixed"],
                tuple(_parts(_TEST_FILES.findall(info)[0])),
                row["TARGET_DIR"],
                tuple(_parts(row["EXCLUDE"].replace("-", ""))),
                tuple(_parts(row["TEST_SUITE"])),
                frozenset(_parts(row["TARGET_FAILING_TESTS"])),
                sizes[key]["LINE_COUNT"],
                sizes[key]["FUNCTION_COUNT"],
                tuple(map(_faulty_file, faults[key])),
                {
                    name.lower(): version
                    for name, version in _REQUIRED.findall(
                        described.read(BUGSINPY[1], f"{folder}/bugs/{number}/requirements.txt")
                    )
                },
            )
        )
    return bugs


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


def _faulty_file(entry: dict[str, Any]) -> FaultyFile:
    functions = [name.split("::") for name in (*entry["FUNCTIONS"], *entry["EXTENDED_FUNCTIONS"])]
    return FaultyFile(
        entry["FILE_NAME"],
        (*entry["LINES"], *entry["EXTENDED_LINES"]),
        tuple((name, int(first), int(last)) for name, first, last in functions),
    )


def published_ranks(clones: Path) -> list[dict[str, str]]:
    """The published ranks, one row for each bug and level."""
    experiments = Clone(EXPERIMENTS[0], clones)
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for level in LEVELS:
        for kind in ("fauxpy", "avg"):
            path = f"metric_computation/output_{kind}_{level}/{kind}_{level}_all_detailed.csv"
            for entry in csv.DictReader(io.StringIO(experiments.read(EXPERIMENTS[1], path))):
                bug = f"{entry['project_name']}_{entry['bug_number']}"
                row = rows.setdefault((bug, level), {"bug": bug, "level": level})
                row[entry["technique"]] = f"{float(entry['e_inspect']):.6g}"
    return list(rows.values())
