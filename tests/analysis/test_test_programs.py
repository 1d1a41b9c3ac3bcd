"""Cases of test programs: listed and chosen as each framework wants it, and compared with the whole program."""

import subprocess
from types import SimpleNamespace

import pytest

from suspectra.base.location import Location
from suspectra.c.recording import test_programs
from suspectra.c.recording.automake import automake_suite
from suspectra.c.recording.case import CCase, judge
from suspectra.c.recording.run import record_c
from suspectra.c.recording.suite import CSuite
from suspectra.c.recording.test_programs import FRAMEWORKS, TestProgram, divided, framework_of, program_suite
from suspectra.c.recording.whole_programs import WholeProgram
from suspectra.evidence.c.source import CRecordingSource
from suspectra.evidence.evidence import TestResult, Verdict
from suspectra.processes.events import ProgramEnded

DOCTEST = """\
<?xml version="1.0" encoding="UTF-8"?>
<doctest binary="./d" version="2.4.9">
  <TestCase name="even, twice" filename="d.cpp" line="4" skipped="false"/>
  <TestCase name="odd [x] &quot;q&quot; *" filename="d.cpp" line="5" skipped="false"/>
  <TestCase name="even, twice" testsuite="s" filename="d.cpp" line="6" skipped="false"/>
  <OverallResultsTestCases unskipped="3"/>
</doctest>
"""
BOOST = """\
digraph G {rankdir=LR;
tu1[shape=ellipse,peripheries=2,fontname=Helvetica,color=green,label="mod"];
{
tu65536[shape=Mrecord,fontname=Helvetica,color=green,label="even|b.cpp(6)"];
tu1 -> tu65536;
tu2[shape=Mrecord,fontname=Helvetica,color=green,label="inner|b.cpp(7)"];
tu1 -> tu2;
{
tu65538[shape=Mrecord,fontname=Helvetica,color=yellow,label="off|b.cpp(9)"];
tu2 -> tu65538;
tu3[shape=Mrecord,fontname=Helvetica,color=green,label="data|b.cpp(10)"];
tu2 -> tu3;
{
tu65541[shape=Mrecord,fontname=Helvetica,color=green,label="_0|b.cpp(10)"];
tu3 -> tu65541;
}
tu65539[shape=Mrecord,fontname=Helvetica,color=green,label="tpl<int>|b.cpp(12)"];
tu2 -> tu65539;
}
}
"""
QT = "TestHalf even\nTestHalf rows two\nTestHalf rows a five\n"


@pytest.fixture
def listing(monkeypatch, tmp_path):
    """What a framework makes of a listing that its program printed."""

    def cases(name, text):
        ended = SimpleNamespace(stdout=b"", stderr=text.encode())
        monkeypatch.setattr(test_programs, "listed", lambda *arguments: text)
        monkeypatch.setattr(test_programs, "asked", lambda *arguments: ended)
        for file in ("b.cpp", "d.cpp"):
            (tmp_path / file).touch()
        framework = next(one for one in FRAMEWORKS if one.name == name)
        whole = CCase("t", ("t",), str(tmp_path))
        return {case.name: case for case in framework.cases(TestProgram(whole, str(tmp_path / "t"), str(tmp_path)))}

    return cases


def test_cases_of_doctest_are_chosen_by_number(listing):
    cases = listing("doctest", DOCTEST)
    assert list(cases) == ["even, twice", 'odd [x] "q" *']  # the third has the name of the first
    assert cases['odd [x] "q" *'].argv[1:3] == ("--first=2", "--last=2")
    assert cases['odd [x] "q" *'].location == Location("d.cpp", 5, 5)


def test_cases_of_boost_test_have_the_names_of_their_suites(listing):
    cases = listing("Boost.Test", BOOST)
    assert list(cases) == ["even", "inner/off", "inner/data/_0", "inner/tpl<int>"]
    assert [name for name, case in cases.items() if case.disabled] == ["inner/off"]
    assert cases["inner/data/_0"].argv[1] == "--run_test=inner/data/_0"
    assert "--catch_system_errors=no" in cases["even"].argv  # else Boost ends a crashed program by exit()
    assert cases["inner/tpl<int>"].location == Location("b.cpp", 12, 12)


def test_rows_of_qt_test_are_cases(listing):
    assert [case.argv[1] for case in listing("Qt Test", QT).values()] == ["even", "rows:two", "rows:a five"]
    assert not listing("Qt Test", QT + "Other first\n")  # an argument would go to both classes


