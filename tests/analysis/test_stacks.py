"""Where failing tests failed: the noun, and the statement that a stack leads to."""

import json

import numpy as np
import pytest

from suspectra.evidence.evidence import Evidence, TestResult, Verdict
from suspectra.runs.measured_file import MeasuredFile
from suspectra_recorder.log.stack import MAX_FRAMES, MAX_MESSAGE, FailedLine, Stack, StackFrame, make_stack


def measured(path, lines, ends=None, is_test=False):
    lines = np.array(lines, np.int32)
    ends = lines if ends is None else np.array(ends, np.int32)
    return MeasuredFile(path, None, lines, ends, np.full(len(lines), -1, np.int32), (), is_test)


FILES = (measured("app.py", [1, 2, 4], [1, 3, 4]), measured("tests/helper.py", [1, 2], is_test=True))
IN_APP, IN_CALL, IN_HELPER = StackFrame("app.py", 1), StackFrame("app.py", 3), StackFrame("tests/helper.py", 2)


def evidence(stacks, tests=("a", "b", "c")):
    results = tuple(TestResult(name, Verdict.PASSED if name == "c" else Verdict.FAILED) for name in tests)
    rows = tuple(np.array([0, 1, 2, 3], np.int32) for _ in tests)
    return Evidence("by hand", results, FILES, rows, np.zeros(0, np.int32), stacks=stacks)


def test_a_stack_leads_to_the_innermost_statement_that_may_be_a_suspect():
    stacks = {"a": Stack((IN_APP, IN_CALL, IN_HELPER)), "b": Stack((IN_HELPER,)), "gone": Stack((IN_APP,))}
    known = evidence(stacks)
    assert known.spectrum().raised.tolist() == [1, -1, -1]  # line 3 is of the statement that begins on line 2
    assert known.spectrum(include_tests=True).raised.tolist() == [4, 4, -1]


def test_evidence_without_stacks_says_so():
    assert evidence({}).spectrum().raised is None


def test_stacks_follow_when_tests_change():
    before = evidence({"a": Stack((IN_APP,))}).spectrum()
    after = evidence({"a": Stack((IN_CALL,)), "d": Stack((IN_APP,))}, ("a", "c", "d")).spectrum(previous=before)
    assert after.raised.tolist() == [1, -1, 0]


def test_a_stack_is_kept_as_json():
    line = FailedLine("test_app.py", 7, "3f")
    stack = Stack((IN_APP, StackFrame("app.py", 4, "Cart.total")), "KeyError", "'DE'", True, 3, line, ("two", "three"))
    assert Stack.from_dict(json.loads(json.dumps(stack.as_dict()))) == stack
    assert str(stack) == "KeyError: 'DE' at app.py:4 in Cart.total"


@pytest.mark.parametrize(
    "change",
    [
        {"frames": [["../out.py", 1, "f"]]},
        {"frames": [["/etc/passwd", 1, "f"]]},
        {"frames": [["app.py", "x", "f"]]},
        {"frames": [["app.py", 1]]},
        {"frames": 7},
        {"frames": None},
        {"omitted": "many"},
        {"test_line": ["../out.py", 1, "3f"]},
        {"test_line": ["test_app.py", "x", "3f"]},
        {"test_line": 7},
        {"details": 7},
    ],
)
def test_damage_is_refused(change):
    with pytest.raises((LookupError, TypeError, ValueError)):
        Stack.from_dict({**Stack((IN_APP,)).as_dict(), **change})


def test_what_is_shown_is_bounded_and_on_one_line():
    frames = [StackFrame("app.py", line, "f\x1b[31m\n" + "g" * 10_000) for line in range(2_000)]
    stack = Stack.from_dict({**Stack(()).as_dict(), "frames": frames, "message": "\n\n\x07a\tb\n" + "c" * 10_000})
    assert len(stack.frames) == MAX_FRAMES
    assert (stack.frames[0].line, stack.frames[-1].line, stack.omitted) == (1, 1999, 1999 - MAX_FRAMES)
    assert all(len(frame.function) <= 500 and frame.function.isprintable() for frame in stack.frames)
    assert stack.message == "a b"
    assert len(make_stack((), message="c" * 10_000).message) == MAX_MESSAGE
