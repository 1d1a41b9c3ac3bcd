"""The tests of a build folder of Meson."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.recording.case import CCase
from suspectra.c.recording.listing import asked, listed
from suspectra.c.recording.suite import CSuite

_CURE = "configure and build it, as `suspectra build-c` does; install Meson if it is missing"
_PRIVATE = os.path.join("meson-private", "coredata.dat")
_CONFIGURED = os.path.join("meson-private", "build.dat")
_TURNED = {"EXPECTEDFAIL", "UNEXPECTEDPASS"}
_SKIPPED, _NO_LIMIT = 77, 0


def configuring_again(folder: str | os.PathLike[str]) -> tuple[str, ...]:
    """What `meson setup` needs for a folder that it has configured; nothing for a new one, or if that failed."""
    return ("--reconfigure",) if os.path.isfile(os.path.join(folder, _CONFIGURED)) else ()


def meson_suite(workspace: str | os.PathLike[str], build: str | os.PathLike[str]) -> CSuite:
    """List the tests of a build folder of Meson.

    Raises EvidenceError when Meson can't list them.
    """
    folder = os.path.join(os.path.abspath(workspace), build)
    if not os.path.isfile(os.path.join(folder, _PRIVATE)):
        raise EvidenceError(Problem(folder, "", "this is not a build folder of Meson", _CURE))
    try:
        tests = json.loads(listed(["meson", "introspect", "--tests", folder], folder, _CURE))
        turned = _turned(folder)
        cases = tuple(_case(test, folder, turned) for test in tests)
    except (ValueError, KeyError, TypeError) as error:
        cause = f"the list of tests of meson can't be read: {error!r}"
        raise EvidenceError(Problem(folder, "", cause, "use Meson 0.60 or later")) from None
    if not cases:
        raise EvidenceError(Problem(folder, "", "meson finds no tests there", "name a build folder with tests"))
    return CSuite(cases, (folder,))


def _case(test: Mapping[str, Any], folder: str, turned: set[str]) -> CCase:
    environment = {name: str(value) for name, value in test.get("env", {}).items()}
    limit = float(test.get("timeout") or _NO_LIMIT)
    is_tap = test.get("protocol") == "tap"
    return CCase(
        name=test["name"],
        argv=tuple(test["cmd"]),
        folder=test.get("workdir") or folder,
        environment=environment,
        timeout=limit if limit > _NO_LIMIT else None,
        will_fail=test["name"] in turned,
        skip_code=_SKIPPED,
        tap=is_tap,
        serial=not test.get("is_parallel", True),
        problem="" if os.path.exists(test["cmd"][0]) else "its program is not built",
    )


def _turned(folder: str) -> set[str]:
    """The tests that pass if they fail. Meson tells only after it has run them, so it runs them if there are any."""
    files = json.loads(listed(["meson", "introspect", "--buildsystem-files", folder], folder, _CURE))
    if not any(map(_expects_failures, files)):
        return set()
    asked(["meson", "test", "-C", folder, "--no-rebuild", "--logbase", "suspectra"], folder, _CURE)
    try:
        with open(os.path.join(folder, "meson-logs", "suspectra.json"), encoding="utf-8") as log:
            ended = [json.loads(line) for line in log if line.strip()]
    except OSError:
        return set()
    return {str(one["name"]).rpartition(" / ")[2] for one in ended if one["result"] in _TURNED}


def _expects_failures(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return "should_fail" in file.read()
    except OSError:
        return False
