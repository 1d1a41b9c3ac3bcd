"""A project in C in a real VS Code that has only the extension: from configuring it to the reason of a failure."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SIDEBAR = "#workbench\\.parts\\.sidebar"
EXAMPLE = Path(__file__).parents[2] / "examples" / "reckoner"
FAULTY = "src/evaluate.c"


@pytest.fixture
def unbuilt(tmp_path, make_project):
    """The example in C, as a commit whose last change is its fault."""
    project = make_project(tmp_path / "reckoner")
    shutil.copytree(EXAMPLE, project.folder, ignore=shutil.ignore_patterns("build", ".suspectra"))

    def git(*words: str) -> None:
        who = ["-c", "user.name=Ann Lee", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *words], cwd=project.folder, check=True, capture_output=True)

    wrong, right = "double result = 0; /* fault", "double result = numbers[0]; /* fault"
    project.edit(FAULTY, wrong, right)
    (project.folder / ".gitignore").write_text("build*\n.*\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "Reckon")
    project.edit(FAULTY, right, wrong)
    return project


@pytest.mark.long
def test_from_the_first_view_to_why_it_fails(online, unbuilt, bare, workbench, wait):
    bench = workbench(unbuilt.folder, interpreter=[bare])
    bench.show("Suspectra")
    bench.see(f"{SIDEBAR} .monaco-button", "Configure and Build With Coverage", 240).click()
    wait(lambda: any(unbuilt.folder.glob("build*/CTestTestfile.cmake")), "it is configured")
    bench.see(f"{SIDEBAR} .monaco-button", "Run Tests and Localize", 240)
    wait(lambda: any(unbuilt.folder.glob("build*/**/*.gcno")), "it is built with coverage")
    bench.picture("built")

    bench.command("View: Hide Panel")
    bench.see(f"{SIDEBAR} .monaco-button", "Run Tests and Localize").click()
    wait(bench.suspects, "suspects in the view", 240)
    wait(lambda: "2 failing · " in bench.status(), "the run is over", 240)
    bench.picture("suspects")
    assert any(FAULTY in row for row in bench.suspects())

    bench.command("Suspectra: Why Does It Fail?")  # nobody is asked: tests of C run as they are
    bench.explanation().locator("body", has_text="Your only change since the last commit").wait_for(timeout=300_000)
    wait(lambda: "failing · " in bench.status(), "nothing runs any more", 300)
    bench.explanation().locator("body", has_text="This is certain").wait_for()
    bench.picture("why")
