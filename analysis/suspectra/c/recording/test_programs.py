"""Programs with several test cases: which framework they use, which cases they have, and how one case runs alone.

GoogleTest, Catch2, doctest, Boost.Test, Qt Test and GLib have options for that. Check, cmocka, Unity, CppUnit and
CuTest have none for a single case, so a library that is loaded into the program leaves the others out (one_test.c).
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.location import Location
from suspectra.c.recording.case import NOTED, NOTED_FILE, CCase
from suspectra.c.recording.crash_handler import build_crash_handler, with_library
from suspectra.c.recording.environment import environment_of
from suspectra.c.recording.listing import asked, listed
from suspectra.c.recording.suite import CSuite, located
from suspectra.evidence.formats.outcomes import parse_xml
from suspectra.processes.scratch import ScratchFolder
from suspectra_recorder.folders import cache_folder

_CURE = "build the test program"
_REPORT = "{scratch}/report.xml"


@dataclass(frozen=True)
class TestProgram:
    """A test that is a program with cases of its own."""

    __test__ = False

    whole: CCase  # runs all of them
    path: str  # of the file with its code
    workspace: str

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which it lists its cases."""
        return environment_of(self.whole)

    def listed(self, *options: str, any_code: bool = False) -> str:
        """What it prints with some options.

        Raises EvidenceError when it can't be run, or prints nothing.
        """
        return listed([*self.whole.argv, *options], self.whole.folder, _CURE, any_code, self.environment)

    def case(self, name: str, *options: str, place: Location | None = None, report: str = "") -> CCase:
        """A case that runs alone with some options."""
        argv = (*self.whole.argv, *options)
        return replace(
            self.whole, name=name, argv=argv, location=place or self.whole.location, report=report, whole=self.whole
        )

    def place(self, file: str, line: str | int) -> Location | None:
        """A place in the workspace that was noted when the program was compiled, perhaps in another folder."""
        number = int(line) if str(line).isdecimal() else 0
        starts = (self.workspace, os.path.dirname(self.path), self.whole.folder, os.path.dirname(self.whole.folder))
        whole = next((path for one in starts if os.path.isfile(path := os.path.normpath(os.path.join(one, file)))), "")
        return located(whole, number, self.workspace)


@dataclass(frozen=True)
class Framework:
    """A framework for tests of C or C++."""

    name: str
    mark: bytes  # is in every program that uses it
    cases: Callable[[TestProgram], Iterable[CCase]]  # lists the cases
    failed: re.Pattern[str]  # finds the names of failed cases in the output of the whole program
    chooses: re.Pattern[str]  # an argument with which a program runs only some cases
    stops: re.Pattern[str] | None = None  # what the whole program prints if it leaves out the cases that are left

    def failed_cases(self, output: str) -> set[str]:
        """The names of the cases that failed when all ran, as the program prints them."""
        return {match[1] for match in self.failed.finditer(output)}


def googletest_cases(program: TestProgram) -> Iterator[CCase]:
    """List the tests of a program with GoogleTest."""
    for name in _gtest_names(program.listed("--gtest_list_tests")):
        options = (f"--gtest_filter={name}", f"--gtest_output=xml:{_REPORT}", "--gtest_color=no")
        disabled = ".DISABLED_" in name or name.startswith("DISABLED_") or "/DISABLED_" in name
        yield replace(program.case(name, *options, report="" if disabled else _REPORT), disabled=disabled)


def _gtest_names(listing: str) -> list[str]:
    """Parse lines ``Suite.``, each followed by indented test names; ``#`` starts a comment."""
    names, suite = [], ""
    for line in listing.splitlines():
        text = line.partition("#")[0].rstrip()
        if line.startswith("  ") and suite:
            names.append(suite + text.strip())
        elif re.fullmatch(r"\S+\.", text):
            suite = text
    return names


