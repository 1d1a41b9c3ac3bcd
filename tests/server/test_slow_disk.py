"""A workspace on a disk that takes its time: the loop never touches it."""

import os
import time

import pytest

from suspectra_server import timing

FAULT = "off = off - amount"
TIMEOUT_S = 60  # seconds; never reached but by a failure
SHORT = {
    name: 0.1 for name, value in vars(timing).items() if name.endswith("_S") and "TIMEOUT" not in name and value > 0.1
}
EACH = 0.05  # seconds a look at a file takes


@pytest.fixture(scope="session")
def slow_disk(preload_library):
    return preload_library("slow_disk")


@pytest.fixture
def server(process, client_of, slow_disk, shop, tmp_path):
    """A client of a server that finds the shop on a slow disk, and what its loop did with that disk."""

    def start(seconds, timing=None, **how):
        notes = tmp_path / "notes.txt"
        own = {
            "LD_PRELOAD": str(slow_disk),
            "SLOW_DISK": str(shop),
            "SLOW_DISK_SECONDS": str(seconds),
            "SLOW_DISK_LOG": str(notes),
            "XDG_STATE_HOME": str(shop / "state"),
        }
        server = process(env={**os.environ, **own}, timing=timing)
        client = client_of(server.stdout, server.stdin)
        client.notes = notes
        return client.start(shop, **how)

    return start


def wait_until_timers_have_run(client, until):
    """Wait until the watcher has looked so often that all other timers, which are as short as its own, have run too."""

    def looks():
        return sum(line.endswith("/.suspectra/recording") for line in looked_at(client, "worker"))

    enough = looks() + 30
    until(lambda: looks() >= enough, "the watcher looks no more")


def looked_at(client, thread):
    """What a thread of the server did with the disk."""
    complete = client.notes.read_text().split("\n")[:-1]  # the server may be in the middle of a line
    return [line for line in complete if line.split()[0] == thread]


def everything(folder, uri, line):
    """Each request that editors send, and each command."""
    document, position = {"uri": uri}, {"line": line, "character": 4}
    here = {"textDocument": document, "position": position}
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 300, "character": 0}}
    cursor = {"uri": uri, "position": position}
    commands = {
        "nextSuspect": [cursor],
        "previousSuspect": [cursor],
        "firstSuspect": [],
        "explain": [uri, line],
        "jump": [cursor, {"ask": False}],
        "back": [],
        "markExamined": [uri, line],
        "markInnocent": [uri, line, "function"],
        "clearExamined": [],
        "showLearned": [],
        "resetLearned": [],
        "selectTechnique": ["tarantula"],
        "selectGroup": [folder, 1],
        "mergeGroups": [folder, [1, 2]],
        "splitGroup": [folder, None, ["no such test"]],
        "resetGroups": [],
        "whyNot": [uri, line],
        "tellApart": [uri, line],
        "why": [folder],
        "investigate": [folder],
        "findFix": [folder],
        "findChange": [folder],
        "showDifference": [uri, line],
        "undoChange": [uri, line],
        "findCause": [folder],
        "whatLedHere": [uri, line],
        "whatThisInfluenced": [uri, line],
        "comparePassing": [folder],
        "compareRuns": [folder],
        "showValues": [folder],
        "debugHere": [uri, line],
        "debugTest": [folder],
        "debugChain": [],
        "clearComparison": [],
        "nextInChain": [],
        "previousInChain": [],
        "clearCauses": [],
        "stateIsRight": [uri, line],
        "stateIsWrong": [uri, line],
        "cancelInvestigation": [],
        "testSuspect": [uri, line],
        "localize": [],
        "runTests": [],
        "cancelTests": [],
        "compareValues": [folder],  # it starts at once, so that others would be refused
    }
    yield "textDocument/hover", here
    yield "textDocument/codeLens", {"textDocument": document}
    yield "textDocument/inlayHint", {"textDocument": document, "range": span}
    yield "textDocument/codeAction", {"textDocument": document, "range": span, "context": {"diagnostics": []}}
    yield "workspace/symbol", {"query": ""}
    yield "suspectra/suspects", {}
    yield "suspectra/techniques", {}
    yield "suspectra/explanation", {"uri": uri, "line": line}
    yield "suspectra/testResults", {}
    yield "suspectra/causes", {}
    yield "suspectra/comparison", {}
    yield "suspectra/coverage", {"uri": uri}
    for name, arguments in commands.items():
        yield "workspace/executeCommand", {"command": f"suspectra.server.{name}", "arguments": arguments}


@pytest.mark.slow
def test_no_request_command_or_notification_looks_at_a_file_in_the_loop(server, shop, find_line, tmp_path, until):
    from suspectra_server.protocol import COMMANDS

    client = server(0, SHORT, options={"learnJumps": True, "order": "steps", "inlayHints": True})
    path = shop / "shop/vouchers.py"
    uri, line = client.open(path), find_line(path, FAULT)
    asking = {f"suspectra.server.{name}" for name in ("why", "investigate", "testSuspect", "findFix", "findCause")}
    running = ("findChange", "whatLedHere", "whatThisInfluenced", "comparePassing", "compareRuns", "compareValues")
    refused_once_edited = asking | {f"suspectra.server.{name}" for name in running}
    wanted = list(everything(shop.as_uri(), uri, line))
    assert {params["command"] for method, params in wanted if "command" in params} == {c.id for c in COMMANDS}
    for method, params in wanted:
        if params.get("command") in refused_once_edited - {"suspectra.server.findChange"}:  # which would go on
            answer = client.request(method, params)
            assert params["command"] not in asking or not answer  # nobody says whether altered tests may be run
    client.edit(uri, (0, 0), (0, 0), "# new\n")
    for method, params in everything(shop.as_uri(), uri, line + 1):
        if params.get("command", "").removeprefix("suspectra.server.") in (
            "debugChain",
            "showDifference",
            "undoChange",
        ):
            with pytest.raises(client.Error, match=r"No cause was searched for|No change"):
                client.request(method, params)
        elif params.get("command") not in refused_once_edited:
            client.request(method, params)
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]})
    client.configuration = {"top": 3}
    client.notify("workspace/didChangeConfiguration", {"settings": {}})
    folders = [{"uri": shop.as_uri(), "name": "shop"}]
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": folders, "removed": folders}})
    (shop / ".suspectra/recording/new.log").write_bytes(b"")
    path.write_text("# new\n" + path.read_text())
    client.wait_for_state("ready", "stale", after=len(client.statuses))
    wait_until_timers_have_run(client, until)
    client.request("suspectra/suspects")
    assert looked_at(client, "worker")
    assert looked_at(client, "loop") == []


@pytest.mark.slow
def test_a_hover_does_not_wait_for_the_disk(server, shop, find_line, until):
    client = server(EACH)
    path = shop / "shop/vouchers.py"
    uri, line = client.open(path), find_line(path, FAULT)
    slowest, logs = 0.0, shop / ".suspectra/recording"
    for number in range(20):
        before = len(looked_at(client, "worker"))
        (logs / f"{number % 3}.log").write_bytes(b"")  # evidence changes all the while
        asked = time.monotonic()
        client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": line, "character": 4}})
        slowest = max(slowest, time.monotonic() - asked)
        until(lambda seen=before: len(looked_at(client, "worker")) > seen)
    assert looked_at(client, "loop") == [], f"the slowest hover took {slowest:.2f} s"
