"""What an altered run may do: as much as a repaired test needs, and no endless loop."""

import json
import subprocess
import sys

import pytest

from suspectra.cli import run

PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
SIGN = "def sign(n):\n    if n > 0 or n == 0:\n        return 1\n    return 0\n"
LOOP = "from sign import sign\n\ndef test_sign():\n    for n in range(1500):\n        assert sign(n) == (n > 0)\n"
PROPERTY = (
    "from hypothesis import given, settings, strategies as st\nfrom sign import sign\n\n"
    "@settings(max_examples=300, database=None, deadline=None)\n@given(st.lists(st.integers(0, 9), min_size=1))\n"
    "def test_sign(numbers):\n    for n in numbers:\n        assert sign(n) == (n > 0)\n"
)


@pytest.mark.parametrize("test", [LOOP, PROPERTY], ids=["loop", "property"])
def test_a_test_that_fails_in_the_first_of_many_examples_can_be_repaired(tmp_path, capsys, test):
    (tmp_path / "sign.py").write_text(SIGN)
    (tmp_path / "test_sign.py").write_text(test)
    command = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST, "-q"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    arguments = ["--technique", "muse", "--seconds", "60", "--format", "json", "--workspace", str(tmp_path)]
    run(["investigate", *arguments, "--", *PYTEST])
    made = json.loads(capsys.readouterr().out)["experiments"]
    outcomes = {one["action"]: one["outcome"] for one in made}
    assert outcomes["`n > 0 or n == 0` → `n > 0`"] == "passed"
