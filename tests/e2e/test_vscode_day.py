"""One working day on mistletoe, in a real VS Code and in a terminal: what the tour tells, with its pictures."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import venv
from pathlib import Path

import pytest

TOUR = Path(__file__).parents[2] / "docs" / "guide" / "tour.md"
TOKENS = "mistletoe/core_tokens.py"
RIGHT, WRONG = "if open_pos is not None:", "if open_pos:"
COLLEAGUE = {
    "mistletoe/html_renderer.py": ("if token.align is None:", "if not token.align:"),
    "mistletoe/block_token.py": ("if n_spaces > 4:", "if n_spaces >= 4:"),
}
SIDEBAR = "#workbench\\.parts\\.sidebar"
ROWS = f"{SIDEBAR} .monaco-list-row"
# what the status item has said: some of it is gone before it could be read
OVERHEAR = """
    window.said = [];
    new MutationObserver(() => {
        const label = document.querySelector('#suspectra\\\\.suspectra\\\\.status')?.getAttribute('aria-label');
        if (label && label !== window.said.at(-1)) window.said.push(label);
    }).observe(document, { childList: true, subtree: true, attributes: true });"""


@pytest.fixture
def mistletoe(unpacked, make_project, monkeypatch):
    """As the tour gets it: with an environment in which its tests run, and which knows nothing of Suspectra."""
    project = make_project(unpacked("mistletoe==1.4.0"))
    environment = project.folder / ".venv"
    venv.create(environment, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "pytest", "parameterized"], check=True, timeout=200)
    monkeypatch.setenv("PATH", f"{environment / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin")
    return project


@pytest.mark.long
def test_the_day_in_the_editor(mistletoe, workbench, wait, document, film):
    line = next(n for n, text in enumerate(mistletoe.lines(TOKENS), 1) if RIGHT in text)
    assert line == 119
    settings = {"suspectra.run": "onSave", "suspectra.testCommand": ["python", "-m", "pytest"], "editor.fontSize": 12}
    bench = workbench(mistletoe.folder, settings)
    bench.page.set_viewport_size({"width": 1560, "height": 820})

    def go_to_line() -> None:
        bench.open("core_tokens.py", line)
        bench.see(".editor-instance .monaco-editor.focused")

    # nine: the first run
    bench.show("Suspectra")
    bench.see(SIDEBAR, "There is no recorded test run yet", 90)
    bench.press("Control+;", "n")  # no keys are taken
    bench.see(".statusbar-item", "is not a command")
    bench.see(f"{SIDEBAR} .monaco-button", "Run Tests and Localize").click()
    wait(lambda: bench.status() == "Suspectra: No failing test", "the tests have passed", 200)
    assert "no test failed (333 passed)" in mistletoe.suspectra("status").stdout
    assert bench.toasts() == []
    go_to_line()
    film.take(bench, 2)

    # ten: an edit, and on save the tests that it can affect
    bench.drag(349, 540)
    bench.page.evaluate(OVERHEAR)
    bench.press("Home", "Shift+End")
    bench.page.keyboard.insert_text(WRONG)
    bench.see(".editor-instance .view-line", WRONG)
    bench.press("Control+S")
    wait(lambda: bench.suspects() and bench.status() == f"Suspectra: 27 failing · process_emphasis:{line}", "suspects")
    said = bench.page.evaluate("window.said")
    running = re.compile(r"Suspectra: (\d+ of 189 tests(, \d+ failed)?|Running tests), since the save")
    assert any(map(running.fullmatch, said)), said
    first, *_ = bench.suspects()
    assert first.startswith(f"Rank 1, process_emphasis, {TOKENS}, line {line}, ")
    assert "high suspicion" in first
    assert "changed" in first
    bench.see(SIDEBAR, "27 failed, 306 passed")
    assert bench.toasts() == []

    # where to look
    bench.command("View: Close Editor")
    bench.ranked.first.click()
    wait(lambda: bench.cursor() == ("core_tokens.py", line), "the first suspect")
    bench.see(".codelens-decoration a", "Most suspicious (27 of 27 failing) · you changed this")
    document(bench, "day-suspects.png")
    film.take(bench, 3)
    bench.hover_at_cursor("Explain")
    said = bench.see(".monaco-hover", "27 of 27 failing tests, ").inner_text()
    assert said.lower().count("you changed this") == 1  # in the diagnostic alone
    bench.picture("hover")
    bench.press("Escape")
    bench.command("Suspectra: Explain Suspect")
    bench.explanation().locator("body", has_text="Failing tests that execute it").wait_for()
    document(bench, "vscode-suspects.png")
    bench.command("View: Close Editors in Other Groups")

    # the values of the failing run, and which lines it executes, until they are hidden again
    bench.see(ROWS, "test_").click()
    bench.experiment("Show values of the failing run")
    bench.ranked.first.click()
    wait(lambda: bench.cursor() == ("core_tokens.py", line), "the first suspect")
    wait(lambda: "→ 0" in bench.code(), "the value is at the end of its line")
    document(bench, "day-values.png")
    film.take(bench, 4)
    bench.command("Suspectra: Show Values of the Failing Run")
    wait(lambda: "→ 0" not in bench.code(), "the values are hidden")

    # why: the change, the first value that it changes, and how sure that is
    bench.command("Suspectra: Why Does It Fail?")
    bench.agree()
    bench.explanation().locator("pre", has_text=RIGHT).wait_for(timeout=300_000)
    bench.explanation().locator("body", has_text="The first value that this changes is open_pos").wait_for()
    wait(lambda: "failing ·" in bench.status(), "nothing runs any more", 300)
    document(bench, "day-why.png")
    film.take(bench, 4)

    # undone from there, and on save the marks are gone
    bench.explanation().locator("button", has_text="Undo This Change").click()
    bench.see(".monaco-diff-editor", RIGHT)
    bench.press("Enter")
    wait(lambda: RIGHT in bench.code() and bench.cursor()[0] == "core_tokens.py", "the change is undone")
    go_to_line()
    bench.press("Control+S")
    wait(lambda: bench.status() == "Suspectra: No failing test", "no test fails")
    bench.see(SIDEBAR, "nothing to suspect")
    assert bench.rows() == []
    for mark in (".codelens-decoration a", ".squiggly-error", ".squiggly-info", "[class*='cgmr']"):
        wait(lambda mark=mark: not bench.page.locator(f".editor-instance {mark}").count(), f"{mark} is gone")
    bench.picture("repaired")
    assert bench.toasts() == []
    film.take(bench, 3)
    film.end()


def told() -> dict[str, list[str]]:
    """The commands in docs/guide/tour.md, each with the lines that it prints."""
    blocks = re.findall(r"^```console\n\$ (suspectra .*)\n((?:(?!```).*\n)*)```", TOUR.read_text("utf-8"), re.MULTILINE)
    return {command: lines.splitlines() for command, lines in blocks}


def replace(file: Path, old: str, new: str) -> None:
    """Change a text whose lines end as they do on Windows, and still do afterwards."""
    text = file.read_bytes()
    assert text.count(old.encode()) == 1
    file.write_bytes(text.replace(old.encode(), new.encode()))


def test_the_pull_request_in_a_terminal(mistletoe):
    assert mistletoe.suspectra("record", "--", "python", "-m", "pytest", "-q").returncode == 0
    for file, (right, wrong) in COLLEAGUE.items():
        replace(mistletoe.folder / file, right, wrong)
    commands = told()
    assert [command.split()[1] for command in commands] == ["record", "why"]
    for command, lines in commands.items():
        done = mistletoe.suspectra(*shlex.split(command)[1:])
        printed = iter((done.stdout + done.stderr).splitlines())
        for line in lines:  # … stands for what is left out
            expected = re.escape(line).replace("…", ".*")
            assert any(re.fullmatch(expected, each) for each in printed), (
                f"{command}: {line}\n{done.stdout}{done.stderr}"
            )

    # one of the two is repaired: what failed and what that can affect runs, and the other one is left
    file, (right, wrong) = next(iter(COLLEAGUE.items()))
    replace(mistletoe.folder / file, wrong, right)
    mistletoe.suspectra("record", "--failed-and-affected", "--", "python", "-m", "pytest", "-q")
    first, *_ = mistletoe.rank()["suspects"]
    assert first["file"] == "mistletoe/block_token.py"
    assert len(first["failing_tests"]) == 1
