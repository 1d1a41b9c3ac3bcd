"""Runs whose process is killed or ends itself: what is said then, and what the evidence says later."""

import io
import json
import re
import sys

import pytest

from suspectra.cli.main import run as suspectra
from suspectra.evidence.recording import RecordingSource
from suspectra.recording.launch import run

GOOD = "def f(x):\n    if x:\n        return 1\n    return 2\n"
TESTS = "from good import f\n\ndef test_one():\n    assert f(1) == 1\n\ndef test_two():\n    assert f(0) == 1\n"
EXIT, SEGFAULT, KILL = (
    "import os; os._exit(3)",
    "import ctypes; ctypes.string_at(0)",
    "import os; os.kill(os.getpid(), 9)",
)
ENDINGS = {
    EXIT: (3, "its process ended early, with status 3"),
    SEGFAULT: (139, "it was killed by SIGSEGV"),
    KILL: (137, "it was killed by SIGKILL"),
}
ENDS = [
    pytest.param(EXIT, id="exit", marks=pytest.mark.slow),
    pytest.param(SEGFAULT, id="segfault", marks=pytest.mark.slow),
    pytest.param(KILL, id="kill"),
]


@pytest.fixture
def work(tmp_path, monkeypatch):
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "test_good.py").write_text(TESTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(work, *command):
    reported = io.StringIO()
    command = command or ("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:faulthandler")
    status = run(command, work, python=sys.executable, report=reported)
    return status, reported.getvalue().splitlines()[-1]


def ranked(work, capsys, status):
    capsys.readouterr()
    assert suspectra(["rank", "--workspace", str(work)]) == status
    out, err = capsys.readouterr()
    return re.sub(r"\s+", " ", out + err)


@pytest.mark.slow
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize(
    ("files", "where", "place"),
    [
        ({"test_bad.py": "{}\n"}, "while test_bad.py was imported", "test_bad.py:1"),
        ({"conftest.py": "{}\n"}, "while conftest.py was imported", "conftest.py:1"),
        (
            {"shop.py": "{}\n", "test_bad.py": "import shop\n"},
            "while shop.py was imported for test_bad.py",
            "shop.py:1",
        ),
    ],
    ids=["test file", "conftest", "source"],
)
def test_a_crash_during_the_collection_is_named(work, capsys, ends, files, where, place):
    for name, text in files.items():
        (work / name).write_text(text.format(ends))
    code, how = ENDINGS[ends]
    status, said = record(work)
    where = where.replace(" for test_bad.py", "") if "conftest.py" in files else where
    assert (status, said) == (
        code,
        f"suspectra: the run was cut off {where} ({how}); the tests that finished are recorded",
    )
    (error,) = RecordingSource(work).read().collection_errors
    assert (error.collector, error.place, error.what) == ("", place, f"the run was cut off {where} ({how})")
    assert f"{place}: the run was cut off {where} ({how})" in ranked(work, capsys, 1)

    for name in files:
        (work / name).write_text("")
    assert record(work)[0] == 1
    assert "cut off" not in ranked(work, capsys, 0)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_the_test_that_ended_the_process_is_named_and_the_others_stay_ranked(work, capsys, ends, runner):
    code, how = ENDINGS[ends]
    if runner == "pytest":
        (work / "test_z.py").write_text(f"\n\ndef test_end():\n    {ends}\n")
        name, command = "test_z.py::test_end", ()
    else:
        case = "import unittest\n\nclass Case(unittest.TestCase):\n"
        (work / "test_good.py").write_text(
            f"from good import f\n{case}    def test(self):\n        self.assertEqual(f(0), 1)\n"
        )
        (work / "test_z.py").write_text(f"{case}    def test_end(self):\n        {ends}\n")
        name, command = "test_z.py::Case::test_end", (sys.executable, "-m", "unittest")
    status, said = record(work, *command)
    line = 3 if runner == "pytest" else 4
    assert (status, said) == (
        code,
        f"suspectra: the run was cut off in {name} ({how}): 1 test was not run; the tests that finished are recorded",
    )
    shown = ranked(work, capsys, 0)
    assert f"test_z.py (line {line}): the run was cut off in {name} ({how}): 1 test was not run" in shown
    assert "good.py" in shown
    source = RecordingSource(work)
    source.read()
    assert source.command == (("python", "-m", "unittest") if command else ("pytest", "-pno:faulthandler"))


def test_a_late_import_in_a_test_is_named(work):
    (work / "shop.py").write_text(f"{EXIT}\n")
    (work / "test_z.py").write_text("def test_shop():\n    import shop\n")
    _, said = record(work)
    assert "the run was cut off in test_z.py::test_shop, while shop.py was imported (" in said


@pytest.mark.slow
def test_a_forked_process_and_a_worker_change_nothing(work):
    (work / "shop.py").write_text("")
    (work / "test_z.py").write_text(
        "import os\n\ndef test_child():\n    if (child := os.fork()) == 0:\n        import shop\n        os._exit(0)\n"
        f"    os.waitpid(child, 0)\n\ndef test_end():\n    {KILL}\n"
    )
    assert "cut off in test_z.py::test_end (" in record(work)[1]
    status, said = record(work, "pytest", "-q", "-n", "2")
    assert "cut off" not in said
    assert status == 1
    assert "test_z.py::test_end" in {test.name for test in RecordingSource(work).read().failing}


def test_the_progress_of_a_run_says_where_it_was_cut_off(work):
    progress = work / "progress"
    progress.touch()
    (work / "conftest.py").write_text(f"{EXIT}\n")
    assert run(["pytest"], work, report=io.StringIO(), progress=progress) == 3
    said = json.loads(progress.read_text().splitlines()[-1])["trouble"]
    assert said.startswith("the run was cut off while conftest.py was imported (")
