"""One failing test in a real VS Code: who changed the line last, why it fails, and how the change is undone."""

from __future__ import annotations

import subprocess

import pytest

HEAD = """\
\"\"\"What things cost, and how much of that is taken off.\"\"\"

SHIPPING = 4


def shipping(amount):
    return SHIPPING * (amount < 100)


"""
LINE = HEAD.count("\n") + 2


@pytest.fixture
def head():
    """Long enough for the changed line to be below what lies over the top of the editor."""
    return HEAD


@pytest.fixture
def committed_shop(broken_shop):
    """The small project, whose change is a commit of somebody."""

    def git(*words: str) -> None:
        who = ["-c", "user.name=Ann Lee", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *words], cwd=broken_shop.folder, check=True, capture_output=True)

    (broken_shop.folder / ".gitignore").write_text(".*\n")
    git("init", "-q")
    for (old, new), message in (((" > ", " >= "), "Sell things"), ((" >= ", " > "), "Tidy the discount")):
        broken_shop.edit("shop.py", old, new)
        git("add", ".")
        git("commit", "-qm", message)
    return broken_shop


def test_who_changed_it_why_it_fails_and_how_that_is_undone(committed_shop, workbench, wait, document):
    bench = workbench(committed_shop.folder)
    bench.page.set_viewport_size({"width": 1300, "height": 480})
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")
    bench.ranked.first.click()
    wait(lambda: bench.cursor() == ("shop.py", LINE), "the first suspect")

    # the change with its author and commit
    bench.see(".editor-instance .squiggly-info")
    bench.hover_at_cursor("Explain")
    bench.see(".monaco-hover", "Changed last: Ann Lee, ")
    document(bench, "vscode-blame.png")
    bench.press("Escape")

    # why: the conclusion, the difference, how sure that is
    bench.command("Suspectra: Why Does It Fail?")
    bench.agree()
    bench.explanation().locator("p", has_text="Still finding out more").wait_for()
    bench.picture("what-is-known-at-once")
    bench.explanation().locator("pre", has_text="+ if amount > 10:").wait_for()
    wait(lambda: not bench.toasts(), "its notification is gone")
    document(bench, "vscode-why.png")

    # from there it is undone: the difference first, then the question, in the column of the code
    bench.explanation().locator("button", has_text="Undo This Change").click()
    bench.see(".quick-input-title", "Undo This Change")
    bench.see(".monaco-diff-editor", "amount // 10")
    bench.press("Escape")
    wait(lambda: not bench.visible(".monaco-diff-editor").count(), "nothing was changed")
    assert bench.page.locator(".tab[data-resource-name='shop.py']").count() == 1
    bench.command("View: Close Editors in Other Groups")

    # by its command, too; the file is as it was, and can still be taken back
    bench.open("shop.py", LINE)
    bench.command("Suspectra: Undo This Change")
    bench.see(".quick-input-title", "Undo This Change")
    assert bench.choices() == ["Undo This Change, if amount > 10: → if amount >= 10:", "Change Nothing"]
    bench.see(".monaco-diff-editor", "amount // 10")
    document(bench, "vscode-undo.png")
    bench.press("Enter")
    wait(lambda: "if amount >= 10:" in bench.code() and bench.cursor()[0] == "shop.py", "the change is undone")
    assert ">=" not in (committed_shop.folder / "shop.py").read_text()
