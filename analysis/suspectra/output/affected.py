"""The tests to run again, with the reasons."""

from __future__ import annotations

import json
from typing import TextIO

from suspectra.output.terminal import safe
from suspectra.selection.selection import FAILED, Selection


def write_table(selection: Selection, out: TextIO) -> None:
    """Write a line for each test, followed by the reasons.

    Parameters
    ----------
    selection : Selection
        The tests that a change can affect.
    out : TextIO
        The output.

    Examples
    --------
    >>> import sys
    >>> write_table(Selection(3, ("test_sum",), {"test_tax": ("cart.py:8 changed",)}), sys.stdout)
    test_sum
        failed last time
    test_tax
        cart.py:8 changed
    3 known tests: 1 failed last time, 1 reached by what changed (cart.py:8 changed); 2 tests and new ones run
    """
    for name, reasons in _tests(selection).items():
        out.write(f"{safe(name)}\n" + "".join(f"    {safe(reason)}\n" for reason in reasons))
    out.write(f"{selection.summary()}\n")
    if notice := selection.notice():
        out.write(f"{notice}\n")


def write_json(selection: Selection, out: TextIO) -> None:
    """Write one JSON object.

    Parameters
    ----------
    selection : Selection
        The tests that a change can affect.
    out : TextIO
        The output.

    Examples
    --------
    >>> import sys
    >>> write_json(Selection(3, ("test_sum",)), sys.stdout)
    {
      "known": 3,
      "tests": [
        {
          "name": "test_sum",
          "reasons": [
            "failed last time"
          ]
        }
      ],
      "other_files": []
    }
    """
    tests = [{"name": name, "reasons": reasons} for name, reasons in _tests(selection).items()]
    json.dump({"known": selection.known, "tests": tests, "other_files": selection.others}, out, indent=2)
    out.write("\n")


def _tests(selection: Selection) -> dict[str, tuple[str, ...]]:
    return {**dict.fromkeys(selection.failed, (FAILED,)), **selection.affected}
