"""The pages on Neovim and Emacs name each command that is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def tables(page: str) -> str:
    text = (ROOT / "docs/guide/editors" / page).read_text("utf-8")
    return "\n".join(line for line in text.splitlines() if line.startswith("|"))


def test_the_page_on_emacs_has_all_keys():
    library = (ROOT / "editors/emacs/suspectra.el").read_text("utf-8")
    keys = set(re.findall(r'\(define-key map "(\S+)"', library))
    assert len(keys) > 20
    first_columns = re.findall(r"^\|([^|]+)\|", tables("emacs.md"), re.MULTILINE)
    assert keys <= set(re.findall(r"`(\S+)`", " ".join(first_columns)))


def test_the_page_on_neovim_has_all_verbs():
    (listed,) = re.findall(
        r"local verbs = \{(.*?)\}", (ROOT / "editors/neovim/lua/suspectra/init.lua").read_text("utf-8"), re.DOTALL
    )
    verbs = set(re.findall(r"'(\w+)'", listed))
    assert len(verbs) > 20
    assert verbs <= set(re.findall(r"`(\w+)`", tables("neovim.md")))
