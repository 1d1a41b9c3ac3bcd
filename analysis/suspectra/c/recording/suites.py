"""Listing tests: from CTest, a command for each file, or a list of shell commands."""

from __future__ import annotations

import glob
import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from suspectra.base.errors import EvidenceError, Problem, UsageError
from suspectra.base.location import Location
from suspectra.c.cmake_cache import default_configuration
from suspectra.c.recording.case import CCase
from suspectra.c.recording.listing import listed
from suspectra.c.recording.suite import CSuite, located

_CTEST_LIST = "CTestTestfile.cmake"
_CONFIGURE = (
    "configure and build the project, as `suspectra build-c` does, or name another build folder (in editors in the "
    "setting suspectra.cTests)"
)


def ctest_suite(
    workspace: str | os.PathLike[str], build: str | os.PathLike[str], configuration: str | None = None
) -> CSuite:
    """List the tests of a CMake build folder, of the configuration that is built by default unless one is named.

    The tests in CTest's order.

    Raises EvidenceError when CTest can't list them.
    """
    folder = os.path.join(os.path.abspath(workspace), build)
    if not os.path.isfile(os.path.join(folder, _CTEST_LIST)):
        cause = f"this is not a build folder with tests, which has a {_CTEST_LIST}"
        raise EvidenceError(Problem(folder, "", cause, _CONFIGURE))
    configuration = configuration or default_configuration(Path(folder))
    listing = listed_by_ctest(["ctest", *(["-C", configuration] if configuration else [])], folder)
    try:
        document = json.loads(listing)
        graph = document["backtraceGraph"]
        cases = tuple(_ctest_case(test, graph, folder, os.path.abspath(workspace)) for test in document["tests"])
    except (ValueError, KeyError, TypeError, IndexError) as error:
        cause = f"the list of tests of ctest can't be read: {error!r}"
        raise EvidenceError(Problem(folder, "", cause, "use CMake 3.14 or later")) from None
    if not cases:
        cure = "name the build folder of a project with enable_testing() and add_test()"
        raise EvidenceError(Problem(folder, "", "ctest finds no tests there", cure))
    return CSuite(cases, (folder,))


def listed_by_ctest(command: Sequence[str], folder: str) -> str:
    """List the tests that a command of CTest would run in a folder.

    The JSON that `ctest --show-only=json-v1` prints.

    Raises EvidenceError when CTest can't list them.
    """
    return listed([*command, "--show-only=json-v1"], folder, "install CMake, configure the build folder and build it")


def _ctest_case(test: dict[str, Any], graph: dict[str, Any], folder: str, workspace: str) -> CCase:
    properties = {entry["name"]: entry["value"] for entry in test.get("properties", ())}

    def several(name: str) -> tuple[str, ...]:
        return tuple(str(value) for value in properties.get(name, ()))

    argv = tuple(test.get("command", ()))
    timeout = properties.get("TIMEOUT")
    code = properties.get("SKIP_RETURN_CODE")
    return CCase(
        name=test["name"],
        argv=argv,
        folder=str(properties.get("WORKING_DIRECTORY", folder)),
        environment=dict(entry.partition("=")[::2] for entry in several("ENVIRONMENT")),
        modifications=several("ENVIRONMENT_MODIFICATION"),
        timeout=float(timeout) if timeout else None,
        will_fail=bool(properties.get("WILL_FAIL")),
        pass_patterns=several("PASS_REGULAR_EXPRESSION"),
        fail_patterns=several("FAIL_REGULAR_EXPRESSION"),
        skip_patterns=several("SKIP_REGULAR_EXPRESSION"),
        skip_code=int(code) if code is not None else None,
        location=_backtrace(test, graph, workspace),
        depends=several("DEPENDS"),
        setup=several("FIXTURES_SETUP"),
        required=several("FIXTURES_REQUIRED"),
        cleanup=several("FIXTURES_CLEANUP"),
        locks=several("RESOURCE_LOCK"),
        serial=bool(properties.get("RUN_SERIAL")),
        disabled=bool(properties.get("DISABLED")),
        required_files=several("REQUIRED_FILES"),
        problem="" if argv else "its program is not built",
    )


def _backtrace(test: dict[str, Any], graph: dict[str, Any], workspace: str) -> Location | None:
    """Where the test is added; for tests that a function adds, the outermost call in the file."""
    found, at = None, test.get("backtrace")
    while at is not None:
        node = graph["nodes"][at]
        if "line" in node and (found is None or node["file"] == found["file"]):
            found = node
        at = node.get("parent")
    return located(graph["files"][found["file"]], found["line"], workspace) if found else None


