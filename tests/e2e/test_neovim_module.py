"""The optional module in a real Neovim without a screen, set up as docs/guide/editors/neovim.md says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

MODULE = Path(__file__).parents[2] / "editors" / "neovim"
TAX = "src/ledger/tax.py"
A_RUN = 120.0  # seconds that a run of the tests may take on a busy machine
FAULT = "ends = [*starts[1:], last]"
FIXED = "ends = [*starts[1:], last + date.resolution]"


@pytest.fixture
def set_up_in(snippet):
    """Sets the module up in a Neovim as documented, with a picker that takes what is wished for."""

    def set_up(neovim):
        neovim.lua("_G.messages = {}; vim.notify = function(text) table.insert(messages, text) end")
        documented = snippet("neovim.md", "require('suspectra').setup")
        neovim.lua(documented.replace("/path/to/suspectra/editors/neovim", str(MODULE)))
        # what a picker would do: remember what was offered, and take the one that is wished for
        neovim.lua("""
            _G.wish = 1
            vim.ui.select = function(items, options, chosen)
                _G.offered = vim.tbl_map(options.format_item, items)
                _G.prompt = options.prompt
                chosen(items[wish], wish)
            end""")
        return neovim

    return set_up


@pytest.fixture
def set_up(neovim, set_up_in):
    return lambda: set_up_in(neovim)


def health(neovim) -> str:
    neovim.nvim.command("checkhealth suspectra")
    return "\n".join(neovim.nvim.current.buffer[:])


def cursor_line(neovim, project) -> tuple[str, int]:
    return project.path(neovim.nvim.current.buffer.name), neovim.nvim.current.window.cursor[0]


def signs(neovim) -> dict[int, str]:
    """Line → text of the signs of the current buffer."""
    return dict(
        neovim.lua("""
            local found = {}
            for _, sign in ipairs(vim.fn.sign_getplaced(0, { group = 'suspectra' })[1].signs) do
                table.insert(found, { sign.lnum, vim.trim(vim.fn.sign_getdefined(sign.name)[1].text) })
            end
            return found""")
    )


def screen(neovim) -> str:
    """What a user sees in the windows that don't float."""
    return neovim.lua("""
        vim.cmd('redraw')
        local rows = {}
        for row = 1, vim.o.lines do
            local cells = {}
            for column = 1, vim.o.columns do
                table.insert(cells, vim.fn.screenstring(row, column))
            end
            table.insert(rows, table.concat(cells))
        end
        return table.concat(rows, '\\n')""")


def beside(neovim) -> str:
    """The text of the windows beside the first."""
    return "\n".join("\n".join(window.buffer[:]) for window in neovim.nvim.windows[1:])


def reported(neovim) -> str:
    """The messages of the server and of the module."""
    return neovim.nvim.command_output("messages") + "\n".join(neovim.lua("return messages"))


def test_a_bug_is_found_and_fixed(unrecorded, neovim, set_up, wait):
    """The whole story: run the tests, see, step, ask, fix, run again."""
    neovim.nvim.ui_attach(200, 50, rgb=True)
    neovim.lua("vim.diagnostic.config({ virtual_text = true })")
    neovim.start(unrecorded, TAX)
    set_up()
    neovim.nvim.input("]u")
    wait(lambda: "suspectra record" in reported(neovim), "a message that nothing is recorded")

    neovim.nvim.input("\\ur")
    wait(lambda: "3 failing tests, 80 passing tests: 20 suspects" in reported(neovim), "the tests have run", A_RUN)
    ranked = unrecorded.ranked()
    wait(lambda: neovim.marked(unrecorded) == ranked, "the marks")

    neovim.nvim.input("]u")
    wait(lambda: cursor_line(neovim, unrecorded) == ranked[0], "the first suspect")
    wait(lambda: "Most suspicious (3 of 3 failing) | Why? | Next" in screen(neovim), "a lens above the function")
    seen = [row for row in screen(neovim).split("\n") if "return total(parts)" in row]
    assert re.match(r"1 ", seen[0]), seen  # the rank of its function in the sign column
    assert "Most suspicious: 3 of 3 failing tests, 1 of 80 passing" in seen[0]  # and why
    neovim.nvim.input("\\us")
    wait(lambda: neovim.lua("return offered ~= nil"), "the list of suspects")
    assert len(neovim.lua("return offered")) == len(ranked)
    neovim.nvim.input("]u")
    wait(lambda: cursor_line(neovim, unrecorded) == ranked[1], "the second suspect")
    neovim.nvim.input("\\ue")
    wait(lambda: "K = 0.55 * 1 + 0.45 * 3 / (3 + 1) = 0.8875" in beside(neovim), "the explanation")
    for following in ranked[2:]:
        if FAULT in neovim.nvim.current.line:
            break
        neovim.nvim.input("]u")
        wait(lambda there=following: cursor_line(neovim, unrecorded) == there, "the next suspect")

    assert FAULT in neovim.nvim.current.line  # it is the fault: change what it ends with, save, and run again
    neovim.nvim.input("$i + date.resolution<Esc>")
    assert neovim.nvim.current.line.strip() == FIXED
    neovim.nvim.input(":write<CR>")
    neovim.nvim.input("\\ur")
    wait(lambda: "no test failed (83 passed)" in reported(neovim), "all tests pass", A_RUN)
    wait(lambda: not neovim.diagnostics() and not signs(neovim), "nothing is marked")
    wait(lambda: "suspicious" not in screen(neovim), "nothing is left on the screen")