def catch2_cases(program: TestProgram) -> Iterator[CCase]:
    """List the test cases of a program with Catch2.

    Version 3 writes XML; version 2 lists names, and their number is its exit code.
    """
    listing = program.listed("--list-tests", "--reporter", "xml", any_code=True)
    found: list[tuple[str, Location | None]] = []
    if listing.lstrip().startswith("<"):
        for case in parse_xml(listing, program.path, _CURE).iter("TestCase"):
            file, line = (case.findtext(f"SourceInfo/{name}", "").strip() for name in ("File", "Line"))
            found.append((case.findtext("Name", "").strip(), program.place(file, line)))
    else:
        names = program.listed("--list-test-names-only", any_code=True).splitlines()
        found = [(line.strip(), None) for line in names if line.strip()]
    for name, place in found:
        escaped = re.sub(r"([\\,\[\]\"])", r"\\\1", name)
        options = (escaped, "--reporter", "junit", "--out", _REPORT)
        yield replace(program.case(name, *options, place=place, report=_REPORT), skip_code=4)


def doctest_cases(program: TestProgram) -> Iterator[CCase]:
    """List the test cases of a program with doctest. They run by number, since a name is a pattern there."""
    root = parse_xml(program.listed("--list-test-cases", "--reporters=xml"), program.path, _CURE)
    for number, case in enumerate(root.iter("TestCase"), 1):
        place = program.place(case.get("filename", ""), case.get("line", ""))
        options = (f"--first={number}", f"--last={number}", "--order-by=file", "--no-colors=true")
        yield program.case(case.get("name", ""), *options, place=place)


_UNIT = re.compile(r'^tu(\d+)\[shape=Mrecord,fontname=\w+,color=(\w+),label="(.*)\|(.*)\((\d+)\)"\];$', re.MULTILINE)
_EDGE = re.compile(r"^tu(\d+) -> tu(\d+);$", re.MULTILINE)
_FIRST_CASE = 0x10000  # numbers of suites are smaller


def boost_cases(program: TestProgram) -> Iterator[CCase]:
    """List the test cases of a program with Boost.Test."""
    ended = asked(
        [*program.whole.argv, "--list_content=DOT"], program.whole.folder, _CURE, program.environment
    )  # it lists on standard error
    listing = (ended.stderr + ended.stdout).decode("utf-8", "replace")
    units = {match[1]: match for match in _UNIT.finditer(listing)}
    above = {match[2]: match[1] for match in _EDGE.finditer(listing)}
    for number, unit in units.items():
        if int(number) < _FIRST_CASE:
            continue
        parts, at = [unit[3]], above.get(number)
        while at in units:
            parts.insert(0, units[at][3])
            at = above.get(at)
        name = "/".join(parts)
        options = (f"--run_test={name}", "--color_output=no", "--catch_system_errors=no")
        yield replace(program.case(name, *options, place=program.place(unit[4], unit[5])), disabled=unit[2] == "yellow")


def qt_cases(program: TestProgram) -> Iterator[CCase]:
    """List the functions of a program with Qt Test, and their rows of data."""
    rows = [line.split(" ", 2) for line in program.listed("-datatags").splitlines() if line.count(" ")]
    if len({row[0] for row in rows}) > 1:  # the options would go to each of its classes
        return
    for _, function, *tag in rows:
        name = ":".join((function, *tag))
        yield replace(program.case(name, name), skip_patterns=("\nSKIP   : ",))


def glib_cases(program: TestProgram) -> Iterator[CCase]:
    """List the tests of a program with those of GLib; a path also stands for what is below it, which is left out."""
    names = [line for line in program.listed("-l").splitlines() if line.startswith("/")]
    for name in names:
        below = (word for other in names if other.startswith(f"{name}/") for word in ("-s", other))
        escaped = re.sub(r"([^\w/])", r"\\\1", name)
        case = program.case(name.removeprefix("/"), "-p", name, *below)
        yield replace(case, skip_patterns=(f"ok [0-9]+ (- )?{escaped} # SKIP",))


