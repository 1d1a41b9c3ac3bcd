"""Where tests failed, out of what runners, assertions and sanitizers print."""

import pytest

from suspectra.evidence.failure_text import MAX_TEXT, NamedLine, c_failure, python_failure
from suspectra.evidence.formats.junit import read_junit
from suspectra.evidence.formats.lcov import LcovSource

SHORT = """tests/test_journal.py:32: in <lambda>
    outside.wrap(lambda: journal.post([2]))
                         ^^^^^^^^^^^^^^^^^
journal.py:15: in post
    check(entry)
journal.py:20: in check
    raise Unbalanced(
E   journal.Unbalanced: off by 2

The above exception was the direct cause of the following exception:
tests/test_journal.py:32: in test_wrapped_by_a_library
    outside.wrap(lambda: journal.post([2]))
lib/outside.py:12: in wrap
    raise Wrapped("it failed") from error
E   outside.Wrapped: it failed"""

NATIVE = """Traceback (most recent call last):
  File "/work/tests/test_journal.py", line 104, in test_subtests
    journal.post(entry)
  File "/work/journal.py", line 19, in check
    if sum(entry):
       ^^^^^^^^^^
TypeError: unsupported operand type(s) for +: 'int' and 'str'
"""

GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "/work/journal.py", line 47, in all_later
  |     async with asyncio.TaskGroup() as group:
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/work/journal.py", line 20, in check
    |     raise Unbalanced(
    | journal.Unbalanced: off by 1
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/work/journal.py", line 43, in later
    +------------------------------------
"""


def workspace_file(path):
    """Only what is in /work counts, and tests are no suspects."""
    path = path.removeprefix("/work/")
    return None if path.startswith(("/", "..", "lib/")) else (path, not path.startswith("tests/"))


@pytest.mark.parametrize(
    ("text", "message", "kind", "expected"),
    [
        (
            SHORT,
            "outside.Wrapped: it failed",
            "",
            "Wrapped: it failed; tests/test_journal.py:32 test_wrapped_by_a_library, journal.py:20 check",
        ),
        (
            NATIVE,
            "unsupported operand type(s) for +: 'int' and 'str'",
            "TypeError",
            "TypeError: unsupported operand type(s) for +: 'int' and 'str'; tests/test_journal.py:104 test_subtests, "
            "journal.py:19 check",
        ),
        (GROUP, "ExceptionGroup: errors", "", "ExceptionGroup: errors; journal.py:47 all_later, journal.py:20 check"),
        (
            NATIVE,
            'failed on setup with "TypeError: no"',
            "",
            "TypeError: no; tests/test_journal.py:104 test_subtests, journal.py:19 check",
        ),
        ("a.py:3: \n\na.py:4: AssertionError", "assert 1 == 2", "", "AssertionError: assert 1 == 2; a.py:3 , a.py:4 "),
    ],
)
def test_tracebacks_of_python(text, message, kind, expected):
    stack = python_failure(text, message, kind).stack(workspace_file)
    frames = ", ".join(f"{frame.file}:{frame.line} {frame.function}" for frame in stack.frames)
    assert f"{stack.what}; {frames}" == expected
    assert stack.assertion == ("Assertion" in expected)


ASAN = """=================================================================
==17==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000011 at pc 0x5581 bp 0x7ffd sp 0x7ffd
READ of size 1 at 0x602000000011 thread T0
    #0 0x55813fd1d2f4 in skip(char const*, int) /work/src/parse.c:12:5
    #1 0x55813fd1d3a1 in parse /work/src/parse.c:30
    #2 0x7f3b in __libc_start_main (/lib/x86_64-linux-gnu/libc.so.6+0x29d8f)

0x602000000011 is located 0 bytes to the right of 1-byte region
allocated by thread T0 here:
    #0 0x7f3b in malloc (/usr/lib/x86_64-linux-gnu/libasan.so.6+0xb4867)
    #1 0x5581 in other /work/src/other.c:7
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ASAN, "heap-buffer-overflow: READ of size 1; src/parse.c:30 parse, src/parse.c:12 skip(char const*, int)"),
        (
            "src/a.c:7:15: runtime error: signed integer overflow: 1 + 2147483647 cannot be represented",
            "signed integer overflow: 1 + 2147483647 cannot be represented; src/a.c:7 ",
        ),
        ("prog: src/a.c:7: int half(int): Assertion `n > 0' failed.", "n > 0; src/a.c:7 int half(int) (assertion)"),
        ("Assertion failed: n > 0 (src/a.c: half: 7)", "n > 0; src/a.c:7 half (assertion)"),
        ("Assertion failed: (n > 0), function half, file src/a.c, line 7.", "n > 0; src/a.c:7 half (assertion)"),
        (
            "[ RUN      ] A.b\n/work/tests/a.cc:7: Failure\nExpected: (x) > (1)\n",
            "Expected: (x) > (1); tests/a.cc:7  (assertion)",
        ),
        ("/work/tests/a.cc:7\nExpected equality", "Expected equality; tests/a.cc:7  (assertion)"),
        (
            "tests/a.cpp:7: FAILED:\n  REQUIRE( half(3) == 2 )\n",
            "REQUIRE( half(3) == 2 ); tests/a.cpp:7  (assertion)",
        ),
        ("FAILED:\n  REQUIRE( a )\nat /work/tests/a.cpp:7", "; tests/a.cpp:7  (assertion)"),
        (
            "tests/a.cpp:7: ERROR: CHECK( half(3) == 2 ) is NOT correct!",
            "CHECK( half(3) == 2 ) is NOT correct!; tests/a.cpp:7  (assertion)",
        ),
        (
            "/work/tests/a.c:7:test_half:FAIL: Expected 2 Was 1",
            "Expected 2 Was 1; tests/a.c:7 test_half (assertion)",
        ),
        (
            "./work/tests/a.c:7:TEST(Halves, Odd):FAIL: Expected 2 Was 1",
            "Expected 2 Was 1; tests/a.c:7 Odd (assertion)",
        ),
        ("[  ERROR   ] --- tests/a.c:7: error: Failure!", "Failure!; tests/a.c:7  (assertion)"),
        ("tests/a.c:7:F:Core:test_half:0: Failed", "Failed; tests/a.c:7 test_half (assertion)"),
        ('tests/a.cpp(7): error: in "half": check x failed', "check x failed; tests/a.cpp:7 half (assertion)"),
    ],
)
def test_what_programs_of_c_and_their_test_frameworks_print(text, expected):
    stack = c_failure(f"some output\n{text}").stack(workspace_file)
    frames = ", ".join(f"{frame.file}:{frame.line} {frame.function}" for frame in stack.frames)
    assert f"{stack.what}; {frames}{' (assertion)' * stack.assertion}" == expected


