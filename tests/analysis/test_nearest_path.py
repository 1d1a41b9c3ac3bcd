"""The passing test whose path is nearest: real runs of pytest, one machine for all cases."""

import json
import subprocess
import sys
import textwrap
import time

import pytest

from suspectra.base.errors import EvidenceError
from suspectra.evidence.sources import Sources
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.output.paths import write_json, write_text
from suspectra.paths.searches.nearest_path import NearestPath
from suspectra.paths.searches.recorded_paths import Paths
from suspectra.paths.searches.search import Nearness, PathOptions, PathSearchLimits, PathSetting
from suspectra.paths.searches.techniques import TECHNIQUES

CART = """\
import itertools

_count = itertools.count()


def total(prices, member=False):
    result = 0
    for price in prices:
        if price > 100:
            price -= 10
        result += price
    if member:
        result = discount(result)
    return result


def discount(amount):
    if amount >= 100:
        return amount - 10
    return amount


def chance():
    return 1 if next(_count) % 2 else 2


def check(price):
    if price < 0:
        raise ValueError(price)
    return price
"""
TESTS = """\
import pytest
from cart import chance, check, total


def test_member():
    assert total([60, 40], member=True) == 100


def test_a_guest():
    assert total([60, 40]) == 100


def test_a_small_cart():
    assert total([6, 4], member=True) == 10


def test_a_large_price():
    assert total([110, 4], member=True) == 94


def test_the_same_way():
    assert total([70, 40], member=True) == 100


def test_negative():
    assert check(-1) == -1


def test_positive():
    assert check(1) == 1


def test_of_two_calls():
    assert check(1) == 2
    assert check(2) == 2


def test_more_calls():
    assert [check(price) for price in (1, 2, 3, 4)] == [1, 2, 3, 4]


def test_large_prices():
    assert total([120, 130, 140]) == 390


def test_small_prices():
    assert total([20, 30, 40]) == 90


def test_two_prices():
    assert total([20, 30]) == 60


def test_one_price():
    assert total([20]) == 20


def test_of_chance():
    chance()
    chance_is = [chance() for _ in range(__import__("random").choice([1, 2, 3, 4, 5, 6]))]
    assert not chance_is


def test_of_nothing():
    assert not 1


def test_that_fails_too():
    assert total([1]) == 2


@pytest.mark.skip
def test_skipped():
    pass
"""


@pytest.fixture(scope="module")
def tests(tmp_path_factory):
    workspace = tmp_path_factory.mktemp("cart")
    (workspace / "cart.py").write_text(CART)
    (workspace / "test_cart.py").write_text(textwrap.dedent(TESTS))
    names = [line[4:-3] for line in TESTS.splitlines() if line.startswith("def ")]
    failing = [FailingTest(f"test_cart.py::{name}", "test_cart.py") for name in names]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    running = RepeatedTests(command, workspace, failing, kinds=["path"])
    yield running, Paths(workspace)
    running.close()


def search(tests, failing, *passing, order=Nearness.FEWEST, **limits):
    found = searcher(tests, failing, *passing, order=order)
    return found, list(found.search(PathSearchLimits(time.monotonic() + 60, **limits)))


def searcher(tests, failing, *passing, order=Nearness.FEWEST):
    names = [f"test_cart.py::{name}" for name in passing]
    test = FailingTest(f"test_cart.py::{failing}", "test_cart.py")
    return NearestPath(PathSetting(test, *tests, names, PathOptions(order)))


def in_words(differences):
    return [(one.location.line, one.kind, one.instance, one.outcome, one.wanted) for one in differences]


def test_the_nearest_path_differs_in_the_decision_that_is_wrong(tests):
    found, reports = search(tests, "test_member", "test_a_guest", "test_a_large_price", "test_a_small_cart")
    assert [report.complete for report in reports] == [False, False, False, True]
    assert [report.candidates for report in reports] == [0, 1, 2, 3]
    assert found.near.nearest.test == "test_cart.py::test_a_small_cart"
    assert in_words(found.near.nearest.report) == [(18, "if", 1, True, False)]
    assert found.near.nearest.parts == found.near.nearest.report[0]
    assert found.near.nearest.differing == 1
    assert found.near.nearest.shared == 7
    last = reports[-1]
    assert (last.other, last.report, last.distance, last.parts) == (
        found.near.nearest.test,
        found.near.nearest.report,
        found.near.nearest.differences,
        found.near.nearest.parts,
    )
    so_far = "goes the same way for the first 7 decisions and calls"
    assert last.summary == f"test_cart.py::test_a_small_cart passes, and {so_far}."
    assert not last.notes


def test_a_loop_that_ended_there_was_reached_and_came_out_false(tests, capsys):
    found, reports = search(tests, "test_two_prices", "test_one_price")
    assert in_words([found.near.nearest.parts]) == [(8, "for", 2, True, False)]
    write_text(reports[-1], sys.stdout, Sources(tests[0].machine("test_cart.py::test_negative").workspace))
    assert "cart.py:8  true the 2nd time, there false  for price in prices:" in capsys.readouterr().out
    write_json(reports[-1], sys.stdout)
    parts = json.loads(capsys.readouterr().out)["parts"]
    assert (parts["line"], parts["instance"], parts["wanted"]) == (8, 2, False)


