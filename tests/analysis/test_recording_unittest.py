"""unittest as it is, recorded: real runs, by an interpreter that has no pytest where that matters."""

import io
import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from suspectra.evidence.recording import RecordingSource
from suspectra.localizer import Localizer
from suspectra.recording.launch import run
from suspectra.techniques import make_technique

FIXTURE = Path(__file__).parents[1] / "fixtures" / "recording" / "unittests"


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """An interpreter that has the standard library alone."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False)
    python = str(folder / "bin" / "python")
    assert subprocess.run([python, "-c", "import pytest"], capture_output=True, check=False).returncode == 1
    return python


@pytest.fixture
def shop(tmp_path, monkeypatch):
    for path in FIXTURE.rglob("*.py"):
        (tmp_path / path.relative_to(FIXTURE)).parent.mkdir(exist_ok=True)
        (tmp_path / path.relative_to(FIXTURE)).write_text(path.read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(folder, python, *command, **options):
    reported = io.StringIO()
    status = run(command, folder, python=python, report=reported, **options)
    return status, reported.getvalue()


def verdicts(folder):
    return {test.name: test.verdict.value for test in RecordingSource(folder).read().tests}


def lines(folder):
    evidence = RecordingSource(folder).read()
    elements = evidence.elements
    return {
        test.name: {(elements.files[elements.file[i]], int(elements.line[i])) for i in row.tolist()}
        for test, row in zip(evidence.tests, evidence.rows, strict=True)
    }


def stacks(folder):
    return dict(RecordingSource(folder).read().stacks)


EXPECTED = {
    "TestPrice::test_two": "passed",
    "TestPrice::test_three": "failed",
    "TestPrice::test_negative": "passed",
    "TestPrice::test_sub": "failed",
    "TestPrice::test_skipped": "skipped",
    "TestPrice::test_expected": "xfailed",
    "TestPrice::test_unexpected": "failed",
    "TestPrice::test_cleanup": "failed",
    "TestStock::test_a": "passed",
    "TestStock::test_b": "failed",
    "TestBroken::test_a": "error",
    "TestBroken::test_b": "error",
    "TestSkippedClass::test_a": "skipped",
    "TestTearDown::test_a": "passed",
    "TestTearDown::tearDownClass": "error",
    "TestAsync::test_await": "failed",
}


def test_every_kind_of_test_has_its_verdict_and_what_it_ran_without_pytest(shop, bare):
    status, reported = record(shop, bare, "python", "-m", "unittest")
    assert status == 1
    assert "recorded 16 tests" in reported
    assert verdicts(shop) == {f"tests/test_shop.py::{name}": verdict for name, verdict in EXPECTED.items()}
    evidence = RecordingSource(shop).read()
    assert evidence.problems == ()
    messages = {test.name.partition("::")[2]: test.message for test in evidence.tests}
    assert messages["TestPrice::test_sub"] == "(n=3) AssertionError: 0 != 6"
    assert messages["TestBroken::test_b"] == "ZeroDivisionError: division by zero"
    ran = {name.partition("::")[2]: {line for _, line in places} for name, places in lines(shop).items()}
    assert ran["TestPrice::test_three"] == ran["TestAsync::test_await"] == {2, 4, 5}
    assert ran["TestPrice::test_negative"] == {2, 3}
    assert ran["TestStock::test_a"] == {9}  # of its class's setup
    assert ran["TestBroken::test_a"] == ran["TestBroken::test_b"] == {12}
    first = Localizer(make_technique("ochiai")).update(evidence).suspects(top=1)[0].location
    assert (first.file, first.line) == ("shop.py", 5)


@pytest.mark.slow
def test_names_verdicts_and_lines_are_those_of_pytest(shop, bare, tmp_path_factory):
    record(shop, bare, "python", "-m", "unittest")
    mine, ran, failed = verdicts(shop), lines(shop), stacks(shop)
    record(shop, sys.executable, "pytest", "-q", "-p", "no:cacheprovider")
    theirs, theirs_ran, theirs_failed = verdicts(shop), lines(shop), stacks(shop)
    # pytest has no name for a teardown that fails: the last test of the class has it
    own = {"tests/test_shop.py::TestTearDown::tearDownClass", "tests/test_shop.py::TestTearDown::test_a"}
    assert {n: v for n, v in mine.items() if n not in own} == {n: v for n, v in theirs.items() if n not in own}
    reported = own | {"tests/test_shop.py::TestPrice::test_unexpected"}  # no exception, but pytest makes one of it
    assert {n: s for n, s in failed.items() if n not in reported} == {
        n: s for n, s in theirs_failed.items() if n not in reported
    }
    assert str(failed["tests/test_shop.py::TestBroken::test_b"]).startswith(
        "ZeroDivisionError: division by zero at shop.py:"
    )
    # what a setup that fails executed is evidence of every test that it kept from running; pytest gives it to the first
    own |= {"tests/test_shop.py::TestBroken::test_b"}
    assert {n: r for n, r in ran.items() if n not in own} == {n: r for n, r in theirs_ran.items() if n not in own}


@pytest.mark.parametrize(
    ("command", "recorded"),
    [
        (["python", "-m", "unittest", "tests.test_shop.TestStock"], 2),
        (["python", "-m", "unittest", "-k", "test_a", "-q"], 6),
        (["python", "-m", "unittest", "discover", "-s", "tests", "-t", "."], 16),
        (["python", "run.py"], 2),
        (["python", "tests/test_shop.py", "TestStock"], 2),
        (["python", "-m", "checks"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_other_ways_to_run_unittest(shop, bare, monkeypatch, command, recorded):
    monkeypatch.setenv("PYTHONPATH", str(shop))
    (shop / "run.py").write_text(
        "import unittest\nfrom tests import test_shop\n"
        "suite = unittest.defaultTestLoader.loadTestsFromTestCase(test_shop.TestStock)\n"
        "unittest.TextTestRunner().run(suite)\n"
    )
    (shop / "checks").mkdir()
    (shop / "checks" / "stock.py").write_text((shop / "run.py").read_text())
    (shop / "checks" / "__main__.py").write_text("from checks import stock\n")
    record(shop, bare, *command)
    assert len(RecordingSource(shop).read().tests) == recorded


CHECKS = """
import unittest
from shop.price import total

