"""A real VS Code stays usable: while the server is silent or dies, after sources changed, and in Restricted Mode."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest

TAX = "src/ledger/tax.py"
SIDEBAR = "#workbench\\.parts\\.sidebar"
ROWS = f"{SIDEBAR} .monaco-list-row"
PANEL = "#workbench\\.parts\\.panel"
STATUS = "#suspectra\\.suspectra\\.status"


def serving(bench) -> int | None:
    """The process that serves, not one that is asked for its version."""
    process = bench.server()
    with contextlib.suppress(OSError):
        if process and b"\0-m\0suspectra_server" in Path(f"/proc/{process}/cmdline").read_bytes():
            return process
    return None


@pytest.mark.long
def test_no_keystroke_waits_for_the_server_and_one_that_dies_is_started_again(ledger, workbench, wait):
    bench = workbench(ledger.folder)
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")
    before, first = bench.suspects(), bench.server()
    bench.page.locator(ROWS, has_text="tax:").first.click()
    bench.see(".squiggly-info")

    # a server that answers nothing: what is typed appears, is saved, and is taken back all the same
    os.kill(first, signal.SIGSTOP)
    try:
        text = (ledger.folder / TAX).read_text()
        bench.press("Control+Home")
        bench.page.keyboard.type("#typed")
        bench.see(".editor-instance .view-line", "#typed")
        bench.press("Control+s")
        wait(lambda: (ledger.folder / TAX).read_text() == f"#typed{text}", "it is saved")
        bench.press("Control+z")
        bench.press("Control+s")
        wait(lambda: (ledger.folder / TAX).read_text() == text, "it is taken back and saved")
    finally:
        os.kill(first, signal.SIGCONT)
    wait(lambda: bench.suspects() == before, "the suspects are as before")

    # one that dies is started again, but for one that does again and again
    last = None
    for _ in range(5):
        last = wait(lambda last=last: (now := serving(bench)) != last and now, "another server runs")
        wait(lambda: " failing · " in bench.status() and bench.suspects() == before, "the suspects are back")
        os.kill(last, signal.SIGKILL)
        wait(lambda: "failing" not in bench.status(), "the status item knows")
    bench.see(f"{SIDEBAR} .monaco-button", "Show What Was Tried").click()
    bench.see(PANEL, "crashed more than 4 times in 3 minutes")
    assert bench.toasts() == []
    bench.command("View: Hide Panel")
    bench.command("Suspectra: Restart Server")
    wait(lambda: " failing · " in bench.status() and bench.suspects() == before, "the suspects are back")

    # another program changes a source: a run is offered, after which no test fails
    ledger.edit(TAX, "ends = [*starts[1:], last]", "ends = [*starts[1:], last + date.resolution]")
    changed = bench.page.locator(f"{STATUS} .codicon-history")
    wait(lambda: changed.count() and bench.suspects(), "the status item says that sources changed")
    offered = bench.status_menu()
    assert [choice.split(",")[0] for choice in offered] == [
        *("Next Suspect", "Show the Suspects", "Select Technique…", "Run Tests and Localize"),
        *("Localize Fault", "Show Output", "Restart Server"),
    ]
    bench.picture("stale")
    bench.pick("Run Tests and Localize")
    wait(lambda: bench.status() == "Suspectra: No failing test", "the status item says that no test fails")
    assert not bench.status_menu()[0].startswith("Next Suspect")


def test_restricted_mode_ranks_but_runs_nothing(ledger, workbench, wait):
    bench = workbench(ledger.folder, {"security.workspace.trust.startupPrompt": "never"}, trusted=False)
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")
    bench.press("F1")
    bench.fill(">Suspectra: Next")  # the list only has the rows that fit, so each command is asked for by its name
    offered = bench.page.locator(".quick-input-list .monaco-list-row")
    offered.filter(has_text="Suspectra: Next Suspect").wait_for()
    bench.fill(">Suspectra: Run Tests")
    offered.filter(has_text="Suspectra: Next Suspect").wait_for(state="detached")
    assert offered.filter(has_text="Suspectra: Run Tests and Localize").count() == 0
    bench.picture("view")
