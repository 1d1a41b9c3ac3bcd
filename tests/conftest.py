"""What several folders of tests share: random choices that can be repeated, and programs in C, built on the spot."""

import compileall
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]
OWN_PACKAGES = [ROOT / "analysis", ROOT / "server"]

# a shell that starts the tests in the background has them ignore SIGINT, and whatever they start inherits that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# what the tests start runs as a user would run it: it is not part of this run of pytest, of git or of a terminal
OF_THIS_RUN = (
    "PYTEST",
    "HYPOTHESIS",
    "COV",
    "SUSPECTRA",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "GIT_",
    "COLUMNS",
    "NO_COLOR",
    "FORCE_COLOR",
)
for variable in [name for name in os.environ if name.startswith(OF_THIS_RUN)]:
    del os.environ[variable]


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup():
    os.environ.pop("PYTEST_CURRENT_TEST", None)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call():
    os.environ.pop("PYTEST_CURRENT_TEST", None)


# No test may fail because the machine is busy, so nothing of hypothesis looks at the clock. `make test` tries the same
# examples every time; `make fuzz` takes the second profile with a seed of its own.
_UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("repeatable", derandomize=True, **_UNTIMED)
settings.register_profile("random", derandomize=False, print_blob=True, **_UNTIMED)
settings.load_profile("repeatable")


def pytest_addoption(parser):
    parser.addoption("--first-examples", action="store_true", help="of each slow test only its first example")


def pytest_collection_modifyitems(config, items):
    for item in items:
        if "seed" in getattr(item, "fixturenames", ()):
            item.add_marker("random_seed")
    if config.getoption("--first-examples"):
        firsts = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
        later = {one for one in items if "slow" in one.keywords and one is not firsts[one.nodeid.partition("[")[0]]}
        config.hook.pytest_deselected(items=list(later))
        items[:] = [one for one in items if one not in later]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Leave to GitHub what a landing on a slow machine has no time for."""
    if time.time() > float(os.environ.get("TESTS_END", "inf")):
        pytest.skip("the time of this landing is over")


def pytest_collection_finish():
    """What tests write and import themselves is not compiled to files, for the reason `own_surroundings` gives."""
    sys.dont_write_bytecode = True


@pytest.fixture(scope="session", autouse=True)
def own_surroundings(tmp_path_factory):
    """What the processes that the tests start find in their environment.

    Recorders keep their cache in a folder of these tests, not of whoever runs them. Runs of pytest do not load plugins
    that only cost each of them half a second of processor time. Our own packages are compiled once, not by each
    process. Sources of the tests are never compiled to files: Python takes a file that is written twice within a
    second, with the same size, for the same one.
    """
    unwanted = "pytest-lsp", "hypothesispytest", "anyio", "platformdirs", "asyncio", "rerunfailures"
    for package in OWN_PACKAGES:
        compileall.compile_dir(package, quiet=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("states")))
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        patch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{plugin}" for plugin in unwanted))
        yield


@pytest.fixture(scope="module")
def runs_every_kind_of_test(own_surroundings):
    """Runs of pytest in this module can await, and repeat what fails."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_ADDOPTS", re.sub("-p no:(asyncio|rerunfailures)", "", os.environ["PYTEST_ADDOPTS"]))
        yield


@pytest.fixture(scope="session")
def until():
    """Poll what nothing announces: that another process began or ended, or that a file was written."""

    def poll(condition, what="it did not happen", timeout_s=120):
        end = time.monotonic() + timeout_s
        while not (result := condition()):
            assert time.monotonic() < end, what
            time.sleep(0.02)
        return result

    return poll


LEDGER_FAULTS = {
    "statements.py": ("    if first_month == 10:\n", "    if first_month == 7:\n"),
    "discounts.py": ("if quantity < self.at_least", "if quantity <= self.at_least"),
}  # file: the right text and the wrong one; the third fault is the ledger's own, in tax.py


@pytest.fixture(scope="session")
def ledger_faults():
    """The faults that are put into the ledger beside its own."""
    return LEDGER_FAULTS


