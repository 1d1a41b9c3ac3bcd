"""How failing tests are named on the command line."""

import numpy as np
import pytest

from suspectra.base.errors import UsageError
from suspectra.cli.rerun import failing_tests, one_failing_test
from suspectra.evidence.evidence import Evidence, TestResult, Verdict

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


@pytest.mark.parametrize("name", ["tests/test_ta", "est_total", "tests/test_tax.py::Test", "tests/test_tax.py::"])
def test_a_part_of_a_name_is_none(evidence, name):
    with pytest.raises(UsageError, match="no recorded test has this name"):
        one_failing_test(evidence, name)
