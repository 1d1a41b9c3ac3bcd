"""The sources of C and C++ programs as evidence has them: functions, test code, branches in a line, edited lines."""

from __future__ import annotations

import io
import subprocess
from contextlib import nullcontext

import numpy as np
import pytest

from suspectra import Localizer, make_technique
from suspectra.base.errors import EvidenceError
from suspectra.c.recording.run import record_c
from suspectra.c.recording.suites import ctest_suite, shell_suite
from suspectra.cli.rerun import require_unchanged
from suspectra.evidence.c.profiles import GcovRawSource
from suspectra.evidence.c.source import CRecordedFile, CRecordingSource
from suspectra.evidence.evidence import Evidence, TestResult, Verdict
from suspectra.evidence.source_changes import SourceLines
from suspectra.evidence.sources import Sources
from suspectra.evidence.test_code import with_c_tests_marked
from suspectra.output.agents.agent import write_agent
from suspectra.output.rankings.ranking import Listing
from suspectra.output.rankings.table import write_table
from suspectra.runs.measured_file import MeasuredFile
from suspectra.selection.since_revision import since_revision

GRAMMAR = """\
int parse(int n) {
  int left = n;
#line 10 "calc.y"
  while (left > 3)
    left -= 3;
#line 5 "calc.c"
  left++;
#line 20 "calc.y"
  return left; }
#line 9 "calc.c"
int main(int n, char **v) {
  return parse(n) > 99;
}
"""
FRAMEWORKS = {
    "GoogleTest": "struct Cart_Sum_Test { void TestBody(); };\nvoid Cart_Sum_Test::TestBody() { CHECK; }\n"
    "int main() { Cart_Sum_Test().TestBody(); return 0; }\n",
    "Catch2": "static void C_A_T_C_H_T_E_S_T_0() { CHECK; }\nint main() { C_A_T_C_H_T_E_S_T_0(); return 0; }\n",
    "doctest": "static void _DOCTEST_ANON_FUNC_2() { CHECK; }\nint main() { _DOCTEST_ANON_FUNC_2(); return 0; }\n",
    "Boost.Test": "struct sum { void test_method(); };\nvoid sum::test_method() { CHECK; }\n"
    "int main() { sum().test_method(); return 0; }\n",
}


def read(workspace, outcomes):
    for name in outcomes:
        environment = {"GCOV_PREFIX": str(workspace / "profiles" / name)}
        subprocess.run([workspace / "build" / "program", name], env=environment, timeout=60)
    results = {name: TestResult(name, verdict) for name, verdict in outcomes.items()}
    return GcovRawSource(workspace, "profiles", outcomes=results).read()


def test_a_function_that_ends_in_another_file_keeps_its_lines(build_c):
    """A parser's action code comes from its grammar; gcc then says that the function ends where it begins."""
    program = build_c({"calc.c": GRAMMAR, "calc.y": "\n" * 30})
    evidence = read(program.workspace, {"one": Verdict.FAILED})
    assert not [problem for problem in evidence.problems if "optimisation" in problem.cause]
    named = {int(file.line[at]): file.function_at(int(file.line[at])) for file in evidence.files for at in range(2)}
    assert {file.path for file in evidence.files} == {"calc.c", "calc.y"}
    assert (named[1], named[2], evidence.files[0].function_at(5)) == ("parse", "parse", "parse")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_file_that_defines_tests_of_a_framework_is_test_code(tmp_path, tool, framework):
    (tmp_path / "cart.cpp").write_text("int total(int a, int b) {\n  return a - b;\n}\n")
    (tmp_path / "checks.cpp").write_text(
        "int total(int, int);\n" + FRAMEWORKS[framework].replace("CHECK", "total(1, 2)")
    )
    (tmp_path / "build").mkdir()
    build = [tool("g++", "g++"), "--coverage", "-w", "-O0", "-g", "-o", "build/program"]
    subprocess.run([*build, "cart.cpp", "checks.cpp"], cwd=tmp_path, check=True)
    evidence = read(tmp_path, {"sum": Verdict.FAILED})
    assert {file.path: file.is_test for file in evidence.files} == {"cart.cpp": False, "checks.cpp": True}


