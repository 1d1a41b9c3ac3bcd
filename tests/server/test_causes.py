"""The cause of a failure and slices of its run: on request, in a trusted workspace, with places and values."""

import pytest

from suspectra.cli.rerun import failing_tests
from suspectra.evidence.discovery import find_source
from suspectra.evidence.logs.failure_slices import SLICES
from suspectra.experiments.suspicion import Suspicion
from suspectra_server.messages import Causes, RunValues, SliceMessage, Step
from suspectra_server.session.tests.processes import rerun_setup
from suspectra_server.session.trust import Trust
from suspectra_server.settings import Settings

CODE = """\
def rate(kind):
    found = 20
    if kind == "book":
        found = 7
    return found


def total(amount, kind):
    share = rate(kind)
    tax = amount * share // 100
    unused = amount + 1
    return amount + tax
"""
TESTS = """\
from code_of_shop import total


def test_food():
    paid = total(100, "food")
    assert paid == 107


def test_book():
    assert total(100, "book") == 107
"""
FILES = {"code_of_shop.py": CODE, "test_shop.py": TESTS}
FAILING = "test_shop.py::test_food"
TOTAL = CODE.splitlines().index("    return amount + tax")
UNUSED = TOTAL - 1
SHARE = TOTAL - 3


@pytest.mark.slow
def test_the_cause_is_found_and_its_way_to_the_failure_is_walked(client, project):
    client.start(project)
    uri = client.open(project / "code_of_shop.py")
    assert client.request("suspectra/causes", {}) is None
    assert client.command("findCause") is None  # nobody has agreed
    client.agree()
    found = client.command("findCause", None, FAILING)
    assert found == client.request("suspectra/causes", {})
    assert found["test"] == FAILING
    assert not found["searching"]
    assert ("found = 20", "20") in [(step["source"], step["value"]) for step in found["roots"]]
    assert found["chain"][0] == found["roots"][0]
    assert found["chain"][-1]["source"] == "assert paid == 107"
    assert found.keys() == Causes.__annotations__.keys()
    assert found["roots"][0].keys() == Step.__annotations__.keys()
    assert any("the search goes on" in line["message"] for line in client.logged)
    assert any((one["investigation"] or {}).get("found") for one in client.statuses)
    assert not client.messages  # `suspectra/causes` has it all

    # Next walks it, and the values are at the ends of the lines
    first = client.command("nextInChain")
    assert first["range"]["start"]["line"] + 1 == found["roots"][0]["line"]
    cursor = {"uri": first["uri"], "position": first["range"]["start"]}
    second = client.command("nextInChain", cursor)
    assert second["range"]["start"]["line"] + 1 == found["chain"][1]["line"]
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    hints = client.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": whole})
    assert hints
    assert all(hint["label"].startswith("→ ") for hint in hints)
    assert client.command("clearCauses") is True
    assert client.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": whole}) == []
    assert client.command("nextInChain") is None


@pytest.mark.slow
def test_what_the_user_knows_of_a_state_narrows_the_next_search(client, project):
    client.start(project)
    uri = client.open(project / "code_of_shop.py")
    assert client.command("stateIsRight", uri, 1) is None  # no search has found anything there
    client.agree()
    found = client.command("findCause", None, FAILING)
    assert "found = 20" in [step["source"] for step in found["roots"]]
    at = {"line": 1, "character": 4}
    asked = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": {"diagnostics": []}}
    titles = [action["title"] for action in client.request("textDocument/codeAction", asked)]
    assert {"This value is right: search on", "This value is wrong: search before it"} <= {*titles}
    found = client.command("stateIsRight", uri, 1)
    assert found["roots"]
    assert "found = 20" not in [step["source"] for step in found["roots"]]
    hover = client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": at})
    assert "You said that this value is right." in hover["contents"]["value"]
    wrong = client.command("stateIsWrong", uri, TOTAL - 2)
    assert "tax = amount * share // 100" in [step["source"] for step in (*wrong["roots"], *wrong["transitive"])]
    assert wrong["alterations"] <= found["alterations"]


def test_what_led_to_a_failure_and_what_a_line_influenced(client, project):
    client.start(project)
    uri = client.open(project / "code_of_shop.py")
    test_uri = client.open(project / "test_shop.py")
    led = client.command("whatLedHere", test_uri, 5)  # the line of the assert; nobody is asked, as nothing is altered
    assert led.keys() == SliceMessage.__annotations__.keys()
    assert led["heading"] == f"What led to the failure of {FAILING}"
    inside = {one["uri"]: one["lines"] for one in led["files"]}[uri]
    assert {1, SHARE, SHARE + 1, TOTAL} <= set(inside)
    assert UNUSED not in inside
    sources = sources_of(led["steps"])
    assert ("tax = amount * share // 100", "20") in sources
    assert not any(source.startswith("unused") for source, _ in sources)
    assert led["svg"].startswith("<svg")
    assert "tax = amount" in led["svg"]

    influenced = client.command("whatThisInfluenced", uri, SHARE)
    assert influenced["heading"] == f"What code_of_shop.py:{SHARE + 1} influenced, in {FAILING}"
    assert UNUSED not in {one["uri"]: one["lines"] for one in influenced["files"]}[uri]
    assert "return amount + tax" in {source for source, _ in sources_of(influenced["steps"])}
    with pytest.raises(client.Error, match="computes nothing on this line"):
        client.command("whatLedHere", uri, 3)


