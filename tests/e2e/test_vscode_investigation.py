"""A real VS Code finds out what would make a failing test pass: from a lens, with a question, to the line itself."""

from __future__ import annotations

import re

FILE = "src/ledger/discounts.py"
RIGHT, WRONG = "if quantity < self.at_least", "if quantity <= self.at_least"
TAX = "ends = [*starts[1:], last]", "ends = [*starts[1:], last + date.resolution]"
FOUND = "`<=` → `<` repairs 3 tests"


def test_the_line_says_what_makes_the_failing_test_pass(unrecorded, workbench, wait, document):
    unrecorded.edit("src/ledger/tax.py", *TAX)
    unrecorded.edit(FILE, RIGHT, WRONG)
    assert unrecorded.record().returncode == 1
    bench = workbench(unrecorded.folder, {"suspectra.investigationSeconds": 75})
    bench.page.set_viewport_size({"width": 1440, "height": 760})
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")
    bench.drag(349, 560)

    # the failing test offers it, and nothing runs before the user has agreed
    bench.open("test_discounts.py")
    bench.experiment("Find out what would make it pass")
    bench.see(".monaco-dialog-box", "will run failing tests of")
    bench.picture("consent")
    bench.agree()
    bench.see(".notifications-toasts", re.compile(r"\.py:\d+: .* altered runs?"), 240)
    bench.command("Notifications: Clear All Notifications")

    bench.configure(reload=False, suspectra_investigationSeconds=240)  # on one line it ends by itself
    bench.ranked.first.click()
    wait(lambda: bench.cursor() == ("discounts.py", 24), "the first suspect is open")
    bench.command("Suspectra: Test This Suspect")
    bench.see(".notifications-toasts", re.compile(r"\.py:24: .* altered runs?"), 300)

    # the row, the badge, the line, the lens and the hover say what was found
    wait(lambda: FOUND in bench.suspects()[0], "the first row says it", 240)
    bench.command("Notifications: Clear All Notifications")
    assert "Rank 1, BulkDiscount.off" in bench.suspects()[0]
    assert ", repairs 3/3," in bench.suspects()[0]
    bench.see(".activitybar .badge")
    bench.ranked.first.click()
    bench.see(".codelens-decoration", FOUND)
    bench.hover_at_cursor("repairs")
    bench.press("Escape", "Control+Home")  # the cursor's own mark would be over that of the line
    document(bench, "vscode-investigation.png")

    # as all tests were run with it, it can be applied, after its difference was seen
    bench.ranked.first.click()
    wait(lambda: bench.cursor() == ("discounts.py", 24), "the suspect is open again")
    bench.command("View: Focus Active Editor Group")
    bench.press("Control+.")
    bench.see(".action-widget .monaco-list-row", "Apply `<=` → `<`, which repairs")
    bench.see(".action-widget .monaco-list-row", "Apply `<=` → `<`, which repairs").click()
    bench.see(".quick-input-title", "Apply `<=` → `<`, which repairs")
    bench.see(".monaco-diff-editor .view-line", WRONG)
    bench.press("Enter")
    wait(lambda: bench.cursor() == ("discounts.py", 24) and RIGHT in bench.code(), "the change is in the editor")
    assert WRONG in unrecorded.lines(FILE)[23]  # which the user has not saved yet