@pytest.fixture(scope="session")
def faulty_ledger(tmp_path_factory):
    """The ledger with three faults at once, recorded; to be copied, not changed."""
    project = tmp_path_factory.mktemp("recorded") / "ledger"
    shutil.copytree(ROOT / "examples" / "ledger", project, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    for name, (right, wrong) in LEDGER_FAULTS.items():
        path = project / "src" / "ledger" / name
        text = path.read_text("utf-8")
        assert right in text
        path.write_text(text.replace(right, wrong), "utf-8")
    (project / "tests" / "test_nothing.py").write_text("def test_without_coverage():\n    raise OSError('no disk')\n")
    command = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return project


@pytest.fixture
def seed(request) -> int:
    """What random programs and edits start from: 0, or the argument of ``--hypothesis-seed``."""
    return int(request.config.getoption("--hypothesis-seed") or 0)


@pytest.fixture
def thorough(seed) -> bool:
    """Whether examples are random, so that every run of more of them may find more: in ``make fuzz``."""
    return bool(seed)


C_SOURCES = Path(__file__).parent / "fixtures" / "c"


def _tool(name: str, package: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.fail(f"{name} is missing: apt-get install {package}")
    return path


@pytest.fixture(scope="session")
def tool():
    """Finds a program that a test can't do without, by its name and the package it is in."""
    return _tool


@dataclass
class CProgram:
    """A program built with --coverage, in a workspace of its own."""

    workspace: Path

    @property
    def program(self) -> Path:
        return self.workspace / "build" / "program"

    def run(self, *arguments: str, prefix: Path | None = None) -> subprocess.CompletedProcess:
        environment = dict(os.environ)
        if prefix is not None:
            environment["GCOV_PREFIX"] = str(prefix)
        return subprocess.run([self.program, *arguments], env=environment, capture_output=True, text=True, timeout=60)

    def profile(self, name: str) -> Path:
        """Where a run without a prefix leaves the profile of a source."""
        return self.workspace / "build" / f"{name}.gcda"

    def notes(self, name: str) -> Path:
        return self.workspace / "build" / f"{name}.gcno"

    def gcov(self, profile: Path) -> Counter:
        """gcov's own count of every line, by (file, line); instances of a template add up."""
        done = subprocess.run(
            [_tool("gcov", "gcc"), "--json-format", "-b", "-t", str(profile)],
            cwd=self.workspace,
            capture_output=True,
            text=True,
            check=True,
        )
        counts = Counter()
        for file in json.loads(done.stdout)["files"]:
            for line in file["lines"]:
                counts[file["file"], line["line_number"]] += line["count"]
        return counts


@pytest.fixture
def build_c(tmp_path_factory):
    """Builds C sources: names of tests/fixtures/c, or texts by name."""
    gcc = _tool("gcc", "gcc")

    def build(sources=("flow.c", "other.c"), flags=("-O0", "-g"), link=(), workspace=None) -> CProgram:
        workspace = workspace or tmp_path_factory.mktemp("program")
        folder = workspace / "build"
        folder.mkdir(exist_ok=True)
        texts = (
            sources if isinstance(sources, dict) else {n: (C_SOURCES / n).read_text() for n in (*sources, "shared.h")}
        )
        for name, text in texts.items():
            if not (workspace / name).exists() or (workspace / name).read_text() != text:
                (workspace / name).write_text(text)
        objects = []
        for name in texts:
            if name.endswith(".c"):
                objects.append(f"build/{name[:-2]}.o")
                compile_one = [gcc, "--coverage", "-w", *flags, "-c", name, "-o", objects[-1]]
                subprocess.run(compile_one, cwd=workspace, check=True)
        link_all = [gcc, "--coverage", *objects, "-o", "build/program", "-lm", *link]
        subprocess.run(link_all, cwd=workspace, check=True)
        return CProgram(workspace)

    return build


EXPORTING = ("-rdynamic", "-Wl,-u,__gcov_dump")


@pytest.fixture
def exporting_c(build_c):
    """The fixture program, linked so that the crash handler finds __gcov_dump."""
    return build_c(link=EXPORTING)


@pytest.fixture(scope="session")
def build_reckoner():
    """Copies the example in C into a folder and builds it there."""
    example = Path(__file__).parents[1] / "examples" / "reckoner"

    def build(folder: Path) -> Path:
        shutil.copytree(example, folder, ignore=shutil.ignore_patterns("build", ".suspectra"))
        cmake = _tool("cmake", "cmake")
        subprocess.run([cmake, "-S", ".", "-B", "build"], cwd=folder, check=True, capture_output=True)
        subprocess.run([cmake, "--build", "build", "-j2"], cwd=folder, check=True, capture_output=True)
        return folder

    return build
