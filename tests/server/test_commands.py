"""The commands a client may send."""

import json
import os
import sys
import venv

import pytest

from suspectra_server.session.tests import processes
from suspectra_server.session.tests.test_run import OFFER

INVALID_PARAMS, REQUEST_FAILED = -32602, -32803


def lines(locations):
    return [(location["uri"].rpartition("/")[2], location["range"]["start"]["line"] + 1) for location in locations]


def test_stepping_goes_through_the_ranking_and_round(client, shop):
    client.start(shop)
    ranking = [(s["file"].rpartition("/")[2], s["line"]) for s in client.suspects()["suspects"]]
    assert lines(client.command("nextSuspect") for _ in range(12)) == [*ranking, ranking[0]]
    assert lines([client.command("previousSuspect"), client.command("previousSuspect")]) == ranking[:-3:-1]
    assert lines([client.command("firstSuspect")]) == ranking[:1]
    shown = [request["params"] for request in client.asked if request["method"] == "window/showDocument"]
    assert len(shown) == 15
    assert shown[0]["takeFocus"]
    assert shown[0]["selection"]["start"] == {"line": ranking[0][1] - 1, "character": 8}


def test_a_step_starts_from_the_cursor_where_that_is_on_a_suspect(client, shop, find_line):
    client.start(shop)
    path = shop / "shop/vouchers.py"
    uri = client.open(path)

    def step(name, text):
        cursor = {"uri": uri, "position": {"line": find_line(path, text), "character": 3}}
        return lines([client.command(name, cursor)])

    assert step("nextSuspect", "off = off - amount") == [("vouchers.py", 16)]
    assert step("previousSuspect", "if off > amount") == [("vouchers.py", 17)]
    # on no suspect: from the one visited last
    assert step("nextSuspect", "def by_percent") == [("vouchers.py", 16)]


def test_examined_suspects_are_passed_over_and_can_be_brought_back(client, shop, find_line):
    client.start(shop)
    path = shop / "shop/vouchers.py"
    uri, line = path.as_uri(), find_line(path, "off = off - amount")
    assert client.command("markExamined", uri, line) is True
    assert client.command("markExamined", uri, 0) is False
    client.wait(lambda: ("shop/vouchers.py", line + 1) not in client.marks(shop))
    first = client.suspects()["suspects"][0]
    assert (first["line"], first["examined"]) == (line + 1, True)
    assert lines([client.command("firstSuspect")]) == [("vouchers.py", 16)]
    client.command("clearExamined")
    client.wait(lambda: ("shop/vouchers.py", line + 1) in client.marks(shop))


def test_explain_gives_markdown_and_place(client, shop, find_line):
    client.start(shop)
    path = shop / "shop/basket.py"
    line = find_line(path, "return reduced")
    explained = client.command("explain", path.as_uri(), line)
    assert "Suspect 6 of 24" in explained["markdown"]
    assert explained["location"]["uri"] == path.as_uri()
    assert explained["location"]["range"]["start"]["line"] == line
    assert "Suspect 1 of 24" in client.command("explain")["markdown"]
    client.command("nextSuspect")
    client.command("nextSuspect")
    assert "Suspect 2 of 24" in client.command("explain")["markdown"]
    assert client.command("explain", path.as_uri(), 0) is None
    assert not client.messages


def test_what_tells_suspects_apart(client, shop, find_line):
    client.start(shop)
    path = shop / "shop/vouchers.py"
    first, tied, other = (
        find_line(path, text) for text in ("off = off - amount", "return by_amount", "off = amount * percent")
    )
    answer = client.command("whyNot", path.as_uri(), tied)
    assert answer["location"]["range"]["start"]["line"] == tied
    assert answer["headline"] == "Why not shop/vouchers.py:7?"
    assert answer["sentences"][0] == "vouchers.py:7 is at rank 3; the first suspect is vouchers.py:17."
    assert "1 passing test executes vouchers.py:7, and it does not execute vouchers.py:17." in answer["sentences"]
    assert answer["sentences"][-2].endswith("That gains 1.00 of 1.00 bits.")
    assert "vouchers" in answer["markdown"]
    said = client.command("whyNot", path.as_uri(), first)["sentences"]
    assert said[0] == "vouchers.py:17 is the first suspect, and vouchers.py:16 the next statement."
    said = client.command("whyNot", path.as_uri(), other)["sentences"]
    assert said[0].startswith("No failing test executes vouchers.py:11, and 3 passing tests execute it.")
    assert client.command("whyNot", path.as_uri(), 1) is None, "no statement is there"
    assert client.command("tellApart", path.as_uri(), other) is None, "it is no suspect"
    for arguments in ([], [path.as_uri(), tied]):
        answer = client.command("tellApart", *arguments)
        assert answer["headline"] == "2 statements at ranks 3 to 4 have the same score."
        assert answer["location"]["range"]["start"]["line"] == tied
    with pytest.raises(client.Error) as caught:
        client.command("whyNot")
    assert caught.value.code == INVALID_PARAMS