def prices():
    return [1, 2]

class Totals(unittest.TestCase):
    def test_two(self):
        self.assertEqual(total(prices()), 3)

    def test_none(self):
        self.assertEqual(total([]), 0)
"""
KATA = """
import unittest

def total(prices):
    return sum(prices) - 1

class Totals(unittest.TestCase):
    def test_two(self):
        self.assertEqual(total([1, 2]), 3)

if __name__ == "__main__":
    unittest.main()
"""
TOTAL = "def total(prices):\n    last = len(prices) - 1\n    return sum(prices[:last])\n"


@pytest.mark.parametrize(
    "command",
    [
        "python -m unittest checks",
        "python -m unittest checks.Totals.test_two checks.Totals.test_none",
        "python -m unittest discover -p check*.py",
        "python -m pytest -q -p no:cacheprovider checks.py",
        "python -m pytest -q -p no:cacheprovider -o python_files=check*.py",
    ],
)
def test_a_module_with_tests_of_other_code_is_test_code_whatever_it_is_called(tmp_path, monkeypatch, command):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "price.py").write_text(TOTAL)
    (tmp_path / "checks.py").write_text(CHECKS)
    monkeypatch.chdir(tmp_path)
    assert record(tmp_path, sys.executable, *command.split())[0] == 1
    evidence = RecordingSource(tmp_path).read()
    assert {file.path: file.is_test for file in evidence.files if "checks" in file.path}.get("checks.py", True)
    assert set(lines(tmp_path)["checks.py::Totals::test_two"]) >= {("shop/price.py", 2), ("shop/price.py", 3)}
    suspects = Localizer(make_technique("evidence")).update(evidence).suspects(top=100)
    assert {suspect.location.file for suspect in suspects} == {"shop/price.py"}


@pytest.mark.slow
def test_a_module_with_tests_of_other_code_is_not_altered(tmp_path, monkeypatch):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "price.py").write_text(TOTAL)
    (tmp_path / "checks.py").write_text(CHECKS)
    monkeypatch.chdir(tmp_path)
    record(tmp_path, sys.executable, "python", "-m", "unittest", "checks")
    command = [sys.executable, "-m", "suspectra", "investigate"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "repairs 1 test" in shown.stdout
    assert not [line for line in shown.stderr.splitlines() if line.startswith("checks.py:")]


@pytest.mark.parametrize("command", ["python -m unittest kata", "python -m pytest -q kata.py"])
def test_a_module_that_has_what_it_tests_is_ranked(tmp_path, monkeypatch, command):
    (tmp_path / "kata.py").write_text(KATA)
    monkeypatch.chdir(tmp_path)
    record(tmp_path, sys.executable, *command.split())
    suspects = Localizer(make_technique("ochiai")).update(RecordingSource(tmp_path).read()).suspects(top=100)
    assert ("kata.py", 5) in {(suspect.location.file, suspect.location.line) for suspect in suspects}


CASES = """
import unittest

