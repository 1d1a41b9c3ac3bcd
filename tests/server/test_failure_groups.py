"""Failure groups in the editor: one ranking at a time, and what a user decides about them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

PUBLISH = "textDocument/publishDiagnostics"
UNCOVERED = "tests/test_nothing.py::test_without_coverage"


@pytest.fixture
def ledger(faulty_ledger, tmp_path):
    root = tmp_path / "ledger"
    shutil.copytree(faulty_ledger, root)
    return root


@pytest.fixture
def grouped(client, ledger):
    """A client that sees the three groups."""
    client.initialize(ledger, options={"technique": "ochiai"})
    wait_for_groups(client, 3)
    return client


def wait_for_groups(client, number):
    client.wait(lambda: client.statuses and f" in {number} groups" in client.statuses[-1]["message"])


def current(client):
    return next(group for group in client.suspects()["groups"] if group["current"])


@pytest.mark.slow
def test_a_test_without_coverage_does_not_speak_for_the_others(client, tmp_path, shared_record):
    (tmp_path / "doubling.py").write_text("def double(n):\n    return n * 3\n")
    test = "from doubling import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
    (tmp_path / "test_sum.py").write_text(test)
    (tmp_path / "test_a_tool.py").write_text("def test_tool():\n    raise OSError('no such tool')\n")
    shared_record(tmp_path)
    client.initialize(tmp_path)
    client.wait_for_state("ready")
    answer = client.suspects()
    (group,), (apart,) = answer["groups"], answer["unexplained"]
    assert group["id"] is None
    assert (group["heading"], group["tests"]) == ("✗ 1 test", ["test_sum.py::test_double"])
    assert (group["names"], group["failure"]) == ("test_double", "AssertionError: expected 4, actual 6")
    assert (apart["names"], apart["failure"]) == ("test_tool", "OSError: no such tool")
    assert apart["uri"] == (tmp_path / "test_a_tool.py").as_uri()

    client.agree()
    why = client.command("why")
    assert why["headline"] == "Most likely doubling.py:2 in double is wrong."
    assert not [sentence for sentence in why["sentences"] if "test_tool" in sentence or "of 2" in sentence]


@pytest.mark.slow
def test_each_fault_is_first_in_its_group_and_the_command_line_agrees(grouped, ledger, capsys):
    from suspectra.cli.main import run

    answer = grouped.suspects()
    groups = answer["groups"]
    assert [len(group["tests"]) for group in groups] == [3, 3, 1]
    assert [one["tests"] for one in answer["unexplained"]] == [[UNCOVERED]]
    assert [group["current"] for group in groups] == [True, False, False]
    assert groups[1]["heading"] == "✗ 3 tests: 2 with UnbalancedEntry at journal.py:41"
    assert groups[0]["heading"].startswith("✗ 3 tests: ")
    assert answer["failed"] == 8
    lists = [grouped.request("suspectra/group", {"folder": ledger.as_uri(), "id": group["id"]}) for group in groups]
    assert answer["suspects"] == lists[0]["suspects"]
    assert [group["names"].partition(" and ")[2] for group in groups] == ["2 more", "2 more", ""]
    assert groups[1]["failure"].startswith("UnbalancedEntry: ")
    assert ["journal.py:41"] == [f"{Path(s['file']).name}:{s['line']}" for s in lists[1]["suspects"] if s["raised"]]
    first = [{suspect["file"] for suspect in found["suspects"][:2]} for found in lists]
    assert first == [{f"src/ledger/{name}.py"} for name in ("discounts", "tax", "statements")]

    assert run(["rank", "--workspace", str(ledger), "--format", "json", "--technique", "ochiai"]) == 0
    printed = json.loads(capsys.readouterr().out)["groups"]
    for shown, found, own in zip(groups, lists, printed, strict=True):
        same = ("id", "title", "sure")
        assert [shown[name] for name in same] == [own[name] for name in same]
        assert shown["tests"] == [test for test in own["tests"] if test != UNCOVERED]
        assert found["reason"] == own["reason"]
        leading = [(one["file"], line) for one in own["functions"][:5] for line in one["lines"]]
        assert [(one["file"], one["line"]) for one in found["suspects"]][: len(leading)] == leading


def test_the_ranking_over_all_comes_first(grouped):
    published = [
        diagnostics
        for message in grouped.received
        if message.get("method") == PUBLISH and (diagnostics := message["params"]["diagnostics"])
        if diagnostics[0]["code"] != "failing-test"
    ]
    first, last = published[0][0]["message"], published[-1][0]["message"]
    assert "of 8 failing" in first
    assert "of 4 failing" in last
    assert grouped.statuses[-1]["message"] == "8 failing tests in 3 groups, 76 passing tests"


def test_everything_in_the_editor_is_about_the_current_group(grouped, ledger):
    assert marks(grouped)
    assert all("of 4 failing" in diagnostic["message"] for diagnostic in marks(grouped))

    second = grouped.suspects()["groups"][1]
    assert grouped.command("selectGroup", ledger.as_uri(), second["id"]) == second["heading"]
    assert current(grouped)["id"] == second["id"]
    assert all("of 3 failing" in diagnostic["message"] for diagnostic in marks(grouped))
    where = grouped.command("firstSuspect")
    assert where["uri"].endswith("/tax.py")
    listed = [(one["uri"], one["range"]["start"]["line"]) for one in grouped.suspects()["suspects"]]
    for _ in range(3):  # steps stay in the group
        cursor = {"uri": where["uri"], "position": where["range"]["start"]}
        where = grouped.command("nextSuspect", cursor)
        assert (where["uri"], where["range"]["start"]["line"]) in listed
    place = {"uri": listed[0][0], "line": listed[0][1]}
    explanation = grouped.request("suspectra/explanation", place)
    assert explanation["group"] == second["heading"]
    assert "All 3 execute tax.py:55; so does 1 passing test." in explanation["sentences"]
    assert explanation["ef"] + explanation["nf"] == 3
    path = ledger / "src/ledger/tax.py"
    uri = grouped.open(path)
    hover = grouped.request(
        "textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": place["line"], "character": 8}}
    )
    assert "3 tests: 2 with UnbalancedEntry" in hover["contents"]["value"]
    lenses = grouped.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert any("of 3 failing)" in lens["command"]["title"] for lens in lenses)
    jump = grouped.command("jump", {"uri": uri, "position": {"line": place["line"], "character": 0}})
    assert jump["moves"]
    assert {move["file"] for move in jump["moves"] if move["rankBest"]} <= {
        suspect["file"] for suspect in grouped.suspects()["suspects"]
    }
    assert grouped.command("selectGroup", ledger.as_uri(), 77) is None

    # questions are answered by the ranking of the group, also those about lines that only other groups execute
    own = grouped.command("whyNot", uri, place["line"])
    tied = grouped.command("tellApart", uri, place["line"])
    assert all(answer["sentences"][0] == f"In the ranking of {second['heading']}." for answer in (own, tied))
    other = grouped.request("suspectra/group", {"folder": ledger.as_uri(), "id": 1})["suspects"][0]
    asked = grouped.command("whyNot", other["uri"], other["range"]["start"]["line"])
    assert "No failing test of this group executes" in asked["sentences"][1]
    assert "of other groups do." in asked["sentences"][1]


def marks(client):
    found = (one for diagnostics in client.diagnostics.values() for one in diagnostics)
    return [one for one in found if one["code"] != "failing-test"]


def test_a_client_without_lists_of_its_own_is_asked(connect, ledger, capable):
    capable["experimental"] = {}
    client = connect()
    asked = []

    def choose(params):
        asked.append([action["title"] for action in params["actions"]])
        return params["actions"][-1]

    client.answers["window/showMessageRequest"] = choose
    client.initialize(ledger, capabilities=capable, options={"technique": "ochiai"})
    client.ask_until(lambda: len(client.suspects()["groups"]) == 3)
    assert client.command("selectGroup").startswith("✗ 1 test: ")
    assert asked[-1][1] == "✗ 3 tests: 2 with UnbalancedEntry at journal.py:41 (group 2)"
    assert client.command("mergeGroups") is True  # the current one and the last of the others
    assert [len(group["tests"]) for group in client.suspects()["groups"]] == [4, 3]
    assert client.command("splitGroup") is True
    assert len(asked[-1]) == 5, "the tests of the current group"
    assert len(client.suspects()["groups"]) == 3
    assert client.command("resetGroups") is True
    assert client.command("resetGroups") is False
    assert client.messages[-1]["message"] == "No failure group was changed."


def test_what_is_merged_and_split_survives_a_restart_and_can_be_undone(grouped, connect, ledger):
    folder = ledger.as_uri()
    numbers = [group["id"] for group in grouped.suspects()["groups"]]
    assert grouped.command("mergeGroups", folder, numbers[1:]) is True
    groups = grouped.suspects()["groups"]
    assert [len(group["tests"]) for group in groups] == [5, 3], "what executes nothing is counted in the largest"
    assert grouped.command("splitGroup", folder, groups[0]["id"], [UNCOVERED]) is True
    split = [sorted(group["tests"]) for group in grouped.suspects()["groups"]]
    assert [UNCOVERED] in split
    assert grouped.command("splitGroup", folder, numbers[0], ["no such test"]) is False
    with pytest.raises(grouped.Error, match="names of tests"):
        grouped.command("splitGroup", folder, numbers[0], "a test")
    grouped.request("shutdown")
    grouped.notify("exit")
    grouped.thread.join(30)

    again = connect()
    again.initialize(ledger, options={"technique": "ochiai"})
    wait_for_groups(again, len(split))
    assert sorted(sorted(group["tests"]) for group in again.suspects()["groups"]) == sorted(split)
    assert again.command("resetGroups") is True
    assert [len(group["tests"]) for group in again.suspects()["groups"]] == [4, 3, 1]
    again.wait(lambda: not (ledger / ".suspectra/groups.json").exists())


KNOWN = "id", "tests", "current"


@pytest.mark.slow
def test_a_group_keeps_its_number_and_it_is_said_once_when_it_is_fixed(grouped, ledger, record, ledger_faults):
    first, second, third = grouped.suspects()["groups"]
    grouped.command("selectGroup", ledger.as_uri(), third["id"])
    path = ledger / "src/ledger/discounts.py"
    right, wrong = ledger_faults["discounts.py"]
    path.write_text(path.read_text("utf-8").replace(wrong, right), "utf-8")
    (ledger / "tests/test_nothing.py").unlink()
    record(ledger, "tests/test_discounts.py")
    grouped.wait(lambda: grouped.statuses[-1]["message"] == "5 failing tests in 3 groups, 78 passing tests")
    record(ledger)
    wait_for_groups(grouped, 2)
    grouped.wait(lambda: any(line["message"] == f"Fixed: {first['title']}" for line in grouped.logged))
    left = [(second["id"], second["tests"], False), (third["id"], third["tests"], True)]
    grouped.ask_until(lambda: [tuple(map(one.get, KNOWN)) for one in grouped.suspects()["groups"]] == left)
    assert not grouped.messages, "it is said quietly"


@pytest.mark.slow
def test_a_number_is_not_given_again_after_all_tests_passed(grouped, ledger, record):
    answer = grouped.suspects()
    numbers = {group["id"] for group in answer["groups"]}
    failing = [*answer["groups"], *answer["unexplained"]]
    files = {ledger / test.partition("::")[0] for one in failing for test in one["tests"]}
    texts = {path: path.read_text("utf-8") for path in files}
    for path in files:
        path.unlink()
    record(ledger)
    grouped.wait_for_state("noFailingTests")
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    record(ledger)
    grouped.wait_for_state("ready")
    wait_for_groups(grouped, 3)
    again = [group["id"] for group in grouped.suspects()["groups"]]
    assert len(again) == 3
    assert not numbers.intersection(again)
    grouped.command("selectGroup", ledger.as_uri(), min(numbers))
    assert current(grouped)["id"] == again[0]


def test_one_failing_group_changes_nothing(client, shop):
    client.start(shop)
    answer = client.suspects()
    (only,) = answer["groups"]
    assert (only["id"], only["heading"], only["current"]) == (None, "✗ 3 tests", True)
    assert {suspect["group"] for suspect in answer["suspects"]} == {None}
    assert not any("✗" in diagnostic["message"] for diagnostic in marks(client))
    assert client.command("selectGroup") is None


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"version": 1, "decisions": [{"together": 1}]}', b'{"version": 9}'])
def test_a_damaged_file_of_decisions_is_not_used(tmp_path, content, caplog):
    from suspectra.failure_groups.decisions import GroupDecisions
    from suspectra_server.state.decisions_file import DecisionsFile

    (tmp_path / ".suspectra").mkdir()
    (tmp_path / ".suspectra/groups.json").write_bytes(content)
    assert DecisionsFile(tmp_path).load() == GroupDecisions()
    assert "the decisions about failure groups in it are not used" in caplog.text


def test_the_file_of_decisions_is_bounded_and_leads_nowhere_else(tmp_path):
    from suspectra.failure_groups.decisions import GroupDecisions
    from suspectra_server.state.decisions_file import MAX_DECISIONS, DecisionsFile, within_limits

    decisions = GroupDecisions()
    for number in range(MAX_DECISIONS + 5):
        decisions = decisions.split([f"a{number}"], [f"b{number}"])
    kept = within_limits(decisions)
    assert kept.made == decisions.made[5:]
    assert within_limits(GroupDecisions().merge(f"t{number}" for number in range(20_000))).made == ()
    file = DecisionsFile(tmp_path)
    file.write(kept)
    assert file.load() == kept
    DecisionsFile(tmp_path, writable=False).write(GroupDecisions())
    assert file.load() == kept
    (tmp_path / "elsewhere.json").write_bytes((tmp_path / ".suspectra/groups.json").read_bytes())
    (tmp_path / ".suspectra/groups.json").unlink()
    (tmp_path / ".suspectra/groups.json").symlink_to(tmp_path / "elsewhere.json")
    assert file.load() == GroupDecisions()
    file.write(GroupDecisions())
    assert (tmp_path / "elsewhere.json").exists()
