"""How many tests the change of one function reaches, for every function of a project, and why.

tqdm's tests are recorded; then each of its functions is taken for changed, in turn. Compared are

    function's file   a function that a late import called concerns all that import the file that the function stands in
    imported module   it concerns all that import the module that was imported then

Then, for several projects, each statement in a function is taken for changed, in turn. Compared are

    by function      the tests that execute any statement of the function run: what a change of its body selects
    by statement     only those run that execute the statement itself

    python benchmarks/affected_width.py
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from partial_runs import SUBJECTS, record
from recording_overhead import prepare
from scipy.sparse import csr_array

from suspectra.evidence.recording import RecordingSource
from suspectra.selection.changes import WorkspaceFiles, changes
from suspectra.selection.recorded_tests import RecordedTests, recorded_tests
from suspectra.selection.selection import chosen
from suspectra_recorder.instrumentation.outline import Difference, Outline, difference
from suspectra_recorder.settings import recording_folder

WIDE = 0.9


def reached(memory: RecordedTests, root: Path) -> dict[str, int]:
    """By function how many tests a change of its body reaches."""
    now = changes(WorkspaceFiles(str(root)), memory.versions(), None)
    if now.differences:
        sys.exit(f"{root} changed since it was recorded")
    counts = {}
    for version in memory.versions():
        outline = version.outline
        if not version.traced or outline is None:
            continue
        for number, function in enumerate(outline.functions):
            changed = replace(now, differences={version: _with_other_body(outline, number)})
            selection = chosen(memory, changed)
            counts[f"{version.path}: {function.name} ({number})"] = len(selection.affected) + len(selection.failed)
    return counts


@dataclass(frozen=True)
class Width:
    """How many tests run after a change of one statement, and their seconds: means over all statements."""

    statements: int
    by_function: float
    by_statement: float
    function_seconds: float
    statement_seconds: float


def width(root: Path) -> Width:
    """Take each statement in a function that tests execute for changed."""
    evidence = RecordingSource(root).read()
    elements, tests = evidence.elements, len(evidence.tests)
    inside = (elements.function >= 0) & evidence.candidates(include_tests=False)
    test_of = np.repeat(np.arange(tests), [len(row) for row in evidence.rows])
    column_of = np.concatenate(evidence.rows)
    kept = inside[column_of]
    test_of, column_of = test_of[kept], column_of[kept]
    executed = csr_array((np.ones(len(test_of)), (column_of, test_of)), shape=(len(elements), tests))
    wholes = csr_array(
        (np.ones(len(test_of)), (elements.function[column_of], test_of)), shape=(len(elements.functions), tests)
    )
    wholes.data[:] = 1.0  # several statements of a function count once
    statements = np.flatnonzero(executed.sum(axis=1))
    seconds = np.array([test.seconds for test in evidence.tests])
    functions = elements.function[statements]

    def mean(of_statement: csr_array, chosen: np.ndarray, weights: np.ndarray) -> float:
        return round(float((of_statement @ weights)[chosen].mean()), 2)

    ones = np.ones(tests)
    return Width(
        len(statements),
        mean(wholes, functions, ones),
        mean(executed, statements, ones),
        mean(wholes, functions, seconds),
        mean(executed, statements, seconds),
    )


def _with_other_body(outline: Outline, number: int) -> Difference:
    functions = list(outline.functions)
    functions[number] = functions[number]._replace(body="another body")
    return difference(outline, replace(outline, functions=tuple(functions)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "suspectra" / "benchmarks")
    options = parser.parse_args()
    project = next(s.project for s in SUBJECTS if s.project.name == "tqdm")
    folder, python = prepare(project, options.cache.resolve())
    record(folder, python, project, project.tests)
    memory = recorded_tests(recording_folder(str(folder)))
    elsewhere = replace(memory, imported=[replace(imported, module="") for imported in memory.imported])
    result: dict[str, object] = {"tests": len(memory.tests)}
    for rule, known in (("function's file", elsewhere), ("imported module", memory)):
        counts = reached(known, folder)
        wide = [name for name, count in counts.items() if count >= WIDE * len(memory.tests)]
        mean = statistics.mean(counts.values())
        print(f"{rule:16} {len(counts)} functions reach {mean:.1f} of {len(memory.tests)} tests on average;")
        print(f"{'':16} {len(wide)} reach {WIDE:.0%} of the tests or more: {', '.join(wide[:5])}")
        result[rule] = {
            "functions": len(counts),
            "mean": round(mean, 1),
            "median": statistics.median(counts.values()),
            "wide": len(wide),
        }
    for subject in SUBJECTS:
        folder, python = prepare(subject.project, options.cache.resolve())
        record(folder, python, subject.project, subject.project.tests)
        found = width(folder)
        result[subject.project.name] = asdict(found)
        print(
            f"{subject.project.name:14} {found.statements} statements; by function {found.by_function} tests,"
            f" {found.function_seconds} s; by statement {found.by_statement} tests, {found.statement_seconds} s"
        )
    print(json.dumps(result))


if __name__ == "__main__":
    main()