def hooked_cases(program: TestProgram) -> Iterator[CCase]:
    """List the tests of a program by a library that is loaded into it."""
    with ScratchFolder() as scratch:
        library, _ = build_crash_handler(cache_folder(os.path.realpath(program.workspace)) or str(scratch))
        if library is None:
            return
        notes = Path(str(scratch), NOTED_FILE)
        environment = with_library(program.environment, library)
        asked(program.whole.argv, program.whole.folder, _CURE, {**environment, **_noting(notes, 0)})
        noted = notes.read_text(encoding="utf-8", errors="replace").splitlines() if notes.exists() else []
    tests = [line.split("\t") for line in noted if line.count("\t") == 3]
    names = [name for _, name, _, _ in tests]
    for number, (group, name, file, line) in enumerate(tests, 1):
        whole_name = f"{group}/{name}" if group and names.count(name) > 1 else name
        yield replace(
            program.case(whole_name, place=program.place(file, line) if file else None),
            environment={**program.whole.environment, **_noting("", number), **_only(program, group)},
            modifications=(*program.whole.modifications, f"LD_PRELOAD=path_list_prepend:{library}"),
            noted=name,
            skip_patterns=(r"\[  SKIPPED \]", f":{name}:IGNORE"),
        )


def _noting(file: str | Path, number: int) -> dict[str, str]:
    return {NOTED: str(file), "SUSPECTRA_TEST": str(number)}


def _only(program: TestProgram, group: str) -> dict[str, str]:
    """Without what Check sets up for other test cases."""
    return {} if "CK_RUN_CASE" in program.environment or not group else {"CK_RUN_CASE": group}


_NEVER, _ANY = re.compile(r"(?!)"), re.compile(r"(?!-)")
FRAMEWORKS = (
    Framework(
        "GoogleTest",
        b"gtest_list_tests",
        googletest_cases,
        re.compile(r"^\[  FAILED  \] ([^\s,]+\.[^\s,]+)", re.MULTILINE),
        re.compile("--gtest_filter"),
    ),
    Framework("Catch2", b"N5Catch", catch2_cases, re.compile(r"^-{79}\n(.+)\n(?: .*\n)*-{79}\n", re.MULTILINE), _ANY),
    Framework(
        "doctest",
        b"list-test-cases",
        doctest_cases,
        re.compile(r"^TEST CASE:\s+(.+)$", re.MULTILINE),
        re.compile("-+(dt-)?(tc|ts|sf|test-case|test-suite|source-file|first|last|f=|l=)"),
    ),
    Framework(
        "Boost.Test",
        b"list_content",
        boost_cases,
        re.compile(r'error: in "([^"]+)":'),
        re.compile("-t|--run_test"),
        re.compile(r'fatal error: in "[^"]+": (?:memory access violation|signal: )'),
    ),
    Framework("Qt Test", b"QTest5qExec", qt_cases, re.compile(r"^FAIL!  : \w+::(\w+\([^)\n]*\))", re.MULTILINE), _ANY),
    Framework("Check", b"srunner_run", hooked_cases, re.compile(r":[FE]:[^:\n]*:(\w+):\d+:"), _NEVER),
    Framework(
        "cmocka", b"_cmocka_run_group_tests", hooked_cases, re.compile(r"^\[  FAILED  \] (\w+)$", re.MULTILINE), _NEVER
    ),
    Framework(
        "GLib",
        b"g_test_run",
        glib_cases,
        re.compile(r"^not ok \d+ (?:- )?(/[^\n#]*[^\s#])", re.MULTILINE),
        re.compile("-[pslrx]"),
        re.compile("^Bail out!", re.MULTILINE),
    ),
    Framework("CuTest", b"CuTestRun", hooked_cases, re.compile(r"^\d+\) (\w+): ", re.MULTILINE), _NEVER),
    Framework("Unity", b"UnityBegin", hooked_cases, re.compile(r"(\w+)\)?:FAIL\b"), re.compile("-[nfglxq]")),
    Framework(
        "CppUnit",
        b"N7CppUnit8TestCaseE",
        hooked_cases,
        re.compile(r"^(?:Test name: |\d+\) test: |(?=\S+ : (?:assertion|error)$))(\S+)", re.MULTILINE),
        _NEVER,
    ),
)
"""The frameworks whose cases run alone."""


