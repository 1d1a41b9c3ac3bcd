"""What the VS Code extension contributes: the settings and commands of the server, and a few of its own.

`docs/generate.py` writes this into the extension's manifest. Menus, views, key bindings and the walkthrough are VS
Code's own concern, and only in the manifest.
"""

from __future__ import annotations

from dataclasses import dataclass

from suspectra.base.options import TECHNIQUE
from suspectra.output.agents.bounded import NOTICE
from suspectra.techniques import technique_infos
from suspectra_recorder.options import Option
from suspectra_server.agent.tools import TOOLS
from suspectra_server.protocol import COMMANDS
from suspectra_server.settings import ADVANCED, EXPERIMENTS, GENERAL, SECTION, SETTINGS, Setting

CATEGORY = "Suspectra"
HEADINGS = {GENERAL: "", EXPERIMENTS: "%configuration.experiments%", ADVANCED: "%configuration.advanced%"}
"""The headings of the settings, and the keys of their titles. The name of the extension is not translated."""


@dataclass(frozen=True)
class ExtensionCommand:
    """A command that the extension executes itself."""

    name: str
    title: str
    icon: str = ""  # one of VS Code's, by its name
    enablement: str = ""  # when VS Code offers it; always unless given


EXTENSION_COMMANDS = (
    ExtensionCommand("open", "Open Suspect", icon="go-to-file"),
    ExtensionCommand("runAgain", "Run Again", icon="debug-rerun", enablement="isWorkspaceTrusted"),
    ExtensionCommand("showExamined", "List the Examined Suspects", enablement="suspectra.empty == allExamined"),
    ExtensionCommand(
        "chooseComparison",
        "Compare With a Passing Run by…",
        icon="diff-multiple",
        enablement="isWorkspaceTrusted && !suspectra.onlyRead",
    ),
    ExtensionCommand(
        "experiments",
        "Why Does It Fail, and Other Experiments…",
        enablement="isWorkspaceTrusted && !suspectra.onlyRead",
    ),
    ExtensionCommand("configureBuild", "Configure and Build With Coverage", enablement="isWorkspaceTrusted"),
    ExtensionCommand("showSlicePicture", "Show the Slice as a Picture", icon="graph", enablement="suspectra.hasSlice"),
    ExtensionCommand("clearSlice", "Show All Code Again", icon="clear-all", enablement="suspectra.hasSlice"),
    ExtensionCommand("filter", "Filter the Suspects…", icon="filter"),
    ExtensionCommand("clearFilter", "Clear the Filter", icon="clear-all", enablement="suspectra.filtered"),
    ExtensionCommand("groupBy.function", "Group by Function", enablement="suspectra.grouping != function"),
    ExtensionCommand("groupBy.file", "Group by File", enablement="suspectra.grouping != file"),
    ExtensionCommand("groupBy.test", "Group by Failing Test", enablement="suspectra.grouping != test"),
    ExtensionCommand("groupBy.none", "Do Not Group", enablement="suspectra.grouping != none"),
    ExtensionCommand("restart", "Restart Server"),
    ExtensionCommand(
        "cancelInstallation", "Cancel the Installation of the Server", enablement="suspectra.state == installing"
    ),
    ExtensionCommand(
        "recordInTerminal", "Record in a Terminal", enablement="isWorkspaceTrusted && workspaceFolderCount > 0"
    ),
    ExtensionCommand("recordTestingView", "Record Runs of the Testing View", enablement="isWorkspaceTrusted"),
    ExtensionCommand("copyCommandLine", "Copy the Command Line that Records", enablement="workspaceFolderCount > 0"),
    ExtensionCommand("showOutput", "Show Output"),
    ExtensionCommand("menu", "Show Menu"),
)

EXTENSION_SETTINGS = (
    Setting(
        Option(
            "decorations",
            True,
            "Mark suspicious lines in the gutter and in the overview ruler, by their score, and say why at the end of"
            " the line with the cursor. `#suspectra.inlayHints#` shows the rank as text.",
        )
    ),
    Setting(Option("tint", False, "Tint suspicious lines, too, by their score."), advanced=True),
    Setting(
        Option(
            "publish_coverage",
            False,
            "Show the coverage of the last recording, and of each of its tests, whenever tests have run. Else it is"
            " shown where *Localize Fault with Coverage* in the Test Explorer asks for it.",
        )
    ),
    Setting(
        Option(
            "record_terminals",
            False,
            "Record every `pytest` that runs in the folder, in terminals that are opened from now on. It sets three"
            " environment variables there: `PYTHONPATH` begins with the folder of the recorder, `SUSPECTRA_WORKSPACE`"
            " names the folder, and `SUSPECTRA_PYTHON` the Python that ranks.",
        ),
        scope="resource",
    ),
    Setting(
        Option(
            "interpreter",
            (),
            "The Python that runs the Suspectra server, and any arguments for it. `${workspaceFolder}` and `~` are"
            " replaced. Empty: the environment selected in the Python extension, the workspace's `.venv` or `venv`, or"
            " the Python on the `PATH`; the first of them that has Suspectra. If none has it, the first one is used to"
            " create a private environment for the server.",
        ),
        scope="machine-overridable",
        names="program",
    ),
    Setting(
        Option(
            "import_strategy",
            "fromEnvironment",
            "Which Suspectra runs as the server. Your tests always run with your own Python.",
            values={
                "fromEnvironment": "The Suspectra of your environment, if its version fits this extension; otherwise"
                " the one that comes with the extension, in a private environment.",
                "useBundled": "Always the Suspectra that comes with this extension, in a private environment.",
            },
        ),
        advanced=True,
    ),
    Setting(
        Option(
            "trace.server",
            "off",
            "Write the messages between the editor and the server to the output channel.",
            values={
                "off": "Nothing.",
                "messages": "What is sent, without its content.",
                "verbose": "What is sent, with its content.",
            },
        ),
        advanced=True,
    ),
)
"""Settings that the server does not read."""


