"""A real VS Code debugs a failing test from a suspect, from the test and along a chain of causes, with debugpy itself.

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
    "activationEvents": ["onDebug"],
    "contributes": {"debuggers": [{"type": "debugpy", "label": "debugpy"}], "breakpoints": [{"language": "python"}]},
}
MAIN = """
const vscode = require('vscode');
const adapter = new vscode.DebugAdapterExecutable(PYTHON, ['-m', 'debugpy.adapter']);
exports.activate = ({ subscriptions }) => subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory('debugpy', { createDebugAdapterDescriptor: () => adapter }));
"""


class TestWithDebugger:
    @pytest.fixture
    def extensions(self, extensions, extended) -> Path:
        return extended(extensions, MANIFEST, MAIN.replace("PYTHON", json.dumps(sys.executable)))

    def test_a_suspect_stops_its_failing_test_for_one_session(self, unrecorded, workbench, wait):
        unrecorded.edit("src/ledger/tax.py", *TAX)
        unrecorded.edit(FILE, RIGHT, WRONG)
        assert unrecorded.record().returncode == 1
        bench = workbench(unrecorded.folder, {"suspectra.causesSeconds": 600})
        bench.show("Suspectra")
        wait(bench.suspects, "suspects in the view")

        # from the suspect: debugpy runs a failing test, and stops there
        first = unrecorded.ranked()[0]
        bench.ranked.first.click()
        wait(lambda: bench.cursor() == ("discounts.py", first[1]), "the first suspect is open")
        bench.command("Suspectra: Debug Here")
        bench.see(".debug-toolbar", patience=60)
        bench.see(STOPPED, patience=60)
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
        bench.see(STOPPED, patience=60)
        wait(lambda: bench.cursor() == ("discounts.py", first[1]), "it stops on the most suspicious line")
        bench.command("Debug: Stop")
        wait(lambda: not bench.page.locator(".debug-toolbar:visible").count(), "the session has ended")
        bench.see(BREAKPOINTS)
        bench.command("Remove All Breakpoints")

        # along a chain of causes: from one line of it to the next
        bench.open("test_discounts.py")
        bench.experiment("Find the cause")
        bench.agree()
        bench.see(".notifications-toasts", "The cause is probably ", 120)
        bench.command("Notifications: Clear All Notifications")
        bench.see("#workbench\\.parts\\.sidebar .pane-header", "Causes").hover()
        bench.see("#workbench\\.parts\\.sidebar .action-label[aria-label*='Debug Along the Chain']").click()
        bench.see(STOPPED, patience=60)
        begin = bench.cursor()
        bench.picture("chain")
        places = set()

        def goes_on() -> bool:
            bench.command("Debug: Continue")
            bench.see(STOPPED, patience=60)
            places.add(bench.cursor())
            return places != {begin}

        # a line of the chain may be executed several times
        wait(goes_on, "it goes on to the next line of the chain", 100)
        bench.command("Debug: Stop")
