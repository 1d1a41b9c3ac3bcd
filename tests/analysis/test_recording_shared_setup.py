"""What is set up for several tests counts for each of them, whichever runs first."""

import os
import shutil
import subprocess
import sys

import pytest

from suspectra.evidence.recording import RecordingSource

APP = """\
def built(kind):
    if kind == "session":
        value = 1
    elif kind == "outer":
        value = 2
    elif kind == "package":
        value = 3
    elif kind == "module":
        value = 4
    elif kind == "class":
        value = 5
    elif kind == "x":
        value = 6
    elif kind == "y":
        value = 7
    elif kind == "setup_module":
        value = 8
    elif kind == "setup_class":
        value = 9
    elif kind == "setUpModule":
        value = 10
    elif kind == "setUpClass":
        value = 11
    elif kind == "broken":
        raise ValueError(kind)
    else:
        value = 12
    return value

def used(value):
    return value

def closed():
    return None

def failing():
    raise OSError
"""
CONFTEST = """\
import app, pytest

@pytest.fixture(scope="session")
def one():
    app.built("session")
    yield 1
    app.closed()

@pytest.fixture(scope="session")
def named(request):
    app.built("outer")
    return request.getfixturevalue("one")

@pytest.fixture(scope="session")
def over():
    return app.built("package")

@pytest.fixture(scope="session", params=["x", "y"])
def either(request):
    return app.built(request.param)

@pytest.fixture(scope="session")
def broken():
    app.built("broken")
"""
PYTESTS = """\
import app, pytest

@pytest.fixture(scope="module")
def of_module(one):
    return app.built("module")

@pytest.fixture(scope="module")
def over(over):
    return app.used(over)

@pytest.fixture(scope="class")
def fails_at_the_end():
    yield
    app.failing()

def setup_module():
    app.built("setup_module")

def test_none():
    pass

def test_one(one):
    assert one == 1

def test_named(named):
    assert named == 1

def test_module(of_module):
    assert of_module == 5

def test_over(over):
    assert over == 3

def test_either(either):
    assert either == 6

def test_broken(broken, one):
    pass

def test_broken_too(one, broken):
    pass

class TestClass:
    @classmethod
    def setup_class(cls):
        app.built("setup_class")

    @pytest.fixture(scope="class")
    def of_class(self):
        return app.built("class")

    def test_first(self):
        pass

    def test_class(self, of_class):
        assert of_class == 5

    def test_both(self, of_class, over):
        assert of_class == over

def test_end(fails_at_the_end):
    pass
"""
UNITTESTS = """\
import app, unittest

def setUpModule():
    app.built("setUpModule")

def tearDownModule():
    app.closed()

class TestOne(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        app.built("setUpClass")

    @classmethod
    def tearDownClass(cls):
        app.closed()

    def test_1(self):
        app.used(1)

    def test_2(self):
        self.fail()

class TestTwo(unittest.TestCase):
    def test_1(self):
        pass

class TestThree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        app.built("broken")

    def test_1(self):
        pass

    def test_2(self):
        pass
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    for name, text in {"app": APP, "conftest": CONFTEST, "test_it": PYTESTS, "test_cases": UNITTESTS}.items():
        (folder / f"{name}.py").write_text(text)
    return folder


@pytest.fixture
def project(made, tmp_path):
    folder = tmp_path / "project"
    shutil.copytree(made, folder)
    return folder


def record(folder, *command, **environment):
    command = ["-p", "suspectra", "-q", *command] if "unittest" not in command else command
    module = [] if "unittest" in command else ["pytest"]
    environment |= {} if "-n" in command else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", *module, *command]
    if not module:
        command = [sys.executable, "-m", "suspectra", "record", "--", *command]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    return executed(folder)


def executed(folder):
    """The lines of the program that each test executes, how often, and how it ended."""
    evidence = RecordingSource(folder, edges=True).read()
    elements, times = evidence.elements, evidence.edges.counts
    found = {}
    for number, (test, row) in enumerate(zip(evidence.tests, evidence.rows, strict=True)):
        taken = evidence.edges.rows[number].tolist()
        often = [] if times is None else times[number].tolist()
        found[test.name] = test.verdict.value, tuple(elements.line[row].tolist()), tuple(taken), tuple(often)
    return found


def kinds(lines):
    text = APP.splitlines()
    return {text[line - 2].split('"')[1] for line in lines if "value =" in text[line - 1] and '"' in text[line - 2]}


SETUPS = {
    "test_none": {"setup_module"},
    "test_one": {"setup_module", "session"},
    "test_named": {"setup_module", "session", "outer"},
    "test_module": {"setup_module", "session", "module"},
    "test_over": {"setup_module", "package"},
    "test_either[x]": {"setup_module", "x"},
    "test_either[y]": {"setup_module", "y"},
    "test_first": {"setup_module", "setup_class"},
    "test_class": {"setup_module", "setup_class", "class"},
    "test_both": {"setup_module", "setup_class", "class", "package"},
    "test_end": {"setup_module"},
}


@pytest.mark.parametrize(
    "counts", [[], pytest.param(["--suspectra-counts"], marks=pytest.mark.slow)], ids=["", "counts"]
)
def test_the_order_and_the_subset_do_not_matter(project, counts):
    whole = record(project, *counts)
    short = {name.rpartition("::")[2]: found[1] for name, found in whole.items() if name.startswith("test_it")}
    assert {name: kinds(lines) for name, lines in short.items() if name in SETUPS} == SETUPS
    assert len(short) == len(SETUPS) + 2
    again = [name for name in whole if "either" not in name and "broken" not in name][::-3]
    assert record(project, *counts, *again, "test_it.py::test_broken_too", "test_it.py::test_either[y]") == whole
    shutil.rmtree(project / ".suspectra")
    parts = [["test_it.py::test_end"], ["test_it.py::TestClass::test_both", "test_it.py::test_module"]]
    backwards = sorted(whole, reverse=True)
    record(project, *counts, *backwards)
    for part in parts[: 1 if counts else 2]:
        record(project, *counts, *part, *[name for name in whole if "TestThree" in name])
    assert executed(project) == whole


@pytest.mark.slow
def test_in_workers(project):
    whole = record(project)
    shutil.rmtree(project / ".suspectra")
    assert record(project, "-n", "2", "-p", "xdist") == whole


def test_unittest_gives_the_same_as_pytest(project):
    by_pytest = record(project, "test_cases.py")
    shutil.rmtree(project / ".suspectra")
    by_unittest = record(project, "unittest", "test_cases")
    assert {name: found[1:] for name, found in by_unittest.items()} == {n: f[1:] for n, f in by_pytest.items()}
    assert kinds(by_unittest["test_cases.py::TestOne::test_2"][1]) == {"setUpModule", "setUpClass"}
    assert kinds(by_unittest["test_cases.py::TestTwo::test_1"][1]) == {"setUpModule"}
    assert record(project, "unittest", "test_cases.TestThree", "test_cases.TestOne.test_2") == by_unittest


def test_a_teardown_counts_for_the_test_that_fails_at_it_alone(project):
    whole = record(project)
    text = APP.splitlines()
    failing, closed = text.index("    raise OSError") + 1, text.index("    return None") + 1
    ends = {name for name, (_, lines, *_) in whole.items() if failing in lines}
    assert ends == {"test_it.py::test_end"}
    assert not [name for name, (_, lines, *_) in whole.items() if closed in lines]


@pytest.mark.slow
def test_what_is_wrong_in_a_shared_setup_is_found_by_mutants(project):
    (project / "test_cases.py").unlink()
    (project / "app.py").write_text(APP.replace("value = 3", "value = 30"))
    (project / "test_it.py").write_text("def test_other(over):\n    pass\n\ndef test_it(over):\n    assert over == 3\n")
    record(project)
    command = [sys.executable, "-m", "suspectra", "investigate", "--seconds", "120"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert f"app.py:{APP.splitlines().index('        value = 3') + 1}" in done.stdout, done.stdout + done.stderr
