"""`suspectra` alone and `suspectra status`: how the last run ended, and what to do next."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from suspectra.cli.main import run
from suspectra.evidence.evidence import Evidence
from suspectra.output.rankings.ranking import Listing
from suspectra.output.status import write_status
from suspectra.spectrum import Spectrum
from suspectra.techniques import make_technique

CHECKOUT = Path(__file__).parent.parent / "fixtures" / "checkout"
FAULT = "shop/vouchers.py:17"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    root = tmp_path_factory.mktemp("status") / "checkout"
    shutil.copytree(CHECKOUT, root, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    command = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=root, capture_output=True, check=False, timeout=120)
    return root


@pytest.fixture
def status(capsys, monkeypatch):
    """What a command prints in a folder: (status, stdout, stderr)."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(folder, *arguments):
        monkeypatch.chdir(folder)
        code = run([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


@pytest.mark.slow
def test_it_names_the_first_suspects_and_the_next_commands(recorded, status):
    code, out, err = status(recorded)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("Of ")
    assert lines[0].endswith("just now.")
    assert lines[2].startswith("✗ ")
    first = lines[3].split()
    assert first[0] == "1"
    assert f"  suspectra explain {first[1]}" in [line[: len(f"  suspectra explain {first[1]}")] for line in lines]
    assert max(map(len, lines)) <= 80
    assert status(recorded, "status") == (code, out, err)


def test_the_line_that_it_names_can_be_explained(recorded, status):
    _, out, _ = status(recorded)
    command = next(line.split() for line in out.splitlines() if line.startswith("  suspectra explain "))
    code, explained, _ = status(recorded, *command[1:3])
    assert (code, explained.splitlines()[0].split()[0]) == (0, command[2])


def test_after_a_change_it_offers_to_run_what_the_change_can_affect(recorded, status, tmp_path):
    root = tmp_path / "changed"
    shutil.copytree(recorded, root)
    source = root / "shop" / "vouchers.py"
    source.write_text(source.read_text().replace("off = off - amount", "off = off - amount - 1"))
    _, out, _ = status(root)
    heading, _, rest = out.partition("\n")
    assert "Changes since then can affect" in heading
    commands = rest[rest.index("Next:") :].splitlines()
    assert commands[1].startswith("  suspectra record --failed-and-affected -- pytest  run these ")


def test_names_of_any_length_and_kind_keep_the_lines_in_a_terminal(status, tmp_path):
    name = "total_of_all_orders_" * 20
    (tmp_path / "shop\x1b[31m.py").write_text(f"def {name}(prices):\n    return sum(prices) - 1\n")
    (tmp_path / "test_shop.py").write_text(
        "from importlib import import_module\n\nshop = import_module('shop\\x1b[31m')\n\n"
        f"def test_total():\n    assert shop.{name}([1]) == 1\n"
    )
    command = [sys.executable, "-m", "suspectra", "record", "--", "python", "-m", "pytest", "-q"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    _, out, _ = status(tmp_path)
    shown = out[: out.index("Next:")]
    assert "   1  shop\\x1b[31m.py:2  total_of_all_orders_" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.replace("\n", "").isprintable()


@pytest.mark.parametrize(("affected", "said"), [(1, "can affect 1 other."), (2, "can affect 2 others.")])
def test_the_tests_that_a_change_can_affect_are_counted(affected, said):
    out = io.StringIO()
    report = make_technique("ochiai").localize(Spectrum.from_matrix([[1], [0]], failed=[True, False]))
    write_status(Listing(report, Evidence("", (), (), (), np.zeros(0, np.int32)), ()), None, affected, out)
    assert out.getvalue().splitlines()[0].endswith(said)


def test_an_hour_later_it_says_so(recorded, status):
    folder = recorded / ".suspectra" / "recording"
    before = folder.stat()
    os.utime(folder, (before.st_atime, before.st_mtime - 3_700))
    _, out, _ = status(recorded)
    os.utime(folder, (before.st_atime, before.st_mtime))
    assert out.splitlines()[0].endswith("1 hour ago.")


def test_a_folder_without_a_recording(status, tmp_path):
    code, out, _ = status(tmp_path)
    assert code == 1
    assert out.splitlines()[:4] == [
        "No run of tests is recorded here yet.",
        "",
        "Next:",
        "  suspectra record -- pytest  run the tests, and record them",
    ]


def test_a_project_of_cmake_is_recorded_by_ctest(status, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text("project(reckoner)\n")
    _, out, _ = status(tmp_path)
    assert "suspectra record-c --ctest build" in out
    assert "pytest" not in out
    (tmp_path / "conftest.py").write_text("")
    assert "suspectra record -- pytest" in status(tmp_path)[1]


def test_a_project_of_django_is_recorded_by_its_own_command(status, tmp_path):
    (tmp_path / "manage.py").write_text("from django.core.management import execute_from_command_line\n")
    _, out, _ = status(tmp_path)
    assert "  suspectra record -- python manage.py test  run the tests, and record them\n" in out
    (tmp_path / "pytest.ini").write_text("[pytest]\nDJANGO_SETTINGS_MODULE = shop.settings\n")
    assert "  suspectra record -- pytest  run the tests, and record them\n" in status(tmp_path)[1]


def test_a_run_in_which_nothing_failed(status, tmp_path):
    (tmp_path / "test_all.py").write_text("def test_sum():\n    assert 1 + 1 == 2\n")
    command = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    code, out, _ = status(tmp_path)
    assert code == 1
    assert out.startswith("There is no suspect: ")
    assert "--failed-and-affected" in out


@pytest.mark.slow
def test_a_failure_in_test_code_alone_is_named_and_no_line_that_passes_is_listed(status, tmp_path):
    (tmp_path / "doubling.py").write_text("def double(n):\n    return n * 2\n\n\ndef half(n):\n    return n / 2\n")
    (tmp_path / "test_all.py").write_text(
        "from doubling import double, half\n\n\ndef test_half():\n    assert half(2) == 1\n\n\n"
        "def test_disk():\n    raise OSError('no disk')\n"
    )
    command = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    code, out, _ = status(tmp_path)
    assert code == 1
    assert "(test_all.py::test_disk failed at test_all.py:9: OSError: no disk)" in out
    with (tmp_path / "test_all.py").open("a") as test:
        test.write("\n\ndef test_double():\n    assert double(2) == 5\n")
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    _, out, _ = status(tmp_path)
    listed = out[out.index("✗") : out.index("Next:")].splitlines()
    assert listed == [
        "✗ 1 test: AssertionError, first suspect doubling.py:2",
        "   1  doubling.py:2  double",
        "      1 more failing test executes no suspect",
        "",
    ]


def test_a_script_that_runs_tests_is_named(status, tmp_path):
    (tmp_path / "shop.py").write_text("def price():\n    return 2\n")
    (tmp_path / "checks.py").write_text(
        "import unittest\nimport shop\n\n\nclass Price(unittest.TestCase):\n    def test_price(self):\n"
        "        self.assertEqual(shop.price(), 1)\n\n\nunittest.main()\n"
    )
    command = [sys.executable, "-m", "suspectra", "record", "--", "python", "checks.py", "-v"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    code, out, _ = status(tmp_path)
    assert code == 0
    assert "  suspectra record --failed-and-affected -- python checks.py -v\n" in out


def test_a_run_that_could_not_begin_is_not_continued(status, tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (tmp_path / "test_all.py").write_text("def test_sum():\n    assert 1 + 1 == 2\n")
    assert recorded_again(tmp_path).returncode == 4
    _, out, _ = status(tmp_path)
    assert "--no-such-option" in out
    assert "  suspectra record -- pytest  " in out
    assert "--failed-and-affected" not in out


def test_the_command_works_where_the_run_was_made_elsewhere(tmp_path, status):
    (tmp_path / "fees.py").write_text("def fee(age):\n    return 0 if age < 6 else 20\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "check.py").write_text(
        "import os, sys, unittest\nsys.path.insert(0, os.path.dirname(os.getcwd()))\nfrom fees import fee\n\n\n"
        "class Fees(unittest.TestCase):\n    def test_child(self):\n        self.assertEqual(fee(6), 0)\n\n\n"
        "unittest.main()\n"
    )
    record = [sys.executable, "-m", "suspectra", "record", "--workspace", "..", "--", sys.executable, "check.py"]
    subprocess.run(record, cwd=tmp_path / "tests", capture_output=True, check=False, timeout=120)
    _, out, _ = status(tmp_path)
    again = "(cd tests && suspectra record --workspace .. --failed-and-affected -- python check.py)"
    assert again in out
    done = subprocess.run(
        again.replace("suspectra", f"{sys.executable} -m suspectra").replace("python check", f"{sys.executable} check"),
        shell=True, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "recorded 1 test" in done.stderr
    assert "✗ 1 test" in status(tmp_path)[1]


def next_commands(shown):
    """What is to be typed: the purpose is after two spaces, or on a line of its own."""
    lines = shown[shown.index("Next:") :].splitlines()[1:]
    return [line[2:].partition("  ")[0] for line in lines if line.startswith(("  suspectra", "  (cd"))]


@pytest.mark.slow
def test_the_commands_for_another_folder_work_in_the_current_one(recorded, status, tmp_path):
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    _, out, _ = status(elsewhere, "status", "--workspace", recorded)
    commands = next_commands(out)
    assert [command.split()[1] for command in commands[:2]] == ["why", "rank"]
    assert commands[-1].startswith("(cd ")
    for command in commands:
        typed = command.replace("suspectra ", f"{sys.executable} -m suspectra ")
        done = subprocess.run(typed, shell=True, cwd=elsewhere, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        assert "shop/vouchers.py" in done.stdout or "failed" in done.stdout
    assert next_commands(status(recorded)[1])[:1] == ["suspectra why"]


def test_a_folder_without_a_recording_elsewhere(status, tmp_path):
    (tmp_path / "reckoner" / "build").mkdir(parents=True)
    (tmp_path / "reckoner" / "CMakeLists.txt").write_text("project(reckoner)\n")
    _, out, _ = status(tmp_path, "status", "--workspace", "reckoner")
    assert next_commands(out)[0] == "(cd reckoner && suspectra record-c --ctest build)"
    assert next_commands(out)[-1] == "suspectra -h"


def recorded_again(root, *options, stderr=subprocess.PIPE):
    command = [sys.executable, "-m", "suspectra", "record", *options, "--", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=stderr, check=False, timeout=120)


@pytest.mark.slow
def test_a_failing_run_ends_with_the_first_suspects_on_request(recorded, status):
    shown = recorded_again(recorded, "--suspects").stderr.decode()
    _, listed, _ = status(recorded)
    suspects = listed[listed.index("✗") : listed.index("Next:")]
    assert shown.endswith(f"\nsuspectra: the first suspects; `suspectra rank` lists all\n{suspects}")


@pytest.mark.slow
def test_suspects_are_shown_on_a_terminal_and_not_in_a_pipe(recorded):
    assert b"suspects" not in recorded_again(recorded).stderr
    main, terminal = os.openpty()
    try:
        recorded_again(recorded, stderr=terminal)
        shown = os.read(main, 1 << 16).decode()
    finally:
        os.close(main)
        os.close(terminal)
    assert "✗ " in shown


def test_a_run_without_failures_has_no_suspects(tmp_path):
    (tmp_path / "test_all.py").write_text("def test_sum():\n    assert 1 + 1 == 2\n")
    assert b"suspects" not in recorded_again(tmp_path, "--suspects").stderr