@pytest.mark.parametrize(
    ("text", "header", "is_test"),
    [
        ("#include <check.h>\n", "", True),
        ('#  include <stdlib.h>\n#include "../vendor/unity.h"\n', "", True),
        ("#include <boost/test/unit_test.hpp>\n", "", True),
        ("static int CuSuiteAdd(int);\n", "", True),
        ("static int g_test_add_data_func(int);\n", "", True),
        ("extern int srunner_create(int); // \nint n = srunner_create (1);\n", "", True),
        ('#include "common.h"\n', "#include <cmocka.h>\n", True),
        ('#include "common.h"\n', '#include "CuTest.h"\n', True),
        ('#include "libtap/tap.h"\n', "", True),
        ("#include <tap/basic.h>\n", "", True),
        ('#include "tap.h"\n', "", False),  # a network interface
        ('#include "check.h"\n', "#define CHECK(x) ((x) ? 0 : abort())\n", False),
        ('#include "../../../outside.h"\n// see check.h and unity.h\n', "", False),
        ("", "", False),
    ],
)
def test_a_file_that_uses_a_framework_is_test_code(text, header, is_test):
    texts = {"src/a.c": text.encode(), "src/common.h": header.encode(), "src/check.h": header.encode()}
    nothing = np.zeros(0, np.int32)
    files = [
        MeasuredFile(path, None, nothing, nothing, nothing, ((name, 1, 2),), is_test=False)
        for path, name in (("src/a.c", "main"), ("src/b.c", "b"))
    ]
    marked = with_c_tests_marked(files, lambda path: texts.get(path, b""))
    assert [file.is_test for file in marked] == [is_test, False]


def test_tests_beside_the_code_do_not_make_it_test_code(tmp_path, tool):
    text = "int total(int a, int b) { return a - b; }\n"
    (tmp_path / "cart.cpp").write_text(text + FRAMEWORKS["Catch2"].replace("CHECK", "total(1, 2)"))
    (tmp_path / "build").mkdir()
    build = [tool("g++", "g++"), "--coverage", "-w", "-O0", "-g", "-o", "build/program", "cart.cpp"]
    subprocess.run(build, cwd=tmp_path, check=True)
    evidence = read(tmp_path, {"sum": Verdict.FAILED})
    assert [file.is_test for file in evidence.files] == [False]


CLAMP = """\
static int small(int n) {
  if (n > 1 && n < 4)
    n--;
  return n;
}
int main(int n, char **v) {
  return small(v[1][0] - '0') > 99;
}
"""


def test_a_branch_within_a_line_does_not_lead_to_that_line(build_c):
    """`a && b` is two blocks of one line: control goes from it to itself in the failing test alone."""
    program = build_c({"clamp.c": CLAMP})
    evidence = read(program.workspace, {"2": Verdict.FAILED, "1": Verdict.PASSED, "0": Verdict.PASSED})
    report = Localizer(make_technique("evidence")).update(evidence)
    sentences = [sentence for at in range(len(evidence.elements)) for sentence in report.explain(at).sentences]
    assert "From here control goes to line 2 " not in " ".join(sentences)
    assert any("From here control goes to line 3 in the failing test" in sentence for sentence in sentences)


def test_a_line_that_passing_tests_reach_in_another_way_is_not_said_to_be_reached_by_failing_tests_alone(build_c):
    """Where `n > 1` is false, control also goes to line 4."""
    program = build_c({"clamp.c": CLAMP})
    evidence = read(program.workspace, {"5": Verdict.FAILED, "1": Verdict.PASSED, "0": Verdict.PASSED})
    report = Localizer(make_technique("evidence")).update(evidence)
    sentences = " ".join(sentence for at in range(len(evidence.elements)) for sentence in report.explain(at).sentences)
    assert "From here control goes to line 4" not in sentences
    assert "One of the ways from here to line 4 is taken in the failing test and in no passing one." in sentences


