"""Settings, commands and methods are declared once: what else names them agrees."""

import dataclasses
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import is_typeddict

import pytest

from suspectra.techniques import technique_infos, technique_names
from suspectra_server import messages, protocol, vscode_manifest
from suspectra_server.agent.tools import TOOL
from suspectra_server.features.agent_answers import AgentTools
from suspectra_server.features.commands.commands import command_groups
from suspectra_server.features.diagnostics import PAGES
from suspectra_server.safe_text import code, plain
from suspectra_server.server import make_server
from suspectra_server.settings import SETTINGS, Settings, read_settings

ROOT = Path(__file__).parent.parent.parent


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
    assert not ids & {command["command"] for command in vscode_manifest.commands()}
    assert {f"suspectra.{command.name}" for command in protocol.COMMANDS} <= {
        command["command"] for command in vscode_manifest.commands()
    }


@pytest.fixture
def declared(monkeypatch):
    """What the generated files are made from: the types of messages, by name."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    return {one.name: one for one in importlib.import_module("declared_messages").declared_types()}


def test_a_message_and_each_of_its_fields_say_what_they_mean(declared):
    assert {name for name, one in declared.items() if not one.alias} == {
        name for name, value in vars(messages).items() if is_typeddict(value)
    }
    for name, one in declared.items():
        assert one.text.endswith("."), name
        assert {field.name for field in one.fields if not field.text} == set(), name
    for name, one in declared.items():
        inherited = {field.name for field in declared[one.extends].fields} if one.extends else set()
        if not one.alias and (not one.extends or not declared[one.extends].extends):
            sent = getattr(messages, name).__annotations__
            assert sent.keys() == {field.name for field in one.fields} | inherited, name


def test_types_that_are_named_exist(declared):
    known = {*declared, "Location", "Range", "Record", "WorkspaceEdit"}
    named = {
        *(field.type for one in declared.values() for field in one.fields),
        *(argument.type for command in protocol.COMMANDS for argument in command.arguments),
        *(argument.type for request in protocol.REQUESTS for argument in request.params),
        *(one.result for one in (*protocol.COMMANDS, *protocol.REQUESTS)),
        *(one.params for one in protocol.NOTIFICATIONS),
    }
    assert {name for type_ in named for name in re.findall(r"\b[A-Z][a-z]\w+", type_)} <= known


def test_every_declared_method_is_a_request_or_a_notification():
    methods = {value for value in vars(protocol).values() if isinstance(value, str) and value.startswith("suspectra/")}
    assert methods == {one.method for one in (*protocol.REQUESTS, *protocol.NOTIFICATIONS)}


def names(message):
    return message.__annotations__.keys()


def test_every_declared_field_is_sent(client, shop, capable):
    client.start(shop)
    answer = client.suspects()
    assert answer.keys() == names(messages.Suspects)
    assert answer["suspects"][0].keys() == names(messages.SuspectMessage)
    assert answer["groups"][0].keys() == names(messages.GroupOverview)
    assert client.statuses[-1].keys() == names(messages.Status)
    assert client.request("suspectra/techniques")[0].keys() == names(messages.TechniqueMessage)
    best = answer["suspects"][0]
    explanation = client.request("suspectra/explanation", {"uri": best["uri"], "line": best["line"] - 1})
    assert explanation.keys() == names(messages.ExplanationMessage)
    assert explanation["failing"][0].keys() == names(messages.Test)
    (results,) = client.request("suspectra/testResults")
    assert results.keys() == names(messages.TestResults)
    assert results["files"][0].keys() == names(messages.MeasuredFileMessage)
    assert client.request("suspectra/coverage", {"uri": best["uri"]})[0].keys() == names(messages.Coverage)


@pytest.mark.asyncio
async def test_every_declared_request_is_answered():
    features = make_server().protocol.fm.features
    assert {request.method for request in protocol.REQUESTS} <= set(features)


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


@pytest.mark.slow
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
