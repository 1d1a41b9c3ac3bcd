"""Interrupted commands end at once, with one line and nothing half written."""

import os
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
        out, err = process.communicate(timeout=30)
    assert (out, err.strip()) == ("", "interrupted")
    assert process.returncode == 130
    assert sorted(shop.iterdir()) == before
    assert (shop / "page").read_text() == "as it was"


def open_files(pid):
    """The files that a process has open, on Linux."""
    files = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            files.append(os.readlink(link))
    return files
