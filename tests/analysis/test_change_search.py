"""The search among many changes: what a test notices, what belongs together, and how few runs it takes."""

import io
import math
import subprocess

import numpy as np
import pytest

from suspectra.changes.baselines import Baseline, revisions
from suspectra.changes.blocks import blocks, functions_of_c
from suspectra.changes.isolation import ChangeIsolation
from suspectra.changes.mixed_tests import ExecutedChanges, MixedFailure, MixedRun
from suspectra.changes.narrowing import ChangeNarrowing
from suspectra.changes.noticed import ChangePlaces
from suspectra.changes.units import FileDifference
from suspectra.changes.value_trace import ValueDifference, ValueSite, ValueTrace, first_difference
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.output.changes import write_changes
from suspectra.runs.experiment import GOING_WITH

FUNCTIONS = 40
TEST = "test_all"
FAILURE = MixedFailure("AssertionError", "test_all")


def text(value):
    parts = (f"def f{number}():\n    a = {value}\n    b = {value}\n    return a + b\n" for number in range(FUNCTIONS))
    return "\n\n".join(parts).encode()


def baseline(before, after, path="a.py"):
    return Baseline("before", (FileDifference.between(path, before, after),))


class OneFault:
    """Tests that fail with one change, and can't run if only a part of a function is new."""

    def __init__(self, faulty, executed):
        self.runs, self._faulty, self._executed = 0, faulty, executed

    def run(self, baseline, made, tests, *, fresh=True):
        self.runs += 1
        halves = {unit.line // 6 for unit in baseline.units if unit in made} & {
            unit.line // 6 for unit in baseline.units if unit not in made
        }
        if halves - {self._faulty.line // 6}:
            return MixedRun(frozenset(), {}, {}, "it can't run")
        if self._faulty in made:
            return MixedRun(frozenset(), dict.fromkeys(tests, FAILURE), {})
        return MixedRun(frozenset(tests), {}, {})

    def executed(self, baseline, made, tests):
        return self._executed


@pytest.mark.parametrize("function", [0, 17, FUNCTIONS - 1])
@pytest.mark.parametrize("seen", [True, False])
def test_one_of_eighty_changes_is_found_in_few_runs(function, seen):
    since = baseline(text(1), text(2))
    faulty = next(unit for unit in since.units if unit.line == 6 * function + 3)
    lines = [("a.py", line) for line in range(1, 6 * FUNCTIONS)]
    lines += [("a.py", line) for line in range(faulty.line - 1, faulty.line + 2)]  # it is executed last
    order = list(dict.fromkeys(reversed(lines)))[::-1]
    program = OneFault(faulty, ExecutedChanges({TEST: order}, frozenset(), frozenset()) if seen else None)
    search = ChangeNarrowing(since, program, {TEST: FAILURE})
    assert search.look([TEST]) == TEST
    low, cause, minimal = search.isolate(TEST, frozenset(range(len(since.units))))
    assert search.units(cause) == (faulty,)
    assert minimal
    assert not low & cause
    assert program.runs <= (4 if seen else 6 * math.log2(2 * FUNCTIONS))


def test_what_is_not_executed_is_not_noticed():
    since = baseline(text(1), text(2) + b"\n\ndef new():\n    return 1\n")
    places = ChangePlaces.from_differences(since.differences, since.units)
    definitions = frozenset(("a.py", line) for line in range(1, 6 * FUNCTIONS + 9, 6))
    executed = ExecutedChanges({TEST: [("a.py", 7), ("a.py", 8), ("a.py", 9), ("a.py", 10)]}, definitions, frozenset())
    assert [since.units[number].line for number in places.noticed(executed, TEST)] == [8, 9]


def test_a_table_is_noticed_if_it_is_opened():
    since = baseline(b"a,1\nb,2\n", b"a,1\nb,3\n", "rates.csv")
    places = ChangePlaces.from_differences(since.differences, since.units)
    for opened in ([], ["rates.csv"]):
        assert len(places.noticed(ExecutedChanges({}, frozenset(), frozenset(opened)), TEST)) == len(opened)


BEFORE = b"""\
@first
def f(a):
    if a:
        return 1
    return 2


class C:
    x = 1

    def m(self):
        return 3
"""


def test_changes_of_one_definition_are_a_block():
    after = BEFORE.replace(b"f(a)", b"f(a, b)").replace(b"return 2", b"return b").replace(b"x = 1", b"x = 2")
    since = baseline(BEFORE, after.replace(b"return 3", b"return 4"))
    found = blocks(since.differences, since.units)
    assert sorted(sorted(since.units[number].line for number in block) for block in found) == [[2, 5], [9], [12]]


def test_functions_of_c_are_found_by_their_braces():
    code = b"#include <a.h>\nstatic int\nf(int a)\n{\n  if (a) {\n    return 1;\n  }\n}\n\nint g() {\n}\nint x = 3;\n"
    assert list(functions_of_c(code)) == [range(2, 9), range(10, 12)]


class Ended:
    """Tests that end as a rule says of the new lines of the text that they run with."""

    preparing = "nothing"

    def __init__(self, passes):
        self.runs, self._passes = 0, passes

    def run(self, baseline, made, tests, *, fresh=True):
        self.runs += 1
        lines = {line.strip() for one in baseline.differences for line in one.content(made).decode().splitlines()}
        ends = {name: self._passes(name, lines) if baseline.units else False for name in tests}
        failed = dict.fromkeys((name for name, passed in ends.items() if passed is False), FAILURE)
        return MixedRun(frozenset(name for name, passed in ends.items() if passed), failed, {})

    def executed(self, baseline, made, tests):
        return None

    def trace(self, baseline, made, test):
        return None

    def load_nothing_before(self):
        pass

    def close(self):
        pass


def test_a_cause_since_two_texts_is_one_cause_of_both_tests(tmp_path):
    present = b"def f():\n    a = 1\n\n\ndef g():\n    b = 1\n\n\ndef h():\n    c = 1\n"
    newer = baseline(present.replace(b"a = 1", b"a = 0").replace(b"b = 1", b"b = 0"), present)
    older = baseline(present.replace(b"a = 1", b"a = 0").replace(b"c = 1", b"c = 0"), present)

    def passes(test, lines):
        return "a = 0" in lines and (test == "test_a" or "b = 0" not in lines)

    program = Ended(passes)
    search = ChangeIsolation(
        setup=RerunSetup(tmp_path, ()),
        tests=[FailingTest("test_a", ""), FailingTest("test_b", "")],
        baselines=[newer, older],
        start=lambda folder, end: program,
    )
    list(search.steps())
    (cause,) = search.causes
    assert ([unit.line for unit in cause.units], cause.mends) == ([2], ("test_a", "test_b"))
    assert cause.alone_breaks == ("test_a", "test_b")


def test_in_a_clean_tree_the_commit_is_bisected(tmp_path):
    """The sixth of twelve commits breaks the test; no branch and no tag says where to begin."""

    def git(*words):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *words], cwd=tmp_path, check=True)

    git("init", "-q", "-b", "work")
    for number in range(12):
        (tmp_path / "a.py").write_text(f"a = {number}\n" + "bad = 1\n" * (number >= 5))
        git("add", ".")
        git("commit", "-qm", f"change {number}")
    program = Ended(lambda name, lines: "bad = 1" not in lines)
    search = ChangeIsolation(
        setup=RerunSetup(tmp_path, ()),
        tests=[FailingTest("test_a", "")],
        baselines=revisions(tmp_path),
        start=lambda folder, end: program,
    )
    list(search.steps())
    (cause,) = search.causes
    assert [unit.after for unit in cause.units] == ["bad = 1\n"]
    assert cause.since.name.endswith("(change 5)")
    assert program.runs < 16


