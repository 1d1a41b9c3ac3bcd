"""A workspace of several folders in a real VS Code workbench."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

TAX = "src/ledger/tax.py"
FIX = ("ends = [*starts[1:], last]", "ends = [*starts[1:], last + date.resolution]")
SIDEBAR = "#workbench\\.parts\\.sidebar"
ROWS = f"{SIDEBAR} .monaco-list-row"


@pytest.fixture
def folders(recorded, unrecorded, make_project, tmp_path) -> tuple[Path, list]:
    """A workspace of three copies of the example project, all of the same files: two recorded, and one not."""
    projects = [make_project(tmp_path / name) for name in ("shop", "bank")]
    for project in projects:
        shutil.copytree(recorded.folder, project.folder)
    projects.append(unrecorded)
    file = tmp_path / "all.code-workspace"
    file.write_text(json.dumps({"folders": [{"path": str(project.folder)} for project in projects]}))
    return file, projects


def of(folder: str, rows: list[str]) -> list[str]:
    return [row for row in rows if f", {folder}/src/" in row]


@pytest.mark.long
def test_each_folder_has_its_own_suspects_and_its_own_run(folders, workbench, wait):
    workspace, (shop, bank, ledger) = folders
    bench = workbench(workspace, {"suspectra.top": 10})
    bench.show("Suspectra")
    wait(bench.suspects, "suspects in the view")
    # below the failing tests of each, distinguished for eye and ear
    failures = [row for row in bench.rows() if row.startswith("Failure, ")]
    assert [row.split(", ")[1] for row in failures] == ["shop", "bank"]
    bench.choose_in_view("Group the Suspects", "Do Not Group")
    wait(lambda: len(bench.suspects()) == 20, "the suspects of two folders")
    rows = bench.suspects()
    assert len(of("shop", rows)) == len(of("bank", rows)) == 10
    assert [row.replace("bank/", "shop/") for row in of("bank", rows)] == of("shop", rows)
    assert bench.status().startswith("Suspectra: 6 failing · ")
    bench.see(SIDEBAR, "All evidence · 6 failed, 160 passed")
    bench.picture("view")

    # both are marked in their own file
    fault = shop.lines(TAX).index(f"        {FIX[0]}") + 1
    for folder in ("shop", "bank"):
        bench.page.locator(f"{ROWS}[aria-label*=', {folder}/{TAX}, line {fault},']").first.click()
        wait(lambda: bench.cursor() == ("tax.py", fault), "the line")
        bench.see(".breadcrumbs-below-tabs .monaco-breadcrumb-item, .monaco-breadcrumb-item", folder)
        bench.see(".squiggly-info")
    bench.choose_in_view("Group the Suspects", "Group by Failing Test")
    wait(
        lambda: [row for row in bench.rows() if row.startswith("test_") and ", bank/tests/" in row],
        "groups of bank",
    )
    assert [row for row in bench.rows() if row.startswith("test_") and ", shop/tests/" in row]
    bench.choose_in_view("Group the Suspects", "Do Not Group")

    # a run is that of one folder: here the one whose file is open comes first
    bank.edit(TAX, *FIX)
    bench.command("Suspectra: Run Tests and Localize")
    wait(
        lambda: [choice.split(",")[0] for choice in bench.choices()] == ["bank", "shop", "ledger", "All Folders"],
        "folders",
    )
    bench.press("Enter")
    wait(lambda: len(of("shop", bench.suspects())) == len(bench.suspects()) == 10, "bank has no suspects any more", 90)

    # and in the Test Explorer
    shop.edit(TAX, *FIX)
    bench.show("Testing")
    for folder, verdict in (("ledger", "Failed"), ("shop", "Passed")):
        row = bench.see(ROWS, folder)
        bench.act(row, "Run Test")
        wait(lambda row=row, verdict=verdict: verdict in (row.get_attribute("aria-label") or ""), verdict, 90)
    assert (ledger.folder / ".suspectra").exists()
    bench.picture("tests")
    bench.show("Suspectra")
    wait(lambda: len(of("ledger", bench.suspects())) == len(bench.suspects()) == 10, "the suspects of ledger alone")
    assert bench.toasts() == []
