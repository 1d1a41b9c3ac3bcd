"""The two wheels: what they contain, and that each works where it is installed alone."""

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
APP = "def double(n):\n    return n + 2\n"
TESTS = """
import sys
from app import double
def test_nothing_else_is_there():
    assert not {name.partition(".")[0] for name in sys.modules} & {"numpy", "scipy", "pygls", "click", "suspectra"}
def test_it_fails():
    assert double(3) == 6
"""


def build(folder, out):
    """Build the wheel of the project in a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheels")
    build(ROOT, out)
    build(ROOT / "analysis", out)
    return {path.name.partition("-")[0]: path for path in out.glob("*.whl")}


def names(wheel):
    return set(zipfile.ZipFile(wheel).namelist())


def metadata(wheel):
    (name,) = (name for name in names(wheel) if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(zipfile.ZipFile(wheel).read(name).decode())


def test_each_wheel_holds_its_own_packages_and_says_that_they_are_typed(wheels):
    tops = {name: {entry.partition("/")[0] for entry in names(wheel)} for name, wheel in wheels.items()}
    version = metadata(wheels["suspectra"])["Version"]
    assert tops["suspectra"] == {"suspectra", "suspectra_server", "suspectra_mcp", f"suspectra-{version}.dist-info"}
    assert tops["pytest_suspectra"] == {"suspectra_recorder", f"pytest_suspectra-{version}.dist-info"}
    assert {"suspectra/py.typed", "suspectra_server/py.typed", "suspectra_mcp/py.typed"} <= names(wheels["suspectra"])
    assert "suspectra_recorder/py.typed" in names(wheels["pytest_suspectra"])


def test_the_recorder_needs_nothing_and_the_rest_needs_its_version(wheels):
    recorder, rest = metadata(wheels["pytest_suspectra"]), metadata(wheels["suspectra"])
    assert recorder.get_all("Requires-Dist") is None
    assert f"pytest-suspectra=={recorder['Version']}" in rest.get_all("Requires-Dist")
    assert recorder["Version"] == rest["Version"]


def test_each_wheel_has_the_licence(wheels):
    licence = (ROOT / "LICENSE").read_text()
    for wheel in wheels.values():
        (name,) = (name for name in names(wheel) if name.endswith(".dist-info/licenses/LICENSE"))
        assert zipfile.ZipFile(wheel).read(name).decode() == licence


@pytest.mark.slow
def test_the_plugin_alone_records_what_the_ini_file_asks_for(wheels, tmp_path):
    """An environment with the plugin and pytest; what it recorded is read by this one."""
    packages = tmp_path / "packages"
    zipfile.ZipFile(wheels["pytest_suspectra"]).extractall(packages)
    work = tmp_path / "work"
    work.mkdir()
    (work / "pytest.ini").write_text("[pytest]\nsuspectra = true\n")
    (work / "app.py").write_text(APP)
    (work / "test_alone.py").write_text(TESTS)
    # without site-packages there is nothing but the standard library, pytest and what it stands on
    site = [str(Path(pytest.__file__).parents[1])]
    needed = ["py.py", "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli"]
    for name in [*needed, "pytest-*.dist-info"]:
        for found in Path(site[0]).glob(name):
            (packages / found.name).symlink_to(found)
    code = f"import sys; sys.path.insert(0, {str(packages)!r}); import pytest; sys.exit(pytest.main(['-q']))"
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=work, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    ranked = [sys.executable, "-m", "suspectra", "rank", "--format", "csv"]
    done = subprocess.run(ranked, cwd=work, capture_output=True, text=True)
    assert "app.py,2" in done.stdout, done.stdout + done.stderr
