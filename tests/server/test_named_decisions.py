"""In editors, too, an operand is named by its own text, and a test that fails otherwise alone is refused."""

import pytest

CODE = """\
def fee(weight, express, member):
    if (
        weight > 10
        and (express
             or not member)
    ):
        return 20
    return 5
"""
TESTS = """\
from pathlib import Path

from fees import fee


def test_member():
    assert fee(12, False, True) == 20


def test_heavy():
    assert fee(12, True, True) == 20
    Path("weight.txt").write_text("12")


def test_reads():
    file = Path("weight.txt")
    weight = int(file.read_text())
    file.unlink()
    assert fee(weight, True, True) == 5
"""
FILES = {"fees.py": CODE, "test_fees.py": TESTS}


@pytest.mark.slow
def test_the_steps_of_a_cause_have_the_text_of_operands(client, project):
    client.start(project)
    assert client.command("findCause") is None
    client.agree()
    found = client.command("findCause", None, "test_fees.py::test_member")
    texts = {"express", "not member", "weight > 10", "weight > 10 and (express or not member)"}
    assert {step["source"] for step in found["roots"]} <= texts
    assert "if (" not in {step["source"] for step in found["chain"]}
    compared = client.command("comparePassing", None, "test_fees.py::test_member")
    assert ("express", "false, there true") in {(step["source"], step["value"]) for step in compared["report"]}


def test_a_test_that_fails_otherwise_alone_is_refused(client, project):
    client.start(project)
    client.command("findCause")
    client.agree()
    client.command("findCause", None, "test_fees.py::test_reads")
    said = client.request("suspectra/causes", {})["problems"]
    why = "test_reads fails with FileNotFoundError when it runs alone, and failed with AssertionError when"
    assert any(why in one for one in said), said
