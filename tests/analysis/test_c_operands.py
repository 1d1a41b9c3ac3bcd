"""Operands of `&&`, `||` and `?:` on lines of their own, to which gcc gives the decision about them."""

import subprocess

import pytest

from suspectra.c.recording.run import record_c
from suspectra.c.recording.suites import shell_suite
from suspectra.evidence.c.source import CRecordingSource
from suspectra.program.c.source_text import code_lines, operand_lines

TEXT = """\
int f(int n) {
    return n ?
        f(1) : /* the first */
        f(2);
}
switch (n) {
case 1:
    a(1) &&
    b();
again:
    c(1) || // no label
    "text ?";
    d(1)
        && e(1)
        ? f(1)

        : f(2);
    Name::
    g(1) &&
#define EMPTY ||
    h('?') ||
    i("a ||");
}
"""


def test_lines_with_nothing_but_an_operand():
    lines = TEXT.splitlines()
    found = [lines[number - 1].strip() for number in sorted(operand_lines(TEXT))]
    assert found == ["f(1) : /* the first */", "&& e(1)", "? f(1)", "h('?') ||"]


def test_lines_with_code():
    text = "#define NAME \\\n    3\nint a; // one\n/* two\n} */\n{\n    b(); }\n"
    assert code_lines(text) == {3, 7}


def test_what_is_not_closed_takes_no_longer_to_read():
    for hard in ("'\\\\", '"\\\\', "/* ", '"', "'a"):
        assert operand_lines(100_000 * hard) == frozenset()


PROGRAM = """\
#include <stdlib.h>
static int f(int n) {
    return n;
}
static int chosen(int n) {
    return f(n) ?
        f(1) :
        f(2);
}
static int all(int n) {
    int x = 0;
    if (f(n) &&
        f(n - 1) &&
        f(n - 2))
        x++;
    return x;
}
static int crashes(int n) {
    return f(n) ?
        f(1) :
        f(*(int *)0);
}
static int stored(int n) {
    int x = (n > 1 &&
        f(n)) ||
        f(n + 3);
    return x;
}
int main(int n, char **words) {
    n = atoi(words[1]);
    chosen(n), all(n), stored(n);
    return n == 5 ? crashes(0) : 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
def test_a_line_that_was_decided_against_did_not_run(tool, tmp_path, compiler):
    (tmp_path / "t.c").write_text(PROGRAM)
    command = [tool(compiler, compiler), "-O0", "-g", "-w", "--coverage", "t.c", "-o", "t"]
    subprocess.run(command, cwd=tmp_path, check=True)
    (tmp_path / "tests.tsv").write_text("".join(f"{n}\t./t {n}\n" for n in (0, 1, 2, 5)))
    record_c(tmp_path, shell_suite(tmp_path, "tests.tsv"))
    evidence = CRecordingSource(tmp_path).read()
    ran = {
        test.name: {evidence.elements.location(int(element)).line for element in row}
        for test, row in zip(evidence.tests, evidence.rows, strict=True)
    }
    operands = {7, 8, 13, 14, 20, 21}
    assert {name: lines & operands for name, lines in ran.items()} == {
        "0": {8},
        "1": {7, 13},
        "2": {7, 13, 14},
        "5": {7, 13, 14, 21},
    }
    assert 25 in ran["2"] & ran["5"]  # what stores the result is on this line of gcc, too


def test_lines_of_variables_of_headers_are_none_of_the_source(tool, tmp_path):
    """clang 14 takes the lines of headers that define variables for lines of the source, which here has fewer."""
    (tmp_path / "h.h").write_text("\n\nstruct S { S(); };\nstatic S in_header;\n")
    source = '#include <iostream>\n#include "h.h"\nS::S() {}\n\nstatic S own;\nint main() { return 0; }\n'
    (tmp_path / "t.cpp").write_text(source)
    compiler = tool("clang-14", "clang-14").replace("clang", "clang++")
    subprocess.run([compiler, "-O0", "-g", "--coverage", "t.cpp", "-o", "t"], cwd=tmp_path, check=True)
    (tmp_path / "tests.tsv").write_text("t\t./t\n")
    record_c(tmp_path, shell_suite(tmp_path, "tests.tsv"))
    evidence = CRecordingSource(tmp_path).read()
    assert [file.line.tolist() for file in evidence.files if file.path == "t.cpp"] == [[3, 5, 6]]
