"""Paths with forced decisions: real runs of pytest, one machine for nearly all cases."""

import sys
import threading
import time

import pytest

from suspectra.base.cancellation import Cancelled, Token, cancellable
from suspectra.base.errors import EvidenceError
from suspectra.evidence.logs.experiments import read_experiments
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.paths.searches.forced_paths import FIRST_AT_ONCE, ForcedPaths
from suspectra.paths.searches.inquiry import PathInquiry
from suspectra.paths.searches.recorded_paths import Paths
from suspectra.paths.searches.search import Nearness, PathOptions, PathSearchLimits, PathSetting
from suspectra.runs.experiment import EVERY
from suspectra.spectrum import Spectrum

SHOP = """\
import itertools
import subprocess
import sys
import threading

_count, _known = itertools.count(), []


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


def both(a, b):
    result = 0
    if a:
        result += 1
    if b:
        result += 2
    return result


def shared(a, b):
    result = 0
    if a:
        result += fee(1)
    return 2 * result + fee(b)


def fee(weight):
    if weight > 5:
        return 10
    return 1


def fares(ages):
    result = 0
    for age in ages:
        result += 0 if age < 16 else 20
    return result


def check(price):
    if price < 0:
        raise ValueError(price)
    return price


def positive(price, turned):
    if turned:
        price = -price
    if price < 0:
        raise ValueError(price)
    return price


def checked(weight, limit, strict):
    if strict:
        if weight >= limit:
            raise ValueError(weight)
    return weight


def rounds(n):
    done = 0
    while done < n:
        done += 1
    return done


def last(items):
    found = None
    for item in items:
        found = item
    return found


def in_threads(a):
    results = []
    threads = [threading.Thread(target=lambda: results.append(both(a, a))) for _ in range(2)]
    for thread in threads:
        thread.start()
        thread.join()
    return results


def broken(a, b):
    if a:
        a = {}[a]
    if b:
        return 1
    return 2


def chance():
    return 1 if next(_count) % 2 else 2


def wait(price, long):
    if not _known:  # only in the first run of a process, so that each run has a process of its own
        _known.append(1)
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)", "waits in " + __file__])
    if long:
        sleeper.wait()
    sleeper.kill()
    sleeper.wait()
    if price < 0:
        raise ValueError(price)
    return price
"""
TESTS = """\
import random
import shop


def test_member():
    assert shop.total([60, 40], member=True) == 100


def test_both():
    assert shop.both(False, False) == 3


def test_either():
    assert shop.both(False, False) in (1, 2)


def test_first():
    assert shop.both(False, False) in (1, 3)


def test_shared():
    assert shop.shared(False, 3) == 12


def test_fares():
    assert shop.fares([7, 9, 30]) == 60


def test_check():
    assert shop.check(-1) == -1


def test_positive():
    assert shop.positive(-1, False) in (1, -1)


def test_heavy():
    assert shop.checked(5, 5, True) == 5


def test_rounds():
    assert shop.rounds(3) == 1


def test_more_rounds():
    assert shop.rounds(3) == 4


def test_last():
    assert shop.last([1, 2, 3]) == 2


def test_threads():
    assert shop.in_threads(False) == [3, 3]


def test_nothing_helps():
    assert shop.total([60, 40]) == 7


def test_broken():
    assert shop.broken(False, False) == 3


def test_of_chance():
    assert not [shop.chance() for _ in range(random.choice([1, 2, 3, 4, 5, 6]))]


def test_no_decision():
    assert shop.rounds is None


def test_wait():
    assert shop.wait(-1, False) == -1
"""
COMMAND = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop").resolve()
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(TESTS)
    return folder


@pytest.fixture(scope="module")
def tests(workspace):
    names = [line[4:-3] for line in TESTS.splitlines() if line.startswith("def ")]
    running = RepeatedTests(COMMAND, workspace, [failing(name) for name in names], kinds=["path"])
    yield running, Paths(workspace)
    running.close()


def failing(name):
    return FailingTest(f"test_shop.py::{name}", "test_shop.py")


def search(tests, name, workspace=None, seconds=60.0, candidates=None, **chosen):
    searcher = ForcedPaths(PathSetting(failing(name), *tests, (), workspace=workspace, **chosen))
    return list(searcher.search(PathSearchLimits(time.monotonic() + seconds, candidates)))


def line(text, after=""):
    begin = SHOP.index(after)
    return SHOP[: SHOP.index(text, begin)].count("\n") + 1


def in_words(places):
    return [(one.location.line, one.kind, one.instance, one.outcome, one.wanted) for one in places]


