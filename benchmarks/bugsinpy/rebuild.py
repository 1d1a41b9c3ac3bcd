"""Rebuild the bugs of BugsInPy for which FauxPy's authors published ranks, and keep what their tests execute.

    python benchmarks/bugsinpy/rebuild.py --cache DIR                    # all that `environments.toml` has packages for
    python benchmarks/bugsinpy/rebuild.py --cache DIR thefuck_2 'tqdm_*'
    python benchmarks/bugsinpy/rebuild.py --cache DIR --python python3.10 --seconds 0

The histories of the projects are cloned into DIR, and old versions of what they need are installed there, for a Python
that they can run with (3.10). The faulty version of a bug is that of the commit before the fix, with the tests of the
fix. Those tests run that FauxPy's authors ran. Tests that fail, but not because of the bug, are left out, as theirs
were. A bug is kept if the tests that show it fail where it is, and not while they are collected or set up, and pass
where it is fixed. What is kept, in `subjects`, are spectra, tracebacks, faulty lines and published ranks. Then failing
tests run again with something altered for 20 seconds, and the ranks by `investigation` are kept. An interrupted run
continues where it was.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any
from zlib import crc32

from archive import NotThere, keep
from bugs import LEVELS, PUBLISHED, Bug, Clone, published_ranks, read_bugs
from subjects import FOLDER, INDEX_FIELDS, RANKS, faults_at, ranks_of, read_index_rows

from suspectra.evaluation.corpus import SubjectFile, read_subject
from suspectra.evidence.discovery import find_source
from suspectra.evidence.evidence import Evidence, Verdict
from suspectra.evidence.logs.experiments import with_experiments
from suspectra.localizer import Localizer
from suspectra.techniques import make_technique

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
RUN_S = 900  # a run of tests is given up after so many seconds
MAX_EXTRA_S = 300  # seconds beyond those that it gets, after which an investigation is ended


@dataclass(frozen=True)
class Environment:
    """A Python with what the tests of a project need, and how these are started."""

    python: Path
    options: tuple[str, ...]
    variables: dict[str, str]
    files: dict[str, str]  # that a build of the project would write

    @classmethod
    def make(cls, bug: Bug, cache: Path, python: str) -> Environment:
        """Install what is not there yet.

        Raises NotThere for a project without packages that are known to work.
        """
        described = tomllib.loads((HERE / "environments.toml").read_text("utf-8"))
        own = described.get(bug.project)
        if own is None:
            raise NotThere("no packages are known with which its tests run")
        own = own | own.get(str(bug.number), {})
        pinned = [f"{name}=={bug.required[name]}" if name in bug.required else name for name in own.get("pinned", ())]
        packages = [*described["packages"], *own.get("packages", ()), *pinned]
        home = cache / "environments" / f"{bug.project}-{crc32(' '.join(packages).encode()):08x}"
        if not (home / "ready").exists():
            shutil.rmtree(home, ignore_errors=True)
            subprocess.run([python, "-m", "venv", str(home)], check=True)
            pip = [str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
            subprocess.run([*pip, *packages], check=True)
            (home / "ready").touch()
        options = tuple(own.get("options", ()))
        return cls(home / "bin" / "python", options, own.get("variables", {}), own.get("files", {}))


@dataclass(frozen=True)
class Version:
    """The faulty or the fixed version of a bug, in a folder."""

    bug: Bug
    folder: Path
    environment: Environment

    @cached_property
    def pytest(self) -> list[str]:
        options = ("-p", "old_python", "-p", "no:cacheprovider", "-o", "addopts=", *self.environment.options)
        return [str(self.environment.python), "-m", "pytest", "-q", "--tb=short", *options]

    def suspectra(self, *arguments: str, timeout: float) -> subprocess.CompletedProcess[str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PYTHON", "COV"))}
        path = os.pathsep.join([str(self.folder), str(HERE)])
        bin_folder = str(self.environment.python.parent)
        variables = {"PYTHONPATH": path, "PATH": os.pathsep.join([bin_folder, kept.get("PATH", "")])}
        return subprocess.run(
            [sys.executable, "-m", "suspectra", *arguments],
            cwd=self.folder,
            env=kept | {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"} | variables | self.environment.variables,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def recorded(self, only: Sequence[str] = ()) -> Evidence:
        """Record the tests of FauxPy's experiment, all or some.

        Raises NotThere where they do not run.
        """
        shutil.rmtree(self.folder / ".suspectra", ignore_errors=True)
        chosen = []
        if only:
            names = self.folder.parent / f"{self.folder.name}.tests"
            names.write_text("\n".join(only) + "\n", "utf-8")
            chosen = ["--only", str(names)]
        try:
            run = self.suspectra("record", *chosen, "--", *self.pytest, *self.bug.test_files, timeout=RUN_S)
        except subprocess.TimeoutExpired:
            raise NotThere(f"the {self.folder.name} version's tests do not end in {RUN_S} s") from None
        (self.folder.parent / f"{self.folder.name}.log").write_text(run.stdout + run.stderr, "utf-8")
        if run.returncode not in (0, 1):
            tail = " ".join((run.stdout + run.stderr).split())[-300:]
            raise NotThere(f"the {self.folder.name} version's tests do not run: {tail}")
        return find_source(self.folder, edges=True).read()


def versions(bug: Bug, cache: Path, environment: Environment) -> tuple[Version, Version]:
    """Unpack the faulty and the fixed version; what the tests need of the fix is in both."""
    clone, home = Clone(bug.url, cache / "clones"), cache / "versions" / bug.name
    shutil.rmtree(home, ignore_errors=True)
    found = []
    for name, commit in (("faulty", bug.faulty_commit), ("fixed", bug.fixed_commit)):
        folder = home / name
        folder.mkdir(parents=True)
        clone.unpack(commit, folder)
        clone.unpack(bug.fixed_commit, folder, *bug.changed_tests)
        for path, text in environment.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
        found.append(Version(bug, folder, environment))
    return found[0], found[1]


def shown_by(bug: Bug, faulty: Evidence) -> set[str]:
    """The tests that fail because of the bug, as far as the faulty version alone can tell.

    Raises NotThere where there are none, or they do not come to what they test.
    """
    found = [test for test in faulty.tests if bug.shows(test.name)]
    bad = [test for test in found if test.verdict.failing]
    if not bad:
        raise NotThere(f"the tests that show it pass, or were not found ({len(found)} found)")
    early = [test.name for test in bad if test.phases.get("setup", "passed") != "passed"]
    if early:
        raise NotThere(f"{early[0]} fails while it is set up")
    return {test.name for test in bad}


def without_others(evidence: Evidence, failing: Collection[str]) -> Evidence:
    """The evidence without tests that fail, but for some."""
    wanted = [not test.verdict.failing or test.name in failing for test in evidence.tests]
    edges = evidence.edges
    if edges is not None:
        counts = tuple(compress(edges.counts, wanted)) if edges.counts else None
        edges = replace(edges, rows=tuple(compress(edges.rows, wanted)), counts=counts)
    return replace(
        evidence,
        tests=tuple(compress(evidence.tests, wanted)),
        rows=tuple(compress(evidence.rows, wanted)),
        runs=tuple(compress(evidence.runs, wanted)),
        edges=edges,
        outcomes=None,
    )


def rebuild(bug: Bug, cache: Path, python: str) -> dict[str, Any]:
    """Record a bug and keep it; the row of the index."""
    environment = Environment.make(bug, cache, python)
    faulty, fixed = versions(bug, cache, environment)
    evidence = faulty.recorded()
    bad = shown_by(bug, evidence)
    passing = {test.name for test in fixed.recorded(sorted(bad)).tests if test.verdict is Verdict.PASSED}
    if bad - passing:
        raise NotThere(f"{sorted(bad - passing)[0]} does not pass where it is fixed")
    evidence = without_others(evidence, bad)
    path = FOLDER / f"{bug.name}.npz"
    version = subprocess.run([str(environment.python), "-V"], check=True, capture_output=True, text=True)
    about = {
        "provenance": f"BugsInPy {bug.name}: {bug.url} {bug.faulty_commit}, fixed by {bug.fixed_commit}",
        "python": version.stdout.split()[-1],
        "source": bug.source,
        "lines": bug.lines,
        "functions": bug.functions,
        "faulty_places": [[fault.path, line] for fault in bug.faults for line in fault.lines],
        "faulty_functions": [[fault.path, *function] for fault in bug.faults for function in fault.functions],
    }
    keep(evidence, bug, path, about)
    counted = [test for test in evidence.tests if test.verdict.counted]
    return {
        "family": bug.project,
        "subject": bug.name,
        "path": path.name,
        "tests": len(counted),
        "failing": len(bad),
    }


def investigate(bug: Bug, cache: Path, python: str, seconds: float) -> dict[str, Any]:
    """The ranks after some seconds of experiments with a bug that was recorded."""
    version = Version(bug, cache / "versions" / bug.name / "faulty", Environment.make(bug, cache, python))
    path = FOLDER / f"{bug.name}.npz"
    subject = read_subject(SubjectFile("", path.stem, path))
    tests = list(compress(subject.spectrum.tests, subject.spectrum.failed))
    options = ["--technique", "investigation", "--seconds", f"{seconds:g}", "--format", "json", "--top", "1"]
    try:
        made = version.suspectra("investigate", *options, *tests, "--", *version.pytest, timeout=seconds + MAX_EXTRA_S)
        runs = len(json.loads(made.stdout)["experiments"])
    except (subprocess.TimeoutExpired, ValueError):
        return {}
    evidence = with_experiments(find_source(version.folder, edges=True).read(), version.folder)
    evidence = without_others(evidence, tests)
    report = Localizer(make_technique("investigation")).update(evidence)
    ranks = ranks_of(report, faults_at(subject, path, report.spectrum.elements))
    return {"runs": runs} | {f"investigation_{level}": rank for level, rank in zip(LEVELS, ranks, strict=True)}


def write_index(rows: Iterable[dict[str, Any]]) -> None:
    with (FOLDER / "index.csv").open("w", newline="", encoding="utf-8") as out:
        table = csv.DictWriter(out, INDEX_FIELDS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bugs", nargs="*", metavar="BUG", help="names of bugs, or globs; all unless given")
    parser.add_argument("--cache", type=Path, required=True, help="a folder for clones, packages and versions")
    parser.add_argument("--python", default=sys.executable, help="an interpreter for the projects, 3.10 or newer")
    parser.add_argument("--seconds", type=float, default=20.0, help="of experiments for each bug; 0 for none")
    parser.add_argument("--again", action="store_true", help="also those that are there")
    chosen = parser.parse_args()
    cache = chosen.cache.resolve()
    (cache / "clones").mkdir(parents=True, exist_ok=True)
    FOLDER.mkdir(exist_ok=True)
    with RANKS.open("w", newline="", encoding="utf-8") as out:
        table = csv.DictWriter(out, ["bug", "level", *PUBLISHED], lineterminator="\n")
        table.writeheader()
        table.writerows(published_ranks(cache / "clones"))
    bugs = read_bugs(cache / "clones")
    order = {bug.name: (bug.project, bug.number) for bug in bugs}
    for bug in bugs:
        if chosen.bugs and not any(fnmatchcase(bug.name, pattern) for pattern in chosen.bugs):
            continue
        began = time.perf_counter()
        row = {known["subject"]: known for known in read_index_rows()}.get(bug.name)
        made = (cache / "versions" / bug.name / "faulty" / ".suspectra").exists()
        try:
            if chosen.again or row is None or not made:
                row = rebuild(bug, cache, chosen.python)
            elif row.get("runs") or not chosen.seconds:
                continue
            if chosen.seconds:
                row |= investigate(bug, cache, chosen.python, chosen.seconds)
        except (NotThere, subprocess.CalledProcessError) as error:
            print(f"{bug.name:16} {error}", flush=True)
            continue
        rows = {known["subject"]: known for known in read_index_rows()} | {bug.name: row}
        write_index(sorted(rows.values(), key=lambda known: order[known["subject"]]))
        took = time.perf_counter() - began
        print(f"{bug.name:16} {row['failing']} of {row['tests']} tests fail, {took:.0f} s", flush=True)


if __name__ == "__main__":
    main()
