"""Three faults at once in a real VS Code: a failure group for each, and the suspects of one at a time."""

from __future__ import annotations

SIDEBAR = "#workbench\\.parts\\.sidebar"
ROWS = f"{SIDEBAR} .monaco-list-row"
PROBLEMS = "#workbench\\.parts\\.panel"
FAULTS = {
    "src/ledger/statements.py": ("    if first_month == 10:\n", "    if first_month == 7:\n"),
    "src/ledger/discounts.py": ("if quantity < self.at_least", "if quantity <= self.at_least"),
}  # the third one is the ledger's own, in tax.py
FAILURE = "UnbalancedEntry: "


def test_each_of_three_faults_has_a_group_in_the_view(unrecorded, workbench, wait, document):
    for file, (right, wrong) in FAULTS.items():
        unrecorded.edit(file, right, wrong)
    assert unrecorded.record().returncode == 1
    bench = workbench(unrecorded.folder)
    bench.page.set_viewport_size({"width": 1440, "height": 760})
    bench.show("Suspectra")

    def groups():
        return [row.removeprefix("Failure group, ") for row in bench.rows() if row.startswith("Failure group")]

    wait(lambda: len(groups()) == 3, "three groups in the view")
    bench.drag(349, 470)
    first, second, third = groups()
    assert first.endswith(", current")
    assert " and 2 more, " in first
    assert " and 2 more, " in second
    assert [FAILURE in group for group in (first, second, third)].count(True) == 1
    assert " more, " not in third
    name = third.split(", ")[0]

    def row(text: str):
        return bench.page.locator(ROWS, has_text=text).first

    # a group is ranked when it is opened, and its first suspects contain the fault
    bench.unfold(name)
    wait(lambda: any("statements.py" in each for each in bench.suspects()[-8:]), "the suspects of the third group")
    row("quarter_of").click()  # which makes its group the current one
    wait(lambda: groups()[2].endswith(", current"), "the group whose suspect was opened is the current one")
    wait(lambda: bench.cursor()[0] == "statements.py", "the suspect is open")

    # and so does the button on its row; then everything is about that group
    current = lambda: [one for one in groups() if FAILURE in one and one.endswith(", current")]  # noqa: E731
    bench.act(row(FAILURE), "Select Failure Group", current)
    bench.command("Suspectra: First Suspect")
    wait(lambda: bench.cursor()[0] == "tax.py", "its first suspect")
    bench.see(".codelens-decoration a", "Most suspicious (")
    document(bench, "vscode-failure-groups.png")

    # a user who knows better merges two of them, for good until that is undone
    title = bench.visible(".quick-input-title", "Merge with")
    bench.choose(row(FAILURE), "Merge Failure Groups…", title.count)
    bench.page.locator(".quick-input-list .monaco-list-row", has_text="1 test: ").first.click()
    bench.press("Enter")
    wait(lambda: len(groups()) == 2, "two groups are left")
    bench.choose_in_view("Reset Failure Groups")
    wait(lambda: len(groups()) == 3, "three groups again")