@pytest.mark.parametrize(
    ("name", "printed", "failed"),
    [
        (
            "GoogleTest",
            "[  FAILED  ] A/B.c/1, where GetParam() = 2 (0 ms)\n[  FAILED  ] 1 test, listed below:\n",
            {"A/B.c/1"},
        ),
        ("Catch2", f"{'-' * 79}\nodd [x]\n  section\n{'-' * 79}\nc2.cpp:5\n{'.' * 79}\n", {"odd [x]"}),
        ("doctest", "TEST CASE:  odd [x]\n\nd.cpp:5: ERROR: CHECK( false )\n", {"odd [x]"}),
        ("Boost.Test", 'b.cpp(8): error: in "inner/odd": check failed\n', {"inner/odd"}),
        ("Qt Test", "PASS   : T::even()\nFAIL!  : T::rows(a five) Compared\n", {"rows(a five)"}),
        ("Check", "k.c:6:F:A:odd:0: Assertion 'x' failed\nk.c:8:E:B:crash:0: (after this point)\n", {"odd", "crash"}),
        ("cmocka", "[  FAILED  ] odd\n[  FAILED  ] 1 test(s), listed below:\n", {"odd"}),
        ("Unity", "u.c:9:even:PASS\nu.c:6:odd:FAIL: Expected 2 Was 3\n", {"odd"}),
        ("Unity", "..u.c:6:TEST(Group, odd):FAIL: Expected 2 Was 3\n", {"odd"}),
        ("CppUnit", "T::even : OK\nT::odd : assertion\nt.cpp:6:Assertion\nTest name: T::odd\nequality\n", {"T::odd"}),
        ("GLib", "ok 1 /a/even\nnot ok 2 /a/odd\n# Start of b tests\nnot ok 3 - /b/c # TODO\n", {"/a/odd", "/b/c"}),
        ("CuTest", "..F\n\nThere was 1 failure:\n1) odd: t.c:6: expected <2> but was <3>\n", {"odd"}),
        ("CppUnit", "1) test: T::odd (F) line: 6 t.cpp\n2) test: T::crash (E) \n", {"T::odd", "T::crash"}),
    ],
)
def test_the_output_of_a_whole_program_names_what_failed(name, printed, failed):
    framework = next(one for one in FRAMEWORKS if one.name == name)
    assert framework.failed_cases(printed) == failed


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        (b"1..2\nok 1\nnot ok 2 - b\n", Verdict.FAILED),
        (b"1..2\nok 1\nnot ok 2 # TODO later\n", Verdict.PASSED),
        (b"1..0 # SKIP no network\n", Verdict.SKIPPED),
        (b"1..2\nok 1\nBail out! disk full\n", Verdict.FAILED),
    ],
)
def test_lines_of_tap_decide(output, verdict):
    assert judge(CCase("t", ("t",), "/", tap=True), ProgramEnded(0, 0, None, False, output, b"", 0.1))[0] is verdict


UNITY = """\
#include <stdio.h>
#include <setjmp.h>
static int failures, state;
static int half(int n) { return n % 2 ? n / 2 + 1 : n / 2; }
static int failed;
void UnityBegin(const char *file) { (void)file; }
void UnityDefaultTestRun(void (*function)(void), const char *name, int line) {
    failed = 0;
    function();
    printf("u.c:%d:%s:%s\\n", line, name, failed ? "FAIL" : "PASS");
    failures += failed;
}
static void even(void) { failed = half(4) != 2; state = 1; }
static void odd(void) { failed = half(5) != 2; }
static void needs_even(void) { failed = state != 1; }
static void needs_none(void) { failed = state == 1; }
int main(void) {
    UnityBegin("u.c");
    UnityDefaultTestRun(even, "even", 1);
    UnityDefaultTestRun(odd, "odd", 2);
    UnityDefaultTestRun(needs_even, "needs_even", 3);
    UnityDefaultTestRun(needs_none, "needs_none", 4);
    return failures;
}
"""


@pytest.fixture(scope="module")
def unity(tmp_path_factory):
    """A program that tells each test to a function with the name, and the arguments, of Unity's."""
    folder = tmp_path_factory.mktemp("unity")
    (folder / "u.c").write_text(UNITY)
    subprocess.run(["gcc", "-O0", "-g", "--coverage", "u.c", "-o", "u"], cwd=folder, check=True)
    return folder


