"""Slices against the truth: what lies outside the backward slice of a failure is altered, and must not change it.

    python benchmarks/slice_truth.py                     # 1,000 alterations of benchmarks/faulty_programs
    python benchmarks/slice_truth.py --alterations 100 --only 'small/f*'

Each failing test of each program is traced. Then single states of the run outside the slice are altered at
random: a decision comes out the other way, or a value is another one of the same kind. An altered run may end as
before; earlier, by another exception or assertion before it gets to where it failed; at the same place in another way;
later, somewhere behind that place; or it passes. The last three contradict the slice. As many states inside of slices
are altered in the same way, to see that alterations do make a difference.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from faulty_subjects import Subject, subjects
from state_based import Measured, environment_of

from suspectra.base.errors import EvidenceError
from suspectra.causes.states import AlteredStates, NewValue, StatePoint, StatesRun
from suspectra.dependences.slices import backward
from suspectra.dependences.trace import DependenceTrace
from suspectra.evidence.discovery import find_source
from suspectra.experiments.alterations.alternates import Alternate
from suspectra.experiments.alterations.replacing import Replacement, ValuePlace
from suspectra.experiments.alterations.switching import SwitchedDecision
from suspectra.experiments.altered_runs import Alteration
from suspectra.experiments.dependences import KIND, trace_dependences
from suspectra.experiments.machine import Machine
from suspectra.experiments.repeated_test import RepeatedTest
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.run_answers import DecisionSite
from suspectra.runs.experiment import Experiment, ExperimentOutcome
from suspectra_recorder.experiments.messages import RunRequest
from suspectra_recorder.experiments.values.literals import from_text

SECONDS = 60.0
"""For the alterations of one test."""

CONTRADICTIONS = ("passes", "in another way", "later")
"""What alterations outside of a slice never lead to."""

FailurePlace = tuple[list[tuple[tuple[str, int], int]], list[tuple[str, int]]]


def alteration(trace: DependenceTrace, node: int, chance: random.Random) -> Alteration | None:
    """Another outcome or value of a node; None where nothing can be put in its place."""
    site, instance = trace.sites[trace.graph.site[node]], int(trace.graph.instance[node])
    if site.number < 0 or trace.is_test[node]:
        return None
    if site.kind == "decision":
        place = DecisionSite(site.file, site.number, "if", site.line, site.column, site.end_line, guard=False)
        return SwitchedDecision(place, instance)
    if site.kind != "value":
        return None
    try:
        value = ast.literal_eval(trace.value[node])
    except (ValueError, SyntaxError):
        return None
    other = another(value, chance)
    if other is None:
        return None
    where = ValuePlace(site.file, site.number, "assignment", "", site.line, site.column, site.end_line)
    return Replacement(where, instance, (), Alternate("other", other))


def another(value: object, chance: random.Random) -> object:
    """Another value of the same type; None if there is none to think of."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + chance.choice([-100, -2, -1, 1, 2, 100])
    if isinstance(value, float):
        return value + chance.choice([-100.0, -0.5, 0.5, 100.0])
    if isinstance(value, str):
        return chance.choice(["", "x", value + "x", value[::-1] + "y"])
    return None


@dataclass(frozen=True)
class Placed(Alteration):
    """An alteration in a run that says where the test failed."""

    made: Alteration

    def to_json(self) -> RunRequest:
        """How a machine is asked for it."""
        job = self.made.to_json()
        point = StatePoint(job["file"], job["number"], job["instance"])
        if job["kind"] == "switch":
            return AlteredStates((point,)).to_json()
        return AlteredStates((), (NewValue(point, tuple(job["part"]), from_text(job["text"])),)).to_json()

    def experiment(self, test: str) -> Experiment:
        """The experiment that this is with a test."""
        return self.made.experiment(test)


