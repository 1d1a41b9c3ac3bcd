"""Paths of C programs: what a real gcc compiled, run for real, and the reading of machine code and of sources."""

import json
import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from suspectra.base.cancellation import Cancelled, Token
from suspectra.base.errors import EvidenceError
from suspectra.base.location import Location
from suspectra.c.experiments.switching import CSwitchInquiry
from suspectra.c.paths.compared_values import compared_values
from suspectra.c.paths.comparison_texts import comparison_texts, literal
from suspectra.c.paths.conditions import Conditions
from suspectra.c.paths.decisions import Turn, decisions_of
from suspectra.c.paths.disassembly import Disassembly
from suspectra.c.paths.failing_run import CFailingRun
from suspectra.c.paths.flow import Flow, unsteady
from suspectra.c.paths.searching import CPathSetting
from suspectra.c.paths.switching import CSwitching
from suspectra.c.paths.traced_build import FLAGS, PATHS, TracedBuild
from suspectra.c.paths.traced_cmake import TracedCMakeBuild
from suspectra.c.paths.traced_program import TracedProgram
from suspectra.c.paths.traced_project import TracedProject
from suspectra.c.paths.traced_run import CTracedRun
from suspectra.c.paths.traced_tests import TracedTests
from suspectra.c.paths.turned_tests import TurnedTests
from suspectra.c.recording.case import CCase
from suspectra.cli.rerun import suspicious_tests
from suspectra.evidence.discovery import find_source
from suspectra.paths.distance import distance, parting
from suspectra.paths.path import NO_BRANCH
from suspectra.paths.report import ReportedPlace
from suspectra.paths.searches.search import PathOptions, PathSearchLimits
from suspectra.spectrum import Spectrum

PROGRAM = r"""
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static jmp_buf back;

static int depth(int n) {
    if (n == 0)
        return 0;
    return 1 + depth(n - 1);
}

static void jump(int n) {
    if (n > 0)
        jump(n - 1);
    longjmp(back, 1);
}

static int sum(int n) {
    int total = 0;
    for (int i = 0; i < n; i++)
        if (i % 2 == 0)
            total += i;
    return total;
}

static int least(int a, int b) {
    return a < b ? a + 1 : b;
}

static void *work(void *nothing) {
    sum(3);
    return nothing;
}

static double half(double of) {
    if (of == 3.0)
        abort();
    return of / 2;
}

int main(int count, char **given) {
    int n = count > 2 ? atoi(given[2]) : 0;
    if (strcmp(given[1], "sum") == 0)
        printf("%d\n", sum(n) + sum(2));
    else if (strcmp(given[1], "depth") == 0)
        printf("%d\n", depth(n) + least(n, 2));
    else if (strcmp(given[1], "jump") == 0) {
        if (setjmp(back) == 0)
            jump(n);
        sum(2);
    } else if (strcmp(given[1], "half") == 0)
        printf("%f\n", half(n));
    else if (strcmp(given[1], "chance") == 0) {
        if (getpid() % 2)
            n++;
        sum(2);
    } else if (strcmp(given[1], "fork") == 0) {
        if (fork() == 0)
            sum(9);
        sum(2);
    } else {
        pthread_t other;
        pthread_create(&other, NULL, work, NULL);
        pthread_join(other, NULL);
    }
    return 0;
}
"""
LINES = {text.strip(): number for number, text in enumerate(PROGRAM.splitlines(), 1)}
FOR = LINES["for (int i = 0; i < n; i++)"]


