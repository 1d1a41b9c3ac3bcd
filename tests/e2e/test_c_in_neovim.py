"""A program in C, from its tests under CTest to the marks in a real Neovim without a screen."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

FAULTY = "src/evaluate.c"
FIX = ("double result = 0; /* fault", "double result = numbers[0]; /* no fault")


@pytest.fixture
def reckoner(build_reckoner, make_project, tmp_path: Path):
    """The example, built and recorded as its README says."""
    project = make_project(build_reckoner(tmp_path / "reckoner"))
    done = project.suspectra("record-c", "--ctest", "build")
    assert done.returncode == 1, done.stderr
    assert "recorded 40 tests, 2 failed" in done.stderr
    return project


def test_marks_explains_and_follows_a_new_run_until_the_fault_is_gone(reckoner, neovim, wait):
    ranked = neovim.show(reckoner, FAULTY)
    fault = next(n for n, text in enumerate(reckoner.lines(FAULTY), 1) if FIX[0] in text)
    assert (FAULTY, fault) in ranked

    file, line = ranked[0]
    document = {"textDocument": {"uri": reckoner.uri(file)}}
    hover = neovim.request("textDocument/hover", {**document, "position": {"line": line - 1, "character": 4}})
    assert "largest_below_zero" in hover["contents"]["value"]
    lenses = neovim.request("textDocument/codeLens", document)
    assert any("largest(" in reckoner.lines(file)[lens["range"]["start"]["line"]] for lens in lenses)

    # control flow tells the fault from what it is tied with
    assert neovim.command("suspectra.server.selectTechnique", "sober") == "sober"
    wait(lambda: {found["code"] for found in neovim.diagnostics()} == {"sober"}, "the marks are SOBER's")
    csv = reckoner.suspectra("rank", "--technique", "sober", "--top", "1", "--format", "csv").stdout
    decision = next(n for n, text in enumerate(reckoner.lines(FAULTY), 1) if "numbers[i] > result" in text)
    assert neovim.marked(reckoner)[0] == (FAULTY, decision)
    assert f"{FAULTY},{decision}" in csv

    reckoner.edit(FAULTY, *FIX)
    subprocess.run(["cmake", "--build", "build"], cwd=reckoner.folder, check=True, capture_output=True)
    assert reckoner.suspectra("record-c", "--ctest", "build").returncode == 0
    wait(lambda: not neovim.diagnostics(), "no marks once all tests pass")
