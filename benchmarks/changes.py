"""Whether `suspectra changes` finds a seeded fault among the real difference of two releases, and what that costs.

Each subject is a newer release in which one of the statements that differ from the older release has a mutant. Of the
tests of the newer release, those count that pass with both releases as they are and fail with the mutant. A mutant that
leaves nothing of its change, as one that deletes what the release added, is not used: there is nothing to undo.

The change is found if it is in one of the causes; `of` says of how many changes that one is made. `run` says how many
of a cause, and of what it alone lets run, a test is said to run, if the change is one of these. `named` is the time
until the cause is known, `seconds` that until its first different value is, too, and `cpu` is processor time. Beside
it: `lines`, how many changed, which somebody would read; with `--plain` the runs of delta debugging that knows nothing
of the program; and with `--bisect` what `git bisect run` says of a history in which each change is a commit, in the
order of files and lines. It runs the first failing test, and skips a commit where pytest can't collect that test.

Besides Python: `--c` takes two tags of a repository with CMake and a wrong operator in a line that differs, and
`--data` makes projects that read tables, of which some lines differ.

    python benchmarks/changes.py [--seeds N] [--seconds S] [--python PYTHON] [--sources DIR] [--plain]
        [--bisect] [--c REPOSITORY OLDER NEWER] [--data N] [PACKAGE OLDER NEWER]...
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from changed_since_pass import distribution

from suspectra.base.deadline import TimeIsUp
from suspectra.base.errors import EvidenceError
from suspectra.c.mixed_build import Executed, MixedBuild, by_suspicion
from suspectra.changes.baselines import Baseline
from suspectra.changes.isolation import ChangeIsolation
from suspectra.changes.mixed_program import MixedProgram
from suspectra.changes.mixed_tests import MixedTests
from suspectra.changes.units import ChangeUnit, FileDifference
from suspectra.evidence.discovery import find_source
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.localizer import Localizer
from suspectra.mutation.mutant import mutants
from suspectra.mutation.parsed_source import ParsedSource
from suspectra.paths.delta_debugging import ConfigurationVerdict, Differences, isolate
from suspectra.techniques import make_technique

RELEASES = (("xmltodict", "0.12.0", "0.13.0"),)
OUTCOME = re.compile(r"^(PASSED|FAILED) (\S+::.+?)(?: - .*)?$", re.MULTILINE)
PATH = os.pathsep.join(("src", "."))  # where projects have their packages
MAX_TRIED = 30  # mutants until one is seen by a test
BAD = re.compile(r"^([0-9a-f]{40}) is the first bad commit$", re.MULTILINE)
SKIPPED = re.compile(r"^[0-9a-f]{40}$", re.MULTILINE)  # commits of which any may be the first bad one
CTEST = re.compile(r"Test\s+#\d+:\s(.+?)\s\.+\**\s*(.*?)\s+[\d.]+ sec")
OPERATORS = (
    (" == ", " != "),
    (" != ", " == "),
    (" && ", " || "),
    (" < ", " >= "),
    (r"\+ 1\b", "+ 2"),
    ("true", "false"),
)
DATA, DATA_LINES = ("json", "csv", "ini"), 40
READER = """\
import csv, json, pathlib

HERE = pathlib.Path(__file__).parent


def rates(name):
    path = HERE / name
    if name.endswith(".json"):
        return json.loads(path.read_text())
    if name.endswith(".csv"):
        return {key: float(value) for key, value in csv.reader(path.open())}
    return {key: float(value) for key, _, value in (line.partition("=") for line in path.read_text().splitlines())}
"""
DATA_TESTS = f"""\
import pytest
import rates


@pytest.mark.parametrize("name", ["rates.json", "rates.csv", "rates.ini"])
def test_rates(name):
    assert rates.rates(name) == {{f"key{{at}}": at for at in range({DATA_LINES})}}