class Runs:
    """Runs the program above, and knows what its events are."""

    def __init__(self, folder):
        self.folder = folder
        self.program = TracedProgram(folder)

    def run(self, *arguments):
        notes = self.folder / f"run-{len(list(self.folder.iterdir()))}"
        notes.mkdir()
        environment = {**os.environ, "SUSPECTRA_PATH": f"{notes}/"}
        subprocess.run([self.folder / "program", *arguments], env=environment, capture_output=True, check=False)
        return CTracedRun.read(notes, self.program)

    def events(self, path, positions=None):
        """Line and outcome of events, calls with the name of their function."""
        chosen = range(len(path)) if positions is None else positions
        return [self.event(int(path.statement[at]), int(path.outcome[at])) for at in chosen]

    def event(self, statement, outcome):
        kind, location = self.program.place(statement)
        if kind == "call":
            node = self.program.nodes[statement]
            return self.program.module(node.module).functions[node.address]
        return (location.line, {0: False, 1: True, NO_BRANCH: "never"}.get(outcome))


@pytest.fixture(scope="module")
def runs(tmp_path_factory, tool):
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(PROGRAM)
    gcc = tool("gcc", "gcc")
    subprocess.run([gcc, *FLAGS, "-c", "program.c"], cwd=folder, check=True)
    recorder = [gcc, "-Wall", "-Wextra", "-Werror", "-O2", "-fno-omit-frame-pointer", "-c", PATHS.source]
    subprocess.run(recorder, cwd=folder, check=True)
    subprocess.run([gcc, "program.o", "recorder.o", "-o", "program", "-pthread"], cwd=folder, check=True)
    return Runs(folder)


def test_decisions_are_in_the_order_in_which_they_were_made_and_calls_begin_with_their_function(runs):
    run = runs.run("sum", "1")
    path = Flow(runs.program, [run]).path(run)
    even = FOR + 1
    first = LINES["int n = count > 2 ? atoi(given[2]) : 0;"]
    once = [(FOR, True), (even, True), (FOR, False)]
    assert runs.events(path) == [
        *["main", (first, None), (first + 1, True), "sum", *once],
        *["sum", (FOR, True), (even, True), (FOR, True), (even, False), (FOR, False)],
    ]
    calls = [at for at, event in enumerate(runs.events(path)) if event == "sum"]
    assert path.depends_on[calls].tolist() == [0, 0], "in this run nothing of main could have gone another way"
    assert (
        runs.event(*(int(column[path.depends_on[calls[0] + 1]]) for column in (path.statement, path.outcome))) == "sum"
    )


def test_rounds_and_calls_correspond_to_those_of_the_other_run(runs):
    longer, shorter = runs.run("sum", "5"), runs.run("sum", "3")
    flow = Flow(runs.program, [longer, shorter])
    path, other = flow.path(longer), flow.path(shorter)
    assert runs.events(path, distance(path, other).branches) == [(FOR, True)]
    parts = parting(path, other)
    assert int((path.statement[: parts.position] == path.statement[parts.position]).sum()) == 3  # its fourth time
    assert runs.events(other, [parts.other]) == [(FOR, False)]


def test_recursion_and_conditions_that_are_no_statement(runs):
    deep, flat = runs.run("depth", "3"), runs.run("depth", "1")
    flow = Flow(runs.program, [deep, flat])
    path, other = flow.path(deep), flow.path(flat)
    assert runs.events(path).count("depth") == 4
    compared = runs.events(path, distance(path, other).branches)
    assert compared == [(LINES["if (n == 0)"], False), (LINES["return a < b ? a + 1 : b;"], None)]


def test_longjmp_ends_the_calls_that_it_leaves(runs):
    run = runs.run("jump", "2")
    path = Flow(runs.program, [run]).path(run)
    events = runs.events(path)
    after = len(events) - events[::-1].index("sum") - 1
    caller = run.call[run.caller[run.call[run.is_entry][-1]]]
    assert caller == run.call[0], "sum is called by main, and not by a call of jump"
    assert path.depends_on[after] < events.index("jump")


def test_a_crash_is_where_the_other_run_goes_on(runs):
    crashed, passed = runs.run("half", "3"), runs.run("half", "4")
    flow = Flow(runs.program, [crashed, passed])
    path, other = flow.path(crashed), flow.path(passed)
    assert runs.events(path, distance(path, other).branches) == [(LINES["if (of == 3.0)"], True)]
    assert len(path) == len(other)