def command_suite(
    workspace: str | os.PathLike[str],
    template: str,  # the command, in which `{test}` stands for the test. It is not passed to a shell
    tests: str,
    expect_stdout: str | os.PathLike[str] | None = None,
) -> CSuite:
    """Make one command for each test.

    The tests in the order of the files, or of the list.

    Raises UsageError when the template has no `{test}`, or there are no tests.
    """
    workspace = os.path.abspath(workspace)
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise _usage("--command", f"{template!r} can't be split into words: {error}", "close the quote") from None
    if not any("{test}" in word for word in words):
        raise _usage("--command", f"{template!r} does not say where the test goes", "write {test} in it")
    cases = []
    for name, location in _named_tests(workspace, tests):
        argv = tuple(word.replace("{test}", name) for word in words)
        cases.append(CCase(name, argv, workspace, location=location))
    return _expecting(CSuite(_with_distinct_names(cases)), workspace, expect_stdout)


def _named_tests(workspace: str, tests: str) -> list[tuple[str, Location | None]]:
    if any(char in tests for char in "*?["):
        found = sorted(path for path in glob.glob(tests, root_dir=workspace, recursive=True))
        named = [(path, located(path, 1, workspace)) for path in found if os.path.isfile(os.path.join(workspace, path))]
    else:
        named = [(line, place) for line, place in _lines(workspace, tests)]
    if not named:
        raise _usage("--tests", f"{tests} names no test", "give a glob that matches files, or a file of tests")
    return named


def shell_suite(
    workspace: str | os.PathLike[str],
    commands: str | os.PathLike[str],  # a file with a command on each line, optionally after the test's name and a tab
    expect_stdout: str | os.PathLike[str] | None = None,
) -> CSuite:
    """Read a list of shell commands, each of which is a test.

    The tests in the order of the lines.

    Raises UsageError when there is no such file, or it has no command.
    """
    workspace = os.path.abspath(workspace)
    cases: list[CCase] = []
    for line, place in _lines(workspace, os.fspath(commands)):
        name, tab, command = line.partition("\t")
        if not tab:
            name, command = f"t{len(cases) + 1}", line
        cases.append(CCase(name.strip(), ("/bin/sh", "-c", command), workspace, location=place))
    if not cases:
        raise _usage("--shell", f"{commands} contains no command", "write one command a line")
    return _expecting(CSuite(_with_distinct_names(cases)), workspace, expect_stdout)


def _lines(workspace: str, path: str) -> list[tuple[str, Location | None]]:
    try:
        text = Path(workspace, path).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise _usage(path, f"it can't be read: {error.strerror}", "name a file that exists") from None
    return [
        (line.strip(), located(path, number, workspace))
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]


def _expecting(suite: CSuite, workspace: str, folder: str | os.PathLike[str] | None) -> CSuite:
    """Assign its file of expected output to each test; report tests without one, which can't be judged."""
    if folder is None:
        return suite
    root = Path(workspace, folder)
    if not root.is_dir():
        raise _usage("--expect-stdout", f"{folder} is not a folder", "name the folder of expected outputs")
    cases, missing = [], []
    for case in suite.cases:
        base = os.path.basename(case.name)
        names = dict.fromkeys((case.name, base, os.path.splitext(base)[0]))
        options = [root / (name + end) for name in names for end in ("", ".out", ".expected", ".stdout", ".txt")]
        found = next((path for path in options if path.is_file()), None)
        cases.append(replace(case, expected=found or options[0]))
        if found is None:
            missing.append(case.name)
    problems = suite.problems
    if missing:
        some = ", ".join(missing[:3])
        cause = f"{len(missing)} tests ({some}) have no file of expected output, so they count as skipped"
        problems += (Problem(str(folder), "", cause, "add TEST.out for each of them"),)
    return replace(suite, cases=tuple(cases), problems=problems)


def _with_distinct_names(cases: Sequence[CCase]) -> tuple[CCase, ...]:
    """Make names distinct: tests of the same name get the name of their program, or a number."""
    names = [case.name for case in cases]
    seen: dict[str, int] = {}
    result = []
    for case in cases:
        name = case.name
        if names.count(name) > 1:
            name = f"{os.path.basename(case.argv[0])}: {name}"
        seen[name] = seen.get(name, 0) + 1
        result.append(replace(case, name=name if seen[name] == 1 else f"{name} ({seen[name]})"))
    return tuple(result)


def _usage(place: str, cause: str, cure: str) -> UsageError:
    return UsageError(Problem("", place, cause, cure))
