"""How the ways to choose states compare, like for like: how many are examined until the fault is examined, and named.

    python benchmarks/frontiers.py                                # 40 small programs, 32 faults in classic ones
    python benchmarks/frontiers.py --subjects small --only "[a-e]*"

Of each subject one failing test is traced, and searched by each technique of `suspectra causes`, with two oracles. The
*perfect* one knows the states of the fixed program: `fix.diff` of a small program, the reference of a classic one. A
state is wrong if the fixed run has another one there, or none (paper 002, Section 6.2). It answers as a user who marks
each state. The other oracle is the *test*: a state is polluted if the test passes with another one. Both make the same
search, through the same code, and each state counts once, in whichever step it was examined.

The fault is *examined* when a state of a faulty line is altered, and *named* if such a state is among the suspected
causes at the end. With the test as the oracle, changes of the statements of polluted states are tried then: `with
changes` says whether the fault is named after that, and `first` whether it is the first suspected cause. Pairs compare
only the subjects on which both techniques get there. `at 1` says that one dependence is between the fault and the
nearest suspected cause, as in Table 2. The last table is Table 3: of the states that were judged by the test, how many
right ones it takes for wrong, and how many wrong ones for right.
"""

from __future__ import annotations

import argparse
import difflib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from faulty_subjects import FAULTS, LEFT_OUT, Subject, subjects
from state_based import Measured, environment_of

from suspectra.base.deadline import TimeIsUp
from suspectra.base.errors import SuspectraError
from suspectra.causes.confirmation import SECONDS, confirming_change
from suspectra.causes.inquiry import CauseInquiry
from suspectra.causes.search import CauseNarrowing
from suspectra.causes.techniques import TECHNIQUES
from suspectra.cli.rerun import failing_tests
from suspectra.dependences.trace import DependenceTrace
from suspectra.evaluation.faults import FaultList
from suspectra.evidence.discovery import find_source
from suspectra.experiments.alterations.replacing import NotedValues
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.repeated_test import TRACE_S
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.suspicion import Suspicion
from suspectra_recorder.experiments.decisions.switchboard import MAX_DECISIONS

WITH_CHANGES = ("with changes", "first", "confirmed")
ORACLES = ("perfect", "test")
Site = tuple[str, str, int]  # kind, file, number
Result = dict[str, Any]


@dataclass(frozen=True)
class Made:
    """What a site did in a run."""

    line: int
    column: int
    states: tuple[str, ...]  # in order


