"""The settings of a build folder of CMake, to build the project a second time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from suspectra.base.errors import EvidenceError, Problem

_CACHE = "CMakeCache.txt"
_ENTRY = re.compile(r"^(?P<name>[^#/:=][^:=]*):(?P<type>BOOL|STRING|PATH|FILEPATH|UNINITIALIZED)=(?P<value>.*)$")


def cache_entries(build: Path) -> dict[str, str]:
    """The cache entries of a build that are not about its folder, with where its sources are, and the generator.

    Raises EvidenceError when the folder is not one of CMake.
    """
    file = build / _CACHE
    try:
        lines = file.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        cause = "it is not a build folder of CMake, so its programs can't be built a second time"
        cure = "name one of CMake; tests of Meson, make and others can be ranked (`suspectra rank`) and explained"
        raise EvidenceError(Problem(str(build), "", cause, cure)) from None
    found = {match["name"]: match["value"] for match in map(_ENTRY.match, lines) if match}
    found = {name: value for name, value in found.items() if str(build) not in value}
    internal = dict(line.partition(":INTERNAL=")[::2] for line in lines if ":INTERNAL=" in line)
    for name in ("CMAKE_HOME_DIRECTORY", "CMAKE_GENERATOR"):
        if name in internal:
            found[name] = internal[name]
    if "CMAKE_HOME_DIRECTORY" not in found:
        cause = "it does not say where the sources are"
        raise EvidenceError(Problem(str(file), "", cause, "configure the build folder again"))
    return found


def default_configuration(build: Path) -> str | None:
    """The configuration that a build with several of them builds unless one is named; None for any other build."""
    try:
        entries = cache_entries(build)
    except EvidenceError:
        return None
    if "Multi-Config" not in entries.get("CMAKE_GENERATOR", ""):
        return None
    return entries.get("CMAKE_DEFAULT_BUILD_TYPE") or entries.get("CMAKE_CONFIGURATION_TYPES", "").partition(";")[0]


def cache_script(entries: Mapping[str, str]) -> str:
    """A script of CMake that sets cache entries."""
    return "".join(
        f"set({name} {bracketed(value)} CACHE STRING {bracketed('')})\n" for name, value in sorted(entries.items())
    )


def bracketed(text: str) -> str:
    """Write a text as an argument of CMake in brackets, in which nothing is replaced."""
    equals = "="
    while f"]{equals}]" in text:
        equals += "="
    return f"[{equals}[{text}]{equals}]"
