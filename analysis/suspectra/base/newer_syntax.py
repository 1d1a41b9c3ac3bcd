"""What is said where the tests ran in a newer Python than Suspectra, which can't parse their sources then."""

from __future__ import annotations

import sys

from suspectra.base.errors import Problem

OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"
"""The version of Python under which Suspectra runs."""


def newer_syntax(path: str, consequence: str) -> Problem:
    """Describe a source that ran, and that this Python can't parse."""
    cause = f"it uses syntax that is newer than Python {OWN}, under which Suspectra runs, so {consequence}"
    return Problem(path, "", cause, "install Suspectra under the Python of the tests")


def is_newer(version: str) -> bool:
    """Whether a version of Python, such as ``3.13.1``, is newer than this one, as far as syntax goes."""
    parts = version.split(".")[:2]
    return len(parts) == 2 and all(map(str.isdecimal, parts)) and tuple(map(int, parts)) > sys.version_info[:2]
