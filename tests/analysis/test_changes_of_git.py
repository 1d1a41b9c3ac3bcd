"""Which change broke a test, in repositories of all kinds: real runs in small projects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from suspectra.cli.main import run

pytestmark = pytest.mark.slow
PRICE = (
    "def gross(net):\n    return net + 19\n\n\ndef discount(net, percent=10):\n    return net - net * percent / 100\n"
)
TESTS = """\
import pytest
from price import discount, gross


def test_discount():
    assert discount(100) == 90


def test_gross():
    assert gross(100) == 119


def test_old():
    assert gross(0) == 1
"""


def git(folder: Path, *words: str) -> None:
    named = ("git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "protocol.file.allow=always", *words)
    done = subprocess.run(named, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def committed(folder: Path, **texts: str) -> Path:
    """A repository with these modules, and the tests of the one that is tested."""
    folder.mkdir(exist_ok=True)
    (folder / ".gitignore").write_text(".suspectra\n__pycache__\n")
    if "price" in texts:
        (folder / "test_price.py").write_text(TESTS)
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    return folder


@pytest.fixture
def asked(capsys, monkeypatch):
    """A function that records the tests of a folder, asks which change broke them, and returns what is said."""

    def ask(folder: Path, *more: str) -> str:
        monkeypatch.chdir(folder)
        record = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider"]
        subprocess.run(record, capture_output=True, check=False)
        run(["changes", "--seconds", "120", *more])
        captured = capsys.readouterr()
        return captured.out or captured.err

    return ask


def test_a_changed_default_is_named_by_every_command(tmp_path, asked, capsys):
    folder = committed(tmp_path / "project", price=PRICE)
    text = PRICE.replace("percent=10", "percent=11").replace("def discount", "UNUSED = 1\n\n\ndef discount")
    (folder / "price.py").write_text(text)
    found = asked(folder)
    assert found.startswith("✗ test_discount: broken by one of 2 changes since the last commit (HEAD)\n  price.py:8 ")
    assert found.endswith("\nThis test failed before, too: test_old\n")
    run(["status"])
    status = capsys.readouterr().out
    assert "\nWithout your change at price.py:8 test_discount passes.\n" in status
    assert "price.py:8, " not in status.partition("Also changed")[2]


def test_a_changed_constant_is_a_suspect_and_said_once(tmp_path, asked, capsys):
    text = PRICE.replace("def gross", "class Tax:\n    RATE = 19\n    UNUSED = 1\n\n\ndef gross").replace(
        "+ 19", "+ Tax.RATE"
    )
    folder = committed(tmp_path / "project", price=text)
    (folder / "price.py").write_text(text.replace("= 19", "= 20").replace("UNUSED = 1", "UNUSED = 2"))
    assert asked(folder, "test_gross").startswith("✗ test_gross: broken by one of 2 changes since the last commit")
    run(["status"])
    status = capsys.readouterr().out
    assert "\n   1  price.py:2" in status
    assert "Without your change at price.py:2" not in status
    assert "price.py:2, " not in status.partition("Also changed")[2]


def test_a_deleted_line_before_an_empty_one_is_said_at_the_statements_around_it(tmp_path, asked, capsys):
    begin = "def gross(net):\n"
    text = PRICE.replace(begin, f"{begin}    if net < 0:\n        net = 0\n\n    net = net + 1\n\n").replace("19", "18")
    folder = committed(tmp_path / "project", price=text)
    (folder / "price.py").write_text(text.replace("\n    net = net + 1\n", ""))
    assert "− net = net + 1\n" in asked(folder, "test_gross")
    run(["status"])
    status = capsys.readouterr().out
    assert "passes with `net = net + 1`, which you deleted here" in status
    assert "Without your change" not in status
    run(["why", "test_gross"])
    answer = capsys.readouterr().out
    assert "  − net = net + 1\n" in answer
    assert "\nThe first value that this changes is " in answer
    run(["why", "test_gross", "--hide-values"])
    assert "The first value" not in capsys.readouterr().out


def test_a_new_file_is_named_with_the_call_for_which_it_was_made(tmp_path, asked):
    folder = committed(tmp_path / "project", price=PRICE)
    (folder / "half.py").write_text("def half(x):\n    return x * 0.4\n")
    text = "from half import half\n\n" + PRICE.replace("return net - net", "return half(2 * net) - half(2 * net)")
    (folder / "price.py").write_text(text.replace("def discount", "def unused():\n    return 1\n\n\ndef discount"))
    found = asked(folder, "test_discount")
    assert found.startswith("✗ test_discount: broken by 3 of 4 changes together since the last commit (HEAD)\n")
    assert "\n  half.py:1   + def half(x):\n" in found
    assert "\n  Without them the test passes; with them alone the test fails.\n" in found


def test_a_failure_without_a_different_value_says_so(tmp_path, asked):
    folder = committed(tmp_path / "project", price=PRICE.replace("return net + 19", "assert net\n    return net + 19"))
    (folder / "price.py").write_text(PRICE.replace("return net + 19", "raise ValueError"))
    found = asked(folder, "test_gross")
    assert found.endswith("\n  No value that can be shown differs before the test fails.\n")


def test_changes_of_a_submodule_count(tmp_path, asked):
    library = committed(tmp_path / "library", rates="TAX = 19\n")
    folder = committed(tmp_path / "project", price=PRICE.replace("19", "rates.TAX"))
    git(folder, "submodule", "-q", "add", str(library), "vendor")
    (folder / "price.py").write_text("from vendor import rates\n\n\n" + PRICE.replace("19", "rates.TAX"))
    git(folder, "commit", "-qam", "two")
    (folder / "vendor" / "rates.py").write_text("TAX = 20\n")
    found = asked(folder, "test_gross")
    assert found.startswith(
        "✗ test_gross: broken by the only change since the last commit (HEAD)\n  vendor/rates.py:1 "
    )
    git(folder / "vendor", "commit", "-qam", "worse")
    git(folder, "commit", "-qam", "three")
    found = asked(folder, "test_gross")
    assert "the commit before" in found.splitlines()[0]
    assert found.splitlines()[1].startswith("  vendor/rates.py:1 ")


def test_a_history_that_is_cut_off_is_the_reason_why_nothing_is_found(tmp_path, asked):
    whole = committed(tmp_path / "whole", price=PRICE)
    (whole / "price.py").write_text(PRICE.replace("percent=10", "percent=11"))
    git(whole, "commit", "-qam", "two")
    git(tmp_path, "clone", "-q", "--depth", "1", whole.as_uri(), "shallow")
    said = asked(tmp_path / "shallow")
    assert "the history of this repository is cut off. Fix: fetch more of it with `git fetch --deepen 50`" in said
