"""What somebody is told who breaks a project that nobody prepared: one change of six does it, and a test failed before.

Each subject is a release as it is on PyPI, with a test that fails from the start. Its tests are recorded. Then at least
five statements are written otherwise, which changes nothing, and one gets a mutant after which tests fail. The tests
are recorded again. `rank` is the place of the change in the ranking of the first failure group; `changes` and `why` say
whether these commands name it, and in how many seconds. Of projects in which nothing changed since their tests failed,
all three have to keep silent about changes.

    python benchmarks/broken_projects.py [--python PYTHON] [--sources DIR] [PACKAGE VERSION]...
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from changed_since_pass import distribution
from changes import PATH, outcomes

from suspectra.mutation.mutant import mutants
from suspectra.mutation.parsed_source import ParsedSource

CHANGED = (
    ("boltons", "23.1.0"),
    ("bottle", "0.13.1"),
    ("cachetools", "5.3.2"),
    ("flask", "3.1.3"),
    ("more-itertools", "10.1.0"),
    ("sqlparse", "0.5.0"),
    ("tabulate", "0.9.0"),
    ("tinydb", "4.8.0"),
    ("toolz", "1.0.0"),
    ("xmltodict", "0.13.0"),
    ("deepmerge", "2.0"),
    ("munch", "4.0.0"),
    ("rfc3986", "2.0.0"),
    ("unidiff", "1.0.1"),
)
UNCHANGED = (("tabulate", "0.9.0"), ("tinydb", "4.8.0"), ("xmltodict", "0.13.0"), ("unidiff", "1.0.1"))
HARMLESS = 5
MAX_TRIED = 40  # mutants until one is seen by a test
OLD = "def test_that_failed_before():\n    assert sum([1, 1]) == 3\n"
SECONDS = "120"


@dataclass(frozen=True)
class SeededStatement:
    """A statement of a file."""

    path: str
    line: int
    end_line: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="an interpreter with pytest and what the tests need")
    parser.add_argument("--sources", type=Path, help="where source distributions are, or are put")
    parser.add_argument("releases", nargs="*", help="PACKAGE VERSION, again and again")
    chosen = parser.parse_args()
    given = [tuple(chosen.releases[i : i + 2]) for i in range(0, len(chosen.releases), 2)]
    print(f"{'subject':22} {'lines':>6} {'failing':>7} {'rank':>5}  {'changes':12} {'seconds':>7}", end="  ")
    print(f"{'why':12} {'seconds':>7}")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.update(PYTHONPATH=PATH, XDG_CACHE_HOME=f"{scratch}/cache", PYTHONDONTWRITEBYTECODE="1")
        sources = chosen.sources or Path(scratch) / "sources"
        sources.mkdir(exist_ok=True)
        for name, version in given or CHANGED:
            subject = broken(distribution(sources, name, version), Path(scratch), random.Random(name), chosen.python)
            print(subject or f"{name}-{version}: no mutant of a changed statement fails a test", flush=True)
        for name, version in () if given else UNCHANGED:
            print(unchanged(distribution(sources, name, version), Path(scratch), chosen.python), flush=True)


def broken(release: Path, scratch: Path, chance: random.Random, python: str) -> str:
    """A row of the table; empty where no test notices any mutant."""
    folder = copied(release, scratch)
    before = outcomes(folder, python)
    suspectra(folder, "record", "--python", python, "--", "pytest", "-q", "-p", "no:xdist")
    if not any(ended == "PASSED" for ended in before.values()):
        return ""
    for path, line in harmless(folder, chance):
        rewrite(folder / path, line)
    if outcomes(folder, python) != before:
        return ""
    fault = seeded(folder, before, chance, python)
    if fault is None:
        return ""
    lines = len(subprocess.run(["git", "diff", "-U0"], cwd=folder, capture_output=True, text=True).stdout.splitlines())
    suspectra(folder, "record", "--python", python, "--", "pytest", "-q", "-p", "no:xdist")
    ranked = json.loads(suspectra(folder, "rank", "--format", "json", "--top", "1000")[0] or "{}")
    group = (ranked.get("groups") or [ranked])[0]
    ranks = [one["rank_average"] for one in group.get("suspects", ()) if is_at(one, fault)]
    failing = ranked.get("failed", 0)
    text, seconds = suspectra(folder, "changes", "--python", python, "--seconds", SECONDS, "--format", "json")
    found = json.loads(text or "{}")
    hits = [cause for cause in found.get("causes", ()) if any(is_at(one, fault) for one in cause["change"])]
    said = f"one of {len(hits[0]['change'])}" if hits and len(hits[0]["change"]) > 1 else "yes" if hits else "no"
    why, why_seconds = suspectra(folder, "why", "--python", python)
    named = f"{fault.path.rpartition('/')[2]}:{fault.line}" in why if why else None
    answer = "-" if named is None else "yes" if named else "no"
    rank = f"{min(ranks):g}" if ranks else "-"
    return f"{folder.name:22} {lines:6} {failing:7} {rank:>5}  {said:12} {seconds:7.1f}  {answer:12} {why_seconds:7.1f}"


def unchanged(release: Path, scratch: Path, python: str) -> str:
    """A row for a project of which no text is known with which the failing test passed."""
    folder = copied(release, scratch)
    suspectra(folder, "record", "--python", python, "--", "pytest", "-q", "-p", "no:xdist")
    text, seconds = suspectra(folder, "changes", "--python", python, "--seconds", SECONDS)
    ranked, _ = suspectra(folder, "rank")
    why, why_seconds = suspectra(folder, "why", "--python", python)
    silent = ["silent" if "your change" not in said and "you changed" not in said else "SPEAKS" for said in (text, why)]
    rank = "-" if "you changed" not in ranked else "SPEAKS"
    return f"{folder.name:22} {0:6} {1:7} {rank:>5}  {silent[0]:12} {seconds:7.1f}  {silent[1]:12} {why_seconds:7.1f}"


def copied(release: Path, scratch: Path) -> Path:
    """A copy with a test that fails, in a repository of its own."""
    folder = scratch / release.name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(release, folder, ignore=shutil.ignore_patterns("__pycache__", ".git", ".suspectra"))
    tests = next((folder / name for name in ("tests", "test") if (folder / name).is_dir()), folder)
    (tests / "test_old_failure.py").write_text(OLD)
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def suspectra(folder: Path, *words: str) -> tuple[str, float]:
    """What a command prints, and how many seconds it takes."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "suspectra", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout, time.monotonic() - began


