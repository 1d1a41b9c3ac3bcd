"""Whether mutants that make failing tests pass put these into the right failure groups.

The programs are the classic ones (`classic_subjects.py`): with one fault, where two tests or more fail, these should be
one group; with two faults, at most three pairs of each program, no group should have tests of both. Up to three tests
fail because of each fault, and none because of both. The tests are recorded, and each mutant of the faulty program is
run with all of them. Tests are grouped without what the mutants did, and with it.

    python benchmarks/group_experiments.py --cache DIR
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import FrameType
from typing import Any

from classic_subjects import (
    CLASSICS,
    FAILING,
    MAX_DRAWN,
    PASSING,
    PROGRAMS,
    SEED,
    Arguments,
    Classic,
    function_of,
    write_program,
)

from suspectra.evidence.discovery import find_source
from suspectra.failure_groups.ranking import rank_groups
from suspectra.localizer import Localizer
from suspectra.mutation.mutant import Mutant, mutants
from suspectra.mutation.parsed_source import ParsedSource
from suspectra.runs.experiment import EVERY, Experiment, ExperimentOutcome
from suspectra.techniques import make_technique

PAIRS = 3  # of each program
STEPS = 5_000  # lines of a call; what takes more is taken for a loop without end
Cases = Mapping[str, Sequence[Arguments]]
"""Arguments by the fault, a or b, because of which the call with them fails; p for none."""


class Endless(BaseException):
    """A call takes too many steps."""


def programs() -> Iterator[tuple[str, str, Classic, str, str, Cases]]:
    """The faulty programs: kind, name, what they are made from, the correct source, the faulty one, and the cases."""
    for name, classic in CLASSICS.items():
        correct = (PROGRAMS / f"{name}.py").read_text("utf-8")
        single = [correct.replace(*fault) for fault in classic.faults]
        for number, faulty in enumerate(single):
            cases = drawn(classic, [correct, faulty, correct, faulty])
            if len(cases["a"]) > 1:
                yield "one", f"{name}-{number}", classic, correct, faulty, cases
        made = 0
        for one, other in combinations(range(len(single)), 2):
            both = single[one].replace(*classic.faults[other])
            cases = drawn(classic, [correct, single[one], single[other], both])
            if made < PAIRS and all(cases.values()) and both not in single:
                made += 1
                yield "two", f"{name}-{one}-{other}", classic, correct, both, cases


def drawn(classic: Classic, sources: Sequence[str]) -> Cases:
    """Arguments with which the correct program, those with one fault and that with both differ in these ways."""
    right, one, other, both = (limited(function_of(source, classic.entry)) for source in sources)
    cases: dict[str, list[Arguments]] = {"a": [], "b": [], "p": []}
    draw, known = random.Random(SEED), set[str]()
    for _ in range(MAX_DRAWN):
        arguments = classic.draw(draw)
        if repr(arguments) not in known:
            known.add(repr(arguments))
            wanted = right(arguments)
            fails = one(arguments) != wanted, other(arguments) != wanted, both(arguments) != wanted
            fault = {(True, False, True): "a", (False, True, True): "b", (False, False, False): "p"}.get(fails)
            if fault and len(cases[fault]) < (PASSING if fault == "p" else FAILING):
                cases[fault].append(arguments)
    return cases


def limited(call: Callable[[Arguments], object]) -> Callable[[Arguments], object]:
    """The same call, which returns `Endless` if it takes too many steps, and the type of any exception."""

    def run(arguments: Arguments) -> object:
        left = STEPS

        def trace(frame: FrameType, event: str, value: object) -> Callable[..., Any]:
            nonlocal left
            left -= 1
            if left < 0:
                raise Endless
            return trace

        sys.settrace(trace)
        try:
            return call(arguments)
        except Endless:
            return Endless
        except Exception as error:
            return type(error)
        finally:
            sys.settrace(None)

    return run


def recorded(folder: Path, name: str, classic: Classic, correct: str, faulty: str, cases: Cases) -> Path:
    """The folder of a program whose tests are recorded."""
    if not (folder / ".suspectra").exists():
        folder.mkdir(parents=True, exist_ok=True)
        named = (f"pytest.param(*{arguments!r}, id='{case}')" for case, arguments in by_name(cases))
        write_program(folder, name, classic, correct, faulty, f"[{', '.join(named)}]")
        command = [sys.executable, "-m", "suspectra", "record", "--", sys.executable, "-m", "pytest", "-q"]
        subprocess.run([*command, "-p", "no:cacheprovider"], cwd=folder, capture_output=True, check=False, timeout=1200)
    return folder


def by_name(cases: Cases) -> Iterator[tuple[str, Arguments]]:
    return ((f"{fault}{number}", one) for fault, own in cases.items() for number, one in enumerate(own))


def experiments(name: str, classic: Classic, correct: str, faulty: str, cases: Cases) -> list[Experiment]:
    """What each mutant does to each test."""
    right = limited(function_of(correct, classic.entry))
    wanted = {case: right(arguments) for case, arguments in by_name(cases)}
    made = []
    for mutant in mutants(ParsedSource(faulty.encode())):
        try:
            call = limited(function_of(mutant.edit.apply(faulty), classic.entry))
        except (Exception, Endless):
            continue
        for case, arguments in by_name(cases):
            passes = call(arguments) == wanted[case]
            outcome = ExperimentOutcome.PASSED if passes else ExperimentOutcome.FAILED
            made.append(experiment(f"test_{name}.py::test_{name}[{case}]", f"{name}.py", mutant, outcome))
    return made


def experiment(test: str, file: str, mutant: Mutant, outcome: ExperimentOutcome) -> Experiment:
    edit = mutant.edit
    return Experiment(
        test,
        "mutant",
        file,
        edit.line,
        edit.end_line,
        edit.column,
        mutant.operator,
        EVERY,
        "mutated",
        outcome,
        guard=mutant.guard,
        detail=mutant.description,
        end_column=edit.end_column,
        replacement=edit.text,
    )


def grouped(folder: Path, made: Sequence[Experiment]) -> list[list[tuple[str, ...]]]:
    """The tests of each group without experiments, and with them."""
    technique, evidence = make_technique("evidence"), find_source(folder, edges=True).read()
    report = Localizer(technique).update(evidence)
    found = []
    for experiments in ((), tuple(made)):
        ranked = rank_groups(report, technique, replace(evidence.program, experiments=experiments))
        found.append([one.group.tests for one in ranked.groups])
    return found


def fault_of(test: str) -> str:
    return test.partition("[")[2][:1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="a folder for the programs")
    folder = parser.parse_args().cache
    counts: dict[str, Counter[str]] = {"one": Counter(), "two": Counter()}
    for kind, title, classic, correct, faulty, cases in programs():
        name = title.partition("-")[0]
        made = experiments(name, classic, correct, faulty, cases)
        groups = grouped(recorded(folder / title, name, classic, correct, faulty, cases), made)
        shown: list[Any] = []
        for how, found in zip(("without", "with"), groups, strict=True):
            pure = all(len(set(map(fault_of, tests))) == 1 for tests in found)
            right = len(found) == (1 if kind == "one" else 2) and pure
            counts[kind].update({f"pure {how}": pure, f"right {how}": right})
            shown.append(f"{len(found)} {'right' if right else 'pure' if pure else 'mixed'}")
        counts[kind]["programs"] += 1
        print(f"{kind:4} {title:16} {len(made):6} runs   {' → '.join(shown)}", flush=True)
    print("\n| | programs | right without mutants | with them | no group with two faults | with them |")
    print("|---|---:|---:|---:|---:|---:|")
    for kind, counted in counts.items():
        columns = ("programs", "right without", "right with", "pure without", "pure with")
        print(f"| {kind} | {' | '.join(str(counted[column]) for column in columns)} |")


if __name__ == "__main__":
    main()
