"""What commands say and how they rank where only git knows of a change."""

import json
import subprocess
import sys

import pytest

GIT = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
FEES = "RATES = {'child': 5, 'adult': 20}\n\n\ndef fee(kind):\n    rate = RATES[kind]\n    return rate\n"
TESTS = "from fees import fee\n\n\ndef test_child():\n    assert fee('child') == 5\n\n\ndef test_adult():\n"
TESTS += "    assert fee('adult') == 20\n"


def suspectra(folder, *arguments):
    command = [sys.executable, "-m", "suspectra", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def changed_in_git(folder):
    """A recording of tests that fail since a change that is not committed yet."""
    (folder / "fees.py").write_text(FEES)
    (folder / "test_fees.py").write_text(TESTS)
    for words in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "."],
        ["commit", "--quiet", "--message", "Begin"],
    ):
        subprocess.run([*GIT, *words], cwd=folder, check=True)
    (folder / "fees.py").write_text(FEES.replace("20", "30"))
    suspectra(folder, "record", "--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


@pytest.mark.slow
def test_an_investigation_knows_what_changed_according_to_git(tmp_path):
    changed_in_git(tmp_path)
    investigated = json.loads(suspectra(tmp_path, "investigate", "--seconds", "120", "--format", "json"))
    ranked = json.loads(suspectra(tmp_path, "rank", "--technique", "investigation", "--format", "json"))
    places = [[(one["line"], one["score"]) for one in found["suspects"]] for found in (investigated, ranked)]
    assert places[0] == places[1]
    assert places[0][0][0] == 1


def test_an_explanation_does_not_say_that_a_test_passed_where_only_git_knows_of_the_change(tmp_path):
    changed_in_git(tmp_path)
    explained = " ".join(suspectra(tmp_path, "explain", "fees.py:1", "--verbose").split())
    assert "C = r of its change;" in explained
    assert "Changed, according to git" in explained
