"""Exceptions and coroutines of C++: the lines that count are those that ran, however an exception leaves a function."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from suspectra.evidence.c.call_ends import CallEnd, common_name, counting_functions, ends_of_calls
from suspectra.evidence.source_paths import SourcePaths
from suspectra.program.c.ending import CallLine, ends_in
from suspectra.program.c.files import parse_notes, parse_profile
from suspectra.program.c.flow import CFlow
from suspectra.program.c.object import LOST, ON_TREE, CFunction, CObject, Compiler

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from c_endings import ends, measure

COROUTINE = Path(__file__).parents[1] / "fixtures" / "c_coroutines"


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
@pytest.mark.parametrize("program", ["thrown.cpp", "coroutines.cpp"])
def test_the_lines_are_those_that_ran(tool, program, compiler):
    found = dict(measure(program, tool(compiler, compiler), timeout=120))
    assert found.keys() == set(ends(program))
    assert not {end: cell for end, cell in found.items() if "exact" not in cell}


@pytest.mark.parametrize(("run", "lines"), [("never", [18]), ("once", [18, 19, 20])])
def test_a_coroutine_of_clang_22_that_is_left_suspended(run, lines):
    """One call, resumed as often as the name says; the flag of its second await is cleared when it is called."""
    notes = parse_notes((COROUTINE / "clang-22.gcno").read_bytes(), "clang-22.gcno")
    profile = parse_profile((COROUTINE / f"{run}.gcda").read_bytes(), notes, f"{run}.gcda")
    flow = CFlow(notes.functions, clang=[0])
    executed = flow.lines_executed(flow.arc_counts(np.array([profile.counters])))[:, 0]
    there = [line for (_, file, line), ran in zip(flow.lines, executed, strict=True) if ran and file.endswith("ne.cpp")]
    assert [line for line in there if line in range(18, 23)] == lines


def test_names_in_debug_information_of_clang_22():
    assert common_name("_ZL5waitsi.resume") == common_name("_ZL5waitsi")
    assert common_name("_ZN5GuardD4Ev") == common_name("_ZN5GuardD2Ev") != common_name("_ZN5GuardC2Ev")
    assert common_name("_ZN3BoxC4IiEET_") == common_name("_ZN3BoxC1IiEET_")


def test_a_variable_of_a_header_is_no_line_of_the_source(tool, tmp_path):
    """The variable that `<iostream>` defines is on its line 74, which clang 14 takes for line 74 of the source."""
    (tmp_path / "wide.cpp").write_text("#include <iostream>\nstatic int first(int n) {\n" + 90 * "    n++;\n" + MAIN)
    build = [tool("clang-14", "clang-14").replace("clang", "clang++"), "-O0", "-g", "--coverage", "-c", "wide.cpp"]
    subprocess.run(build, cwd=tmp_path, check=True)
    notes = parse_notes((tmp_path / "wide.gcno").read_bytes(), "wide.gcno")
    (computed, own) = [function for function in notes.functions if function.name.startswith("__cxx_global_var_init")]
    assert (computed.lines, {line for _, _, line in own.lines}) == ((), {95})


MAIN = "    return n;\n}\nstatic int own = first(3);\nint main() { return first(own); }\n"


@pytest.mark.parametrize("name", ["flow", "other"])
def test_functions_of_clang_22_are_not_taken_for_optimised(name):
    """It leaves out the line on which they end, so that it seems to be one of another function."""
    path = COROUTINE.with_name("c_objects") / "clang-22" / f"{name}.gcno"
    notes = parse_notes(path.read_bytes(), path.name)
    assert notes.inlined == ()
    assert all(function.last_line >= line for function in notes.functions for _, _, line in function.lines)


DELETED = CFunction(
    1, 0, "_ZN7DerivedD0Ev", False, "t.cpp", 1, 0, 3, ((0, 2, 0), (2, 1, 0)), ((2, "t.cpp", 1), (2, "t.cpp", 4))
)
DESTROYED = CFunction(
    2, 0, "_ZN7DerivedD2Ev", False, "t.cpp", 1, 0, 6,
    ((0, 2, 0), (2, 3, 0), (3, 5, 0), (3, 4, ON_TREE), (4, 5, 0), (5, 1, 0)),
    ((2, "t.cpp", 1), (2, "t.cpp", 2), (3, "t.cpp", 3), (4, "t.cpp", 3), (5, "t.cpp", 4)),
)  # fmt: skip


def test_a_call_whose_destructor_is_not_known_is_one_of_the_function_that_it_fits(tmp_path):
    """clang 22 says `D4` of each of them; the crash is on line 3, and the one that frees the object called that one."""
    notes = CObject("t.gcno", Compiler("clang", 11, 1), 0, "", (DELETED, DESTROYED))
    counters = np.array([1, 1, 1, 1, 0, 1, 0])  # clang counts a block with one way out when it is entered
    calls = [CallEnd("t.cpp", line, "_ZN7DerivedD4Ev", calling=True) for line in (3, 1)]
    (tmp_path / "t.cpp").write_text("")
    counting = counting_functions([(notes, counters)])
    ends = ends_of_calls(notes, counters, calls, SourcePaths(str(tmp_path)), counting)
    assert sorted((end.ident, end.block) for end in ends) == [(1, 2), (2, 4)]


def test_where_a_call_ended_is_unsure_if_a_lost_counter_leaves_it_open():
    """Line 9 or line 3 ran before line 2 called what did not return, and clang has lost a counter."""
    ways_on = tuple((block, target, 0) for block in (3, 4) for target in (5, 1))
    arcs = ((0, 2, 0), (2, 3, ON_TREE), (2, 4, ON_TREE), *ways_on, (5, 1, ON_TREE), (2, 1, LOST))
    lines = ((2, "t.cpp", 1), (3, "t.cpp", 9), (3, "t.cpp", 2), (4, "t.cpp", 3), (4, "t.cpp", 2), (5, "t.cpp", 4))
    function = CFunction(1, 0, "waits", False, "t.cpp", 1, 0, 6, arcs, lines)
    counters = np.array([1, 0, 0, 0, 0])
    (unsure,) = ends_in(function, counters, [CallLine(["t.cpp"], 2, calling=True)], clang=True)
    (known,) = ends_in(function, counters, [CallLine(["t.cpp"], 9, calling=True)], clang=True)
    assert (unsure.sure, known.sure) == (False, True)
