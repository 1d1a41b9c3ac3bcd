"""The page about security names tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_is_named_exists():
    named = re.findall(r"`(tests/\S+\.py)(?:::(\w+))?`", (ROOT / "docs/reference/security.md").read_text())
    assert len(named) > 20
    for file, test in named:
        assert (ROOT / file).exists(), file
        if test:
            assert re.search(rf"^(async )?def {test}\(", (ROOT / file).read_text(), re.MULTILINE), f"{file}::{test}"


def test_every_promise_names_a_test():
    rows = [line for line in (ROOT / "docs/reference/security.md").read_text().splitlines() if line.startswith("| ")][
        1:
    ]
    assert all("::" in row for row in rows)
