"""Real faults from the histories of projects: commits that fix something and add a test, with the fix undone.

Each line of `fix_commits.txt` and `held_out_fix_commits.txt` names a commit. Its subject is the project as it was
after the commit, but for the source files, which are as they were before it. What the commit removed is faulty; where
it only added lines, that is the statement before them and the one behind. No score was chosen after a look at those
that are held out. Others are found in a clone, by running the tests of each commit that changes at most 16 lines of
one or two source files, and tests:

    python benchmarks/fixed_faults.py --find CLONE --python PYTHON >> benchmarks/fix_commits.txt
    python benchmarks/state_based.py --subjects fixes --subjects held-out --cache DIR --technique investigation
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as Xml  # of a file that pytest writes here

LISTS = {
    family: Path(__file__).with_name(name)
    for family, name in {"fixes": "fix_commits.txt", "held-out": "held_out_fix_commits.txt"}.items()
}
"""The commits of each family of subjects."""

PACKAGES = (
    *("attrs", "beautifulsoup4", "html5lib", "hypothesis", "lxml", "markupsafe", "mock", "orderly-set"),
    *("psutil", "pytest-mock", "python-dateutil", "pytz", "pyyaml", "simplejson", "trio", "tzdata"),
    *("wcwidth", "whatever"),
)
"""What the tests of these projects import."""

MAX_LINES, MAX_PARTS, MAX_FILES = 16, 4, 2  # of a fix
MAX_FAILING = 40
MAX_S = 60.0  # of a run of all tests
_TEST = re.compile(r"(^|/)(tests?|testing|testsuite)/|(^|/)test_|_test\.py$|(^|/)conftest\.py$")
_NO_SOURCE = re.compile(r"(^|/)(docs?|examples?|benchmarks?|tools|scripts)/|(^|/)setup\.py$")
_PART = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


class Fix(NamedTuple):
    """A commit that fixes something."""

    clone: Path
    commit: str

    def git(self, *arguments: str) -> bytes:
        return subprocess.run(["git", "-C", str(self.clone), *arguments], check=True, capture_output=True).stdout

    def changed(self) -> tuple[list[str], list[str]]:
        """The source files that it changes, and the tests."""
        names = self.git("show", "--format=", "--name-only", self.commit).decode().split("\n")
        python = [name for name in names if name.endswith(".py") and not _NO_SOURCE.search(name)]
        return [name for name in python if not _TEST.search(name)], [name for name in names if _TEST.search(name)]

    def parts(self, files: list[str]) -> list[tuple[str, range]]:
        """The lines before the fix of each part that it changes; of lines that it adds, those around them."""
        found, file = [], ""
        for line in self.diff(files).split("\n"):
            if line.startswith("--- "):
                file = line.removeprefix("--- a/")
            elif match := _PART.match(line):
                first, count = int(match[1]), int(match[2] or 1)
                found.append((file, range(first, first + (count or 2))))
        return found

    def diff(self, files: list[str]) -> str:
        return self.git("diff", "-U0", f"{self.commit}^", self.commit, "--", *files).decode()

    def lines(self, files: list[str]) -> list[str]:
        """The lines of files that it removes or adds, with their signs; none if they are only comments."""
        changed = re.findall(r"^(?!---|\+\+\+)[-+].*$", self.diff(files), re.MULTILINE)
        return changed if any(line[1:].partition("#")[0].strip() for line in changed) else []

    def unpack(self, folder: Path, *, faulty: bool) -> None:
        """The project after the commit, or with the fix undone."""
        with tarfile.open(fileobj=io.BytesIO(self.git("archive", self.commit))) as archive:
            archive.extractall(folder, filter="data")
        if faulty:
            for file in self.changed()[0]:
                (folder / file).write_bytes(self.git("show", f"{self.commit}^:{file}"))

    def make(self, folder: Path) -> bool:
        """Make a subject, if the faulty lines have code."""
        self.unpack(folder, faulty=True)
        files, places = self.changed()[0], []
        for file, lines in self.parts(files):
            text = ["", *(folder / file).read_text("utf-8").split("\n")]
            places += [f"{file}:{n}" for n in lines if 0 < n < len(text) and text[n].partition("#")[0].strip()]
        title = self.git("show", "-s", "--format=%s", self.commit).decode().strip()
        kind = "changed" if any(line.startswith("-") for line in self.lines(files)) else "missing"
        (folder / "faults.txt").write_text(f"{' '.join(places)}  # {kind}: {self.commit[:8]} {title}\n", "utf-8")
        return bool(places)


def make_listed(family: str, folder: Path, clones: Path) -> None:
    """Make the subjects that are listed and not there yet; clone the projects that are missing."""
    for line in LISTS[family].read_text("utf-8").splitlines():
        url, commit = line.split()
        name = url.rpartition("/")[2]
        if not (clones / name).exists():
            subprocess.run(["git", "clone", "--quiet", "--bare", url, str(clones / name)], check=True)
        own = folder / f"{name}-{commit[:8]}"
        if not (own / "faults.txt").exists():
            shutil.rmtree(own, ignore_errors=True)
            Fix(clones / name, commit).make(own)


def found(clone: Path, python: Path, most: int) -> Iterator[str]:
    """Fixes whose tests fail without them, and otherwise pass; from the newest on."""
    commits = Fix(clone, "HEAD").git("log", "--no-merges", "--format=%H").decode().split()
    fixes = (fix for commit in commits[:-1] if _is_small(fix := Fix(clone, commit)))
    for fix, _ in zip(fixes, range(most), strict=False):
        with tempfile.TemporaryDirectory() as right, tempfile.TemporaryDirectory() as wrong:
            fix.unpack(Path(right), faulty=False)
            passing = failures(Path(right), python) == set()
            if passing and fix.make(Path(wrong)) and 0 < len(failures(Path(wrong), python) or ()) <= MAX_FAILING:
                yield fix.commit
                continue
        print(f"{fix.commit[:8]}: {'no new failure' if passing else 'fails with the fix, too'}", file=sys.stderr)


def _is_small(fix: Fix) -> bool:
    files, tests = fix.changed()
    if not tests or not 0 < len(files) <= MAX_FILES or not 0 < len(fix.lines(files)) <= MAX_LINES:
        return False
    parts = fix.parts(files)
    return len(parts) <= MAX_PARTS and all(file != "/dev/null" for file, _ in parts)


def failures(folder: Path, python: Path) -> set[str] | None:
    """The tests that fail; None if they can't be run, or take long."""
    report = folder / "report.xml"
    pytest = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    environment = {"PYTHONPATH": f"{folder}:{folder / 'src'}", "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"}
    try:
        subprocess.run(pytest, cwd=folder, env=environment, capture_output=True, timeout=MAX_S, check=False)
        cases = list(Xml.parse(report).iter("testcase"))
    except (subprocess.TimeoutExpired, OSError, Xml.ParseError):
        return None
    bad = {f"{one.get('classname')}.{one.get('name')}" for one in cases if one.find("failure") is not None}
    return None if not cases or any(one.find("error") is not None for one in cases) else bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--find", type=Path, required=True, metavar="CLONE", help="look for fixes in its history")
    parser.add_argument("--python", type=Path, required=True, help="an interpreter with what its tests import")
    parser.add_argument("--most", type=int, default=40, help="commits whose tests are run")
    chosen = parser.parse_args()
    url = Fix(chosen.find, "").git("config", "remote.origin.url").decode().strip().removesuffix(".git")
    for commit in found(chosen.find.resolve(), chosen.python.absolute(), chosen.most):
        print(url, commit, flush=True)


if __name__ == "__main__":
    main()
