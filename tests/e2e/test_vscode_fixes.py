"""A real VS Code finds a fix, and writes the test that tells it from another one."""

from __future__ import annotations

FITS = "def fits(size, room):\n    return size < room\n"
TAX = "ends = [*starts[1:], last]", "ends = [*starts[1:], last + date.resolution]"
OF_ROOMS = """\
from ledger.money import fits


def test_the_same():
    assert fits(2, 2)


def test_more():
    assert not fits(3, 2)
"""


def put_into(project):
    """Correct the ledger, give it another fault, and record its tests; the line of the fault."""
    project.edit("src/ledger/tax.py", *TAX)
    money = project.folder / "src/ledger/money.py"
    money.write_text(f"{money.read_text()}\n\n{FITS}")
    project.folder.joinpath("tests/test_rooms.py").write_text(OF_ROOMS)
    assert project.record().returncode == 1
    return len(project.lines("src/ledger/money.py")) - 1


def test_why_ends_with_a_change_that_is_seen_before_it_is_applied(unrecorded, workbench, wait):
    line = put_into(unrecorded)
    bench = workbench(unrecorded.folder)
    bench.page.set_viewport_size({"width": 1300, "height": 760})
    bench.show("Suspectra")
    wait(lambda: any("fits" in row for row in bench.suspects()), "the suspects of the failing test")
    bench.command("Suspectra: Why Does It Fail?")
    bench.agree()
    bench.explanation().locator("pre", has_text="+ return size <= room").wait_for(timeout=180_000)
    bench.explanation().locator("button", has_text="Apply the Change").click()
    bench.see(".monaco-diff-editor .view-line", "return size < room")
    assert bench.choices() == ["Change, return size < room → return size <= room", "Change Nothing"]
    bench.press("Enter")
    wait(lambda: bench.cursor() == ("money.py", line) and "size <= room" in bench.code(), "the change is in the editor")


def test_fixes_are_seen_before_one_is_applied_and_what_tells_them_apart_becomes_a_test(
    unrecorded, workbench, wait, document
):
    line, money = put_into(unrecorded), unrecorded.folder / "src/ledger/money.py"
    bench = workbench(unrecorded.folder, {"suspectra.fixSeconds": 60})
    bench.page.set_viewport_size({"width": 1300, "height": 760})
    bench.show("Suspectra")
    wait(lambda: any("fits" in row for row in bench.suspects()), "the suspects of the failing test")
    bench.command("Suspectra: Find a Fix")
    bench.agree()
    bench.see(".quick-input-title", "changes were found", 120)
    first, second, *_ = bench.choices()
    assert first.startswith(
        f"return size < room → return size <= room, src/ledger/money.py:{line}, The failing test passes, and "
    )
    assert second.startswith("Write a Test, With it `fits(size=")
    bench.see(".monaco-diff-editor .view-line", "return size < room")
    wait(lambda: not bench.toasts(), "its notification is gone")
    document(bench, "vscode-fix.png")

    # what tells it from another one, as a test, after which the changes are offered again
    bench.press("ArrowDown")
    bench.see(".monaco-diff-editor .view-line", "assert fits(size=1, room=2) is True")
    written = unrecorded.folder / "tests" / "test_fits_more.py"
    assert not written.exists()
    bench.press("Enter")
    wait(written.exists, "the file of the test")
    wait(lambda: first in bench.choices() and second not in bench.choices(), "the changes are offered again")
    bench.press("Enter")
    wait(lambda: bench.cursor() == ("money.py", line) and "size <= room" in bench.code(), "the change is in the editor")
    assert money.read_text().endswith(FITS)  # which the user has not saved yet
    bench.open("test_fits_more.py")
    wait(lambda: "assert fits(size=1, room=2) is True" in bench.code(), "the test is in the editor")