def test_a_client_without_a_view_is_told_in_messages(client, shop):
    client.start(shop, capabilities={})
    client.command("explain")
    client.command("nextSuspect")
    client.wait(lambda: len(client.messages) == 2)
    assert "Suspect 1 of 24" in client.messages[0]["message"]
    assert client.messages[1]["message"] == "shop/vouchers.py:17: Most suspicious: 3 of 3 failing tests, 0 of 7 passing"


def test_select_technique_holds_until_the_setting_changes(client, shop):
    client.configuration = {"technique": "ochiai"}
    client.start(shop)
    assert client.command("selectTechnique", "tarantula", {"cloneFailed": True}) == "tarantula"
    client.wait(lambda: client.statuses[-1]["technique"] == "tarantula")
    assert client.suspects()["cloneFailed"] is True
    assert {d["code"] for d in client.diagnostics[(shop / "shop/vouchers.py").as_uri()]} == {"tarantula"}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.command("clearExamined")
    assert client.suspects()["technique"] == "tarantula"
    client.configuration = {"technique": "dstar"}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait(lambda: client.statuses[-1]["technique"] == "dstar")
    assert client.suspects()["cloneFailed"] is False


def test_select_technique_asks_a_client_that_has_no_list_of_its_own(client, shop):
    client.start(shop)
    client.answers["window/showMessageRequest"] = lambda params: next(
        action for action in params["actions"] if "(op2)" in action["title"]
    )
    assert client.command("selectTechnique") == "op2"
    client.answers["window/showMessageRequest"] = None
    assert client.command("selectTechnique") is None


def test_bad_arguments_are_refused_in_words(client, shop):
    client.start(shop)
    for command, arguments in [
        ("explain", ["file:///x.py", "one"]),
        ("explain", [3, 4]),
        ("explain", ["file:///x.py", -1]),
        ("markExamined", []),
        ("markExamined", ["file:///x.py", True]),
        ("nextSuspect", ["somewhere"]),
        ("nextSuspect", [{"uri": "file:///x.py"}]),
        ("localize", [1]),
        ("selectTechnique", ["no-such-technique"]),
        ("selectTechnique", ["ochiai", {"cloneFailed": "yes"}]),
        ("selectTechnique", [{}, {}]),
        ("no such command", []),
    ]:
        with pytest.raises(client.Error) as caught:
            client.command(command, *arguments)
        assert (caught.value.code, caught.value.data) == (INVALID_PARAMS, None), (command, arguments)
        assert str(caught.value)
    assert client.suspects()["suspects"]


def test_run_tests_records_and_ranks_with_progress(client, shop):
    client.start(shop)
    source = shop / "shop/vouchers.py"
    source.write_text(source.read_text().replace("off = off - amount", "off = amount"))
    assert client.command("runTests") is True
    client.wait_for_state("runningTests")
    client.wait_for_state("noFailingTests")
    client.wait(lambda: not client.marks(shop))
    assert client.suspects()["suspects"] == []
    client.wait(lambda: client.progress[-1]["kind"] == "end")
    assert client.progress[0]["kind"] == "begin"
    assert client.progress[0]["cancellable"]
    assert any(value.get("percentage") == 100 for value in client.progress)


@pytest.mark.slow
def test_only_what_failed_or_can_be_reached_is_run(client, shop):
    client.start(shop, options={"affectedOnly": True})
    source = shop / "shop/vouchers.py"
    source.write_text(source.read_text().replace("off = off - amount", "off = amount"))
    assert client.command("runTests") is True
    assert "10 passed" in client.wait_for_state("noFailingTests")["message"], "what did not run still counts"
    assert "4 of 4 tests, 0 failed" in str(client.progress)


@pytest.mark.slow
def test_who_has_no_status_is_told_how_the_tests_ended(client, shop, capable):
    del capable["experimental"]
    client.start(shop, capabilities=capable)
    client.command("runTests")
    client.wait(lambda: client.messages)
    source = shop / "shop/vouchers.py"
    source.write_text(source.read_text().replace("off = off - amount", "off = amount"))
    client.command("runTests")
    client.wait(lambda: len(client.messages) == 2)
    assert [message["message"] for message in client.messages] == [
        f"shop: 3 failing tests, 7 passing tests: 11 suspects. {OFFER}",
        "shop: no test failed (10 passed), so there is nothing to localize",
    ]


def test_who_has_no_status_is_told_why_there_is_nowhere_to_go(client, shop, capable):
    del capable["experimental"]
    client.start(shop, capabilities=capable)
    for suspect in client.suspects()["suspects"]:
        client.command("markExamined", suspect["uri"], suspect["line"] - 1)
    assert client.command("nextSuspect") is None
    client.wait(lambda: client.messages)
    assert client.messages[0]["message"] == "No other suspect is left."


def test_who_has_no_recording_is_told_so_when_looking_for_suspects(client, tmp_path, capable):
    del capable["experimental"]
    client.initialize(tmp_path, capabilities=capable)
    while client.suspects()["state"] != "noEvidence":
        assert not client.closed.wait(0.05)
    assert client.command("firstSuspect") is None
    client.wait(lambda: client.messages)
    assert "suspectra record" in client.messages[0]["message"]


