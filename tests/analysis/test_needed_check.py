"""A test that passes without the check that failed is not repaired."""

import pytest

from suspectra_recorder.experiments.failed_check import passes_only_by

CART = "def total(net, vat):\n    return net - vat\n\n"
TIMED = (
    "def timed(function):\n    def call(*arguments):\n        if callable(function):\n"
    "            return function(*arguments)\n        return 0\n    return call\n"
)
CLOCK = (
    "class Clock:\n    def __enter__(self):\n        self.quiet = False\n\n"
    "    def __exit__(self, *error):\n        if self.quiet:\n            return True\n        return False\n"
)
CHECK = "assert total(20, 4) == 24\n"
PROGRAMS = {
    "decorated": (TIMED, f"from cart import timed, total\n\n@timed\ndef test_total():\n    {CHECK}"),
    "a method": (
        TIMED,
        "import unittest\nfrom cart import timed, total\n\nclass TestCart(unittest.TestCase):\n    @timed\n"
        "    def test_total(self):\n        self.assertEqual(total(20, 4), 24)\n",
    ),
    "a fixture": (
        TIMED,
        "import pytest\nfrom cart import timed, total\n\n@pytest.fixture\n@timed\ndef price():\n    " + CHECK + "\n"
        "def test_total(price):\n    pass\n",
    ),
    "with": (CLOCK, f"from cart import Clock, total\n\ndef test_total():\n    with Clock():\n        {CHECK}"),
    "a function of the test": (
        CLOCK + TIMED,
        "from cart import Clock, total\n\ndef test_total():\n    def check():\n        " + CHECK + "    with Clock():\n"
        "        check()\n",
    ),
}


@pytest.mark.parametrize(
    "technique", ["muse", *(pytest.param(one, marks=pytest.mark.slow) for one in ("switching", "value-replacement"))]
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_does_without_the_check_repairs_nothing(tmp_path, asked, program, technique):
    source, test = PROGRAMS[program]
    (tmp_path / "cart.py").write_text(CART + source)
    (tmp_path / "test_cart.py").write_text(test)
    made = asked("investigate", "--technique", technique, "--seconds", "60")["experiments"]
    repairs = {one["line"] for one in made if one["outcome"] == "passed"}
    assert repairs == ({2} if technique != "switching" else set())
    assert {one["line"] for one in made if one["outcome"] == "skipped"} or technique == "value-replacement"


REACHED = (
    "from cart import total\n\ndef test_total():\n    if total(20, 4) != 24:\n        raise ValueError('no total')\n"
)
TRACES = (
    "import sys\nfrom cart import total\n\ndef test_total():\n    before = sys.gettrace()\n    sys.settrace(None)\n"
    f"    {CHECK}    sys.settrace(before)\n"
)


@pytest.mark.slow
@pytest.mark.parametrize("test", [REACHED, TRACES], ids=["raised by the test", "traces calls"])
def test_what_a_repaired_test_does_not_reach_or_can_not_be_watched_is_a_repair(tmp_path, asked, test):
    (tmp_path / "cart.py").write_text(CART)
    (tmp_path / "test_cart.py").write_text(test)
    made = asked("investigate", "--technique", "muse", "--seconds", "60")["experiments"]
    assert {one["action"] for one in made if one["outcome"] == "passed"} == {"`-` → `+`"}


def in_order(sums):
    assert sums[0] < sums[1]


def within(sums):
    with pytest.raises(AssertionError):
        assert sums[0] < sums[1]


def wrapped(sums):
    in_order(sums)


@pytest.mark.parametrize(
    ("test", "of", "needed"),
    [(in_order, in_order, True), (within, within, False), (wrapped, in_order, False), (None, in_order, False)],
)
def test_no_run_is_watched_that_can_only_pass_by_its_check(test, of, needed):
    code = of.__code__
    line = max(line for *_, line in code.co_lines() if line)
    where = {"path": __file__, "function": of.__name__, "begins": code.co_firstlineno, "line": line}
    assert passes_only_by({**where, "exception": "AssertionError"}, test) == needed
