"""`investigate` and `rank --technique investigation` rank alike, also where git knows of a change."""

import json
import subprocess
import sys

GIT = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
FEES = "RATES = {'child': 5, 'adult': 20}\n\n\ndef fee(kind):\n    rate = RATES[kind]\n    return rate\n"
TESTS = "from fees import fee\n\n\ndef test_child():\n    assert fee('child') == 5\n\n\ndef test_adult():\n"
TESTS += "    assert fee('adult') == 20\n"


def suspectra(folder, *arguments):
    command = [sys.executable, "-m", "suspectra", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def test_an_investigation_knows_what_changed_according_to_git(tmp_path):
    (tmp_path / "fees.py").write_text(FEES)
    (tmp_path / "test_fees.py").write_text(TESTS)
    for words in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "."],
        ["commit", "--quiet", "--message", "Begin"],
    ):
        subprocess.run([*GIT, *words], cwd=tmp_path, check=True)
    (tmp_path / "fees.py").write_text(FEES.replace("20", "30"))
    suspectra(tmp_path, "record", "--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    investigated = json.loads(suspectra(tmp_path, "investigate", "--seconds", "20", "--format", "json"))
    ranked = json.loads(suspectra(tmp_path, "rank", "--technique", "investigation", "--format", "json"))
    places = [[(one["line"], one["score"]) for one in found["suspects"]] for found in (investigated, ranked)]
    assert places[0] == places[1]
    assert places[0][0][0] == 1
