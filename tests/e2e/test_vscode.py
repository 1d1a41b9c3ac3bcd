"""The main job in a real VS Code workbench, with the extension installed from its .vsix."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

TAX = "src/ledger/tax.py"
SIDEBAR = "#workbench\\.parts\\.sidebar"
ROWS = f"{SIDEBAR} .monaco-list-row"
STATUS = "#suspectra\\.suspectra\\.status"


def spoken(suspect: dict) -> str:
    """How the row of a function with a suspect begins when it is read out."""
    best, worst = suspect["rank_best"], suspect["rank_worst"]
    rank = f"{best}" if best == worst else f"{best} to {worst}"
    return f"Rank {rank}, {suspect['function'] or '(module level)'}, {suspect['file']}"


@pytest.mark.long
def test_the_whole_story(unrecorded, workbench, wait):
    """From failing tests to the fix, shown by pictures in artifacts/."""
    project = unrecorded
    bench = workbench(project.folder)
    page = bench.page

    # nothing is recorded yet: the view says what to do, and no keys are taken
    bench.show("Suspectra")
    bench.see(SIDEBAR, "There is no recorded test run yet", 90)
    bench.see(f"{SIDEBAR} .monaco-button", "Run Tests and Localize")
    assert bench.status() == "Suspectra: No test run"
    bench.picture("1-nothing-recorded")
    bench.press("Control+;", "n")
    bench.see(".statusbar-item", "is not a command")

    # “Localize Fault” in the Test Explorer, though no file was opened yet
    bench.show("Testing")
    folder = bench.see(ROWS, "ledger")
    folder.hover()
    folder.locator(".action-label[aria-label*='Run Test']").first.click()
    wait(lambda: bench.status() == "Suspectra: Running tests", "the tests run")
    wait(lambda: bench.status() == "Suspectra: 20 suspects", "the suspects are ranked", 90)
    wait(lambda: "Failed" in (folder.get_attribute("aria-label") or ""), "the run has failed")
    bench.picture("2-recorded")

    # the view lists what the command line ranks
    suspects = project.rank()["suspects"]
    in_file = [s for s in suspects if s["file"] == TAX]
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")
    functions = {(s["file"], s["function"]): s for s in reversed([s for s in suspects if s["ef"]])}
    firsts = sorted(functions.values(), key=suspects.index)
    assert [row.split(", line")[0] for row in bench.suspects()] == [spoken(suspect) for suspect in firsts]

    # a row opens its code, which is underlined, marked and has a lens
    page.locator(ROWS, has_text=f"{in_file[0]['function']} · ").first.click()
    wait(lambda: bench.cursor() == (Path(TAX).name, in_file[0]["line"]), "the row's line is open")
    bench.see(".squiggly-info")
    bench.see(".codelens-decoration a", "Suspect ")
    bench.picture("3-suspects")

    # step by step through the ranking, with a hover, an explanation, and one marked as examined
    bench.command("Suspectra: First Suspect")
    wait(lambda: bench.cursor() == (Path(suspects[0]["file"]).name, suspects[0]["line"]), "the first suspect")
    bench.hover_at_cursor("failing")
    bench.picture("4-hover")
    page.keyboard.press("Escape")
    bench.press("Control+;", "n")
    wait(lambda: bench.cursor() == (Path(suspects[1]["file"]).name, suspects[1]["line"]), "the second suspect")
    # nothing is selected that the next key would replace
    assert "selected" not in page.locator("#status\\.editor\\.selection").inner_text()
    bench.command("Suspectra: Explain Suspect")
    bench.explanation().locator("body", has_text="All evidence").wait_for()
    bench.picture("5-explained")
    bench.unfold(f"{suspects[1]['function']} · ")
    bench.command("Suspectra: Mark as Examined")
    second = f"line {suspects[1]['line']},"
    wait(lambda: [row for row in bench.suspects() if second in row and "examined" in row], "the second is examined")
    bench.picture("6-examined")
    bench.command("Suspectra: Clear Examined Marks")
    wait(lambda: not [row for row in bench.suspects() if "examined" in row], "nothing is examined")

    # the bug is fixed: the recording is stale, the tests are run again, and the suspects go
    project.edit(TAX, "ends = [*starts[1:], last]", "ends = [*starts[1:], last + date.resolution]")
    wait(lambda: page.locator(f"{STATUS} .codicon-history").count(), "the status item says that sources changed")
    offered = bench.status_menu()
    assert [choice.split(",")[0] for choice in offered] == [
        *("Next Suspect", "Show the Suspects", "Select Technique…", "Run Tests and Localize"),
        *("Localize Fault", "Show Output", "Restart Server"),
    ]
    bench.picture("7-stale")
    bench.pick("Run Tests and Localize")
    wait(lambda: bench.status() == "Suspectra: No failing test", "the status item says that no test fails", 90)
    bench.see(SIDEBAR, "nothing to suspect")
    assert bench.rows() == []
    for mark in (".codelens-decoration a", ".squiggly-error", ".squiggly-info", "[class*='cgmr']"):
        wait(lambda mark=mark: not page.locator(f".editor-instance {mark}").count(), f"{mark} is gone")
    bench.press("Control+;", "n")
    bench.see(".statusbar-item", "is not a command")
    assert not bench.status_menu()[0].startswith("Next Suspect")
    bench.press("Escape")
    bench.picture("8-fixed")

    # and the same in the Test Explorer
    bench.show("Testing")
    folder.hover()
    folder.locator(".action-label[aria-label*='Run Test']").first.click()
    wait(lambda: "Passed" in (folder.get_attribute("aria-label") or ""), "the run has passed", 90)
    assert bench.toasts() == []


def test_picture_for_the_readme(ledger, workbench, wait, document):
    """What the README shows."""
    bench = workbench(ledger.folder, {"workbench.colorTheme": "Default Dark Modern", "editor.fontSize": 12})
    bench.page.set_viewport_size({"width": 1560, "height": 700})
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")
    bench.drag(349, 450)
    for place in ledger.rank()["suspects"][:2]:
        bench.command("Suspectra: Next Suspect")
        wait(lambda place=place: bench.cursor()[1] == place["line"], "the next suspect")
    bench.command("Suspectra: Explain Suspect")
    bench.explanation().locator("li").first.wait_for()
    bench.see(".codelens-decoration a", "Suspect ")
    document(bench, "vscode-suspects.png", "dark")


def test_no_keystroke_waits_for_the_server_and_one_that_dies_is_started_again(ledger, workbench, wait):
    bench = workbench(ledger.folder)
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")
    before, first = bench.suspects(), bench.server()
    bench.page.locator(ROWS, has_text="TaxTable.tax · ").first.click()
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
    os.kill(first, signal.SIGKILL)
    wait(lambda: bench.server() not in (None, first), "another server runs")
    wait(lambda: bench.suspects() == before, "the suspects are back")
    assert bench.toasts() == []


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