def test_two_causes_of_one_test_are_both_found(tmp_path):
    present = b"def f():\n    a = 1\n\n\ndef g():\n    b = 1\n"
    since = baseline(present.replace(b"a = 1", b"a = 0").replace(b"b = 1", b"b = 0"), present)
    program = Ended(lambda name, lines: {"a = 0", "b = 0"} <= lines)
    search = ChangeIsolation(
        setup=RerunSetup(tmp_path, ()),
        tests=[FailingTest(TEST, "")],
        baselines=[since],
        start=lambda folder, end: program,
    )
    list(search.steps())
    first, second = search.causes
    assert {unit.line for one in search.causes for unit in one.units} == {2, 6}
    assert (first.mends, second.mends, second.besides) == ((), (TEST,), first.units)
    out = io.StringIO()
    write_changes(search, out)
    assert "without it it still fails, so it may not be the only cause." in out.getvalue()
    assert "Without it and what is named before the test passes; with it alone the test fails." in out.getvalue()
    assert sorted(one.line for one in second.experiments()) == [2, 6]


def test_what_is_undone_with_the_cause_is_told_apart_from_it(tmp_path):
    before = b"def f():\n    a = 1\n    return a\n"
    since = baseline(before, before.replace(b"a = 1", b"a = 2").replace(b"return a", b"return [a]"))
    program = Ended(lambda name, lines: "a = 2" not in lines and ("return a" in lines or None))
    search = ChangeIsolation(
        setup=RerunSetup(tmp_path, ()),
        tests=[FailingTest(TEST, "")],
        baselines=[since],
        start=lambda folder, end: program,
    )
    list(search.steps())
    (cause,) = search.causes
    assert [[unit.line for unit in some] for some in (cause.units, cause.going_with)] == [[2], [3]]
    out = io.StringIO()
    write_changes(search, out)
    assert "Without it and 1 change that goes with it the test passes; with it alone the test fails." in out.getvalue()
    made = [(one.line, one.place, one.action) for one in cause.experiments()]
    assert made == [(2, "change", "2"), (3, GOING_WITH, "2")]


