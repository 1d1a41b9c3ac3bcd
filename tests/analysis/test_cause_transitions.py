"""Cause transitions: delta debugging and bisection, and real runs of pytest, one machine for all cases."""

import io
import json
import random
import subprocess
import sys
import time

import pytest

from suspectra.base.errors import EvidenceError
from suspectra.base.location import Location
from suspectra.evidence.sources import Sources
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.output.paths import write_json, write_text
from suspectra.paths.delta_debugging import ConfigurationVerdict, isolate
from suspectra.paths.report import PathReport
from suspectra.paths.searches.cause_transitions import NOTHING_COMPARABLE, OUT_OF_TIME, CauseTransitions
from suspectra.paths.searches.recorded_paths import Paths
from suspectra.paths.searches.search import PathOptions, PathSearchLimits, PathSetting
from suspectra.paths.transition_search import CausePlace, Transition, cause_steps

SAMPLE = """\
def shell_sort(a, size):
    h = 1
    while h <= size:
        h = h * 3 + 1
    while h != 1:
        h = h // 3
        for i in range(h, size):
            v = a[i]
            j = i
            while j >= h and a[j - h] > v:
                a[j] = a[j - h]
                j = j - h
            if i != j:
                a[j] = v


def sample(argv):
    a = [len(argv) * 1000 - 2000] * (len(argv) + 1)  # what memory happened to hold
    for i in range(len(argv)):
        a[i] = int(argv[i])
    shell_sort(a, len(argv) + 1)
    return a[: len(argv)]
"""
FEE = """\
import threading


class Order:
    def __init__(self, amount, price, member):
        self.amount, self.price, self.member = amount, price, member
        self.lock = threading.Lock()


def fee(order):
    base = order.amount * order.price
    if order.member:
        base = base + 2
        order.checked = None
    if base > 10_000:
        raise ValueError(base)
    total = rounded(base)
    return total


def rounded(base):
    return round(base, 2)


def of_chance(times):
    for _ in range(times):
        pass


def alone(a):
    return a
"""
CLEAN = """\
import os


def clean(path, keep):
    if not keep:
        os.remove(path)
    return keep
"""
TESTS = """\
import random

import pytest
from clean import clean
from fee import Order, alone, fee, of_chance
from sample import sample


@pytest.mark.parametrize("argv", [["9", "8", "7"], ["11", "14"]])
def test_sort(argv):
    assert 0 not in sample(argv)


def test_guest():
    assert fee(Order(10, 50, False)) == 500


def test_member():
    assert fee(Order(10, 50, True)) == 1000


def test_too_much():
    assert fee(Order(500, 50, False)) == 25000


def test_chance():
    of_chance(random.randrange(1000))
    assert False


def test_nothing_near():
    assert alone(1) == 2


def test_nothing():
    assert False


@pytest.mark.parametrize("keep", [True, None])
def test_clean(keep, tmp_path):
    (tmp_path / "a").touch()
    assert clean(tmp_path / "a", keep) is True
"""


@pytest.fixture(scope="module")
def tests(tmp_path_factory):
    workspace = tmp_path_factory.mktemp("fee")
    for name, text in (("sample.py", SAMPLE), ("fee.py", FEE), ("clean.py", CLEAN), ("test_fee.py", TESTS)):
        (workspace / name).write_text(text)
    names = [
        f"test_fee.py::{line[4:-3]}"
        for line in TESTS.splitlines()
        if line.startswith("def test") and line.endswith("():")
    ]
    names += [
        f"test_fee.py::{name}"
        for name in ("test_sort[argv0]", "test_sort[argv1]", "test_clean[True]", "test_clean[None]")
    ]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    failing = [FailingTest(name, "test_fee.py") for name in names]
    running = RepeatedTests(command, workspace, failing, kinds=["statements"])
    yield running
    running.close()


def searcher(tests, failing, *passing, **options):
    test = FailingTest(f"test_fee.py::{failing}", "test_fee.py")
    names = [f"test_fee.py::{name}" for name in passing]
    return CauseTransitions(
        PathSetting(test, tests, Paths(tests.machine(test.name).workspace), names, PathOptions(**options))
    )


