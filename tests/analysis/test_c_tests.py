"""Recording C tests: suites of every kind, how they end, and a store that survives whatever happens."""

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace

import numpy as np
import pytest

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError, UsageError
from suspectra.base.location import Location
from suspectra.c.cmake_cache import default_configuration
from suspectra.c.recording.case import CCase, cmake_pattern, judge
from suspectra.c.recording.crash_calls import CrashCalls, calls_in_files
from suspectra.c.recording.ctest_command import ctest_command
from suspectra.c.recording.environment import modify
from suspectra.c.recording.run import record_c
from suspectra.c.recording.suite import CSuite
from suspectra.c.recording.suites import command_suite, ctest_suite, shell_suite
from suspectra.c.recording.test_programs import FRAMEWORKS, program_suite
from suspectra.c.recording.whole_programs import WholeProgram
from suspectra.evidence.c.source import CRecordingSource
from suspectra.evidence.c.store import FOLDER, CRecording, StoredObject
from suspectra.evidence.c.writer import CRecorder
from suspectra.evidence.evidence import TestResult, Verdict
from suspectra.localizer import Localizer
from suspectra.processes.events import ProgramEnded, Stopped
from suspectra.techniques import make_technique


def shell(program, text, **options):
    """Record a list of shell commands; ./build/program is the program under test."""
    (program.workspace / "tests.sh").write_text(textwrap.dedent(text))
    suite = shell_suite(program.workspace, "tests.sh", options.pop("expect_stdout", None))
    return record_c(program.workspace, suite, build=["build"], **options)


def verdicts(run):
    return {test.name: test.verdict.value for test in run.tests}


def messages(run):
    return {test.name: test.message for test in run.tests}


def texts(problems):
    return " / ".join(map(str, problems))


def lines_of(evidence, test):
    index = [result.name for result in evidence.tests].index(test)
    return {str(evidence.elements.location(int(i))) for i in evidence.rows[index]}


# suites -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reckoner(build_reckoner, tmp_path_factory):
    """The example, configured and built."""
    return build_reckoner(tmp_path_factory.mktemp("reckoner") / "reckoner")


@pytest.mark.slow
def test_a_ctest_suite_ranks_the_fault_of_the_example_first(reckoner, tool):
    run = record_c(reckoner, ctest_suite(reckoner, "build"))
    assert not run.problems
    assert len(run.tests) == 40
    failed = {test.name: test for test in run.tests if test.verdict.failing}
    assert set(failed) == {"largest_below_zero", "largest_of_negations"}
    listing = (reckoner / "tests" / "CMakeLists.txt").read_text().splitlines()
    place = failed["largest_below_zero"].location
    assert place.file == "tests/CMakeLists.txt"
    assert "largest_below_zero" in listing[place.line - 1]
    evidence = CRecordingSource(reckoner).read()
    assert not evidence.problems
    report = make_technique("ochiai").localize(evidence.spectrum())
    top = {evidence.elements.function_name(int(i)) for i in report.order[:4]}
    assert top == {"largest"}
    source = (reckoner / "src" / "evaluate.c").read_text().splitlines()
    best = [evidence.elements.location(int(i)) for i in report.order[:4]]
    assert any("fault:" in source[place.line - 1] for place in best if place.file == "src/evaluate.c")
    junit = reckoner / "build" / "junit.xml"
    ctest = [tool("ctest", "cmake"), "--output-junit", str(junit)]
    subprocess.run(ctest, cwd=reckoner / "build", capture_output=True, check=False)
    again = record_c(reckoner, ctest_suite(reckoner, "build"), junit=junit)
    assert verdicts(again) == verdicts(run)


@pytest.fixture
def ctest_project(tool):
    def make(folder, lists):
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.14)\nproject(suite NONE)\nenable_testing()\n" + textwrap.dedent(lists)
        )
        subprocess.run([tool("cmake", "cmake"), "-S", ".", "-B", "build"], cwd=folder, check=True, capture_output=True)
        return ctest_suite(folder, "build")

    return make


