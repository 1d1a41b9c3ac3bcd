"""How recorded tests are run again, by what the head of a log tells of their run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os
from suspectra_recorder.unittest.commands import MODULES, PROGRAMS

__builtins__ = library_references.builtins

# of pytest, and which tests it finds depends on them. Nobody else's: a recording may come from anybody, and an option
# such as -p or -c names code to run
_FLAGS = frozenset({"--doctest-modules", "--doctest-continue-on-failure", "--doctest-ignore-import-errors"})
_WITH_VALUE = frozenset({"--doctest-glob", "--import-mode"})
_TESTS = re.compile(r"(^|\.)tests?(\.|$)")  # in the name of a module that is not for anything else


def command_again(head: Mapping[str, object]) -> tuple[str, ...]:
    """Say how the tests of a run are run again: by pytest, by another known runner, or by a script, never with ``-c``.

    ``python -m pytest`` is not ``pytest``: it puts the current folder on the path.
    """
    given = head.get("arguments")
    arguments = tuple(map(str, given)) if isinstance(given, list) else ()
    if head.get("runner") == "unittest":
        first, second = (*arguments, "", "")[:2]
        program = os.path.basename(first).removesuffix(".exe")
        if program in PROGRAMS:
            return program, *arguments[1:]
        # nothing else of a recording is run: it may come from anybody
        script = first.endswith(".py") and not first.startswith("-")
        if script or (first == "-m" and (second in MODULES or _TESTS.search(second))):
            return "python", *arguments
        arguments = ()
    pytest = ("python", "-m", "pytest") if head.get("by_module") is True else ("pytest",)
    return *pytest, *_finding(arguments)


def _finding(arguments: Sequence[str]) -> Iterator[str]:
    """The options on which it depends what pytest finds, each as one word."""
    for argument, following in pairwise([*arguments, ""]):
        name, has_value, _ = argument.partition("=")
        if argument in _FLAGS or (has_value and name in _WITH_VALUE):
            yield argument
        elif argument in _WITH_VALUE and following:
            yield f"{argument}={following}"
