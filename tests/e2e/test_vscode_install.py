"""How the extension gets its server in a real VS Code workbench, and what it says where it can't."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

SIDEBAR = "#workbench\\.parts\\.sidebar"
PANEL = "#workbench\\.parts\\.panel"
FIX = ("ends = [*starts[1:], last]", "ends = [*starts[1:], last + date.resolution]")


def script(path: Path, *lines: str) -> str:
    """A program that stands for an interpreter."""
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return str(path)


# What follows must come before `workbench` in the arguments of a test: that hands its environment on.


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No index answers, and nothing was downloaded before."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")


@pytest.fixture
def own_environment(ledger) -> None:
    """The project has an environment of its own, with pytest and without Suspectra."""
    environment = ledger.folder / ".venv"
    venv.create(environment, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "pytest"], check=True, timeout=200)


def environments(bench) -> list[Path]:
    """The private environments that there are, half-made ones too."""
    return sorted((bench.home / "data" / "User" / "globalStorage" / "suspectra.suspectra").glob("*"))


@pytest.mark.long
def test_installs_itself_where_no_environment_has_it(
    online, own_environment, ledger, extensions, workbench, wait, bare
):
    """The project's tests still run with the project's own Python, which knows nothing of Suspectra."""
    bench = workbench(ledger.folder, interpreter=[bare])
    bench.show("Suspectra")
    bench.see(SIDEBAR, "in an environment of its own")
    bench.picture("installing")
    # what is asked for meanwhile waits for the server
    bench.command("Suspectra: Run Tests and Localize")
    assert bench.toasts() == []
    recording = next((ledger.folder / ".suspectra" / "recording").glob("*.log"))
    before = recording.stat().st_ino, recording.stat().st_size
    wait(bench.suspects, "suspects in the view", 240)
    logs = lambda: {(log.stat().st_ino, log.stat().st_size) for log in recording.parent.glob("*.log")}  # noqa: E731
    wait(lambda: logs() != {before}, "the tests ran")
    wait(lambda: "failing" in bench.status(), "the run is over")
    (environment,) = environments(bench)
    assert environment.name.startswith("server-")
    assert str(environment) in Path(f"/proc/{bench.server()}/cmdline").read_text()

    ledger.edit("src/ledger/tax.py", *FIX)
    bench.command("Suspectra: Run Tests and Localize")
    wait(lambda: "No failing test" in bench.status(), "the tests ran")

    before = logs()
    bench.command("Suspectra: Record in a Terminal")
    wait(lambda: logs() != before, "the command in the terminal records the tests")

    # the second start finds it there
    bench.command("Suspectra: Restart Server")
    wait(lambda: "No failing test" in bench.status(), "the server is back")
    assert environments(bench) == [environment]
    assert bench.toasts() == []

    # it is small, and what VS Code runs after uninstalling removes it
    size = sum(file.stat().st_size for file in environment.rglob("*") if file.is_file() and not file.is_symlink())
    assert size < 180e6, size
    assert not (environment / "bin" / "gcovr").exists()
    (extension,) = extensions.glob("suspectra.suspectra-*")
    hook = json.loads((extension / "package.json").read_text())["scripts"]["vscode:uninstall"]
    subprocess.run(shlex.split(hook), cwd=extension, check=True)
    assert environment not in environments(bench)  # this VS Code still runs, and may have begun to make another


def test_says_what_to_do_offline_and_with_a_wrong_python_and_takes_another_at_once(
    offline, ledger, workbench, wait, tmp_path, bare
):
    bench = workbench(ledger.folder, interpreter=[bare])
    bench.show("Suspectra")
    bench.see(f"{SIDEBAR} .monaco-button", "Show What Was Tried").click()
    bench.see(PANEL, "could not be downloaded from the package index")
    bench.see(PANEL, "Go online")
    assert bench.page.locator(PANEL, has_text="does not start").count() == 0
    assert environments(bench) == []  # nothing half-made
    assert bench.toasts() == []
    bench.picture("view")

    settings = bench.home / "data" / "Machine" / "settings.json"
    settings.write_text(json.dumps({"suspectra.interpreter": [str(tmp_path / "no" / "python")]}))
    bench.see(PANEL, "does not start")
    bench.see(PANEL, "Install Python 3.10 or newer")
    bench.see(SIDEBAR, "needs Python 3.10 or newer")
    bench.see(f"{SIDEBAR} .monaco-button", "Show What Was Tried")
    settings.write_text(json.dumps({"suspectra.interpreter": [script(tmp_path / "python", "echo '3.8.18 '")]}))
    bench.see(PANEL, "is Python 3.8.18; Suspectra needs 3.10 or newer")
    assert environments(bench) == []
    settings.write_text(json.dumps({"suspectra.interpreter": [sys.executable]}))
    wait(bench.suspects, "suspects in the view")
    assert environments(bench) == []
    assert bench.toasts() == []


def test_settings_and_evidence_that_are_not_right_are_named_with_a_cure(unrecorded, workbench, wait, tmp_path):
    """Settings that can't be used, and coverage data of another checkout: both are reported."""
    other = tmp_path / "elsewhere" / "ledger"
    shutil.copytree(unrecorded.folder, other)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["--cov=src", "--cov-context=test", "--cov-report=", "--junit-xml=results.xml"]
    assert subprocess.run(command, cwd=other, capture_output=True, timeout=200).returncode == 1
    for name in (".coverage", "results.xml"):
        shutil.move(other / name, unrecorded.folder / name)
    shutil.rmtree(other)  # it is on another machine
    bench = workbench(
        unrecorded.folder,
        {
            "suspectra.top": "many",
            "suspectra.technique": "magic",
            "suspectra.coverage": ".coverage",
            "suspectra.junit": "results.xml",
        },
    )
    bench.page.set_viewport_size({"width": 1800, "height": 1000})
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")
    said = "The setting suspectra.technique is not usable"
    bench.command("Suspectra: Show Output", lambda: bench.shows(PANEL, said))
    bench.see(PANEL, "The setting suspectra.top is not usable")
    bench.see(PANEL, "it was recorded in another folder")
    bench.see(PANEL, "Fix:")
    bench.picture("output")
    assert bench.toasts() == []


def test_the_extension_is_small(vsix):
    """Without the wheel that it carries."""
    with zipfile.ZipFile(vsix) as archive:
        sizes = {entry.filename: entry.compress_size for entry in archive.infolist()}
    assert sum(size for name, size in sizes.items() if not name.endswith(".whl")) < 1_000_000
    assert [name for name in sizes if name.endswith(".map")] == []
