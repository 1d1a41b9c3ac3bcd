"""The tests to run again, with the reasons."""

from __future__ import annotations

import json
from typing import TextIO

from suspectra.output.terminal import safe
from suspectra.selection.selection import FAILED, Selection


def write_table(selection: Selection, out: TextIO) -> None:
    """Write a line for each test, followed by the reasons."""
    for name, reasons in _tests(selection).items():
        out.write(f"{safe(name)}\n" + "".join(f"    {safe(reason)}\n" for reason in reasons))
    out.write(f"{selection.summary()}\n")
    if notice := selection.notice():
        out.write(f"{notice}\n")


def write_json(selection: Selection, out: TextIO) -> None:
    """Write one JSON object."""
    tests = [{"name": name, "reasons": reasons} for name, reasons in _tests(selection).items()]
    json.dump({"known": selection.known, "tests": tests, "other_files": selection.others}, out, indent=2)
    out.write("\n")


def _tests(selection: Selection) -> dict[str, tuple[str, ...]]:
    return {**dict.fromkeys(selection.failed, (FAILED,)), **selection.affected}