def framework_of(path: str) -> Framework | None:
    """Find out which framework a program uses, by the text in its file."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content[:4] != b"\x7fELF":
                return None
            return next((one for one in FRAMEWORKS if content.find(one.mark) >= 0), None)
    except (OSError, ValueError):  # an empty file can't be mapped
        return None


def program_suite(
    workspace: str | os.PathLike[str], programs: Iterable[str | os.PathLike[str]], framework: Framework | None = None
) -> CSuite:
    """List the cases of test programs, of any framework unless one is given.

    Raises EvidenceError when a program can't be run, uses no framework that is known, or lists no cases.
    """
    root = os.path.abspath(workspace)
    suites = []
    for path in (os.path.normpath(os.path.join(root, program)) for program in programs):
        if not os.path.isfile(path):
            raise EvidenceError(Problem(path, "", "there is no such program", _CURE))
        used = framework or framework_of(_code_of(path))
        if used is None:
            cause = "it uses none of " + ", ".join(dict.fromkeys(one.name for one in FRAMEWORKS))
            raise EvidenceError(Problem(path, "", cause, "record it as one test with --shell"))
        program = TestProgram(CCase(os.path.basename(path), (path,), root), path, root)
        cases = tuple(used.cases(program))
        if not cases:
            raise EvidenceError(Problem(path, "", "it lists no tests", "record it as one test with --shell"))
        suites.append(CSuite(cases, (os.path.dirname(path),)))
    names = [case.name for suite in suites for case in suite.cases]
    return CSuite(
        tuple(
            replace(case, name=f"{case.whole.name}: {case.name}") if names.count(case.name) > 1 and case.whole else case
            for suite in suites
            for case in suite.cases
        ),
        tuple(folder for suite in suites for folder in suite.build),
    )


def divided(suite: CSuite, workspace: str | os.PathLike[str]) -> CSuite:
    """Replace each test that is a whole program by the cases of the program, with its name in front of theirs.

    A test stays whole if its output decides how it ends, if it runs some cases only, or if others depend on it.
    """
    root = os.path.abspath(workspace)
    frameworks: dict[str, Framework | None] = {}
    needed = {name for case in suite.cases for name in case.depends}
    cases: list[CCase] = []
    for case in suite.cases:
        found = [] if case.name in needed else _cases_of(case, root, frameworks)
        cases += [replace(one, name=f"{case.name}/{one.name}") for one in found] if len(found) > 1 else [case]
    return replace(suite, cases=tuple(cases))


def _cases_of(case: CCase, workspace: str, frameworks: dict[str, Framework | None]) -> list[CCase]:
    judged_by_output = case.pass_patterns or case.fail_patterns or case.will_fail or case.expected
    if judged_by_output or case.disabled or case.problem or case.setup or case.cleanup or case.required:
        return []
    at, code = _program_in(case)
    path = _code_of(os.path.join(case.folder, code))
    if path not in frameworks:
        frameworks[path] = framework_of(path)
    framework = frameworks[path]
    if framework is None or any(framework.chooses.match(word) for word in case.argv[at + 1 :]):
        return []
    try:
        return list(framework.cases(TestProgram(case, path, workspace)))
    except EvidenceError:  # then it runs as it is
        return []


def _program_in(case: CCase) -> tuple[int, str]:
    """Where the program stands in the command of a test: a shell may set its environment first."""
    at = 3 if case.argv[:2] == ("/bin/sh", "-c") and len(case.argv) > 3 and '"$0"' in case.argv[2] else 0
    return at, case.argv[at]


def _code_of(path: str) -> str:
    """The program that a script of libtool starts; the same path if it is no such script."""
    real = os.path.join(os.path.dirname(path), ".libs", os.path.basename(path))
    return real if os.path.isfile(real) else path


def framework_for(case: CCase) -> Framework | None:
    """The framework of a test that is a whole program."""
    return framework_of(_code_of(os.path.join(case.folder, _program_in(case)[1])))


def prints_failure(case: CCase, output: str) -> bool:
    """Whether the output of a case that passed says that it failed, as one does that is to fail."""
    if "TEST CASE:" not in output:  # of these frameworks only doctest prints it without a report
        return False
    framework = framework_for(case.whole) if case.whole else None
    return framework is not None and printed_name(framework, case) in framework.failed_cases(output)


def printed_name(framework: Framework, case: CCase) -> str:
    """What the whole program calls a case in its output."""
    if case.noted:
        return case.noted
    name = case.name.removeprefix(f"{case.whole.name}/") if case.whole else case.name
    if framework.name == "Qt Test":
        function, _, tag = name.partition(":")
        return f"{function}({tag})"
    if framework.name == "GLib":
        return f"/{name}"
    return name
