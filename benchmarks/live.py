"""How soon outcomes are there after a save, by a process that waits with collected tests, beside a fresh process.

The projects are source distributions from PyPI, each with an environment of its own. In each, random functions are
edited one after the other: a number, a comparison, a truth. After an edit the tests that it can affect are chosen, and
run twice: by a process that waits, and, in a second copy, by `suspectra record --failed-and-affected`. Printed are
medians over the edits, how many had all outcomes within a second, how many had the same verdicts as the fresh run, and
the processor time of both.

    python benchmarks/live.py                    # 100 edits: 50 in each project
    python benchmarks/live.py --edits 10
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from suspectra.processes.events import Event, TestProgress
from suspectra.recording.warm import WarmRefusal, WarmTests
from suspectra.selection.selection import select
from suspectra_recorder.log.reader import LogReader, RecordedTest
from suspectra_recorder.settings import recording_folder

PROJECTS = {
    "Markdown": ("Markdown==3.7", "markdown", ("pytest", "PyYAML")),
    "sqlparse": ("sqlparse==0.5.3", "sqlparse", ("pytest",)),
}
COMPARISONS = {ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.Lt: ">="}
WITHIN_S = 1.0
RECORD_TIMEOUT_S = 60.0
"""How long a new process may take: all tests take a few seconds."""

# Markdown turns all warnings into errors, also that a class it imports is no test; its own are those of unittest
OPTIONS = {
    "Markdown": ("-q", "-p", "no:cacheprovider", "-o", "python_classes=None"),
    "sqlparse": ("-q", "-p", "no:cacheprovider"),
}


@dataclass(frozen=True)
class Mutation:
    """A small edit of a function: what is replaced in its file, and by what."""

    path: str
    function: str
    start: int
    end: int
    text: bytes


class EndlessError(Exception):
    """An edit made a test that does not end."""


@dataclass
class Run:
    """One edit: seconds until outcomes were there, and how both runs ended."""

    how: str
    tests: int
    failed: int
    chosen: float
    first: float
    first_failure: float
    all: float
    fresh: float
    processor: float
    fresh_processor: float
    differ: list[str] = field(default_factory=list)


def mutations(root: Path, package: str) -> Iterator[Mutation]:
    """All edits of numbers, truths and comparisons inside of functions."""
    for path in sorted((root / package).rglob("*.py")):
        source = path.read_bytes()
        starts = [0]
        for line in source.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        name = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for statement in node.body:
                    for inner in ast.walk(statement):
                        if (edit := _edit(inner, source, starts)) is not None:
                            yield Mutation(name, f"{node.name}:{node.lineno}", *edit)


def _edit(node: ast.AST, source: bytes, starts: list[int]) -> tuple[int, int, bytes] | None:
    """Where a node is replaced, and by what; columns count bytes, as in the tree."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        if node.end_lineno != node.lineno or node.end_col_offset is None:
            return None
        new = str(not node.value if isinstance(node.value, bool) else node.value + 1).encode()
        return starts[node.lineno - 1] + node.col_offset, starts[node.lineno - 1] + node.end_col_offset, new
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        left, right = node.left, node.comparators[0]
        if left.end_lineno != right.lineno or left.end_col_offset is None:
            return None
        start, end = starts[left.end_lineno - 1] + left.end_col_offset, starts[right.lineno - 1] + right.col_offset
        between = source[start:end]
        if b"(" in between or b")" in between:
            return None
        return start, end, f" {COMPARISONS[type(node.ops[0])]} ".encode()
    return None