def test_what_breaks_nothing_alone_is_sought_among_the_changes_of_its_function():
    """The new return is wrong, and the old lines end the function before it."""
    before = b"def f(a):\n    return [a]\n    return []\n"
    after = b"def f(a):\n    found = []\n    found += [a]\n    return a\n"
    since = baseline(before, after)

    def passes(test, lines):
        if "return [a]" in lines:
            return "found += [a]" not in lines or None
        if "found = []" not in lines:
            return None
        return "return a" not in lines

    search = ChangeNarrowing(since, Ended(passes), {TEST: FAILURE})
    search.look([TEST])
    _, cause, minimal = search.isolate(TEST, frozenset(range(len(since.units))))
    assert "    return a\n" in [unit.after for unit in search.units(cause)]
    assert minimal


def test_what_only_the_cause_runs_belongs_to_it():
    """Whether the call is wrong or the new branch that it enters, no run can say."""
    before = b"def f(a, more=False):\n    return a\n\n\ndef g():\n    return f(1)\n"
    after = before.replace(b"    return a", b"    if more:\n        return -a\n    return a").replace(
        b"f(1)", b"f(1, True)"
    )
    since = baseline(before, after)

    class Branch(Ended):
        def executed(self, baseline, made, tests):
            lines = [line for one in baseline.differences for line in one.content(made).decode().splitlines()]
            inside = "    return f(1, True)" in lines
            ran = [number for number, line in enumerate(lines, 1) if "return" in line and (inside or "-a" not in line)]
            return ExecutedChanges({TEST: [("a.py", number) for number in ran]}, frozenset(), frozenset())

    def passes(test, lines):
        if "return f(1)" in lines:
            return True
        return False if "return -a" in lines else None  # the value that was expected is not there at all

    search = ChangeNarrowing(since, Branch(passes), {TEST: FAILURE})
    search.look([TEST])
    _, cause, _ = search.isolate(TEST, frozenset(range(len(since.units))))
    assert [unit.line for unit in search.units(cause)] == [2, 8]
    every = frozenset(range(len(since.units)))
    assert search.run_with(TEST, every, frozenset([1])) == every, "of a call, what it alone lets run"
    assert search.run_with(TEST, every, every) == frozenset(), "it runs all of them"


