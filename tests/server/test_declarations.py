"""Settings, commands and methods are declared once: what else names them agrees."""

import dataclasses
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from suspectra.techniques import technique_infos, technique_names
from suspectra_server import extension, messages, protocol
from suspectra_server.agent.tools import TOOL
from suspectra_server.features.agent_answers import AgentTools
from suspectra_server.features.commands.commands import command_groups
from suspectra_server.features.diagnostics import PAGES
from suspectra_server.server import make_server
from suspectra_server.settings import SETTINGS, Settings, read_settings
from suspectra_server.text import code, plain

ROOT = Path(__file__).parent.parent.parent
EXTENSION = ROOT / "vscode-extension"


def test_each_setting_has_a_value_of_its_own_with_a_default_that_is_usable():
    assert {setting.attribute for setting in SETTINGS} == {field.name for field in dataclasses.fields(Settings)}
    for setting in SETTINGS:
        assert getattr(Settings(), setting.attribute) == setting.option.default, setting.name
        for value in (setting.default, *setting.option.values):
            read, complaints = read_settings({setting.name: value})
            assert not complaints, (setting.name, value)
            assert getattr(read, setting.attribute) == setting.check(value)


def test_a_client_may_have_the_plain_ids_for_commands_of_its_own():
    # client libraries register the server's ids in their editor: a second registration fails
    ids = {command.id for command in protocol.COMMANDS}
    assert all(re.fullmatch(r"suspectra\.server\.\w+", one) for one in ids)
    assert not ids & {command["command"] for command in extension.commands()}
    assert {f"suspectra.{command.name}" for command in protocol.COMMANDS} <= {
        command["command"] for command in extension.commands()
    }


def test_the_extension_speaks_the_same_methods_and_states():
    source = (EXTENSION / "src" / "protocol.ts").read_text()
    assert set(re.findall(r"'(suspectra/\w+)'", source)) <= {
        value for value in vars(protocol).values() if isinstance(value, str) and value.startswith("suspectra/")
    }
    assert set(re.findall(r"'(suspectra\.server\.\w+)'", source)) == {command.id for command in protocol.COMMANDS}
    states = re.search(r"type State =([^;]+);", source)[1]
    assert set(re.findall(r"'(\w+)'", states)) == {state.value for state in protocol.FolderState}


def names(fields):
    return {name for field in fields for name in field.name.split(", ")}


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        (messages.Status, protocol.STATUS_PARAMS),
        (messages.Suspects, protocol.SUSPECTS_RESULT),
        (messages.Suspect, protocol.SUSPECT),
        (messages.CollectionError, protocol.COLLECTION_ERROR),
        (messages.GroupOverview, protocol.GROUP_OVERVIEW),
        (messages.GroupSuspects, protocol.GROUP_RESULT),
        (messages.Technique, protocol.TECHNIQUE),
        (messages.Jump, protocol.JUMP),
        (messages.CodeLocation, protocol.CODE_LOCATION),
        (messages.Move, protocol.CODE_LOCATION + protocol.MOVE),
        (messages.Learned, protocol.LEARNED),
        (messages.Explanation, protocol.EXPLANATION_RESULT),
        (messages.Test, protocol.TEST),
        (messages.TestResults, protocol.TEST_RESULTS_RESULT),
        (messages.CommandLine, protocol.COMMAND_LINE_RESULT),
        (messages.Coverage, protocol.COVERAGE_RESULT),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_type_of_a_message_has_the_declared_fields(message, fields):
    assert message.__annotations__.keys() == names(fields)