def search(tests, failing, *passing, **options):
    return list(searcher(tests, failing, *passing, **options).search(PathSearchLimits(time.monotonic() + 120)))


def in_words(report):
    return [str(step) for step in report.transitions]


def test_zellers_sample(tests):
    report = search(tests, "test_sort[argv1]", "test_sort[argv0]")[-1]
    assert report.complete
    assert report.other == "test_fee.py::test_sort[argv0]"
    assert in_words(report) == [
        "`len(argv)` is 2, not 3, before sample.py:18",
        "`a[2]` is 0, not 1000, since sample.py:18",
        "`a[0]` is 0, not 7, since sample.py:14",
        "the test fails after sample.py:22",
    ]
    assert [one.location.line for one in report.report][:3] == [18, 14, 22]


def test_two_tests_of_one_function(tests, capsys):
    reports = search(tests, "test_member", "test_guest")
    assert in_words(reports[-1]) == [
        "`member` is True, not False, before fee.py:6",
        "`self.member` is True, not False, since fee.py:6",
        "`order.member` is True, not False, since fee.py:7",
        "`base` is 502, not 500, since fee.py:13",
        "`base` is 502, not 500, since fee.py:17",
        "`total` is 502, not 500, since fee.py:22",
        "the test fails after fee.py:18",
    ]
    assert reports[-1].summary == (
        "test_fee.py::test_guest passes, and its states can be compared with those of test_fee.py::test_member "
        "before 8 of 10 executed statements."
    )
    assert reports[-1].notes == ("order.lock (lock) can't be copied: the passing run kept its own.",)
    assert [len(one.transitions) for one in reports] == sorted(len(one.transitions) for one in reports)
    write_json(reports[-1], sys.stdout)
    assert json.loads(capsys.readouterr().out)["transitions"][3] == {
        "file": "fee.py",
        "line": 13,
        "instance": 1,
        "place": "base",
        "function": "fee",
        "failing": "502",
        "passing": "500",
    }


def test_an_exception_of_the_program_is_the_same_wherever_its_value_comes_from(tests):
    report = search(tests, "test_too_much", "test_guest")[-1]
    assert in_words(report) == [
        "`amount` is 500, not 10, before fee.py:6",
        "`self.amount` is 500, not 10, since fee.py:6",
        "`order.amount` is 500, not 10, since fee.py:7",
        "`base` is 25000, not 500, since fee.py:11",
        "the test fails after fee.py:16",
    ]


def test_what_can_not_be_searched_is_said(tests):
    assert search(tests, "test_nothing_near", "test_guest")[-1].notes == (NOTHING_COMPARABLE,)
    (why,) = search(tests, "test_member", "test_member")[-1].notes or [""]
    assert why == NOTHING_COMPARABLE  # it does not pass
    for name, cause in (("test_guest", "passes when"), ("test_nothing", "executes no"), ("test_chance", "two runs of")):
        with pytest.raises(EvidenceError, match=cause):
            search(tests, name, "test_guest")


def test_modules_that_may_do_harm_are_altered_and_contained(tests):
    report = search(tests, "test_clean[None]", "test_clean[True]")[-1]
    # before line 5, the file that the failing test has removed would be removed again
    assert in_words(report)[0] == "`keep` is None, not True, before clean.py:7"


def test_another_failure_is_no_cause(tests):
    report = search(tests, "test_member", "test_sort[argv0]", "test_guest")[-1]
    assert report.other == "test_fee.py::test_guest"
    assert search(tests, "test_sort[argv1]", "test_guest")[-1].transitions == ()


def test_a_limit_keeps_what_is_known(tests):
    found = searcher(tests, "test_member", "test_guest")
    (nothing,) = found.search(PathSearchLimits(0.0))
    assert not nothing.complete
    limits = PathSearchLimits(time.monotonic() + 120)
    reports = []
    for report in found.search(limits):
        reports.append(report)
        if report.transitions:
            object.__setattr__(limits, "end", 0.0)
            break
    assert reports[-1].found
    assert OUT_OF_TIME not in reports[-1].notes


