"""A bug is found and fixed in a real Emacs with eglot, set up as docs/editors/emacs.md says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

LIBRARY = Path(__file__).parents[2] / "editors" / "emacs"
TAX = "src/ledger/tax.py"


def test_a_bug_is_found_and_fixed(unrecorded, recorded, snippet, tmp_path):
    """The whole story: run the tests, see, step, ask, fix, run again."""
    subprocess.run(["git", "init", "--quiet"], cwd=unrecorded.folder, check=True)  # how Emacs knows a project's root
    suspects = recorded.rank()["suspects"]
    marked = sorted(s["line"] for s in suspects if s["file"] == TAX)
    library = snippet("emacs.md", "(require 'suspectra)").replace("/path/to/suspectra/editors/emacs", str(LIBRARY))
    setup = tmp_path / "setup.el"
    setup.write_text(snippet("emacs.md", "eglot-server-programs") + "(require 'eglot)\n" + library)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "E2E_FILE": str(unrecorded.folder / TAX),
        "E2E_SETUP": str(setup),
        "E2E_MARKED": str(len(marked)),
        "E2E_FAULT": "ends = [*starts[1:], last]",
        "E2E_FIXED": "ends = [*starts[1:], last + date.resolution]",
        "E2E_RESULT": str(tmp_path / "seen.json"),
    }
    script = Path(__file__).with_name("eglot.el")
    done = subprocess.run(
        ["emacs", "--batch", "-l", script], env=environment, cwd=unrecorded.folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr

    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["lines"] == marked
    assert "Suspect 1 of 369" in seen["project"]
    assert "All evidence" in seen["explained"]
    places = [[Path(s["file"]).name, s["line"]] for s in suspects]
    assert seen["first"] == seen["back"] == seen["retraced"] == seen["chosen"] == places[0]
    assert seen["second"] == places[1]
    file, line = seen["jumped"]
    assert f"/{file}:{line}  " in seen["moves"][0]
    assert "%" in seen["moves"][0]
    listed = [f"  {s['file']}:{s['line']}  " for s in suspects]
    assert len(seen["suspects"]) == len(listed)
    assert all(place in text for place, text in zip(listed, seen["suspects"], strict=True))
    assert "with wrong values and with checks skipped" in seen["question"]
    assert "tests pass" in seen["investigated"] or "repairs" in seen["investigated"]
    assert "The cause is probably " in seen["answer"]
    assert seen["cause"].startswith("From the probable cause to the failure of tests/")
    assert "  = " in seen["cause"]
    file, line = seen["walked"]
    assert f"/{file}:{line}: " in seen["cause"]
    assert seen["led"].startswith("What led to src/ledger/tax.py:")
    assert seen["dimmed"] > 0
    assert "No tests are running" in done.stderr  # nothing was left to stop
    line, tested = seen["tested"]
    assert f"tax.py:{line}: " in tested or f"on line {line} of" in tested


def test_the_library_compiles_without_a_warning(tmp_path):
    compile_file = f"""(progn
        (package-initialize)
        (setq byte-compile-error-on-warn t
              byte-compile-dest-file-function (lambda (_) "{tmp_path}/suspectra.elc"))
        (unless (byte-compile-file "{LIBRARY}/suspectra.el") (kill-emacs 1)))"""
    done = subprocess.run(["emacs", "--batch", "--eval", compile_file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
