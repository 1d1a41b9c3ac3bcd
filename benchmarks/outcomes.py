"""Whether recording changes what tests do, and whether it records what coverage.py does: the suites of many projects.

Each suite comes from its sdist and runs plainly, twice recorded (the second time with a warm cache) and once with
coverage.py's contexts. Outcomes are compared test by test. Where some differ it runs plainly once more; a test that
ends in two ways without being recorded is left out. Executed statements and taken arms are compared with coverage.py's,
test by test. What stands outside of functions is left out there: it runs when a module is imported, and then belongs to
no test here, but to whichever test came first for coverage.py.

    python benchmarks/outcomes.py
    python benchmarks/outcomes.py --project jinja2 --project attrs --show 20
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from defusedxml import ElementTree
from recording_overhead import COLLECTED, Project, cause, commands, cpu_seconds, prepare, recorded, tag

from suspectra.evidence.recording import RecordingSource
from suspectra.program.python.source import PythonSource
from suspectra.selection.recorded_tests import recorded_tests
from suspectra_recorder.instrumentation.outline import numbered
from suspectra_recorder.settings import recording_folder

KeyT = TypeVar("KeyT")
HYPOTHESIS = ("hypothesis",)
EXPLAINS = "it explains why an assertion failed, which belongs to no test here"
AT_IMPORT = "it also runs while a module is imported for the first time, which belongs to no test here"

PROJECTS = (
    Project("attrs", "26.1.0", "src/attr", "tests", (*HYPOTHESIS, "cloudpickle")),
    Project("typeguard", "4.6.0", "src/typeguard", "tests", ("typing_extensions",)),
    Project("pyjwt", "2.15.1", "jwt", "tests", ("cryptography",)),
    Project(
        "werkzeug",
        "3.1.3",
        "src/werkzeug",
        "tests",
        # with watchdog 7.1 a test of the reloader never ends, recorded or not
        ("markupsafe", "cryptography", "watchdog<7", "pytest-timeout", "ephemeral-port-reserve"),
    ),
    Project("jinja2", "3.1.6", "src/jinja2", "tests", ("markupsafe", "trio")),
    Project("lark", "1.3.1", "lark", "tests/test_grammar.py tests/test_reconstructor.py tests/test_trees.py"),
    Project("parso", "0.8.5", "parso", "test"),
    Project("pyparsing", "3.2.5", "pyparsing", "tests", ("railroad-diagrams", "jinja2")),
    Project(
        "networkx",
        "3.4.2",
        "networkx",
        "networkx/classes networkx/readwrite networkx/utils",
        options=("-k", "not memory_leak and not text_round_trip"),  # two thirds of the time
    ),
    Project("marshmallow", "4.0.1", "src/marshmallow", "tests", ("simplejson",)),
    Project("packaging", "25.0", "src/packaging", "tests", ("pretend",)),
    Project("pluggy", "1.6.0", "src/pluggy", "testing"),
    Project("tomlkit", "0.13.3", "tomlkit", "tests", ("pyyaml",)),
    Project("freezegun", "1.5.5", "freezegun", "tests", ("python-dateutil", "six")),
    Project("pytest-mock", "3.17.0", "src/pytest_mock", "tests", ("pytest-asyncio",)),
)

Line = tuple[str, int]
Arm = tuple[str, int, int]


class Executed(NamedTuple):
    """What one test executed."""

    statements: set[Line]
    arms: set[Arm]


def outcomes(report: Path) -> dict[tuple[str, str], list[str]]:
    """How the tests of a name ended in the order they ran, from a JUnit file; empty if the run left none."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    if report.exists():
        for case in ElementTree.parse(report).iter("testcase"):
            failures = sorted(f"{e.tag} {e.get('type', '')}" for e in case if e.tag in ("failure", "error", "skipped"))
            found[case.get("classname", ""), steady(case.get("name", ""))].append(", ".join(failures))
    return found


def steady(name: str) -> str:
    """The name of a test without its digits, because some are made of the time of the day."""
    return re.sub(r"\d+", "0", name)


def unlike(first: Mapping[KeyT, object], second: Mapping[KeyT, object]) -> set[KeyT]:
    return {key for key in {*first, *second} if first.get(key) != second.get(key)}


# coverage.py


