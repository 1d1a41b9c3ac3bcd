"""Tests that a change reaches though they execute nothing of it: by shared state, and by text that they read."""

import io

import pytest

from suspectra.recording import launch
from suspectra.selection.selection import select

CONFTEST = """
import pytest

STATE = {}

def pytest_collect_file(parent, file_path):
    if file_path.suffix == ".steps":
        return Steps.from_parent(parent, path=file_path)

class Steps(pytest.File):
    def collect(self):
        for line in self.path.read_text().splitlines():
            yield Step.from_parent(self, name=line)

class Step(pytest.Item):
    def runtest(self):
        import shop
        getattr(shop, self.name)()
"""
SHOP = """
import ast, inspect, linecache

def one():
    return 1

def two():
    return 2

def read(function):
    return inspect.getsource(function)

def lines(function):
    return linecache.getline(function.__code__.co_filename, function.__code__.co_firstlineno)

def unrelated():
    return 4
"""
TESTS = """
import ast, inspect
import shop

def helper(function):
    return ast.parse(open(function.__code__.co_filename).read())

def test_source():
    assert inspect.getsource(shop.two)

def test_through_program():
    assert shop.read(shop.two)

def test_through_lines():
    assert shop.lines(shop.two)

def test_other():
    assert shop.unrelated() == 4
"""


def record(folder, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return launch.run(["pytest", "-q", "-p", "no:cacheprovider", *arguments], folder, report=io.StringIO())


@pytest.fixture
def project(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "a.steps").write_text("one\ntwo\nunrelated\n")
    (tmp_path / "b.steps").write_text("unrelated\n")
    return tmp_path


def test_items_of_a_file_that_is_no_python_run_together_or_not_at_all(project):
    assert record(project) == 0
    (project / "shop.py").write_text(SHOP.replace("return 1", "return 1 + 0"))
    selection = select(str(project))
    assert set(selection.affected) == {"a.steps::one", "a.steps::two", "a.steps::unrelated"}
    assert selection.affected["a.steps::two"] == ("a.steps: its tests share their state",)
    assert set(selection.left_out) == {"b.steps::unrelated"}


@pytest.mark.parametrize("line", ["return 1 + 1", "return 2  # two"])
def test_who_reads_the_text_of_a_source_is_reached_by_its_changes(project, line):
    tests = TESTS[: TESTS.index("def helper")] + TESTS[TESTS.index("def test_source") :]
    (project / "test_shop.py").write_text(tests)
    assert record(project, "test_shop.py") == 0
    (project / "shop.py").write_text(SHOP.replace("return 2", line))
    selection = select(str(project))
    assert set(selection.affected) == {
        f"test_shop.py::test_{name}" for name in ("source", "through_program", "through_lines")
    }
    assert set(selection.left_out) == {"test_shop.py::test_other"}


def test_who_reads_sources_is_not_reached_again_by_what_others_have_not_run_with(project):
    (project / "test_shop.py").write_text(
        TESTS.replace("def test_other", "def test_plain():\n    pass\n\ndef test_other")
    )
    assert record(project, "test_shop.py") == 0
    (project / "shop.py").write_text(SHOP.replace("return 2", "return 1 + 1"))
    assert record(project, "test_shop.py::test_source", "test_shop.py::test_through_lines") == 0
    affected = select(str(project)).affected
    assert not affected.keys() & {"test_shop.py::test_source", "test_shop.py::test_through_lines"}
    assert "test_shop.py::test_through_program" in affected


def test_a_helper_that_reads_sources_counts_for_all_tests_of_its_file(project):
    (project / "test_shop.py").write_text(TESTS)
    assert record(project, "test_shop.py") == 0
    (project / "shop.py").write_text(SHOP.replace("return 2", "return 1 + 1"))
    assert len(select(str(project)).affected) == 4
