"""The VS Code extension's manifest says what the server declares."""

from __future__ import annotations

import json
from pathlib import Path

import suspectra
from suspectra_server import vscode_manifest
from suspectra_server.protocol import COMMANDS
from suspectra_server.settings import SETTINGS

EXTENSION = Path(__file__).parents[2] / "vscode-extension"
TEXTS = json.loads((EXTENSION / "package.nls.json").read_text())
MANIFEST = json.loads((EXTENSION / "package.json").read_text())
GENERATED = "run: python docs/generate.py"


def test_the_settings_are_those_that_are_declared():
    declared = vscode_manifest.configuration()
    assert MANIFEST["contributes"]["configuration"] == declared, GENERATED
    properties = {name: what for section in declared for name, what in section["properties"].items()}
    settings = {f"suspectra.{setting.name}": setting for setting in (*SETTINGS, *vscode_manifest.EXTENSION_SETTINGS)}
    assert properties.keys() == settings.keys()
    for name, setting in settings.items():
        assert setting.check(properties[name]["default"]) == setting.option.default
        assert properties[name].get("enum", []) == list(setting.option.values)
    trusted = MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert trusted == vscode_manifest.restricted(), GENERATED


def test_a_workspace_can_not_say_when_its_tests_run():
    """VS Code reads a setting of this scope from the user's settings only, and from those of a remote machine."""
    groups = MANIFEST["contributes"]["configuration"]
    (run,) = (group["properties"]["suspectra.run"] for group in groups if "suspectra.run" in group["properties"])
    assert run["scope"] == "machine"


def test_the_parameters_of_the_debugging_model_stand_under_one_heading():
    *_, advanced = MANIFEST["contributes"]["configuration"]
    assert TEXTS[advanced["title"].strip("%")] == "Advanced"
    weights = ("SameFunction", "ControlFlow", "Calls")
    assert list(advanced["properties"]) == [
        f"suspectra.{name}" for name in ("pJump", *(f"jumpWeight{kind}" for kind in weights), "learnJumps")
    ]


def test_the_commands_are_those_that_are_declared():
    commands = MANIFEST["contributes"]["commands"]
    assert commands == vscode_manifest.commands(), GENERATED
    titles = {item["command"]: TEXTS[item["title"].strip("%")] for item in commands}
    for command in COMMANDS:
        assert titles[f"suspectra.{command.name}"] == command.title


def test_the_texts_are_those_that_are_declared():
    assert TEXTS == TEXTS | vscode_manifest.texts(), GENERATED


def test_the_versions_agree():
    packages = json.loads((EXTENSION.parent / "package-lock.json").read_text())["packages"]
    assert MANIFEST["version"] == packages["vscode-extension"]["version"] == suspectra.__version__, GENERATED


def test_the_marketplace_gets_what_its_page_shows():
    assert MANIFEST["categories"] == ["Testing", "Debuggers"]
    assert "private" not in MANIFEST
    for name in ("repository", "bugs"):
        assert MANIFEST[name]["url"].startswith("https://")
    assert MANIFEST["homepage"].startswith("https://")
    assert (EXTENSION / MANIFEST["icon"]).read_bytes().startswith(b"\x89PNG")
    assert {step["id"] for step in MANIFEST["contributes"]["walkthroughs"][0]["steps"] if step["completionEvents"]} == {
        "record",
        "suspects",
        "step",
        "explain",
        "fix",
    }