def test_each_thread_has_a_path_of_its_own_and_a_fork_has_none(runs):
    threads, forked = runs.run("threads"), runs.run("fork")
    path = Flow(runs.program, [threads]).path(threads)
    work = runs.events(path).index("work")
    assert path.depends_on[work] == -1
    assert runs.events(path)[work + 1] == "sum"
    alone = Flow(runs.program, [forked]).path(forked)
    assert runs.events(alone).count("sum") == 1


def test_what_differs_between_two_runs_of_a_test_is_found(runs):
    first = runs.run("chance")
    again = next(run for run in iter(lambda: runs.run("chance"), None) if unsteady(runs.program, first, run))
    found = unsteady(runs.program, first, again)
    assert {runs.program.place(node)[1].line for node in found} == {LINES["if (getpid() % 2)"]}
    flow = Flow(runs.program, [first, again])
    assert parting(flow.path(first), flow.path(again)) is not None
    assert parting(flow.path(first, found), flow.path(again, found)) is None


def test_a_limit_ends_a_path(runs):
    notes = runs.folder / "short"
    notes.mkdir()
    environment = {**os.environ, "SUSPECTRA_PATH": f"{notes}/", "SUSPECTRA_PATH_EVENTS": "100000"}
    subprocess.run([runs.folder / "program", "sum", "1000000"], env=environment, capture_output=True, check=True)
    (file,) = notes.glob("*.path")
    assert file.stat().st_size == 1 << 20, "no window after the one in which the limit is met"
    assert len(CTracedRun.read(notes, runs.program)) == 1 << 17


@pytest.mark.parametrize(
    ("source", "line", "expected"),
    [
        ("if (a) {\n b();\n} else\n c();", (2, 4), ("if", True)),
        ("if (a) {\n b();\n} else\n c();", (4, 2), ("if", False)),
        ("if (a &&\n  b)\n c();\nd();", (2, 4), ("if", True)),  # on to the other operand
        ("if (a ||\n  b)\n c();\nd();", (2, 3), ("if", False)),
        ("if (a) b();\nc();", (2, 1), ("if", False)),
        ("while (a)\n b();\nc();", (2, 3), ("while", True)),
        ("do {\n b();\n} while (a);\nc();", (2, 4), ("while", True)),
        ("for (;a;)\n for (;b;)\n  c();\nd();", (2, 4), ("for", True)),
        ("switch (a) {\ncase 1:\n b();\n}", (3, 4), ("switch", None)),
        ("if (a) b(); else c();", (1, 1), ("if", None)),  # one line for both
        ("if (a) if (b) c();", (1, 2), None),  # two on one line
        ('x = "if (a)"; // if (b)\n/* if (c) */', (1, 2), None),
        ("#define f(a) if (a)\n", (1, 2), None),
        ("if (a", (1, 2), None),
        ("x = a ? b : c;", (1, 1), None),
    ],
)
def test_conditions_say_which_way_was_true_as_far_as_lines_tell(source, line, expected):
    at = 3 if source.startswith("do") else 1
    found = Conditions(source).at(at)
    assert (found and (found.kind, found.truth(*line))) == expected


X86 = """\
a:     file format elf64-x86-64

0000000000001000 <f>:
f():
/src/a.c:3
    1000:	call   2000 <__sanitizer_cov_trace_pc>
    1005:	ucomisd -0x8(%rbp),%xmm0
/src/a.c:4 (discriminator 1)
    100a:	jp     1020 <f+0x20>
    100c:	jne    1020 <f+0x20>
/src/a.c:5
    100e:	call   2000 <__sanitizer_cov_trace_pc@plt>
    1013:	notrack jmp *%rax
    1020:	nop
/src/a.c:6
    1021:	call   2000 <__sanitizer_cov_trace_pc>
    1026:	call   3000 <abort@plt>

0000000000001030 <g>:
    1030:	call   2000 <__sanitizer_cov_trace_pc>
    1035:	ret
"""
ARM = """\
a:     file format elf64-littleaarch64

0000000000001000 <f>:
    1000:	bl	2000 <__sanitizer_cov_trace_pc>
    1004:	cmp	w0, #0x0
    1008:	b.le	1014 <f+0x14>
    100c:	bl	2000 <__sanitizer_cov_trace_pc>
    1010:	b	1018 <f+0x18>
    1014:	bl	2000 <__sanitizer_cov_trace_pc>
    1018:	bl	2000 <__sanitizer_cov_trace_pc>
    101c:	ret
"""


