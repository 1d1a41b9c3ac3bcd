import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures"


def run_pytest(folder: Path, *arguments: str, python: str = sys.executable) -> subprocess.CompletedProcess:
    """Run pytest as a user would, free of what this run of pytest put into the environment."""
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_", "COVERAGE_", "SUSPECTRA"))
    }
    return subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def measured_shops(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes the shop with `.coverage` and `results.xml`; one run of its tests for each set of arguments."""
    made: dict[tuple[str, ...], Path] = {}

    def make(*arguments: str) -> Path:
        if arguments not in made:
            folder = tmp_path_factory.mktemp("shop") / "shop"
            shutil.copytree(FIXTURES / "shop", folder)
            done = run_pytest(folder, "--cov=src", "--cov=tests", "--junit-xml=results.xml", *arguments)
            assert (folder / ".coverage").exists(), done.stdout + done.stderr
            made[arguments] = folder
        return made[arguments]

    return make


@pytest.fixture
def shop(measured_shops: Callable[..., Path], tmp_path: Path) -> Path:
    """A copy of the shop after a run with branches and contexts, to be damaged at will."""
    measured, folder = measured_shops("--cov-branch", "--cov-context=test"), tmp_path / "shop"
    shutil.copytree(measured, folder)
    with closing(sqlite3.connect(folder / ".coverage")) as db, db:
        db.execute("update file set path = replace(path, ?, ?)", (str(measured), str(folder)))
    return folder
