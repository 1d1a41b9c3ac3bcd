"""The VS Code extension's manifest and sources say what the server declares."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import suspectra
from suspectra_server import protocol
from suspectra_server.protocol import COMMANDS, STATES, SUSPECT
from suspectra_server.settings import SETTINGS

EXTENSION = Path(__file__).parents[2] / "vscode-extension"
TEXTS = json.loads((EXTENSION / "package.nls.json").read_text())
MANIFEST = json.loads((EXTENSION / "package.json").read_text())
PROPERTIES = MANIFEST["contributes"]["configuration"]["properties"]
PROTOCOL = (EXTENSION / "src" / "protocol.ts").read_text()
CLIENT_ONLY = {
    "suspectra.interpreter",
    "suspectra.importStrategy",
    "suspectra.trace.server",
    "suspectra.decorations",
    "suspectra.publishCoverage",
}


def test_the_settings_are_the_servers_and_a_few_of_the_clients_own():
    assert set(PROPERTIES) == {f"suspectra.{setting.name}" for setting in SETTINGS} | CLIENT_ONLY


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_a_setting_has_the_servers_default_and_type(setting):
    declared = PROPERTIES[f"suspectra.{setting.name}"]
    assert declared["default"] == setting.default
    assert setting.check(declared["default"]) is not None
    kind = " | ".join(f'"{value}"' for value in declared["enum"]) if "enum" in declared else declared["type"]
    assert setting.type.replace(" of strings", "") == kind


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_has_a_twin_with_the_same_title(command):
    titles = {item["command"]: TEXTS[item["title"].strip("%")] for item in MANIFEST["contributes"]["commands"]}
    assert titles[f"suspectra.ui.{command.name}"] == command.title
    assert f"{command.name}: '{command.id}'" in PROTOCOL


def test_the_methods_and_states_are_the_servers():
    assert set(re.findall(r"'(suspectra/\w+)'", PROTOCOL)) == {
        value for value in vars(protocol).values() if isinstance(value, str) and value.startswith("suspectra/")
    }
    states = re.search(r"type State =([^;]*);", PROTOCOL)[1]
    assert set(re.findall(r"'(\w+)'", states)) == {state.value for state in STATES}


def test_a_suspect_has_the_servers_fields():
    interface = re.search(r"interface Suspect \{(.*?)\n\}", PROTOCOL, re.DOTALL)[1]
    declared = set(re.findall(r"^  (\w+): ", interface, re.MULTILINE))
    assert declared == {name for field in SUSPECT for name in field.name.split(", ")}


def test_the_versions_agree():
    assert MANIFEST["version"] == suspectra.__version__
