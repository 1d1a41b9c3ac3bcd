"""Forced decisions and other inputs together: real runs of pytest and Z3, one machine for all cases."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.analysis.test_paths import TABLE_2

from suspectra.base.errors import EvidenceError
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.paths.inputs import search as search_module
from suspectra.paths.inputs.generated_paths import GeneratedPaths
from suspectra.paths.searches.recorded_paths import Paths
from suspectra.paths.searches.search import Nearness, PathOptions, PathSearchLimits, PathSetting
from suspectra.paths.searches.techniques import TECHNIQUES
from suspectra.paths.searches.turned_decisions import MAX_TOGETHER

SHOP = """\
def discount(amount):
    if amount >= 100:
        return amount - 10
    return amount


def scaled(n):
    if n > 10:
        return 3 * n
    return 2 * n + 1


def both(a, b):
    result = 0
    if a:
        result += 1
    if b:
        result += 2
    return result


def checked(price):
    if price < 0:
        raise ValueError(price)
    return price
"""
TESTS = """\
import random

import pytest
from shop import both, checked, discount, scaled


def discount_reference(amount):
    return amount - 10 if amount > 100 else amount


def scaled_reference(n):
    return 2 * n if n > 10 else 2 * n + 1


@pytest.mark.parametrize("amount", [100])
def test_discount(amount):
    assert discount(amount) == discount_reference(amount)


@pytest.mark.parametrize("n", [15])
def test_scaled(n):
    assert scaled(n) == scaled_reference(n)


def test_both():
    assert both(False, False) == 3


def test_never():
    assert both(False, False) == 7


def test_checked():
    assert checked(-1) == -1


def test_nothing():
    assert not 1
"""


@pytest.fixture(scope="module")
def tests(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(TESTS)
    names = ["test_discount[100]", "test_scaled[15]", "test_both", "test_never", "test_checked", "test_nothing"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    running = RepeatedTests(command, folder, list(map(failing, names)), kinds=TECHNIQUES["apg"].kinds)
    yield running, Paths(folder)
    running.close()


def failing(name):
    return FailingTest(f"test_shop.py::{name}", "test_shop.py")


def search(tests, name, ask=None, seconds=300.0, order=None):
    setting = PathSetting(failing(name), *tests, (), PathOptions(order, ask=ask))
    return list(GeneratedPaths(setting).search(PathSearchLimits(time.monotonic() + seconds)))


def in_words(report):
    return [(one.location.line, one.kind, one.outcome, one.wanted) for one in report.report]


def line(text):
    return SHOP[: SHOP.index(text)].count("\n") + 1


def test_a_wrong_condition_is_found_by_forcing_it(tests):
    *_, found = search(tests, "test_discount[100]", order=Nearness.FEWEST)
    assert in_words(found) == [(line("    if amount >= 100:"), "if", True, False)]
    assert (found.technique, found.other, found.candidates, found.complete) == ("apg", None, 1, True)
    assert found.summary.startswith("test_shop.py::test_discount[100] passes if shop.py:2 comes out false")


def test_a_wrong_value_is_found_by_another_input(tests):
    *others, found = search(tests, "test_scaled[15]", order=Nearness.FEWEST)
    assert found.summary == "test_shop.py::test_scaled[15] fails with n = 15, and passes from n = 10."
    assert in_words(found) == [(line("    if n > 10:"), "if", True, False)]
    assert (found.technique, found.other, found.complete) == ("apg", "n=10", True)
    assert found.candidates == 2  # the forced decision, and the input
    assert not any(report.complete or report.found for report in others)


def test_inputs_come_first_in_the_order_of_the_paper(tests):
    *_, found = search(tests, "test_discount[100]")
    assert (found.technique, found.other, found.candidates, found.complete) == ("apg", "amount=99", 1, True)
    assert [one.successful for one in found.tried] == [True]


def test_several_decisions_are_forced_where_no_input_can_be_judged(tests):
    *_, found = search(tests, "test_both")
    assert [place.location.line for place in found.report] == [line("    if b:"), line("    if a:")]
    assert found.complete
    assert not found.notes


def test_it_says_what_was_not_tried(tests, monkeypatch):
    *_, never = search(tests, "test_never")
    assert never.complete
    assert not never.found
    reason = "no test knows what is right for another input of both: use --ask to judge outcomes yourself"
    assert never.notes[-1].startswith(f"Not everything was tried, since {reason}")
    monkeypatch.setattr(search_module, "is_available", lambda: False)
    *_, unsolved = search(tests, "test_scaled[15]")
    assert unsolved.notes[-1].endswith("a solver that is not installed: pip install 'suspectra[smt]'.")


def test_an_input_counts_more_than_a_check_that_is_left_out(tests):
    *_, check = search(tests, "test_checked", ask=lambda question: False)
    assert check.summary.startswith("checked fails with price = -1, and passes with price = ")
    assert in_words(check) == [(line("    if price < 0:"), "if", True, False)]


def test_the_user_judges_other_inputs(tests):
    asked = []
    *_, found = search(tests, "test_never", ask=lambda question: asked.append(question) or True)
    assert len(asked) == 1
    assert asked[0].startswith("both(")
    assert found.found


def test_a_test_of_which_nothing_can_be_changed_is_refused(tests):
    with pytest.raises(EvidenceError) as refused:
        search(tests, "test_nothing")
    assert refused.value.problem.cause.startswith("test_shop.py::test_nothing makes no decision in the program")


@pytest.mark.slow
def test_limits_leave_the_search_incomplete(tests):
    *_, ended = search(tests, "test_scaled[15]", seconds=0.0)
    assert not ended.complete


FIGURE_2 = """\
def program(a, b, c, d):
    i = j = k = 0
    if a:
        i += 1
    if b:
        j += 1
    if c:
        if d:
            k += 1
        else:
            k += 2
    return k
