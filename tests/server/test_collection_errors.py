"""What keeps tests from being collected, as an editor learns of it: diagnostics, status and the list for a view."""

import json
import sys

import pytest

from suspectra_recorder.log.collection import CollectionError, environment_of

ERROR = 1


@pytest.fixture
def broken(shop, record):
    """The shop with a module that can't be imported any more, and a test file of its own for it."""
    (shop / "shop/returns.py").write_text('"""Returns."""\n\nimport no_such_module\n')
    (shop / "tests/test_returns.py").write_text("from shop import returns\n\ndef test_it():\n    assert returns\n")
    assert record(shop).returncode == 2
    return shop


def errors_on(client, path):
    return [d for d in client.diagnostics.get(path.as_uri(), ()) if d.get("code") == "collection-error"]


@pytest.mark.slow
def test_an_error_is_on_its_line_and_in_the_list_and_goes_when_fixed(client, broken, record):
    client.start(broken)
    path, test = broken / "shop/returns.py", broken / "tests/test_returns.py"
    client.wait(lambda: errors_on(client, path))
    (reported,) = errors_on(client, path)
    assert reported["severity"] == ERROR
    assert reported["range"] == {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 21}}
    assert reported["message"].splitlines() == [
        "ModuleNotFoundError: No module named 'no_such_module'",
        "tests/test_returns.py could not be collected.",
    ]
    status = client.statuses[-1]
    assert (status["state"], status["collectionErrors"]) == ("ready", 1)
    assert "1 collection error" in status["message"]
    found = client.suspects()
    assert found["suspects"]  # of the run before
    assert found["collectionErrors"] == [
        {
            "collector": "tests/test_returns.py",
            "exception": "ModuleNotFoundError",
            "message": "No module named 'no_such_module'",
            "folder": broken.as_uri(),
            "uri": path.as_uri(),
            "range": reported["range"],
            "file": "shop/returns.py",
            "line": 3,
            "test": test.as_uri(),
            "missing": "no_such_module",
            "missingPackage": "no_such_module",
            "environment": environment_of(sys.executable, str(broken)),
        }
    ]
    # it moves with the text, and goes when its line is edited
    uri = client.open(path)
    client.edit(uri, (0, 0), (0, 0), "# new\n")
    client.wait(lambda: [d["range"]["start"]["line"] for d in errors_on(client, path)] == [3])
    client.edit(uri, (3, 0), (3, 21), "import json")
    client.wait(lambda: not errors_on(client, path))
    (left,) = client.suspects()["collectionErrors"]
    assert (left["uri"], left["range"]) == (uri, None)
    path.write_text("import json\n")
    assert record(broken).returncode == 1
    client.wait(lambda: client.statuses[-1]["collectionErrors"] == 0)
    assert client.suspects()["collectionErrors"] == []


@pytest.mark.slow
def test_one_line_has_one_error_however_many_files_meet_it(client, broken, record):
    (broken / "tests/test_more.py").write_text("import shop.returns\n")
    record(broken)
    client.start(broken)
    path = broken / "shop/returns.py"
    client.wait(lambda: errors_on(client, path))
    assert len(errors_on(client, path)) == 1
    assert "and 1 more file could not be collected" in errors_on(client, path)[0]["message"]
    assert client.statuses[-1]["collectionErrors"] == 2


@pytest.mark.slow
def test_a_first_run_without_any_test_says_why(client, tmp_path, record):
    (tmp_path / "test_a.py").write_text("x = = 1\n")
    assert record(tmp_path).returncode == 2
    client.start(tmp_path)
    client.wait(lambda: errors_on(client, tmp_path / "test_a.py"))
    status = client.statuses[-1]
    assert status["state"] == "error"
    assert status["message"] == "test_a.py could not be collected: test_a.py:1: SyntaxError: invalid syntax"
    assert not client.messages  # the view has a card for it

    # repaired by another program, it goes: the text can be parsed again
    (tmp_path / "test_a.py").write_text("x = 1\n")
    changed = {"uri": (tmp_path / "test_a.py").as_uri(), "type": 2}
    client.notify("workspace/didChangeWatchedFiles", {"changes": [changed]})
    client.wait(lambda: client.statuses[-1]["collectionErrors"] == 0)
    assert client.statuses[-1]["state"] == "stale"
    assert client.statuses[-1]["message"] == "test_a.py was repaired since. Run the tests again"
    assert client.suspects()["collectionErrors"] == []
    (tmp_path / "test_a.py").write_text("x = = 2\n")
    client.notify("workspace/didChangeWatchedFiles", {"changes": [changed]})
    client.wait(lambda: client.statuses[-1]["collectionErrors"] == 1)