def test_the_values_of_the_failing_run_are_at_the_ends_of_its_lines_until_they_are_hidden(client, project):
    client.start(project)
    uri, test_uri = client.open(project / "code_of_shop.py"), client.open(project / "test_shop.py")

    def values(document):
        everything = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
        hints = client.request("textDocument/inlayHint", {"textDocument": {"uri": document}, "range": everything})
        return {hint["position"]["line"] + 1: hint["label"] for hint in hints}

    assert values(uri) == {}
    cursor = {"uri": test_uri, "position": {"line": 5, "character": 4}}
    run = client.command("showValues", None, None, cursor)  # nobody is asked, as nothing is altered
    assert run.keys() == RunValues.__annotations__.keys()
    assert run["test"] == FAILING
    assert values(uri) == {2: "→ 20", 3: "→ false", 5: "→ 20", 9: "→ 20", 10: "→ 20", 11: "→ 101", 12: "→ 120"}
    assert values(test_uri)[5] == "→ 120"
    lines = {one["uri"]: (one["executed"], one["failed"]) for one in run["files"]}
    executed, failed = lines[test_uri]
    assert failed == [5]
    assert {4, 5} <= set(executed)
    assert 3 not in lines[uri][0], "the line of the branch that was not taken"
    # they move with the text, and an edited line has none
    client.edit(uri, (0, 0), (0, 0), "# new\n")
    client.edit(uri, (TOTAL - 1, 4), (TOTAL - 1, 4), "x", version=3)
    client.ask_until(lambda: values(uri).get(3) == "→ 20" and TOTAL not in values(uri))
    client.edit(uri, (TOTAL - 1, 4), (TOTAL - 1, 5), "", version=4)
    client.edit(uri, (0, 0), (1, 0), "", version=5)
    assert client.command("showValues", None, None, cursor) is None
    assert values(uri) == {}


@pytest.mark.slow
def test_a_slice_is_evidence_at_once_and_values_can_be_hidden(client, project):
    """As with `suspectra slice`: the technique ranks by it, and its log has no values."""
    client.start(project, options={"experimentsHideValues": True, "technique": "slice"})
    client.wait_for_state("ready")
    test_uri = client.open(project / "test_shop.py")
    uri = client.open(project / "code_of_shop.py")
    led = client.command("whatLedHere", test_uri, 5)
    values = {value for _, value in sources_of(led["steps"])}
    assert values <= {"", "true", "false"}, values
    assert "amount * share" in led["svg"]
    assert ">→ 20<" not in led["svg"]

    # lines that the failure does not depend on come last
    ((logged,), problems) = SLICES.read(project)
    assert (logged.test, problems) == (FAILING, ())
    client.ask_until(lambda: [one["range"]["start"]["line"] for one in of_file(client, uri)][-1] == UNUSED)
    client.agree()
    found = client.command("findCause", None, FAILING)
    assert {step["value"] for step in (*found["roots"], *found["chain"])} <= {"", "true", "false"}


def test_a_trace_in_an_editor_falls_back_to_suspects_and_fits_the_recording(project):
    evidence = find_source(project, edges=True).read()
    suspicion = Suspicion(evidence, everywhere=True)
    trust = Trust(True)
    trust.read({})
    (test,) = failing_tests(evidence, ()).values()
    setup = rerun_setup(trust, project, ["pytest"], Settings(experiments_hide_values=True))
    assert ("code_of_shop.py", 2) in suspicion.most_suspicious(test.name)
    assert suspicion.digests.keys() == {"code_of_shop.py"}
    assert setup.values_shown is False


def of_file(client, uri):
    return [one for one in client.suspects()["suspects"] if one["uri"] == uri]


def sources_of(steps):
    return {pair for step in steps for pair in {(step["source"], step["value"])} | sources_of(step["steps"])}


def test_a_search_can_be_cancelled_and_is_refused_without_trust(client, connect, project):
    client.start(project)
    client.agree()
    run = {"command": "suspectra.server.findCause", "arguments": []}
    client.send({"id": 999, "method": "workspace/executeCommand", "params": run})
    client.wait(lambda: client.statuses[-1]["investigation"] is not None)
    assert client.command("cancelInvestigation") is True
    assert client.response(999)["searching"] is False
    client.wait(lambda: client.statuses[-1]["investigation"] is None)

    stranger = connect().start(project, options={"trusted": False})
    for command, *arguments in (("findCause",), ("whatLedHere", (project / "test_shop.py").as_uri(), 5)):
        with pytest.raises(stranger.Error, match="trust"):
            stranger.command(command, *arguments)
