"""Exceptions and coroutines of C++: the lines that count are those that ran, however an exception leaves a function."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from suspectra.evidence.c.call_ends import common_name
from suspectra.program.c.files import parse_notes, parse_profile
from suspectra.program.c.flow import CFlow

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
