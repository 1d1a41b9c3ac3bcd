"""A failing test beside the passing one that goes nearly the same way: on request, in a trusted workspace."""

import shutil

import pytest

from suspectra.paths.searches.techniques import TECHNIQUES
from suspectra_server.messages import ComparedRuns, RunTexts, TechniqueMessage

CODE = """\
def total(prices, member=False):
    result = 0
    for price in prices:
        result += price
    if member:
        result = discount(result)
    return result


def discount(amount):
    if amount >= 100:
        return amount - 10
    return amount
"""
TESTS = """\
from cart import total


def test_member():
    assert total([60, 40], member=True) == 100


def test_same_way():
    assert total([70, 40], member=True) == 100


def test_guest():
    assert total([60, 40]) == 100


def test_small():
    assert total([6, 4], member=True) == 10
"""
FAILING, PASSING = "test_cart.py::test_member", "test_cart.py::test_small"
DECISION = CODE.splitlines().index("    if amount >= 100:")


@pytest.fixture(scope="module")
def recorded_project(tmp_path_factory, shared_record):
    root = tmp_path_factory.mktemp("compared") / "shop"
    root.mkdir()
    (root / "cart.py").write_text(CODE)
    (root / "test_cart.py").write_text(TESTS)
    (root / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    done = shared_record(root)
    assert done.returncode == 1, done.stdout + done.stderr
    return root


@pytest.fixture
def project(recorded_project, tmp_path):
    root = tmp_path / "shop"
    shutil.copytree(recorded_project, root, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def nearest(client, uri):
    return [one for one in client.diagnostics.get(uri, ()) if one["code"] == "nearest-path"]


@pytest.mark.slow
def test_a_failing_test_is_compared_with_the_nearest_passing_one(client, project):
    client.start(project)
    uri, tests_uri = client.open(project / "cart.py"), client.open(project / "test_cart.py")
    found = client.command("comparePassing", None, FAILING)  # nobody is asked, as nothing is altered
    assert found.keys() == ComparedRuns.__annotations__.keys()
    assert (found["test"], found["passing"]) == (FAILING, PASSING)
    assert [(step["line"], step["value"]) for step in found["report"]] == [(DECISION + 1, "true, there false")]
    assert [step["source"] for step in found["after"]] == ["return amount - 10", "return amount"]
    assert found["complete"]
    same_way = "test_cart.py::test_same_way takes the very same path and passes: only values tell them apart."
    offer = f"`suspectra paths {FAILING} --technique cause-transitions` says which values make the difference."
    assert found["notes"] == [same_way, offer]
    said = f"{PASSING} passes, and goes the same way for the first 5 decisions and calls (3 passing tests compared)."
    assert client.messages[-1]["message"] == f"{said} {same_way} {offer}"
    assert any((one["investigation"] or {}).get("found") for one in client.statuses)

    # the decision has a diagnostic that names both tests, and where each goes on
    (diagnostic,) = nearest(client, uri)
    same = f"{PASSING} passes and went the same way up to here"
    assert diagnostic["message"] == f"{same}. In the failing test this is true, there false."
    assert diagnostic["range"]["start"] == {"line": DECISION, "character": 4}
    related = [(one["message"], one["location"]) for one in diagnostic["relatedInformation"]]
    assert [(text, at["uri"], at["range"]["start"]["line"]) for text, at in related] == [
        (same, tests_uri, TESTS.splitlines().index("def test_small():")),
        (f"{FAILING} fails", tests_uri, TESTS.splitlines().index("def test_member():")),
        ("the failing test goes on here", uri, DECISION + 1),
        ("the passing test goes on here", uri, DECISION + 2),
    ]

    # both runs as texts; they are those of the last comparison
    runs = len(client.messages)
    texts = client.command("compareRuns")
    assert len(client.messages) == runs
    assert texts.keys() == RunTexts.__annotations__.keys()
    assert texts["heading"] == "test_member ↔ test_small: cart.py:11 true, there false"
    failing, passing = (texts[name]["text"].splitlines() for name in ("failing", "passing"))
    assert failing[: texts["line"]] == passing[: texts["line"]]
    assert failing[texts["line"] - 1] == "        if amount >= 100:  # cart.py:11"
    assert failing[texts["line"] :] == [
        "            return amount - 10  # cart.py:12",
        "    return result  # cart.py:7",
    ]
    assert passing[texts["line"]] == "        return amount  # cart.py:13"
    assert texts["failing"]["title"] == "test_member (fails)"
    assert client.command("clearComparison") is True
    assert nearest(client, uri) == []
    assert client.command("clearComparison") is False

    # an edit of the decision removes the diagnostic, and what is outdated is not compared again
    client.command("compareRuns", None, FAILING)
    assert nearest(client, uri)
    client.edit(uri, (DECISION, 0), (DECISION, 0), "    amount += 0\n")
    client.edit(uri, (DECISION + 1, 0), (DECISION + 1, 6), "  ")
    client.wait(lambda: nearest(client, uri) == [])
    with pytest.raises(client.Error, match="Run the tests again first"):
        client.command("comparePassing", None, FAILING)


def test_what_can_not_be_compared_is_refused(client, connect, project):
    client.start(project)
    with pytest.raises(client.Error, match="did not fail"):
        client.command("comparePassing", None, PASSING)
    run = {"command": "suspectra.server.comparePassing", "arguments": [None, FAILING]}
    client.send({"id": 999, "method": "workspace/executeCommand", "params": run})
    client.wait(lambda: client.statuses[-1]["investigation"] is not None)
    assert client.command("cancelInvestigation") is True
    assert client.response(999)["complete"] is False
    assert "cancelled after" in client.messages[-1]["message"]

    stranger = connect().start(project, options={"trusted": False})
    for command in ("comparePassing", "compareRuns"):
        with pytest.raises(stranger.Error, match="trust"):
            stranger.command(command, None, FAILING)


def comparison(client, technique, test=FAILING):
    return client.command("comparePassing", None, test, None, technique)


def test_the_ways_to_compare_are_listed(client, project):
    client.start(project)
    listed = client.request("suspectra/techniques", {"for": "paths"})
    assert [one["name"] for one in listed] == list(TECHNIQUES)
    assert listed[0].keys() == TechniqueMessage.__annotations__.keys()
    ranking = client.request("suspectra/techniques", {"for": "ranking"})
    assert ranking == client.request("suspectra/techniques")
    names = {one["name"] for one in ranking}
    assert names & set(TECHNIQUES) == {"nearest-path", "apg", "cause-transitions"}, "a ranking of what they reported"
    with pytest.raises(client.Error, match="the params are"):
        client.request("suspectra/techniques", {"for": "causes"})


@pytest.mark.slow
def test_the_chain_of_cause_transitions_and_forced_decisions(client, project):
    client.start(project)
    uri = client.open(project / "cart.py")
    client.answers["window/showMessageRequest"] = None
    assert comparison(client, "apg-decisions") is None  # decisions are altered, and the user does not want that
    client.answers["window/showMessageRequest"] = lambda params: params["actions"][0]
    forced = comparison(client, "apg-decisions")
    assert (forced["technique"], forced["passing"]) == ("apg-decisions", None)
    assert [(step["line"], step["value"]) for step in forced["report"]] == [(DECISION + 1, "true, there false")]
    (diagnostic,) = nearest(client, uri)
    assert diagnostic["message"] == forced["found"]
    found = comparison(client, "cause-transitions")
    assert found["passing"] == "test_cart.py::test_same_way" or found["passing"] == PASSING
    assert nearest(client, uri) == []  # a chain has no place at which two paths part
    assert found["chain"][0]["why"] == "before"
    assert [step["why"] for step in found["chain"][1:]] == ["since"] * (len(found["chain"]) - 1)
    assert found["chain"][-1]["value"] == "the test fails"
    assert client.request("suspectra/comparison", {}) == found
    assert client.command("clearComparison") is True
    assert client.request("suspectra/comparison", {}) is None
    with pytest.raises(client.Error, match="the technique is one of"):
        comparison(client, "ochiai")


def test_the_user_is_asked_whether_an_outcome_is_right(client, project):
    client.start(project)
    client.open(project / "cart.py")
    asked = []

    def answer(params):
        asked.append(params["message"])
        titles = {action["title"]: action for action in params["actions"]}
        return titles.get("Run Altered Tests") or titles["Right" if "gives 99" in params["message"] else "Wrong"]

    client.answers["window/showMessageRequest"] = answer
    found = comparison(client, "apg-inputs")
    assert asked[-1] == f"total({found['passing']}) gives 99: right?"
    assert [(step["line"], step["value"]) for step in found["report"]] == [(DECISION + 1, "true, there false")]
    titles = ["Right", "Wrong"]
    questions = [one["params"] for one in client.asked if one["method"] == "window/showMessageRequest"]
    assert [action["title"] for action in questions[-1]["actions"]] == titles
