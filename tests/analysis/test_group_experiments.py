"""Experiments refine failure groups: what parts tests, what joins groups, and what the groups then say of it."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.failure_groups.decisions import GroupDecisions
from suspectra.failure_groups.experiment_links import ExperimentLinks
from suspectra.failure_groups.groups import FailureGroups
from suspectra.failure_groups.ranking import rank_groups
from suspectra.failure_groups.since import Since
from suspectra.program import Program
from suspectra.runs.experiment import EVERY, Experiment, ExperimentOutcome
from suspectra.spectrum import Spectrum
from suspectra.techniques import make_technique

PASSED, FAILED = ExperimentOutcome.PASSED, ExperimentOutcome.FAILED
# four failing tests and three passing ones
TOGETHER = Spectrum.from_matrix(
    [[1, 1], [1, 1], [1, 1], [1, 1], [0, 1], [0, 1], [0, 1]], failed=4 * [True] + 3 * [False]
)
APART = Spectrum.from_matrix([[1, 0], [1, 0], [0, 1], [0, 1], [0, 0], [0, 0], [0, 0]], failed=4 * [True] + 3 * [False])


def made(line, *, passes=(), fails=(), **other):
    """A mutant with some tests, by number from 1."""
    one = Experiment("", "mutant", "src/cart.py", line, line, 4, "comparison", EVERY, "mutated", detail="`<` → `<=`")
    one = replace(one, **other)
    return [
        *(replace(one, test=f"t{number}", outcome=PASSED) for number in passes),
        *(replace(one, test=f"t{number}", outcome=FAILED) for number in fails),
    ]


def groups(spectrum, experiments, **other):
    found = FailureGroups.from_spectrum(spectrum, made=experiments, **other)
    return sorted(group.tests for group in found.groups)


BOTH_WAYS = [*made(3, passes=[1, 2, 5], fails=[3, 4]), *made(7, passes=[3, 4, 5], fails=[1, 2])]


def test_tests_of_which_each_passes_with_what_leaves_the_other_failing_are_parted():
    assert groups(TOGETHER, []) == [("t1", "t2", "t3", "t4")]
    assert groups(TOGETHER, BOTH_WAYS) == [("t1", "t2"), ("t3", "t4")]


def test_tests_that_pass_with_one_alteration_are_not_parted_even_if_it_breaks_others():
    every = made(9, passes=[1, 2, 3, 4], fails=[6])
    assert groups(TOGETHER, [*BOTH_WAYS, *every]) == [("t1", "t2", "t3", "t4")]
    links = ExperimentLinks.from_experiments([*BOTH_WAYS, *made(9, passes=[1, 3])], ("t1", "t2", "t3", "t4"))
    assert links.apart()[0].tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    "experiments",
    [
        made(3, passes=[1, 2], fails=[3, 4]),  # one way only
        [*made(3, passes=[1, 2], fails=[3, 4, 5]), *made(7, passes=[3, 4], fails=[1, 2])],  # it breaks a passing test
        [*made(3, passes=[1, 2], fails=[3, 4], guard=True), *made(7, passes=[3, 4], fails=[1, 2])],  # no check is left
        [*made(3, passes=[1, 2, 5]), *made(7, passes=[3, 4, 5])],  # the others were not tried
        # the same line is changed
        [*made(3, passes=[1, 2, 5], fails=[3, 4]), *made(3, passes=[3, 4, 5], fails=[1, 2], column=9)],
        [*made(3, passes=[1, 2], fails=[3, 4]), *made(7, passes=[3, 4], fails=[1, 2])],  # nor were tests that passed
        # each test needs another value, whatever is wrong
        [
            *made(3, passes=[1, 2, 5], fails=[3, 4], kind="value"),
            *made(7, passes=[3, 4, 5], fails=[1, 2], kind="value"),
        ],
        [
            *made(3, passes=[1], fails=[3], kind="switch", instance=2),
            *made(7, passes=[3], fails=[1], kind="switch", instance=1),
        ],
    ],
)
def test_what_may_be_chance_parts_nothing(experiments):
    assert groups(TOGETHER, experiments) == [("t1", "t2", "t3", "t4")]


def test_a_test_that_does_not_execute_a_change_still_fails_with_it():
    """Nobody runs it, so that no experiment tells."""
    spectrum = Spectrum.from_matrix(
        [[1, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 1], [0, 0, 1]], failed=[True, True, False, False, False]
    )
    one, other, both = map(spectrum.elements.location, range(3))
    assert groups(spectrum, []) == [("t1", "t2")]

    def repair(place, **ends):
        return made(place.line, file=place.file, end_line=place.end_line, **ends)

    alone = [*repair(one, passes=[1, 3]), *repair(other, passes=[2, 3])]
    assert groups(spectrum, alone) == [("t1",), ("t2",)]
    assert groups(spectrum, [*alone, *repair(both, passes=[1, 2], fails=[4])]) == [("t1", "t2")]
    # nobody knows whether the second test passes with a change that it executes, too
    assert groups(spectrum, [*repair(both, passes=[1, 3]), *repair(other, passes=[2, 3])]) == [("t1", "t2")]
    # what a test executes without its coverage, others may execute as well
    assert groups(spectrum, [*repair(other, passes=[1, 3]), *repair(other, passes=[2, 3], column=9)]) == [("t1", "t2")]


def test_groups_all_of_whose_tests_pass_with_one_change_that_breaks_nothing_are_one():
    assert groups(APART, []) == [("t1", "t2"), ("t3", "t4")]
    assert groups(APART, made(3, passes=[1, 2, 3, 4, 5])) == [("t1", "t2", "t3", "t4")]
    for more in (
        made(3, passes=[1, 2, 3, 4]),  # no passing test was run with it
        made(3, passes=[1, 2, 3, 5], fails=[4]),
        made(3, passes=[1, 2, 3, 4, 5], fails=[6]),
        made(3, passes=[1, 2, 3, 4, 5], kind="value"),
    ):
        assert groups(APART, more) == [("t1", "t2"), ("t3", "t4")]


def test_the_user_and_changes_know_better():
    split = GroupDecisions().split(["t1", "t2"], ["t3", "t4"])
    joining = made(3, passes=[1, 2, 3, 4, 5])
    assert groups(APART, joining, decisions=split) == [("t1", "t2"), ("t3", "t4")]
    merged = GroupDecisions().merge(["t1", "t2", "t3", "t4"])
    assert groups(TOGETHER, BOTH_WAYS, decisions=merged) == [("t1", "t2", "t3", "t4")]
    since = dict.fromkeys(("t1", "t2"), Since.CHANGE) | dict.fromkeys(("t3", "t4"), Since.BEFORE)
    assert groups(APART, joining, since=since) == [("t1", "t2"), ("t3", "t4")]


def reasons(spectrum, experiments):
    technique = make_technique("ochiai")
    ranked = rank_groups(technique.localize(spectrum), technique, Program((), experiments=tuple(experiments)))
    return {one.group.tests: one.reason for one in ranked.groups}


def test_a_group_says_which_experiment_shows_it():
    joined = reasons(APART, made(3, passes=[1, 2, 3, 4, 5]))
    assert joined["t1", "t2", "t3", "t4"].endswith("All 4 pass with `<` → `<=` in cart.py:3.")
    parted = reasons(TOGETHER, BOTH_WAYS)
    assert parted["t1", "t2"].endswith("Both pass with `<` → `<=` in cart.py:3, and t3, of another group, does not.")
    first_alone = [*made(3, passes=[1, 5], fails=[2, 3, 4]), *made(7, passes=[3, 4, 5], fails=[1, 2])]
    links = ExperimentLinks.from_experiments(first_alone, ("t1", "t2", "t3", "t4"))
    assert links.why(["t1", "t2"]) == "t1 passes with `<` → `<=` in cart.py:3, and t3, of another group, does not."
    assert "of another group" not in reasons(TOGETHER, [])["t1", "t2", "t3", "t4"]


def test_groups_are_ranked_again_where_only_experiments_have_come():
    """What tests execute is the same, so that only the program tells that more is known."""
    technique = make_technique("investigation")
    apart = Spectrum.from_matrix(
        [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]], failed=4 * [True] + [False]
    )
    place = apart.elements.location(1)
    repair = made(place.line, passes=[1, 2], file=place.file, end_line=place.line)
    program, known = Program(()), Program((), experiments=tuple(repair))
    first = rank_groups(technique.localize(apart, program), technique, program)
    assert [group.report.first_suspect for group in first.groups] == [0, 2]
    second = rank_groups(technique.localize(apart, known), technique, known, previous=first)
    assert [group.report.first_suspect for group in second.groups] == [1, 2]
    third = rank_groups(second.groups[0].report, technique, Program((), experiments=tuple(repair)), previous=second)
    assert third.groups[0].report is second.groups[0].report


def test_groups_follow_experiments_that_came_later():
    before = FailureGroups.from_spectrum(TOGETHER)
    after = FailureGroups.from_spectrum(TOGETHER, before, made=BOTH_WAYS)
    assert [group.tests for group in after.groups] == [("t1", "t2"), ("t3", "t4")]
    assert after.groups[0].number == before.groups[0].number == 1
    again = FailureGroups.from_spectrum(TOGETHER, after, made=list(BOTH_WAYS))
    assert again.partition.parts is after.partition.parts


@given(
    st.lists(
        st.tuples(st.integers(1, 6), st.integers(1, 7), st.sampled_from([PASSED, FAILED]), st.booleans()), max_size=30
    )
)
def test_links_are_what_the_definition_says(given_experiments):
    experiments = [
        one
        for line, test, outcome, guard in given_experiments
        for one in made(line, **{"passes" if outcome is PASSED else "fails": [test]}, guard=guard and line > 4)
    ]
    experiments = list({one.key: one for one in experiments}.values())  # of a key, one counts
    tests = ("t1", "t2", "t3", "t4")
    links = ExperimentLinks.from_experiments(experiments, tests)
    passing = {
        line: {one.test for one in experiments if one.line == line and one.outcome is PASSED} for line in range(1, 7)
    }
    failing = {
        line: {one.test for one in experiments if one.line == line and one.outcome is FAILED} for line in range(1, 7)
    }
    guards = {one.line for one in experiments if one.guard}
    mixed = {line for line in guards if any(one.line == line and not one.guard for one in experiments)}
    if mixed:
        return  # whether a check is left out is the same for all tests
    run = {line for line in range(1, 7) if passing[line] - set(tests)}
    confirmed = {line for line in run if line not in guards and failing[line] <= set(tests)}

    def parts(one, other):
        return any(one in passing[line] and other in failing[line] for line in confirmed)

    def both(one, other):
        return any({one, other} <= passing[line] for line in range(1, 7) if line not in guards)

    wanted = [[parts(a, b) and parts(b, a) and not both(a, b) for b in tests] for a in tests]
    np.testing.assert_array_equal(links.apart(), wanted)
    assert set(links.joining()) == {
        frozenset(tests.index(test) for test in passing[line] & set(tests))
        for line in confirmed
        if len(passing[line] & set(tests)) > 1
    }


FARES = """\
def fare(age, km):
    price = 3 if km < 5 else 8  # should be <=
    share = 50 if age < 12 else 100  # should be <=
    return price * share