@pytest.mark.slow
def test_run_tests_can_be_cancelled_and_runs_once_at_a_time(client, shop):
    (shop / "tests/test_slow.py").write_text("import time\n\ndef test_slow():\n    time.sleep(60)\n")
    client.start(shop)
    client.command("runTests")
    with pytest.raises(client.Error, match="already running"):
        client.command("runTests")
    create = next(request for request in client.asked if request["method"] == "window/workDoneProgress/create")
    client.wait(lambda: any(value.get("percentage") for value in client.progress))
    seen = len(client.statuses)
    client.notify("window/workDoneProgress/cancel", {"token": create["params"]["token"]})
    client.wait_for_state("ready", "stale", after=seen)
    client.wait(lambda: client.progress[-1] == {"kind": "end", "message": "cancelled"})


@pytest.mark.slow
def test_a_command_cancels_the_tests(client, shop):
    (shop / "tests/test_slow.py").write_text("import time\n\ndef test_slow():\n    time.sleep(60)\n")
    client.start(shop)
    assert client.command("cancelTests") is False
    client.command("runTests")
    client.wait(lambda: any(value.get("percentage") for value in client.progress))
    assert client.command("cancelTests") is True
    client.wait(lambda: client.progress[-1] == {"kind": "end", "message": "cancelled"})
    assert client.command("cancelTests") is False


def test_run_tests_is_refused_where_the_workspace_is_not_trusted(client, shop):
    client.start(shop, options={"trusted": False})
    with pytest.raises(client.Error, match="trust") as caught:
        client.command("runTests")
    assert caught.value.code == REQUEST_FAILED


@pytest.mark.parametrize("trusted", [True, False])
def test_settings_that_name_files_are_not_used_where_the_workspace_is_not_trusted(client, shop, tmp_path, trusted):
    outside = str(tmp_path / "missing")
    client.start(shop, options={"trusted": trusted, "coverage": outside, "junit": outside})
    assert (outside in json.dumps(client.received)) is trusted
    assert bool(client.suspects()["suspects"]) is not trusted, "what was recorded is ranked"


def failed_run(client):
    """What is said of the last run of the tests, which failed; a client that lists it gets no message."""
    (failed,) = client.ask_until(lambda: client.suspects()["failedRuns"])
    assert not client.messages
    return failed["message"]


def test_a_test_command_that_does_not_start_is_reported(client, shop):
    client.start(shop, options={"testCommand": ["no-such-program"]})
    client.command("runTests")
    assert "no-such-program" in failed_run(client)
    client.wait_for_state("ready", after=len(client.statuses) - 1)


def test_a_client_that_lists_no_failed_runs_gets_a_message(client, shop, capable):
    client.initialize(shop, capabilities={**capable, "experimental": {}}, options={"testCommand": ["no-such-program"]})
    client.command("runTests")
    client.wait(lambda: client.messages)
    assert "no-such-program" in client.messages[0]["message"]


@pytest.mark.slow
def test_the_tests_run_with_the_interpreter_of_the_setting(client, shop, tmp_path):
    chosen = tmp_path / "chosen python"
    chosen.write_text(f'#!/bin/sh\necho ran >> "{tmp_path}/ran"\nexec "{sys.executable}" "$@"\n')
    chosen.chmod(0o755)
    client.start(shop, options={"testInterpreter": str(chosen)})
    client.command("runTests")
    client.wait(lambda: client.progress and client.progress[-1]["kind"] == "end")
    assert (tmp_path / "ran").exists()
    assert not client.messages


def test_an_interpreter_without_pytest_is_named(client, shop, tmp_path):
    bare = tmp_path / "bare"
    venv.create(bare, with_pip=False, symlinks=os.name != "nt")
    python = next(path for path in (bare / "bin" / "python", bare / "Scripts" / "python.exe") if path.exists())
    client.start(shop, options={"testInterpreter": str(python)})
    client.command("runTests")
    said = failed_run(client)
    assert f"{python}: this interpreter has no pytest" in said
    assert "install pytest for it" in said


@pytest.mark.slow
def test_a_long_message_keeps_its_cure(client, shop, tmp_path):
    python = tmp_path / ("long" * 50) / ("path" * 50) / "python"
    client.start(shop, options={"testInterpreter": str(python)})
    client.command("runTests")
    assert "correct --python" in failed_run(client)


def test_the_programs_of_the_servers_own_environment_do_not_stand_before_the_users(monkeypatch):
    assert processes.environment()["PATH"].startswith(os.path.dirname(sys.executable))
    monkeypatch.setattr(processes, "find_spec", lambda name: None)
    assert processes.environment()["PATH"] == os.environ["PATH"]


def test_localize_looks_again(client, shop):
    client.start(shop)
    seen = len(client.statuses)
    client.command("localize")
    client.wait_for_state("ready", after=seen)