"""
OF_FIGURE_2 = """\
import pytest
from program import program


@pytest.mark.parametrize("a, b, c, d", [(False, False, True, True)])
def test_program(a, b, c, d):
    assert program(a, b, c, d) + len(str(a)) > 99 - len(str(b))
"""


PROGRAMS = Path(__file__).parents[2]
FIGURE_1 = """\
def program(x):
    v = 0
    if x > 0:
        u = 5
    else:
        u = v
    return u
"""
OF_FIGURE_1 = """\
from program import program


def test_program():
    assert program(0) == 5
"""


def tried(folder, test):
    """What `suspectra paths` says was tried, by other inputs and by forced decisions."""

    def suspectra(*arguments):
        command = [sys.executable, "-m", "suspectra", *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    assert suspectra("record", "--", sys.executable, "-m", "pytest", "-q").returncode == 1
    run = suspectra("paths", test, "--technique", "apg", "--format", "json", "--seconds", "120")
    return json.loads(run.stdout)["tried"]


def is_nearer(distance, other):
    """Definition 4, as paper 001 has it: read from the end, the later event is nearer, and the one that ends first."""
    for one, another in zip(reversed(distance), reversed(other), strict=False):
        if one != another:
            return one > another
    return len(distance) < len(other)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "test", "fewest"),
    [
        ("figure 1", "*test_program", 1),
        ("benchmarks/faulty_programs/matrix", "*test_product", 10),
        ("examples/ledger", "*test_a_period_in_which_the_rate_changes", 10),
    ],
)
def test_no_path_of_any_program_is_nearer_than_an_earlier_one(tmp_path, program, test, fewest):
    """Theorem 1, of what the command prints; nobody knows here what is right for other inputs."""
    if program == "figure 1":
        (tmp_path / "program.py").write_text(FIGURE_1)
        (tmp_path / "test_program.py").write_text(OF_FIGURE_1)
    else:
        shutil.copytree(PROGRAMS / program, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".suspectra"))
    paths = tried(tmp_path, test)["decisions"]
    assert len(paths) >= fewest
    distances = [one["turned"] for one in paths]
    assert not any(is_nearer(distances[n + 1], distances[n]) for n in range(len(distances) - 1))
    assert all(len(one["places"]) == len(one["turned"]) for one in paths)


@pytest.mark.slow
def test_the_command_tries_the_paths_of_table_2_the_nearest_first(tmp_path):
    """Figure 2, where no run is right; the lines of its branches are here 3, 5, 7 and 8."""
    (tmp_path / "program.py").write_text(FIGURE_2)
    (tmp_path / "test_program.py").write_text(OF_FIGURE_2)
    inputs, forced = tried(tmp_path, "*test_program*").values()
    assert not any(one["successful"] for one in inputs)
    assert all(one["feasible"] for one in inputs)
    distances = [tuple(one["turned"]) for one in inputs]
    places = sorted({place for one in distances for place in one})
    line = dict(zip(places, (1, 3, 5, 6), strict=True))  # as the figure numbers them
    assert [tuple(line[place] for place in one) for one in distances] == TABLE_2
    assert inputs[1]["places"] == ["program.py:5", "program.py:8"]
    assert [one["turned"] for one in forced] == [one["turned"] for one in inputs if len(one["turned"]) <= MAX_TOGETHER]
