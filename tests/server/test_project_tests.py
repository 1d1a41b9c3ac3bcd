"""What is run where nobody has said."""

import subprocess
import sys

import pytest

from suspectra_server.session.tests.project_tests import (
    ctest_build,
    has_python_tests,
    python_command,
    unittest_command,
)
from suspectra_server.settings import Settings

UNITTEST = "import unittest\n\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 2)\n"
DJANGO = "from django.core.management import execute_from_command_line\n"
PYTEST = "import pytest\n\ndef test_a():\n    pass\n"


def project(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


ALL = ("python", "-m", "unittest")


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"test_a.py": UNITTEST}, ALL),
        ({"tests/__init__.py": "", "tests/test_a.py": UNITTEST}, ALL),
        ({"tests/test_a.py": UNITTEST}, (*ALL, "discover", "-s", "tests")),
        ({"src/a/__init__.py": "", "src/a/test_a.py": UNITTEST}, (*ALL, "discover", "-s", "src/a", "-t", "src")),
        ({"test_a.py": UNITTEST, "test_b.py": PYTEST}, None),
        ({"test_a.py": UNITTEST, "pyproject.toml": '[dependency-groups]\ndev = ["pytest"]\n'}, None),
        ({"test_a.py": UNITTEST, "tox.ini": "[pytest]\n"}, None),
        ({"test_a.py": UNITTEST, "pyproject.toml": "[tool.pytest.ini_options]\n"}, None),
        ({"test_a.py": UNITTEST, "sub/conftest.py": ""}, ALL),
        ({"test_a.py": UNITTEST, "conftest.py": ""}, None),
        ({"test_a.py": "def test_a():\n    pass\n"}, None),
        ({"manage.py": DJANGO, "cart/tests.py": "from django.test import TestCase\n"}, ("python", "manage.py", "test")),
        ({"manage.py": DJANGO, "cart/tests.py": PYTEST}, None),
        ({"manage.py": DJANGO, "cart/tests.py": "", "pytest.ini": ""}, None),
        ({"manage.py": "print()\n", "cart/tests.py": "from django.test import TestCase\n"}, None),
        ({"venv/pyvenv.cfg": "", "venv/test_a.py": PYTEST, "test_a.py": UNITTEST}, ALL),
        ({}, None),
    ],
    ids=str,
)
def test_unittest_is_chosen_where_nothing_speaks_of_pytest(tmp_path, files, command):
    assert unittest_command(project(tmp_path, files)) == command


def test_what_pytest_has_recorded_runs_by_pytest(tmp_path):
    root = project(tmp_path, {"test_a.py": UNITTEST})
    assert python_command(root, Settings(), ("python", "-m", "pytest", "-pno:x")) == (
        "python",
        "-m",
        "pytest",
        "-pno:x",
    )
    assert python_command(root, Settings(), ("python", "-m", "unittest")) == ALL
    assert python_command(root, Settings(), ()) == ALL
    assert python_command(root, Settings(test_command=("pytest",)), ()) == ("pytest",)  # it is set


def test_python_tests_and_builds_are_found(tmp_path):
    assert not has_python_tests(tmp_path)
    assert ctest_build(tmp_path) is None
    project(tmp_path, {"out/CTestTestfile.cmake": "", "src/deep/test_a.py": ""})
    assert ctest_build(tmp_path) == "out"
    (tmp_path / "out/CTestTestfile.cmake").unlink()
    project(tmp_path, {"CMakeLists.txt": "project(a)\nadd_executable(a a.c) # enable_testing()\n"})
    assert ctest_build(tmp_path) is None
    project(tmp_path, {"CMakeLists.txt": "project(a)\ninclude (CTest)\n"})
    assert ctest_build(tmp_path) == "build"
    project(tmp_path, {"out/build/debug/CTestTestfile.cmake": "", "out/build/debug/src/CTestTestfile.cmake": ""})
    assert ctest_build(tmp_path) == "out/build/debug"
    assert has_python_tests(tmp_path)


def test_tests_of_unittest_run_as_such_in_the_editor(client, tmp_path):
    project(tmp_path, {"shop.py": "def f():\n    return 1\n", "tests/test_a.py": "import shop\n" + UNITTEST})
    text = (tmp_path / "tests/test_a.py").read_text().replace("assertEqual(1, 2)", "assertEqual(shop.f(), 2)")
    (tmp_path / "tests/test_a.py").write_text(text)
    client.start(tmp_path)
    assert client.command("runTests") is True
    client.wait(lambda: client.marks(tmp_path))
    assert set(client.marks(tmp_path)) == {("shop.py", 2)}
    assert any("python -m unittest discover -s tests" in str(p) for p in client.progress)


def test_a_run_without_any_test_says_so(client, tmp_path):
    """Before Python 3.12 unittest succeeds then."""
    client.start(project(tmp_path, {"test_a.py": "import unittest\n"}))
    assert client.command("runTests") is True
    client.wait(lambda: any("no tests were found" in str(message) for message in client.logged))


@pytest.mark.slow
def test_pytest_is_started_as_it_was_recorded(client, tmp_path):
    """Tests that can import the program only where the folder is on the path, as `python -m pytest` puts it there."""
    prices = "def rate(kind):\n    found = 20\n    if kind == 'book':\n        found = 7\n    return found\n"
    tests = (
        "from shop.prices import rate\n\ndef test_food():\n    assert rate('food') == 7\n\n"
        "def test_book():\n    assert rate('book') == 7\n"
    )
    project(tmp_path, {"shop/__init__.py": "", "shop/prices.py": prices, "tests/test_prices.py": tests})
    command = [sys.executable, "-m", "suspectra", "record", "--", sys.executable, "-m", "pytest"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False).returncode == 1
    client.start(tmp_path)
    client.wait(lambda: client.marks(tmp_path))
    (tmp_path / "shop/prices.py").write_text(prices.replace("20", "30"))
    assert client.command("runTests") is True
    client.wait_for_state("runningTests")
    ended = {"kind": "end", "message": "done"}
    client.wait(lambda: ended in client.progress and client.statuses[-1]["state"] == "ready")
    assert any("python -m pytest" in str(p) for p in client.progress)
    assert ("shop/prices.py", 2) in client.marks(tmp_path)
    failing = "tests/test_prices.py::test_food"
    client.agree()
    assert "found = 30" in [step["source"] for step in client.command("findCause", None, failing)["roots"]]
    assert "-m pytest" in client.command("debugTest", tmp_path.as_uri(), failing)["commandLine"]
