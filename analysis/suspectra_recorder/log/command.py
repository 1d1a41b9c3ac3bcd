"""How recorded tests are run again, by what the head of a log tells of their run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os
from suspectra_recorder.unittest.commands import MODULES, PROGRAMS

__builtins__ = library_references.builtins

# of pytest, and which tests it finds, or whether they run at all, depends on them. Nobody else's: a recording may come
# from anybody, and an option such as -p or -c names code to run
_FLAGS = frozenset({"--doctest-modules", "--doctest-continue-on-failure", "--doctest-ignore-import-errors"})
_WITH_VALUE = frozenset({"--doctest-glob", "--import-mode", "--asyncio-mode"})
_INI_NAMES = (
    *("python_files", "python_classes", "python_functions", "doctest_optionflags", "norecursedirs", "xfail_strict"),
    *("asyncio_mode", "asyncio_default_fixture_loop_scope", "asyncio_default_test_loop_scope"),
)
# with a value in a word of its own, or behind the letter: those that only leave out a plugin which the tests may need,
# only treat warnings of Python's own kinds otherwise, or only set one of these
_SHORT = {
    "-p": re.compile(r"no:(?!suspectra|cacheprovider$)[\w.-]+"),
    "-W": re.compile(r"(error|ignore|always|default|module|once)(:[^:]*){0,1}(:[A-Za-z]*)?"),
    "-o": re.compile(rf"({'|'.join(_INI_NAMES)})=.*"),
}
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
    """The options on which it depends what pytest finds and runs, each as one word."""
    for argument, following in pairwise([*arguments, ""]):
        name, has_value, _ = argument.partition("=")
        if argument in _FLAGS or (has_value and name in _WITH_VALUE):
            yield argument
        elif argument in _WITH_VALUE and following:
            yield f"{argument}={following}"
        elif (allowed := _SHORT.get(argument[:2])) and not argument.startswith("--"):
            value = argument[2:] or following
            if allowed.fullmatch(value):
                yield argument[:2] + value
