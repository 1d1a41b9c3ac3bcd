"""Where tests failed, as real runs of pytest and unittest record it."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from suspectra.evidence.compared_values import ComparedValues
from suspectra.evidence.formats.coverage_source import CoverageSource
from suspectra.evidence.recording import RecordingSource
from suspectra.recording.merging import merge
from suspectra_recorder.log.compaction import compact
from suspectra_recorder.log.stack import MAX_FRAMES, MAX_MESSAGE

FIXTURE = Path(__file__).parents[1] / "fixtures" / "recording" / "stacks"
EXPECTED = {
    "test_raises": "Unbalanced: off by 1; post check",
    "test_assertion": "AssertionError: assert 1 == 2; (assertion)",
    "test_in_a_helper": "AssertionError: assert 1 == 3; (assertion)",
    "test_assertion_inside": "AssertionError: it is not balanced; insist (assertion)",
    "test_in_a_library": "JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1);"
    " parse",
    "test_wrapped_by_a_library": "Wrapped: it failed; check",
    "test_hidden_by_a_library": "Wrapped: it failed;",
    "test_in_a_handler_of_a_library": "KeyError: 'missing'; check",
    "test_reported_by_the_test": "Failed: it should be balanced; check (assertion)",
    "test_group": "ExceptionGroup[Unbalanced]: unhandled errors in a TaskGroup (2 sub-exceptions); "
    "all_later later check",
    "test_exit": "SystemExit: 3; leave",
    "test_hostile": "Hostile: <exception str() failed>; be_hostile",
    "test_circle_of_causes": "ValueError: first; go_round",
    "test_code_without_a_file": "Unbalanced: off by 4; post check",
    "test_setup": "Unbalanced: off by 5; post check",
    "test_teardown": "Unbalanced: off by 6; post check",
    "test_twice": "JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1); parse",
    "test_subtests": "Unbalanced: off by 7; post check",
    "TestUnit::test_unit": "Unbalanced: off by 9; post check",
    "TestUnit::test_unit_assertion": "AssertionError: 1 != 2; (assertion)",
    "TestUnit::test_unit_subtests": "Unbalanced: off by 7; post check",
    "TestSetUp::test_nothing": "Unbalanced: off by 10; post check",
}


def run(folder, *arguments, recorded=True, file="tests"):
    switch = ["-p", "suspectra"] if recorded else []
    command = [sys.executable, "-m", "pytest", "-q", *switch, *arguments, file]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same tests plainly, recorded, and measured by coverage.py."""
    folders = {}
    for name in ("plain", "taken", "measured"):
        folders[name] = tmp_path_factory.mktemp(name) / "project"
        shutil.copytree(FIXTURE, folders[name])
        more = ["-p", "pytest_cov", "--cov=journal", "--cov-context=test"] if name == "measured" else []
        run(folders[name], f"--junitxml={folders[name] / 'junit.xml'}", *more, recorded=name == "taken")
    return folders


@pytest.fixture(scope="module")
def evidence(runs):
    return RecordingSource(runs["taken"]).read()


def stack_of(evidence, test):
    return evidence.stacks[f"tests/test_journal.py::{test}"]


@pytest.mark.parametrize("test", EXPECTED)
def test_where_a_test_failed(evidence, test):
    stack = stack_of(evidence, test)
    words = [frame.function for frame in stack.frames] + ["(assertion)"] * stack.assertion
    assert f"{stack.what}; {' '.join(words)}".rstrip() == EXPECTED[test]
    assert {frame.file for frame in stack.frames} <= {"journal.py"}


def test_lines_are_those_of_the_source(evidence):
    lines = (FIXTURE / "journal.py").read_text().splitlines()
    assert [lines[frame.line - 1].strip() for frame in stack_of(evidence, "test_raises").frames] == [
        "check(entry)",
        "raise Unbalanced(",
    ]


@pytest.mark.parametrize(
    ("test", "text"),
    [
        ("test_assertion", 'assert journal.parse("1") == 2'),
        ("test_raises", "journal.post([1])"),
        ("test_in_a_library", 'journal.parse("{")'),
        ("TestUnit::test_unit_assertion", "self.assertEqual("),
    ],
)
def test_the_line_of_the_test_is_known(evidence, test, text):
    source = (FIXTURE / "tests" / "test_journal.py").read_bytes()
    file, line, digest = stack_of(evidence, test).test_line
    assert (file, digest) == ("tests/test_journal.py", hashlib.sha256(source).hexdigest())
    assert source.decode().splitlines()[line - 1].strip().startswith(text)


def test_of_an_assertion_in_a_helper_both_lines_are_known(evidence):
    lines = (FIXTURE / "tests" / "test_journal.py").read_text().splitlines()
    own, helper = stack_of(evidence, "test_in_a_helper").failed_lines
    assert lines[own.line - 1].strip() == 'is_parsed_as("1", 3)'
    assert lines[helper.line - 1].strip() == "assert journal.parse(text) == value"
    assert own.digest == helper.digest
    assert len(stack_of(evidence, "test_wrapped_by_a_library").failed_lines) == 1


