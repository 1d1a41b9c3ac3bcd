"""Options that the command line and the settings of editors share.

Each is declared here once, as an `Option`: name, default, range, text. Options of commands, settings of editors and
their tables in docs/ are made from it. Options that only one command has are written where that command is.
"""

from __future__ import annotations

from suspectra_recorder.options import Option

TECHNIQUE = Option(
    "technique",
    "evidence",
    "The technique that ranks the suspects, by its name as `suspectra techniques` lists it; `NAME+NAME` lets a second"
    " one order what the first ties.",
)
CLONE_FAILED = Option(
    "clone_failed",
    False,
    "Weigh the failing tests as if there were as many of them as passing ones. For formulas only.",
)
INCLUDE_TESTS = Option("include_tests", False, "Let test code be suspected too.")
COVERAGE = Option(
    "coverage",
    "",
    "A coverage.py data file with dynamic contexts to rank from, or a report of `coverage json --show-contexts`.",
)
JUNIT = Option("junit", "", "The JUnit XML file that belongs to the coverage file, or a pattern such as `**/T*.xml`.")
GCOV = Option("gcov", "", "C/C++: a folder of .gcda files, or of gcov's JSON, a folder a test.")
GCOVR = Option("gcovr", "", "C/C++: a folder of gcovr's JSON, a file a test.")
LCOV = Option("lcov", "", "C/C++: a tracefile with test names, or a folder of them.")
COBERTURA = Option("cobertura", "", "C/C++: a folder of Cobertura XML, a file a test.")
OUTCOMES = Option("outcomes", "", "C/C++: how the tests ended: JUnit XML, JSON, or lines of text.")
P_JUMP = Option(
    "p_jump",
    0.5,
    "How likely a reader goes from a line to a neighbour rather than back to the ranking, from 0 to 1.",
    minimum=0,
    maximum=1,
)
SAME_FUNCTION = Option(
    "same_function",
    1.0,
    "How much the other lines of a function draw the reader of one of them, against the other two weights.",
    minimum=0,
)
CONTROL_FLOW = Option(
    "control_flow", 1.0, "How much what runs just before and after a line draws its reader.", minimum=0
)
CALLS = Option("calls", 1.0, "How much the other end of a call draws a reader.", minimum=0)
INVESTIGATION_SECONDS = Option(
    "investigation_seconds",
    20.0,
    "How many seconds failing tests may be run again with something altered, all of them together.",
    flag="seconds",
)
FIX_SECONDS = Option("fix_seconds", 20.0, "How many seconds fixes may be searched.", flag="seconds")
WHY_SECONDS = Option(
    "why_seconds",
    30.0,
    "How many seconds the search for an answer to why tests fail may take.",
    flag="seconds",
)
CAUSES_SECONDS = Option(
    "causes_seconds",
    60.0,
    "How many seconds the search for the causes of one failure may take.",
    flag="seconds",
)
CHANGES_SECONDS = Option(
    "changes_seconds",
    20.0,
    "How many seconds failing tests may be run again with some of the changes.",
    flag="seconds",
)
KEEP_TEXTS = Option(
    "keep_texts",
    True,
    "Keep the texts of sources with which tests passed, in the user's cache folder, to find out later what broke them.",
    negative="Keep no text of a source.",
)
PATHS_SECONDS = Option(
    "paths_seconds",
    30.0,
    "How many seconds a failing test and passing ones may be run again to compare their paths.",
    flag="seconds",
)

EXCLUDE_MARKERS = Option(
    "exclude_markers",
    (),
    "Markers of pytest: tests that have one of them are never run with something altered.",
    flag="exclude-marker",
)
COPY = Option("copy", False, "Run altered tests in a temporary copy of the workspace.")
FORKS = Option(
    "forks", False, "Switch decisions in forks of one run, which share its open files: faster for long tests."
)
HIDE_VALUES = Option("hide_values", False, "Show and log no values of the program, only why one was tried.")

EXPERIMENTS = (EXCLUDE_MARKERS, COPY, FORKS, HIDE_VALUES)
"""The options of all experiments. Each is a parameter of an investigation or of its safety."""
