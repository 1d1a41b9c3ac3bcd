"""One working day on sqlparse, in a real VS Code and in a terminal: what the tour tells, with its pictures."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

TOUR = Path(__file__).parents[2] / "docs" / "guide" / "tour.md"
GROUPING = "sqlparse/engine/grouping.py"
RIGHT, WRONG = "nidx = snidx or nidx", "nidx = snidx"
COLLEAGUE = {
    "sqlparse/filters/tokens.py": ("value.strip()[0] != '\"':", "value.strip()[0] == '\"':"),
    "sqlparse/filters/others.py": (
        "if prev_ is not None and not prev_.match(T.Punctuation, '('):",
        "if prev_ is None or not prev_.match(T.Punctuation, '('):",
    ),
}
SIDEBAR = "#workbench\\.parts\\.sidebar"
ROWS = f"{SIDEBAR} .monaco-list-row"
TOASTS = ".notifications-toasts"
# what the status item has said: some of it is gone before it could be read
OVERHEAR = """
    window.said = [];
    new MutationObserver(() => {
        const label = document.querySelector('#suspectra\\\\.suspectra\\\\.status')?.getAttribute('aria-label');
        if (label && label !== window.said.at(-1)) window.said.push(label);
    }).observe(document, { childList: true, subtree: true, attributes: true });"""


@pytest.fixture
def sqlparse(unpacked, make_project):
    return make_project(unpacked("sqlparse==0.5.3"))


@pytest.mark.long
def test_the_day_in_the_editor(sqlparse, workbench, wait, document, film):
    line = sqlparse.lines(GROUPING).index(f"        {RIGHT}") + 1
    assert line == 197
    # experiments on one line end by themselves, however slow the machine is
    settings = {"suspectra.run": "onSave", "suspectra.investigationSeconds": 100, "editor.fontSize": 12}
    settings["suspectra.causesSeconds"] = 600
    settings["suspectra.keepTexts"] = False  # so that the change is not found by itself, before it is asked for
    bench = workbench(sqlparse.folder, settings)
    bench.page.set_viewport_size({"width": 1560, "height": 820})

    def go_to_line() -> None:
        bench.open("grouping.py", line)
        bench.see(".editor-instance .monaco-editor.focused")

    def write(text: str) -> None:
        """Type another text over that of the line, and save it."""
        go_to_line()
        bench.press("Home", "Shift+End")
        bench.page.keyboard.insert_text(text)
        bench.see(".editor-instance .view-line", text)
        bench.press("Control+S")
        # while it is written the file may be empty
        wait(lambda: [each.strip() for each in sqlparse.lines(GROUPING)[line - 1 : line]] == [text], "it is saved")

    # nine: the first run
    bench.show("Suspectra")
    bench.see(SIDEBAR, "There is no recorded test run yet", 90)
    bench.press("Control+;", "n")  # no keys are taken
    bench.see(".statusbar-item", "is not a command")
    bench.see(f"{SIDEBAR} .monaco-button", "Run Tests and Localize").click()
    wait(lambda: bench.status() == "Suspectra: No failing test", "the tests have passed", 90)
    assert "no test failed (462 passed)" in sqlparse.suspectra("status").stdout
    go_to_line()
    film.take(bench, 2)

    # ten: an edit, and on save the four tests that it can affect, two of which fail
    bench.drag(349, 540)
    bench.page.evaluate(OVERHEAR)
    write(WRONG)
    wait(lambda: bench.suspects() and bench.status() == f"Suspectra: 2 failing · post:{line}", "suspects", 60)
    said = bench.page.evaluate("window.said")
    running = re.compile(r"Suspectra: (\d of 4 tests(, [12] failed)?|Running tests), since the save")
    assert any(map(running.fullmatch, said)), said
    functions = sqlparse.rank(1000)["functions"]
    ranked = [f"Rank {one['rank_best']}, {one['function'] or '(module level)'}, {one['file']}" for one in functions]
    listed = [row.split(", line")[0] for row in bench.suspects()]
    assert listed[:5] == ranked[:5], "what the command line ranks"
    assert listed == [one for one in ranked if one in listed]
    failure, first, *_ = bench.rows()
    raised = "TypeError: unsupported operand type(s) for +: 'NoneType' and 'bool'"
    assert failure == f"Failure, test_grouping_assignment and 1 more, {raised}"
    assert first.startswith(f"Rank 1, group_assignment.post, {GROUPING}, line {line}, ")
    assert first.endswith(f", high suspicion, changed, {WRONG}")
    bench.see(SIDEBAR, "All evidence · 2 failed, 460 passed")
    assert bench.toasts() == []

    # where it failed, and where to look
    bench.see(ROWS, "test_grouping_assignment").click()
    wait(lambda: bench.cursor() == ("test_grouping.py", 22), "where the first test failed")
    bench.see(".editor-instance .squiggly-error")
    film.take(bench, 3)
    bench.press("Control+;", "n")
    wait(lambda: bench.cursor() == ("grouping.py", line), "the first suspect")
    bench.see(".codelens-decoration a", "Most suspicious (2 of 2 failing) · you changed this")
    reason = "2 of 2 failing, 2 of 460 passing · test_grouping_assignment and 1 more"
    wait(lambda: reason in "".join(bench.at_ends_of_lines()), "the reason at the end of the line")
    document(bench, "day-suspects.png")
    film.take(bench, 3)

    # why
    bench.hover_at_cursor("Explain")
    said = bench.see(".monaco-hover", "2 of 2 failing tests, 2 of 460 passing").inner_text()
    assert said.lower().count("you changed this") == said.count("460 passing") == 1  # in the diagnostic alone
    bench.picture("hover")
    bench.press("Escape")
    bench.command("Suspectra: Explain Suspect")
    bench.explanation().locator("li", has_text="sqlparse/sql.py:314 in TokenList.group_tokens").first.wait_for()
    document(bench, "vscode-suspects.png")
    bench.command("View: Close Editors in Other Groups")

    # the values of the failing run, and which lines it executes, until they are hidden again
    bench.see(ROWS, "test_grouping_assignment").click()
    bench.experiment("Show values of the failing run")
    bench.ranked.first.click()
    wait(lambda: bench.cursor() == ("grouping.py", line), "the first suspect")
    wait(lambda: "→ None" in bench.code(), "the value is at the end of its line", 90)
    document(bench, "day-values.png")
    bench.command("Suspectra: Show Values of the Failing Run")
    wait(lambda: "→ None" not in bench.code(), "the values are hidden")

    # eleven: the cause, and the way from there to the failure
    bench.see(ROWS, "test_grouping_assignment").click()
    bench.experiment("Find the cause")
    bench.agree()
    bench.see(TOASTS, f"The cause is probably {GROUPING}:{line}: None", 120)
    bench.command("Notifications: Clear All Notifications")
    bench.press("Control+;", "f")
    wait(lambda: bench.cursor() == ("grouping.py", line), "the cause is open")
    rows = bench.rows()
    for step in (
        "nidx = snidx, value None",
        "from_idx, to_idx = post(tlist, pidx, tidx, nidx), value (0, None)",
        "grp = tlist.group_tokens(cls, from_idx, to_idx, extend=extend)",
        "end_idx = end + include_end, sqlparse/sql.py, line 314",
    ):
        assert any(row.startswith(step) for row in rows), step
    bench.page.locator(f"{ROWS}[aria-label^='return pidx, nidx, value (0, None)']").first.click()
    wait(lambda: bench.cursor() == ("grouping.py", line + 1), "what post returned")
    document(bench, "day-cause.png")
    film.take(bench, 4)

    # what would make it pass
    go_to_line()
    bench.command("Suspectra: Test This Suspect")
    wait(lambda: "repairs 2/2" in bench.suspects()[0], "the first row says what was found", 120)
    bench.see(TOASTS, "altered runs", 120)
    bench.command("Notifications: Clear All Notifications")
    bench.see(".activitybar .badge")
    found = re.compile(r"Most suspicious \(2 of 2 failing\) · (1 failing test passes if this gives |`nidx)")
    bench.see(".codelens-decoration", found)
    bench.command("Suspectra: Explain Suspect")
    found = f"{WRONG} → pass repairs 2 tests and breaks 1 test"
    bench.explanation().locator("body", has_text=found).wait_for()
    document(bench, "day-repairs.png")
    film.take(bench, 3)

    # repaired, and on save the marks are gone
    write(RIGHT)
    wait(lambda: bench.status() == "Suspectra: No failing test", "no test fails", 60)
    bench.see(SIDEBAR, "nothing to suspect")
    assert bench.rows() == []
    for mark in (".codelens-decoration a", ".squiggly-error", ".squiggly-info", "[class*='cgmr']"):
        wait(lambda mark=mark: not bench.page.locator(f".editor-instance {mark}").count(), f"{mark} is gone")
    bench.press("Control+;", "n")
    bench.see(".statusbar-item", "is not a command")
    bench.picture("repaired")
    assert bench.toasts() == []
    film.take(bench, 3)
    film.end()


def told() -> dict[str, list[str]]:
    """The commands in docs/guide/tour.md, each with the lines that it prints."""
    blocks = re.findall(r"^```console\n\$ (suspectra .*)\n((?:(?!```).*\n)*)```", TOUR.read_text("utf-8"), re.MULTILINE)
    return {command: lines.splitlines() for command, lines in blocks}


def test_the_pull_request_in_a_terminal(sqlparse):
    assert sqlparse.record("-q").returncode == 0
    for file, (right, wrong) in COLLEAGUE.items():
        sqlparse.edit(file, right, wrong)
    commands = told()
    assert [command.split()[1] for command in commands] == ["record", "rank", "rank"]
    for command, lines in commands.items():
        done = sqlparse.suspectra(*shlex.split(command)[1:])
        printed = iter((done.stdout + done.stderr).splitlines())
        for line in lines:  # … stands for what is left out
            expected = re.escape(line).replace("…", ".*")
            assert any(re.fullmatch(expected, each) for each in printed), f"{command}: {line}"

    # one of the two is repaired: what failed and what that can affect runs, and the other one is left
    file, (right, wrong) = next(iter(COLLEAGUE.items()))
    sqlparse.edit(file, wrong, right)
    sqlparse.suspectra("record", "--failed-and-affected", "--", "pytest", "-q")
    first, *_ = sqlparse.rank()["suspects"]
    assert (first["file"], first["line"]) == ("sqlparse/filters/others.py", 65)
    assert len(first["failing_tests"]) == 3