class Source:
    """A source as coverage.py parses it."""

    def __init__(self, path: str):
        from coverage.parser import PythonParser

        self.parser = PythonParser(filename=path)
        self.parser.parse_source()
        exits = self.parser.exit_counts()
        self.branches = {arc for arc in self.parser.arcs() if exits.get(arc[0], 0) > 1}


def by_coverage(folder: Path) -> tuple[dict[str, Executed], dict[str, Source]]:
    """What each test executed as coverage.py has it."""
    connection = sqlite3.connect(f"file:{folder / '.coverage'}?mode=ro", uri=True)
    sources = {n: (os.path.relpath(p, folder), Source(p)) for n, p in connection.execute("select id, path from file")}
    contexts = dict(connection.execute("select id, context from context"))
    raw: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for file, context, start, end in connection.execute("select file_id, context_id, fromno, tono from arc"):
        raw[context, file].append((start, end))
    tests: dict[str, Executed] = defaultdict(lambda: Executed(set(), set()))
    for (context, file), arcs in raw.items():
        path, source = sources[file]
        executed = tests[contexts[context].rpartition("|")[0]]
        lines = {line for arc in arcs for line in arc if line > 0}
        executed.statements.update((path, n) for n in source.parser.first_lines(lines) & source.parser.statements)
        executed.arms.update((path, *arc) for arc in source.parser.translate_arcs(arcs) & source.branches)
    return tests, dict(sources.values())


def inside_functions(folder: Path, paths: Iterable[str]) -> Iterator[Line]:
    """The statements of functions, also of files that were not recorded."""
    for path in paths:
        source = PythonSource.parse((folder / path).read_bytes())
        yield from ((path, int(line)) for line, f in zip(source.line, source.function, strict=True) if f >= 0)


def at_import(folder: Path) -> set[Line]:
    """What ran while modules were imported for the first time."""
    evidence = RecordingSource(folder).read()
    elements, rows = evidence.elements, evidence.at_import
    return {(elements.files[f], n) for f, n in zip(elements.file[rows], elements.line[rows].tolist(), strict=True)}


def explained(folder: Path) -> dict[str, set[Line]]:
    """By test the lines of the functions that the runner called to explain failures of it."""
    memory = recorded_tests(recording_folder(str(folder)))
    found: dict[str, set[Line]] = defaultdict(set)
    for name, test in memory.tests.items():
        for rows in (rows for share in test.shares for rows in memory.shared.get(share, ())):
            for version, bits in rows.bits():
                called = {key for key, mask in version.masks().items() if bits & mask}
                if called:
                    source = PythonSource.parse((folder / version.path).read_bytes())
                    keys = numbered(function for function, _, _ in source.functions)
                    places = zip(source.line.tolist(), source.function.tolist(), strict=True)
                    found[name].update((version.path, line) for line, f in places if f >= 0 and keys[f] in called)
    return found


def compared(folder: Path) -> dict[str, Any]:
    """Statements and arms that one of the two has and the other has not, each with the number of tests."""
    theirs, sources = by_coverage(folder)
    ours = recorded(folder)
    others = {steady(name): executed for name, executed in theirs.items() if name not in ours}
    imported, explanations = at_import(folder), explained(folder)
    inside = set(inside_functions(folder, sources))
    branches = {(path, *arc) for path, source in sources.items() for arc in source.branches}
    places: Counter[tuple[str, str, tuple[Any, ...]]] = Counter()
    of_explanations: Counter[tuple[str, str, tuple[Any, ...]]] = Counter()
    agreed: Counter[str] = Counter()
    for name, (_, statements, arms) in ours.items():
        their = theirs.get(name) or others.get(steady(name)) or Executed(set(), set())
        for kind, a, b in (
            ("statements", statements & inside, their.statements & inside),
            ("arms", {arm for arm in arms & branches if arm[:2] in inside}, {x for x in their.arms if x[:2] in inside}),
        ):
            agreed[kind] += len(a & b)
            missing = [(kind, "missing", place) for place in b - a]
            places.update(missing)
            of_explanations.update(found for found in missing if found[2][:2] in explanations.get(name, ()))
            places.update((kind, "extra", place) for place in a - b)
    counts: Counter[str] = Counter()
    causes: dict[str, Counter[str]] = defaultdict(Counter)
    for (kind, which, place), number in places.items():
        counts[f"{kind} {which}"] += number
        late = which == "missing" and place[:2] in imported
        reasons = causes[f"{kind} {which}"]
        if by_explanations := of_explanations[kind, which, place]:
            reasons[EXPLAINS] += by_explanations
        if number > by_explanations:
            reason = cause(folder / place[0], place[1])
            reasons[AT_IMPORT if late and reason != COLLECTED else reason] += number - by_explanations
    return {"agreed": dict(agreed), "counts": dict(counts), "causes": causes, "places": places}


