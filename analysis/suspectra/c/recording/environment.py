"""The environment in which a test of C or C++ runs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from suspectra.c.recording.case import CCase


def environment_of(case: CCase, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a test, with some variables more."""
    environment = {**os.environ, **case.environment}
    for modification in case.modifications:
        modify(environment, modification)
    return {**environment, **(more or {})}


def modify(environment: dict[str, str], modification: str) -> None:
    """Apply one entry of CTest's ``ENVIRONMENT_MODIFICATION`` (``NAME=operation:value``)."""
    name, _, rest = modification.partition("=")
    operation, _, value = rest.partition(":")
    old = environment.get(name, "")
    if operation == "unset":
        environment.pop(name, None)
    elif operation == "reset":
        environment.pop(name, None)
        if name in os.environ:
            environment[name] = os.environ[name]
    elif operation == "set":
        environment[name] = value
    elif match := re.fullmatch(r"(string|path_list|cmake_list)_(append|prepend)", operation):
        separator = {"string": "", "path_list": os.pathsep, "cmake_list": ";"}[match[1]]
        parts = [old, value] if match[2] == "append" else [value, old]
        environment[name] = separator.join(part for part in parts if part or not separator)