def test_a_wrong_condition_is_found_by_turning_it(tests):
    *others, found = search(tests, "test_member")
    assert [report.candidates for report in others] == [0]
    assert in_words(found.report) == [(line("    if amount >= 100:"), "if", 1, True, False)]
    assert found.report == found.distance == (found.parts,)
    assert (found.technique, found.other, found.candidates, found.complete) == ("apg-decisions", None, 1, True)
    assert (
        found.summary == f"test_shop.py::test_member passes if shop.py:{line('    if amount >= 100:')} comes out false."
    )
    assert not found.notes


def test_near_paths_are_judged_before_far_ones_are_run(tests, monkeypatch):
    machine = tests[0].machine("test_shop.py::test_rounds")
    ask, asked = machine.ask, []
    monkeypatch.setattr(machine, "ask", lambda *args, **limits: asked.append(len(args[1])) or ask(*args, **limits))
    found = search(tests, "test_member")[-1]
    assert found.candidates == 1
    assert max(asked) == FIRST_AT_ONCE + 1  # with the unaltered run that is their control


def test_a_condition_that_is_too_wide_comes_out_false_every_time(tests):
    found = search(tests, "test_fares")[-1]
    place = line("        result += 0 if age < 16 else 20")
    assert in_words(found.report) == [(place, "conditional", 1, True, False)]
    assert in_words(found.distance) == [(place, "conditional", time, True, False) for time in (1, 2)]
    assert (found.candidates, found.complete) == (3, True)  # after the other way, and true
    assert found.summary == f"test_shop.py::test_fares passes if `age < 16` at shop.py:{place} comes out false."


def test_two_decisions_are_turned_together_where_none_helps_alone(tests):
    found = search(tests, "test_both")[-1]
    assert in_words(found.report) == [
        (line("    if b:"), "if", 1, False, True),
        (line("    if a:"), "if", 1, False, True),
    ]
    assert found.candidates == 3
    assert found.summary == "test_shop.py::test_both passes if 2 decisions come out the other way."


def test_of_equally_many_decisions_the_most_suspicious_ones_are_turned_first(tests):
    first = line("    if a:")

    def suspiciousness(file, number):
        return 1.0 if (file, number) == ("shop.py", first) else 0.5

    latest = search(tests, "test_either")[-1]
    assert in_words(latest.report) == [(line("    if b:"), "if", 1, False, True)]
    suspicious = search(tests, "test_either", suspiciousness=suspiciousness)[-1]
    assert in_words(suspicious.report) == [(first, "if", 1, False, True)]
    assert latest.candidates == suspicious.candidates == 1  # no other run is needed for the choice
    for_studies = PathOptions(Nearness.LATEST)
    assert search(tests, "test_either", suspiciousness=suspiciousness, options=for_studies)[-1].report == latest.report


@pytest.mark.parametrize("order", Nearness)
def test_what_is_not_needed_is_not_reported(tests, order):
    found = search(tests, "test_first", options=PathOptions(order))[-1]
    assert in_words(found.report) == [(line("    if a:"), "if", 1, False, True)]
    late, early, both = (2,), (1,), (1, 2)
    assert [one.turned for one in found.tried] == ([late, both] if order is Nearness.LATEST else [late, early])
    assert [one.successful for one in found.tried] == [False, True]


@pytest.mark.parametrize("order", Nearness)
def test_the_second_decision_is_the_one_that_corresponds_in_the_run_in_which_the_first_is_turned(tests, order):
    found = search(tests, "test_shared", options=PathOptions(order))[-1]
    # with the first one turned, `fee` is called twice: 2 * 1 + 10, and not 2 * 10 + 1
    assert in_words(found.report) == [
        (line("    if weight > 5:"), "if", 1, False, True),
        (line("    if a:", "def shared"), "if", 1, False, True),
    ]


def test_a_check_that_is_left_out_is_said_to_be_one(tests):
    found = search(tests, "test_check")[-1]
    assert in_words(found.report) == [(line("    if price < 0:"), "if", 1, True, False)]
    assert found.notes == ("This may only keep an error from being raised: then the fault is in what comes before.",)
    assert found.complete


def test_another_repair_is_preferred_to_a_check_that_is_left_out(tests):
    *_, check, found = search(tests, "test_positive")
    assert in_words(check.report) == [(line("    if price < 0:", "def positive"), "if", 1, True, False)]
    assert in_words(found.report) == [(line("    if turned:"), "if", 1, False, True)]
    number = line("    if price < 0:", "def positive")
    assert found.notes == (
        f"It passes, too, if shop.py:{number} comes out false: no error is raised then."
        " Look there if that check itself is wrong.",
        "The path is not quite the one that was wanted: 1 other decision was different, too.",
    )


