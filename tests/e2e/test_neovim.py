"""The main job in a real Neovim without a screen, set up as docs/guide/editors/neovim.md says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

MODULE = Path(__file__).parents[2] / "editors" / "neovim"
TAX = "src/ledger/tax.py"
FIX = ("ends = [*starts[1:], last]", "ends = [*starts[1:], last + date.resolution]")
DISCOUNTS = "src/ledger/discounts.py"
ERROR, INFORMATION = 1, 3
SECOND_FAULT = ("if off > best:", "if off < best:")


def test_marks_explains_leads_and_learns_what_was_examined(ledger, neovim, wait):
    ranked = neovim.show(ledger, TAX)
    wait(lambda: neovim.first_marked(ledger) == ranked[:1], "the first suspect has a diagnostic")
    by_place = {(s["file"], s["line"]): s for s in ledger.rank(1000)["suspects"]}
    wait(lambda: len(neovim.diagnostics()) == 4, "the first suspect, and where three tests failed")
    for found in neovim.diagnostics():
        if found["code"] == "failing-test":
            assert found["severity"] == ERROR
            assert ledger.path(found["file"]).startswith("tests/test_")
            continue
        suspect = by_place[ledger.path(found["file"]), found["line"]]
        assert (found["code"], found["severity"]) == ("evidence", INFORMATION)
        assert [found["data"][name] for name in ("ef", "ep", "nf", "np")] == [
            suspect[name] for name in ("ef", "ep", "nf", "np")
        ]
        assert found["data"]["score"] == pytest.approx(suspect["score"])
        assert found["data"]["rankWorst"] == suspect["rank_worst"]
        assert found["message"] == "Most suspicious: 3 of 3 failing tests, 1 of 80 passing"

    # it explains, and shows lenses
    first = by_place[ranked[0]]
    document = {"textDocument": {"uri": ledger.uri(TAX)}}
    hover = neovim.request("textDocument/hover", {**document, "position": {"line": first["line"] - 1, "character": 8}})
    assert "Most suspicious." in hover["contents"]["value"]
    assert re.search(rf"\b{first['ef']}\b.*\bfailing\b", hover["contents"]["value"])
    lenses = neovim.request("textDocument/codeLens", document)
    function = first["function"].rpartition(".")[2]
    lines = ledger.lines(TAX)
    assert [lens["command"]["title"] for lens in lenses] == ["Most suspicious (3 of 3 failing)", "Why?", "Next"]
    assert all(f"def {function}(" in lines[lens["range"]["start"]["line"]] for lens in lenses)

    # it steps through the suspects in the order of a reader
    visited = []
    place = neovim.command("suspectra.server.firstSuspect")
    for _ in range(5):
        visited.append((ledger.path(place["uri"]), place["range"]["start"]["line"] + 1))
        cursor = {"uri": place["uri"], "position": place["range"]["start"]}
        place = neovim.command("suspectra.server.nextSuspect", cursor)
    assert visited == ranked[:5]
    assert neovim.command(
        "suspectra.server.previousSuspect", {"uri": place["uri"], "position": place["range"]["start"]}
    )

    # what was examined is no longer marked
    file, line = next(place for place in ranked if place[0] == TAX)
    assert neovim.command("suspectra.server.markExamined", ledger.uri(file), line - 1) is True
    wait(lambda: (file, line) not in neovim.marked(ledger), "the examined line is no longer marked")
    neovim.command("suspectra.server.clearExamined")
    wait(lambda: neovim.marked(ledger) == ranked, "all marks are back")

    # it offers where to look next, goes there and back
    cursor = {"uri": ledger.uri(TAX), "position": {"line": first["line"] - 1, "character": 8}}
    moves = neovim.command("suspectra.server.jump", cursor, {"ask": False})["moves"]
    assert moves[0]["probability"] >= moves[-1]["probability"] > 0
    assert {"same function", "runs just before"} & {reason for move in moves for reason in move["reasons"]}
    to = {"uri": moves[0]["uri"], "line": moves[0]["line"] - 1}
    chosen = neovim.command("suspectra.server.jump", cursor, {"to": to, "ask": False})["chosen"]
    assert chosen["range"]["start"]["line"] == to["line"]
    assert neovim.command("suspectra.server.back")["range"]["start"]["line"] == first["line"] - 1
    assert neovim.command("suspectra.server.markInnocent", to["uri"], to["line"]) is True
    left = neovim.command("suspectra.server.jump", cursor, {"ask": False})["moves"]
    assert to["line"] + 1 not in {move["line"] for move in left if move["uri"] == to["uri"]}


def test_marks_follow_edits_and_new_runs_until_the_bug_is_fixed(ledger, neovim, wait):
    before = neovim.show(ledger, TAX)

    neovim.nvim.current.buffer.append(["# two more", "# lines"], 0)
    moved = [(file, line + 2 if file == TAX else line) for file, line in before]
    wait(lambda: neovim.marked(ledger) == moved, "the marks moved by two lines")

    edited = next(place for place in moved if place[0] == TAX)
    buffer = neovim.nvim.current.buffer
    buffer[edited[1] - 1] = buffer[edited[1] - 1] + "; edited = True"
    wait(
        lambda: neovim.marked(ledger) == [place for place in moved if place != edited], "the edited line's mark is gone"
    )
    neovim.nvim.command("undo 0")
    wait(lambda: neovim.marked(ledger) == before, "the marks of the text as it was")

    # another fault on top: more tests fail, other lines are suspected
    ledger.edit(DISCOUNTS, *SECOND_FAULT)
    ledger.record()
    groups = ledger.rank()["groups"]  # the marks are those of one
    second = [{(s["file"], s["line"]) for s in group["suspects"] if s["ef"]} for group in groups]
    assert set(before) not in second
    wait(lambda: set(neovim.marked(ledger)) in second, "the marks are those of the second run")

    ledger.edit(DISCOUNTS, *reversed(SECOND_FAULT))
    ledger.edit(TAX, *FIX)
    assert ledger.record().returncode == 0
    wait(lambda: neovim.marked(ledger) == [], "no marks once all tests pass")
    wait(lambda: neovim.diagnostics() == [], "and no diagnostics")


def test_the_lines_of_the_readme_are_enough(ledger, current_neovim, wait):
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    row = next(line for line in readme.splitlines() if line.startswith("| Neovim |"))
    lines = [code for code in re.findall("`(.*?)`", row) if code.startswith("vim.lsp")]
    assert len(lines) == 2
    # another folder is current: it is the file that leads to the project
    current_neovim.nvim.command(f"cd {ledger.folder.parent}")
    for line in lines:
        current_neovim.lua(line)
    current_neovim.nvim.command(f"edit {ledger.folder / TAX}")
    current_neovim.nvim.command("filetype on | doautocmd FileType | set filetype=python")
    wait(lambda: current_neovim.marked(ledger) == ledger.ranked(), "the editor marks what the command line ranks")


def test_as_a_plugin_it_needs_one_line(ledger, current_neovim, snippet, wait, tmp_path):
    """The program is where a package manager for Neovim puts it; the command exists without `setup`."""
    programs = tmp_path / "nvim" / "mason" / "bin"
    programs.mkdir(parents=True)
    (programs / "suspectra").symlink_to(shutil.which("suspectra"))
    current_neovim.lua("vim.env.XDG_DATA_HOME = ...", str(tmp_path))
    current_neovim.lua("vim.env.PATH = '/usr/bin:/bin'")
    lines = snippet("neovim.md", "as your plugin manager")
    current_neovim.lua(lines.replace("/path/to/suspectra/editors/neovim", str(MODULE)))
    current_neovim.nvim.command(f"runtime plugin/suspectra.lua | cd {ledger.folder.parent}")
    assert "suspects" in current_neovim.nvim.call("getcompletion", "Suspectra sus", "cmdline")
    current_neovim.nvim.command(f"edit {ledger.folder / TAX}")
    current_neovim.nvim.command("filetype on | doautocmd FileType | set filetype=python")
    wait(lambda: current_neovim.marked(ledger) == ledger.ranked(), "the editor marks what the command line ranks")
    current_neovim.nvim.command("Suspectra first")
    first = ledger.ranked()[0]
    wait(lambda: current_neovim.nvim.current.window.cursor[0] == first[1], "the cursor is on the first suspect")
    current_neovim.nvim.command("checkhealth suspectra")
    assert f"({programs / 'suspectra'})" in "\n".join(current_neovim.nvim.current.buffer[:])


def test_the_documented_keys_lead_and_hovers_show_names_and_messages_as_they_are(ledger, current_neovim, wait):
    """Neovim hides the marks of code, but would show the backslash of an escape."""
    (ledger.folder / "tests" / "test_an_odd_name.py").write_text(
        "from datetime import date\nimport pytest\nfrom ledger.tax import TaxTable\n\n\n"
        "@pytest.mark.parametrize('text', ['<div[29]>'])\n"
        "def test_odd(text):\n    TaxTable().add('food', date(2024, 1, 1), '7')\n"
        "    assert False, '<div[29 ] a_*b*_c'\n"
    )
    ledger.record()
    first, *_ = current_neovim.show(ledger, "src/ledger/invoice.py")
    current_neovim.nvim.input("]u")
    here = lambda: (current_neovim.nvim.current.buffer.name, current_neovim.nvim.current.window.cursor[0])  # noqa: E731
    wait(lambda: here() == (str(ledger.folder / first[0]), first[1]), "the cursor is on the first suspect")
    current_neovim.nvim.command(f"edit {TAX}")
    line = next(n for n, text in enumerate(ledger.lines(TAX), 1) if "history.append" in text)
    current_neovim.nvim.current.window.cursor = (line, 8)
    current_neovim.lua("vim.lsp.buf.hover()")

    def shown() -> list[str]:
        windows = [w for w in current_neovim.nvim.windows if current_neovim.nvim.api.win_get_config(w)["relative"]]
        return windows and list(windows[0].buffer)

    lines = wait(shown, "the hover")
    assert any("failing test" in line for line in lines)
    assert any("test_odd[<div[29]>]" in line and "<div[29 ] a_*b*_c" in line for line in lines)
    assert "\\" not in "".join(lines)
