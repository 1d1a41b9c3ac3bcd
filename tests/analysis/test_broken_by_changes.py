"""Which tests a change broke, and that the change comes first: two small projects, recorded before and after it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suspectra.cli.main import run
from suspectra.evidence.changes import failing_since
from suspectra.evidence.recording import RecordingSource
from suspectra.failure_groups.groups import FailureGroups
from suspectra.failure_groups.since import Since
from suspectra.spectrum import Spectrum
from suspectra.techniques import make_technique
from suspectra_recorder.log.compaction import compact
from suspectra_recorder.log.history import EndedTest, first_failures

WEB = """\
import datetime

HOOKS = []


def call(handler, *args):
    try:
        return handler(*args)
    except Exception as error:
        return handle(error)


def handle(error):
    name = type(error).__name__
    kind = "broken" if name == "KeyError" else "bad"
    return kind + " " + name


def setup(hooks):
    found = []
    found.extend(hooks)
    return found


def greet(hooks, name):
    for hook in setup(hooks):
        name = hook(name)
    return {"x": "hello x"}[name]


def year(text):
    value = int(text)
    return value
"""
TEST_WEB = """\
import pytest
from app.web import call, greet, year


@pytest.mark.parametrize("n", range(8))
def test_year(n):
    assert call(year, str(n)) == n


@pytest.mark.parametrize("n", range(8))
def test_greet(n):
    assert call(greet, [], "x") == "hello x"


def test_old_failure():
    assert call(year, "MMXX") == 2020


@pytest.mark.parametrize("n", range(3))
def test_bad(n):
    assert call(year, "q") == "bad ValueError"


def test_hook():
    assert call(greet, [str.lower], "X") == "hello x"
"""
PRICE = """\
def rounded(value):
    value = value * 100
    value = round(value)
    return value / 100


def discount(net, percent):
    factor = 100 - percent
    part = net * factor
    return rounded(part / 100)


def price(net):
    return rounded(net)
"""
TEST_PRICE = """\
import pytest
from shop.price import discount, price


@pytest.mark.parametrize("net", range(20))
def test_price(net):
    assert price(net) == net


def test_discount():
    assert discount(9.99, 15) == 8.49
"""
OLD, NEW = "test_web.py::test_old_failure", "test_web.py::test_hook"


def record(folder: Path) -> None:
    command = [sys.executable, "-m", "suspectra", "record", "--failed-and-affected", "--", "pytest", "-q"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr


def changed(folder: Path, package: str, module: str, texts: tuple[str, str], without: str) -> Path:
    """A project that is recorded, loses a line, and is recorded again."""
    (folder / package).mkdir()
    (folder / package / "__init__.py").touch()
    (folder / package / f"{module}.py").write_text(texts[0])
    (folder / f"test_{module}.py").write_text(texts[1])
    record(folder)
    assert texts[0].count(without) == 1
    (folder / package / f"{module}.py").write_text(texts[0].replace(without, ""))
    record(folder)
    return folder


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    return changed(tmp_path_factory.mktemp("web"), "app", "web", (WEB, TEST_WEB), "    found.extend(hooks)\n")


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    return changed(folder, "shop", "price", (PRICE, TEST_PRICE), "    value = round(value)\n")


def ranking(capsys) -> dict[str, object]:
    assert run(["rank", "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_what_failed_before_is_a_group_of_its_own_and_comes_last(web, capsys, monkeypatch):
    monkeypatch.chdir(web)
    assert failing_since(RecordingSource(web).read()) == {NEW: Since.CHANGE, OLD: Since.BEFORE}
    new, old = ranking(capsys)["groups"]
    assert (new["tests"], new["since"]) == ([NEW], "change")
    assert (old["tests"], old["since"]) == ([OLD], "before")
    assert {s["line"] for s in new["suspects"][:2]} == {20, 21}  # on both sides of the deleted line
    assert old["reason"].startswith("Failed before your changes. ")
    assert run(["status"]) == 0
    first, second = (line for line in capsys.readouterr().out.splitlines() if line.startswith("✗"))
    assert "before" not in first
    assert second.endswith(", failed before your changes")


def test_what_failed_before_is_known_after_logs_are_rewritten(web):
    compact(str(web / ".suspectra" / "recording"), max_logs=1)
    assert failing_since(RecordingSource(web).read()) == {NEW: Since.CHANGE, OLD: Since.BEFORE}


def test_the_only_change_comes_first(shop, capsys, monkeypatch):
    monkeypatch.chdir(shop)
    first, second, third, *_ = ranking(capsys)["suspects"]
    assert {first["line"], second["line"]} == {2, 3}  # on both sides of the deleted line
    assert second["score"] > 1 >= third["score"]
    assert run(["rank"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert sum("you changed this" in row.lower() for row in rows) == 1, "once for what is said of both"


def test_no_group_has_tests_from_before_and_after_a_change_unless_the_user_says_so():
    spectrum = Spectrum.from_matrix([[1, 1]] * 3 + [[0, 0], [0, 1]], failed=[True] * 4 + [False])
    names = spectrum.tests
    since = {names[0]: Since.CHANGE, names[1]: Since.BEFORE, names[3]: Since.BEFORE}
    groups = FailureGroups.from_spectrum(spectrum, since=since).groups
    assert [(group.tests, group.since) for group in groups] == [
        ((names[0], names[2]), Since.CHANGE),
        ((names[1], names[3]), Since.BEFORE),
    ]
    assert len(FailureGroups.from_spectrum(spectrum).groups) == 1


def test_the_first_failure_counts_of_a_test_that_never_passed():
    records = [
        EndedTest("never", 1, False, "a", failed=True),
        EndedTest("never", 2, False, "b", failed=True),
        EndedTest("once", 1, True, "a"),
        EndedTest("once", 2, False, "b", failed=True),
        EndedTest("skipped", 1, False, "a"),
    ]
    live = dict.fromkeys(("never", "once", "skipped"), 3)
    assert [(one.name, one.time) for one in first_failures(records, live)] == [("never", 1)]
    assert first_failures(records[:1], {"never": 1}) == []


def test_many_changes_only_add_to_the_score():
    lines = 40
    rows = [[1] * lines, [0] + [1] * (lines - 1)]
    spectrum = Spectrum.from_matrix(rows, failed=[True, False])
    few, many = (
        replace(spectrum, changed={spectrum.tests[0]: np.arange(1, 1 + count, dtype=np.int32)}) for count in (10, 11)
    )
    rank = make_technique("evidence").localize
    assert rank(spectrum).suspect(0).location.line == 1
    assert rank(few).suspect(0).location.line == 2
    assert rank(many).suspect(0).location.line == 1
    assert rank(many).suspect(1).location.line == 2  # where scores are alike, the change decides