def test_decisions_are_found_in_machine_code():
    found = Disassembly.parse(X86.splitlines())
    first = found.blocks[0x1005]
    assert (first.place.line, first.jump, first.decides) == (3, 0x100A, ("/src/a.c", 4))
    assert first.arms == {0x1013: 0x100E, 0x1026: 0x1020}
    assert [found.blocks[at].jump for at in (0x1013, 0x1026, 0x1035)] == [0, 0, 0], "none goes on into g"
    assert [at for at, block in found.blocks.items() if block.ends] == [0x1026], "it only aborts"
    block = Disassembly.parse(ARM.splitlines()).blocks[0x1004]
    assert (block.jump, block.arms) == (0x1008, {0x1010: 0x100C, 0x1018: 0x1014})
    with pytest.raises(EvidenceError, match="x86-64 and aarch64 only"):
        Disassembly.parse(["a: file format elf64-s390", "", "0000000000001000 <f>:", "    1000:\tbr\t%r14"])


def test_a_switch_of_thousands_of_cases_is_read(tmp_path, tool):
    cases = "".join(f"    case {number * number * 40}: a[0] = {number}; break;\n" for number in range(2000))
    (tmp_path / "a.c").write_text(f"int f(int c, int *a) {{\n    switch (c) {{\n{cases}    }}\n    return 0;\n}}\n")
    subprocess.run([tool("gcc", "gcc"), *FLAGS, "-fPIC", "-shared", "a.c", "-o", "a.so"], cwd=tmp_path, check=True)
    blocks = Disassembly.from_file(str(tmp_path / "a.so")).blocks.values()
    deciding = [block for block in blocks if block.jump]
    assert [(block.decides.line, len(block.arms)) for block in deciding] == [(2, 2001)]


class Turned:
    """Runs a failing test of the program above with decisions that come out differently."""

    def __init__(self, runs, *arguments, **properties):
        case = CCase("t1", (str(runs.folder / "program"), *arguments), str(runs.folder), **properties)
        self.tests = TracedTests([case], runs.program, Token())
        self.failing = CFailingRun.from_test("t1", self.tests)
        self.decisions = decisions_of(self.failing, self.tests, "t1", ONE_FAILS)

    def outcomes(self, text, times):
        """How the test ends if the decision on a line comes out the other way then; 0 is each time."""
        (decision,) = (one for one in self.decisions if one.location.line == LINES[text])
        turned = TurnedTests(self.tests, "t1", self.failing, Token())
        return [turned.run(Turn(decision, time, 0)).outcome.value for time in times]


ONE_FAILS = Spectrum.from_matrix([[1], [1]], failed=[True, False])


def test_a_decision_comes_out_the_other_way_at_the_time_that_is_named(runs):
    test = Turned(runs, "depth", "3", pass_patterns=("^4\n",))
    ended = test.outcomes("if (n == 0)", (0, 3, 9))
    assert ended == ["failed", "passed", "not reached"], "2, 4 and 5 are printed"
    assert Turned(runs, "depth", "0", pass_patterns=("^2\n",)).outcomes("return a < b ? a + 1 : b;", [1]) == ["passed"]


def test_a_run_that_never_ends_is_ended(runs, monkeypatch):
    test, text = Turned(runs, "sum", "0", pass_patterns=("^9\n",)), "for (int i = 0; i < n; i++)"
    assert test.outcomes(text, [0]) == ["steps"]
    monkeypatch.setattr("suspectra.c.paths.turned_tests._EVENTS", 1 << 40)
    monkeypatch.setattr("suspectra.c.paths.turned_tests._START_S", 0.2)
    assert test.outcomes(text, [0]) == ["timeout"]


