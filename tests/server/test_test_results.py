"""What the views of tests and explanations ask for."""

import shutil

import pytest

FAULT = "off = off - amount"
FILES = {
    "pytest.ini": "[pytest]\npythonpath = .\naddopts = --doctest-modules\n",
    "price.py": """\
def total(prices):
    \"""Add prices up.

    >>> total([2, 3])
    5
    \"""
    return sum(prices) + 1
""",
    "test_price.py": """\
from price import total


def costs(prices, expected):
    assert total(prices) == expected


def test_one():
    costs([4], 4)
""",
}


def test_an_explanation_names_every_test_that_executes_the_line(client, shop, find_line):
    client.start(shop)
    path = shop / "shop/vouchers.py"
    line = find_line(path, FAULT)
    reported = client.request("suspectra/explanation", {"uri": path.as_uri(), "line": line})
    suspect = next(s for s in client.suspects()["suspects"] if s["line"] == line + 1 and s["uri"] == path.as_uri())
    assert {name: reported[name] for name in ("score", "ef", "ep", "nf", "np")} == {
        name: suspect[name] for name in ("score", "ef", "ep", "nf", "np")
    }
    assert [test["name"] for test in reported["failing"]] == suspect["failingTests"]
    assert {test["verdict"] for test in reported["failing"]} == {"failed"}
    assert all(test["message"] for test in reported["failing"])
    assert len(reported["passing"]) == reported["ep"]
    assert {test["verdict"] for test in reported["passing"]} <= {"passed", "xpassed"}
    assert reported["location"]["source"] == path.read_text().splitlines()[line].strip()
    assert all(reported[part] for part in ("headline", "formula", "substituted"))
    assert reported["headline"] not in reported["sentences"]
    for test in (*reported["failing"], *reported["passing"]):
        function = test["name"].split("::")[-1].split("[")[0]
        file = shop / test["name"].split("::")[0]
        assert test["uri"] == file.as_uri()
        # the definition begins with its decorators
        text = file.read_text().splitlines()[test["line"] - 1]
        assert text.startswith("@") or f"def {function}(" in text


def test_an_explanation_names_as_many_tests_as_are_wanted(client, shop, find_line):
    client.start(shop)
    where = {"uri": (shop / "shop/vouchers.py").as_uri(), "line": find_line(shop / "shop/vouchers.py", FAULT)}
    reported = client.request("suspectra/explanation", {**where, "limit": 0})
    assert reported["failing"] == reported["passing"] == []
    assert reported["ef"] > 0


def test_there_is_no_explanation_off_the_ranking(client, shop, tmp_path):
    client.start(shop)
    uri = (shop / "shop/vouchers.py").as_uri()
    for where in ({"uri": uri, "line": 0}, {"uri": uri, "line": 10_000}, {"uri": tmp_path.as_uri(), "line": 0}):
        assert client.request("suspectra/explanation", where) is None


def test_an_explanation_says_what_the_reader_marked(client, shop, find_line):
    client.start(shop)
    where = {"uri": (shop / "shop/vouchers.py").as_uri(), "line": find_line(shop / "shop/vouchers.py", FAULT)}
    client.command("markExamined", *where.values())
    reported = client.request("suspectra/explanation", where)
    assert (reported["examined"], reported["innocent"]) == (True, False)
    client.command("markInnocent", *where.values())
    reported = client.request("suspectra/explanation", where)
    assert (reported["examined"], reported["innocent"]) == (True, True)