def sources_of(folder: Path) -> Iterator[str]:
    """The modules of the program."""
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        if not any(part.startswith(("test", ".", "doc", "example", "setup", "conf")) for part in name.split("/")):
            yield name


def harmless(folder: Path, chance: random.Random) -> list[tuple[str, int]]:
    """Returns that can be written in two statements, the last of each file first."""
    found = [
        (path, node.lineno)
        for path in sources_of(folder)
        for node in ast.walk(ast.parse((folder / path).read_bytes()))
        if isinstance(node, ast.Return) and node.value is not None and is_alone(folder / path, node)
    ]
    chance.shuffle(found)
    return sorted(found[:HARMLESS], reverse=True)


def is_alone(path: Path, node: ast.Return) -> bool:
    line = path.read_text().splitlines()[node.lineno - 1]
    return node.lineno == node.end_lineno and line.lstrip().startswith("return ") and "#" not in line


def rewrite(path: Path, line: int) -> None:
    """Give a returned value a name first."""
    lines = path.read_text().splitlines(keepends=True)
    text = lines[line - 1]
    indent = text[: len(text) - len(text.lstrip())]
    value = text.strip().removeprefix("return ")
    lines[line - 1] = f"{indent}the_result = {value}\n{indent}return the_result\n"
    path.write_text("".join(lines))


def seeded(folder: Path, before: dict[str, str], chance: random.Random, python: str) -> SeededStatement | None:
    """Put a mutant into a statement of a function, so that tests fail that passed."""
    places = [
        (path, node)
        for path in sources_of(folder)
        for function in ast.walk(ast.parse((folder / path).read_bytes()))
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in function.body
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr, ast.If))
    ]
    chance.shuffle(places)
    tried = 0
    for path, node in places:
        end_line = node.test.end_lineno if isinstance(node, ast.If) else node.end_lineno
        text = (folder / path).read_bytes()
        source = ParsedSource(text)
        possible = list(mutants(source, range(node.lineno, (end_line or node.lineno) + 1)))
        if not possible or b"the_result" in text.splitlines()[node.lineno - 1]:
            continue
        if (tried := tried + 1) > MAX_TRIED:
            return None
        (folder / path).write_bytes(chance.choice(possible).edit.apply(source.text).encode())
        after = outcomes(folder, python)
        if any(after.get(name) == "FAILED" for name, ended in before.items() if ended == "PASSED"):
            return SeededStatement(path, node.lineno, end_line or node.lineno)
        (folder / path).write_bytes(text)
    return None


def is_at(one: dict[str, object], place: SeededStatement) -> bool:
    line, end_line = int(str(one["line"])), int(str(one["end_line"]))
    return one["file"] == place.path and line <= place.end_line and max(end_line, line) >= place.line


if __name__ == "__main__":
    main()