def test_ctest_properties_decide_as_ctest_does(tmp_path, ctest_project, tool):
    suite = ctest_project(
        tmp_path,
        """\
        add_test(NAME fails COMMAND sh -c "exit 3")
        add_test(NAME must_fail COMMAND sh -c "exit 3")
        add_test(NAME should_fail COMMAND true)
        set_tests_properties(must_fail should_fail PROPERTIES WILL_FAIL TRUE)
        add_test(NAME prints COMMAND sh -c "echo two words; exit 1")
        add_test(NAME prints_other COMMAND echo none)
        set_tests_properties(prints prints_other PROPERTIES PASS_REGULAR_EXPRESSION "^two [a-z]+;never")
        add_test(NAME complains COMMAND sh -c "echo 'ERROR: x' >&2")
        set_tests_properties(complains PROPERTIES FAIL_REGULAR_EXPRESSION "ERROR:")
        add_test(NAME skips COMMAND sh -c "exit 77")
        set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
        add_test(NAME hangs COMMAND sleep 60)
        set_tests_properties(hangs PROPERTIES TIMEOUT 0.3)
        add_test(NAME crashes COMMAND sh -c "kill -SEGV $$")
        set_tests_properties(crashes PROPERTIES WILL_FAIL TRUE)
        add_test(NAME where COMMAND pwd WORKING_DIRECTORY /)
        set_tests_properties(where PROPERTIES PASS_REGULAR_EXPRESSION "^/\\n$")
        add_test(NAME surroundings COMMAND sh -c "echo $A-$B")
        set_tests_properties(surroundings PROPERTIES ENVIRONMENT "A=1;B=2 3" PASS_REGULAR_EXPRESSION "1-2 3")
        add_test(NAME off COMMAND false)
        set_tests_properties(off PROPERTIES DISABLED TRUE)
        add_test(NAME lacks COMMAND true)
        set_tests_properties(lacks PROPERTIES REQUIRED_FILES /no/such/file)
        add_test(NAME unbuilt COMMAND no-such-program)
        """,
    )
    run = record_c(tmp_path, suite)
    ours = verdicts(run)
    assert ours == {
        "fails": "failed",
        "must_fail": "passed",
        "should_fail": "failed",
        "prints": "passed",
        "prints_other": "failed",
        "complains": "failed",
        "skips": "skipped",
        "hangs": "failed",
        "crashes": "failed",
        "where": "passed",
        "surroundings": "passed",
        "off": "skipped",
        "lacks": "skipped",
        "unbuilt": "skipped",
    }
    done = subprocess.run([tool("ctest", "cmake")], cwd=tmp_path / "build", capture_output=True, text=True, check=False)
    for name, verdict in ours.items():
        line = next(line for line in done.stdout.splitlines() if f" {name} ." in line)
        assert ("Passed" in line) == (verdict == "passed"), line
    assert messages(run)["hangs"] == "timed out after 0.3 s"
    assert "no test left a profile" in texts(run.problems)
    assert "requires is missing" in texts(run.problems)


def test_of_several_configurations_the_default_one_is_taken(tmp_path):
    cache = "CMAKE_HOME_DIRECTORY:INTERNAL=/there\nCMAKE_CONFIGURATION_TYPES:STRING=Debug;Release\n"
    (tmp_path / "CMakeCache.txt").write_text(f"{cache}CMAKE_GENERATOR:INTERNAL=Ninja\n")
    assert default_configuration(tmp_path) is None
    (tmp_path / "CMakeCache.txt").write_text(f"{cache}CMAKE_GENERATOR:INTERNAL=Ninja Multi-Config\n")
    assert default_configuration(tmp_path) == "Debug"


def test_tests_of_several_folders_may_have_the_same_name(tmp_path, ctest_project):
    for folder, status in (("first", 0), ("second", 1)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "CMakeLists.txt").write_text(f'add_test(NAME sum COMMAND sh -c "exit {status}")\n')
    ctest_project(tmp_path, "add_subdirectory(first)\nadd_subdirectory(second)\nadd_test(NAME tax COMMAND true)\n")
    asked = ctest_command(["ctest", "--test-dir", str(tmp_path / "build"), "-R", "sum"], tmp_path)
    assert asked.select == ["sum", "sum (2)"]
    run = record_c(tmp_path, asked.suite)
    assert verdicts(run) == {"tax": "passed", "sum": "passed", "sum (2)": "failed"}


def test_fixtures_locks_and_order_are_kept(tmp_path, ctest_project):
    log = tmp_path / "log"
    suite = ctest_project(
        tmp_path,
        f"""\
        foreach(name user setup cleanup other last)
          add_test(NAME ${{name}} COMMAND sh -c "echo +${{name}} >> {log}; sleep 0.05; echo -${{name}} >> {log}")
        endforeach()
        set_tests_properties(setup PROPERTIES FIXTURES_SETUP F)
        set_tests_properties(cleanup PROPERTIES FIXTURES_CLEANUP F)
        set_tests_properties(user PROPERTIES FIXTURES_REQUIRED F RESOURCE_LOCK r)
        set_tests_properties(other PROPERTIES RESOURCE_LOCK r)
        set_tests_properties(last PROPERTIES RUN_SERIAL TRUE DEPENDS other)
        add_test(NAME broken COMMAND false)
        set_tests_properties(broken PROPERTIES FIXTURES_SETUP G)
        add_test(NAME needs_broken COMMAND true)
        set_tests_properties(needs_broken PROPERTIES FIXTURES_REQUIRED G)
        """,
    )
    run = record_c(tmp_path, suite, jobs=4)
    assert verdicts(run)["needs_broken"] == "skipped"
    assert "its fixture G was not set up by broken" in messages(run)["needs_broken"]
    order = log.read_text().split()

    def span(name):
        return range(order.index(f"+{name}"), order.index(f"-{name}"))

    assert span("setup").stop < span("user").start
    assert span("user").stop < span("cleanup").start
    assert span("other").stop < span("last").start
    assert not set(span("user")) & set(span("other"))
    assert len(span("last")) == 1  # nothing else ran beside it
    log.unlink()
    record_c(tmp_path, suite, select=["user"])
    assert {word[1:] for word in log.read_text().split()} == {"setup", "user", "cleanup"}
    with pytest.raises(UsageError, match="no such test"):
        record_c(tmp_path, suite, select=["nobody"])


