"""The optional module in a real Neovim without a screen, set up as docs/editors/neovim.md says."""

from __future__ import annotations

from pathlib import Path

import pytest

MODULE = Path(__file__).parents[2] / "editors" / "neovim"
TAX = "src/ledger/tax.py"


@pytest.fixture
def module(ledger, neovim, snippet, wait):
    """A Neovim with the module in the example project."""
    neovim.start(ledger, TAX)
    neovim.lua("_G.said = {}; vim.notify = function(text) table.insert(said, text) end")
    neovim.lua(
        snippet("neovim.md", "require('suspectra').setup").replace("/path/to/suspectra/editors/neovim", str(MODULE))
    )
    # what a picker would do: remember what was offered, and take the one that is wished for
    neovim.lua("""
        _G.wish = 1
        vim.ui.select = function(items, options, chosen)
            _G.offered = vim.tbl_map(options.format_item, items)
            _G.prompt = options.prompt
            chosen(items[wish], wish)
        end""")
    wait(neovim.diagnostics, "diagnostics")
    return neovim


def here(neovim, project) -> tuple[str, int]:
    return project.path(neovim.nvim.current.buffer.name), neovim.nvim.current.window.cursor[0]


def place(suspect: dict) -> tuple[str, int]:
    return suspect["file"], suspect["line"]


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


def test_signs_are_the_ranks_and_go_with_the_marks(module, ledger, wait):
    here_ranked = {s["line"]: s["rank_best"] for s in ledger.rank()["suspects"] if s["file"] == TAX and s["ef"]}
    expected = {line: str(rank) for line, rank in here_ranked.items()}
    wait(lambda: signs(module) == expected, "the ranks are in the sign column")

    line = next(iter(expected))
    module.nvim.current.window.cursor = (line, 0)
    module.nvim.command("Suspectra examined")
    wait(lambda: line not in signs(module), "the examined line has no sign")
    module.nvim.command("Suspectra clear")
    wait(lambda: signs(module) == expected, "all signs are back")


def test_steps_lead_through_the_ranking_and_the_jump_list_leads_back(module, ledger, wait):
    first, second = ledger.rank()["suspects"][:2]
    module.nvim.current.window.cursor = (1, 0)
    start = here(module, ledger)
    module.nvim.command("Suspectra first")
    wait(lambda: here(module, ledger) == place(first), "the first suspect")
    module.nvim.input("]u")
    wait(lambda: here(module, ledger) == place(second), "the second suspect")
    module.nvim.input("[u")
    wait(lambda: here(module, ledger) == place(first), "the first again")
    module.nvim.input("]u")
    wait(lambda: here(module, ledger) == place(second), "the second again")
    module.nvim.command("Suspectra back")
    wait(lambda: here(module, ledger) == place(first), "back by the server's own trail")
    for _ in range(8):
        module.nvim.input("<C-o>")
    wait(lambda: here(module, ledger) == start, "back by the jump list")


def test_suspects_can_be_chosen_from_a_list(module, ledger, wait):
    suspects = ledger.rank()["suspects"]
    module.lua("_G.wish = 3")
    module.nvim.command("Suspectra suspects")
    wait(lambda: here(module, ledger) == place(suspects[2]), "the third suspect")
    offered = module.lua("return offered")
    for text, suspect in zip(offered, suspects[:3], strict=False):
        assert f"{suspect['file']}:{suspect['line']}" in text
        assert text.startswith(str(suspect["rank_best"]))
    assert "failed" in module.lua("return prompt")


def test_the_next_place_to_look_at_can_be_chosen(module, ledger, wait):
    module.nvim.command("Suspectra first")
    first = place(ledger.rank()["suspects"][0])
    wait(lambda: here(module, ledger) == first, "the first suspect")
    module.nvim.command("Suspectra jump")
    wait(lambda: here(module, ledger) != first, "somewhere else")
    offered = module.lua("return offered")
    assert all("%" in text and text.endswith(")") for text in offered)
    file, line = here(module, ledger)
    assert f"{file}:{line}" in offered[0]
    assert module.lua("return prompt") == f"From {first[0]}:{first[1]} to"


def test_explains_in_a_window_and_says_when_there_is_nothing_to_explain(module, ledger, wait):
    module.nvim.command("Suspectra first")
    wait(lambda: here(module, ledger) == place(ledger.rank()["suspects"][0]), "the first suspect")
    module.nvim.command("Suspectra explain")
    wait(lambda: len(module.nvim.windows) == 2, "a window")
    assert any("Ochiai" in line for line in module.nvim.windows[1].buffer[:])
    module.nvim.current.window.cursor = (1, 0)
    module.nvim.command("Suspectra explain")
    wait(lambda: any("no suspect" in text for text in module.lua("return said")), "a word")


def test_another_technique_can_be_chosen(module, ledger, wait):
    module.lua("_G.wish = 2")
    module.nvim.command("Suspectra technique")
    wait(lambda: {d["code"] for d in module.diagnostics()} not in (set(), {"ochiai"}), "another technique ranks")


def test_a_verb_that_is_none_and_a_server_that_is_not_there_are_told(module, wait):
    module.nvim.command("Suspectra dance")
    assert 'there is no "dance"' in module.lua("return said")[-1]
    module.lua("vim.lsp.stop_client(vim.lsp.get_active_clients(), true)")
    wait(lambda: module.lua("return #vim.lsp.get_active_clients()") == 0, "the server has stopped")
    module.nvim.command("Suspectra next")
    assert "the server is not running" in module.lua("return said")[-1]
