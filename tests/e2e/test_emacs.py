"""The main job in a real Emacs with eglot, set up as docs/editors/emacs.md says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TAX = "src/ledger/tax.py"


def test_marks_explains_steps_and_follows(ledger, snippet, tmp_path):
    subprocess.run(["git", "init", "--quiet"], cwd=ledger.folder, check=True)  # how Emacs knows a project's root
    suspects = ledger.rank()["suspects"]
    snippets = tmp_path / "snippets.el"
    snippets.write_text(snippet("emacs.md", "eglot-server-programs") + snippet("emacs.md", "defun suspectra-step"))
    fix = f"sed -i 's/starts\\[1:\\], last\\]/starts[1:], last + date.resolution]/' {TAX}"
    scripts = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "E2E_FILE": str(ledger.folder / TAX),
        "E2E_SNIPPETS": str(snippets),
        "E2E_RECORD": f"cd {ledger.folder} && {fix} && suspectra record -- pytest -q",
        "E2E_RESULT": str(tmp_path / "seen.json"),
    }
    script = Path(__file__).with_name("eglot.el")
    done = subprocess.run(
        ["emacs", "--batch", "-l", script], env=environment, cwd=ledger.folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr

    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["lines"] == sorted(s["line"] for s in suspects if s["file"] == TAX)
    assert "Ochiai" in seen["hover"]
    places = [[Path(s["file"]).name, s["line"]] for s in suspects]
    assert seen["first"] == places[0]
    assert seen["second"] == places[1]
    assert seen["back"] == places[0]
    file, line = seen["jumped"]
    assert f"/{file}:{line} · " in seen["choices"][0]
    assert seen["retraced"] == places[0]
