"""What is under way when a ranking or a folder goes: nothing of it may reach the one that comes next."""

import asyncio
import hashlib
import os
import shutil
import threading

import pytest

from suspectra_server.features.step_messages import StepMessages
from suspectra_server.session.folder import Folder
from suspectra_server.session.navigation import learned_moves as learned_module
from suspectra_server.session.ranking.ranker import Ranker
from suspectra_server.session.ranking.rankings import Rankings
from suspectra_server.state.navigation import NavigationModels

TIMEOUT_S = 30
FAULT = "off = off - amount"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A state folder of this test's own, so that nobody's habits are touched."""
    monkeypatch.setattr(learned_module.platformdirs, "user_state_path", lambda *names, **how: tmp_path / "state")
    return tmp_path / "state" / "learned-jumps.json"


class Gate:
    """Holds back rankings while it is shut."""

    def __init__(self):
        self.open = threading.Event()
        self.open.set()
        self.reached = threading.Event()
        self.passed = threading.Event()

    def shut(self):
        self.reached.clear()
        self.passed.clear()
        self.open.clear()


@pytest.fixture
def gate(monkeypatch):
    gate, rank, ranked, make = Gate(), Ranker.rank, Rankings._ranked, NavigationModels.make

    def held_back(self, *given):
        gate.reached.set()
        assert gate.open.wait(TIMEOUT_S)
        return rank(self, *given)

    def ranked_and_noted(self, result, wanted):
        ranked(self, result, wanted)
        gate.passed.set()

    def made_later(self, basis, token):
        assert gate.passed.wait(TIMEOUT_S)  # models have a thread of their own, and may be quicker than the ranking
        return make(self, basis, token)

    monkeypatch.setattr(Ranker, "rank", held_back)
    monkeypatch.setattr(Rankings, "_ranked", ranked_and_noted)
    monkeypatch.setattr(NavigationModels, "make", made_later)
    yield gate
    gate.open.set()
    gate.passed.set()


@pytest.fixture
def ask_behind_a_ranking(client, shop, gate, record):
    """Ask something while a ranking that numbers all statements anew is queued ahead."""

    def ask(method, params):
        gate.shut()
        # sorts before every other file of the program, so that all of their statements get other numbers
        (shop / "shop/__about__.py").write_text("".join(f"def f{n}():\n    return {n}\n\n" for n in range(20)))
        (shop / "tests/test_about.py").write_text(
            "from shop import __about__\n\n\ndef test_about():\n    assert __about__.f1() + __about__.f19() == 20\n"
        )
        record(shop)
        client.command("localize")
        assert gate.reached.wait(TIMEOUT_S)
        client.send({"id": "asked", "method": method, "params": params})
        client.request("suspectra/techniques")  # messages are taken in their order
        gate.open.set()
        answer = client.response("asked")
        assert gate.passed.is_set(), "the ranking came first"
        return answer

    return ask


def execute(name, *arguments):
    return {"command": f"suspectra.server.{name}", "arguments": list(arguments)}


def at(path, line):
    return {"uri": path.as_uri(), "position": {"line": line, "character": 0}}


def places(found):
    return [(move["file"], move["line"], move["source"]) for move in found["moves"]]


@pytest.mark.slow
def test_a_jump_leads_to_the_lines_it_would_have_led_to(client, shop, find_line, ask_behind_a_ranking):
    client.start(shop)
    cursor = at(shop / "shop/vouchers.py", find_line(shop / "shop/vouchers.py", FAULT))
    before = client.command("jump", cursor, {"ask": False})
    found = ask_behind_a_ranking("workspace/executeCommand", execute("jump", cursor, {"ask": False}))
    assert places(before)
    assert places(found) == places(before)
    assert found["origin"]["line"] == before["origin"]["line"]
    assert [move["function"] for move in found["moves"]] == [move["function"] for move in before["moves"]]


@pytest.mark.slow
def test_a_choice_made_after_a_new_run_leads_where_it_said(client, shop, find_line, record, gate, capable):
    """The question stays on the screen while tests are run, with another source."""
    del capable["experimental"]
    path = shop / "shop/vouchers.py"
    chosen = []

    def choose(params):
        gate.shut()
        gate.open.set()
        path.write_text("# a new line\n# and another\n" + path.read_text())
        record(shop)
        assert gate.passed.wait(TIMEOUT_S)
        chosen.extend(item["title"] for item in params["actions"] if item["title"].startswith("shop/vouchers.py"))
        return {"title": chosen[0]}

    client.answers["window/showMessageRequest"] = choose
    client.start(shop, capabilities=capable)
    line = find_line(path, FAULT)
    wanted = path.read_text().splitlines()
    found = client.command("jump", at(path, line))
    number = int(chosen[0].split(" ")[0].rpartition(":")[2])
    there = path.read_text().splitlines()[found["chosen"]["range"]["start"]["line"]]
    assert there == wanted[number - 1]


@pytest.mark.slow
def test_the_next_suspect_by_steps_is_a_suspect(client, shop, ask_behind_a_ranking):
    client.configuration = {"order": "steps"}
    client.start(shop)
    assert client.command("nextSuspect")
    found = ask_behind_a_ranking("workspace/executeCommand", execute("nextSuspect"))
    suspects = {(s["uri"], s["range"]["start"]["line"]) for s in client.suspects()["suspects"]}
    assert (found["uri"], found["range"]["start"]["line"]) in suspects
    visited = client.command("explain")["location"]
    assert visited == found, "the reader stands where they were led"


# folders that are removed


def remove(client, folder):
    removed = [{"uri": folder.as_uri(), "name": folder.name}]
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": removed}})
    marked = [uri for uri in client.diagnostics if uri.startswith(folder.as_uri())]
    assert marked
    client.wait(lambda: not any(client.diagnostics[uri] for uri in marked))


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_folder_that_is_removed_while_it_is_ranked_is_heard_of_no_more(client, shop, tmp_path, gate):
    other = tmp_path / "other"
    shutil.copytree(shop, other)
    client.start(shop, other)
    client.wait(lambda: client.marks(shop) and client.statuses[-1]["failed"] == 6)
    gate.shut()
    client.command("localize")
    assert gate.reached.wait(TIMEOUT_S)
    remove(client, other)
    seen = len(client.published)
    gate.open.set()
    client.wait_for_state("ready", after=len(client.statuses))
    assert not any(uri.startswith(other.as_uri()) for uri in client.published[seen:])
    assert client.diagnostics[(other / "shop/vouchers.py").as_uri()] == []


@pytest.mark.slow
def test_a_folder_that_is_removed_during_its_test_run_ends_it_and_is_heard_of_no_more(client, shop, tmp_path, until):
    other = tmp_path / "other"
    shutil.copytree(shop, other)
    (other / "tests/test_slow.py").write_text(
        "import os, pathlib, time\n\ndef test_slow():\n"
        "    pathlib.Path('running.txt').write_text(str(os.getpid()))\n    time.sleep(60)\n"
    )
    client.start(shop, other)
    client.wait(lambda: client.marks(shop) and client.statuses[-1]["failed"] == 6)
    client.command("runTests", [other.as_uri()])
    until((other / "running.txt").exists)
    until((other / "running.txt").read_text)
    pid = int((other / "running.txt").read_text())
    remove(client, other)
    seen = len(client.published)
    until(lambda: not alive(pid))
    client.wait(lambda: client.progress and client.progress[-1]["kind"] == "end")
    (other / ".suspectra/recording/touched.log").write_bytes(b"")
    client.command("localize")
    client.wait_for_state("ready", after=len(client.statuses) - 1)
    # what else is to come of the removed folder comes before what comes of a later change
    source = shop / "shop/vouchers.py"
    source.write_text("# new\n" + source.read_text())
    client.wait(lambda: ("shop/vouchers.py", 18) in client.marks(shop))
    assert not any(uri.startswith(other.as_uri()) for uri in client.published[seen:])
    assert client.diagnostics[(other / "shop/vouchers.py").as_uri()] == []
    assert client.statuses[-1]["failed"] == 3
    assert not client.messages
    assert not client.suspects()["failedRuns"]


@pytest.mark.slow
def test_a_folder_removed_and_added_again_is_watched(client, shop, tmp_path, record):
    other = tmp_path / "other"
    shutil.copytree(shop, other)
    client.start(shop, other)
    client.wait(lambda: client.marks(shop) and client.statuses[-1]["failed"] == 6)
    again = [{"uri": other.as_uri(), "name": "other"}]
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": again, "removed": again}})
    client.wait(lambda: client.diagnostics[(other / "shop/vouchers.py").as_uri()])
    source = other / "shop/vouchers.py"
    source.write_text(source.read_text().replace(FAULT, "off = amount"))
    record(other)
    client.wait(lambda: client.statuses[-1]["failed"] == 3)


# questions that are answered late


def answer_late(client, happen):
    """Agree to altered runs, after something else has happened."""

    def agree(params):
        happen()
        return {"title": params["actions"][0]["title"]}

    client.answers["window/showMessageRequest"] = agree


@pytest.mark.parametrize("command", ["why", "investigate", "testSuspect", "findCause", "comparePassing"])
def test_nothing_runs_in_a_folder_that_was_removed_while_the_user_was_asked(client, shop, find_line, command):
    def happen():
        removed = [{"uri": shop.as_uri(), "name": shop.name}]
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": removed}})

    answer_late(client, happen)
    client.start(shop)
    path = shop / "shop/vouchers.py"
    arguments = {
        "testSuspect": [path.as_uri(), find_line(path, FAULT)],
        "comparePassing": [shop.as_uri(), None, None, "apg"],
    }
    with pytest.raises(client.Error, match="no longer a folder of the workspace"):
        client.command(command, *arguments.get(command, [shop.as_uri()]))
    assert not client.progress
    assert not (shop / ".suspectra/experiments").exists()


@pytest.fixture
def record_text(shop, record, monkeypatch, until):
    """A function that records another text of the faulty module, and returns when its ranking is shown."""
    shown, show = [], Folder.show

    def show_and_note(self, result):
        show(self, result)
        shown.append(result)

    monkeypatch.setattr(Folder, "show", show_and_note)

    def record_text(text):
        (shop / "shop/vouchers.py").write_text(text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        record(shop)
        # that of the whole run; an earlier one is of another text
        until(lambda: any(not one.growing and digest_of(one.ranking.evidence) == digest for one in shown))

    def digest_of(evidence):
        return evidence and evidence.digests.get("shop/vouchers.py")

    return record_text


@pytest.mark.slow
def test_a_suspect_is_found_again_in_what_was_recorded_while_the_user_was_asked(client, shop, find_line, record_text):
    path = shop / "shop/vouchers.py"
    line = find_line(path, FAULT)
    moved = "# a new line\n# and another\n" + path.read_text()
    answer_late(client, lambda: record_text(moved))
    client.start(shop)
    assert client.command("testSuspect", path.as_uri(), line) is True
    assert client.outcome().startswith(f"shop/vouchers.py:{line + 3}: ")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["investigate", "testSuspect", "findCause", "comparePassing"])
def test_tests_that_were_repaired_while_the_user_was_asked_are_not_altered(
    client, shop, find_line, record_text, command
):
    path = shop / "shop/vouchers.py"
    arguments = {
        "testSuspect": [path.as_uri(), find_line(path, FAULT)],
        "comparePassing": [shop.as_uri(), None, None, "apg"],
    }
    repaired = path.read_text().replace(FAULT, "off = amount")
    answer_late(client, lambda: record_text(repaired))
    client.start(shop)
    with pytest.raises(client.Error, match="no longer fails"):
        client.command(command, *arguments.get(command, [shop.as_uri()]))
    assert not client.progress


# places that are looked up while another run is recorded


@pytest.fixture
def moves_while_read(shop, record_text, monkeypatch):
    """The faulty module gets two lines more, and is recorded anew, while texts for an answer are read."""
    read, todo = StepMessages.read, ["# a new line\n# and another\n" + (shop / "shop/vouchers.py").read_text()]

    async def read_slowly(self, paths):
        await read(self, paths)
        while todo:
            await asyncio.to_thread(record_text, todo.pop())

    monkeypatch.setattr(StepMessages, "read", read_slowly)


@pytest.mark.slow
@pytest.mark.usefixtures("moves_while_read")
def test_a_debugger_stops_where_the_suspect_is_by_then(client, shop):
    client.start(shop)
    (stop,) = client.command("debugTest")["stops"]
    first = client.suspects()["suspects"][0]
    assert (stop["uri"], stop["range"]["start"]["line"]) == (first["uri"], first["range"]["start"]["line"])


@pytest.mark.slow
@pytest.mark.usefixtures("moves_while_read")
def test_a_slice_of_sources_that_changed_is_not_shown_in_others(client, shop, find_line):
    client.start(shop)
    path = shop / "shop/vouchers.py"
    with pytest.raises(client.Error, match="The sources changed meanwhile"):
        client.command("whatLedHere", path.as_uri(), find_line(path, FAULT))


@pytest.mark.slow
@pytest.mark.usefixtures("moves_while_read")
@pytest.mark.parametrize("command", ["comparePassing", "compareRuns"])
def test_runs_of_sources_that_changed_are_not_shown_in_others(client, shop, command):
    client.start(shop)
    with pytest.raises(client.Error, match="The sources changed meanwhile"):
        client.command(command, shop.as_uri())
