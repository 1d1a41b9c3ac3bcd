"""What a search finds counts in every answer at once, as long as the sources are these."""

import json
import subprocess
import sys

import pytest

from suspectra.cli.main import run

SHOP = """\
def price(name):
    return {"tea": 3, "milk": 2}[name]


def total(names):
    result = 0
    for name in names:
        result = price(name)
    return result
"""
TESTS = """\
from shop import total


def test_two():
    assert total(["tea", "milk"]) == 5


def test_three():
    assert total(["tea", "tea", "milk"]) == 8


def test_one():
    assert total(["milk"]) == 2
"""
PYTEST = ("--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(TESTS)
    words = [sys.executable, "-m", "suspectra", "record", *PYTEST]
    assert subprocess.run(words, cwd=folder, capture_output=True, check=False).returncode == 1
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("search", [("fix",), ("investigate",), ("causes", "test_two")])
def test_what_a_search_finds_is_first_in_every_answer(recorded, capsys, monkeypatch, search):
    """For one test alone a price of 5 would do as well, which is what a search for its causes may find."""
    monkeypatch.chdir(recorded)
    log = recorded / ".suspectra" / "experiments" / "log.jsonl"
    log.unlink(missing_ok=True)

    def said(*words):
        capsys.readouterr()
        assert run(words) in (0, 1)
        return capsys.readouterr().out

    def first():
        suspect = json.loads(said("rank", "--format", "json"))["groups"][0]["suspects"][0]
        return f"{suspect['file']}:{suspect['line']}", suspect["reason"]

    before = first()
    said(*search, "--seconds", "60", *PYTEST)
    place, reason = after = first()
    assert place == "shop.py:8" or search[0] != "fix"
    assert after != before
    assert f"   1  {place}" in said("status")
    assert reason.split(" repairs")[0] in said("rank")
    assert reason.split(" repairs")[0] in said("explain", place)
    agent = said("rank", "--format", "agent")
    assert agent.index(place) == agent.index("shop.py:")
    said("report", "--html", "page.html")
    assert json.dumps(reason, ensure_ascii=False)[1:-1] in (recorded / "page.html").read_text()
    text = (recorded / "shop.py").read_text()
    (recorded / "shop.py").write_text(text + "\n")
    assert reason not in said("rank")
    (recorded / "shop.py").write_text(text)
