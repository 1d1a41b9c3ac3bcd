"""The tests that `make check` runs in a folder that was configured for automake."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.recording.case import CCase
from suspectra.c.recording.listing import listed
from suspectra.c.recording.suite import CSuite
from suspectra.processes.scratch import ScratchFolder

_CURE = "configure and build it, as `suspectra build-c` does"
_ANY_KIND = ["LOG_COMPILER", "AM_LOG_FLAGS", "LOG_FLAGS", "LOG_DRIVER"]
_VARIABLES = (
    "TESTS",
    "XFAIL_TESTS",
    "TEST_EXTENSIONS",
    "srcdir",
    "AM_TESTS_ENVIRONMENT",
    "TESTS_ENVIRONMENT",
    *_ANY_KIND,
)
_HAS_TESTS = re.compile(r"^TESTS\s*\+?=\s*\S", re.MULTILINE)
_SKIPPED = 77

NO_MANUALS = "MAKEINFO=true"
"""For make: manuals need tools that the tests do not."""


def automake_suite(workspace: str | os.PathLike[str], build: str | os.PathLike[str]) -> CSuite:
    """List the tests in `TESTS` of a folder and of those below it.

    Raises EvidenceError when there are none, or make can't say what they are.
    """
    top = os.path.normpath(os.path.join(os.path.abspath(workspace), build))
    cases = [
        case
        for folder, _, names in sorted(os.walk(top))
        if "Makefile" in names and _has_tests(folder)
        for case in _cases(folder, os.path.relpath(folder, top))
    ]
    if not cases:
        raise EvidenceError(Problem(top, "", "no Makefile there has TESTS, as those of automake have", _CURE))
    return CSuite(tuple(cases), (top,))


def _has_tests(folder: str) -> bool:
    with open(os.path.join(folder, "Makefile"), encoding="utf-8", errors="replace") as file:
        return _HAS_TESTS.search(file.read()) is not None


def _cases(folder: str, below: str) -> list[CCase]:
    variables = make_variables(folder, _VARIABLES)
    extensions = variables["TEST_EXTENSIONS"].split()
    kinds = [name for extension in extensions for name in _kind_variables(extension.lstrip(".").upper())]
    variables |= make_variables(folder, kinds) if kinds else {}
    fail = {_bare(name) for name in variables["XFAIL_TESTS"].split()}
    cases = []
    for test in variables["TESTS"].split():
        name = test if below == os.curdir else f"{below}/{test}"
        cases.append(_case(name, test, folder, variables, extensions, will_fail=_bare(test) in fail))
    return cases


def _kind_variables(kind: str) -> list[str]:
    return [f"{kind}_LOG_COMPILER", f"AM_{kind}_LOG_FLAGS", f"{kind}_LOG_FLAGS", f"{kind}_LOG_DRIVER"]


def _bare(name: str) -> str:
    return name.removesuffix(".log")


def _case(
    name: str, test: str, folder: str, variables: Mapping[str, str], extensions: list[str], *, will_fail: bool
) -> CCase:
    ending = next((one for one in extensions if test.endswith(one)), "")
    names = (
        _kind_variables(ending.lstrip(".").upper())
        if ending
        else ["LOG_COMPILER", "AM_LOG_FLAGS", "LOG_FLAGS", "LOG_DRIVER"]
    )
    compiler, *flags, driver = (variables.get(one, "") for one in names)
    source = variables["srcdir"]
    here = os.path.join(folder, test)
    program = here if os.path.exists(here) else os.path.normpath(os.path.join(folder, source, test))
    environment = {"srcdir": source}
    first = " ".join(filter(None, (variables["AM_TESTS_ENVIRONMENT"], variables["TESTS_ENVIRONMENT"]))).strip()
    started = " ".join(filter(None, (compiler, *flags)))
    argv: tuple[str, ...] = (program,)
    if first or started:  # shell code, and what runs the test
        argv = ("/bin/sh", "-c", f'{first} {started} "$0" "$@"'.strip(), program)
    return CCase(
        name,
        argv,
        folder,
        environment,
        will_fail=will_fail,
        skip_code=_SKIPPED,
        tap="tap" in os.path.basename(driver.split()[-1] if driver.split() else ""),
        problem="" if os.path.exists(program) else "it is not built",
    )


def make_variables(folder: str, names: Sequence[str]) -> dict[str, str]:
    """Ask make for the values of variables in a folder. They are printed by make, so no shell sees them.

    Raises EvidenceError when make can't say them.
    """
    with ScratchFolder() as scratch:
        makefile = os.path.join(str(scratch), "print.mk")
        lines = [f"$(info suspectra:{name}=$(strip $({name})))" for name in names]
        with open(makefile, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\nsuspectra-print: ; @:\n")
        command = ["make", "-s", "--no-print-directory", "-f", "Makefile", "-f", makefile, "suspectra-print"]
        text = listed(command, folder, _CURE)
    found = (line.removeprefix("suspectra:").partition("=") for line in text.splitlines() if "suspectra:" in line)
    return {name: value for name, _, value in found}