def states_of(setup: RerunSetup, test: FailingTest) -> dict[Site, Made]:
    """All decisions and assigned values of a run."""
    with setup.folder() as folder, setup.machine(folder, test.file, [test.name], ("values", "decisions")) as machine:
        (answer,) = machine.ask(test.name, [{"kind": "values"}], steps=MAX_DECISIONS, seconds=TRACE_S)
        (trace,) = machine.traces(test.name, 1, TRACE_S)
    found: dict[Site, Made] = {}
    for place, texts in NotedValues.from_answer(answer).values.items():
        found["value", place.file, place.number] = Made(place.line, place.column, tuple(texts))
    outcomes = defaultdict[int, list[str]](list)
    for decision in trace.decisions.tolist():
        outcomes[decision // 2].append("true" if decision % 2 else "false")
    for number, made in outcomes.items():
        site = trace.places[number]
        found["decision", site.file, site.number] = Made(site.line, site.column, tuple(made))
    return found


class Truth:
    """Which states of a failing run are wrong."""

    def __init__(self, faulty: Mapping[Site, Made], fixed: Mapping[Site, Made], lines: Mapping[str, Mapping[int, int]]):
        there = defaultdict[tuple[str, str, int], list[Made]](list)
        for (kind, file, _), made in sorted(fixed.items(), key=lambda one: one[1].column):
            there[kind, file, made.line].append(made)
        self._pairs: dict[Site, tuple[Made, Made]] = {}
        seen = Counter[tuple[str, str, int]]()
        for site, made in sorted(faulty.items(), key=lambda one: one[1].column):
            kind, file, _ = site
            place = kind, file, lines.get(file, {}).get(made.line, made.line if file not in lines else -1)
            if seen[place] < len(there[place]):
                self._pairs[site] = made, there[place][seen[place]]
            seen[place] += 1

    def is_right(self, trace: DependenceTrace, node: int) -> bool:
        site, time_ = trace.sites[trace.graph.site[node]], int(trace.graph.instance[node]) - 1
        pair = self._pairs.get((site.kind, site.file, site.number))
        if pair is None or time_ >= len(pair[1].states):
            return False
        return time_ < len(pair[0].states) and pair[0].states[time_] == pair[1].states[time_]


def same_lines(before: str, after: str) -> dict[int, int]:
    """The line of the fixed source for each line of the faulty one that has a counterpart."""
    found = {}
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    for tag, i, end, j, other_end in matcher.get_opcodes():
        if tag == "equal" or (tag == "replace" and end - i == other_end - j):
            found.update({i + n + 1: j + n + 1 for n in range(end - i)})
    return found


def fix(subject: Subject, folder: Path) -> list[str]:
    """Correct the program in a folder; the names of the files that changed."""
    if (folder / "fix.diff").exists():
        subprocess.run(["patch", "-s", "-p1", "-i", "fix.diff"], cwd=folder, check=True)
        return [
            line.removeprefix("--- a/") for line in (folder / "fix.diff").read_text().splitlines() if "--- a/" in line
        ]
    name = subject.folder.name.rpartition("-")[0]
    shutil.copy(folder / f"test_correct_{name}.py", folder / f"{name}.py")
    return [f"{name}.py"]


class Searched(CauseInquiry):
    """One failing test, searched by all techniques with both oracles."""

    def searches(self, techniques: Sequence[str], truth: Truth, faulty: set[tuple[str, int]]) -> Iterator[Result]:
        end = self.begin()
        with self.setup.folder() as folder:
            tests = self.setup.repeated(folder, [self.test], ("states", "values"), self._passing)
            try:
                trace = self._traced(folder)
                first = self._prepared(tests[self.test.name], trace, folder, end)
                for technique in techniques:
                    for oracle in ORACLES:
                        yield self._result(technique, oracle, trace, first, truth, faulty)
            finally:
                tests.close()

    def _result(
        self,
        technique: str,
        oracle: str,
        trace: DependenceTrace,
        first: CauseNarrowing,
        truth: Truth,
        faulty: set[tuple[str, int]],
    ) -> Result:
        alterations = first.alterations
        alterations.end, alterations.end_if_later = time.monotonic() + self.seconds, float("inf")
        self.technique = technique
        narrowing = self.narrowing(trace, alterations)
        search = narrowing.search
        if oracle == "perfect":
            narrowing.judged.known.update({node: truth.is_right(trace, node) for node in alterations.points})
        places = [trace.sites[site] for site in trace.graph.site]
        is_faulty = [any((one.file, line) in faulty for line in range(one.line, one.end_line + 1)) for one in places]
        order: dict[int, bool] = {}
        before, complete = alterations.count, True
        try:
            for step in search.steps():
                for node in step.cut:
                    if node in alterations.points:
                        order[node] = node in step.entities
        except TimeIsUp:
            complete = False
        examined = next((number for number, node in enumerate(order, 1) if is_faulty[node]), None)
        roots = search.causes.roots
        at = [node for node, one in enumerate(is_faulty) if one]
        hops = trace.graph.hops(at)[list(roots)] if roots and at else np.zeros(0, np.int64)
        wrong = {node for node in order if not truth.is_right(trace, node)}
        if oracle == "test":
            narrowing.change = confirming_change(self.setup, self.test, self.suspects, narrowing.polluted, SECONDS)
        suspected = [
            any((state.file, line) in faulty for line in range(state.line, state.end_line + 1))
            for state in narrowing.report.roots
        ]
        return {
            "technique": technique,
            "oracle": oracle,
            "states": len(order),
            "runs": alterations.count - before,
            "examined": examined,
            "named": any(is_faulty[node] for node in roots),
            "named_with_changes": any(suspected),
            "first": suspected[:1] == [True],
            "confirmed": narrowing.change is not None,
            "suspected": len({(places[node].file, places[node].line) for node in roots}),
            "dependences": int(hops[hops >= 0].min()) if (hops >= 0).any() else None,
            "right_as_wrong": sum(polluted and node not in wrong for node, polluted in order.items()),
            "wrong_as_right": sum(not polluted and node in wrong for node, polluted in order.items()),
            "complete": complete,
        }


def measure(subject: Subject, python: Path, seconds: float, techniques: Sequence[str]) -> list[Result]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / "faulty" / subject.folder.name
        measured = Measured(subject, python, folder)
        fixed = Path(scratch).resolve() / "fixed" / subject.folder.name
        shutil.copytree(folder, fixed, ignore=LEFT_OUT)
        changed = fix(subject, fixed)
        lines = {
            name: same_lines((folder / name).read_text("utf-8"), (fixed / name).read_text("utf-8")) for name in changed
        }
        evidence = find_source(folder, edges=True).read()
        test = failing_tests(evidence, [])[sorted(measured.failing)[0]]
        setup = RerunSetup(folder, measured.pytest)
        truth = Truth(states_of(setup, test), states_of(RerunSetup(fixed, measured.pytest), test), lines)
        elements = evidence.elements
        faults, _ = FaultList.read(folder / FAULTS).elements(elements)
        places = [elements.location(int(one)) for one in np.unique(np.concatenate(faults))]
        searched = Searched(setup, test, Suspicion(evidence), seconds=seconds)
        faulty = {(place.file, place.line) for place in places}
        return [{"subject": subject.name, **one} for one in searched.searches(techniques, truth, faulty)]


def tables(found: Sequence[Result]) -> Iterator[str]:
    techniques = list(dict.fromkeys(one["technique"] for one in found))
    by = defaultdict[tuple[str, str], dict[str, Result]](dict)
    for one in found:
        by[one["technique"], one["oracle"]][one["subject"]] = one
    columns = (
        "states",
        "runs",
        "fault examined",
        "fault named",
        *WITH_CHANGES,
        "suspected lines",
        *(f"at {n}" for n in (0, 1, 2)),
    )
    yield "| technique | oracle | " + " | ".join(columns) + " |"
    yield "|---|---|" + "---:|" * len(columns)
    for (technique, oracle), results in by.items():
        rows = results.values()
        apart = Counter(one["dependences"] for one in rows)
        cells = [sum(one[key] for one in rows) for key in ("states", "runs")]
        cells += [sum(one["examined"] is not None for one in rows), sum(one["named"] for one in rows)]
        cells += [sum(one[key] for one in rows) for key in ("named_with_changes", "first", "confirmed")]
        cells += [sum(one["suspected"] for one in rows), *(apart[n] for n in (0, 1, 2))]
        yield f"| `{technique}` | {oracle} | " + " | ".join(map(str, cells)) + " |"
    yield ""
    yield "| pair | oracle | both examine the fault | states until then | both name it | states until then |"
    yield "|---|---|---:|---:|---:|---:|"
    for oracle in ORACLES:
        for first, second in combinations(techniques, 2):
            pairs = [(by[first, oracle][name], by[second, oracle][name]) for name in by[first, oracle]]
            seen = [(a["examined"], b["examined"]) for a, b in pairs if a["examined"] and b["examined"]]
            named = [(a["states"], b["states"]) for a, b in pairs if a["named"] and b["named"]]
            cells = [cell for some in (seen, named) for cell in (len(some), _sums(some))]
            yield f"| `{first}`, `{second}` | {oracle} | " + " | ".join(map(str, cells)) + " |"
    yield ""
    yield "| judged by the test | states | right, taken for wrong | wrong, taken for right |"
    yield "|---|---:|---:|---:|"
    for technique in techniques:
        rows = by[technique, "test"].values()
        states = sum(one["states"] for one in rows)
        shares = [
            f"{100 * sum(one[key] for one in rows) / states:.1f} %" for key in ("right_as_wrong", "wrong_as_right")
        ]
        yield f"| `{technique}` | {states} | " + " | ".join(shares) + " |"


def _sums(pairs: Sequence[tuple[int, int]]) -> str:
    return f"{sum(one for one, _ in pairs)}, {sum(other for _, other in pairs)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subjects", action="append", choices=["small", "classic"], help="repeatable; by default both")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="names of subjects (repeatable)")
    parser.add_argument("--technique", action="append", choices=list(TECHNIQUES), help="repeatable; by default all")
    parser.add_argument("--seconds", type=float, default=40, help="of each search")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "suspectra" / "state_based")
    given = parser.parse_args()
    python = environment_of(given.cache)
    families: dict[str, list[Result]] = {}
    with suppress(KeyboardInterrupt):  # then what is known is printed
        for subject in subjects(given.subjects or ["small", "classic"], given.only, given.cache, None):
            try:
                found = measure(subject, python, given.seconds, given.technique or list(TECHNIQUES))
            except (SuspectraError, RuntimeError, subprocess.SubprocessError) as error:
                print(f"{subject.name}: {error}", file=sys.stderr, flush=True)
                continue
            families.setdefault(subject.family, []).extend(found)
            named = [f"{one['technique']} ({one['oracle']})" for one in found if one["named"]]
            print(f"{subject.name}: named by {', '.join(named) or 'none'}", flush=True)
    for family, results in families.items():
        print(f"\n{family}: {len({one['subject'] for one in results})} subjects")
        print("\n".join(tables(results)))
    print(json.dumps({"benchmark": "frontiers", "seconds": given.seconds, "families": families}))


if __name__ == "__main__":
    main()
