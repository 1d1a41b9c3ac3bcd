"""The search among many changes: what a test notices, what belongs together, and how few runs it takes."""

import math

import pytest

from suspectra.changes.baselines import Baseline
from suspectra.changes.blocks import blocks, functions_of_c
from suspectra.changes.mixed_tests import ExecutedChanges, MixedFailure, MixedRun
from suspectra.changes.narrowing import ChangeNarrowing
from suspectra.changes.noticed import ChangePlaces
from suspectra.changes.units import FileDifference

FUNCTIONS = 40
TEST = "test_all"
FAILURE = MixedFailure("AssertionError", "test_all")


def text(value):
    parts = (f"def f{number}():\n    a = {value}\n    b = {value}\n    return a + b\n" for number in range(FUNCTIONS))
    return "\n\n".join(parts).encode()


def baseline(before, after, path="a.py"):
    return Baseline("before", (FileDifference.between(path, before, after),))


class OneFault:
    """Tests that fail with one change, and can't run if only a part of a function is new."""

    def __init__(self, faulty, executed):
        self.runs, self._faulty, self._executed = 0, faulty, executed

    def run(self, baseline, made, tests, *, fresh=True):
        self.runs += 1
        halves = {unit.line // 6 for unit in baseline.units if unit in made} & {
            unit.line // 6 for unit in baseline.units if unit not in made
        }
        if halves - {self._faulty.line // 6}:
            return MixedRun(frozenset(), {}, {}, "it can't run")
        if self._faulty in made:
            return MixedRun(frozenset(), dict.fromkeys(tests, FAILURE), {})
        return MixedRun(frozenset(tests), {}, {})

    def executed(self, baseline, made, tests):
        return self._executed


@pytest.mark.parametrize("function", [0, 17, FUNCTIONS - 1])
@pytest.mark.parametrize("seen", [True, False])
def test_one_of_eighty_changes_is_found_in_few_runs(function, seen):
    since = baseline(text(1), text(2))
    faulty = next(unit for unit in since.units if unit.line == 6 * function + 3)
    lines = [("a.py", line) for line in range(1, 6 * FUNCTIONS)]
    lines += [("a.py", line) for line in range(faulty.line - 1, faulty.line + 2)]  # it is executed last
    order = list(dict.fromkeys(reversed(lines)))[::-1]
    program = OneFault(faulty, ExecutedChanges({TEST: order}, frozenset(), frozenset()) if seen else None)
    search = ChangeNarrowing(since, program, {TEST: FAILURE})
    assert search.look([TEST]) == TEST
    low, cause, minimal = search.isolate(TEST, frozenset(range(len(since.units))))
    assert search.units(cause) == (faulty,)
    assert minimal
    assert not low & cause
    assert program.runs <= (4 if seen else 6 * math.log2(2 * FUNCTIONS))


def test_what_is_not_executed_is_not_noticed():
    since = baseline(text(1), text(2) + b"\n\ndef new():\n    return 1\n")
    places = ChangePlaces.from_differences(since.differences, since.units)
    definitions = frozenset(("a.py", line) for line in range(1, 6 * FUNCTIONS + 9, 6))
    executed = ExecutedChanges({TEST: [("a.py", 7), ("a.py", 8), ("a.py", 9), ("a.py", 10)]}, definitions, frozenset())
    assert [since.units[number].line for number in places.noticed(executed, TEST)] == [8, 9]


def test_a_table_is_noticed_if_it_is_opened():
    since = baseline(b"a,1\nb,2\n", b"a,1\nb,3\n", "rates.csv")
    places = ChangePlaces.from_differences(since.differences, since.units)
    for opened in ([], ["rates.csv"]):
        assert len(places.noticed(ExecutedChanges({}, frozenset(), frozenset(opened)), TEST)) == len(opened)


BEFORE = b"""\
@first
def f(a):
    if a:
        return 1
    return 2


class C:
    x = 1

    def m(self):
        return 3
"""


def test_changes_of_one_definition_are_a_block():
    after = BEFORE.replace(b"f(a)", b"f(a, b)").replace(b"return 2", b"return b").replace(b"x = 1", b"x = 2")
    since = baseline(BEFORE, after.replace(b"return 3", b"return 4"))
    found = blocks(since.differences, since.units)
    assert sorted(sorted(since.units[number].line for number in block) for block in found) == [[2, 5], [9], [12]]


def test_functions_of_c_are_found_by_their_braces():
    code = b"#include <a.h>\nstatic int\nf(int a)\n{\n  if (a) {\n    return 1;\n  }\n}\n\nint g() {\n}\nint x = 3;\n"
    assert list(functions_of_c(code)) == [range(2, 9), range(10, 12)]