def test_a_folder_without_tests_is_refused(tmp_path, tool):
    tool("ctest", "cmake")
    with pytest.raises(EvidenceError):
        ctest_suite(tmp_path, ".")


GTEST_LIKE = r"""
#include <stdio.h>
#include <string.h>
/* speaks GoogleTest's command line: lists, filters, writes XML */
int triple(int n) {
    if (n > 9)
        return n;
    return 3 * n;
}
static int wanted(int argc, char **argv, const char *name) {
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--gtest_filter=", 15) == 0)
            return strcmp(argv[i] + 15, name) == 0;
    return 1;
}
static void report(int argc, char **argv, const char *name, const char *inner) {
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--gtest_output=xml:", 19) == 0) {
            FILE *file = fopen(argv[i] + 19, "w");
            fprintf(file, "<testsuites><testsuite><testcase name=\"%s\" file=\"suite.c\" line=\"7\">%s</testcase>"
                          "</testsuite></testsuites>", name, inner);
            fclose(file);
        }
}
int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--gtest_list_tests") == 0) {
        printf("Running main() from somewhere\nTriple.\n  Small\n  Large  # GetParam() = 4\n");
        printf("  DISABLED_Odd\nSkip.\n  Me\n");
        return 0;
    }
    int failed = 0;
    if (wanted(argc, argv, "Triple.Small")) failed |= triple(2) != 6;
    if (wanted(argc, argv, "Triple.Large") && triple(10) != 30) {
        report(argc, argv, "Large", "<failure message=\"suite.c:7&#x0A;Expected 30&#x0A;  got 10\"/>");
        failed = 1;
    }
    if (wanted(argc, argv, "Skip.Me")) report(argc, argv, "Me", "<skipped message=\"not here\"/>");
    return failed;
}
"""


def test_googletest_programs_run_test_by_test(build_c):
    program = build_c({"suite.c": GTEST_LIKE})
    suite = program_suite(program.workspace, ["build/program"])
    assert [case.name for case in suite.cases] == ["Triple.Small", "Triple.Large", "Triple.DISABLED_Odd", "Skip.Me"]
    run = record_c(program.workspace, suite)
    assert verdicts(run) == {
        "Triple.Small": "passed",
        "Triple.Large": "failed",
        "Triple.DISABLED_Odd": "skipped",
        "Skip.Me": "skipped",
    }
    large = next(test for test in run.tests if test.name == "Triple.Large")
    assert large.message == "suite.c:7 Expected 30 got 10"
    assert large.location == Location("suite.c", 7, 7)
    evidence = CRecordingSource(program.workspace).read()
    assert "suite.c:7" in lines_of(evidence, "Triple.Large")
    assert "suite.c:7" not in lines_of(evidence, "Triple.Small")
    assert not program.profile("suite").exists()  # listing left nothing in the build folder
    with pytest.raises(EvidenceError, match="there is no such program"):
        program_suite(program.workspace, ["build/nothing"])


CATCH_LIKE = r"""
#include <stdio.h>
#include <string.h>
/* speaks Catch2's command line; the first line of its source says which version */
int main(int argc, char **argv) {
    if (argc > 3 && strcmp(argv[1], "--list-tests") == 0 && VERSION == 3) {
        printf("<?xml version=\"1.0\"?><MatchingTests><TestCase><Name>adds, twice</Name><SourceInfo><File>c.c</File>"
               "<Line>5</Line></SourceInfo></TestCase><TestCase><Name>fails</Name></TestCase></MatchingTests>");
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--list-tests") == 0) {
        printf("All available test cases:\n  adds, twice\n  fails\n");
        return 2;
    }
    if (argc > 1 && strcmp(argv[1], "--list-test-names-only") == 0) {
        printf("adds, twice\nfails\n");
        return 2;
    }
    if (strcmp(argv[1], "adds\\, twice") == 0)
        return 0;
    FILE *file = fopen(argv[5], "w");
    fprintf(file, "<testsuites><testcase name=\"fails\"><failure message=\"1 == 2\"/></testcase></testsuites>");
    fclose(file);
    return 1;
}
"""


@pytest.mark.parametrize("version", [2, 3])
def test_catch2_programs_run_test_by_test(build_c, version):
    program = build_c({"c.c": f"#define VERSION {version}\n" + CATCH_LIKE})
    catch2 = next(one for one in FRAMEWORKS if one.name == "Catch2")
    run = record_c(program.workspace, program_suite(program.workspace, ["build/program"], catch2))
    assert verdicts(run) == {"adds, twice": "passed", "fails": "failed"}
    assert messages(run)["fails"] == "1 == 2"
    places = {test.name: test.location for test in run.tests}
    assert places["adds, twice"] == (Location("c.c", 5, 5) if version == 3 else None)


