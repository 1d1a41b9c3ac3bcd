"""Whether recording some tests again, with unchanged sources, leaves the ranking as it was.

Projects from PyPI, each with a fault put in, are recorded as a whole. Then random subsets of their tests, in random
order, in one process or under pytest-xdist, are recorded again. Each time what they executed, and the ranking, are
compared with those of the whole run; every difference is printed, by test and line, and the recording is then put back.

What a suite caches in its process runs in one test only, whichever comes first: no recorder can tell that from work
that each test does. Where a project has functions of that kind they are named below with the reason, and everything
else is compared once more without them.

    python benchmarks/partial_runs.py --rounds 10
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recording_overhead import Project, prepare

from suspectra.evidence.recording import RecordingSource

LOGS = Path(".suspectra", "recording")
WIDTH = 150


@dataclass(frozen=True)
class Faulty:
    """A project, and the fault to put in."""

    project: Project
    file: str
    old: str
    new: str
    once: tuple[str, ...] = ()
    """Functions, as ``file: name``, that run only in the first test that asks for them: their result is kept."""


SUBJECTS = (
    Faulty(
        Project(
            "markdown",
            "3.10",
            "markdown",
            "tests",
            ("pyyaml", "pytest<9", "pytest-xdist"),
            # it uses markdown.extensions.fenced_code, which it leaves to other tests to import, and fails alone
            (
                "--deselect=tests/test_syntax/extensions/test_fenced_code.py::TestFencedCode::testFencedLanguageAltPrefix",
            ),
        ),
        "markdown/extensions/tables.py",
        "align.append('center')",
        "align.append('left')",
        ("markdown/util.py: get_installed_extensions",),  # functools.lru_cache
    ),
    Faulty(
        Project("itsdangerous", "2.2.0", "src/itsdangerous", "tests", ("freezegun", "pytest-xdist")),
        "src/itsdangerous/timed.py",
        "if max_age is not None:",
        "if max_age is None:",
    ),
    Faulty(
        Project("tinydb", "4.8.2", "tinydb", "tests", ("pyyaml", "pytest-xdist")),
        "tinydb/operations.py",
        "doc[field] -= n",
        "doc[field] += n",
    ),
    Faulty(
        Project("voluptuous", "0.15.2", "voluptuous", "voluptuous/tests", ("pytest-xdist",)),
        "voluptuous/validators.py",
        "not v <= self.max",
        "not v >= self.max",
    ),
    Faulty(
        Project("mistune", "3.1.4", "src/mistune", "tests", ("pytest-xdist",)),
        "src/mistune/plugins/table.py",
        'aligns[i] = "center"',
        'aligns[i] = "left"',
        # dicts, the second one of the parser that the module mistune keeps
        ("src/mistune/plugins/__init__.py: import_plugin", "src/mistune/core.py: Parser.compile_sc"),
    ),
    # keeps much: standard streams, the help options of its tests' commands
    Faulty(
        Project("click", "8.5.1", "src/click", "tests", ("pytest-xdist",)),
        "src/click/formatting.py",
        "max(widths.get(idx, 0), term_len(col))",
        "max(widths.get(idx, 0), term_len(col)) + (idx == 0)",
    ),
    Faulty(
        Project(
            "tqdm",
            "4.67.1",
            "tqdm",
            "tests",
            ("pytest-asyncio", "pytest-timeout", "pytest-xdist", "setuptools_scm"),
            ("--ignore=tests/tests_perf.py",),  # measures time
        ),
        "tqdm/std.py",
        "if h else f'{m:02d}:{s:02d}'",
        "if h else f'{m:02d}.{s:02d}'",
    ),
)


def record(folder: Path, python: Path, project: Project, *arguments: str) -> None:
    """Record a run of pytest.

    Raises
    ------
    SystemExit
        When it ends otherwise than with passed and failed tests.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COVERAGE"))}
    plain = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *project.options, "--continue-on-collection-errors"]
    command = [sys.executable, "-m", "suspectra", "record", "--", str(python), *plain, *arguments]
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} ended with status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def recorded(folder: Path) -> dict[str, tuple[str, frozenset[str]]]:
    """By test its verdict and what it executed: statements, and edges; each with the function that it stands in."""
    evidence = RecordingSource(folder, edges=True).read()
    assert evidence.edges is not None
    elements, edges = evidence.elements, evidence.edges.edges
    names = [*(function.name for function in elements.functions), ""]  # the last one, -1, is outside of functions
    lines = [f"{elements.location(i)} {names[elements.function[i]]}" for i in range(len(elements))]
    paths = [file.path for file in evidence.files]
    columns = (edges.file, edges.source, edges.target, edges.function)
    arcs = [f"{paths[f]}:{a}->{b} {names[n]}" for f, a, b, n in zip(*(c.tolist() for c in columns), strict=True)]
    return {
        test.name: (test.verdict.value, frozenset([lines[i] for i in row.tolist()] + [arcs[i] for i in taken.tolist()]))
        for test, row, taken in zip(evidence.tests, evidence.rows, evidence.edges.rows, strict=True)
    }


