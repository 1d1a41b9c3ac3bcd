"""Comparing values of failing and passing tests: on request, in a trusted workspace, said on the lines they are at."""

import pytest

from suspectra.evidence.logs.observations import OBSERVATIONS

CODE = """\
def days(first, last):
    whole = last - first
    return price(whole)


def price(whole):
    return whole * 3
"""
TESTS = """\
import pytest
from code_of_periods import days


@pytest.mark.parametrize("first", range(1, 4))
def test_reversed(first):
    assert days(first, 0) == 3 * first


@pytest.mark.parametrize("first", range(6))
def test_forwards(first):
    assert days(first, 5) == 3 * (5 - first)
"""
FILES = {"code_of_periods.py": CODE, "test_periods.py": TESTS}
FOUND = (
    "In all 3 failing tests that were observed `first > last` here, in no passing one of 6."
    " 10% of the groups of 3 passing tests have such a predicate of their own."
)
SLOWLY = "import time\nimport pytest\n\n\n@pytest.fixture(autouse=True)\ndef slowly():\n    time.sleep(1)\n"
FAILING = "test_periods.py::test_reversed[1]"
WHOLE = 1


@pytest.mark.slow
def test_how_values_compare_is_said_on_its_line_with_any_technique(client, project):
    client.start(project)
    uri = client.open(project / "code_of_periods.py")
    client.wait_for_state("ready")
    assert client.command("compareValues") is True
    assert client.outcome() == (
        "code_of_periods.py:3: In all 3 failing tests that were observed `the return value < 0` here, in no"
        " passing one of 6. One of 3 such lines; 9 tests observed."
    )
    assert not [one for one in client.asked if one["method"] == "window/showMessageRequest"]  # nothing is altered
    hover = {"textDocument": {"uri": uri}, "position": {"line": WHOLE, "character": 0}}
    shown = client.request("textDocument/hover", hover)["contents"]["value"]
    assert "`first > last` here, in no passing one of 6" in shown
    client.wait(lambda: any(FOUND in one["message"] for one in client.diagnostics.get(uri, ())))
    (suspect,) = [one for one in client.suspects()["suspects"] if one["range"]["start"]["line"] == WHOLE]
    assert FOUND in suspect["findings"]

    assert client.command("compareValues", None, [FAILING]) is True  # with the passing tests, but no other failing one
    client.wait(lambda: "7 tests observed" in client.messages[-1]["message"])


def test_a_comparison_can_be_cancelled_keeps_what_is_known_and_needs_trust(client, connect, project):
    (project / "conftest.py").write_text(SLOWLY)
    client.start(project)
    client.wait_for_state("ready")
    assert client.command("compareValues") is True
    client.wait(lambda: client.statuses[-1]["investigation"] is not None)
    with pytest.raises(client.Error, match="already running"):
        client.command("compareValues")
    client.wait(lambda: client.statuses[-1]["investigation"]["runs"] > 0)
    assert client.command("cancelInvestigation") is True
    assert "cancelled after" in client.outcome()
    assert client.command("cancelInvestigation") is False
    client.ask_until(lambda: (project / OBSERVATIONS.path).exists())
    with pytest.raises(client.Error, match="None of these tests failed"):
        client.command("compareValues", None, ["test_periods.py::test_forwards[1]"])

    stranger = connect().start(project, options={"trusted": False})
    with pytest.raises(stranger.Error, match="trust"):
        stranger.command("compareValues")
