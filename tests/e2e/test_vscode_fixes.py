"""A real VS Code finds a fix, and writes the test that tells it from another one."""

from __future__ import annotations

ROOMS = "def fits(size, room):\n    return size < room\n"
TAX = "ends = [*starts[1:], last]", "ends = [*starts[1:], last + date.resolution]"
OF_ROOMS = """\
from ledger.rooms import fits


def test_the_same():
    assert fits(2, 2)


def test_more():
    assert not fits(3, 2)
"""


def test_what_tells_two_fixes_apart_is_written_as_a_test(unrecorded, workbench, wait):
    unrecorded.edit("src/ledger/tax.py", *TAX)
    unrecorded.folder.joinpath("src/ledger/rooms.py").write_text(ROOMS)
    unrecorded.folder.joinpath("tests/test_rooms.py").write_text(OF_ROOMS)
    assert unrecorded.record().returncode == 1
    bench = workbench(unrecorded.folder, {"suspectra.fixSeconds": 60})
    bench.show("Suspectra")
    wait(lambda: any("fits" in row for row in bench.suspects()), "the suspects of the failing test")
    bench.command("Suspectra: Find a Fix")
    bench.agree()
    bench.see(".notifications-toasts .monaco-button", "Write a Test", 120).click()
    bench.see(".bulk-edit-panel", "test_fits_more.py")
    written = unrecorded.folder / "tests" / "test_fits_more.py"
    assert not written.exists()
    bench.page.locator(".bulk-edit-panel .edit-checkbox").first.click()
    bench.see(".bulk-edit-panel .monaco-button", "Apply").click()
    wait(written.exists, "the file of the test")
    bench.see(".notifications-toasts .monaco-button", "Close").click()  # the same change is offered again
    bench.open("test_fits_more.py")
    wait(lambda: "assert fits(size=1, room=2) is True" in bench.code(), "the test is in the editor")
    assert unrecorded.folder.joinpath("src/ledger/rooms.py").read_text() == ROOMS