def test_a_decision_that_keeps_a_check_from_being_made_does_not_replace_it(tests):
    """Definition 4: the check is the nearest candidate that passes, and what is farther only avoids it, too."""
    found = search(tests, "test_heavy")[-1]
    assert in_words(found.report) == [(line("        if weight >= limit:"), "if", 1, True, False)]
    assert found.notes == ("This may only keep an error from being raised: then the fault is in what comes before.",)
    assert (found.candidates, found.complete) == (2, True)


def test_a_decision_that_keeps_a_check_from_being_made_is_said_to_be_one(tests):
    def suspicious(file, number):
        return float(number == line("    if strict:"))

    found = search(tests, "test_heavy", suspiciousness=suspicious)[-1]
    assert in_words(found.report) == [(line("    if strict:"), "if", 1, True, False)]
    assert found.notes == ("This may only keep an error from being raised: then the fault is in what comes before.",)


def test_loops_only_end_earlier(tests):
    ended = search(tests, "test_rounds")[-1]
    assert in_words(ended.report) == [(line("    while done < n:"), "while", 2, True, False)]
    for_ended = search(tests, "test_last")[-1]
    assert in_words(for_ended.report) == [(line("    for item in items:"), "for", 3, True, False)]
    assert for_ended.summary.endswith(
        f"if the loop at shop.py:{line('    for item in items:')} ends at its 3rd round of the run."
    )
    never = search(tests, "test_more_rounds")[-1]
    assert not never.found


def test_what_was_not_found_is_said_with_a_cure(tests):
    report = search(tests, "test_broken")[-1]
    assert report.complete
    assert not report.found
    assert report.notes[0] == (
        "1 set of decisions was not tried: one decision keeps another from being made as before."
    )
    assert report.notes[-1].startswith("No decision lets the test pass if it comes out the other way")
    assert "`suspectra causes`" in report.notes[-1]


def test_decisions_of_several_threads_are_turned_alone(tests):
    report = search(tests, "test_threads")[-1]
    assert not report.found
    assert "Several threads make decisions, so each was turned only alone." in report.notes


def test_limits_say_how_much_is_left(tests):
    report = search(tests, "test_nothing_helps", candidates=2)[-1]
    assert (report.candidates, report.complete) == (2, False)
    assert report.notes == ("At most 25 candidates of up to 3 decisions are left: give more seconds.",)
    assert not search(tests, "test_both", seconds=0.0)[-1].complete


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("test_of_chance", "two runs of test_shop.py::test_of_chance differ: "),
        ("test_no_decision", "test_shop.py::test_no_decision makes no decision in the program"),
    ],
)
def test_tests_that_can_not_be_searched(tests, name, cause):
    running, paths = tests

    def many_times():  # several runs may be alike by chance
        for _ in range(20):
            search((running, paths), name)
            running._tests.pop(f"test_shop.py::{name}")

    with pytest.raises(EvidenceError) as refused:
        many_times()
    assert refused.value.problem.cause.startswith(cause)
    assert refused.value.problem.cure


def test_single_decisions_become_evidence(tests, workspace):
    search(tests, "test_member", workspace)
    experiments, problems = read_experiments(workspace)
    assert not problems
    assert [(one.line, one.kind, one.instance, one.outcome.value) for one in experiments] == [
        (line("    if amount >= 100:"), "switch", EVERY, "passed"),
    ]


@pytest.mark.slow
def test_a_cancelled_search_keeps_what_is_known_and_leaves_nothing_running(workspace, processes_with, until):
    spectrum = Spectrum.from_matrix([[1]], failed=[True], tests=["test_shop.py::test_wait"])
    setup = RerunSetup(workspace, COMMAND)
    wait = failing("test_wait")
    inquiry = PathInquiry(setup, test=wait, spectrum=spectrum, technique="apg-decisions", seconds=300.0)
    token, ended = Token(), []
    machines = processes_with(str(workspace))
    waits = f"waits in {workspace}"

    def inquire():
        with cancellable(token), pytest.raises(Cancelled):
            list(inquiry.steps())
        ended.append(time.monotonic())

    thread = threading.Thread(target=inquire)
    thread.start()
    while not (inquiry.report.found and processes_with(waits)):
        assert thread.is_alive()
        time.sleep(0.01)
    cancelled = time.monotonic()
    token.cancelled = True
    thread.join()
    assert ended[0] - cancelled < 0.5
    assert inquiry.report.summary.startswith("test_shop.py::test_wait passes if shop.py:")
    assert not inquiry.report.complete
    # what the tests before this one started may have ended, too
    until(lambda: {*processes_with(str(workspace))} <= {*machines}, "what was killed has ended", 10)