def test_a_framework_without_options_runs_one_case(unity):
    run = record_c(unity, program_suite(unity, ["u"]))
    ends = {test.name: test.verdict.value for test in run.tests}
    # the last fails only with the others, so the run of all is kept, too
    assert ends == {"even": "passed", "odd": "failed", "needs_even": "failed", "needs_none": "passed", "u": "failed"}
    said = {problem.file: problem.cause for problem in run.problems}
    assert said == {
        "needs_even": "this test fails alone, and passes when all cases of u run together",
        "needs_none": "this test passes alone, and fails when all cases of u run together",
    }
    assert "--jobs 1" in next(problem.cure for problem in run.problems if problem.file == "needs_even")
    one_by_one = record_c(unity, program_suite(unity, ["u"]), jobs=1)
    assert not any("--jobs 1" in problem.cure for problem in one_by_one.problems)


CUTEST = """\
#include <setjmp.h>
#include <stdio.h>
typedef struct CuTest {
    char *name;
    void (*function)(struct CuTest *);
    int failed;
    jmp_buf *back;
} CuTest;
static int half(int n) { return n % 2 ? n / 2 + 1 : n / 2; }
static void check(CuTest *test, int right) {
    if (!right) {
        test->failed = 1;
        longjmp(*test->back, 1);
    }
}
void CuTestRun(CuTest *test) {
    jmp_buf back;
    test->back = &back;
    if (setjmp(back) == 0)
        test->function(test);
}
static void even(CuTest *test) { check(test, half(4) == 2); }
static void odd(CuTest *test) { check(test, half(5) == 2); check(test, 1); }
static void one(CuTest *test) { check(test, half(0) == 0); }
int main(void) {
    CuTest tests[] = {{"even", even}, {"odd", odd}, {"one", one}};
    int failed = 0;
    for (int i = 0; i < 3; i++) {
        CuTestRun(&tests[i]);
        if (tests[i].failed)
            printf("%d) %s: sub/c.c:22: assert failed\\n", ++failed, tests[i].name);
    }
    return failed;
}
"""


