"""What recording costs, and whether it records what coverage.py does.

Three projects' own tests run in turn plainly, with ``suspectra record`` and with coverage.py's contexts; CPU time of
the whole process tree is compared. Then the executed statements are compared with coverage.py's, test by test.

    python benchmarks/recording_overhead.py --rounds 5

Short suites, where starting and ending is most of the cost, with the cache of instrumented code (warm) and without
(first), and the whole job, recording and then ranking, on forty small tests:

    python benchmarks/recording_overhead.py --short --rounds 11

With another Python, which must have pip, and with each way of recording that it has:

    python benchmarks/recording_overhead.py --python python3.13 --recorder probes --recorder monitoring --no-coverage
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import peer_subjects

from suspectra.evidence.recording import RecordingSource
from suspectra.program.python.source import last_line
from suspectra_recorder.options import RECORDERS
from suspectra_recorder.probe_choice import MICROSECONDS_PER_PROBE, microseconds_per_probe

TARGET = 1.35
SHORT_TARGETS = {"warm": 1.25, "first": 1.5}
COLLECTED = "the garbage collector calls it, during whichever test it comes"
TOOLS = ("pytest>=8", "pytest-cov>=6", "coverage>=7.10")


@dataclass(frozen=True)
class Project:
    name: str
    version: str
    source: str  # what is measured, relative to the sdist
    tests: str
    needs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


PROJECTS = (
    Project("itsdangerous", "2.2.0", "src/itsdangerous", "tests", ("freezegun",)),
    Project("click", "8.5.1", "src/click", "tests"),
    Project("mpmath", "1.3.0", "mpmath", "mpmath/tests", (), ("-m", "not slow")),
)
SHORT = (
    PROJECTS[0],
    Project("voluptuous", "0.15.2", "voluptuous", "voluptuous/tests"),
    Project("tinydb", "4.8.2", "tinydb", "tests", ("pyyaml",)),
    Project("freezegun", "1.5.5", "freezegun", "tests", ("python-dateutil", "six")),
)


def tag(python: str) -> str:
    """Such as py311."""
    ask = "import sys; print('py%d%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()


def prepare(project: Project, cache: Path, base: str = sys.executable) -> tuple[Path, Path]:
    """The unpacked sdist and the interpreter of a project, made once."""
    home = cache / f"{project.name}-{project.version}-{tag(base)}"
    python = home / "venv" / "bin" / "python"
    if not (home / "ready").exists():
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([base, "-m", "venv", "--without-pip", str(home / "venv")], check=True)
        pip = [base, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "-q"]
        subprocess.run([*pip, "install", *TOOLS, *project.needs], check=True)
        wanted = f"{project.name}=={project.version}"
        options = ["--no-deps", "--no-binary", ":all:", "-d", str(home)]
        subprocess.run([*pip, "download", *options, wanted], check=True)
        with tarfile.open(next(home.glob("*.tar.gz"))) as archive:
            archive.extractall(home, filter="data")
        subprocess.run([*pip, "install", "--no-deps", "-e", str(_sdist(project, home))], check=True)
        (home / "ready").touch()
    # nothing of the project's own settings, no test code; what 3.14 takes by itself knows no contexts
    omit = "*/tests/*\n    */conftest.py"
    (home / "coverage.ini").write_text(f"[run]\nbranch = true\ncore = ctrace\nomit =\n    {omit}\n")
    return _sdist(project, home), python


def _sdist(project: Project, home: Path) -> Path:
    return next(p for p in home.glob(f"{project.name.replace('-', '?')}-*") if p.is_dir())


def commands(project: Project, python: Path, recorders: Sequence[str]) -> dict[str, list[str]]:
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *project.options, *project.tests.split()]
    cov = ["-p", "pytest_cov", f"--cov={project.source}", "--cov-branch", "--cov-context=test", "--cov-report="]
    plain = [str(python), *pytest, "-p", "no:pytest_cov"]  # which would import coverage.py
    # what tests start is left alone, as coverage.py leaves it
    record = [sys.executable, "-m", "suspectra", "record", "--no-children", "--no-suspects", "--recorder"]
    return {
        "plain": plain,
        **{recorder: [*record, recorder, "--", *plain] for recorder in recorders},
        "coverage.py": [str(python), *pytest, *cov, f"--cov-config={python.parents[2] / 'coverage.ini'}"],
    }


def cpu_seconds(
    command: list[str], folder: Path, environment: dict[str, str], log: Path, *, any_status: bool = False
) -> float:
    """CPU time of a command and all it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with log.open("wb") as out:
        done = subprocess.run(command, cwd=folder, env=environment, stdout=out, stderr=out, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1) and not any_status:
        sys.exit(f"{' '.join(command)} ended with status {done.returncode}; see {log}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


Executed = tuple[str, set[tuple[str, int]], set[tuple[str, int, int]]]
"""The verdict of a test, the statements and the edges that it executed."""


def unchanged_environment() -> dict[str, str]:
    """Without what changes pytest, coverage.py or Python, such as that compiled files are not written."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COVERAGE", "PYTHON"))}


def measure(project: Project, options: argparse.Namespace) -> dict[str, Any]:
    folder, python = prepare(project, options.cache, options.python)
    environment = unchanged_environment()
    # .pyc files are written in the first round of plain pytest, the instrumented code in that of suspectra
    shutil.rmtree(folder / ".suspectra", ignore_errors=True)
    times: dict[str, list[float]] = defaultdict(list)
    rows: dict[str, dict[str, Executed]] = {}
    for number in range(options.rounds + 1):
        for name, command in commands(project, python, options.recorder).items():
            if name == "coverage.py" and (options.no_coverage or (options.coverage_once and number > 1)):
                continue
            seconds = cpu_seconds(command, folder, environment, folder.parent / f"{name}.log")
            times[name if number else f"{name}, first"].append(seconds)
            if name in options.recorder and number == options.rounds:
                rows[name] = recorded(folder)
    plain = times["plain"]
    measured = {n: t for n, t in times.items() if "," not in n and n != "plain"}
    first, *others = options.recorder
    return {
        "tests": len(rows[first]),
        "plain_seconds": round(min(plain), 3),
        "ratio_min": {n: round(min(t) / min(plain), 3) for n, t in measured.items()},
        "ratio_median": {n: round(statistics.median(t) / statistics.median(plain), 3) for n, t in measured.items()},
        "ratio_first": {n: round(times[f"{n}, first"][0] / min(plain), 3) for n in options.recorder},
        "microseconds_per_probe": round(microseconds_per_probe(str(folder / ".suspectra/recording")), 2),
        "recording_bytes": sum(f.stat().st_size for f in (folder / ".suspectra/recording").glob("*.log")),
        "recorders_differ": {
            other: sum(rows[first].get(t) != rows[other].get(t) for t in {*rows[first], *rows[other]})
            for other in others
        },
        **({} if options.no_coverage else compared(folder)),
    }


def ratios(jobs: dict[str, list[list[str]]], folder: Path, rounds: int) -> dict[str, Any]:
    """Run jobs in turn; the median of plain pytest, and those of the others as a ratio to it.

    A job whose name begins with "first" has an empty cache of instrumented code.
    """
    shutil.rmtree(folder / ".suspectra", ignore_errors=True)
    times: dict[str, list[float]] = defaultdict(list)
    for number in range(rounds + 1):  # the first round fills the caches
        for name, commands in jobs.items():
            with tempfile.TemporaryDirectory() as scratch:
                cache = {"XDG_CACHE_HOME": scratch} if name.startswith("first") else {}
                environment, log = unchanged_environment() | cache, folder.parent / "job.log"
                used = sum(cpu_seconds(command, folder, environment, log) for command in commands)
            if number:
                times[name].append(used)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    plain = medians.pop("plain")
    return {"plain_seconds": round(plain, 3), **{name: round(taken / plain, 3) for name, taken in medians.items()}}


def short(options: argparse.Namespace) -> dict[str, Any]:
    """Measure short suites, and the whole job."""
    results = {}
    for project in SHORT:
        if options.project and project.name not in options.project:
            continue
        folder, python = prepare(project, options.cache, options.python)
        run = commands(project, python, ["auto"])
        jobs = {"plain": run["plain"], "warm": run["auto"], "first": run["auto"], "coverage.py": run["coverage.py"]}
        results[project.name] = ratios({name: [job] for name, job in jobs.items()}, folder, options.rounds)
        print(f"{project.name}: {results[project.name]}", flush=True)
    subject = next(subject for subject in peer_subjects.SUBJECTS if subject.name == "small")
    _, python = prepare(SHORT[0], options.cache, options.python)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / subject.name
        folder.mkdir()
        subject.make(folder, python, subject)
        (folder.parent / "coverage.ini").write_text("[run]\nbranch = true\n")
        run = commands(Project(subject.name, "", subject.source, "tests"), python, ["auto"])
        rank = [sys.executable, "-m", "suspectra", "rank", "--format", "json", "-o", "ranking.json"]
        cover = [*run["coverage.py"][:-1], "--cov-config=../coverage.ini", "--junit-xml=results.xml"]
        whole = [run["auto"], rank]
        steps = {
            "plain": [run["plain"]],
            "record": [run["auto"]],
            "record and rank": whole,
            "first record and rank": whole,
            "coverage.py": [cover],
        }
        results["whole job, 40 tests"] = ratios(steps, folder, options.rounds)
    print(f"whole job, 40 tests: {results['whole job, 40 tests']}")
    for name, wanted in SHORT_TARGETS.items():
        worst = max(found[name] for found in results.values() if name in found)
        print(f"worst ratio {name}: {worst:.2f}, at most {wanted} wanted")
    return results


def recorded(folder: Path) -> dict[str, Executed]:
    """By test its verdict, and which statements and edges it executed."""
    evidence = RecordingSource(folder, edges=True).read()
    assert evidence.edges is not None
    elements, edges = evidence.elements, evidence.edges.edges
    statements = [(elements.files[f], line) for f, line in zip(elements.file, elements.line.tolist(), strict=True)]
    arcs = list(zip(edges.file.tolist(), edges.source.tolist(), edges.target.tolist(), strict=True))
    arcs = [(elements.files[f], source, target) for f, source, target in arcs]
    rows = zip(evidence.tests, evidence.rows, evidence.edges.rows, strict=True)
    return {
        test.name: (test.verdict.value, {statements[i] for i in row.tolist()}, {arcs[i] for i in taken.tolist()})
        for test, row, taken in rows
    }


def compared(folder: Path) -> dict[str, Any]:
    return {"coverage_bytes": (folder / ".coverage").stat().st_size, "differences": differences(folder)}


# equality with coverage.py


def coverage_statements(folder: Path) -> tuple[dict[str, dict[str, set[int]]], dict[str, set[int]]]:
    """Executed statements by test and file as coverage.py has them, and all statements by file."""
    from coverage.parser import PythonParser

    connection = sqlite3.connect(f"file:{folder / '.coverage'}?mode=ro", uri=True)
    parsers = {}
    for number, path in connection.execute("select id, path from file"):
        parser = PythonParser(filename=path)
        parser.parse_source()
        parsers[number] = os.path.relpath(path, folder), parser
    contexts = dict(connection.execute("select id, context from context"))
    lines: dict[tuple[int, int], set[int]] = defaultdict(set)
    for file, context, start, end in connection.execute("select file_id, context_id, fromno, tono from arc"):
        lines[context, file].update((start, end))
    tests: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for (context, file), raw in lines.items():
        path, parser = parsers[file]
        statements = parser.first_lines(line for line in raw if line > 0) & parser.statements
        tests[contexts[context].rpartition("|")[0]][path] |= statements
    return tests, {path: parser.statements for path, parser in parsers.values()}


def differences(folder: Path) -> dict[str, Any]:
    """Where the two disagree, as counts, and each place with the number of tests."""
    theirs, statements = coverage_statements(folder)
    evidence = RecordingSource(folder).read()
    elements = evidence.elements
    measured = {file.path: set(file.line.tolist()) for file in evidence.files}
    # coverage.py also lists files that were never imported, and test modules inside of packages
    both = [path for path in statements if path in measured]
    places: Counter[tuple[str, int, str]] = Counter()
    agreed = 0
    for test, row in zip(evidence.tests, evidence.rows, strict=True):
        ours = defaultdict(set)
        for file, line in zip(elements.file[row].tolist(), elements.line[row].tolist(), strict=True):
            ours[elements.files[file]].add(line)
        for path in both:
            a, b = ours[path], theirs.get(test.name, {}).get(path, set())
            agreed += len(a & b & statements[path])
            places.update((path, line, "only coverage.py") for line in b - a)
            places.update((path, line, "only suspectra") for line in a - b)
    unlike = {path: sorted(statements[path] ^ measured[path]) for path in both}
    listed = [
        {
            "file": p,
            "line": n,
            "which": which,
            "tests": count,
            "code": _code(folder / p, n),
            "cause": cause(folder / p, n),
        }
        for (p, n, which), count in sorted(places.items())
    ]
    return {"agreed": agreed, "statements": {p: n for p, n in unlike.items() if n}, "hits": listed}


@lru_cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def cause(path: Path, line: int) -> str:
    """Why the two may disagree about a line."""
    functions = (n for n in ast.walk(_tree(path)) if isinstance(n, ast.FunctionDef) and n.name == "__del__")
    if any(n.lineno < line <= last_line(n) for n in functions):
        return COLLECTED
    around = [n for n in ast.walk(_tree(path)) if isinstance(n, ast.stmt) and n.lineno <= line <= last_line(n)]
    for node in around:
        final: list[ast.stmt] = getattr(node, "finalbody", [])
        if final and final[0].lineno <= line <= last_line(final[-1]) and sys.version_info < (3, 12):
            return "up to Python 3.11 the bytecode that raises again behind `finally` has its last statement's line"
    if any(
        isinstance(n, ast.Yield | ast.YieldFrom | ast.Await | ast.GeneratorExp) for a in around for n in ast.walk(a)
    ):
        return "a generator goes on in another test than the one it stopped in"
    return "unknown"


def _code(path: Path, line: int) -> str:
    return path.read_text(encoding="utf-8").split("\n")[line - 1].strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--project", action="append", choices=sorted({p.name for p in PROJECTS + SHORT}))
    parser.add_argument("--short", action="store_true", help="short suites, and the whole job")
    parser.add_argument("--tests", help="instead of all tests of the projects")
    parser.add_argument("--python", default=sys.executable, help="what runs the tests")
    parser.add_argument("--recorder", action="append", choices=RECORDERS, help="repeatable; auto by default")
    parser.add_argument("--coverage-once", action="store_true", help="do not repeat the runs of coverage.py")
    parser.add_argument("--no-coverage", action="store_true", help="do not run coverage.py")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "suspectra" / "benchmarks")
    options = parser.parse_args()
    options.recorder = options.recorder or ["auto"]
    about = {"benchmark": "recording_overhead", "python": tag(options.python)}
    if options.short:
        print(f"Python {tag(options.python)}; CPU time as a ratio to plain pytest, medians of {options.rounds} runs")
        print(json.dumps({**about, "targets": SHORT_TARGETS, "projects": short(options)}))
        return
    print(f"Python {tag(options.python)}; CPU time as a ratio to plain pytest: minimum / median (the first run)")
    results = {}
    for project in PROJECTS:
        if options.project and project.name not in options.project:
            continue
        project = replace(project, tests=options.tests or project.tests)
        result = results[project.name] = measure(project, options)
        pace = result["microseconds_per_probe"]
        print(f"{project.name}: {result['tests']} tests, {result['plain_seconds']} s, {pace} µs a probe and test")
        for name, low in result["ratio_min"].items():
            first = f" ({result['ratio_first'][name]:.2f})" if name in result["ratio_first"] else ""
            print(f"    {name:12}{low:6.2f} /{result['ratio_median'][name]:5.2f}{first}")
        for other, number in result["recorders_differ"].items():
            print(f"    {number} tests differ between {options.recorder[0]} and {other}")
        if "differences" in result:
            _print_differences(result["differences"])
    if len(results) == len(PROJECTS) and "auto" in options.recorder:
        worst = max(r["ratio_min"]["auto"] for r in results.values())
        print(f"worst ratio {worst:.2f}, at most {TARGET} wanted")
    print(f"auto takes sys.monitoring from {MICROSECONDS_PER_PROBE} µs on")
    print(json.dumps({**about, "target": TARGET, "projects": results}))


def _print_differences(found: dict[str, Any]) -> None:
    off = sum(hit["tests"] for hit in found["hits"])
    print(f"    {off} of {off + found['agreed']} hits differ from those of coverage.py")
    for hit in found["hits"]:
        place = f"{hit['file']}:{hit['line']} ({hit['code']})"
        print(f"    {place} {hit['which']}, in {hit['tests']} tests: {hit['cause']}")
    for path, lines in found["statements"].items():
        print(f"    {path}: statements that only one of them knows: {lines}")


if __name__ == "__main__":
    main()