def ranking(folder: Path) -> list[dict[str, Any]]:
    """Suspects as the command prints them, but for the order of their failing tests, which is that of the runs."""
    command = [sys.executable, "-m", "suspectra", "rank", "--format", "json"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    suspects: list[dict[str, Any]] = json.loads(done.stdout)["suspects"]
    for suspect in suspects:
        suspect["failing_tests"].sort()
    return suspects


def _without(test: tuple[str, frozenset[str]] | None, subject: Faulty) -> tuple[str, frozenset[str]] | None:
    """A test without what it executed in functions whose result is kept."""
    if test is None:
        return None
    verdict, executed = test
    return verdict, frozenset(one for one in executed if not _kept(one.partition(":")[0], one.split(" ")[-1], subject))


def _scores(suspects: list[dict[str, Any]], subject: Faulty) -> dict[tuple[str, int], tuple[float, ...]]:
    return {
        (s["file"], s["line"]): (s["score"], s["ef"], s["ep"], s["nf"], s["np"])
        for s in suspects
        if not _kept(s["file"], s["function"], subject)
    }


def _kept(file: str, function: str, subject: Faulty) -> bool:
    return f"{file}: {function}" in subject.once


def compare(subject: Faulty, cache: Path, rounds: int, chance: random.Random) -> dict[str, Any]:
    home, python = prepare(subject.project, cache)
    folder = cache / "partial-runs" / home.name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(home, folder, ignore=shutil.ignore_patterns(".suspectra"))
    source = folder / subject.file
    text = source.read_text()
    if subject.old not in text:
        sys.exit(f"{source} does not contain {subject.old!r}")
    source.write_text(text.replace(subject.old, subject.new, 1))
    names = (subject.project.tests,)
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "-q", "install", "--no-deps", "-e", str(folder)],
        check=True,
    )
    record(folder, python, subject.project, *names)
    before, ranked = recorded(folder), ranking(folder)
    shutil.copytree(folder / LOGS, folder / "whole-run")
    failing = sum(verdict in ("failed", "error") for verdict, _ in before.values())
    print(f"\n{home.name}: {len(before)} tests, {failing} failing, {len(ranked)} suspects", flush=True)
    rankings_differ, tests_differ, without_differ = 0, set(), 0
    for number in range(rounds):
        some = chance.sample(sorted(before), chance.choice((1, 5, 50, len(before) // 2, len(before))) or 1)
        workers = ("-n", "2") if number % 2 else ()
        chosen = folder / "chosen"
        chosen.write_text("\n".join(some))
        record(folder, python, subject.project, *workers, f"@{chosen}")
        after, again = recorded(folder), ranking(folder)
        differing = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        rankings_differ += again != ranked
        unexplained = {n for n in differing if _without(before.get(n), subject) != _without(after.get(n), subject)}
        scores = _scores(again, subject) == _scores(ranked, subject)
        without_differ += bool(unexplained) or not scores
        tests_differ |= differing
        rest = f"; without what is kept: {'the same' if scores else 'DIFFERS'}, {len(unexplained)} tests differ"
        print(
            f"  {len(some):5} tests {'in 2 processes' if workers else 'in 1 process  '}: ranking "
            f"{'THE SAME' if again == ranked else 'DIFFERS'}, {len(differing)} tests differ"
            f"{rest if subject.once else ''}",
            flush=True,
        )
        for name in sorted(unexplained):
            verdict, lines = before.get(name, ("", frozenset()))
            verdict_now, lines_now = after.get(name, ("", frozenset()))
            outcome = f"{verdict} -> {verdict_now} " if verdict != verdict_now else ""
            gone, come = sorted(lines - lines_now), sorted(lines_now - lines)
            print(f"      {name}: {outcome}-{gone} +{come}"[:WIDTH])
        if differing:
            shutil.rmtree(folder / LOGS)
            shutil.copytree(folder / "whole-run", folder / LOGS)
    return {
        "tests": len(before),
        "failing": failing,
        "runs": rounds,
        "rankings_that_differ": rankings_differ,
        "rankings_that_differ_without_what_is_kept": without_differ,
        "tests_that_differ": sorted(tests_differ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="*", help="by default all")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "suspectra" / "benchmarks")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    wanted = [s for s in SUBJECTS if s.project.name in (options.projects or [s.project.name])]
    print(json.dumps({s.project.name: compare(s, options.cache.resolve(), options.rounds, chance) for s in wanted}))


if __name__ == "__main__":
    main()
