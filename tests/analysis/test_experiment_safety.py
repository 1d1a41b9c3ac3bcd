"""What keeps experiments from doing harm."""

import json
import subprocess
import sys
from contextlib import closing
from types import ModuleType

import pytest

from suspectra.base.errors import EvidenceError
from suspectra.cli.main import run
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.recording.warm import WarmTests
from suspectra_recorder.experiments.start_request import StartRequest

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")
HARMFUL = """\
import os

def name(wanted):
    path = os.path.abspath("notes")
    os.makedirs(path, exist_ok=True)
    return wanted + " of notes"
"""
DEEP = f"""\
DEEP = {" + ".join("1" * 900)}

def rate(member):
    return 1 if member else 2
"""


def investigated(folder, capsys, *options):
    words = ["investigate", "--workspace", str(folder), "--format", "json", "--technique", "value-replacement"]
    run([*words, *options, "--", *PYTEST])
    printed = capsys.readouterr()
    return json.loads(printed.out), printed.err


@pytest.mark.slow
def test_a_module_that_may_do_harm_is_altered_and_contained(tmp_path, capsys):
    (tmp_path / "harmful.py").write_text(HARMFUL)
    (tmp_path / "test_harmful.py").write_text(
        "from harmful import name\n\ndef test_it():\n    assert name('list') == 'a'\n"
    )
    words = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST, "-q"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    (tmp_path / "notes").rmdir()
    names = {path.name for path in tmp_path.iterdir()}
    found, _ = investigated(tmp_path, capsys)
    assert {one["file"] for one in found["experiments"]} == {"harmful.py"}
    assert "refused" in {one["outcome"] for one in found["experiments"] if one["line"] == 4}
    # the test itself makes this one
    assert {path.name for path in tmp_path.iterdir()} == {*names, "notes"}


def test_what_would_be_imported_from_the_original_is_imported_from_its_copy(tmp_path, monkeypatch):
    original, copy = tmp_path / "original", tmp_path / "copy"
    for folder in (original / "src", original / "venv", copy / "src"):
        folder.mkdir(parents=True)
    finder = ModuleType("__editable___x_finder")
    finder.MAPPING = {"x": str(original / "src" / "x"), "y": str(original / "src")}
    monkeypatch.setitem(sys.modules, finder.__name__, finder)
    for entry in (tmp_path, original / "venv", original / "src"):
        monkeypatch.syspath_prepend(entry)
    StartRequest(str(copy), (), (), "", original=str(original)).import_from_workspace()
    assert sys.path[:3] == [str(copy / "src"), str(original / "venv"), str(tmp_path)]
    assert finder.MAPPING == {"x": str(original / "src" / "x"), "y": str(copy / "src")}


def test_threads_are_mentioned_only_if_a_test_may_need_them(tmp_path):
    (tmp_path / "test_threads.py").write_text(
        "import threading\n"
        "threading.Thread(target=threading.Event().wait, name='listener', daemon=True).start()\n"
        "def test_fails():\n    assert 1 == 2\n"
        "def test_passes():\n    pass\n"
    )
    failing = [FailingTest(f"test_threads.py::{name}", "test_threads.py") for name in ("test_fails", "test_passes")]
    tests = RepeatedTests(PYTEST, tmp_path, failing)
    try:
        assert tests["test_threads.py::test_fails"].fails
        assert tests.notices == []
        for _ in range(2):
            with pytest.raises(EvidenceError, match="passes when it runs alone"):
                tests["test_threads.py::test_passes"]
        (notice,) = tests.notices
        assert "do not run in them: " in notice.cause
        assert "listener" in notice.cause
    finally:
        tests.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "imported",
    [
        "from rates import rate\n\n",
        "",
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        ("investigate", "--seconds", "3", "--technique", "switching"),
        ("slice", "--failure"),
        ("causes", "--seconds", "3", "test_fees.py::test_fee"),
        ("paths", "--seconds", "3", "test_fees.py::test_fee"),
    ],
)
def test_a_file_that_can_not_be_instrumented_is_named(tmp_path, capsys, imported, command):
    """Also one that only the test imports, in the process that runs it."""
    later = "" if imported else "    from rates import rate\n\n"
    program = f"{imported}def fee(member):\n{later}    price = 20\n    if member:\n        price = 5\n"
    (tmp_path / "rates.py").write_text(DEEP)
    (tmp_path / "fees.py").write_text(f"{program}    return price * rate(member)\n")
    (tmp_path / "test_fees.py").write_text(
        "from fees import fee\n\ndef test_fee():\n    assert fee(True) == 40\n\n"
        "def test_other():\n    assert fee(False) == 40\n"
    )
    words = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST, "-q"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    run([*command, "--workspace", str(tmp_path), "--", *PYTEST])
    warnings = [line for line in capsys.readouterr().err.splitlines() if "rates.py" in line]
    assert len(warnings) == 1
    assert "rates.py: could not be instrumented" in warnings[0]
    assert "nothing in it is altered or traced" in warnings[0]


@pytest.mark.slow
def test_the_coverage_data_of_the_last_run_stays(tmp_path):
    """Options in the ini file start pytest-cov, whose first act is to delete them."""
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --cov=fees\n")
    (tmp_path / "fees.py").write_text("def fee(member):\n    return 5 if member else 20\n")
    (tmp_path / "test_fees.py").write_text(
        "from fees import fee\n\ndef test_fee():\n    assert fee(True) == 20\n\n"
        "def test_b():\n    assert fee(False) == 20\n"
    )
    words = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST, "-q"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    data = (tmp_path / ".coverage").read_bytes()
    assert run(["slice", "--failure", "--workspace", str(tmp_path), "--", *PYTEST]) == 0
    with closing(WarmTests([*PYTEST, "-p", "no:xdist"], str(tmp_path))) as waiting:
        waiting.wait()
        assert waiting.tests == 2
    assert (tmp_path / ".coverage").read_bytes() == data