@pytest.mark.slow
def test_cases_of_cutest_run_alone(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.c").write_text(CUTEST)
    subprocess.run(["gcc", "-O0", "-g", "-w", "--coverage", "sub/c.c", "-o", "c"], cwd=tmp_path, check=True)
    run = record_c(tmp_path, program_suite(tmp_path, ["c"]))
    assert {test.name: test.verdict.value for test in run.tests} == {"even": "passed", "odd": "failed", "one": "passed"}
    assert not run.problems
    assert str(CRecordingSource(tmp_path).read().stacks["odd"].innermost) == "sub/c.c:22"


GLIB = "/num/one\n/num/more\n# Start of more tests\n/num/more/be low\n"


def test_cases_of_glib_run_without_what_is_below_their_path(listing):
    cases = listing("GLib", GLIB)
    assert [case.argv[1:] for case in cases.values()] == [
        ("-p", "/num/one"),
        ("-p", "/num/more", "-s", "/num/more/be low"),
        ("-p", "/num/more/be low"),
    ]
    skipped = b"ok 1 /num/more\nok 2 /num/more/be low # SKIP by request (-s option)\n"
    ended = ProgramEnded(0, 0, None, False, skipped, b"", 0.1)
    assert judge(cases["num/more"], ended)[0] is Verdict.PASSED
    assert judge(cases["num/more/be low"], ended)[0] is Verdict.SKIPPED


CPPUNIT = """\
#include <cstdio>
#include <string>
namespace CppUnit {
class TestResult {
public:
    int failures = 0;
};
class Test {
public:
    virtual ~Test() {}
    virtual void run(TestResult *result) = 0;
};
class TestFixture {
public:
    virtual ~TestFixture() {}
};
class TestCase : public Test, public TestFixture {
public:
    explicit TestCase(const std::string &name) : m_name(name) {}
    void run(TestResult *result) override;
    virtual bool runTest() = 0;
private:
    const std::string m_name;
};
void TestCase::run(TestResult *result) {
    bool right = runTest();
    std::printf("%s : %s\\n", m_name.c_str(), right ? "OK" : "assertion");
    if (!right)
        std::printf("odd.cpp:44:Assertion\\n");
    result->failures += !right;
}
}
static int half(int n) {
    return n % 2 ? n / 2 + 1 : n / 2;
}
struct Even : CppUnit::TestCase {
    Even() : TestCase("Halves::even numbers of a name that is long") {}
    bool runTest() override { return half(4) == 2; }
};
struct Odd : CppUnit::TestCase {
    Odd() : TestCase("Halves::odd") {}
    bool runTest() override { return half(5) == 2; }
};
int main() {
    CppUnit::TestResult result;
    Even even;
    Odd odd;
    CppUnit::Test *all[] = {&even, &odd};
    for (auto *test : all)
        test->run(&result);
    return result.failures;
}
"""


@pytest.mark.slow
def test_cases_of_cppunit_run_alone(tmp_path):
    """A program whose classes have the names and members of CppUnit's; it names files without their folder."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "build" / "tests").mkdir(parents=True)
    (tmp_path / "tests" / "odd.cpp").write_text(CPPUNIT)
    build = ["g++", "-O0", "-g", "--coverage", "../../tests/odd.cpp", "-o", "odd"]
    subprocess.run(build, cwd=tmp_path / "build" / "tests", check=True)
    assert framework_of(str(tmp_path / "build" / "tests" / "odd")).name == "CppUnit"
    run = record_c(tmp_path, program_suite(tmp_path, ["build/tests/odd"]))
    assert {test.name: test.verdict.value for test in run.tests} == {
        "Halves::even numbers of a name that is long": "passed",
        "Halves::odd": "failed",
    }
    assert not run.problems
    stack = CRecordingSource(tmp_path).read().stacks["Halves::odd"]
    assert (str(stack.innermost), stack.assertion) == ("tests/odd.cpp:44", True)


def test_whole_programs_are_divided_unless_they_are_judged_whole(unity):
    program = CCase("whole", (str(unity / "u"),), str(unity))
    assert framework_of(str(unity / "u")).name == "Unity"
    names = [case.name for case in divided(CSuite((program,)), unity).cases]
    assert names == ["whole/even", "whole/odd", "whole/needs_even", "whole/needs_none"]
    chooses = CCase("chooses", (str(unity / "u"), "-n", "odd"), str(unity))
    inverted = CCase("inverted", program.argv, str(unity), will_fail=True)
    other = CCase("other", ("true",), str(unity))
    kept = CSuite((chooses, inverted, other))
    assert divided(kept, unity) == kept


@pytest.mark.parametrize(
    ("message", "cure"), [("timed out after 30 s", "raise the time limit"), ("exit code 1", "leaves something behind")]
)
def test_what_a_whole_program_may_need_that_alone_fails(unity, message, cure):
    whole = CCase("u", (str(unity / "u"),), str(unity))
    cases = tuple(CCase(name, whole.argv, str(unity), whole=whole) for name in ("even", "odd"))
    program = WholeProgram(whole, cases, framework_of(str(unity / "u")))
    alone = {case.name: TestResult(case.name, Verdict.PASSED) for case in cases}
    together = TestResult("u", Verdict.FAILED, message=message)
    differs, (said,) = program.differences(together, "", alone, completed=False)
    assert differs
    assert cure in said.cure


MAKEFILE = """\
TESTS = a.sh sub/b bad.sh
XFAIL_TESTS = bad.sh
TEST_EXTENSIONS = .sh
SH_LOG_COMPILER = sh
AM_SH_LOG_FLAGS = -e
AM_TESTS_ENVIRONMENT = KIND=automake; export KIND;
srcdir = ../source
"""


def test_tests_of_automake_run_as_make_check_runs_them(tmp_path):
    build = tmp_path / "build"
    (build / "sub").mkdir(parents=True)
    (tmp_path / "source").mkdir()
    (build / "Makefile").write_text(MAKEFILE)
    (tmp_path / "source" / "a.sh").write_text('test "$KIND-$srcdir" = automake-../source\n')
    (build / "bad.sh").write_text("false; true\n")
    (build / "sub" / "b").write_text("#!/bin/sh\nexit 77\n")
    (build / "sub" / "b").chmod(0o700)
    run = record_c(tmp_path, automake_suite(tmp_path, "build"))
    assert {test.name: test.verdict.value for test in run.tests} == {
        "a.sh": "passed",
        "sub/b": "skipped",
        "bad.sh": "passed",
    }
