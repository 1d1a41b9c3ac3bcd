"""Find a Fix: changes are shown one after the other, and what the user chooses is sent as an edit to be confirmed."""

import asyncio
from types import SimpleNamespace

import pytest
from lsprotocol import types as lsp

from suspectra.fixes.apart import Apart
from suspectra_server.features import found_fixes
from suspectra_server.features.commands.fixing import FixCommands

CODE = """\
LIMIT = 3


def total(prices):
    net = 0
    for price in prices:
        net = price
    return net
"""
TESTS = """\
from prices import total


def test_two():
    assert total([1, 2]) == 3


def test_one():
    assert total([4]) == 4
"""
PATCH = """\
--- a/prices.py
+++ b/prices.py
@@ -5,3 +5,3 @@
     net = 0
     for price in prices:
-        net = price
+        net += price
"""
FILES = {"prices.py": CODE, "test_prices.py": TESTS}
FAILING = "test_prices.py::test_two"
SHOWING = {"workspaceEdit": {"documentChanges": True, "changeAnnotationSupport": {}}}


@pytest.mark.slow
def test_a_fix_is_shown_and_applied_only_by_the_user(client, project):
    client.start(project, capabilities={"workspace": SHOWING})
    uri = client.open(project / "prices.py")
    shown, sent = [], []

    def choose(params):
        titles = [action["title"] for action in params["actions"]]
        if "Run Altered Tests" in titles:
            return params["actions"][0]
        shown.append(params["message"])
        # the second change is sent
        return params["actions"][titles.index("Next" if len(shown) == 1 and "Next" in titles else "Show the Change")]

    def take(params):
        sent.append(params["edit"])
        return {"applied": True}

    client.answers["window/showMessageRequest"] = choose
    client.answers["workspace/applyEdit"] = take
    actions = client.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": client.open(project / "test_prices.py")},
            "range": {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 0}},
            "context": {"diagnostics": []},
        },
    )
    assert "Find a fix" in [one["title"] for one in actions]
    found = client.command("findFix", None, [FAILING])
    assert found >= 1
    assert shown[0].startswith("prices.py:7: the failing test passes, and the other that was run still does.")
    assert f"Change 1 of {found}: net = price → net += price" in shown[0]
    (edit,) = sent
    (change,) = edit["documentChanges"]
    assert change["textDocument"]["uri"] == uri
    assert change["edits"][0]["annotationId"] in edit["changeAnnotations"]
    assert all(one["needsConfirmation"] for one in edit["changeAnnotations"].values())
    # a client that lets the user choose gets them all
    first, *_ = offered = client.command("findFix", None, [FAILING], None, True)
    assert len(offered) == found
    words = f"{first['place']}: {first['said']} {first['apart']}".strip()
    assert shown[0] == f"{words} Change 1 of {found}: {first['title']}"
    assert edit in [one["edit"] for one in offered]
    assert len(sent) == 1
    assert (project / "prices.py").read_text() == CODE


@pytest.mark.slow
def test_agents_get_fixes_and_judgements(client, project):
    client.start(project)
    client.agree()

    def ask(tool, **arguments):
        return client.request("suspectra/agentAnswer", {"tool": tool, "arguments": arguments})["text"]

    assert '"change": ["-        net = price", "+        net += price"]' in ask("suggest_fixes", seconds=300)
    judged = ask("try_changes", changes=[PATCH, PATCH.replace("b/prices.py", "b/../prices.py")])
    assert f'"mends": ["{FAILING}"], "breaks": [], "refused": ""' in judged
    assert "it renames a file" in judged
    assert (project / "prices.py").read_text() == CODE


class Editor:
    """A client that chooses one answer after the other, and keeps what it is asked."""

    def __init__(self, *choices):
        self.choices, self.asked, self.sent = list(choices), [], []

    def can(self, capability):
        return (lsp.ResourceOperationKind.Create,) if capability.endswith("resource_operations") else True

    async def window_show_message_request_async(self, question):
        self.asked.append([action.title for action in question.actions])
        return lsp.MessageActionItem(self.choices.pop(0))

    async def workspace_apply_edit_async(self, sent):
        self.sent.append(sent.edit)
        return lsp.ApplyWorkspaceEditResult(applied=False)


def test_a_test_that_tells_changes_apart_is_shown_and_written_only_by_the_user(monkeypatch):
    monkeypatch.setattr(found_fixes, "workspace_edit", lambda *_: lsp.WorkspaceEdit())
    candidate = SimpleNamespace(file="prices.py", line=7, end_line=7, edit=SimpleNamespace(text="net += price"))
    fix = SimpleNamespace(
        file="prices.py", line=7, repaired=("tests/test_prices.py::test_two",), candidates=(candidate,), judges=2
    )
    monkeypatch.setattr(found_fixes, "said_of", lambda fix: "all tests pass.")
    told = Apart("total(prices=[2, 2])", "4", "3", "prices")
    search = SimpleNamespace(
        ordered=[fix],
        apart=SimpleNamespace(get=lambda _: told),
        folder=SimpleNamespace(uri_of=lambda path: f"file:///work/{path}", placement=lambda _: None),
    )
    editor = Editor("Write a Test", "Close")
    asyncio.run(FixCommands(editor, None, None)._show(search))
    assert editor.asked == [["Show the Change", "Write a Test", "Close"]] * 2
    (edit,) = editor.sent
    made, written = edit.document_changes
    assert made.uri == written.text_document.uri == "file:///work/tests/test_total_more.py"
    assert written.edits[0].new_text == told.test
    assert "assert total(prices=[2, 2]) == 4" in told.test
    (about,) = edit.change_annotations.values()
    assert about.needs_confirmation