"""
TESTS_OF_FARES = """\
import pytest
from fares import fare


@pytest.mark.parametrize(("age", "km", "price"), [(30, 5, 300), (12, 2, 150), (5, 9, 400), (30, 2, 300)])
def test_fare(age, km, price):
    assert fare(age, km) == price
"""
ROUNDED = """\
def up(cents, step):
    rest = cents % step
    if rest >= 0:  # should be >
        cents += step - rest
    return cents


def postage(grams):
    price = 80
    if grams > 20:
        price = 150
    return up(price, 50)


def deposit(bottles):
    each = 25
    if bottles == 4:
        each = 20
    return up(bottles * each, 10)
"""
TESTS_OF_ROUNDED = """\
import pytest
from rounded import deposit, postage, up


def test_postage():
    assert (postage(10), postage(30)) == (100, 150)


def test_deposit():
    assert (deposit(1), deposit(4)) == (30, 80)


def test_letter():
    assert postage(10) == 100


def test_bottle():
    assert deposit(1) == 30


@pytest.mark.parametrize("cents", range(1, 10))
def test_up(cents):
    assert up(cents, 10) == 10
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "program", "tests", "before", "after"),
    [("fares", FARES, TESTS_OF_FARES, [2], [1, 1]), ("rounded", ROUNDED, TESTS_OF_ROUNDED, [1, 1], [2])],
    ids=["two faults in one function", "one fault in a function of two others"],
)
def test_mutants_correct_the_groups_that_rank_prints(tmp_path, name, program, tests, before, after):
    (tmp_path / f"{name}.py").write_text(program)
    (tmp_path / f"test_{name}.py").write_text(tests)

    def suspectra(*arguments):
        command = [sys.executable, "-m", "suspectra", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    def sizes():
        groups = json.loads(suspectra("rank", "--format", "json").stdout)["groups"]
        return [len(group["tests"]) for group in groups]

    suspectra("record", "--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert sizes() == before
    said = suspectra("investigate", "--technique", "muse", "--seconds", "300")
    assert "all that it alters was tried" in said.stderr + said.stdout
    assert sizes() == after
