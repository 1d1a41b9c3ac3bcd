"""What real editors say first is what tests/fixtures/clients contains, which the server's tests start from."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

TAX = "src/ledger/tax.py"
FIXTURES = Path(__file__).parents[1] / "fixtures" / "clients"
PRODUCT = Path(__file__).parents[2] / ".e2e/code-server/node_modules/code-server/lib/vscode/package.json"
OVERHEAR = Path(__file__).with_name("overhear.py")
OF_ONE_SESSION = ("processId", "rootPath", "rootUri", "workspaceFolders", "workDoneToken")


@pytest.fixture
def check(request, tmp_path, wait):
    """Compare the first message of an editor with its fixture, which `--update-clients` writes."""

    def check(editor: str, version: str) -> None:
        message = wait(lambda: heard(tmp_path / "message.json"), f"{editor} sends a message")
        assert message["method"] == "initialize"
        params = {name: value for name, value in message["params"].items() if name not in OF_ONE_SESSION}
        fixture = FIXTURES / f"{editor}-{version}.json"
        if request.config.getoption("--update-clients"):
            fixture.write_text(json.dumps(params, indent=1, sort_keys=True) + "\n")
        if fixture.exists():  # of other versions it is enough that they speak
            assert json.loads(fixture.read_text()) == params

    return check


def heard(file: Path) -> dict | None:
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None


@pytest.fixture
def path(tmp_path):
    """A PATH with a `suspectra` that keeps what the editor says."""
    folder = tmp_path / "bin"
    folder.mkdir()
    server = shlex.join([sys.executable, str(OVERHEAR), str(tmp_path / "message.json"), "-m", "suspectra_server"])
    (folder / "suspectra").write_text(f"#!/bin/sh\nexec {server}\n")
    (folder / "suspectra").chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_neovim(ledger, neovim, path, check):
    neovim.lua("vim.env.PATH = ...", path)
    neovim.start(ledger, TAX)
    version = neovim.lua("return vim.version()")
    check("neovim", f"{version['major']}.{version['minor']}.{version['patch']}")


def test_emacs(ledger, snippet, path, check, tmp_path):
    script = tmp_path / "say.el"
    script.write_text(
        "(package-initialize)\n(setq eglot-sync-connect 120)\n"
        + snippet("emacs.md", "eglot-server-programs")
        + f'(find-file "{ledger.folder / TAX}")\n(eglot-ensure)\n'
        "(unless (eglot-current-server) (call-interactively #'eglot))\n"
        "(eglot-shutdown (eglot-current-server))\n"  # Emacs ends with an error if it is asked something meanwhile
        "(princ emacs-version)"
    )
    emacs = ["emacs", "--batch", "-l", script]
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(emacs, env=environment, cwd=ledger.folder, stdout=subprocess.PIPE, text=True, check=True)
    check("emacs", done.stdout)


def test_vscode(ledger, workbench, check, tmp_path):
    workbench(ledger.folder, interpreter=[sys.executable, str(OVERHEAR), str(tmp_path / "message.json")])
    check("vscode", json.loads(PRODUCT.read_text())["version"])