def test_each_verb_does_its_part_and_health_is_said(ledger, neovim, set_up, wait, tmp_path):
    ranked = neovim.show(ledger, TAX)
    first, second, *_ = ranked
    set_up()
    messages = lambda: neovim.lua("return messages")  # noqa: E731
    here = lambda: cursor_line(neovim, ledger)  # noqa: E731

    # signs are the ranks of functions, and go with the marks
    report = ledger.rank(1000)
    functions = {(one["file"], one["function"]): one["rank_best"] for one in report["functions"]}
    owners = {(one["file"], one["line"]): one["function"] for one in report["suspects"]}
    expected = {line: str(functions[file, owners[file, line]]) for file, line in ranked if file == TAX}
    wait(lambda: signs(neovim) == expected, "the ranks are in the sign column")
    line = next(iter(expected))
    neovim.nvim.current.window.cursor = (line, 0)
    neovim.nvim.command("Suspectra examined")
    wait(lambda: line not in signs(neovim), "the examined line has no sign")
    neovim.nvim.command("Suspectra clear")
    wait(lambda: signs(neovim) == expected, "all signs are back")

    # steps lead through the ranking, and the jump list leads back
    neovim.nvim.current.window.cursor = (1, 0)
    start = here()
    for keys, there in ((":Suspectra first<CR>", first), ("]u", second), ("[u", first), ("]u", second)):
        neovim.nvim.input(keys)
        wait(lambda there=there: here() == there, f"{there} after {keys}")
    neovim.nvim.command("Suspectra back")
    wait(lambda: here() == first, "back by the server's own trail")
    for _ in range(8):
        neovim.nvim.input("<C-o>")
    wait(lambda: here() == start, "back by the jump list")

    # a suspect, and the next place to look at, are chosen from lists
    neovim.lua("_G.wish = 4")
    neovim.nvim.command("Suspectra suspects")
    wait(lambda: here() == ranked[3], "the fourth suspect")
    offered = neovim.lua("return offered")
    assert len(offered) == len(ranked)
    for text, (file, line), rank in zip(offered, ranked, ("1", "1", "1", "2"), strict=False):
        assert f"  {file}:{line}  " in text
        assert text.startswith(f"{rank}  TaxTable.")
    assert "failed" in neovim.lua("return prompt")
    neovim.lua("_G.wish = 1")
    neovim.nvim.command("Suspectra first")
    wait(lambda: here() == first, "the first suspect")
    neovim.nvim.command("Suspectra jump")
    wait(lambda: here() != first, "somewhere else")
    offered = neovim.lua("return offered")
    assert all("%" in text and text.endswith(")") for text in offered)
    file, line = here()
    assert f"{file}:{line}" in offered[0]
    assert neovim.lua("return prompt") == f"From {first[0]}:{first[1]} to"

    # it explains in a window, and says when there is nothing to explain
    neovim.nvim.command("Suspectra first")
    wait(lambda: here() == first, "the first suspect")
    neovim.nvim.command("Suspectra explain")
    wait(lambda: "Most suspicious" in beside(neovim), "an explanation in a window")
    neovim.nvim.current.window.cursor = (1, 0)
    neovim.nvim.command("Suspectra explain")
    wait(lambda: any("not a suspect" in text for text in messages()), "a word")

    # what is there and what is missing
    neovim.nvim.command("Suspectra dance")
    assert 'there is no "dance"' in messages()[-1]
    found = health(neovim)
    assert "suspectra, version" in found
    assert "3 failed, 80 passed, 20 suspects, ranked with All evidence" in found
    assert "ERROR" not in found
    assert "WARN" not in found
    verbs = neovim.nvim.call("getcompletion", "Suspectra ", "cmdline")
    shutil.copytree(MODULE / "doc", tmp_path / "doc")
    neovim.nvim.command(f"helptags {tmp_path}/doc")
    tags = {line.split("\t")[0] for line in (tmp_path / "doc" / "tags").read_text().splitlines()}
    assert {"suspectra", ":Suspectra", *(f":Suspectra-{verb}" for verb in verbs)} <= tags

    # another technique, and no server
    neovim.lua("_G.wish = 2")
    neovim.nvim.command("Suspectra technique")
    codes = lambda: {found["code"] for found in neovim.diagnostics() if found.get("data")}  # noqa: E731
    wait(lambda: codes() not in (set(), {"evidence"}), "another technique ranks")
    neovim.lua("vim.lsp.stop_client(vim.lsp.get_active_clients(), true)")
    wait(lambda: neovim.lua("return #vim.lsp.get_active_clients()") == 0, "the server has stopped")
    neovim.nvim.command("Suspectra next")
    assert "the server is not running" in messages()[-1]
    neovim.lua("vim.env.PATH = '/nowhere'")
    found = health(neovim)
    assert "not on the PATH" in found
    assert "no server runs" in found


