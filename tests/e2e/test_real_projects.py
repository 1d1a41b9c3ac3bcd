"""Projects from PyPI with a fault planted in them: recorded, ranked, and marked the same in a real Neovim.

`pytest tests/e2e --all-projects` runs all of projects.toml; without it, those that are marked for CI.
"""

from __future__ import annotations

from pathlib import Path

import pytest

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib  # pytest brings it

PROJECTS = tomllib.loads((Path(__file__).parent / "projects.toml").read_text())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    everything = metafunc.config.getoption("--all-projects")
    metafunc.parametrize("name", [name for name, project in PROJECTS.items() if everything or project.get("ci")])


@pytest.mark.long
def test_a_planted_fault_is_ranked_and_marked(name, unpacked, make_project, neovim, monkeypatch):
    plan = PROJECTS[name]
    sources = unpacked(plan["requirement"])
    monkeypatch.setenv("PYTHONPATH", str(sources))  # the sources, not what may be installed
    project = make_project(sources, *plan["tests"])
    assert project.record().returncode == 0, "the tests of this project pass before the fault is planted"
    project.edit(plan["file"], plan["line"], plan["fault"])
    fault = next(i for i, line in enumerate(project.lines(plan["file"]), 1) if plan["fault"] in line)

    assert project.record().returncode == 1

    report = project.rank()
    place = next(s for s in report["suspects"] if s["file"] == plan["file"] and s["line"] <= fault <= s["end_line"])
    print(
        f"{plan['requirement']}: {report['failed']} failed, {report['passed']} passed,"
        f" {report['elements']} statements; the fault is ranked {place['rank_best']} to {place['rank_worst']}"
    )
    neovim.show(project, plan["file"])