def test_the_search_finds_the_decision_that_lets_the_test_pass(runs):
    case = CCase("t1", (str(runs.folder / "program"), "half", "3"), str(runs.folder))
    tests = TracedTests([case], runs.program, Token())
    setting = CPathSetting("t1", tests, [], ONE_FAILS, PathOptions(), Token(), "--ctest build")
    *_, report = CSwitching(setting).search(PathSearchLimits(time.monotonic() + 60))
    line = LINES["if (of == 3.0)"]  # two jumps: one for numbers that can't be compared
    assert report.report == (ReportedPlace(Location("program.c", line, line), "if", 1, True, False),)
    assert report.summary == f"t1 passes if the if at program.c:{line} comes out false."
    assert (report.technique, report.candidates, report.complete) == ("apg", 1, True)


def test_a_decision_that_came_out_both_ways_comes_out_one_way_every_time(runs):
    case = CCase("t1", (str(runs.folder / "program"), "sum", "7"), str(runs.folder), pass_patterns=("^22\n",))
    tests = TracedTests([case], runs.program, Token())
    setting = CPathSetting("t1", tests, [], ONE_FAILS, PathOptions(), Token(), "--ctest build")
    *_, report = CSwitching(setting).search(PathSearchLimits(time.monotonic() + 60))
    line = LINES["if (i % 2 == 0)"]
    assert report.report == (ReportedPlace(Location("program.c", line, line), "if", 2, False, True),)
    assert report.summary == f"t1 passes if the if at program.c:{line} comes out true each time."


def test_a_test_that_starts_its_program_by_another_one_is_refused_before_it_runs(runs, tmp_path):
    argv = ("sh", "-c", f"touch {tmp_path}/ran; {runs.folder}/program half 3")
    tests = TracedTests([CCase("t1", argv, str(runs.folder))], runs.program, Token())
    setting = CPathSetting("t1", tests, [], ONE_FAILS, PathOptions(), Token(), "--ctest build")
    with pytest.raises(EvidenceError, match="t1 starts its program by another one"):
        list(CSwitching(setting).search(PathSearchLimits(time.monotonic() + 60)))
    assert not (tmp_path / "ran").exists()


def test_what_comparisons_compare_is_counted(runs):
    values = runs.folder / "values"
    values.mkdir()
    environment = {**os.environ, "SUSPECTRA_PATH_VALUES": f"{values}/"}
    subprocess.run([runs.folder / "program", "depth", "3"], env=environment, capture_output=True, check=True)
    found = {one.code.line.line: one for one in compared_values(values, runs.program)}
    to_zero, least = found[LINES["if (n == 0)"]], found[LINES["return a < b ? a + 1 : b;"]]
    assert (to_zero.constant, to_zero.pair, to_zero.second) == (0, (3, 1, 0), (0, 1, 3))
    assert (least.constant, least.pair, least.first, least.second) == (None, (0, 0, 1), (0, 0, 1), (0, 0, 1))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("if (i < n)", ["i < n"]),
        ("while (i < all->count && strcmp(a[i], name) != 0)", ["i < all->count", "strcmp(a[i], name) < 0"]),
        ("for (size_t i = 0; i < node->count; i++)", ["i < node->count"]),
        ("} else if (!take(parser, ')')) {", ["take(parser, ')')"]),
        ("if (node != NULL && !done)", ["done"]),  # compilers do not note what pointers are
        ("if (a == 1 &&", ["a < 1"]),
        ("    b > f(2)) {", ["b < f(2)"]),
        ("x = y ? a < b : c > d;", ["y", "a < b", "c < d"]),
        ("assert(n > 0);", ["n < 0"]),
        ("if (x & 1) y = z << 2; // a < b", ["x & 1"]),
        ("call(tree->left, '<');", []),
        ("#if A < 2", []),
    ],
)
def test_the_sides_of_comparisons_are_found_in_a_line(line, expected):
    assert [" < ".join(filter(None, one)) for one in comparison_texts(line)] == expected