def test_every_declared_field_is_sent(client, shop, capable):
    client.start(shop)
    answer = client.suspects()
    assert answer.keys() == names(protocol.SUSPECTS_RESULT)
    assert answer["suspects"][0].keys() == names(protocol.SUSPECT)
    assert answer["groups"][0].keys() == names(protocol.GROUP_OVERVIEW)
    assert client.statuses[-1].keys() == names(protocol.STATUS_PARAMS)
    assert client.request("suspectra/techniques")[0].keys() == names(protocol.TECHNIQUE)
    best = answer["suspects"][0]
    explanation = client.request("suspectra/explanation", {"uri": best["uri"], "line": best["line"] - 1})
    assert explanation.keys() == names(protocol.EXPLANATION_RESULT)
    assert explanation["failing"][0].keys() == names(protocol.TEST)
    assert client.request("suspectra/testResults")[0].keys() == names(protocol.TEST_RESULTS_RESULT)
    assert client.request("suspectra/coverage", {"uri": best["uri"]})[0].keys() == names(protocol.COVERAGE_RESULT)
    assert set(protocol.STATES) == set(protocol.FolderState)


@pytest.mark.asyncio
async def test_every_declared_command_has_one_handler_that_takes_its_arguments():
    server = make_server()
    assert list(server.protocol.fm.commands) == [command.id for command in protocol.COMMANDS]
    handlers = [item for group in command_groups(server) for item in group.handlers().items()]
    assert sorted(name for name, _ in handlers) == sorted(command.name for command in protocol.COMMANDS)
    methods = dict(handlers)
    for command in protocol.COMMANDS:
        assert len(inspect.signature(methods[command.name]).parameters) >= len(command.arguments), command.name


@pytest.mark.asyncio
async def test_every_tool_of_agents_has_one_answer():
    assert AgentTools(make_server()).answers().keys() == TOOL.keys()


def test_the_generated_pages_are_up_to_date(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    generate = importlib.import_module("generate")
    stale = [path.name for path, text in generate.pages() if not path.exists() or path.read_text("utf-8") != text]
    assert not stale, "run: python docs/generate.py"


def test_every_technique_has_its_page_and_no_page_is_left_over():
    assert {page.stem for page in PAGES.iterdir()} == set(technique_names())
    for page in PAGES.iterdir():
        text = page.read_text("utf-8")
        for heading in ("When to use it", "What it needs", "Published in"):
            assert re.search(rf"^\*\*{heading}\.\*\* \S.{{19,}}", text, re.MULTILINE), (page.name, heading)
        for link in re.findall(r"\]\(([^)]+\.md)\)", text):
            assert (PAGES / link).exists()


def test_no_formula_is_cut_where_it_is_shown():
    for info in technique_infos():
        assert plain(info.formula) == info.formula, info.name
        assert info.formula in code(info.formula), info.name


def test_starting_the_server_loads_nothing_it_does_not_need_at_once():
    # scipy takes as long to load as everything else of the server; the debugging model brings it when it is asked
    program = "import sys, suspectra_server.main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scipy", "jinja2", "pygments", "pytest", "coverage"} & set(loaded)


# reading settings


def test_what_is_not_given_keeps_its_value():
    base = Settings(top=7, technique="dstar")
    assert read_settings({"technique": None, "unknown": 1}, base) == (base, [])
    assert read_settings({"testCommand": ["tox", "-e", "py"]})[0].test_command == ("tox", "-e", "py")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("technique", 3),
        ("technique", "no such"),
        ("cloneFailed", "yes"),
        ("cloneFailed", 1),
        ("top", 0),
        ("top", True),
        ("top", 2.5),
        ("top", 10**9),
        ("coverage", ["a"]),
        ("junit", "a\0b"),
        ("testCommand", "pytest"),
        ("testCommand", []),
        ("testCommand", ["pytest", 3]),
        ("showNotifications", "sometimes"),
        ("showNotifications", ["off"]),
    ],
)
def test_a_value_that_is_not_usable_is_said_and_the_default_holds(name, value):
    settings, complaints = read_settings({name: value}, Settings(top=9))
    attribute = next(setting.attribute for setting in SETTINGS if setting.name == name)
    assert getattr(settings, attribute) == getattr(Settings(), attribute)
    assert len(complaints) == 1
    assert f"suspectra.{name} " in complaints[0]