def test_cases_that_print_a_failure_are_compared_by_what_they_print_alone():
    """doctest prints failures of cases that are to fail, and names that several cases have."""
    doctest = next(one for one in FRAMEWORKS if one.name == "doctest")
    whole = CCase("t", ("./t",), "/")
    names = ("to fail", "same", "same (2)", "disturbed", "needs others")
    cases = tuple(CCase(name, ("./t",), "/", whole=whole) for name in names)
    alone = {name: TestResult(name, Verdict.PASSED) for name in names}
    alone |= {name: TestResult(name, Verdict.FAILED) for name in ("same (2)", "needs others")}
    output = "".join(f"TEST CASE:  {name}\n" for name in ("to fail", "same", "disturbed"))
    together = TestResult("t", Verdict.FAILED)
    program = WholeProgram(whole, cases, doctest)
    differs, said = program.differences(together, output, alone, ["to fail"], completed=True)
    assert differs
    assert [(problem.file, problem.cause.partition(",")[0]) for problem in said] == [
        ("needs others", "this test fails alone"),
        ("disturbed", "this test passes alone"),
    ]


def test_cases_that_a_run_of_all_did_not_reach_are_not_compared():
    boost = next(one for one in FRAMEWORKS if one.name == "Boost.Test")
    whole = CCase("t", ("./t",), "/")
    cases = tuple(CCase(name, ("./t",), "/", whole=whole) for name in ("outer/crash", "rows/_0"))
    alone = {case.name: TestResult(case.name, Verdict.FAILED) for case in cases}
    output = 'a.cpp(1): fatal error: in "outer/crash": memory access violation at address: 0x00: no mapping\n'
    together = TestResult("t", Verdict.FAILED)
    program = WholeProgram(whole, cases, boost)
    assert program.differences(together, output, alone, completed=True) == (False, [])


def test_the_message_is_what_failed_and_no_header():
    printed = {
        "[ RUN      ] a_failure\n[  ERROR   ] --- 1 != 2\n[  FAILED  ] a_failure\n": "[  ERROR   ] --- 1 != 2",
        "0%: Checks: 1, Failures: 1, Errors: 0\nt.c:7:F:core:one:0: Assertion 'a == b' failed\n": (
            "t.c:7:F:core:one:0: Assertion 'a == b' failed"
        ),
        "+ (no error)\n0 errors before\n- (reader error)\n": "- (reader error)",
        "# Assert cursor failed:\n# Expected: 1,0\n": "# Assert cursor failed: # Expected: 1,0",
        "[  FAILED  ] wrong\n": "[  FAILED  ] wrong",  # there is nothing else
    }
    case = CCase("t", ("./t",), "/")
    assert {text: judge(case, ProgramEnded(1, stdout=text.encode()))[1] for text in printed} == printed


def test_a_command_for_each_file_or_line(build_c):
    program = build_c()
    tests = program.workspace / "inputs"
    tests.mkdir()
    for part in ("l5", "s 9", "nonsense"):
        (tests / part).write_text("")
    (program.workspace / "list.txt").write_text("# parts\nl5\nc4\nnonsense\n")
    suite = command_suite(program.workspace, "./build/program '{test}'", "list.txt")
    run = record_c(program.workspace, suite, build=["build"])
    assert verdicts(run) == {"l5": "passed", "c4": "passed", "nonsense": "failed"}
    assert messages(run)["nonsense"] == "error: no part nonsense"
    assert run.tests[0].location.file == "list.txt"
    by_glob = command_suite(program.workspace, "cat {test}", "inputs/*")
    assert [case.name for case in by_glob.cases] == ["inputs/l5", "inputs/nonsense", "inputs/s 9"]
    assert by_glob.cases[2].argv == ("cat", "inputs/s 9")
    for template, tests, word in (
        ("./p", "list.txt", "where the test goes"),
        ("./p '{test}", "list.txt", "can't be split"),
        ("./p {test}", "none*", "names no test"),
        ("./p {test}", "missing.txt", "can't be read"),
    ):
        with pytest.raises(UsageError, match=word):
            command_suite(program.workspace, template, tests)


def test_expected_output_decides(build_c):
    program = build_c()
    expected = program.workspace / "expected"
    expected.mkdir()
    (expected / "right.out").write_text("10\n")
    (expected / "wrong").write_text("10\n11\n")
    (expected / "exits.txt").write_text("leaving\n")
    run = shell(
        program,
        """\
        right\t./build/program c14 | sed s/.*/10/
        wrong\t./build/program c14 | sed s/.*/10/
        exits\t./build/program x3
        unknown\t./build/program c1
        """,
        expect_stdout="expected",
    )
    assert verdicts(run) == {"right": "passed", "wrong": "failed", "exits": "passed", "unknown": "skipped"}
    assert messages(run)["wrong"] == "output line 2: nothing, expected '11'"
    assert "1 tests (unknown) have no file of expected output" in texts(run.problems)