def test_what_differs_in_the_same_way_again_and_again_is_said_once(tests, capsys):
    found, reports = search(tests, "test_large_prices", "test_small_prices")
    assert in_words(found.near.nearest.report) == [(9, "if", 1, True, False)]
    assert [place.instance for place in reports[-1].distance] == [1, 2, 3]
    write_text(reports[-1], sys.stdout, Sources(tests[0].machine("test_cart.py::test_negative").workspace))
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if "cart.py:9" in line]
    assert lines == [
        "cart.py:9  true, there false  if price > 100:",
        "cart.py:9  true the 2nd time, there false, and once more  if price > 100:",
    ]


def test_the_papers_order_takes_the_latest_decisions(tests):
    late, _ = search(tests, "test_member", "test_a_guest", "test_a_large_price", order=Nearness.LATEST)
    assert in_words(late.near.nearest.report) == [(12, "if", 1, True, False)]
    few, _ = search(tests, "test_member", "test_a_guest", "test_a_large_price")
    assert in_words(few.near.nearest.report) == [(9, "if", 1, False, True)]


def test_a_run_that_begins_elsewhere_is_not_near_however_short_it_is(tests):
    found, _ = search(tests, "test_negative", "test_a_guest", "test_positive")
    short, long = found.near.compared
    assert (short.shared, long.shared) == (0, 1)
    found.near.compared = [short._replace(differing=1), long._replace(differing=9)]
    assert found.near.nearest.test == "test_cart.py::test_positive"


def test_a_test_on_the_very_same_path_is_known_and_not_the_nearest(tests):
    found, reports = search(tests, "test_member", "test_the_same_way", "test_a_guest")
    assert [one.same_path for one in found.near.compared] == [True, False]
    assert found.near.nearest.test == "test_cart.py::test_a_guest"
    assert reports[-1].notes == (
        "test_cart.py::test_the_same_way takes the very same path and passes: only values tell them apart.",
        "`suspectra paths test_cart.py::test_member --technique cause-transitions` says which values make"
        " the difference.",
    )
    _, alone = search(tests, "test_member", "test_the_same_way")
    assert not alone[-1].found
    assert not alone[-1].summary
    assert alone[-1].complete


def test_what_a_passing_test_does_behind_the_failure_does_not_count(tests):
    found, reports = search(tests, "test_of_two_calls", "test_more_calls", "test_a_guest")
    more, guest = found.near.compared
    assert (more.same_path, more.differing, more.behind) == (True, 0, 6)
    assert (guest.same_path, found.near.nearest) == (False, guest)
    assert reports[-1].notes[0] == (
        "test_cart.py::test_more_calls takes the very same path, as far as test_cart.py::test_of_two_calls goes,"
        " and passes: only values tell them apart."
    )


def test_it_says_why_no_passing_test_helps(tests):
    _, none = search(tests, "test_member")
    assert none[-1].notes == (
        "There is no passing test to compare with: record one that does nearly the same."
        " Automated path generation (apg) needs none.",
    )
    _, far = search(tests, "test_member", "test_positive")
    assert far[-1].notes == (
        "Even the nearest one, test_cart.py::test_positive, shares only 0 of 8 decisions and calls."
        " Automated path generation (apg) needs none.",
    )


def test_an_exception_that_ends_the_run(tests):
    found, _ = search(tests, "test_negative", "test_positive")
    assert in_words(found.near.nearest.report) == [(28, "if", 1, True, False)]


def test_tests_that_do_not_pass_are_left_out(tests):
    found, _ = search(tests, "test_member", "test_that_fails_too", "test_skipped", "test_a_guest")
    assert [one.test for one in found.near.compared] == ["test_cart.py::test_a_guest"]
    assert [problem.cause for problem in found.problems] == [
        f"test_cart.py::{name} does not pass when it runs alone, so it was not compared"
        for name in ("test_that_fails_too", "test_skipped")
    ]


def test_a_limit_leaves_the_search_incomplete(tests):
    _, reports = search(tests, "test_member", "test_a_guest", "test_a_small_cart", candidates=1)
    assert reports[-1].candidates == 1
    assert reports[-1].notes == ("1 passing test that executes less of the same was not compared.",)
    (report,) = searcher(tests, "test_member", "test_a_guest").search(PathSearchLimits(0.0))
    assert not report.complete
    assert report.notes == ("1 passing test is left to be compared: give more seconds for it.",)


