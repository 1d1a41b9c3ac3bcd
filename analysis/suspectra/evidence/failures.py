"""Sentences about where tests failed."""

from __future__ import annotations

import re

import numpy as np

from suspectra.evidence.evidence import Evidence, TestResult
from suspectra.program.languages import is_python
from suspectra.spectrum import Spectrum

_EXCEPTION = re.compile(r"(?:[a-z_]\w*\.)*([A-Z]\w*)(?=:|$)")  # at the begin of a message


def exception_names(evidence: Evidence) -> dict[str, str]:
    """Return the exception that ended each failing test: from its stack, or else from its message.

    By the names of the tests, without those of which it is not known.
    """
    found = {}
    for test in evidence.failing:
        stack = evidence.stacks.get(test.name)
        named = _EXCEPTION.match(test.message)
        if name := stack.exception if stack else named[1] if named else "":
            found[test.name] = name
    return found


def absent_modules(evidence: Evidence) -> dict[str, str]:
    """Return the module that a failing test could not import, if it is none of the project: by test.

    It is not installed where the tests run, or its name is wrong in the import.
    """
    found = {name: module for name, stack in evidence.stacks.items() if (module := stack.missing_module)}
    if not found:
        return {}
    own = {part.removesuffix(".py") for file in evidence.files for part in file.path.split("/")}
    return {name: module for name, module in found.items() if module.partition(".")[0] not in own}


def first_failure(evidence: Evidence) -> str:
    """Say where and how the first failing test failed, and how many more did."""
    test, *others = evidence.failing
    return failure_of(evidence, test) + (f"; and {len(others)} more failed" if others else "")


def failure_of(evidence: Evidence, test: TestResult) -> str:
    """Say where and how a test failed."""
    stack = evidence.stacks.get(test.name)
    line = stack.test_line if stack else None
    where = f" at {line.file}:{line.line}" if line else ""
    if stack and not stack.assertion and (crashed := stack.innermost) is not None and not is_python(crashed.file):
        called = f", called{where}" if where and not where.endswith(f" {crashed.file}:{crashed.line}") else ""
        where = f" at {crashed.file}:{crashed.line}{called}"
    what = (stack.what if stack else "") or test.message
    return f"{test.name} failed{where}{what and f': {what}'}"


def failed_in(evidence: Evidence, spectrum: Spectrum, element: int) -> tuple[str, ...]:
    """Return the names of the tests that failed in a statement.

    Sorted; empty if the evidence has no stacks.
    """
    if spectrum.raised is None:
        return ()
    names = (spectrum.tests[test] for test in np.flatnonzero(spectrum.raised == element).tolist())
    return tuple(sorted(name for name in names if name in evidence.stacks))


def failure_sentence(evidence: Evidence, spectrum: Spectrum, element: int) -> str:
    """Say how many tests failed in a statement, and with which exception.

    One sentence with text from the evidence; empty if no test failed there.
    """
    names = failed_in(evidence, spectrum, element)
    if not names:
        return ""
    failed = spectrum.counts.failed
    who = "The failing test" if failed == 1 else f"{len(names)} of {failed} failing tests"
    what = dict.fromkeys(stack.what for name in names if (stack := evidence.stacks[name]).what)
    first = f": {next(iter(what))}" if what else ""
    others = (
        f", and {len(what) - 1} other messages" if len(what) > 2 else ", and another message" if len(what) == 2 else ""
    )
    return f"{who} failed here{first}{others}."