def test_the_message_shows_where_lines_differ(build_c):
    program = build_c()
    for name, text in (("long", "x" * 300 + "ab\n"), ("short", "xa\n"), ("newline", "10"), ("more", "")):
        (program.workspace / name).write_text(text)
    run = shell(
        program,
        """\
        long\t./build/program c14 >/dev/null; printf '%0300dac\\n' 0 | tr 0 x
        short\t./build/program c14 >/dev/null; printf 'xb\\n'
        newline\t./build/program c14 | sed s/.*/10/
        more\t./build/program c14 | sed s/.*/nothing/
        """,
        expect_stdout=".",
    )
    alike = "…'" + "x" * 39
    assert messages(run) == {
        "long": f"output line 1: {alike}ac', expected {alike}ab'",
        "short": "output line 1: 'xb', expected 'xa'",
        "newline": "output line 1: '10\\n', expected '10'",
        "more": "output line 1: 'nothing', expected nothing",
    }


# endings ------------------------------------------------------------------------------------------------------------


def test_a_crash_keeps_its_profile_up_to_there(exporting_c):
    run = shell(exporting_c, "crash\t./build/program l3 v1\nabort\t./build/program s5 a1\nfine\t./build/program c1\n")
    assert verdicts(run) == {"crash": "failed", "abort": "failed", "fine": "passed"}
    assert messages(run)["crash"] == "crashed: SIGSEGV"
    assert messages(run)["abort"].startswith("crashed: SIGABRT")
    assert not run.problems
    evidence = CRecordingSource(exporting_c.workspace).read()
    text = (exporting_c.workspace / "flow.c").read_text().splitlines()
    crash = 1 + next(i for i, line in enumerate(text) if "*nowhere = before" in line)
    assert {f"flow.c:{crash}", "flow.c:15"} <= lines_of(evidence, "crash")
    assert "shared.h:6" in lines_of(evidence, "abort")
    stack = evidence.stacks["crash"]
    assert (stack.exception, stack.innermost.file, stack.innermost.line) == ("SIGSEGV", "flow.c", crash)
    assert [frame.function for frame in stack.frames] == ["main"]
    assert evidence.spectrum().raised.tolist().count(-1) == 1  # of the test that passed
    assert evidence.stacks["abort"].exception == "SIGABRT"


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ("crash\t./program\nfine\ttrue\n", "no test left a profile"),
        ("crash\t./program\n", "SIGSEGV and left no profile"),
    ],
)
def test_a_crash_of_a_program_without_coverage_is_said_once(tmp_path, tests, said):
    (tmp_path / "program.c").write_text("int main(void) { return *(volatile int *)0; }\n")
    subprocess.run(["gcc", "-g", "program.c", "-o", "program"], cwd=tmp_path, check=True)
    (problem,) = shell(SimpleNamespace(workspace=tmp_path), tests).problems
    assert said in problem.cause


def test_a_crash_of_a_stripped_program_counts_and_is_said(build_c, tool):
    program = build_c()
    subprocess.run([tool("strip", "binutils"), program.program], check=True)
    run = shell(program, "crash\t./build/program l3 v1\nfine\t./build/program c1\n")
    assert "left no profile" in texts(run.problems)
    assert "do not strip it" in texts(run.problems)
    evidence = CRecordingSource(program.workspace).read()
    assert {test.name: test.verdict.value for test in evidence.tests} == {"crash": "failed", "fine": "passed"}
    assert not lines_of(evidence, "crash")


CMAKE = """\
cmake_minimum_required(VERSION 3.10)
project(sums C)
set(CMAKE_C_FLAGS "${CMAKE_C_FLAGS} -O0 --coverage")
enable_testing()
add_library(sum SHARED sum.c)
add_executable(test_sum test_sum.c)
target_link_libraries(test_sum sum)
add_test(NAME right COMMAND test_sum 3)
add_test(NAME wrong COMMAND test_sum -3)
"""


def test_a_plain_assert_keeps_its_profile_and_says_why(tmp_path, tool):
    """A CMake project as anybody would write it: nothing is linked for us, and the code under test is a library."""
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "sum.c").write_text("int absolute(int a) {\n    if (a < 0)\n        return a;\n    return a;\n}\n")
    (tmp_path / "test_sum.c").write_text(
        "#include <assert.h>\n#include <stdlib.h>\nint absolute(int);\n"
        "int main(int argc, char **argv) {\n    assert(absolute(atoi(argv[1])) == 3);\n    return argc == 9;\n}\n"
    )
    cmake = tool("cmake", "cmake")
    subprocess.run([cmake, "-S", tmp_path, "-B", tmp_path / "build"], check=True, capture_output=True)
    subprocess.run([cmake, "--build", tmp_path / "build"], check=True, capture_output=True)
    run = record_c(tmp_path, ctest_suite(tmp_path, tmp_path / "build"))
    assert verdicts(run) == {"right": "passed", "wrong": "failed"}
    assert messages(run)["wrong"].startswith("crashed: SIGABRT: test_sum: ")
    assert messages(run)["wrong"].endswith("Assertion `absolute(atoi(argv[1])) == 3' failed.")
    evidence = CRecordingSource(tmp_path).read()
    assert {"sum.c:2", "sum.c:3"} <= lines_of(evidence, "wrong")
    stack = evidence.stacks["wrong"]
    assert (str(stack), stack.assertion) == ("SIGABRT: absolute(atoi(argv[1])) == 3 at test_sum.c:5 in main", True)
    report = Localizer(make_technique("ochiai")).update(evidence)
    first = report.suspects(top=1)[0].location
    assert (first.file, first.line) == ("sum.c", 3)