def double(n):
    return n * 2 if n < 2 else n * 3

class Doubles(unittest.TestCase):
    n = 0

    def test_double(self):
        self.assertEqual(double(self.n), self.n + self.n)

def load_tests(loader, tests, pattern):
    for n in 1, 2, 3:
        case = Doubles("test_double")
        case.n = n
        tests.addTest(case)
    return tests
"""


def test_cases_of_one_method_are_tests_of_their_own(tmp_path, bare, monkeypatch):
    (tmp_path / "test_double.py").write_text(CASES)
    monkeypatch.chdir(tmp_path)
    _, reported = record(tmp_path, bare, "python", "-m", "unittest")
    assert "recorded 4 tests" in reported
    name = "test_double.py::Doubles::test_double"
    expected = {name: "passed", f"{name}[1]": "passed", f"{name}[2]": "failed", f"{name}[3]": "failed"}
    assert verdicts(tmp_path) == expected
    _, reported = record(tmp_path, bare, "python", "-m", "unittest", failed_and_affected=True)
    assert "recorded 2 tests" in reported
    assert verdicts(tmp_path) == expected


def test_a_class_whose_setup_fails_leaves_others_of_its_name_alone(tmp_path, bare, monkeypatch):
    (tmp_path / "test_made.py").write_text(
        "import unittest\n\n\ndef made(method, error):\n"
        "    class Made(unittest.TestCase):\n        @classmethod\n        def setUpClass(cls):\n"
        "            if error:\n                raise error\n\n"
        "    setattr(Made, method, lambda self: None)\n    return Made\n\n\n"
        "A = made('test_a', None)\nB = made('test_b', ValueError('no'))\nC = made('test_c', unittest.SkipTest('no'))\n"
    )
    monkeypatch.chdir(tmp_path)
    _, reported = record(tmp_path, bare, "python", "-m", "unittest")
    name = "test_made.py::made::<locals>::Made::test_"
    assert verdicts(tmp_path) == {f"{name}a": "passed", f"{name}b": "error", f"{name}c": "skipped"}
    assert "recorded 3 tests" in reported


@pytest.mark.slow
def test_a_part_of_the_tests_leaves_the_others_as_they_were(shop, bare):
    record(shop, bare, "python", "-m", "unittest")
    before = verdicts(shop)
    record(shop, bare, "python", "-m", "unittest", "tests.test_shop.TestPrice.test_two")
    assert verdicts(shop) == before
    path = shop / "tests" / "test_shop.py"
    path.write_text(path.read_text().replace("def test_two", "def test_renamed"))
    record(shop, bare, "python", "-m", "unittest", "tests.test_shop.TestStock")
    assert "tests/test_shop.py::TestPrice::test_two" in verdicts(shop)
    record(shop, bare, "python", "-m", "unittest")
    assert "tests/test_shop.py::TestPrice::test_two" not in verdicts(shop)
    assert "tests/test_shop.py::TestPrice::test_renamed" in verdicts(shop)


def test_a_module_that_cannot_be_imported_is_recorded_as_with_pytest(shop, bare):
    (shop / "tests" / "test_bad.py").write_text("\nimport no_such_module\n")
    _, reported = record(shop, bare, "python", "-m", "unittest")
    (error,) = RecordingSource(shop).read().collection_errors
    assert (error.collector, error.exception) == ("tests/test_bad.py", "ModuleNotFoundError")
    assert error.place == "tests/test_bad.py:2"
    assert "tests/test_bad.py could not be collected" in reported
    assert len(verdicts(shop)) == 16
    (shop / "tests" / "test_bad.py").write_text("")
    record(shop, bare, "python", "-m", "unittest")
    assert RecordingSource(shop).read().collection_errors == ()


@pytest.mark.parametrize(
    "command", [["python", "-m", "unittest"], ["python", "-m", "unittest", "discover", "pkg", "-t", "."]]
)
def test_a_package_that_could_not_be_imported_is_no_error_once_it_can(tmp_path, bare, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "test_inside.py").write_text(
        "import unittest\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        pass\n"
    )
    (package / "__init__.py").write_text("x = (\n")
    record(tmp_path, bare, *command)
    (error,) = RecordingSource(tmp_path).read().collection_errors
    assert error.file == "pkg/__init__.py"
    (package / "__init__.py").write_text("x = 1\n")
    assert record(tmp_path, bare, *command)[0] == 0
    assert RecordingSource(tmp_path).read().collection_errors == ()
    assert verdicts(tmp_path) == {"pkg/test_inside.py::T::test": "passed"}


def test_a_name_that_could_not_be_found_is_no_error_once_it_can(tmp_path, bare, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["python", "-m", "unittest", "more.test_later"]
    record(tmp_path, bare, *command)
    assert len(RecordingSource(tmp_path).read().collection_errors) == 1
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "test_later.py").write_text("")
    record(tmp_path, bare, *command)
    assert RecordingSource(tmp_path).read().collection_errors == ()


@pytest.mark.slow
def test_what_setups_and_loaders_of_modules_raise_is_recorded(shop, bare):
    tests = shop / "tests"
    (tests / "test_load.py").write_text("def load_tests(loader, tests, pattern):\n    raise ValueError('no list')\n")
    case = "class TestIt(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): pass\n"
    for name in ("setUpModule", "tearDownModule"):
        text = f"import unittest\n\n\ndef {name}():\n    raise OSError('no database')\n\n\n{case}"
        (tests / f"test_{name.lower()}.py").write_text(text)
    command = ("python", "-m", "unittest")
    record(shop, bare, *command, "tests.test_load", "tests.test_setupmodule", "tests.test_teardownmodule")
    evidence = RecordingSource(shop).read()
    (error,) = evidence.collection_errors
    assert str(error) == "tests/test_load.py:2: ValueError: no list"
    setup, teardown = ("tests/test_setupmodule.py::TestIt::", "tests/test_teardownmodule.py::TestIt::")
    broken = "OSError: no database"
    assert {test.name: (test.verdict.value, test.message) for test in evidence.tests} == {
        **{f"{setup}test_{x}": ("error", broken) for x in "ab"},
        **{f"{teardown}test_{x}": ("passed", "") for x in "ab"},
        "tests/test_teardownmodule.py::tearDownModule": ("error", broken),
    }

    # it stays where the module is left out, and goes once one of its tests runs without it
    (shop / "only").write_text(f"{setup}test_a\n")
    record(shop, bare, *command, only=shop / "only")
    assert "tests/test_teardownmodule.py::tearDownModule" in verdicts(shop)
    path = tests / "test_teardownmodule.py"
    path.write_text(path.read_text().replace("raise", "return"))
    (shop / "only").write_text(f"{teardown}test_a\n")
    record(shop, bare, *command, only=shop / "only")
    assert "tests/test_teardownmodule.py::tearDownModule" not in verdicts(shop)
    record(shop, bare, *command, failed_and_affected=True)
    assert "tests/test_teardownmodule.py::tearDownModule" not in verdicts(shop)


@pytest.mark.slow
def test_a_class_that_is_named_is_no_module_that_fails(shop, bare):
    _, reported = record(
        shop, bare, "python", "-m", "unittest", "tests.test_shop.TestStock", "tests.test_shop.TestNone"
    )
    (error,) = RecordingSource(shop).read().collection_errors
    assert (error.collector, error.exception) == ("tests/test_shop.py::TestNone", "AttributeError")
    assert "no attribute 'TestNone'" in reported
    record(shop, bare, "python", "-m", "unittest", "tests.test_shop.TestStock")
    assert len(RecordingSource(shop).read().tests) == 2
    (shop / "tests" / "test_bad.py").write_text("\nimport no_such_module\n")
    record(shop, bare, "python", "-m", "unittest", "tests.test_bad")
    assert "tests/test_bad.py" in {e.collector for e in RecordingSource(shop).read().collection_errors}
    record(shop, bare, "python", "-m", "unittest", "tests.test_shop")
    assert {e.collector for e in RecordingSource(shop).read().collection_errors} == {"tests/test_bad.py"}


def test_only_failed_and_affected_tests_run(shop, bare):
    record(shop, bare, "python", "-m", "unittest")
    before = RecordingSource(shop).read()
    path = shop / "shop.py"
    path.write_text(path.read_text().replace('return {"a": 1}', 'return {"a": 1, "b": 2}'))
    _, reported = record(shop, bare, "python", "-m", "unittest", failed_and_affected=True)
    again = RecordingSource(shop).read()
    assert {test.name for test in again.tests} == {test.name for test in before.tests}
    passed = {"tests/test_shop.py::TestPrice::test_two", "tests/test_shop.py::TestPrice::test_negative"}
    old, new = ({r.result.name: r.time for r in e.runs} for e in (before, again))
    assert {name for name in old if old[name] == new[name]} >= passed
    assert new["tests/test_shop.py::TestStock::test_a"] > old["tests/test_shop.py::TestStock::test_a"]
    assert "reached by what changed" in reported


def test_a_run_without_tests_says_why(shop, bare):
    status, reported = record(shop, bare, "python", "-m", "unittest", "-k", "nothing")
    assert status == (5 if sys.version_info >= (3, 12) else 0)
    assert reported.splitlines()[-1] == "suspectra: no tests were run"
    assert "in this process" not in reported


def test_a_run_that_needs_no_test_is_a_success(tmp_path, bare, monkeypatch):
    (tmp_path / "test_sum.py").write_text(
        "import unittest\n\nclass Sums(unittest.TestCase):\n    def test(self):\n        self.assertEqual(1 + 1, 2)\n"
    )
    monkeypatch.chdir(tmp_path)
    record(tmp_path, bare, "python", "-m", "unittest")
    status, reported = record(tmp_path, bare, "python", "-m", "unittest", failed_and_affected=True)
    assert status == 0
    assert reported.splitlines()[-1].startswith("suspectra: recorded 0 tests")


def test_chosen_tests_run_alone_and_say_how_they_get_on(shop, bare):
    record(shop, bare, "python", "-m", "unittest")
    before = {r.result.name: r.time for r in RecordingSource(shop).read().runs}
    chosen = {"tests/test_shop.py::TestStock::test_b", "tests/test_shop.py::TestPrice::test_two"}
    (shop / "only").write_text("".join(f"{name}\n" for name in chosen))
    (shop / "progress").touch()
    record(shop, bare, "python", "-m", "unittest", only=shop / "only", progress=shop / "progress")
    after = {r.result.name: r.time for r in RecordingSource(shop).read().runs}
    assert after.keys() == before.keys()
    assert {name for name in after if after[name] != before[name]} == chosen
    events = [json.loads(line) for line in (shop / "progress").read_text().splitlines()]
    assert events[0] == {"tests": 2}
    assert sorted(event["failed"] for event in events[1:]) == [False, True]


def test_what_unittest_prints_and_its_status_stay_as_they_are(shop, bare, capfd):
    plain = subprocess.run([bare, "-m", "unittest"], capture_output=True, text=True, check=False, cwd=shop)
    status, _ = record(shop, bare, "python", "-m", "unittest")
    out, err = capfd.readouterr()

    def steady(text):
        return [line for line in text.splitlines() if not line.startswith("Ran ") and "frozen" not in line]

    assert (status, out) == (plain.returncode, plain.stdout)
    assert steady(err) == steady(plain.stderr)


FAILING_RECORDER = """
import unittest
from suspectra_recorder.pytest.fixture_dependencies import TestFiles
from suspectra_recorder.recorder import Recorder

