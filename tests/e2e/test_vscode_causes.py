"""A real VS Code compares a failing test with a passing one, and shows what makes the difference and what led there."""

from __future__ import annotations

SIDEBAR = "#workbench\\.parts\\.sidebar"
ROWS = f"{SIDEBAR} .monaco-list-row"
FILE = "src/ledger/discounts.py"
RIGHT, WRONG = "if quantity < self.at_least", "if quantity <= self.at_least"
TAX = "ends = [*starts[1:], last]", "ends = [*starts[1:], last + date.resolution]"


def test_a_failing_test_is_compared_with_a_passing_one_and_what_led_to_it_is_shown(unrecorded, workbench, wait):
    unrecorded.edit("src/ledger/tax.py", *TAX)
    unrecorded.edit(FILE, RIGHT, WRONG)
    assert unrecorded.record().returncode == 1
    bench = workbench(unrecorded.folder)
    bench.page.set_viewport_size({"width": 1440, "height": 760})
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")
    bench.drag(349, 560)

    # where it and a passing test part: both places, and both runs beside each other
    bench.open("test_discounts.py")
    bench.experiment("Compare with a passing run")
    bench.see(".notifications-toasts", " passes, and goes the same way for ", 60)
    wait(lambda: bench.cursor()[0] == "discounts.py", "the decision is open")
    bench.command("Notifications: Clear All Notifications")
    bench.command("Problems: Focus on Problems View")
    bench.page.get_by_placeholder("Filter (e.g.").fill("same way up to here")
    bench.see(".markers-panel .monaco-list-row", "test_bulk[20-20] passes and went the same way up to here")
    bench.picture("compared")
    bench.command("View: Hide Panel")
    bench.command("Suspectra: Compare Runs")
    bench.see(".monaco-diff-editor .modified .view-lines", "# discounts.py:", 60)
    bench.picture("runs")
    bench.command("View: Close Editor")

    # what makes the difference between the two, chosen from the list of ways to compare
    bench.open("test_discounts.py")
    bench.choose_in_view("Experiments", "Compare With a Passing Run by…")
    bench.see(".quick-input-title", "Compare the failing test with")
    bench.see(".quick-input-list .monaco-list-row", "cause-transitions").first.click()
    bench.agree()  # asked first
    bench.see(ROWS, "What makes the difference for test_bulk", 120)
    bench.see(ROWS, "before ")
    wait(lambda: bench.cursor()[0] == "money.py", "the first difference is open")
    bench.picture("difference")
    bench.command("Notifications: Clear All Notifications")

    # what led to the failure: a tree, the rest of the code dimmed, and a picture
    bench.open("test_discounts.py", 12)
    bench.command("Suspectra: What Led Here")
    bench.see(f"{SIDEBAR} .tree-explorer-viewlet-tree-view .message", "What led to the failure of", 60)
    bench.open("discounts.py")
    bench.picture("slice")
    bench.see(f"{SIDEBAR} .pane-header", "Slice").hover()
    bench.see(f"{SIDEBAR} .action-label[aria-label*='Show the Slice as a Picture']").click()
    bench.explanation().locator("svg.suspectra-slice").wait_for()
    bench.picture("picture")