SANITIZED = """\
#include <stdlib.h>
int get(const char *text, int at) {
    return text[at];
}
int sum(int a, int b) {
    return a + b;
}
int main(int argc, char **argv) {
    char *text = calloc(1, 1);
    int result = argv[1][0] == 'o' ? get(text, 5) : argv[1][0] == 'u' ? sum(2147483647, argc) : 0;
    free(text);
    return result != 0;
}
"""


def test_sanitizers_say_where_and_keep_the_profile(tmp_path, tool):
    (tmp_path / "a.c").write_text(SANITIZED)
    flags = ["-g", "--coverage", "-fsanitize=address,undefined", "a.c", "-o", "a"]
    subprocess.run([tool("gcc", "gcc"), *flags], cwd=tmp_path, check=True)
    (tmp_path / "tests.txt").write_text("over\t./a o\nunder\t./a u\nfine\t./a f\n")
    run = record_c(tmp_path, shell_suite(tmp_path, "tests.txt"))
    assert verdicts(run) == {"over": "failed", "under": "failed", "fine": "passed"}
    evidence = CRecordingSource(tmp_path).read()
    assert str(evidence.stacks["over"]) == "heap-buffer-overflow: READ of size 1 at a.c:3 in get"
    assert str(evidence.stacks["under"]).startswith("signed integer overflow: 2147483647 + 2 cannot be represented")
    assert evidence.stacks["under"].innermost.line == 6
    assert "a.c:3" in lines_of(evidence, "over")


def test_calls_are_looked_up_where_their_code_is_mapped(tmp_path):
    mapping = "1000-2000 r--p 00000000 00:00 1 /app/lib.so\n2000-4000 r-xp 00001000 00:00 1 /app/lib.so\n"
    anonymous = "5000-6000 r-xp 00000000 00:00 0\n7000-8000 r-xp 00000000 00:00 0 [vdso]\n"
    text = f"!2100\n2201\n5001\n7001\n2301 2f\n\n{mapping}{anonymous}"
    called = [(call.file, call.address, call.calling, call.times) for call in calls_in_files(text)]
    library = "/app/lib.so"
    assert called == [(library, 0x1100, False, 1), (library, 0x1200, True, 1), (library, 0x1300, True, 47)]
    for damaged in ("", "zz\n\n", "2100", f"{'f' * 99}\n2100\n\n{mapping}", "2100\n2100\n\n9-z r /x\n"):
        assert {call.file for call in calls_in_files(damaged)} <= {"/app/lib.so"}
    problems = []
    assert CrashCalls().read(str(tmp_path / "none"), problems) == []
    (tmp_path / "calls.12").write_text(text)
    assert CrashCalls().read(str(tmp_path / "calls"), problems) == []
    assert "compile it with -g" in texts(problems)


def test_the_handler_can_be_linked_instead(build_c):
    from suspectra.c.recording.crash_handler import HANDLER

    workspace = build_c().workspace
    sources = {name: (workspace / name).read_text() for name in ("flow.c", "other.c")}
    sources |= {path.name: path.read_text() for path in (HANDLER, HANDLER.with_name("recorded_calls.h"))}
    program = build_c(sources, flags=("-O0", "-DSUSPECTRA_LINKED"), workspace=workspace)
    run = shell(program, "crash\t./build/program l3 v1\n", crash_handler=False)
    assert "SIGSEGV, and the calls that were under way are not known" in texts(run.problems)
    assert "flow.c:15" in lines_of(CRecordingSource(workspace).read(), "crash")


def test_a_test_that_hangs_is_stopped_with_all_it_started(exporting_c):
    begun = time.monotonic()
    run = shell(
        exporting_c, "hangs\t./build/program s9 w1 & ./build/program w1\nfine\t./build/program c1\n", timeout=0.5
    )
    assert time.monotonic() - begun < 30
    assert verdicts(run) == {"hangs": "failed", "fine": "passed"}
    assert messages(run)["hangs"] == "timed out after 0.5 s"
    assert not run.problems
    assert "flow.c:77" in lines_of(CRecordingSource(exporting_c.workspace).read(), "hangs")


def test_cancelling_keeps_what_ended(build_c):
    program = build_c()
    cancel = Token()
    done = []

    def stop(count, total, result):
        done.append((count, total, result.name))
        cancel.cancelled = True

    (program.workspace / "tests.sh").write_text("first\t./build/program c1\nlong\tsleep 100\nnever\ttrue\n")
    suite = shell_suite(program.workspace, "tests.sh")
    run = record_c(program.workspace, suite, build=["build"], jobs=2, cancel=cancel, progress=stop)
    assert run.cancelled
    assert done == [(1, 3, "first")]
    assert [test.name for test in CRecordingSource(program.workspace).read().tests] == ["first"]


