"""How failing tests are named on the command line."""

import numpy as np
import pytest

from suspectra.base.errors import UsageError
from suspectra.cli.rerun import failing_tests, one_failing_test
from suspectra.evidence.evidence import Evidence, TestResult, Verdict
from suspectra.evidence.named_tests import with_failing

NAMES = (
    "tests/test_tax.py::TestTax::test_rate[goods-7]",
    "tests/test_tax.py::TestTax::test_rates[food]",
    "tests/test_cart.py::test_total",
)


@pytest.fixture
def evidence():
    tests = tuple(TestResult(name, Verdict.FAILED) for name in NAMES)
    return Evidence("by hand", tests, (), (), np.zeros(0, np.int32))


@pytest.mark.parametrize(
    ("name", "fitting"),
    [
        ("tests/test_tax.py", NAMES[:2]),
        ("tests/test_tax.py::TestTax", NAMES[:2]),
        ("tests/test_tax.py::TestTax::test_rate", NAMES[:1]),
        ("tests/test_tax.py::TestTax::test_rate[goods-7]", NAMES[:1]),
        ("*test_rate*", NAMES[:2]),
        ("*", NAMES),
        ("test_tax.py", NAMES[:2]),
        ("test_tax.py::TestTax::test_rate", NAMES[:1]),
        ("test_cart.py::test_total", NAMES[2:]),
        ("test_total", NAMES[2:]),
    ],
)
def test_a_module_a_class_a_name_without_parameters_and_a_glob_are_names(evidence, name, fitting):
    assert tuple(failing_tests(evidence, [name])) == fitting
    if len(fitting) == 1:
        assert one_failing_test(evidence, name).name == fitting[0]
    else:
        with pytest.raises(UsageError, match=f"it fits {len(fitting)} failing tests"):
            one_failing_test(evidence, name)


@pytest.mark.parametrize(("part", "fitting"), [("est_total", NAMES[2]), ("CART", NAMES[2]), ("[food", NAMES[1])])
def test_a_part_that_only_one_has_is_enough(evidence, part, fitting):
    assert one_failing_test(evidence, part).name == fitting
    assert list(failing_tests(evidence, [part])) == [fitting]


@pytest.mark.parametrize("part", ["tests/test_ta", "tests/test_tax.py::Test", "_rate"])
def test_of_a_part_that_several_have_all_are_listed_with_a_cure(evidence, part):
    for find in (one_failing_test, lambda evidence, part: failing_tests(evidence, [part])):
        with pytest.raises(UsageError, match=rf"it fits 2 failing tests: .*goods-7.*food.*all by '\*{part}\*'"):
            find(evidence, part)


def test_of_a_part_that_none_has_failing_tests_are_listed(evidence):
    with pytest.raises(UsageError, match=r"no failing test has this in its name.*failing tests are: .*goods-7"):
        one_failing_test(evidence, "refund")


def test_the_evidence_of_some_failing_tests_has_all_passing_ones():
    tests = *(TestResult(name, Verdict.FAILED) for name in NAMES), TestResult("test_other", Verdict.PASSED)
    rows = tuple(np.array([number], np.int32) for number in range(4))
    evidence = Evidence("by hand", tests, (), rows, np.zeros(0, np.int32), runs=(1, 2, 3, 4))
    some = with_failing(evidence, {NAMES[1]})
    assert [test.name for test in some.tests] == [NAMES[1], "test_other"]
    assert [row.tolist() for row in some.rows] == [[1], [3]]
    assert (some.runs, [test.name for test in some.failing]) == ((2, 4), [NAMES[1]])
    assert with_failing(evidence, NAMES) is evidence
