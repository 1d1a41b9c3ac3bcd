"""Twenty changes of examples/ledger, judged by `suspectra try`, beside one run of its tests by pytest.

    python benchmarks/tried_changes.py

Ten change what functions do, the others constants, default values, parameters, decorators, the body or the bases of a
class, an import, and two files at once. Of each it says when it was judged. It fails unless those that repair the
tests, and those that break others, are judged so.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from difflib import unified_diff
from pathlib import Path

LEDGER = Path(__file__).parents[1] / "examples" / "ledger"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")
TAX, MONEY, DISCOUNTS = (f"src/ledger/{name}.py" for name in ("tax", "money", "discounts"))
RIGHT = (TAX, "ends = [*starts[1:], last]", "ends = [*starts[1:], date.fromordinal(last.toordinal() + 1)]")

CHANGES: dict[str, list[tuple[str, str, str]]] = {
    "right": [RIGHT],
    "another end": [(TAX, "ends = [*starts[1:], last]", "ends = [*starts[1:], first]")],
    "another whole": [(TAX, "whole = sum(days)", "whole = sum(days) + 1")],
    "another bound": [(TAX, "if first < since <= last", "if first <= since <= last")],
    "another index": [(TAX, "return history[index - 1][1]", "return history[index][1]")],
    "a guard": [(TAX, "        whole = sum(days)", "        whole = sum(days) or 1")],
    "another sum": [(MONEY, "result = result + amount", "result = amount + result")],
    "another share": [(MONEY, "(i < odd)", "(i <= odd)")],
    "another comparison": [(DISCOUNTS, "if off > best:", "if off >= best:")],
    "another maximum": [(DISCOUNTS, "share = min(", "share = max(")],
    "a constant": [(MONEY, 'CENT = Decimal("0.01")', 'CENT = Decimal("0.1")')],
    "the same constant": [(MONEY, 'CENT = Decimal("0.01")', 'CENT = Decimal("1.00") / 100')],
    "a default value": [
        (MONEY, 'currency: str = "EUR") -> Money:\n    result', 'currency: str = "USD") -> Money:\n    result')
    ],
    "a field": [(DISCOUNTS, 'limit: Decimal = Decimal("0.05")', 'limit: Decimal = Decimal("0.5")')],
    "a parameter": [(TAX, "def categories(self)", "def categories(self, more=())")],
    "no decorator": [(MONEY, "@total_ordering\n", "")],
    "a base": [(TAX, "class UnknownCategory(KeyError)", "class UnknownCategory(ValueError)")],
    "an import": [(TAX, "from bisect import bisect_right", "from bisect import bisect_left as bisect_right")],
    "right, and a constant": [RIGHT, (MONEY, 'CENT = Decimal("0.01")', 'CENT = Decimal("1.00") / 100')],
    "right, and an import": [
        RIGHT,
        (DISCOUNTS, "from decimal import Decimal", "from decimal import Decimal as Decimal"),
    ],
}
REPAIRING = ("right", "right, and a constant", "right, and an import")
BREAKING = ("another index", "a constant", "a default value", "no decorator", "an import")


def main() -> None:
    with tempfile.TemporaryDirectory() as above:
        folder, patches = Path(above) / "ledger", Path(above) / "patches"
        shutil.copytree(LEDGER, folder, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache", ".suspectra"))
        patches.mkdir()
        for name, edits in CHANGES.items():
            (patches / name).write_text("".join(difference(folder, edits)))
        words = [sys.executable, "-m", "suspectra"]
        subprocess.run([*words, "record", "--", *PYTEST], cwd=folder, capture_output=True, check=False)
        began = time.monotonic()
        subprocess.run(PYTEST, cwd=folder, capture_output=True, check=False)
        once = time.monotonic() - began
        print(f"{once:.1f} s: one run of the tests by pytest")
        began = before = time.monotonic()
        files = [str(patches / name) for name in CHANGES]
        command = [words[0], "-u", *words[1:], "try", *files, "--seconds", "100", "--", *PYTEST]
        said = {}
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                name, _, judged = line.rstrip().removeprefix(f"{patches}/").partition(": ")
                if name in CHANGES:
                    now = time.monotonic()
                    print(f"{now - began:5.1f} s, {now - before:5.2f} s after: {name}: {judged}")
                    said[name], before = judged, now
        print(f"{before - began:.1f} s: {len(said)} changes, {(before - began) / once:.1f} times as long as the tests")
        wrong = [name for name in CHANGES if ("all 3 failing tests pass" in said[name]) != (name in REPAIRING)]
        wrong += [name for name in BREAKING if "no other test" in said[name]]
        if wrong:
            sys.exit(f"judged in another way than expected: {', '.join(wrong)}")


def difference(folder: Path, edits: list[tuple[str, str, str]]) -> list[str]:
    found: list[str] = []
    for file, old, new in edits:
        text = (folder / file).read_text("utf-8")
        assert text.count(old) >= 1, f"{file}: {old}"
        after = text.replace(old, new)
        found += unified_diff(text.splitlines(True), after.splitlines(True), f"a/{file}", f"b/{file}")
    return found


if __name__ == "__main__":
    main()
