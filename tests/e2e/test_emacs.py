"""A bug is found and fixed in a real Emacs with eglot, set up as docs/guide/editors/emacs.md says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "editors" / "emacs"
TAX = "src/ledger/tax.py"


@pytest.fixture
def run_script(snippet, tmp_path):
    """Runs a script of this folder in Emacs with the documented set-up, and returns what it saw and what it printed."""
    library = snippet("emacs.md", "(require 'suspectra)").replace("/path/to/suspectra/editors/emacs", str(LIBRARY))
    setup = tmp_path / "setup.el"
    setup.write_text(snippet("emacs.md", "eglot-server-programs") + "(require 'eglot)\n" + library)

    def run(project: Path, script: str, **environment: str) -> tuple[dict, str]:
        subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)  # how Emacs knows a project's root
        seen = tmp_path / "seen.json"
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "E2E_FILE": str(project / TAX),
            "E2E_SETUP": str(setup),
            "E2E_RESULT": str(seen),
            **environment,
        }
        command = ["emacs", "--batch", "-l", Path(__file__).with_name(script)]
        done = subprocess.run(command, env=environment, cwd=project, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(seen.read_text()), done.stderr

    return run


def test_a_bug_is_found_and_fixed(unrecorded, recorded, run_script):
    """The whole story: run the tests, see, step, ask, fix, run again."""
    ranked = recorded.ranked()
    marked = sorted(line for file, line in ranked if file == TAX)
    seen, _ = run_script(
        unrecorded.folder,
        "eglot.el",
        E2E_MARKED=str(len(marked)),
        E2E_FAULT="ends = [*starts[1:], last]",
        E2E_FIXED="ends = [*starts[1:], last + date.resolution]",
    )
    assert seen["lines"] == marked
    assert "Most suspicious: 3 of 3 failing tests, 1 of 80 passing" in seen["project"]
    assert "Most suspicious." in seen["explained"]
    places = [[Path(file).name, line] for file, line in ranked]
    assert seen["first"] == seen["back"] == seen["retraced"] == seen["chosen"] == places[0]
    assert seen["second"] == places[1]
    file, line = seen["jumped"]
    assert f"/{file}:{line}  " in seen["moves"][0]
    assert "%" in seen["moves"][0]
    listed = [f"  {file}:{line}  " for file, line in ranked]
    assert len(seen["suspects"]) == len(listed)
    assert all(place in text for place, text in zip(listed, seen["suspects"], strict=True))
    assert "with wrong values and with checks skipped" in seen["question"]
    assert re.search("failing tests? pass|repairs", seen["investigated"])
    assert " tests observed" in seen["values"]
    assert "The cause is probably " in seen["answer"]
    assert seen["cause"].startswith("From the probable cause to the failure of tests/")
    assert "  → " in seen["cause"]
    assert seen["step"] in seen["cause"]
    assert " passes: different decisions\n" in seen["compared"]
    assert ", there " in seen["compared"]
    assert "+++ " in seen["runs"]
    assert seen["difference"].startswith("What makes the difference for tests/")
    assert ": before " in seen["difference"]
    assert "  → the test fails" in seen["difference"]
    assert re.search(r"^[-+] .*# [a-z_]+\.py:\d+$", seen["runs"], re.MULTILINE)
    assert seen["led"].startswith("What led to src/ledger/tax.py:")
    assert seen["dimmed"] > 0
    line, tested = seen["tested"]
    assert f"tax.py:{line}: " in tested or f"on line {line} of" in tested


def test_failure_groups_are_chosen_merged_and_split(unrecorded, run_script):
    for file, right, wrong in (
        ("src/ledger/statements.py", "    if first_month == 10:\n", "    if first_month == 7:\n"),
        ("src/ledger/discounts.py", "if quantity < self.at_least", "if quantity <= self.at_least"),
    ):
        unrecorded.edit(file, right, wrong)
    assert unrecorded.record().returncode == 1
    seen, _ = run_script(unrecorded.folder, "groups.el")
    assert [re.search(r"(\d+) tests?:", heading)[1] for heading in seen["groups"]] == ["3", "3", "1"]
    assert seen["others"] == seen["groups"][:2]  # all but the current one
    assert len(seen["tests"]) == 4
    assert seen["alone"] == seen["tests"][1]


def test_a_failure_is_explained_with_values_and_fixes(broken_shop, run_script):
    tests, code = (str(broken_shop.folder / name) for name in ("test_shop.py", "shop.py"))
    seen, _ = run_script(broken_shop.folder, "failure.el", E2E_FILE=tests, E2E_CODE=code)
    assert "with wrong values and with checks skipped" in seen["question"]
    assert seen["first"].startswith("You changed shop.py:2")
    assert "Still finding out more. " in seen["first"]
    assert "test_ten failed at test_shop.py:4: AssertionError: assert 0 == 1" in seen["why"]
    assert seen["values"] == {"2": "→ false", "4": "→ 0"}
    assert seen["hidden"] == "The values are hidden."
    assert "shop.py:2: the failing test passes with this line as it was, and both others that" in seen["fix"]
    assert seen["choices"] == ["Apply", "Next", "Close"]
    assert seen["fixed"] == "    if amount >= 10:"
    assert seen["change"] == "test_ten was broken by your change at shop.py:2; without it it passes."
    assert seen["broken"] == "    if amount > 10:"
    assert seen["undone"] == "    if amount >= 10:"


def test_each_command_says_something_where_there_is_nothing_to_show(unrecorded, run_script):
    seen, _ = run_script(unrecorded.folder, "words.el")
    assert len(seen) > 30
    assert all(seen.values()), seen


def test_the_library_compiles_without_a_warning(tmp_path):
    compile_file = f"""(progn
        (package-initialize)
        (setq byte-compile-error-on-warn t
              byte-compile-dest-file-function (lambda (_) "{tmp_path}/suspectra.elc"))
        (unless (byte-compile-file "{LIBRARY}/suspectra.el") (kill-emacs 1)))"""
    done = subprocess.run(["emacs", "--batch", "--eval", compile_file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