def test_what_would_make_a_failing_test_pass_is_found_and_said_on_its_line(unrecorded, neovim, set_up, wait):
    unrecorded.edit("src/ledger/tax.py", FAULT, FIXED)
    unrecorded.edit("src/ledger/discounts.py", "if quantity < self.at_least", "if quantity <= self.at_least")
    assert unrecorded.record().returncode == 1
    tests = unrecorded.lines("tests/test_discounts.py")
    neovim.start(unrecorded, "tests/test_discounts.py")
    set_up()
    wait(lambda: neovim.request("suspectra/suspects", {})["suspects"], "the suspects")

    # the server asks first, and Neovim lets the user choose by a number
    neovim.lua("_G.asked = {}; vim.fn.inputlist = function(lines) table.insert(asked, lines[1]); return 1 end")
    line = next(number for number, text in enumerate(tests, 1) if "def test_bulk" in text)
    neovim.nvim.current.window.cursor = (line, 0)
    neovim.nvim.command("Suspectra investigate")
    wait(lambda: "src/ledger/discounts.py:24: " in reported(neovim), "the outcome", A_RUN)
    (asked,) = neovim.lua("return asked")
    assert "wrong values and with checks skipped" in asked
    suspect = neovim.request("suspectra/suspects", {})["suspects"][0]
    assert suspect["file"] == "src/ledger/discounts.py"
    neovim.nvim.command("edit src/ledger/discounts.py")
    found = suspect["findings"][0]
    wait(lambda: any(found in one["message"] for one in neovim.diagnostics()), "the diagnostic says it")

    # asked once for a workspace; the line alone can be tried, too, and nothing is left to cancel
    neovim.nvim.current.window.cursor = (suspect["line"], 0)
    neovim.nvim.command("Suspectra try")
    wait(lambda: reported(neovim).count("altered run") > 1, "the outcome of the second")
    assert len(neovim.lua("return asked")) == 1
    neovim.nvim.command("Suspectra cancel")
    wait(lambda: "no tests are running" in reported(neovim), "a word")

    # the cause and a slice are in the quickfix list, with values, and what is outside the slice is dimmed
    neovim.nvim.command("edit tests/test_discounts.py")
    neovim.nvim.current.window.cursor = (line, 0)
    neovim.nvim.command("Suspectra cause")
    wait(lambda: "The cause is probably src/ledger/" in reported(neovim), "the cause", A_RUN)
    listed = wait(lambda: neovim.nvim.call("getqflist"), "the way to the failure")
    assert any("  → " in one["text"] for one in listed)
    title = "return vim.fn.getqflist({ title = 1 }).title"
    neovim.nvim.command("Suspectra compare")
    wait(lambda: neovim.lua(title).endswith(" passes: different decisions"), "where it and a passing test part", A_RUN)
    assert ", there " in neovim.nvim.call("getqflist")[0]["text"]
    neovim.nvim.command("edit tests/test_discounts.py | Suspectra runs")
    windows = "return #vim.tbl_filter(function(one) return vim.wo[one].diff end, vim.api.nvim_list_wins())"
    wait(lambda: neovim.lua(windows) == 2, "both runs beside each other", A_RUN)
    assert "test_bulk[10-10] ↔ test_bulk[20-20]: discounts.py:24 true, there false" in reported(neovim)
    assert "  # discounts.py:" in "\n".join(neovim.nvim.current.buffer[:])
    neovim.nvim.command("tabclose | Suspectra forget")

    # what makes the difference, by a technique that is chosen from a list; nobody is asked again
    neovim.nvim.command("edit tests/test_discounts.py")
    neovim.nvim.current.window.cursor = (line, 0)
    choose = "if item.name == 'cause-transitions' then return chosen(item) end"
    neovim.lua(f"vim.ui.select = function(items, _, chosen) for _, item in ipairs(items) do {choose} end end")
    neovim.nvim.command("Suspectra compareby")
    wait(lambda: neovim.lua(title).startswith("What makes the difference for "), "the difference", A_RUN)
    listed = neovim.nvim.call("getqflist")
    assert listed[0]["text"].startswith("before ")
    assert listed[-1]["text"].endswith("  → the test fails")
    assert len(neovim.lua("return asked")) == 1
    neovim.nvim.command("edit tests/test_discounts.py")
    neovim.nvim.current.window.cursor = (line, 0)
    neovim.nvim.command("Suspectra led")
    wait(
        lambda: neovim.lua(title).startswith("What led to the failure of tests/test_discounts.py::test_bulk"), "a slice"
    )
    dimmed = "return #vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('suspectra-dimmed'), 0, -1, {})"
    assert neovim.lua(dimmed) > 0
    neovim.nvim.command("Suspectra undim")
    assert neovim.lua(dimmed) == 0
    neovim.nvim.command("Suspectra ungroup")
    wait(lambda: "No failure group was changed" in reported(neovim), "another word")


