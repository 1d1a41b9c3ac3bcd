"""Failing tests that run again with something altered: on request, with consent, beside everything else."""

import json
import subprocess
import sys
import sysconfig
import venv
from types import SimpleNamespace

import pytest

from suspectra.evidence.discovery import find_source
from suspectra.experiments.safety import Safety
from suspectra_server.session.experiments.investigating import Investigating
from suspectra_server.session.trust import Trust
from suspectra_server.settings import Settings

REQUEST_FAILED = -32803
CODE = """\
def price(amount):
    paid = amount if amount else 0
    if amount > 10:
        paid = amount * 9 // 10
    return paid


def label(name):
    return name and "nobody"
"""
TESTS = """\
import pytest
from code_of_shop import label, price


@pytest.mark.parametrize("amount", [10, 10.0])
def test_discount(amount):
    assert price(amount) == 9


def test_no_discount():
    assert price(5) == 5


def test_a_real_discount():
    assert price(20) == 18
"""
FILES = {"code_of_shop.py": CODE, "test_shop.py": TESTS}
SLOW = """\
import time
from code_of_shop import price


def test_slow():
    time.sleep(0.2)
    paid = [price(amount) for amount in range(1000)]
    assert paid[10] == 9
"""
DISCOUNT = ["test_shop.py::test_discount[10]", "test_shop.py::test_discount[10.0]"]
FOUND = "`>` → `>=` repairs 2 tests and breaks none."
OFFERED = [
    "Why does it fail?",
    "Debug",
    "Find out what would make it pass",
    "Find a fix",
    "Which change broke it?",
    "Compare values with passing tests",
    "Find the cause",
    "Compare with a passing run",
    "What led here",
]
SWITCHED = "Both failing tests pass if this comes out true."
IF = CODE.splitlines().index("    if amount > 10:")


def questions(client):
    return [one["params"] for one in client.asked if one["method"] == "window/showMessageRequest"]


def log_of(project):
    file = project / ".suspectra" / "experiments" / "log.jsonl"
    # the last line may be there in part only, while it is being written
    lines = map(json.loads, file.read_text().split("\n")[:-1]) if file.exists() else ()
    return [line for line in lines if "test" in line]


@pytest.mark.slow
def test_what_makes_failing_tests_pass_is_said_on_its_line_and_stays_until_a_source_changes(
    client, connect, project, record
):
    source, tests = project / "code_of_shop.py", project / "test_shop.py"
    client.start(project)
    uri, test_uri = client.open(source), client.open(tests)
    assert client.suspects()["suspects"][0]["findings"] == []

    # it is offered on the failing test, and nothing runs before the user has agreed
    where = {"start": {"line": 5, "character": 0}, "end": {"line": 5, "character": 0}}
    asked = {"textDocument": {"uri": test_uri}, "range": where, "context": {"diagnostics": []}}
    offered = client.ask_until(lambda: client.request("textDocument/codeAction", asked))
    command = next(one["command"] for one in offered if one["title"] == "Find out what would make it pass")
    assert command["arguments"] == [project.as_uri(), DISCOUNT]
    run = {"command": command["command"], "arguments": command["arguments"]}
    assert client.request("workspace/executeCommand", run) is False  # the client did not answer
    (question,) = questions(client)
    assert "wrong values and with checks skipped" in question["message"]
    assert not log_of(project)

    client.agree()
    assert client.request("workspace/executeCommand", run) is True
    said = client.outcome()
    assert said.startswith(f"code_of_shop.py:3: {FOUND}")
    assert [value["kind"] for value in client.progress[:1] + client.progress[-1:]] == ["begin", "end"]
    assert client.progress[0]["title"] == "Suspectra: trying what makes tests pass"
    assert client.progress[0]["cancellable"]
    assert any(status["investigation"] for status in client.statuses)
    assert any("test_discount[10] passes if this comes out true" in line["message"] for line in client.logged)

    first = client.suspects()["suspects"][0]
    assert first["line"] == IF + 1
    assert (first["findings"][0], first["repairs"]) == (FOUND, 2)
    assert SWITCHED in first["findings"]
    assert FOUND in next(d["message"] for d in client.diagnostics[uri] if d["range"]["start"]["line"] == IF)
    at = {"textDocument": {"uri": uri}, "position": {"line": IF, "character": 0}}
    assert client.request("textDocument/hover", at)["contents"]["value"].count(FOUND) == 1
    below = at | {"position": {"line": IF, "character": 5}}  # the diagnostic is shown above that
    assert FOUND not in client.request("textDocument/hover", below)["contents"]["value"]
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert any(FOUND.removesuffix(".") in one["command"]["title"] for one in lenses)

    # another technique ranks as it does, and says what was found all the same
    client.command("selectTechnique", "ochiai")
    client.wait(lambda: client.statuses[-1]["technique"] == "ochiai")
    assert FOUND in client.request("textDocument/hover", at)["contents"]["value"]

    # a server that starts later shows what is in the log, and asks no more
    other = connect().start(project)
    assert other.suspects()["suspects"][0]["findings"] == first["findings"]
    assert other.command("investigate", None, None, {"uri": uri, "position": {"line": 0, "character": 0}}) is True
    assert "0 altered runs" in other.outcome()
    assert not questions(other)

    # until a source changes
    source.write_text(CODE + "\n\nADDED = True\n")
    record(project)
    other.ask_until(lambda: [one["findings"] for one in other.suspects()["suspects"]] == [[]] * 3)
    other.wait(lambda: other.statuses[-1]["technique"] == "evidence")
    assert not other.suspects()["problems"]