def test_too_much_output_ends_a_test(build_c, monkeypatch):
    monkeypatch.setattr("suspectra.processes.runner.MAX_OUTPUT", 1000)
    run = shell(build_c(), "loud\tyes\nquiet\ttrue\n")
    assert messages(run)["loud"] == "wrote too much output"


def test_what_the_profiling_runtime_complains_about_is_said(build_c):
    run = shell(build_c(), "bad\techo 'libgcov profiling error:/x/a.gcda:overwriting an existing profile data' >&2\n")
    assert "its coverage is not complete" in texts(run.problems)


@pytest.mark.parametrize(
    ("case", "ending", "verdict"),
    [
        ({}, ProgramEnded(0), "passed"),
        ({}, ProgramEnded(1), "failed"),
        ({"will_fail": True}, ProgramEnded(1), "passed"),
        ({"will_fail": True}, ProgramEnded(None, signal.SIGSEGV), "failed"),
        ({"pass_patterns": ("ok",)}, ProgramEnded(1, stderr=b"it is ok"), "passed"),
        ({"pass_patterns": ("ok",), "fail_patterns": ("is",)}, ProgramEnded(0, stdout=b"it is ok"), "failed"),
        ({"skip_patterns": ("not here",)}, ProgramEnded(1, stdout=b"not here"), "skipped"),
        ({"timeout": 2.0}, ProgramEnded(None, signal.SIGTERM, stopped=Stopped.TIMEOUT), "failed"),
    ],
)
def test_endings_are_judged_as_by_ctest(case, ending, verdict):
    judged, message = judge(CCase("t", ("t",), "/", **case), ending)
    assert judged.value == verdict
    assert bool(message) == (verdict != "passed")


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a", "b\na", False),
        ("a$", "a\n", False),
        ("[0-9]+", "x12", True),
        ("[]x]", "]", True),
        ("[^]x]", "]x", False),
        ("a\\.b", "a.b", True),
        ("\\d", "5", False),
        ("\\d", "d", True),
        ("a.b", "a\nb", True),
        ("{1}", "x{1}", True),
        ("(a|b)+c", "abc", True),
        ("(", "(", True),
    ],
)
def test_cmake_patterns(pattern, text, found):
    assert bool(cmake_pattern(pattern).search(text)) == found


def test_environment_modifications():
    environment = {"A": "1", "L": "x"}
    for change in (
        "A=string_append:2",
        "B=set:v",
        "L=cmake_list_append:y",
        "A=string_prepend:0",
        "B=unset:",
        "HOME=set:h",
    ):
        modify(environment, change)
    assert environment == {"A": "012", "L": "x;y", "HOME": "h"}
    modify(environment, "HOME=reset:")
    assert environment.get("HOME") == os.environ.get("HOME")


# the store ----------------------------------------------------------------------------------------------------------


def test_recording_equals_reading_the_profiles(build_c, tmp_path):
    from suspectra.evidence.c.profiles import GcovRawSource

    program = build_c()
    run = shell(program, "a\t./build/program l5 c3\nb\t./build/program s9\nc\t./build/program nonsense\n")
    for name, part in (("a", ["l5", "c3"]), ("b", ["s9"]), ("c", ["nonsense"])):
        program.run(*part, prefix=tmp_path / name)
    raw = GcovRawSource(program.workspace, tmp_path, outcomes={test.name: test for test in run.tests}).read()
    kept = CRecordingSource(program.workspace).read()
    for test in "abc":
        assert lines_of(raw, test) == lines_of(kept, test)
    order = [[t.name for t in kept.tests].index(t.name) for t in raw.tests]
    for at, there in enumerate(order):
        assert np.array_equal(raw.edges.rows[at], kept.edges.rows[there])
        assert np.array_equal(raw.edges.counts[at], kept.edges.counts[there])
    assert {file.path: file.digest for file in raw.files} == {file.path: file.digest for file in kept.files}


TESTS = "a\t./build/program l5\nb\t./build/program s9\nc\t./build/program nonsense\n"


def test_a_later_run_of_some_tests_replaces_their_rows_only(build_c):
    program = build_c()
    shell(program, TESTS)
    source = CRecordingSource(program.workspace)
    first = source.read()
    assert source.read() is first
    shell(program, TESTS.replace("l5", "c1"), select=["a"])
    second = source.read()
    rows = {test.name: row for test, row in zip(first.tests, first.rows, strict=True)}
    same = {test.name: row is rows[test.name] for test, row in zip(second.tests, second.rows, strict=True)}
    assert same == {"a": False, "b": True, "c": True}
    assert second.elements is first.elements
    assert second.edges.edges is first.edges.edges
    assert "flow.c:15" not in lines_of(second, "a")
    shell(program, "b\t./build/program s9\n")  # a whole run: what is no longer in the suite goes
    assert [test.name for test in source.read().tests] == ["b"]