def test_a_new_function_that_only_the_cause_calls_belongs_to_it():
    before = b"def f(a):\n    return a\n"
    since = baseline(before, b"def new(a):\n    assert not a\n\n\n" + before.replace(b"return a", b"return new(a)"))

    class Calling(Ended):
        def executed(self, baseline, made, tests):
            return ExecutedChanges({TEST: [("a.py", 6), ("a.py", 2)]}, frozenset(), frozenset())

    def passes(test, lines):
        return "return a" in lines  # without the new function it fails in the same way

    search = ChangeNarrowing(since, Calling(passes), {TEST: FAILURE})
    search.look([TEST])
    _, cause, _ = search.isolate(TEST, frozenset(range(len(since.units))))
    assert cause == frozenset(range(len(since.units)))


def test_an_edited_test_is_one_cause_with_the_code_that_it_asks_for():
    """The old test passes with the new code, and says nothing about what it should be."""
    code = FileDifference.between("a.py", b"def f(a):\n    a += 1\n", b"def f(a):\n    a += 2\n    return -a\n")
    asked = FileDifference.between(
        "test_a.py", b"def test_all():\n    f(1)\n", b"def test_all():\n    assert f(1) == 3\n"
    )
    since = Baseline("before", (code, asked))

    def passes(test, lines):
        if "f(1)" in lines:
            return True
        return False if "return -a" in lines else None  # a function that gives nothing fails in another way

    search = ChangeNarrowing(since, Ended(passes), {TEST: FAILURE})
    search.look([TEST])
    _, cause, _ = search.isolate(TEST, frozenset(range(len(since.units))))
    assert [(unit.file, unit.line) for unit in search.units(cause)] == [("a.py", 3), ("test_a.py", 2)]


def test_a_place_in_no_file_is_in_no_line():
    """Numbers that no place has, beside a file without a line."""
    nowhere = ValueSite("", 0, 0, "", (), (), is_test=False)
    assert nowhere.key({"": []}) == ("", -1, -1, "", -1)
    assert not nowhere.is_changed({"": []})


@pytest.mark.parametrize(("in_functions", "line"), [(True, 2), (False, 1)])
def test_no_value_differs_before_what_changed_runs(in_functions, line):
    """That of the first line differs by chance, such as the order of a set."""

    def trace(*values):
        sites = tuple(
            ValueSite("a.py", at, 0, "value", (), (("a.py", 0, name),), is_test=False)
            for at, name in ((1, "a"), (2, "b"))
        )
        number = np.arange(2)
        return ValueTrace(sites, number, number * 0, number[:0], number, number * 0 - 1, values, {}, whole=True)

    lines = {"a.py": [("a.py", 0, 0), ("a.py", 1, -1)]}
    found = first_difference(
        trace("1", "2"), trace("3", "4"), lines, lines, lambda node: False, in_functions=in_functions
    )
    assert (found.line, found.name) == (line, "ab"[line - 1])


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("of type tuple", "({},)", None),  # the tuple has something in it that can't be written down
        ("of type Line", "Line(number=1)", None),
        ("of type int", "7", None),
        ("of type Munch", "of type dict", ("of type Munch", "of type dict")),
        ("of type Munch", "{}", ("of type Munch", "{}")),
        ("None", "of type dict", ("None", "of type dict")),
        ("of type list", "list(2 items)", None),
        ("[]", "list(2 items)", ("[]", "list(2 items)")),
    ],
)
def test_values_of_one_type_differ_only_if_both_can_be_written_down(one, other, found):
    site = ValueSite("a.py", 1, 0, "value", (), (("a.py", 0, "a"),), is_test=False)

    def trace(value):
        number = np.zeros(1, np.int64)
        return ValueTrace(
            (site,), number, number, number[:0], number, number - 1, [value], {"a.py": b"a = 1\n"}, whole=True
        )

    difference = first_difference(trace(one), trace(other), {}, {}, lambda node: False)
    assert (difference and (difference.before, difference.after)) == found


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("{'a': 1, 'b': [2, 3]}", "{'a': 1, 'b': [2, 4]}", ("a['b'][1]", "3", "4")),
        ("{'a': 1, 'b': 2}", "{'a': 2, 'b': 3}", ("a", "{'a': 1, 'b': 2}", "{'a': 2, 'b': 3}")),  # two parts of it
        ("(1, 2)", "(1, 2, 3)", ("a", "(1, 2)", "(1, 2, 3)")),
        ("[1]", "[True]", ("a[0]", "1", "True")),
        ("list(1 item)", "list(2 items)", ("a", "list(1 item)", "list(2 items)")),
    ],
)
def test_of_containers_the_only_part_that_differs_is_named(one, other, found):
    site = ValueSite("a.py", 1, 0, "value", (), (("a.py", 0, "a"),), is_test=False)

    def trace(value):
        number = np.zeros(1, np.int64)
        return ValueTrace((site,), number, number, number[:0], number, number - 1, [value], {}, whole=True)

    difference = first_difference(trace(one), trace(other), {}, {}, lambda node: False)
    assert difference is not None
    assert (difference.name, difference.before, difference.after) == found


