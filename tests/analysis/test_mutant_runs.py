"""Which mutants are tried with which tests."""

from dataclasses import replace

import pytest

from suspectra.experiments.alterations.mutants import Mutants, changes, repairs
from suspectra.runs.experiment import ExperimentOutcome
from suspectra.spectrum import Spectrum

SOURCE = b"def price(amount):\n    if amount > 10:\n        amount -= 1\n    return amount\n"
RIGHT = "`>` → `>=`"


class Runs:
    """A test whose outcome with a mutant is known; it says how often it was run."""

    def __init__(self, name, outcome, *, fails=False):
        self.test, self.outcome, self.fails = name, outcome, fails
        self.complete, self.tried = False, []

    def experiments(self, alterations, end, known=()):
        for alteration in alterations:
            experiment = alteration.experiment(self.test)
            if experiment.key not in known:
                self.tried.append(experiment.detail)
                yield replace(experiment, **self.outcome(experiment))
        self.complete = True


def fails_otherwise(experiment):
    return {"outcome": ExperimentOutcome.FAILED, "changed": experiment.place == "constant"}


def repaired(experiment):
    return {"outcome": ExperimentOutcome.PASSED} if experiment.detail == RIGHT else fails_otherwise(experiment)


class AllTests(dict):
    """All tests; the machines of some have started."""

    started = frozenset({"t1", "t60"})

    def runs(self, name):
        return name in self.started

    def before(self, end, name):
        return self[name]


@pytest.fixture
def tests():
    failing = {"t1": Runs("t1", repaired, fails=True)}
    return AllTests(failing | {f"t{number}": Runs(f"t{number}", fails_otherwise) for number in range(2, 70)})


def mutants(tests, verify, **more):
    """One failing test, and passing ones, of which the last executes other lines."""
    rows = [[1, 1, 1, 1]] * (len(tests) - 1) + [[1, 0, 0, 1]]
    spectrum = Spectrum.from_matrix(rows, failed=[True] + [False] * (len(tests) - 1))
    return Mutants(spectrum, {"program": SOURCE}.get, tests, verify, **more)


def tried(tests, verify, known=None, **more):
    made = mutants(tests, verify, **more)
    return list(made.experiments(tests["t1"], made.mutations("t1"), 1e9, known or {}))


def test_passing_tests_run_only_with_mutants_that_repair_until_enough_break(tests):
    made = tried(tests, repairs)
    passing = [one for one in made if one.test != "t1"]
    assert {one.detail for one in passing} == {RIGHT}
    assert [one.test for one in passing] == ["t60", "t2", "t3", "t4", "t5"], "5 break"
    assert len(tests["t1"].tried) == len(set(tests["t1"].tried)) > 10

    passing = [one for one in tried(tests, repairs, enough_broken=100) if one.test != "t1"]
    assert len(passing) == 50
    assert "t69" not in {one.test for one in passing}, "it does not execute the statement"


def test_metallaxis_needs_what_changes_a_failure_too(tests):
    passing = [one for one in tried(tests, changes, enough_broken=1) if one.test != "t1"]
    assert {one.detail for one in passing} == {RIGHT, "`10` → `9`", "`10` → `11`", "`10` → `0`", "`1` → `2`"}


def test_what_is_known_is_not_run_again_and_what_is_missing_is(tests):
    known = {one.key: one for one in tried(tests, repairs) if one.test in ("t1", "t60", "t2")}
    made = tried(tests, repairs, known)
    assert [one.test for one in made] == ["t3", "t4", "t5"]


def test_what_can_not_be_mutated_is_said(tests):
    made = mutants(tests, repairs)
    made.read = {"program": b"def f(:"}.get
    assert made.mutations("t1") == []
    assert "can't be mutated" in made.problems[0].cause
    made.read = {}.get
    assert made.mutations("t1") == []


def test_statements_that_are_not_wanted_are_left_out(tests):
    made = mutants(tests, repairs).mutations("t1", lambda file, line: line == 3)
    assert {one.mutant.edit.line for one in made} == {3}
