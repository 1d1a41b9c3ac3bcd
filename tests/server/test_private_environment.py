"""What the private environment of the VS Code extension leaves out is never imported by the server."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MADE_BY = ROOT / "vscode-extension" / "src" / "environment" / "privateEnvironment.ts"
STUDIES = ROOT / "analysis" / "suspectra" / "evaluation"  # of which the server asks nothing


def test_what_is_left_out_of_scipy_is_not_imported():
    left_out = re.search(r'parts = """([^"]*)"""', MADE_BY.read_text())[1].split()
    start = r"^ *(?:from scipy import [^#\n]*|from scipy\.|import scipy\.)"
    imported = re.compile(rf"{start}\b(?:{'|'.join(left_out)})\b", re.MULTILINE)
    assert imported.search("from scipy import sparse, stats")
    files = [file for folder in ("analysis", "server") for file in (ROOT / folder).rglob("*.py")]
    assert len(files) > 300
    found = [file for file in files if imported.search(file.read_text("utf-8"))]
    assert {file.parent for file in found} == {STUDIES}
