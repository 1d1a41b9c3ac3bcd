"""How many tests the change of one function reaches, for every function of a project, and why.

tqdm's tests are recorded; then each of its functions is taken for changed, in turn. Compared are

    function's file   a function that a late import called concerns all that import the file that the function stands in
    imported module   it concerns all that import the module that was imported then

    python benchmarks/affected_width.py
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import replace
from pathlib import Path

from partial_runs import SUBJECTS, record
from recording_overhead import prepare

from suspectra.selection.changes import Workspace, changes
from suspectra.selection.recorded_tests import RecordedTests, recorded_tests
from suspectra.selection.selection import chosen
from suspectra_recorder.instrumentation.outline import Difference, Outline, difference
from suspectra_recorder.settings import recording_folder

WIDE = 0.9


def reached(memory: RecordedTests, root: Path) -> dict[str, int]:
    """By function how many tests a change of its body reaches."""
    now = changes(Workspace(str(root)), memory.versions(), None)
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
    print(json.dumps(result))


if __name__ == "__main__":
    main()