PERIODS = "def days(first, last):\n    whole = last - first\n    return whole * 3\n"
OF_PERIODS = """
import pytest
from ledger.periods import days

@pytest.mark.parametrize("first", range(1, 4))
def test_reversed(first):
    assert days(first, 0) == 3 * first

@pytest.mark.parametrize("first", range(6))
def test_forwards(first):
    assert days(first, 5) == 3 * (5 - first)
"""


def test_a_failure_is_explained_with_values_and_fixes(broken_shop, current_neovim, set_up_in, wait):
    neovim, project = current_neovim, broken_shop
    neovim.start(project, "test_shop.py")
    set_up_in(neovim)
    wait(lambda: neovim.marked(project), "marks")
    neovim.nvim.current.window.cursor = (3, 0)
    neovim.nvim.command("Suspectra why")
    first = wait(lambda: floating(neovim), "what is known at once", A_RUN)
    assert first.startswith("**You changed ")
    assert "Still finding out more. " in first
    known = lambda: (said := floating(neovim)) and "Still finding out more. " not in said and said  # noqa: E731
    said = wait(known, "the answer in its place", A_RUN)
    assert said.startswith("**Your only change since ")
    assert "`test_ten` failed at `test_shop.py:4`: AssertionError: assert 0 == 1" in said
    assert "AssertionError" not in reported(neovim), "it is shown once"

    neovim.nvim.command("edit shop.py")
    hints = "return vim.tbl_map(function(one) return one.inlay_hint.label end, vim.lsp.inlay_hint.get({ bufnr = 0 }))"
    neovim.nvim.command("Suspectra trace")
    wait(lambda: neovim.lua(hints) == ["→ false", "→ 0"], "the values at the ends of the lines", A_RUN)
    neovim.nvim.command("Suspectra trace")
    wait(lambda: not neovim.lua(hints), "no values")

    neovim.lua("prompt = ''; wish = 3")  # close the question
    neovim.nvim.command("Suspectra fix")
    asked = wait(lambda: neovim.lua("return prompt"), "a fix", A_RUN)
    assert asked.startswith("shop.py:2: the failing test passes with this line as it was, and both others that")
    assert neovim.lua("return offered") == ["Apply", "Next", "Close"]

    neovim.nvim.command("Suspectra change")
    wait(lambda: "was broken by your change at shop.py:2" in reported(neovim), "the change", A_RUN)
    neovim.nvim.current.window.cursor = (2, 0)
    assert neovim.nvim.current.line == "    if amount > 10:"
    neovim.nvim.command("Suspectra undo")
    wait(lambda: neovim.nvim.current.line == "    if amount >= 10:", "the line as it was")


