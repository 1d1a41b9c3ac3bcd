"""The change that broke tests: searched for by itself after a save, shown on its line, and taken back by an action."""

from __future__ import annotations

import time

import pytest

from suspectra_server.state.undo import narrowed

PRICE = """\
def rounded(value):
    value = value * 100
    value = round(value)
    return value / 100


def doubled(value):
    return value * 2
"""
BROKEN = PRICE.replace("    value = round(value)\n", "").replace("value * 2", "2 * value")
TESTS = """\
from price import doubled, rounded


def test_rounded():
    assert rounded(8.4915) == 8.49


def test_doubled():
    assert doubled(2) == 4
"""


@pytest.mark.slow
def test_a_save_that_breaks_a_test_shows_which_change_did_it(client, tmp_path, record, capable, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    project = tmp_path / "project"
    project.mkdir()
    source = project / "price.py"
    source.write_text(PRICE)
    (project / "test_price.py").write_text(TESTS)
    assert record(project).returncode == 0
    capable["workspace"]["workspaceEdit"] = {"documentChanges": True, "changeAnnotationSupport": {}}
    client.initialize(project, capabilities=capable, options={"run": "onSave", "changesSeconds": 300})
    client.wait_for_state("noFailingTests")
    uri = client.open(source)
    source.write_text(BROKEN)
    changed = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": BROKEN}]}
    client.notify("textDocument/didChange", changed)
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    client.ask_until(lambda: [one["findings"] for one in client.suspects()["suspects"]][:1] == [[FOUND]])
    assert not client.messages  # one after each save would be in the way
    assert not client.progress
    assert not any(status["investigation"] for status in client.statuses)  # nobody has asked for it
    explained = client.request("suspectra/explanation", {"uri": uri, "line": 2})
    assert not any(sentence in explained["headline"] for sentence in explained["sentences"])
    assert source.read_text() == BROKEN

    def actions(line):
        where = {"line": line, "character": 5}
        params = {"textDocument": {"uri": uri}, "range": {"start": where, "end": where}, "context": {"diagnostics": []}}
        return {one["title"]: one for one in client.request("textDocument/codeAction", params)}

    offered = actions(2)
    edit = offered["Undo this change"]["edit"]
    ((change,),) = [one["edits"] for one in edit["documentChanges"]]
    assert change["newText"] == "    value = round(value)\n"
    assert change["range"] == {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 0}}
    assert edit["changeAnnotations"][change["annotationId"]]["needsConfirmation"] is True
    shown = client.command("showDifference", *offered["Show difference"]["command"]["arguments"])
    assert shown["failing"]["text"] == BROKEN.removesuffix("\n") or shown["failing"]["text"] == BROKEN
    assert "value = round(value)" in shown["passing"]["text"]
    assert shown["line"] == 2

    client.answers["workspace/applyEdit"] = {"applied": True}
    assert client.command("undoChange", uri, 2) is True
    (asked,) = [one["params"] for one in client.asked if one["method"] == "workspace/applyEdit"]
    assert asked["edit"] == edit
    with pytest.raises(client.Error, match="No change on this line is known"):
        client.command("undoChange", uri, 0)

    assert client.command("findChange", project.as_uri()) is True
    assert client.outcome() == "test_rounded was broken by your change at price.py:3; without it it passes."
    assert not [one for one in client.asked if one["method"] == "window/showMessageRequest"]

    # not in a text that is another one by now
    client.edit(uri, (1, 0), (1, 0), "    value += 0\n", version=3)
    client.ask_until(lambda: "Undo this change" in actions(3))
    client.edit(uri, (2, 0), (4, 0), "", version=4)
    client.ask_until(lambda: "Undo this change" not in actions(2))
    with pytest.raises(client.Error, match="No change on this line"):
        client.command("showDifference", uri, 6)


@pytest.mark.slow
def test_where_runs_are_manual_nothing_is_searched_without_a_click(client, tmp_path, record, capable):
    project = tmp_path / "project"
    project.mkdir()
    (project / "price.py").write_text(PRICE)
    (project / "test_price.py").write_text(TESTS)
    assert record(project).returncode == 0
    client.initialize(project, capabilities=capable)
    client.wait_for_state("noFailingTests")
    (project / "price.py").write_text(BROKEN)
    client.command("runTests")
    assert client.ask_until(lambda: client.suspects()["suspects"])[0]["file"] == "price.py"
    client.wait(lambda: client.statuses[-1]["progress"] is None)
    time.sleep(3)  # a search would have begun, and written what it found
    assert not (project / ".suspectra/experiments").exists()
    client.agree()
    assert client.command("findChange", project.as_uri()) is True
    assert client.outcome() == "test_rounded was broken by your change at price.py:3; without it it passes."


def test_of_a_statement_of_several_lines_only_what_differs_is_edited():
    now = ["if (", "    a", "    or c", "):", "    pass"]
    assert narrowed(now, 0, 4, "if (\n    a\n    or b\n):\n") == (2, 3, "    or b\n")
    assert narrowed(now, 0, 4, "if (\n    a\n    or b\n    or c\n):\n") == (2, 2, "    or b\n")
    assert narrowed(now, 0, 4, "if (\n    a\n):\n") == (2, 3, "")
    assert narrowed(now, 4, 4, "    go()\n") == (4, 4, "    go()\n")


FOUND = "The failing test passes with `value = round(value)`, which you deleted here."