"""


@dataclass(frozen=True)
class Seeded:
    """A release with a fault in one of its changes."""

    workspace: Path
    baseline: Baseline
    tests: list[str]
    faulty: ChangeUnit
    build: Path | None = None  # of a program in C
    executed: Executed | None = None  # by its tests, the most suspicious lines last


def outcomes(folder: Path, python: str) -> dict[str, str]:
    """How the tests of a folder end."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": PATH}
    command = [python, "-m", "pytest", "-q", "-rA", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "--color=no"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return {name: outcome for outcome, name in OUTCOME.findall(done.stdout)}


def texts(folder: Path) -> dict[str, bytes]:
    """The files of a release that tests may use."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def seeded(older: Path, newer: Path, scratch: Path, chance: random.Random, count: int, python: str) -> Iterator[Seeded]:
    """Releases with a fault each."""
    before, after = texts(older), texts(newer)
    passing = [{name for name, ended in outcomes(one, python).items() if ended == "PASSED"} for one in (older, newer)]
    both = passing[0] & passing[1]
    if not both:
        print(f"{newer.name}: no test passes with both releases", file=sys.stderr)
        return
    changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    difference = {path: FileDifference.between(path, before.get(path), after.get(path)) for path in changed}
    places = [
        (path, unit)
        for path, one in difference.items()
        if path.endswith(".py") and "test" not in path and one.pieces
        for unit in one.units
        if unit.end_line >= unit.line
    ]
    chance.shuffle(places)
    found = tried = 0
    for path, unit in places:
        if found == count or tried > MAX_TRIED * count:
            return
        source = ParsedSource(after[path])
        possible = list(mutants(source, range(unit.line, unit.end_line + 1)))
        if not possible:
            continue
        tried += 1
        text = chance.choice(possible).edit.apply(source.text).encode()
        workspace = scratch / f"{newer.name}-{found}"
        shutil.rmtree(workspace, ignore_errors=True)
        shutil.copytree(newer, workspace)
        (workspace / path).write_bytes(text)
        failing = [name for name, ended in outcomes(workspace, python).items() if ended == "FAILED" and name in both]
        if not failing:
            continue
        baseline = Baseline.from_texts(older.name, workspace, {one: before.get(one) for one in changed})
        faulty = next(
            one
            for one in baseline.units
            if one.file == path and one.line <= unit.end_line and one.end_line >= unit.line
        )
        if not faulty.before.strip() and faulty.after.strip() in ("", "pass"):
            continue  # nothing is left of the change
        found += 1
        yield Seeded(workspace, baseline, failing, faulty)


def ended_by_ctest(folder: Path) -> dict[str, bool] | None:
    """Which tests of a CMake project pass, built in it; None if it can't be built."""
    build = folder / "build"
    environment = {**os.environ, "CFLAGS": "-w --coverage", "CXXFLAGS": "-w --coverage"}
    for words in (["-S", str(folder), "-B", str(build)], ["--build", str(build), "--parallel", "2"]):
        if subprocess.run(["cmake", *words], env=environment, capture_output=True, check=False).returncode:
            return None
    done = subprocess.run(["ctest", "--timeout", "20"], cwd=build, capture_output=True, text=True, check=False)
    return {name: how == "Passed" for name, how in CTEST.findall(done.stdout)}


def seeded_in_c(repository: Path, tags: Sequence[str], scratch: Path, count: int) -> Iterator[Seeded]:
    """A newer revision with a wrong operator in one of the lines that differ from the older one, again and again."""
    chance = random.Random(repository.name)
    older, newer = (scratch / f"{repository.name}-{tag}" for tag in tags)
    for tag, folder in zip(tags, (older, newer), strict=True):
        folder.mkdir()
        archive = subprocess.run(["git", "archive", tag], cwd=repository, capture_output=True, check=True).stdout
        subprocess.run(["tar", "x"], cwd=folder, input=archive, check=True)
    before, after = texts(older), texts(newer)
    ended = [ended_by_ctest(one) or {} for one in (older, newer)]
    both = {name for name, passes in ended[0].items() if passes and ended[1].get(name)}
    changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    places = [
        (path, line, match.span(), wrong)
        for path in changed
        if path.endswith(".c") and "test" not in path.lower() and before.get(path) is not None
        for unit in FileDifference.between(path, before[path], after[path]).units
        for line in range(unit.line, unit.end_line + 1)
        for right, wrong in OPERATORS
        for match in re.finditer(right, after[path].decode().splitlines()[line - 1])
    ]
    chance.shuffle(places)
    found = 0
    for path, line, (begin, end), wrong in places[: MAX_TRIED * count]:
        if found == count:
            return
        workspace = scratch / f"{repository.name}-{tags[1]}-{found}"
        shutil.rmtree(workspace, ignore_errors=True)
        shutil.copytree(newer, workspace, ignore=shutil.ignore_patterns("build"))
        lines = after[path].decode().splitlines(keepends=True)
        lines[line - 1] = lines[line - 1][:begin] + wrong + lines[line - 1][end:]
        (workspace / path).write_text("".join(lines))
        now = ended_by_ctest(workspace)
        failing = [name for name in sorted(both) if now is not None and not now.get(name, True)]
        if not failing:
            continue
        found += 1
        baseline = Baseline.from_texts(tags[0], workspace, {one: before.get(one) for one in changed})
        faulty = next(one for one in baseline.units if one.file == path and one.line <= line <= one.end_line)
        subprocess.run(
            [sys.executable, "-m", "suspectra", "record-c", "--ctest", "build"],
            cwd=workspace,
            capture_output=True,
            check=False,
        )
        executed = by_suspicion(Localizer(make_technique("ochiai")).update(find_source(workspace).read()))
        yield Seeded(workspace, baseline, failing, faulty, workspace / "build", executed)


def seeded_data(scratch: Path, count: int) -> Iterator[Seeded]:
    """Projects that read three tables, in which twenty lines of forty differ, and one of these is wrong."""
    for number in range(count):
        chance = random.Random(number)
        workspace = scratch / f"tables-{number}"
        workspace.mkdir()
        (workspace / "rates.py").write_text(READER)
        before: dict[str, bytes | None] = {}
        changes: list[tuple[str, int]] = []
        tables: dict[str, list[str]] = {}
        for form in DATA:
            path = f"rates.{form}"
            old = [f"key{at},{at}" for at in range(DATA_LINES)]
            tables[path] = list(old)
            for at in sorted(chance.sample(range(DATA_LINES), DATA_LINES // 2)):
                tables[path][at] = f"key{at},{at}.0"  # the same number
                changes.append((path, at))
            before[path] = table(form, old)
        path, at = chance.choice(changes)
        tables[path][at] = f"key{at},{at + 1}"
        for one, lines in tables.items():
            (workspace / one).write_bytes(table(one.rpartition(".")[2], lines))
        (workspace / "test_rates.py").write_text(DATA_TESTS)
        baseline = Baseline.from_texts("before", workspace, before)
        faulty = next(
            one for one in baseline.units if one.file == path and f"key{at}" in re.findall(r"key\d+", one.after)
        )
        yield Seeded(workspace, baseline, [f"test_rates.py::test_rates[{path}]"], faulty)


def table(form: str, lines: Sequence[str]) -> bytes:
    """Keys and numbers in a form."""
    pairs = [line.split(",") for line in lines]
    if form == "json":
        return ("{\n" + ",\n".join(f'"{key}": {value}' for key, value in pairs) + "\n}\n").encode()
    return "".join(f"{key}{'=' if form == 'ini' else ','}{value}\n" for key, value in pairs).encode()


def started(subject: Seeded, setup: RerunSetup, tests: Sequence[FailingTest]) -> Callable[[Path, float], MixedTests]:
    """What makes the runs of a subject."""
    build = subject.build
    if build is None:
        return lambda folder, end: MixedProgram(setup, folder, tests, end)
    return lambda folder, end: MixedBuild(subject.workspace, folder, build, end, subject.executed)


def judged(
    subject: Seeded, seconds: float, python: str, *, plainly: bool = False, bisected: bool = False
) -> dict[str, object]:
    """What the search finds."""
    tests = [FailingTest(name, name.partition("::")[0]) for name in subject.tests]
    setup = RerunSetup(subject.workspace, (python, "-m", "pytest", "-p", "no:xdist"))
    start = started(subject, setup, tests) if subject.build else None
    search = ChangeIsolation(setup=setup, tests=tests, baselines=[subject.baseline], start=start, seconds=seconds)
    error, named, begin, used = "", 0.0, time.monotonic(), processor_time()
    try:
        for _ in search.steps():
            if search.causes and not named:
                named = time.monotonic() - begin
    except EvidenceError as problem:
        error = str(problem)
    used = processor_time() - used
    place = subject.faulty.file, subject.faulty.line
    hits = [cause for cause in search.causes if place in {(unit.file, unit.line) for unit in cause.units}]
    runs = [cause for cause in search.causes if place in {(unit.file, unit.line) for unit in cause.run}]
    lines = sum(unit.end_line - unit.line + 1 for unit in subject.baseline.units)
    return {
        "subject": subject.workspace.name,
        "changes": len(subject.baseline.units),
        "lines": lines,
        "found": bool(hits),
        "of": len(hits[0].units) if hits else 0,
        "run": len(runs[0].run) if runs else 0,
        "causes": len(search.causes),
        "runs": search.runs,
        "named": round(named or search.elapsed, 1),
        "seconds": round(search.elapsed, 1),
        "cpu": round(used, 1),
        "complete": search.complete,
        "plain": plain(subject, setup, tests[0], seconds) if plainly else "",
        "bisect": bisect(subject, python) if bisected and not subject.build else "",
        "error": error,
    }


def processor_time() -> float:
    """What this process and those that it has waited for have used."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def plain(subject: Seeded, setup: RerunSetup, test: FailingTest, seconds: float) -> str:
    """What delta debugging says that only knows the units: whether it finds the change, of how many, and its runs."""
    units = subject.baseline.units
    with setup.safety.folder(setup.workspace) as folder:
        program = started(subject, setup, [test])(folder, time.monotonic() + seconds)
        try:
            wanted = program.run(subject.baseline, frozenset(units), [test.name]).failed.get(test.name)

            def verdict(some: Differences) -> ConfigurationVerdict:
                run = program.run(subject.baseline, frozenset(units[number] for number in some), [test.name])
                if test.name in run.passed:
                    return ConfigurationVerdict.PASSES
                return (
                    ConfigurationVerdict.FAILS
                    if run.failed.get(test.name) == wanted
                    else ConfigurationVerdict.UNRESOLVED
                )

            found = isolate(len(units), verdict)
            hit = subject.faulty in {units[number] for number in found.cause}
            return f"{'yes' if hit else 'no'}, of {len(found.cause)}, {program.runs} runs"
        except TimeIsUp:
            return f"no time, {program.runs} runs"
        finally:
            program.close()


def bisect(subject: Seeded, python: str) -> str:
    """What `git bisect run` says of the first failing test: whether it names the change, of how many; runs and time."""
    test = subject.tests[0]
    ran = 'echo RUN; "$0" -m pytest -q -p no:cacheprovider -p no:xdist "$1"; it=$?; [ $it -gt 1 ] && it=125; exit $it'
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder, "history")
        shutil.copytree(
            subject.workspace, workspace, ignore=shutil.ignore_patterns(".git", ".suspectra", "__pycache__")
        )

        def git(*words: str) -> str:
            named = ("git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false", *words)
            environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
            done = subprocess.run(named, cwd=workspace, env=environment, capture_output=True, text=True, check=False)
            return done.stdout

        git("init", "-q")
        commits: dict[str, ChangeUnit] = {}
        units = subject.baseline.units
        for count in range(len(units) + 1):
            for path, text in subject.baseline.contents(units[:count]).items():
                file = workspace / path
                if text is None:
                    file.unlink(missing_ok=True)
                elif not file.is_file() or file.read_bytes() != text:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(text)
            git("add", "-A", "-f")
            git("commit", "-q", "--allow-empty", "-m", str(count))
            if count:
                commits[git("rev-parse", "HEAD").strip()] = units[count - 1]
        begin = time.monotonic()
        git("bisect", "start", "HEAD", git("rev-list", "--max-parents=0", "HEAD").strip())
        said = git("bisect", "run", "sh", "-c", ran, python, test)
        seconds = time.monotonic() - begin
    named = BAD.findall(said) or SKIPPED.findall(said)
    place = subject.faulty.file, subject.faulty.line
    hit = place in {(unit.file, unit.line) for unit in map(commits.get, named) if unit is not None}
    runs = len(re.findall("^RUN$", said, re.MULTILINE))
    return f"{'yes' if hit else 'no'}, of {len(named)}, {runs} runs, {seconds:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4, help="faults for each pair of releases")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--python", default=sys.executable, help="an interpreter with pytest and what the tests need")
    parser.add_argument("--sources", type=Path, help="where source distributions are, or are put")
    parser.add_argument("--plain", action="store_true", help="also plain delta debugging, in the same time")
    parser.add_argument("--bisect", action="store_true", help="also `git bisect`, with a commit for each change")
    parser.add_argument(
        "--c", nargs=3, metavar=("REPOSITORY", "OLDER", "NEWER"), help="two tags of a project with CMake"
    )
    parser.add_argument("--data", type=int, default=0, metavar="N", help="projects that read tables")
    parser.add_argument("releases", nargs="*", help="PACKAGE OLDER NEWER, again and again")
    chosen = parser.parse_args()
    given: Sequence[Sequence[str]] = [chosen.releases[i : i + 3] for i in range(0, len(chosen.releases), 3)]
    rows: list[dict[str, object]] = []
    columns = ("changes", "lines", "found", "of", "run", "causes", "runs", "named", "seconds", "cpu")
    print(f"{'subject':24} " + " ".join(f"{column:>7}" for column in columns))

    def subjects(scratch: Path) -> Iterator[Seeded]:
        sources = chosen.sources or scratch / "sources"
        sources.mkdir(exist_ok=True)
        os.environ["PYTHONPATH"] = PATH
        for name, older, newer in given or (() if chosen.c or chosen.data else RELEASES):
            before, after = (distribution(sources, name, version) for version in (older, newer))
            yield from seeded(before, after, scratch, random.Random(name), chosen.seeds, chosen.python)
        if chosen.c:
            yield from seeded_in_c(Path(chosen.c[0]), chosen.c[1:], scratch, chosen.seeds)
        yield from seeded_data(scratch, chosen.data)

    with tempfile.TemporaryDirectory() as scratch:
        for subject in subjects(Path(scratch)):
            row = judged(subject, chosen.seconds, chosen.python, plainly=chosen.plain, bisected=chosen.bisect)
            rows.append(row)
            shown = " ".join(f"{row[column]!s:>7}" for column in columns)
            print(f"{row['subject']:24} {shown}  {row['plain']}  {row['bisect']} {row['error']}", flush=True)
    print(json.dumps(summary(rows)))


def summary(rows: Sequence[dict[str, object]]) -> dict[str, object]:
    """The figures over all subjects."""
    seconds, named, used = ([float(str(row[one])) for row in rows] for one in ("seconds", "named", "cpu"))
    return {
        "subjects": len(rows),
        "found": sum(bool(row["found"]) for row in rows),
        "alone": sum(row["of"] == 1 for row in rows),
        "changes": [min(int(str(row["changes"])) for row in rows), max(int(str(row["changes"])) for row in rows)],
        "runs_median": statistics.median(int(str(row["runs"])) for row in rows),
        "named_median": statistics.median(named),
        "named_most": max(named),
        "cpu_median": statistics.median(used),
        "seconds_median": statistics.median(seconds),
        "seconds_most": max(seconds),
    }


if __name__ == "__main__":
    main()