def test_results_and_coverage_agree_with_the_suspects(client, shop):
    client.start(shop)
    answer = client.suspects()
    (run,) = client.request("suspectra/testResults")
    assert run["folder"] == shop.as_uri()
    verdicts = [test["verdict"] for test in run["tests"]]
    assert (verdicts.count("failed"), verdicts.count("passed")) == (answer["failed"], answer["passed"])
    files = {file["uri"]: file for file in run["files"]}
    assert not [uri for uri in files if "/tests/" in uri]
    for suspect in answer["suspects"]:
        file = files[suspect["uri"]]
        assert 0 < file["executed"] <= file["statements"]
        by_test = {run["tests"][index]["name"] for index in file["tests"]}
        assert by_test >= set(suspect["failingTests"])
        counts = {s["line"]: s["tests"] for s in client.request("suspectra/coverage", {"uri": suspect["uri"]})}
        assert counts[suspect["line"]] == suspect["ef"] + suspect["ep"]
        for name in suspect["failingTests"]:
            own = client.request("suspectra/coverage", {"uri": suspect["uri"], "test": name})
            assert {s["line"]: s["tests"] for s in own}[suspect["line"]] == 1


def test_coverage_moves_with_edits_and_leaves_edited_statements_out(client, shop, find_line):
    client.start(shop)
    path = shop / "shop/vouchers.py"
    uri, fault = client.open(path), find_line(path, FAULT)
    before = client.request("suspectra/coverage", {"uri": uri})
    client.edit(uri, (0, 0), (0, 0), "# one\n")
    client.edit(uri, (fault + 1, 8), (fault + 1, 8), "x", version=3)
    after = client.request("suspectra/coverage", {"uri": uri})
    moved = [{**s, "line": s["line"] + 1, "endLine": s["endLine"] + 1} for s in before if s["line"] != fault + 1]
    assert after == moved


def test_a_run_without_failing_tests_has_results_too(client, shop, record):
    shutil.rmtree(shop / ".suspectra")
    (shop / "tests/test_only.py").write_text("def test_nothing():\n    pass\n")
    assert record(shop, "tests/test_only.py").returncode == 0
    client.start(shop)
    client.wait_for_state("noFailingTests")
    (run,) = client.request("suspectra/testResults")
    assert [(test["name"], test["verdict"]) for test in run["tests"]] == [
        ("tests/test_only.py::test_nothing", "passed")
    ]


def test_nothing_recorded_has_no_results(client, tmp_path):
    client.start(tmp_path)
    assert client.request("suspectra/testResults") == []
    assert client.request("suspectra/coverage", {"uri": (tmp_path / "a.py").as_uri()}) == []


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("explanation", None),
        ("explanation", {"uri": 1, "line": 0}),
        ("explanation", {"uri": "file:///a.py", "line": -1}),
        ("explanation", {"uri": "file:///a.py", "line": True}),
        ("explanation", {"uri": "file:///a.py", "line": 0, "limit": "all"}),
        ("coverage", []),
        ("coverage", {"uri": "file:///a.py", "test": 1}),
    ],
)
def test_bad_params_are_refused(client, shop, method, params):
    client.start(shop)
    with pytest.raises(client.Error, match="the params are"):
        client.request(f"suspectra/{method}", params)


def test_a_failing_test_says_where_it_failed_and_what_it_compared(client, project):
    """At its own line where a helper asserts, which has a mark, too; and at the example of a doctest."""
    client.start(project)
    client.open(project / "test_price.py")
    (run,) = client.request("suspectra/testResults")
    lines = {file: text.splitlines() for file, text in FILES.items()}
    told = {
        test["name"].partition("::")[2]: (
            lines[test["failed"]["uri"].rpartition("/")[2]][test["failed"]["range"]["start"]["line"]].strip(),
            test["compared"],
        )
        for test in run["tests"]
    }
    assert told == {
        "price.total": (">>> total([2, 3])", {"expected": "5", "actual": "6"}),
        "test_one": ("costs([4], 4)", {"expected": "4", "actual": "5"}),
    }
    marked = {
        (uri.rpartition("/")[2], one["range"]["start"]["line"] + 1): one["message"]
        for uri, diagnostics in client.diagnostics.items()
        for one in diagnostics
        if one["code"] == "failing-test"
    }
    assert marked == {
        ("price.py", 4): "price.total: expected 5, actual 6",
        ("test_price.py", 5): "test_one: expected 4, actual 5",
        ("test_price.py", 9): "test_one: expected 4, actual 5",
    }
