"""The page on writing a technique: its examples run, and print what it says."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from suspectra.techniques.formulas import FORMULAS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "write-your-own-technique.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_examples_run():
    try:
        examples = "\n".join(block for block in blocks("python") if block.startswith(">>>"))
        example = doctest.DocTestParser().get_doctest(examples, {}, "page", None, 0)
        assert doctest.DocTestRunner().run(example) == (0, 12)
    finally:
        FORMULAS.pop("recall-first", None)


@pytest.mark.slow
def test_the_technique_ranks_a_recording(tmp_path):
    project = tmp_path / "ledger"
    shutil.copytree(ROOT / "examples" / "ledger", project, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    (project / "votes.py").write_text(blocks("python")[1], "utf-8")
    commands, printed = re.fullmatch(r"((?:\$ [^\n]*\n)+)(.*)", blocks("console")[0], re.DOTALL).groups()
    record, rank = (line.removeprefix("$ ").split() for line in commands.splitlines())
    assert record[:3] == ["suspectra", "record", "--"]
    assert rank == ["python", "votes.py"]
    recording = [sys.executable, "-m", "suspectra", *record[1:3], sys.executable, "-m", *record[3:]]
    subprocess.run(recording, cwd=project, capture_output=True, check=False)
    ranking = subprocess.run([sys.executable, *rank[1:]], cwd=project, capture_output=True, text=True, check=True)
    assert ranking.stdout == printed