def test_only_tests_that_count_as_failed_have_one(evidence):
    others = {"test_passes", "test_expected", "test_unexpected", "test_skipped", "TestUnit::test_unit_expected"}
    names = {test.name.partition("::")[2] for test in evidence.tests}
    without = {name for name in names if f"tests/test_journal.py::{name}" not in evidence.stacks}
    assert without == {*others, "test_what_was_called"}
    assert evidence.problems == ()


def test_a_recursion_is_kept_at_both_ends(evidence):
    stack = stack_of(evidence, "test_recursion")
    assert (stack.exception, len(stack.frames)) == ("RecursionError", MAX_FRAMES)
    assert stack.omitted > 500


def test_a_long_message_is_bounded_and_shows_as_text(evidence):
    message = stack_of(evidence, "test_long_message").message
    assert (message[:6], len(message)) == ("red   ", MAX_MESSAGE)
    assert message.isprintable()


EXAMPLES = """\
    >>> import math

    >>> 1 + 1
    {expected}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expected", "message", "compared", "line"),
    [
        ("3", "Expected: 3 Got: 2", "expected 3, actual 2", 5),
        ("3\n    >>> {}['DE']\n    20", "Expected: 3 Got: 2", "expected 3, actual 2", 5),
        ("2\n    >>> {}['DE']\n    20", "UNEXPECTED EXCEPTION: KeyError('DE')", "None", 7),
        ("2\n    >>> print()", "Expected nothing Got: <BLANKLINE>", "expected nothing, actual <BLANKLINE>", 7),
    ],
)
def test_a_doctest_says_what_it_expected(tmp_path, expected, message, compared, line):
    (tmp_path / "guide.txt").write_text("A guide.\n\n" + EXAMPLES.format(expected=expected))
    run(tmp_path, "--doctest-glob=*.txt", file="guide.txt")
    (stack,) = RecordingSource(tmp_path).read().stacks.values()
    assert (stack.message, str(ComparedValues.from_stack(stack))) == (message, compared)
    assert [str(failed) for failed in stack.failed_lines] == [f"guide.txt:{line}"]


def test_outcomes_reports_and_what_they_call_are_as_without(runs):
    def message_of(name):
        text = (runs[name] / "junit.xml").read_text("utf-8").replace(str(runs[name]), "")
        return re.sub(r' (time|timestamp|hostname)="[^"]*"|0x[0-9a-f]+|plain\d|taken\d', "", text)

    assert "__str__" in message_of("plain")
    assert message_of("taken") == message_of("plain")


def test_a_junit_report_tells_the_same(runs, evidence):
    source = CoverageSource(runs["measured"], Path(".coverage"), Path("junit.xml"))
    reported = source.read().stacks
    assert all(stack is reported[name] for name, stack in source.read().stacks.items())
    different = {"test_group", "test_long_message", "test_recursion"}  # pytest cuts these
    in_both = {
        name: replace(stack, test_line=None, own_line=None, details=()) for name, stack in evidence.stacks.items()
    }
    for name, stack in in_both.items():
        if name.partition("::")[2] not in different:
            assert reported[name] == stack, name
    group = "tests/test_journal.py::test_group"
    assert reported[group] == replace(in_both[group], exception="ExceptionGroup")


def test_merging_and_tidying_keep_them(runs, evidence, tmp_path):
    merge(tmp_path / "merged", [runs["taken"]])
    assert RecordingSource(runs["taken"], tmp_path / "merged").read().stacks == evidence.stacks
    compact(str(tmp_path / "merged"), max_logs=0)
    assert RecordingSource(runs["taken"], tmp_path / "merged").read().stacks == evidence.stacks


def test_lines_follow_the_source_and_stacks_stay_the_same_objects(runs, tmp_path):
    folder = tmp_path / "project"
    shutil.copytree(runs["taken"], folder)
    source = RecordingSource(folder)
    before = source.read().stacks
    assert all(stack is before[name] for name, stack in source.read().stacks.items())
    text = (folder / "journal.py").read_text()
    text = text.replace("import asyncio\n", "# a comment\n\nimport asyncio\n", 1).replace(
        "json.loads(text)", "len(text)"
    )
    (folder / "journal.py").write_text(text)
    run(folder, file="tests/test_journal.py::test_passes")
    evidence = source.read()
    lines = text.splitlines()
    assert lines[stack_of(evidence, "test_raises").innermost.line - 1].strip() == "raise Unbalanced("
    assert stack_of(evidence, "test_in_a_library").frames == ()  # the statement is another one
    assert stack_of(evidence, "test_assertion") is before["tests/test_journal.py::test_assertion"]  # it has no frames
