"""A decision that is a part of a condition, or a condition of several lines, is named by its own text everywhere."""

import json
import shutil
import subprocess
import sys

import pytest

from suspectra.cli.main import run

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")
CART = """\
def fee(weight, express, member):
    if (
        weight > 10  # kg
        and (express
             or not member)
    ):
        return 20
    return 5


def rebate(old, young, rich):
    return 3 if old and not rich or young and not rich else 0
"""
TESTS = """\
from cart import fee, rebate


def test_member():
    assert fee(12, False, True) == 20


def test_light():
    assert fee(2, True, True) == 5


def test_heavy():
    assert fee(12, True, True) == 20


def test_young():
    assert rebate(False, True, True) == 3


def test_poor():
    assert rebate(False, True, False) == 3
"""
WHOLE = "weight > 10 and (express or not member)"


@pytest.fixture(scope="module")
def cart(tmp_path_factory):
    folder = tmp_path_factory.mktemp("operands")
    (folder / "cart.py").write_text(CART)
    (folder / "test_cart.py").write_text(TESTS)
    words = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST, "-q"]
    assert subprocess.run(words, cwd=folder, capture_output=True, check=False).returncode == 1
    return folder


@pytest.fixture
def said(cart, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")

    def said(*words):
        run([*words, "--workspace", str(cart), "--", *PYTEST])
        return capsys.readouterr().out

    return said


@pytest.mark.slow
def test_paths_name_operands_by_their_own_text(said):
    lines = [line.split() for line in said("paths", "*member", "--technique", "nearest-path").splitlines()]
    assert ["cart.py:4", "false,", "there", "true", "express"] in lines
    assert ["cart.py:3", "false,", "there", "true", *WHOLE.split()] in lines
    found = json.loads(said("paths", "*member", "--technique", "nearest-path", "--format", "json"))
    assert {(one["line"], one["column"], one["operand"]) for one in found["distance"]} == {
        (3, 8, WHOLE),
        (4, 13, "express"),
    }


@pytest.mark.slow
def test_a_forced_path_names_the_condition_that_it_forces(said):
    out = said("paths", "*young", "--technique", "apg")
    assert "passes if `old and not rich or young and not rich` at cart.py:12 comes out true the 1st time." in out


def test_slices_name_operands_by_their_own_text(said):
    out = said("slice", "--failure", "--test", "*member")
    named = ("cart.py:3  weight > 10 → true", "cart.py:4  express → false", "cart.py:5  not member → false")
    assert all(line in out for line in (f"cart.py:3  {WHOLE} → false", *named))
    assert "if (" not in out


@pytest.mark.slow
def test_causes_name_operands_by_their_own_text(said, cart):
    found = json.loads(said("causes", "*member", "--format", "json"))
    assert {(one["line"], one["column"], one["operand"]) for one in found["roots"]} <= {
        (3, 8, WHOLE),
        (3, 8, "weight > 10"),
        (4, 13, "express"),
        (5, 16, "not member"),
        (8, 0, ""),  # no decision: what is returned without them, which a change may confirm
    }
    assert "if (" not in said("causes", "*member")
    shutil.rmtree(cart / ".suspectra" / "experiments")  # which say more of the statements than the other tests expect


def test_findings_name_operands_by_their_own_text(said):
    found = json.loads(said("investigate", "--technique", "switching", "--format", "json"))
    findings = {sentence for one in found["suspects"] for sentence in one["findings"]}
    assert any("passes if `express` comes out true" in sentence for sentence in findings)
    assert not any("if this comes out" in sentence for sentence in findings)
    made = [one for one in found["experiments"] if one["kind"] == "switch"]
    assert {one["action"] for one in made} <= {"true", "false", "other"}
    assert {"express", "not member", WHOLE} <= {one["operand"] for one in made}