def test_a_crash_is_where_its_calls_say_and_what_its_assertion_says():
    calls = [
        NamedLine("/lib/abort.c", 3, "abort"),
        NamedLine("/work/src/a.c", 7, "half"),
        NamedLine("/work/src/a.c", 20, "main"),
    ]
    stack = c_failure("prog: src/a.c:7: half: Assertion `n > 0' failed.", calls, "SIGABRT").stack(workspace_file)
    assert str(stack) == "SIGABRT: n > 0 at src/a.c:7 in half"
    assert [frame.line for frame in stack.frames] == [20, 7]


@pytest.mark.parametrize("text", ["", "it failed", "warning: 3: 4", "E   a.py:3: NameError", "> x.py:3: y"])
def test_text_without_a_place(text):
    assert python_failure(text) is None
    assert c_failure(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "../../etc/passwd:1: in f",
        "/etc/passwd:1: ValueError",
        'File "/etc/passwd", line 1, in f',
        'File "a.py", line 99999999999999999999999, in f',
        "a.py:0: ValueError",
        '  File "\x00\udcff", line 1, in \x1b[31m',
    ],
)
def test_places_outside_and_lines_that_are_none_are_left_out(text):
    failure = python_failure(text)
    stack = failure.stack(lambda path: None if "\0" in path else workspace_file(path))
    assert stack.frames == ()


@pytest.mark.parametrize(
    "line", [":" * 999, "a: " * 333, "Assertion `" * 90, "#1 0x1 in " * 90, "  File" * 150, "x:1: " * 199, "|+ " * 300]
)
def test_no_pattern_goes_back_and_forth(line):
    text = f"{line}\n" * (4 * MAX_TEXT // len(line))  # such a pattern would take minutes
    assert python_failure(text, text, text) is None or "x:1" in text
    assert c_failure(text) is None


def test_of_a_huge_report_the_beginning_and_the_end_are_read(tmp_path):
    middle = "x" * 100 + "\n"
    text = "a.py:1: in first\n" + middle * (10 * MAX_TEXT // 100) + "a.py:9: in last\n"
    path = tmp_path / "results.xml"
    path.write_text(
        f'<testsuite><testcase name="t"><failure message="ValueError: no">{text}</failure>'
        "<failure>b.py:3: in other</failure></testcase></testsuite>"
    )
    (case,) = read_junit(path, "results.xml").cases
    assert case.failure.raised == ((NamedLine("a.py", 1, "first"), NamedLine("a.py", 9, "last")),)
    assert (case.failure.exception, case.message) == ("ValueError", "ValueError: no")


def test_a_junit_report_beside_coverage_of_c_tells_where_tests_failed(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.c").write_text("int half(int n) {\n    return n;\n}\n")
    lines = f"SF:{tmp_path}/src/a.c\nDA:1,1\nDA:2,1\nend_of_record\n"
    (tmp_path / "all.info").write_text(f"TN:wrong\n{lines}TN:right\n{lines}")
    (tmp_path / "results.xml").write_text(
        '<testsuite><testcase name="wrong"><failure message=""/><system-out>half: ../src/a.c:2: half: Assertion `n &gt;'
        ' 0\' failed.</system-out></testcase><testcase name="right"/></testsuite>'
    )
    source = LcovSource(tmp_path, "all.info", outcomes="results.xml")
    evidence = source.read()
    assert {name: str(stack) for name, stack in evidence.stacks.items()} == {"wrong": "n > 0 at src/a.c:2 in half"}
    assert evidence.spectrum().raised.max() == 1
    assert source.read().stacks["wrong"] is evidence.stacks["wrong"]