def test_numbers_in_sources_are_read():
    texts = ["'a'", "'\\n'", "0", "010", "0x1F", "12u", "-3", "x", "1.5", "09"]
    assert [literal(text) for text in texts] == [97, 10, 0, 8, 31, 12, -3, None, None, None]


class CommandLine(NamedTuple):
    """The command line in a workspace, with a cache of its own."""

    folder: Path
    cache: str

    def __call__(self, *arguments):
        command, environment = [sys.executable, "-m", "suspectra", *arguments], {"XDG_CACHE_HOME": self.cache}
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )


@pytest.fixture(scope="module")
def reckoner(build_reckoner, tmp_path_factory):
    """The example, recorded, with a command line whose cache is its own."""
    folder = build_reckoner(tmp_path_factory.mktemp("example") / "reckoner")
    reckoner = CommandLine(folder, str(tmp_path_factory.mktemp("cache")))
    assert reckoner("record-c", "--ctest", "build").returncode == 1
    return reckoner


@pytest.mark.slow
def test_the_command_compares_tests_of_ctest(reckoner):
    done = reckoner("paths", "largest_below_zero", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["technique"], found["with"], found["candidates"]) == ("nearest-path", "mean_below_zero", 20)
    place = {"file": "src/evaluate.c", "line": 50, "end_line": 50, "outcome": True, "wanted": False}
    assert {**place, "column": 0, "operand": ""} in found["report"]
    assert "src/reckoner.h" in {one["file"] for one in found["report"]}  # a function of a header
    assert {"file": "src/evaluate.c", "line": 50, "instance": 1, "column": 0, "operand": ""} in found["distance"]
    ranked = json.loads(reckoner("rank", "--technique", "nearest-path", "--format", "json").stdout)
    first, last = ranked["suspects"][0], found["report"][-1]
    assert (first["score"], first["rank_worst"]) == (pytest.approx(2), 1)
    assert (last["file"], last["line"]) in [(one["file"], one["line"]) for one in ranked["suspects"]]