# running


def measure(project: Project, options: argparse.Namespace) -> dict[str, Any]:
    folder, python = prepare(project, options.cache, options.python)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COVERAGE", "SUSPECTRA"))}
    environment["PYTHONHASHSEED"] = "0"
    shutil.rmtree(folder / ".suspectra", ignore_errors=True)
    found, seconds = {}, {}
    by_name = commands(project, python, [options.recorder])

    def run(name: str, command: list[str]) -> None:
        report = folder.parent / f"{name}.xml"
        report.unlink(missing_ok=True)
        log = folder.parent / f"{name}.log"
        seconds[name] = cpu_seconds([*command, f"--junit-xml={report}"], folder, environment, log, any_status=True)
        found[name] = outcomes(report)

    run("plain", by_name["plain"])
    run("recorded, first", by_name[options.recorder])
    run("recorded", by_name[options.recorder])
    run("coverage.py", by_name["coverage.py"])
    differing = unlike(found["plain"], found["recorded, first"]) | unlike(found["plain"], found["recorded"])
    unsteady = set()
    if differing:
        run("plain, again", by_name["plain"])
        unsteady = unlike(found["plain"], found["plain, again"])
        differing -= unsteady
    return {
        "tests": sum(map(len, found["plain"].values())),
        "unsteady": len(unsteady),
        "differing": sorted(map("::".join, differing)),
        "plain_seconds": round(seconds["plain"], 2),
        "ratio_first": round(seconds["recorded, first"] / seconds["plain"], 2),
        "ratio_warm": round(seconds["recorded"] / seconds["plain"], 2),
        "ratio_coverage": round(seconds["coverage.py"] / seconds["plain"], 2),
        **compared(folder),
    }


def show(name: str, result: dict[str, Any], most: int) -> None:
    counts, agreed = result["counts"], result["agreed"]
    print(
        f"{name}: {result['tests']} tests, {len(result['differing'])} differ"
        + (f", {result['unsteady']} unsteady" if result["unsteady"] else "")
        + f"; {result['plain_seconds']:.1f} s, × {result['ratio_first']:.2f} first, × {result['ratio_warm']:.2f} warm,"
        f" × {result['ratio_coverage']:.2f} coverage.py"
    )
    for kind in ("statements", "arms"):
        missing, extra = counts.get(f"{kind} missing", 0), counts.get(f"{kind} extra", 0)
        print(f"    {kind}: {missing:,} missing, {extra:,} extra, {agreed[kind]:,} the same")
    for which, causes in result["causes"].items():
        for reason, number in causes.most_common():
            print(f"    {number:,} {which}: {reason}")
    for test in result["differing"][:most]:
        print(f"    differs: {test}")
    for (kind, which, place), number in result["places"].most_common(most):
        print(f"    {number} × {kind} {which}: {place[0]}:{' → '.join(map(str, place[1:]))}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--project", action="append", choices=[p.name for p in PROJECTS])
    parser.add_argument("--python", default=sys.executable, help="what runs the tests")
    parser.add_argument("--recorder", default="auto")
    parser.add_argument("--show", type=int, default=5, help="how many places and tests are shown of each project")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "suspectra" / "benchmarks")
    options = parser.parse_args()
    results = {}
    for project in PROJECTS:
        if not options.project or project.name in options.project:
            result = results[project.name] = measure(project, options)
            show(project.name, result, options.show)
            result["places"] = len(result["places"])
            sys.stdout.flush()
    differing = sum(len(result["differing"]) for result in results.values())
    tests = sum(result["tests"] for result in results.values())
    total = sum((Counter(result["counts"]) for result in results.values()), Counter())
    print(
        f"{tests:,} tests of {len(results)} suites, {differing} end differently when they are recorded; {dict(total)}"
    )
    print(json.dumps({"benchmark": "outcomes", "python": tag(options.python), "projects": results}))


if __name__ == "__main__":
    main()
