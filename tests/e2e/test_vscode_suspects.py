"""The Suspects view in a real VS Code: what fails, and where to look, for eyes, ears, a mouse and keys."""

from __future__ import annotations

import re

TAX = "src/ledger/tax.py"
FAULT = "ends = [*starts[1:], last]"
FUNCTION = "TaxTable._tax_by_days"
MEMBER = FUNCTION.rpartition(".")[2]
SIDEBAR = "#workbench\\.parts\\.sidebar"
ROWS = f"{SIDEBAR} .monaco-list-row"


def test_the_view_says_what_fails_and_where_to_look(unrecorded, workbench, wait, document):
    """Failing tests and functions, with what is remarkable, for a mouse, for keys and for a screen reader."""
    fixed = "ends = [*starts[1:], last + date.resolution]"
    unrecorded.edit(TAX, FAULT, fixed)
    assert unrecorded.record().returncode == 0
    unrecorded.edit(TAX, fixed, FAULT)
    assert unrecorded.record().returncode == 1
    failing = unrecorded.rank()["suspects"][0]["failing_tests"]
    conftest = unrecorded.folder / "tests" / "conftest.py"
    conftest.write_text(
        conftest.read_text() + "\n\n@pytest.fixture(autouse=True)\ndef ran(request):\n"
        "    with open('ran', 'a') as out:\n        out.write(request.node.nodeid + '\\n')\n"
    )
    bench = workbench(unrecorded.folder, {"suspectra.technique": "ochiai"})  # by which the whole function is a tie
    bench.page.set_viewport_size({"width": 1440, "height": 760})
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")
    fault = unrecorded.lines(TAX).index(f"        {FAULT}") + 1

    # to be heard, with what colours, icons and places say
    first, *others = bench.rows()
    assert re.match(r"Failure, test_a_month_of_service.* and 2 more, UnbalancedEntry: ", first)
    assert all(row.startswith("Rank ") for row in others)
    (changed,) = (row for row in others if ", changed" in row)
    assert f", {FUNCTION}, {TAX}, lines {fault} to {fault + 7}, " in changed
    assert changed.endswith(f", changed, {FAULT}")
    assert ["journal.py, line 41" in row for row in others if ", raised here, " in row] == [True]
    assert len({tuple(row.split(", ")[1:3]) for row in others}) == len(others), "each function once"

    # the failing test opens where it failed; what can be done with it is on its row
    failure = bench.see(ROWS, "test_a_month_of_service")
    failure.click()
    wait(lambda: bench.cursor()[0].startswith("test_"), "the failing assertion")
    bench.see(".editor-instance .squiggly-error")
    failure.hover()
    labels = [
        action.get_attribute("aria-label") or "" for action in failure.locator(".actions .action-label:visible").all()
    ]
    assert [label.split(" (")[0] for label in labels] == [*("Debug Failing Test", "Run Again")]

    # with keys: to the function, open it, to its first line, and there
    bench.page.locator(ROWS, has_text=f"{MEMBER}:").first.locator(".monaco-tl-twistie").click()
    wait(lambda: any(re.search(rf"line {fault},", row) for row in bench.suspects()), "its lines")
    bench.press("ArrowDown", "Enter")
    wait(lambda: bench.cursor() == ("tax.py", fault), "the changed line is the first of its function")
    document(bench, "vscode-narrow.png")
    bench.drag(349, 228)  # the side bar has 180 pixels: all rows differ in what is left of them
    shown = bench.ranked.locator(".label-name").all_inner_texts()
    assert len({text.replace("\u0336", "") for text in shown}) == len(shown)
    bench.picture("rows-of-180-pixels")
    bench.drag(228, 349)
    bench.drag(349, 720)
    document(bench, "vscode-wide.png")

    # a function is examined as a whole
    all_its_lines = lambda: sum(one.endswith(", examined") for one in bench.suspects()) > 1  # noqa: E731
    bench.act(bench.see(ROWS, f"{MEMBER}:"), "Mark as Examined", all_its_lines)
    bench.picture("examined")
    bench.command("Suspectra: Clear Examined Marks")
    wait(lambda: not [one for one in bench.suspects() if one.endswith(", examined")], "nothing is examined")

    # only what failed runs again
    bench.act(failure, "Run Again")
    ran = unrecorded.folder / "ran"
    wait(lambda: ran.exists() and sorted(ran.read_text().splitlines()) == sorted(failing), "the failing tests ran", 90)
    wait(lambda: "failing" in bench.status(), "the run is over", 60)


def test_five_thousand_suspects_stay_smooth(workbench, make_project, tmp_path, wait, record_property):
    folder = tmp_path / "many"
    (folder / "tests").mkdir(parents=True)
    lines = "".join(f"    x = x + {number % 7}\n" for number in range(5000))
    (folder / "many.py").write_text(f"def many(x):\n{lines}    return x\n")
    (folder / "conftest.py").touch()
    (folder / "tests/test_many.py").write_text(
        "from many import many\n\n\ndef test_wrong():\n    assert many(1) == 0\n\n\ndef test_right():\n    pass\n"
    )
    assert make_project(folder).record().returncode == 1
    bench = workbench(folder, {"suspectra.top": 5000})
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")
    assert "failing · many:" in bench.status()
    bench.unfold("many:2–")
    bench.unfold("4997 more lines")
    wait(lambda: len(bench.suspects()) > 10, "the lines of the function")
    assert len(bench.rows()) < 100  # what can be seen, and little more
    highest = bench.rows()[0]
    last = bench.seconds_to("End", lambda: any("line 5000," in row for row in bench.suspects()))
    first = bench.seconds_to("Home", lambda: bench.rows()[0] == highest)
    record_property("5000 suspects", f"to the last in {last:.2f} s, back in {first:.2f} s")
