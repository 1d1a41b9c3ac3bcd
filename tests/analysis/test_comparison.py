"""What failed assertions compared, from the messages of real runs."""

import subprocess
import sys

import pytest

from suspectra.evidence.compared_values import ComparedValues
from suspectra.evidence.recording import RecordingSource

ASSERTIONS = {
    "assert 1 + 1 == 3": "expected 3, actual (1 + 1)",
    "assert 'a == b' == 'c'": "expected 'c', actual 'a == b'",
    "assert [1, 2] == [1, 3]": "expected [1, 3], actual [1, 2]",
    "assert 'x' * 200 == 'y' + 'x' * 200": None,  # pytest cuts both, and shows the rest as lines
    "assert list(range(100)) == list(range(99)) + [7]": "index 99: expected 7, actual 99",
    "assert Pair(1, 'a' * 90) == Pair(2, 'a' * 90)": "one: expected 2, actual 1",
    "assert 1 > 2": None,
    "assert not 1": None,
    "raise KeyError('a == b')": None,
    "Unit().assertEqual(1, 2)": "expected 2, actual 1",
    "Unit().assertEqual('a', 'b', 'a : c')": "expected 'b', actual 'a'",
    "Unit().assertEqual([1, 2], [1, 3])": "expected [1, 3], actual [1, 2]",
    "Unit().assertEqual((1,), (2,))": "expected (2,), actual (1,)",
    "Unit().assertEqual(list(range(100)), list(range(99)) + [7])": "index 99: expected 7, actual 99",
    "Unit().assertTrue(False)": None,
}
HEAD = """\
from dataclasses import dataclass
from unittest import TestCase as Unit

@dataclass
class Pair:
    one: int
    two: str

def test_one():
    {assertion}
"""


@pytest.fixture(scope="module")
def stacks(tmp_path_factory):
    """The stack of a test with each assertion."""
    root = tmp_path_factory.mktemp("assertions")
    (root / "cart.py").write_text("total = 1\n")
    for number, assertion in enumerate(ASSERTIONS):
        (root / f"test_{number}.py").write_text(HEAD.format(assertion=assertion))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "suspectra", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=root, capture_output=True, timeout=120, check=False)
    found = RecordingSource(root).read().stacks
    return {assertion: found[f"test_{number}.py::test_one"] for number, assertion in enumerate(ASSERTIONS)}


@pytest.mark.parametrize("assertion", ASSERTIONS)
def test_what_was_compared(stacks, assertion):
    found = ComparedValues.from_stack(stacks[assertion])
    print(stacks[assertion])
    wanted = ASSERTIONS[assertion]
    if "'x' * 200" in assertion:
        assert found is not None
        assert found.part == "line"
    else:
        assert (str(found) if found else None) == wanted