def fail(*arguments):
    raise RuntimeError("a fault of the recorder")

begin, fails = Recorder.begin, iter([fail])
Recorder.begin = lambda self: next(fails, begin)(self)
Recorder.end_setup = TestFiles.imported = fail

class Tests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ready = True

    def test_one(self):
        self.assertTrue(self.ready)

    def test_two(self):
        self.assertFalse(self.ready)
"""


def test_an_error_of_the_recorder_changes_no_run_and_is_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_it.py").write_text(FAILING_RECORDER)
    command = [sys.executable, "-m", "unittest"]
    plain = subprocess.run(command, capture_output=True, text=True, check=False)
    done = subprocess.run(
        [sys.executable, "-m", "suspectra", "record", "--", *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == plain.returncode == 1
    ran = "Ran 2 tests"
    assert done.stderr.partition(ran)[0] == plain.stderr.partition(ran)[0]
    assert "FAILED (failures=1)" in done.stderr
    evidence = RecordingSource(tmp_path).read()
    assert [test.name for test in evidence.tests] == ["test_it.py::Tests::test_two"]
    (problem,) = (problem for problem in evidence.problems if problem.file == ".suspectra/recording")
    assert problem.place == "_handleModuleFixture"
    assert problem.cause.endswith("(and so it is with 3 others)")  # _handleClassSetUp, run, and the end