def as_run(text):
    """A source as it was run, each line of which is a statement."""
    lines = np.arange(1, text.count("\n") + 1, dtype=np.int32)
    file = MeasuredFile("a.c", "0", lines, lines, np.full(len(lines), -1, np.int32), ())
    return CRecordedFile.from_file(file, lambda: SourceLines.from_text("a.c", text.encode()))


TAX = "int tax(int n) {\n  n = n * 7;\n  return n;\n}\n"
TOLL = "int toll(int n) {\n  n = n + 2;\n  return n;\n}\n"


@pytest.mark.parametrize(
    ("new", "lines"),
    [
        ("#include <cart.h>\n\n" + TAX + TOLL, [3, 4, 5, 6, 7, 8, 9, 10]),
        (TAX.replace("7;", "8;  // more") + TOLL, [1, 0, 3, 4, 5, 6, 7, 8]),
        (TAX.replace("n;", "n;  /* all\n of it */") + TOLL, [1, 2, 3, 5, 6, 7, 8, 9]),
        (TAX.replace("int n", "long n") + TOLL, [0, 2, 3, 4, 5, 6, 7, 8]),
        # lines that both functions have don't stand for those of the other
        (TOLL, [0, 0, 0, 0, 1, 2, 3, 4]),
        (TAX.replace("return n;", "return 0;") + TOLL.replace("toll", "fee").replace("+ 2", "+ 3"), [1, 2] + [0] * 6),
        ("", [0] * 8),
    ],
)
def test_lines_are_found_again_in_an_edited_source(new, lines):
    assert as_run(TAX + TOLL).lines_in(new.encode()).tolist() == [0, *lines]


def test_digests_of_lines_that_can_not_be_are_not_used():
    lines = np.array([1], np.int32)
    file = MeasuredFile("a.c", "0", lines, lines, np.array([-1], np.int32), ())
    assert CRecordedFile.from_file(file, lambda: None).lines_in(b"") is None
    for numbers in ((0, 1), (2, 1), (1, 1)):
        digests = SourceLines(tuple((number, 5) for number in numbers))
        assert CRecordedFile.from_file(file, lambda digests=digests: digests).lines_in(b"int n;\n") is None
    far = MeasuredFile("a.c", "0", lines, np.array([1 << 30], np.int32), np.array([-1], np.int32), ())
    assert CRecordedFile.from_file(far, lambda: SourceLines(())).lines_in(b"") is None


@pytest.mark.slow
def test_suspects_are_shown_with_their_lines_in_a_source_that_was_edited(build_reckoner, tmp_path):
    folder = build_reckoner(tmp_path / "reckoner")
    record_c(folder, ctest_suite(folder, "build"))
    source = CRecordingSource(folder)
    evidence = source.read()
    path = folder / "src" / "evaluate.c"
    before = Sources(folder, evidence.files)
    shown = {line: before.line("src/evaluate.c", line) for line in (30, 31, 32)}
    path.write_text("/* new */\n#include <stddef.h>\n" + path.read_text())
    after = Sources(folder, evidence.files)
    assert {line: after.line("src/evaluate.c", line) for line in shown} == shown
    again = source.read()
    assert again.files is evidence.files


@pytest.mark.slow
def test_a_recording_moves_with_its_workspace(build_reckoner, tmp_path):
    """Notes have absolute paths of sources; the folder may be renamed, or copied from another machine."""
    folder = build_reckoner(tmp_path / "reckoner")
    record_c(folder, ctest_suite(folder, "build"))
    there = CRecordingSource(folder).read()
    folder.rename(tmp_path / "elsewhere")
    here = CRecordingSource(tmp_path / "elsewhere").read()
    assert [file.path for file in here.files] == [file.path for file in there.files]
    assert not here.problems