@pytest.mark.slow
def test_techniques_that_need_state_rank_tests_of_ctest(reckoner, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", reckoner.cache)
    place, line = "src/evaluate.c:31", 31
    evidence = find_source(reckoner.folder, edges=True).read()
    tests, suspicion = suspicious_tests(evidence, reckoner.folder, ["largest_below_zero"], compiled=True)
    project = TracedProject(reckoner.folder, reckoner.folder / "build")

    def experiment(is_wanted):
        with closing(CSwitchInquiry(project=project, tests=tests, suspects=suspicion).steps()) as made:
            return next(filter(is_wanted, made))

    first = experiment(lambda one: one.outcome.repairs)
    assert (first.line, first.place, first.instance, first.action) == (line, "if condition", 2, "true")
    assert experiment(bool).line != line, "where a test passes, no other time is tried; what is in the log, not again"
    ranked = json.loads(reckoner("rank", "--technique", "switching", "--format", "json").stdout)
    assert line in {one["line"] for one in ranked["suspects"][:2]}
    explained = reckoner("explain", place, "--technique", "switching").stdout
    assert "1 failing test passes if this comes out true the 2nd time." in explained

    observed = reckoner("investigate", "--technique", "value-predicates", "--seconds", "600")
    assert "all tests were observed" in observed.stdout, observed.stderr
    explained = reckoner("explain", place, "--technique", "value-predicates").stdout
    assert "In both failing tests that were observed `result < 0` here, in no passing one of 4." in explained
    refused = reckoner("investigate", "--ctest", "build", "--technique", "muse")
    assert (refused.returncode, "muse alters tests of Python only" in refused.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--ctest", "build", "--copy"], ["--copy"]])
def test_what_the_command_refuses(reckoner, options):
    done = reckoner("paths", "largest_below_zero", *options)
    assert done.returncode == 2
    assert "it is for tests of Python" in done.stderr


def test_a_build_can_be_stopped_and_says_what_is_wrong_with_it(tmp_path, tool):
    # as many projects do, it leaves out the flags of the linker that it is given
    own_flags = 'set(CMAKE_EXE_LINKER_FLAGS "--coverage")\n'
    (tmp_path / "CMakeLists.txt").write_text(f"project(a C)\n{own_flags}add_executable(a a.c)\n")
    (tmp_path / "a.c").write_text("int main(int n, char **v) { return n > 1 ? 2 : 0; }\n")
    subprocess.run([tool("cmake", "cmake"), "-S", ".", "-B", "build"], cwd=tmp_path, check=True, capture_output=True)
    TracedCMakeBuild(tmp_path / "build", tmp_path / "traced").make(Token())
    (tmp_path / "a.c").write_text("int main(void) { return nothing; }\n")
    with pytest.raises(EvidenceError, match="nothing"):
        TracedCMakeBuild(tmp_path / "build", tmp_path / "traced").make(Token())
    stopped = Token()
    stopped.cancelled = True
    with pytest.raises(Cancelled):
        TracedCMakeBuild(Path(tmp_path / "build"), tmp_path / "traced").make(stopped)


def test_another_build_is_made_for_other_flags(monkeypatch):
    """CMake does not know the flags, which the launcher adds, so it would compile nothing again."""
    name = TracedBuild.name(Path("build"))
    assert TracedBuild.name(Path("build")) == name != TracedBuild.name(Path("other"))
    monkeypatch.setattr("suspectra.c.paths.traced_build.FLAGS", (*FLAGS, "-O1"))
    assert TracedBuild.name(Path("build")) != name


CLAMP = """\
int clamp(int n, int low, int high) {
    if (n < low)
        return low;
    if (n >= high - 1)
        return high;
    return n;
}
"""
MESON = """\
project('clamps', 'c')
lib = static_library('clamp', 'clamp.c')
foreach n : ['5', '9', '20']
  test('test_' + n, executable('test_' + n, 'test_' + n + '.c', link_with: lib))
endforeach
"""
MAKEFILE = """\
all: settings test_5 test_9 test_20
test_%: test_%.c clamp.o
	$(CC) -O2 -o $@ $^
settings:
	@echo run ./configure first; false
clean:
	rm -f *.o test_5 test_9 test_20
"""


@pytest.mark.slow
@pytest.mark.parametrize(("system", "build"), [("make", "tests.tsv"), ("meson", "build")])
def test_other_build_systems_build_a_second_time_too(tmp_path, tool, system, build):
    """Each test is a program of its own with the code of one library; make must not make the settings again."""
    tool(system, system)
    (tmp_path / "clamp.c").write_text(CLAMP)
    for n in (5, 9, 20):
        main = f"int main(void) {{ return clamp({n}, 0, 10) != {min(n, 10)}; }}"
        (tmp_path / f"test_{n}.c").write_text(f"int clamp(int, int, int);\n{main}\n")
    (tmp_path / "meson.build" if system == "meson" else tmp_path / "Makefile").write_text(
        MESON if system == "meson" else MAKEFILE
    )
    (tmp_path / "settings").touch()
    (tmp_path / "tests.tsv").write_text("".join(f"test_{n}\t./test_{n}\n" for n in (5, 9, 20)))
    suspectra = CommandLine(tmp_path, str(tmp_path / "cache"))
    assert suspectra("build-c").returncode == 0
    option = "--meson" if system == "meson" else "--shell"
    assert suspectra("record-c", option, build).returncode == 1
    compared = suspectra("paths", "test_9", option, build).stdout
    assert "clamp.c:4  true, there false" in compared, "test_5 is another program"
    assert f"suspectra investigate test_9 {option} {build} --technique value-predicates" in compared
    turned = suspectra("paths", "test_9", option, build, "--technique", "apg").stdout
    assert "test_9 passes if the if at clamp.c:4 comes out false." in turned
