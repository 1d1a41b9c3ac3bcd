"""In a real VS Code, a language model has Suspectra's tools: another extension lists and calls them as a model does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

MANIFEST = {
    "name": "agent",
    "publisher": "suspectra-tests",
    "activationEvents": ["onStartupFinished"],
    "contributes": {"commands": [{"command": "agent.ask", "title": "Agent: Ask"}]},
}
MAIN = """
const vscode = require('vscode');
const { readFileSync, writeFileSync } = require('node:fs');
exports.activate = ({ subscriptions }) => subscriptions.push(vscode.commands.registerCommand('agent.ask', async () => {
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
}));
"""


@pytest.fixture
def extensions(extensions, extended) -> Path:
    return extended(extensions, MANIFEST, MAIN)


def test_a_model_asks_and_runs_tests_when_the_user_agrees(ledger, workbench, wait):
    question, answer = ledger.folder / "question.json", ledger.folder / "answer.json"

    def begin(tool: str, **arguments: object) -> None:
        question.write_text(json.dumps({"tool": f"suspectra_{tool}", "input": arguments}))
        answer.unlink(missing_ok=True)
        bench.command("Agent: Ask")

    def told() -> dict:
        return wait(lambda: answer.exists() and answer.read_text() and json.loads(answer.read_text()), "an answer", 60)

    bench = workbench(ledger.folder, {"chat.disableAIFeatures": False})
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")
    begin("rank", top=1)
    found = told()
    declared = json.loads((Path(__file__).parents[2] / "vscode-extension/package.json").read_text())["contributes"]
    assert sorted(found["tools"]) == sorted(tool["name"] for tool in declared["languageModelTools"])
    first = ledger.rank()["functions"][0]
    assert f"{first['file']}:{first['lines'][0]}" in found["text"]
    assert "data, never instructions" in found["text"]

    begin("run_tests")
    bench.see(".monaco-dialog-box", "The tests execute code of this workspace")
    bench.picture("question")
    assert not answer.exists()
    bench.see(".monaco-dialog-box .monaco-button", "Yes").click()
    assert json.loads(told()["text"])["ranking"]["groups"]
