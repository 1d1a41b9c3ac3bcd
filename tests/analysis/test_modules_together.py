"""Failing tests of several modules: one process collects them all, unless they can't be collected together."""

import sys
from contextlib import closing

import pytest

from suspectra.base.errors import EvidenceError
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")
STARTS = "from pathlib import Path\n\nwith Path(__file__).with_name('starts').open('a') as file:\n    file.write('x')\n"
TEST = "def test_it():\n    assert 1 + 1 == 3\n"


def failing(*names):
    return [FailingTest(f"{name}::test_it", name) for name in names]


def repeated(folder, tests):
    return closing(RepeatedTests(PYTEST, folder, tests))


@pytest.mark.slow
def test_one_process_collects_all_modules_of_failing_tests(tmp_path):
    (tmp_path / "conftest.py").write_text(STARTS)
    for name in "abc":
        (tmp_path / f"test_{name}.py").write_text(TEST)
    tests = failing("test_a.py", "test_b.py")
    with repeated(tmp_path, tests) as running:
        found = [running[test.name] for test in tests]
        assert found[0].runs is found[1].runs
        assert all(test.trace.answer.exception == "AssertionError" for test in found)
        assert running.runs("test_b.py::test_it")
    assert (tmp_path / "starts").read_text() == "x"


@pytest.mark.slow
def test_modules_that_get_into_the_way_of_each_other_are_collected_apart(tmp_path):
    for folder in ("one", "two"):  # pytest refuses the second of two modules with the same name
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "test_same.py").write_text(TEST)
    (tmp_path / "test_broken.py").write_text("import nowhere\n")
    tests = failing("one/test_same.py", "two/test_same.py")
    with repeated(tmp_path, tests) as running:
        assert running[tests[0].name].runs is not running[tests[1].name].runs
        assert not running.notices
    tests = failing("one/test_same.py", "test_broken.py")
    with repeated(tmp_path, tests) as running:
        assert running[tests[0].name].trace.answer.exception == "AssertionError"
        with pytest.raises(EvidenceError, match="No module named 'nowhere'"):
            running[tests[1].name]