@pytest.mark.parametrize(("technique", "compared"), [("nearest-path", True), ("cause-transitions", False)])
def test_a_slow_passing_test_is_not_waited_for(tmp_path, technique, compared):
    (tmp_path / "cart.py").write_text(CART)
    cases = {"test_member": "total([60, 40], member=True) == 100", "test_guest": "total([60, 40]) == 100"}
    texts = [f"def {name}():\n    assert {case}\n" for name, case in cases.items()]
    slow = "def test_slow():\n    total([60, 40])\n    time.sleep(600)\n"
    (tmp_path / "test_cart.py").write_text("\n\n".join(["import time\n\nfrom cart import total\n", *texts, slow]))
    names = [f"test_cart.py::{name}" for name in (*cases, "test_slow")]
    test, command = FailingTest(names[0], "test_cart.py"), [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    running = RepeatedTests(command, tmp_path, [test], TECHNIQUES[technique].kinds, names[1:])
    try:
        running.machine(names[0])
        found = TECHNIQUES[technique].load()(PathSetting(test, running, Paths(tmp_path), names[1:]))
        *_, report = found.search(PathSearchLimits(time.monotonic() + 3))
    finally:
        running.close()
    assert not report.complete
    assert found.problems == []
    assert (report.other == names[1]) is compared


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("test_a_guest", "test_cart.py::test_a_guest passes when it runs alone"),
        ("test_of_nothing", "test_cart.py::test_of_nothing makes no decision in the program"),
        ("test_of_chance", "two runs of test_cart.py::test_of_chance take different paths, from cart.py:2"),
    ],
)
def test_a_failing_test_that_can_not_be_compared(tests, name, cause):
    def many_times():  # two runs may be alike by chance
        for _ in range(20):
            search(tests, name, "test_a_guest")

    with pytest.raises(EvidenceError) as refused:
        many_times()
    assert refused.value.problem.cause.startswith(cause)
    assert refused.value.problem.cure


def check_ranking(suspectra, folder):
    """What was reported is ranked first, until a source changes."""

    def ranked(technique):
        done = suspectra("rank", "--technique", technique, "--format", "json")
        return json.loads(done.stdout)["suspects"][0], done.stderr

    suspect, said = ranked("nearest-path")
    assert (suspect["line"], suspect["rank_best"], suspect["rank_worst"], suspect["score"] > 1) == (18, 1, 1, True)
    assert "no search for paths" not in said
    assert "no search for paths by apg has reported anything" in ranked("apg")[1]
    log = folder / ".suspectra/experiments/paths.jsonl"
    (entry,) = map(json.loads, log.read_text().splitlines())
    assert entry["reports"] == {"nearest-path": [["cart.py", 18]]}
    assert set(entry["sources"]) == {"cart.py", "test_cart.py"}
    log.write_text(log.read_text() + "{}\n" + json.dumps({**entry, "sources": {"cart.py": "0"}}) + "\n")
    suspect, said = ranked("nearest-path")
    assert suspect["line"] == 18
    assert "1 line of it can't be read" in said
    assert "1 search for paths was made with other sources, and left out" in said


@pytest.mark.slow
def test_the_command_says_where_the_runs_part(tmp_path):
    (tmp_path / "cart.py").write_text(CART)
    (tmp_path / "test_cart.py").write_text(TESTS.split("def test_negative")[0])
    pytest_ = ["--", sys.executable, "-m", "pytest"]

    def suspectra(*arguments, options=()):
        behind = [] if arguments[0] == "rank" else pytest_
        command = [sys.executable, *options, "-m", "suspectra", *arguments, *behind]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)

    assert suspectra("record").returncode == 1
    done = suspectra("paths", "test_cart.py::test_member")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    so_far = "goes the same way for the first 7 decisions and calls"
    assert lines[0] == f"test_cart.py::test_a_small_cart passes, and {so_far}."
    assert lines[3].split() == ["cart.py:18", "true,", "there", "false", "if", "amount", ">=", "100:"]
    assert (
        lines[5] == "test_cart.py::test_the_same_way takes the very same path and passes: only values tell them apart."
    )
    found = json.loads(suspectra("paths", "*member", "--format", "json", "--order", "latest").stdout)
    place = {"file": "cart.py", "line": 18, "end_line": 18, "outcome": True, "wanted": False}
    assert found["report"] == [{**place, "column": 0, "operand": ""}]
    assert found["distance"] == [{"file": "cart.py", "line": 18, "instance": 1, "column": 0, "operand": ""}]
    assert (found["technique"], found["with"]) == ("nearest-path", "test_cart.py::test_a_small_cart")
    assert (found["candidates"], found["complete"]) == (4, True)
    check_ranking(suspectra, tmp_path)
    timed = suspectra("paths", "*member", "--technique", "apg", options=["-X", "importtime"])
    loaded = {line.rpartition("|")[2].strip() for line in timed.stderr.splitlines()}
    assert "suspectra.paths.searches.forced_paths" in loaded
    assert not {"scipy", "numpy.ma"} & loaded  # they take as long as pytest itself
    (tmp_path / "cart.py").write_text(CART + "\n")
    refused = suspectra("paths", "*member")
    assert refused.returncode == 2
    assert "it was changed after the tests ran" in refused.stderr
