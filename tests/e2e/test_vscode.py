"""The main job in a real VS Code workbench, with the extension installed from its .vsix."""

from __future__ import annotations

import os
import signal
from pathlib import Path

TAX = "src/ledger/tax.py"
SIDEBAR = "#workbench\\.parts\\.sidebar"
VIEW = ".activitybar .action-label[aria-label^='Suspectra']"


def spoken(suspect: dict) -> str:
    """How the row of a suspect begins when it is read out."""
    best, worst = suspect["rank_best"], suspect["rank_worst"]
    rank = f"{best}" if best == worst else f"{best} to {worst}"
    return f"Rank {rank}, {suspect['function'] or '(module level)'}, {suspect['file']}, line {suspect['line']}"


def test_shows_steps_explains_and_follows(ledger, workbench, wait):
    suspects = ledger.rank()["suspects"]
    here = [s for s in suspects if s["file"] == TAX]
    bench = workbench(ledger.folder)
    page = bench.page

    # the view lists what the command line ranks
    bench.see(VIEW).click()
    wait(bench.suspects, "suspects in the view")
    rows = bench.suspects()
    assert [row.split(", score")[0] for row in rows[:10]] == [
        spoken(s) + (f"-{s['end_line']}" if s["end_line"] > s["line"] else "") for s in suspects[: len(rows[:10])]
    ]
    assert bench.status() == f"Suspectra: {len(suspects)} suspects"

    # a row opens its code, which is marked and has a lens
    page.locator(f"{SIDEBAR} .monaco-list-row", has_text=f"{Path(TAX).name}:{here[0]['line']} ").first.click()
    wait(lambda: bench.cursor() == (Path(TAX).name, here[0]["line"]), "the row's line is open")
    bench.see(".squiggly-warning, .squiggly-info, .squiggly-error")
    bench.see(".codelens-decoration a", "Suspect ")

    # step by step through the ranking, with a hover, an explanation, and one marked as examined
    bench.command("Suspectra: First Suspect")
    wait(lambda: bench.cursor() == (Path(suspects[0]["file"]).name, suspects[0]["line"]), "the first suspect")
    bench.hover_at_cursor("failing")
    bench.picture("hover")
    page.keyboard.press("Escape")
    bench.command("Suspectra: Next Suspect")
    wait(lambda: bench.cursor() == (Path(suspects[1]["file"]).name, suspects[1]["line"]), "the second suspect")
    bench.command("Suspectra: Explain Suspect")
    bench.explanation().locator("body", has_text="Ochiai").wait_for()
    bench.picture("explain")
    bench.command("Suspectra: Mark as Examined")
    wait(lambda: "examined" in bench.suspects()[1], "the second suspect is examined")
    bench.picture("examined")
    bench.command("Suspectra: Clear Examined Marks")
    wait(lambda: "examined" not in bench.suspects()[1], "nothing is examined")

    # another technique ranks otherwise
    bench.command("Suspectra: Select Technique")
    bench.see(".quick-input-list .monaco-list-row", "ochiai")
    bench.picture("techniques")
    page.keyboard.type("tarantula")
    bench.see(".quick-input-list .monaco-list-row", "tarantula").click()
    bench.see(SIDEBAR, "tarantula")

    # the bug is fixed, the tests are run from the editor, and the suspects go
    ledger.edit(TAX, "ends = [*starts[1:], last]", "ends = [*starts[1:], last + date.resolution]")
    bench.command("Suspectra: Run Tests and Localize")
    wait(lambda: bench.status() == "Suspectra: No failing test", "the status item says that no test fails", 90)
    bench.see(SIDEBAR, "nobody to suspect")
    assert bench.suspects() == []
    assert bench.toasts() == []
    bench.picture("fixed")


def test_picture_for_the_readme(ledger, workbench, wait, document):
    """What the README shows."""
    bench = workbench(ledger.folder, {"workbench.colorTheme": "Default Dark Modern", "editor.fontSize": 12})
    bench.page.set_viewport_size({"width": 1560, "height": 700})
    bench.see(VIEW).click()
    wait(bench.suspects, "suspects in the view")
    bench.drag(349, 450)
    for place in ledger.rank()["suspects"][:2]:
        bench.command("Suspectra: Next Suspect")
        wait(lambda place=place: bench.cursor()[1] == place["line"], "the next suspect")
    bench.command("Suspectra: Explain Suspect")
    bench.explanation().locator("li").first.wait_for()
    bench.see(".codelens-decoration a", "Suspect ")
    document(bench, "vscode-suspects.png", "dark")


def test_says_what_to_do_where_nothing_is_recorded(unrecorded, workbench):
    bench = workbench(unrecorded.folder)
    bench.see(VIEW).click()
    bench.see(SIDEBAR, "There is no recorded test run yet")
    bench.see(f"{SIDEBAR} .monaco-button", "Run Tests and Localize")
    bench.picture("view")


def test_says_what_to_do_where_there_is_no_server(ledger, workbench, wait, tmp_path):
    bench = workbench(ledger.folder, interpreter=[str(tmp_path / "no" / "python")])
    bench.see(VIEW).click()
    bench.see(SIDEBAR, "python -m pip install suspectra")
    bench.see(f"{SIDEBAR} .monaco-button", "Show What Was Tried").click()
    bench.see("#workbench\\.parts\\.panel", "does not start")
    assert bench.toasts() == []
    bench.picture("view")


def test_a_server_that_dies_is_started_again(ledger, workbench, wait):
    bench = workbench(ledger.folder)
    bench.see(VIEW).click()
    wait(bench.suspects, "suspects in the view")
    before, first = bench.suspects(), bench.server()
    os.kill(first, signal.SIGKILL)
    wait(lambda: bench.server() not in (None, first), "another server runs")
    wait(lambda: bench.suspects() == before, "the suspects are back")
    assert bench.toasts() == []


def test_restricted_mode_ranks_but_runs_nothing(ledger, workbench, wait):
    bench = workbench(ledger.folder, {"security.workspace.trust.startupPrompt": "never"}, trusted=False)
    bench.see(VIEW).click()
    wait(bench.suspects, "suspects in the view")
    bench.page.keyboard.press("F1")
    bench.page.keyboard.type("Suspectra: ")
    offered = bench.page.locator(".quick-input-list .monaco-list-row")
    offered.filter(has_text="Suspectra: Next Suspect").wait_for()
    assert offered.filter(has_text="Suspectra: Run Tests and Localize").count() == 0
    bench.picture("view")