FEE = """\
static int product(int a, int b) { return a * b; }
int fee(int price) {
  int sum = product(price,
                    2);
  if (!price)
    return 0;
  return sum;
}
int main(int n, char **v) {
  return fee(n - 1) != 2;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [("2);", "3);", {3, 5}), ("!price", "0", {3, 7}), ("int fee", "long fee", {2}), ("return sum", "return -sum", {7})],
)
def test_a_change_in_a_line_without_code_counts_for_what_is_around_it(build_c, old, new, lines):
    """Only some lines of a long expression have code; `if (0)` has none, nor has its branch."""
    program = build_c({"fee.c": FEE})
    shell = program.workspace / "tests.txt"
    shell.write_text("one\tbuild/program one\n")
    record_c(program.workspace, shell_suite(program.workspace, "tests.txt"))
    build_c({"fee.c": FEE.replace(old, new).replace("!= 2", "!= 7")}, workspace=program.workspace)
    record_c(program.workspace, shell_suite(program.workspace, "tests.txt"))
    evidence = CRecordingSource(program.workspace).read()
    found = {evidence.elements.location(int(at)).line for at in evidence.changed["one"]}
    assert found - {10} == lines


@pytest.mark.slow
def test_the_agent_is_told_how_to_record_programs_again(build_reckoner, tmp_path):
    folder = build_reckoner(tmp_path / "reckoner")
    record_c(folder, ctest_suite(folder, "build"))
    evidence = CRecordingSource(folder).read()
    report = Localizer(make_technique("ochiai")).update(evidence)
    written = io.StringIO()
    write_agent(Listing(report, evidence, (), top=1), written, Sources(folder))
    assert written.getvalue().endswith("After a change: build, then run suspectra record-c as before\n")


def test_the_name_of_a_function_goes_before_its_parameters_in_a_narrow_table(tmp_path):
    lines = np.array([1, 2], np.int32)
    name = "shop::Basket::add(shop::Article const&, std::vector<int> const&) const"
    file = MeasuredFile("cart.cpp", None, lines, lines, np.array([0, 0], np.int32), ((name, 1, 2),))
    tests = (TestResult("a", Verdict.FAILED), TestResult("b", Verdict.PASSED))
    rows = (np.array([0, 1], np.int32), np.array([1], np.int32))
    evidence = Evidence("by hand", tests, (file,), rows, np.zeros(0, np.int32))
    source = "void Basket::add(Article const &article, std::vector<int> const &sizes) const {\n\n"
    (tmp_path / "cart.cpp").write_text(source)
    report = Localizer(make_technique("ochiai")).update(evidence)
    written = io.StringIO()
    write_table(Listing(report, evidence, (), top=1, by_line=True), written, Sources(tmp_path))
    assert "  shop::Basket::add()  " in written.getvalue()


def test_what_a_build_generates_is_not_a_change_of_the_user(tmp_path):
    """A new source beside it is, though git knows neither."""
    workspace = tmp_path
    for path in ("main.c", "build/lex.c", "build/CMakeCache.txt", "new/more.c"):
        (workspace / path).parent.mkdir(exist_ok=True)
        (workspace / path).write_text("int n;\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
    for arguments in (["init", "-q"], ["add", "main.c"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *arguments], cwd=workspace, check=True)
    nothing, line = np.zeros(0, np.int32), np.array([1], np.int32)
    files = tuple(
        MeasuredFile(path, None, line, line, np.array([-1], np.int32), (), is_test=False)
        for path in ("build/lex.c", "main.c", "new/more.c")
    )
    failed = TestResult("a", Verdict.FAILED)
    evidence = since_revision(Evidence("", (failed,), files, (nothing,), nothing), workspace, None)
    assert evidence.changed["a"].tolist() == [2]


def test_a_source_that_is_nowhere_was_not_changed(tmp_path):
    """What a generator names may not exist; what was compiled and is gone was changed."""
    one = np.array([1], np.int32)
    for digest, refused in ((None, False), ("0" * 64, True)):
        file = MeasuredFile("y.tab.c", digest, one, one, np.array([-1], np.int32), (), False)
        evidence = Evidence("t", (), (file,), (), np.zeros(0, np.int32))
        with pytest.raises(EvidenceError) if refused else nullcontext():
            require_unchanged(evidence, {"y.tab.c"}, tmp_path)
