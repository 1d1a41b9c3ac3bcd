"""Interrupted commands end at once, with one line and nothing half written."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest


@pytest.mark.parametrize("start", [["-m", "suspectra"], ["-c", "from suspectra.__main__ import main; main()"]])
def test_an_interrupt_while_the_command_line_is_loaded(tmp_path, start):
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, *start, "techniques"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.slow
@pytest.mark.parametrize("words", [["rank", "--technique", "cp", "-o", "page"], ["report", "--html", "page"]])
def test_an_interrupt_ends_a_command_at_once_with_one_line(shop, words, until):
    case = '<testcase classname="tests.test_cart" name="test_{}" time="0.1"/>'
    (shop / "long.xml").write_text(f"<testsuite>{''.join(map(case.format, range(400_000)))}</testsuite>")
    (shop / "page").write_text("as it was")
    before = sorted(shop.iterdir())
    command = [sys.executable, "-m", "suspectra", *words, "--coverage", ".coverage", "--junit", "long.xml"]
    with subprocess.Popen(command, cwd=shop, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: process.poll() is not None or str(shop / "long.xml") in open_files(process.pid))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (out, err.strip()) == ("", "interrupted")
    assert process.returncode == 130
    assert sorted(shop.iterdir()) == before
    assert (shop / "page").read_text() == "as it was"


SLOW = """\
import os, pathlib, time
import pytest
from fees import fee


@pytest.mark.parametrize("age, expected", [(6, 0), (30, 20)])
def test_fee(age, expected):
    if os.environ.get("SLOW"):
        (pathlib.Path(__file__).parent / "again").write_text(f"{os.getpid()}\\n")
        time.sleep(60)
    assert fee(age) == expected
"""


@pytest.fixture(scope="module")
def fees(tmp_path_factory):
    """Two recorded tests, one of which fails; if they run again they wait for a minute."""
    folder = tmp_path_factory.mktemp("fees")
    (folder / "fees.py").write_text("def fee(age):\n    if age < 6:\n        return 0\n    return 20\n")
    (folder / "test_fees.py").write_text(SLOW)
    record = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-p", "no:cacheprovider"]
    subprocess.run(record, cwd=folder, capture_output=True, check=False)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["paths", "--technique", "nearest-path"],
        ["paths", "--technique", "cause-transitions"],
        ["causes"],
    ],
)
def test_an_interrupted_search_shows_what_is_known_and_leaves_no_test_running(fees, tmp_path, words, until):
    shutil.copytree(fees, tmp_path, dirs_exist_ok=True)
    command = [sys.executable, "-m", "suspectra", *words, "--format", "json", "test_fees.py::test_fee[6-0]"]
    given = {"cwd": tmp_path, "env": {**os.environ, "SLOW": "yes"}, "text": True}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **given) as process:
        again = tmp_path / "again"
        until(lambda: process.poll() is not None or (again.exists() and again.read_text().endswith("\n")))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert json.loads(out)["complete"] is False
    test = int(again.read_text())
    until(lambda: not is_running(test))


def is_running(pid):
    """Whether a process has not ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def open_files(pid):
    """The files that a process has open, on Linux."""
    files = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            files.append(os.readlink(link))
    return files