class Judged:
    """Altered runs of one failing test."""

    def __init__(self, command: Sequence[str], workspace: Path, test: FailingTest):
        with Machine(command, workspace, test.file, [test.name], (KIND,)) as machine:
            self.trace = trace_dependences(machine, test.name)
        self._command, self._workspace, self._test = command, workspace, test
        self.members = backward(self.trace).members

    def alterable(self, *, inside: bool) -> list[int]:
        """The nodes that can be altered, inside or outside of the slice."""
        chance = random.Random(0)
        nodes = np.flatnonzero(self.members == inside).tolist()
        return [node for node in nodes if alteration(self.trace, node, chance) is not None]

    def judge(self, nodes: Sequence[int], chance: random.Random) -> Iterator[tuple[int, Alteration, str]]:
        """How the run ends when each of some nodes is altered."""
        altered = [(node, made) for node in nodes if (made := alteration(self.trace, node, chance)) is not None]
        with Machine(
            self._command, self._workspace, self._test.file, [self._test.name], ("states", "values")
        ) as machine:
            repeated = RepeatedTest(self._test.name, machine)
            plain = StatesRun.from_answer(repeated.alone(AlteredStates().to_json()))
            placed = [(node, Placed(made)) for node, made in altered]
            by_alteration = {id(made): node for node, made in placed}
            for made, answer in repeated.answers([made for _, made in placed], time.monotonic() + SECONDS):
                yield by_alteration[id(made)], made.made, self._ending(StatesRun.from_answer(answer), plain)

    def _ending(self, run: StatesRun, plain: StatesRun) -> str:
        """How an altered run ended, beside the unaltered one."""
        outcome = run.answer.outcome
        if outcome is not ExperimentOutcome.FAILED:
            return "passes" if outcome is ExperimentOutcome.PASSED else outcome.value
        here, there = self._place(run), self._place(plain)
        if here != there:
            return "earlier" if is_earlier(here, there) else "later"
        same = (run.answer.exception, run.answer.message) == (plain.answer.exception, plain.answer.message)
        return "same" if same else "in another way"

    def _place(self, run: StatesRun) -> FailurePlace:
        """Where a run failed: the rounds of loops of the test, and the lines of calls of the workspace."""
        own = str(self._workspace)
        return list(run.rounds.items()), [frame for frame in run.frames if frame[0].startswith(own)]


def is_earlier(here: FailurePlace, there: FailurePlace) -> bool:
    """Whether a run failed before it got to another place, as far as the order of lines and rounds tells."""
    (rounds, frames), (other_rounds, other_frames) = here, there
    if rounds != other_rounds:
        return rounds < other_rounds
    for one, other in zip(frames, other_frames, strict=False):
        if one != other:
            return one[0] != other[0] or one[1] < other[1]
    return len(frames) > len(other_frames)  # within a call that the statement makes before it fails itself


def judged_tests(subject: Subject, python: Path, workspace: Path) -> Iterator[Judged]:
    """The failing tests of a subject that can be traced."""
    Measured(subject, python, workspace)
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    for test in find_source(workspace).read().tests:
        if test.verdict.failing:
            try:
                yield Judged(command, workspace, FailingTest.from_result(test))
            except EvidenceError as error:
                print(f"{subject.name} {test.name}: {error}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alterations", type=int, default=1_000, help="outside of slices, and as many inside")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="names of subjects (repeatable)")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "suspectra" / "state_based")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    chance = random.Random(chosen.seed)
    python = environment_of(chosen.cache)
    scratch = Path(tempfile.mkdtemp()).resolve()
    try:
        tests = [
            (subject, judged)
            for number, subject in enumerate(subjects(["small"], chosen.only, chosen.cache, None))
            for judged in judged_tests(subject, python, scratch / str(number))
        ]
        found = {
            where: tally(tests, chosen.alterations, chance, inside=where == "inside") for where in ("outside", "inside")
        }
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    nodes = sum(len(judged.trace.graph) for _, judged in tests)
    members = sum(int(judged.members.sum()) for _, judged in tests)
    print(f"{len(tests)} failing tests, {nodes} nodes, {members / max(nodes, 1):.0%} in slices")
    print(json.dumps({"benchmark": "slice_truth", "tests": len(tests), "nodes": nodes, "members": members, **found}))


def tally(
    tests: Sequence[tuple[Subject, Judged]], wanted: int, chance: random.Random, *, inside: bool
) -> dict[str, int]:
    """Alter states chosen from all tests, and count the ways in which the runs end."""
    states = [(number, node) for number, (_, judged) in enumerate(tests) for node in judged.alterable(inside=inside)]
    picked = [chance.choice(states) for _ in range(wanted)] if states else []
    endings: Counter[str] = Counter()
    for number, (subject, judged) in enumerate(tests):
        nodes = [node for one, node in picked if one == number]
        if not nodes:
            continue
        for node, made, end in judged.judge(nodes, chance):
            endings[end] += 1
            if not inside and end in CONTRADICTIONS:
                site = judged.trace.sites[judged.trace.graph.site[node]]
                print(f"{subject.name} {judged.trace.test}: {end}: {site} {made.to_json()} node {node}", flush=True)
    print(f"{'inside' if inside else 'outside'}: {dict(endings)}", flush=True)
    return dict(endings)


if __name__ == "__main__":
    main()