def test_long_values_are_shown_where_they_differ():
    before, after = (f"'{'word ' * 30}{last} {'word ' * 30}'" for last in ("one", "two"))
    was, now = ValueDifference("a.py", 1, "text", before, after, 0).shown
    assert "one" in was
    assert "two" in now
    assert max(len(was), len(now)) < 60


def test_right_behind_a_change_runs_may_do_the_same_for_a_moment_only():
    sites = tuple(
        ValueSite("a.py", line, 0, kind, (), binds, is_test=False)
        for line, kind, binds in (
            (1, "value", ()),
            (2, "value", ()),
            (3, "value", (("a.py", 0, "found"),)),
            (4, "decision", ()),
            (4, "end", ()),
        )
    )

    def trace(sites_of_nodes, texts):
        site = np.array(sites_of_nodes, np.int64)
        nothing = np.zeros(len(site), np.int64)
        return ValueTrace(sites, site, nothing, nothing[:0], np.arange(len(site)), nothing - 1, texts, {}, whole=True)

    lines = {"a.py": [("a.py", 0, 0), ("a.py", 1, -1), ("a.py", 2, 0), ("a.py", 2, 1)]}
    passing = trace([0, 1, 2, 3, 4], ["[]", "None", "[1]", "yes", "no"])
    failing = trace([0, 2, 4], ["[]", "[]", "no"])
    found = first_difference(passing, failing, lines, lines, lambda node: False)
    assert found is not None
    assert (found.line, found.name) == (3, "found")


def test_what_is_only_known_by_its_type_says_so():
    sources = [{"path": "a.py", "first": 0, "test": False, "scopes": [], "names": [], "sites": []}]
    answer = {
        "sources": sources,
        "texts": ["", "Munch", "True", "'Munch'"],
        "full": False,
        "threads": 0,
        "processes": 0,
    }
    columns = {name: np.zeros(0, np.int64) for name in ("site", "call", "callers", "text", "outcome")}
    texts = ValueTrace.from_answer(answer, columns, lambda path: b"").texts
    assert texts == ["", "of type Munch", "True", "'Munch'"]


def test_a_function_that_calls_itself_in_one_run_only_does_not_correspond_to_its_next_call():
    sites = tuple(
        ValueSite("a.py", line, 0, "value", (), (("a.py", 0, name),), is_test=False)
        for line, name in ((1, "x"), (9, "y"))
    )

    def trace(nodes, callers):
        site, call, values = zip(*nodes, strict=True)
        columns = (np.array(one, np.int64) for one in (site, call, callers, range(len(values))))
        return ValueTrace(sites, *columns, np.full(len(values), -1, np.int64), values, {}, whole=True)

    passing = trace([(0, 1, "1"), (0, 2, "2"), (0, 3, "7"), (1, 0, "8")], [0, 1, 0])
    failing = trace([(0, 1, "1"), (0, 2, "7"), (1, 0, "9")], [0, 0])
    found = first_difference(passing, failing, {}, {}, lambda node: False)
    assert found is not None
    assert (found.name, found.before, found.after, found.equal) == ("y", "8", "9", 2)
