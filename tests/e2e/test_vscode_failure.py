"""One failing test in a real VS Code: who changed the line, why it fails, what would fix it, and what undoes it."""

from __future__ import annotations

import subprocess

import pytest

SIDEBAR = "#workbench\\.parts\\.sidebar"
TOASTS = ".notifications-toasts"
PREVIEW = "#workbench\\.parts\\.panel"


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


def test_a_failure_from_who_changed_it_to_what_repairs_it(committed_shop, workbench, wait, document):
    bench = workbench(committed_shop.folder, {"suspectra.fixSeconds": 5, "git.enabled": False})
    bench.page.set_viewport_size({"width": 1300, "height": 480})
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")
    bench.ranked.first.click()
    wait(lambda: bench.cursor() == ("shop.py", 2), "the first suspect")

    # the change with its author and commit
    bench.see(".editor-instance .squiggly-info")
    bench.hover_at_cursor("Explain")
    bench.see(".monaco-hover", "Changed last: Ann Lee, ")
    document(bench, "vscode-blame.png")
    bench.press("Escape")

    # why: the conclusion, the difference, how sure that is
    bench.command("Suspectra: Why Does It Fail?")
    bench.agree()
    bench.explanation().locator("pre", has_text="+ if amount > 10:").wait_for()
    wait(lambda: bench.status() == "Suspectra: 1 failing · discount:2", "the search is over", 60)
    wait(lambda: not bench.toasts(), "its notification is gone")
    document(bench, "vscode-why.png")
    bench.command("View: Close Editors in Other Groups")

    # what would fix it, as a difference
    bench.command("Suspectra: Find a Fix")
    bench.see(f"{TOASTS} .monaco-button", "Show the Change", 90).click()
    bench.see(PREVIEW, "shop.py")
    wait(lambda: not bench.toasts(), "the question is answered")
    document(bench, "vscode-fix.png")
    bench.see(f"{PREVIEW} .monaco-button", "Discard").click()
    bench.command("View: Hide Panel")

    # the difference first, then the question; the file is as it was, and can still be taken back
    bench.open("shop.py", 2)
    bench.command("Suspectra: Undo This Change")
    bench.see(".quick-input-title", "Undo this change?")
    assert bench.choices() == ["Undo This Change", "Keep It"]
    bench.see(".monaco-diff-editor", "amount // 10")
    document(bench, "vscode-undo.png")
    bench.press("Enter")
    wait(lambda: "if amount >= 10:" in bench.code() and bench.cursor()[0] == "shop.py", "the change is undone")
    assert ">=" not in (committed_shop.folder / "shop.py").read_text()