def commands() -> list[dict[str, str]]:
    """The part ``contributes.commands``."""
    return [
        {
            "command": f"{SECTION}.{command.name}",
            "category": CATEGORY,
            "title": f"%command.{command.name}%",
            **({"icon": f"$({command.icon})"} if command.icon else {}),
            **({"enablement": command.enablement} if command.enablement else {}),
        }
        for command in (*COMMANDS, *EXTENSION_COMMANDS)
    ]


def configuration() -> list[dict[str, object]]:
    """The part ``contributes.configuration``, a section for each heading."""
    settings = (*SETTINGS, *EXTENSION_SETTINGS)
    return [
        {
            "title": title or heading,
            "order": place,
            "properties": {
                f"{SECTION}.{setting.name}": {**_schema(setting), "order": order}
                for order, setting in enumerate(settings, 1)
                if setting.heading == heading
            },
        }
        for place, (heading, title) in enumerate(HEADINGS.items(), 1)
    ]


def language_model_tools() -> list[dict[str, object]]:
    """The part ``contributes.languageModelTools``: the tools of agents, described for them and for people."""
    return [
        {
            "name": f"{SECTION}_{tool.name}",
            "toolReferenceName": f"{SECTION}_{tool.name}",
            "displayName": f"%tool.{tool.name}%",
            "userDescription": f"%tool.{tool.name}.text%",
            "modelDescription": f"{tool.text} {NOTICE}",
            "canBeReferencedInPrompt": True,
            "icon": "media/suspectra.svg",
            "tags": ["debugging", "tests"],
            "when": "isWorkspaceTrusted" if tool.asks else "workspaceFolderCount > 0",
            "inputSchema": tool.schema,
        }
        for tool in TOOLS
    ]


def restricted() -> list[str]:
    """The part ``restrictedConfigurations``: settings that name programs to start."""
    return [f"{SECTION}.{setting.name}" for setting in (*EXTENSION_SETTINGS, *SETTINGS) if setting.names == "program"]


def texts() -> dict[str, str]:
    """The texts of these parts, by the keys under which they can be translated."""
    found = {f"command.{command.name}": command.title for command in (*COMMANDS, *EXTENSION_COMMANDS)}
    found |= {title.strip("%"): heading for heading, title in HEADINGS.items() if title}
    found |= {f"tool.{tool.name}": tool.title for tool in TOOLS}
    found |= {f"tool.{tool.name}.text": tool.text for tool in TOOLS}
    for setting in (*SETTINGS, *EXTENSION_SETTINGS):
        found[f"setting.{setting.name}"] = setting.in_vscode or setting.text
        found |= {f"setting.{setting.name}.{value}": text for value, text in _values(setting).items()}
    return found


def _schema(setting: Setting) -> dict[str, object]:
    """A setting as VS Code declares it: a JSON schema with a scope."""
    option = setting.option
    limits = {
        "array": {"minItems": option.minimum},
        "integer": {"minimum": option.minimum, "maximum": option.maximum},
        "number": {"minimum": option.minimum, "maximum": option.maximum},
    }.get(setting.json_type, {})
    values = _values(setting)
    return {
        "type": setting.json_type,
        **({"items": {"type": "string"}} if setting.json_type == "array" else {}),
        **({"enum": list(values)} if values else {}),
        **({"enumDescriptions": [f"%setting.{setting.name}.{value}%" for value in values]} if values else {}),
        "default": _plain(setting.default),
        **{name: _plain(limit) for name, limit in limits.items() if limit is not None},
        "scope": setting.scope,
        **({"tags": ["advanced"]} if setting.advanced or setting.heading == ADVANCED else {}),
        "markdownDescription": f"%setting.{setting.name}%",
    }


def _values(setting: Setting) -> dict[str, str]:
    """The values of a setting that can be chosen in a list, and what each of them is."""
    if setting.option != TECHNIQUE:
        return dict(setting.option.values)
    return {info.name: f"{info.title}: {info.advice or info.paper}" for info in technique_infos()}


def _plain(value: object) -> object:
    """A number as JavaScript writes it: without a fraction that is zero."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