@pytest.mark.slow
def test_a_mutant_that_repairs_all_is_shown_as_a_diff_and_applied_only_by_its_action(client, project, capable):
    source = project / "code_of_shop.py"
    capable["workspace"]["workspaceEdit"] = {"documentChanges": True, "changeAnnotationSupport": {}}
    client.initialize(project, capabilities=capable)
    client.wait_for_state("ready")
    uri = client.open(source)
    client.agree()
    assert client.command("testSuspect", uri, IF) is True
    assert FOUND in client.outcome()
    client.edit(uri, (0, 0), (0, 0), "# one line more\n")
    at = {"textDocument": {"uri": uri}, "position": {"line": IF + 1, "character": 0}}
    assert FOUND in client.request("textDocument/hover", at)["contents"]["value"].splitlines()[0]
    diff = "```diff\n-    if amount > 10:\n+    if amount >= 10:\n```"
    assert diff in client.command("explain", uri, IF + 1)["markdown"]

    def fixes():
        where = {"start": at["position"], "end": at["position"]}
        params = {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": []}}
        found = client.request("textDocument/codeAction", params)
        return {one["title"]: one["edit"] for one in found if "edit" in one}

    edit = fixes()["Apply `>` → `>=`, which repairs 2 tests and breaks none"]
    ((change,),) = [one["edits"] for one in edit["documentChanges"]]
    place = CODE.splitlines()[IF].index(">")
    assert change["newText"] == ">="
    assert change["range"] == {
        "start": {"line": IF + 1, "character": place},
        "end": {"line": IF + 1, "character": place + 1},
    }
    assert edit["changeAnnotations"][change["annotationId"]]["needsConfirmation"] is True
    assert source.read_text() == CODE  # nothing was applied

    # not to a line that is not exactly what was run
    client.edit(uri, (IF + 1, place), (IF + 1, place), " ", version=3)
    client.ask_until(lambda: fixes() == {})


@pytest.mark.slow
def test_one_suspect_can_be_tested_alone(client, project):
    client.start(project)
    uri = client.open(project / "code_of_shop.py")
    client.agree()
    context = {"diagnostics": []}
    where = {"start": {"line": IF, "character": 0}, "end": {"line": IF, "character": 0}}
    actions = client.request(
        "textDocument/codeAction", {"textDocument": {"uri": uri}, "range": where, "context": context}
    )
    (action,) = [one for one in actions if one["title"] == "Test this suspect"]
    assert action["command"]["arguments"] == [uri, IF]
    assert client.command("testSuspect", uri, IF) is True
    assert FOUND in client.outcome()
    assert {line["line"] for line in log_of(project)} == {IF + 1}
    client.messages.clear()
    assert client.command("testSuspect", uri, 1) is True
    assert client.outcome().startswith("code_of_shop.py:2: ")  # the answer is about this line
    with pytest.raises(client.Error, match="No failing test executes"):
        client.command("testSuspect", uri, len(CODE.splitlines()) - 1)


@pytest.mark.slow
def test_values_can_be_hidden(client, project):
    client.start(project, options={"experimentsHideValues": True})
    uri = client.open(project / "code_of_shop.py")
    client.agree()
    assert client.command("testSuspect", uri, 1) is True
    assert "Both failing tests pass with paid = (expected)." in client.outcome()
    assert any("paid = (expected)" in line["message"] for line in client.logged)
    assert not any("paid = 9" in line["message"] for line in client.logged)
    tried = [line["action"] for line in log_of(project) if line["kind"] == "value"]
    assert tried
    assert not any(character.isdigit() for action in tried for character in action), tried


def test_settings_say_what_experiments_may_do(project):
    """As the options of the command line do; the parts of an investigation are tested with the library."""
    chosen = Settings(
        experiments_exclude_markers=("slow",),
        experiments_copy=True,
        experiments_forks=True,
        experiments_hide_values=True,
        investigation_seconds=3,
    )
    trust = Trust(True)
    trust.read({})
    evidence = find_source(project, edges=True).read()

    def made(settings):
        rankings = SimpleNamespace(build="")
        folder = SimpleNamespace(root=project, settings=settings, pytest_command=lambda: ["pytest"], rankings=rankings)
        return Investigating(None, None, folder, evidence, ()).inquiry(trust, lambda _: None)

    investigation = made(chosen)
    assert investigation.setup.safety == Safety(("slow",), copy=True)
    assert (investigation.forks, investigation.setup.values_shown, investigation.seconds) == (True, False, 3)
    usual = made(Settings())
    assert (usual.setup.safety, usual.forks) == (Safety(), False)
    assert (usual.setup.values_shown, usual.seconds) == (True, 20)


@pytest.mark.slow
def test_a_failing_test_has_the_command_as_a_code_action(client, project):
    client.start(project)
    uri = client.open(project / "test_shop.py")

    def titles(line):
        where = {"start": {"line": line, "character": 4}, "end": {"line": line, "character": 4}}
        params = {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": [], "triggerKind": 2}}
        return [one["title"] for one in client.request("textDocument/codeAction", params)]

    client.ask_until(lambda: titles(6) == OFFERED)
    assert titles(4) == titles(5) == titles(6)
    assert titles(10) == titles(11) == []  # this one passes
    client.agree()
    assert client.command("investigate", None, None, {"uri": uri, "position": {"line": 6, "character": 4}}) is True
    assert FOUND in client.outcome()
    assert {line["test"] for line in log_of(project)} >= set(DISCOUNT)


@pytest.mark.slow
def test_cancelling_keeps_what_is_known_and_nothing_waits_for_experiments(client, project, record):
    (project / "test_shop.py").write_text(SLOW)
    record(project)
    client.start(project)
    client.agree()
    assert client.command("investigate") is True
    client.wait(lambda: (client.statuses[-1]["investigation"] or {}).get("runs"))
    with pytest.raises(client.Error, match="already running"):
        client.command("investigate")

    # meanwhile another technique ranks, and the debugging model answers
    client.command("selectTechnique", "dstar")
    client.wait(lambda: client.statuses[-1]["technique"] == "dstar" and client.statuses[-1]["state"] == "ready")
    assert client.command("jump")["moves"]
    assert client.statuses[-1]["investigation"]

    assert client.command("cancelInvestigation") is True
    assert "cancelled after" in client.outcome()
    assert client.command("cancelInvestigation") is False
    assert log_of(project)


def test_a_repository_can_not_agree_for_the_user(client, project, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for folder in (project, project / ".suspectra", project / ".suspectra" / "experiments"):
        folder.mkdir(exist_ok=True)
        (folder / "experiments.json").write_text(json.dumps({"workspaces": [str(project)]}))
    client.start(project)
    assert client.command("investigate") is False
    assert len(questions(client)) == 1
    # a file that is damaged means that nobody has agreed
    own = tmp_path / "state" / "suspectra" / "experiments.json"
    own.parent.mkdir(parents=True)
    own.write_text('{"workspaces": 3}')
    assert client.command("investigate") is False
    assert len(questions(client)) == 2
    assert not log_of(project)


@pytest.mark.parametrize("command", ["investigate", "testSuspect"])
def test_altered_runs_are_refused_where_the_workspace_is_not_trusted(client, project, command):
    client.start(project, options={"trusted": False})
    uri = client.open(project / "code_of_shop.py")
    with pytest.raises(client.Error, match="trust") as caught:
        client.command(command, *([uri, IF] if command == "testSuspect" else []))
    assert caught.value.code == REQUEST_FAILED
    assert not questions(client)
    test_uri = client.open(project / "test_shop.py")
    assert client.request("textDocument/codeLens", {"textDocument": {"uri": test_uri}}) == []


def test_what_can_not_be_run_again_is_said(client, project):
    (project / "manage.py").write_text("from django.core.management import execute_from_command_line\n")
    client.start(project, options={"testCommand": ["python", "manage.py", "test"]})
    with pytest.raises(client.Error, match="its tests are not run by pytest"):
        client.command("investigate")
    assert not questions(client)
    with pytest.raises(client.Error, match="None of these tests failed"):
        client.command("investigate", project.as_uri(), ["test_shop.py::test_no_discount"])
    client.open(project / "code_of_shop.py", CODE.replace("amount > 10", "amount >= 10"))
    client.wait_for_state("stale", after=len(client.statuses) - 1)
    with pytest.raises(client.Error, match="sources changed"):
        client.command("investigate")


@pytest.mark.slow
def test_what_another_environment_recorded_is_run_again_there(client, project, tmp_path_factory):
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment)
    installed = next(environment.glob("lib/python*/site-packages"))
    (installed / "this_one.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (installed / "discounts.py").write_text("SHARE = 9\n")
    source = project / "code_of_shop.py"
    source.write_text("import discounts\n\n\n" + CODE.replace("amount * 9", "amount * discounts.SHARE"))
    record = [sys.executable, "-m", "suspectra", "record", "--", str(environment / "bin" / "python"), "-m", "pytest"]
    subprocess.run(record, cwd=project, check=False)
    client.start(project)
    client.agree()
    assert client.command("investigate") is True
    assert FOUND in client.outcome(), client.messages
    assert any(line["test"] == DISCOUNT[0] for line in log_of(project))