def test_a_mistake_on_the_command_line_is_in_the_list_without_a_place(client, shop, record):
    assert record(shop, "--no-such-option").returncode == 4
    client.start(shop)
    client.wait(lambda: client.statuses and client.statuses[-1]["collectionErrors"] == 1)
    (error,) = client.suspects()["collectionErrors"]
    assert (error["collector"], error["uri"], error["range"], error["test"]) == ("", None, None, None)
    assert error["message"] == "unrecognized arguments: --no-such-option"
    assert client.suspects()["suspects"]


@pytest.mark.slow
def test_foreign_text_is_shown_as_text(client, tmp_path, record):
    (tmp_path / "test_a.py").write_text("raise ValueError('\\x1b[31m\\u202ered ' + 'x' * 5000)\n")
    record(tmp_path)
    client.start(tmp_path)
    client.wait(lambda: errors_on(client, tmp_path / "test_a.py"))
    reported = json.dumps([errors_on(client, tmp_path / "test_a.py"), client.suspects()["collectionErrors"]])
    assert "\\u001b" not in reported
    assert "\\u202e" not in reported
    assert len(reported) < 5000


def test_a_run_that_failed_as_a_whole_is_no_collection_error(client, shop, record):
    (shop / "conftest.py").write_text("def pytest_runtest_logfinish():\n    raise RecursionError('no clock')\n")
    record(shop)
    client.start(shop)
    assert client.suspects()["collectionErrors"][0]["collector"] == ""
    said = client.statuses[-1]["message"]
    assert "the test run failed" in said
    assert "collection error" not in said


@pytest.mark.parametrize(
    ("exception", "message", "module", "package"),
    [
        ("ModuleNotFoundError", "No module named 'yaml'", "yaml", "PyYAML"),
        ("ModuleNotFoundError", "No module named 'test2ref.core'", "test2ref.core", "test2ref"),
        ("UsageError", "unrecognized arguments: --cov=shop --cov-report=html", "", "pytest-cov"),
        ("UsageError", "unrecognized arguments: -n 4", "", "pytest-xdist"),
        ("UsageError", "Missing required plugins: pytest-mock", "", "pytest-mock"),
        ("UsageError", "unrecognized arguments: --no-such-option", "", ""),
        ("ValueError", "No module named 'x'", "", ""),
    ],
)
def test_what_is_not_installed_is_named_as_pip_names_it(exception, message, module, package):
    error = CollectionError("test_a.py", exception, message)
    assert (error.missing_module, error.missing_package) == (module, package)


@pytest.mark.slow
def test_the_other_tests_run_although_a_file_can_not_be_collected(client, broken):
    client.start(broken)
    client.wait(lambda: client.statuses[-1]["collectionErrors"] == 1)
    recorded = sum(client.statuses[-1][name] for name in ("failed", "passed"))
    runs = len(client.statuses)
    assert client.command("runTests", [broken.as_uri()], {}, True) is True
    client.wait(lambda: any(status["state"] == "runningTests" for status in client.statuses[runs:]))
    client.wait(lambda: client.statuses[-1]["state"] in ("ready", "stale"))
    assert sum(client.statuses[-1][name] for name in ("failed", "passed")) == recorded
    (run,) = client.request("suspectra/testResults")
    assert {test["verdict"] for test in run["tests"]} == {"passed", "failed"}


@pytest.mark.slow
def test_a_run_elsewhere_takes_the_place_of_one_that_could_not_collect(client, tmp_path, record):
    (tmp_path / "shop.py").write_text("def price():\n    return 1\n")
    test = tmp_path / "test_shop.py"
    test.write_text("import no_such_module\n")
    client.start(tmp_path)
    assert client.command("runTests") is True
    client.wait(lambda: any("Fix: install " in one["message"] for one in client.logged))
    client.wait(lambda: client.statuses[-1]["collectionErrors"])
    assert client.suspects()["failedRuns"] == []  # its card is that of the error
    test.write_text("import shop\n\n\ndef test_it():\n    assert shop.price() == 2\n")
    assert record(tmp_path).returncode == 1
    client.wait(lambda: client.statuses[-1]["state"] == "ready" and client.statuses[-1]["failed"] == 1)
    assert client.suspects()["failedRuns"] == []