def test_a_rebuild_keeps_the_rows_of_what_did_not_change(build_c):
    program = build_c()
    shell(program, TESTS)
    before = lines_of(CRecordingSource(program.workspace).read(), "a")
    sources = {name: (program.workspace / name).read_text() for name in ("flow.c", "other.c")}
    moved = sources["flow.c"].replace("static jmp_buf back;", "\n\nstatic jmp_buf back;")
    moved = moved.replace("return n < 2 ? n :", "return n == 7 ? 8 : n < 2 ? n :")  # another control flow
    build_c({**sources, "flow.c": moved}, workspace=program.workspace)
    shell(program, TESTS, select=["c"])
    evidence = CRecordingSource(program.workspace).read()
    after = lines_of(evidence, "a")
    shifted = {f"flow.c:{int(line.partition(':')[2]) + 2}" for line in before if line.startswith("flow.c")}
    assert {line for line in after if line.startswith("flow.c")} == shifted
    assert "1 of its functions (recursion) changed since some tests were recorded" in texts(evidence.problems)
    assert (program.workspace / "flow.c").exists()


def test_a_torn_log_loses_its_last_record_only(build_c):
    program = build_c()
    shell(program, TESTS)
    log = program.workspace / FOLDER / "tests.log"
    whole = log.read_bytes()
    names = set()
    for cut in range(len(whole) - 1, len(whole) - 400, -37):
        log.write_bytes(whole[:cut])
        evidence = CRecordingSource(program.workspace).read()
        assert "its last record is not whole" in texts(evidence.problems)
        names.add(len(evidence.tests))
    assert 3 in names
    shell(program, "a\t./build/program l5\n", select=["a"])
    evidence = CRecordingSource(program.workspace).read()
    assert "not whole" not in texts(evidence.problems)
    assert lines_of(evidence, "a")
    log.write_bytes(whole[:40] + b"\xff" + whole[41:])
    with pytest.raises(EvidenceError, match="not whole"):
        CRecordingSource(program.workspace).read()
    log.write_bytes(b"something else")
    with pytest.raises(EvidenceError, match="not a recording, or was made by another version"):
        CRecordingSource(program.workspace).read()
    log.unlink()
    with pytest.raises(EvidenceError, match="there is no recording"):
        CRecordingSource(program.workspace).read()


def test_a_recorder_that_is_killed_leaves_every_finished_test(build_c):
    program = build_c()
    (program.workspace / "tests.sh").write_text(TESTS + "long\tsleep 100\n")
    script = (
        "import sys; from suspectra.c.recording.run import record_c; "
        "from suspectra.c.recording.suites import shell_suite; "
        "record_c(sys.argv[1], shell_suite(sys.argv[1], 'tests.sh'), build=['build'], jobs=1, "
        "progress=lambda done, total, test: print(done, flush=True))"
    )
    command = [sys.executable, "-c", script, str(program.workspace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.stdout.readline().strip() != "3":
            pass
        process.kill()
    evidence = CRecordingSource(program.workspace).read()
    assert [test.name for test in evidence.tests] == ["a", "b", "c"]
    assert not shell(program, TESTS).cancelled  # the lock died with the process


def test_one_recorder_at_a_time(tmp_path):
    with CRecorder(tmp_path, {}), pytest.raises(UsageError, match="another recording"):
        CRecorder(tmp_path, {})


def test_outdated_records_are_cleared_away(tmp_path):
    blob = [os.urandom(200_000)]
    for _ in range(12):
        with CRecorder(tmp_path, {}) as recorder:
            digest = hashlib.sha256(b"notes").hexdigest()
            number = recorder.add_object(StoredObject("/x/a.gcno", digest, {}), b"notes")
            fields = {"verdict": "passed", "message": "", "seconds": 0, "location": None, "problems": []}
            recorder.add_test("a", fields, [number], blob)
    recording = CRecording(tmp_path / FOLDER)
    recording.update()
    assert list(recording.tests) == ["a"]
    assert recording.log.stat().st_size < 2_000_000
    assert recording.notes(recording.objects[recording.newest["/x/a.gcno"]].digest) == b"notes"


def test_damaged_notes_in_the_store_are_said(build_c):
    program = build_c()
    shell(program, TESTS)
    for path in (program.workspace / FOLDER / "objects").iterdir():
        path.write_bytes(b"x")
    evidence = CRecordingSource(program.workspace).read()
    assert not evidence.files
    assert "the notes of a recorded object can't be read" in texts(evidence.problems)


def test_programs_without_coverage_are_said(tmp_path):
    (tmp_path / "tests.sh").write_text("true\n")
    run = record_c(tmp_path, shell_suite(tmp_path, "tests.sh"))
    assert verdicts(run) == {"t1": "passed"}
    assert "no test left a profile" in texts(run.problems)
    missing = CSuite((CCase("x", ("/no/such/program",), str(tmp_path)),))
    run = record_c(tmp_path, missing)
    assert run.tests[0].verdict is Verdict.SKIPPED
    assert "can't be started" in texts(run.problems)