class Outcomes(LogReader):
    """The tests of a log, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tests: list[RecordedTest] = []

    def on_test(self, test: RecordedTest) -> None:
        """A test ended."""
        self.tests.append(test)


def outcomes(root: Path, before: set[str]) -> list[RecordedTest]:
    """The tests in the logs that are new."""
    found: list[RecordedTest] = []
    for log in sorted(Path(recording_folder(str(root))).glob("*.log")):
        if log.name not in before:
            reader = Outcomes()
            reader.read(log.read_bytes())
            found += reader.tests
    return found


def logs(root: Path) -> set[str]:
    """The names of the logs there are."""
    return {log.name for log in Path(recording_folder(str(root))).glob("*.log")}


class Project:
    """Two copies of a project, of the same content, with one environment."""

    def __init__(self, folder: Path, name: str):
        requirement, self.package, needs = PROJECTS[name]
        self.options = OPTIONS[name]
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        download = [*pip, "download", "--no-deps", "--no-binary", ":all:", requirement]
        subprocess.run([*download, "-d", str(folder)], check=True, capture_output=True)
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        source = next(path for path in folder.iterdir() if path.is_dir())
        self.python = folder / "environment" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", str(folder / "environment")], check=True)
        subprocess.run([self.python, *pip[1:], "install", *needs], check=True)
        self.warm, self.fresh = folder / "warm", folder / "fresh"
        for copy in (self.warm, self.fresh):
            shutil.copytree(source, copy)
            (copy / "conftest.py").touch()  # puts the folder on the path
        self.record(self.warm)
        self.recording = folder / "recording"
        shutil.copytree(self.warm / ".suspectra", self.recording)

    def record(self, root: Path, *options: str) -> None:
        """Record the tests of a copy with a new process."""
        command = [sys.executable, "-m", "suspectra", "record", *options, "--python", str(self.python), "--", "pytest"]
        process = subprocess.Popen(
            [*command, *self.options],
            cwd=root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(RECORD_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise EndlessError from error

    def reset(self) -> None:
        """Let both copies know the same runs."""
        for copy in (self.warm, self.fresh):
            shutil.rmtree(copy / ".suspectra", ignore_errors=True)
            shutil.copytree(self.recording, copy / ".suspectra")

    def wait(self) -> WarmTests:
        """Start a process that waits with the tests of the first copy."""
        warm = WarmTests([str(self.python), "-m", "pytest", *self.options], str(self.warm))
        warm.wait()
        return warm

    def apply(self, mutation: Mutation) -> bytes:
        """Edit a file in both copies; what it was before."""
        before = (self.warm / mutation.path).read_bytes()
        for copy in (self.warm, self.fresh):
            (copy / mutation.path).write_bytes(before[: mutation.start] + mutation.text + before[mutation.end :])
        return before


def measure(project: Project, warm: WarmTests) -> Run | None:
    """Run what the present edit can affect, in both ways; None if that is nothing."""
    known = logs(project.warm), logs(project.fresh)
    began, began_ns, used = time.perf_counter(), time.time_ns(), time.process_time()
    selection = select(str(project.warm))
    chosen = time.perf_counter() - began
    if not selection.affected:
        return None
    ended_at: list[float] = []

    def notify(event: Event) -> None:
        if isinstance(event, TestProgress) and event.done == event.total:
            ended_at.append(time.perf_counter() - began)

    how = "warm"
    try:
        warm.run(selection.fields(live=True), notify)
        processor = time.process_time() - used + warm.processor
    except WarmRefusal as why:
        how, processor = str(why), 0.0
    everything = time.perf_counter() - began
    mine = outcomes(project.warm, known[0])
    since = [(test.time - began_ns) / 1e9 for test in mine]
    failing = [(test.time - began_ns) / 1e9 for test in mine if test.verdict in ("failed", "error")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    project.record(project.fresh, "--failed-and-affected", "--live")
    fresh = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    theirs = {test.name: test.verdict for test in outcomes(project.fresh, known[1])}
    verdicts = {test.name: test.verdict for test in mine}
    differ = sorted(name for name in {*theirs, *verdicts} if theirs.get(name) != verdicts.get(name))
    return Run(
        how,
        len(theirs),
        sum(verdict in ("failed", "error") for verdict in theirs.values()),
        chosen,
        min(since, default=0.0),
        min(failing, default=0.0),
        max(since, default=everything),
        fresh,
        processor,
        spent,
        differ if how == "warm" else [],
    )


def edit_and_measure(name: str, edits: int, chance: random.Random) -> list[Run]:
    """Make random edits of a project, one function each."""
    runs: list[Run] = []
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder), name)
        every = list(mutations(project.warm, project.package))
        functions = sorted({(mutation.path, mutation.function) for mutation in every})
        chance.shuffle(functions)
        warm = project.wait()
        print(
            f"{name}: {warm.tests} tests, {len(functions)} functions that can be edited {warm.once or ''}", flush=True
        )
        for path, function in functions:
            if len(runs) == edits:
                break
            mutation = chance.choice([one for one in every if (one.path, one.function) == (path, function)])
            project.reset()
            text = project.apply(mutation)
            run = None
            try:
                run = measure(project, warm)
            except EndlessError:
                print(f"  {path}:{function:36.36} left out: a test does not end", flush=True)
            if run is not None:
                runs.append(run)
                print(
                    f"  {path}:{function:36.36} {run.tests:4} tests {run.failed:4} failed  first {run.first:5.2f}"
                    f"  all {run.all:5.2f}  fresh {run.fresh:5.2f}  {run.how if run.how != 'warm' else ''}"
                    f"{' differ: ' + ', '.join(run.differ[:3]) if run.differ else ''}",
                    flush=True,
                )
            for copy in (project.warm, project.fresh):
                (copy / path).write_bytes(text)
            if run is not None and run.how != "warm":
                warm.close()
                warm = project.wait()
        warm.close()
    return runs


def figures(runs: list[Run]) -> dict[str, float]:
    """The medians, counts and shares of some runs."""
    warm = [run for run in runs if run.how == "warm"]

    def median(values: list[float]) -> float:
        return round(statistics.median(values or [0.0]), 3)

    return {
        "edits": len(runs),
        "refused": len(runs) - len(warm),
        "chosen_s": median([run.chosen for run in warm]),
        "first_outcome_s": median([run.first for run in warm]),
        "first_failure_s": median([run.first_failure for run in warm if run.first_failure]),
        "all_outcomes_s": median([run.all for run in warm]),
        "within_a_second": sum(run.all < WITHIN_S for run in warm),
        "fresh_s": median([run.fresh for run in warm]),
        "verdicts_equal": sum(not run.differ for run in warm),
        "processor_s": round(sum(run.processor for run in warm), 2),
        "fresh_processor_s": round(sum(run.fresh_processor for run in warm), 2),
        "processor_share": median([run.processor / run.fresh_processor for run in warm]),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    found: dict[str, list[Run]] = {}
    for number, name in enumerate(PROJECTS):
        edits = options.edits // 2 + (options.edits % 2 if number == 0 else 0)
        found[name] = edit_and_measure(name, edits, random.Random(options.seed))
    everything = {name: figures(runs) for name, runs in found.items()}
    everything["both"] = figures([run for runs in found.values() for run in runs])
    for key in everything["both"]:
        print(f"{key:20}" + "".join(f"{name:>10} {values[key]:8}" for name, values in everything.items()))
    print(json.dumps(everything))


if __name__ == "__main__":
    main()
