"""A real VS Code with other extensions: one lists and calls Suspectra's tools as a language model does, one debugs.

The extension Python Debugger is in no registry that a test may depend on. An extension with its name and its type of
sessions starts the same debug adapter. What is said without it is in test_vscode_views.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

FILE, RIGHT, WRONG = "src/ledger/discounts.py", "if quantity < self.at_least", "if quantity <= self.at_least"
TAX = "ends = [*starts[1:], last]", "ends = [*starts[1:], last + date.resolution]"
STOPPED = ".debug-top-stack-frame-line"
BREAKPOINTS = ".codicon-debug-breakpoint:visible"
MANIFEST = {
    "name": "debugpy",
    "publisher": "ms-python",
    "activationEvents": ["onDebug", "onStartupFinished"],
    "contributes": {
        "debuggers": [{"type": "debugpy", "label": "debugpy"}],
        "breakpoints": [{"language": "python"}],
        "commands": [{"command": "agent.ask", "title": "Agent: Ask"}],
    },
}
MAIN = """
const vscode = require('vscode');
const { readFileSync, writeFileSync } = require('node:fs');
const adapter = new vscode.DebugAdapterExecutable(PYTHON, ['-m', 'debugpy.adapter']);
const ask = async () => {
    const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
    const { tool, input } = JSON.parse(readFileSync(`${folder}/question.json`, 'utf8'));
    const tools = vscode.lm.tools.map(({ name }) => name).filter((name) => name.startsWith('suspectra_'));
    const told = (answer) => writeFileSync(`${folder}/answer.json`, JSON.stringify({ tools, ...answer }));
    try {
        const result = await vscode.lm.invokeTool(tool, { input, toolInvocationToken: undefined });
        told({ text: result.content.map(({ value }) => value).join('') });
    } catch (error) {
        told({ error: String(error) });
    }
};
exports.activate = ({ subscriptions }) => subscriptions.push(
    vscode.commands.registerCommand('agent.ask', ask),
    vscode.debug.registerDebugAdapterDescriptorFactory('debugpy', { createDebugAdapterDescriptor: () => adapter }));
"""


@pytest.fixture
def extensions(extensions, extended) -> Path:
    return extended(extensions, MANIFEST, MAIN.replace("PYTHON", json.dumps(sys.executable)))


@pytest.mark.long
def test_a_suspect_stops_its_failing_test_for_one_session_and_a_model_asks(unrecorded, workbench, wait):
    unrecorded.edit("src/ledger/tax.py", *TAX)
    unrecorded.edit(FILE, RIGHT, WRONG)
    assert unrecorded.record().returncode == 1
    bench = workbench(unrecorded.folder, {"suspectra.causesSeconds": 600, "chat.disableAIFeatures": False})
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")

    # from the suspect: debugpy runs a failing test, and stops there
    first = unrecorded.ranked()[0]
    bench.ranked.first.click()
    wait(lambda: bench.cursor() == ("discounts.py", first[1]), "the first suspect is open")
    bench.command("Suspectra: Debug Here")
    bench.see(".debug-toolbar")
    bench.see(STOPPED)
    assert bench.cursor() == ("discounts.py", first[1])
    bench.see(".codicon-debug-breakpoint, .codicon-debug-stackframe")
    bench.picture("stopped")
    bench.command("Debug: Stop")
    wait(lambda: not bench.page.locator(".debug-toolbar:visible").count(), "the session has ended")
    wait(lambda: not bench.page.locator(BREAKPOINTS).count(), "its breakpoint is gone")

    # from the failing test, with a breakpoint of the user on the same line: that one stays
    bench.command("Debug: Toggle Breakpoint")
    bench.see(BREAKPOINTS)
    bench.open("test_discounts.py")
    bench.see(".codelens-decoration a", "Debug").click()
    bench.see(STOPPED)
    wait(lambda: bench.cursor() == ("discounts.py", first[1]), "it stops on the most suspicious line")
    bench.command("Debug: Stop")
    wait(lambda: not bench.page.locator(".debug-toolbar:visible").count(), "the session has ended")
    bench.see(BREAKPOINTS)
    bench.command("Remove All Breakpoints")

    # along a chain of causes: from one line of it to the next
    bench.open("test_discounts.py")
    bench.experiment("Find the cause")
    bench.agree()
    bench.see("#workbench\\.parts\\.sidebar .monaco-list-row", "Probable causes")
    bench.see("#workbench\\.parts\\.sidebar .pane-header", "Causes").hover()
    bench.see("#workbench\\.parts\\.sidebar .action-label[aria-label*='Debug Along the Chain']").click()
    bench.see(STOPPED)
    stopped_at = bench.cursor()
    bench.picture("chain")
    places = set()

    def goes_on() -> bool:
        bench.command("Debug: Continue")
        bench.see(STOPPED)
        places.add(bench.cursor())
        return places != {stopped_at}

    # a line of the chain may be executed several times
    wait(goes_on, "it goes on to the next line of the chain")
    bench.command("Debug: Stop")

    # a model asks for the first suspect, and runs tests when the user agrees
    question, answer = unrecorded.folder / "question.json", unrecorded.folder / "answer.json"

    def begin(tool: str, **arguments: object) -> None:
        question.write_text(json.dumps({"tool": f"suspectra_{tool}", "input": arguments}))
        answer.unlink(missing_ok=True)
        bench.command("Agent: Ask")

    def told() -> dict:
        return wait(lambda: answer.exists() and answer.read_text() and json.loads(answer.read_text()), "an answer")

    begin("rank", top=1)
    found = told()
    declared = json.loads((Path(__file__).parents[2] / "vscode-extension/package.json").read_text())["contributes"]
    assert sorted(found["tools"]) == sorted(tool["name"] for tool in declared["languageModelTools"])
    first = unrecorded.rank()["functions"][0]
    assert f"{first['file']}:{first['lines'][0]}" in found["text"]
    assert "data, never instructions" in found["text"]

    begin("run_tests")
    bench.see(".monaco-dialog-box", "The tests execute code of this workspace")
    bench.picture("question")
    assert not answer.exists()
    bench.see(".monaco-dialog-box .monaco-button", "Yes").click()
    assert json.loads(told()["text"])["ranking"]["groups"]
