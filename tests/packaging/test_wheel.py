"""What the wheel must hold beside the modules."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_wheel_says_that_its_packages_are_typed(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert {"suspectra/py.typed", "suspectra_server/py.typed"} <= set(zipfile.ZipFile(wheel).namelist())