def floating(neovim) -> str:
    """The text of the window that floats."""
    windows = [one for one in neovim.nvim.windows if neovim.nvim.api.win_get_config(one)["relative"]]
    return "\n".join(windows[0].buffer[:]) if windows else ""


def test_how_values_compare_in_failing_tests_is_said_on_its_line(unrecorded, neovim, set_up, wait):
    unrecorded.edit(TAX, FAULT, FIXED)
    unrecorded.folder.joinpath("src/ledger/periods.py").write_text(PERIODS)
    unrecorded.folder.joinpath("tests/test_periods.py").write_text(OF_PERIODS)
    assert unrecorded.record().returncode == 1
    neovim.start(unrecorded, "src/ledger/periods.py")
    set_up()
    wait(lambda: neovim.request("suspectra/suspects", {})["suspects"], "the suspects")
    # nothing is altered, so nobody is asked
    neovim.nvim.command("Suspectra values")
    wait(lambda: "tests observed" in reported(neovim), "the outcome", A_RUN)
    found = wait(lambda: next((said for said in findings(neovim) if "observed `" in said), None), "a suspect says it")
    wait(lambda: any(found in one["message"] for one in neovim.diagnostics()), "the diagnostic says it")


def findings(neovim):
    suspects = neovim.request("suspectra/suspects", {})["suspects"]
    return [found for suspect in suspects for found in suspect["findings"]]


def test_each_verb_says_something_where_there_is_nothing_to_show(unrecorded, neovim, set_up, wait):
    neovim.start(unrecorded, TAX, technique="ochiai")
    report = lambda: neovim.request("suspectra/suspects", {"limit": 5})  # noqa: E731
    wait(lambda: report()["state"] == "noEvidence", "it is known that nothing is recorded")
    wait(lambda: report()["technique"] == "ochiai", "the settings are in force")
    assert neovim.command("suspectra.server.nextSuspect") is None
    assert neovim.diagnostics() == []
    set_up()
    verbs = neovim.nvim.call("getcompletion", "Suspectra ", "cmdline")
    verbs.remove("run")
    assert len(verbs) > 30
    for verb in verbs:
        before = reported(neovim)
        neovim.nvim.command(f"Suspectra {verb}")
        wait(lambda before=before: reported(neovim) != before, f"a word after {verb}")
    found = health(neovim)
    assert "no test run is recorded" in found
    assert "suspectra record -- pytest" in found


def test_failure_groups_are_chosen_merged_and_split(unrecorded, neovim, set_up, wait):
    for file, right, wrong in (
        ("src/ledger/statements.py", "    if first_month == 10:\n", "    if first_month == 7:\n"),
        ("src/ledger/discounts.py", "if quantity < self.at_least", "if quantity <= self.at_least"),
    ):
        unrecorded.edit(file, right, wrong)
    assert unrecorded.record().returncode == 1
    neovim.start(unrecorded, TAX)
    set_up()

    # how Neovim 0.7 shows a question of the server
    neovim.lua("vim.fn.inputlist = function(rows) _G.offered = rows; return wish end")

    def offered(verb: str, wish: int) -> list[str]:
        """What the list of a verb offers; one of it is chosen, or none."""
        neovim.lua(f"wish = {wish}; offered, messages = nil, {{}}; vim.cmd('Suspectra {verb}')")
        wait(lambda: neovim.lua("return offered ~= nil or #messages > 0"), f"the list of {verb}")
        return neovim.lua("return offered or {}")

    def groups() -> list[str]:
        return offered("group", 0)

    def sizes() -> list[int]:
        return [int(re.search(r"(\d+) tests?:", one)[1]) for one in groups()]

    wait(lambda: neovim.marked(unrecorded), "marks")
    wait(lambda: sizes() == [3, 3, 1], "three groups")
    assert [one.endswith(" (current)") for one in groups()] == [True, False, False]
    offered("group", 3)
    wait(lambda: groups()[2].endswith(" (current)"), "the third group")
    offered("merge", 1)
    wait(lambda: sizes() == [4, 3], "two groups")
    offered("split", 1)
    wait(lambda: len(groups()) == 3, "a test alone")
    neovim.lua("vim.cmd('Suspectra ungroup')")
    wait(lambda: sizes() == [3, 3, 1], "the groups as they were")