def test_delta_debugging_finds_causes_from_which_nothing_can_be_left_out():
    for seed in range(100):
        chance = random.Random(seed)
        number = chance.randrange(1, 30)
        needed = frozenset(chance.sample(range(number), chance.randrange(1, min(number, 4) + 1)))
        broken = frozenset(chance.sample(range(number), 2)) if number > 2 else frozenset({0})

        def test(some, needed=needed, broken=broken):
            if len(some & broken) == 1 and not needed <= some:
                return ConfigurationVerdict.UNRESOLVED
            return ConfigurationVerdict.FAILS if needed <= some else ConfigurationVerdict.PASSES

        found = isolate(number, test)
        assert found.minimal
        assert test(found.passing) is ConfigurationVerdict.PASSES
        assert test(found.failing) is ConfigurationVerdict.FAILS
        for one in found.cause if len(found.cause) > 1 else ():
            assert test(found.failing - {one}) is ConfigurationVerdict.UNRESOLVED
            assert test(found.passing | {one}) is ConfigurationVerdict.UNRESOLVED


def test_bisection_finds_every_point_where_long_causes_change():
    causes = ["a"] * 40 + ["b"] * 3 + ["c"] * 30
    asked = []
    *_, found = cause_steps(len(causes), lambda point: asked.append(point) or causes[point])
    assert found.steps == ((39, 40), (42, 43))
    assert len(asked) == len(set(asked)) < 20
    *_, found = cause_steps(len(causes) + 80, lambda point: ["a", *[None] * 79, *causes][point])
    assert found == (0, 152, ((119, 120), (122, 123)))
    assert not list(cause_steps(5, lambda point: None))
    assert not list(cause_steps(0, lambda point: "never"))


def test_states_that_the_user_knows_to_be_right_or_wrong_narrow_the_chain(tests):
    asked = []

    def ask(question):
        asked.append(question)
        return "`base`" not in question and "`total`" not in question

    report = search(tests, "test_member", "test_guest", ask=ask)[-1]
    assert asked == [
        "`base` is 502 in fee, after fee.py:13: right?",
        "`self.member` is True in __init__, after fee.py:6: right?",
        "`order.member` is True in fee, after fee.py:7: right?",
    ]
    assert [one.location.line for one in report.report] == [13, 14, 12]
    assert report.notes[-1] == (
        "By your answers the state is right after fee.py:7, and wrong after fee.py:13:"
        " the fault is probably executed in between."
    )
    unknown = search(tests, "test_member", "test_guest", ask=lambda question: None)[-1]
    assert unknown.report == search(tests, "test_member", "test_guest")[-1].report


@pytest.mark.slow
def test_passing_tests_without_a_chain_are_named_together(tmp_path):
    (tmp_path / "fees.py").write_text("def fee(age):\n    price = 20\n    return price + age\n")
    source = "from fees import fee\n\n\ndef test_fails():\n    assert fee(3) == 20\n"
    source += "".join(f"\n\ndef test_{n}():\n    assert fee({n}) in (23, {20 + n})\n" for n in range(10, 15))
    (tmp_path / "test_fees.py").write_text(source)
    suspectra = [sys.executable, "-m", "suspectra"]
    subprocess.run(
        [*suspectra, "record", "--", sys.executable, "-m", "pytest", "-q"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    done = subprocess.run(
        [*suspectra, "paths", "*test_fails", "--technique", "cause-transitions", "--seconds", "120"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.count("do not fail in the same way with the state of test_fees.py::test_fails") == 1, done.stdout


@pytest.mark.slow
def test_a_condition_of_several_lines_is_shown_whole(tmp_path):
    (tmp_path / "fee.py").write_text("if (\n    member  # or guest\n    and base > 10\n):\n    base = 0\n")
    step = Transition(Location("fee.py", 1, 4), 1, (CausePlace("base", "fee", "502", "500"),), True, ())
    report = PathReport("cause-transitions", "test_a", (), "test_b", (), 1, True, 0.2, "It passes.", None, (), (step,))
    out = io.StringIO()
    write_text(report, out, Sources(tmp_path))
    assert "  before fee.py:1  if ( member and base > 10 ):\n" in out.getvalue()
