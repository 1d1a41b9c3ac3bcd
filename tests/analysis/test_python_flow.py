"""Control flow of Python, against what coverage.py sees when the code runs."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from suspectra.evidence.formats.coverage_data import CoverageData
from suspectra.program import Program
from suspectra.program.control_flow import control_flow
from suspectra.program.flow_graph import ENTRY, EXIT
from suspectra.program.python.arcs import Completion
from suspectra.program.python.flow import PythonFlow
from suspectra.program.python.graphs import python_graphs
from suspectra.program.python.source import PythonSource
from suspectra.runs.measured_file import MeasuredFile
from suspectra.spectrum import Edges, Elements, Function, Spectrum
from suspectra.techniques import make_technique

ZOO = Path(__file__).parents[1] / "fixtures" / "python_flow" / "zoo.py"


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> tuple[PythonFlow, set[tuple[int, int]], list[str]]:
    """The flow of the zoo, the arcs coverage.py saw when all of it ran, and its lines."""
    data = tmp_path_factory.mktemp("zoo") / "data"
    command = [
        sys.executable,
        "-m",
        "coverage",
        "run",
        "--branch",
        f"--data-file={data}",
        "--rcfile=/dev/null",
        str(ZOO),
    ]
    done = subprocess.run(command, cwd=data.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with CoverageData(data, "data") as measured:
        (number,) = [number for number, path in measured.files if Path(path) == ZOO]
        _, source, target = measured.arcs(number)
    text = ZOO.read_bytes()
    lines = PythonSource.parse(text)
    arcs = set(zip(lines.first_lines(source).tolist(), lines.first_lines(target).tolist(), strict=True))
    return PythonFlow.parse(text), {arc for arc in arcs if arc[0] != arc[1]}, text.decode().split("\n")


def test_every_arc_that_is_taken_is_a_way_control_can_go(zoo):
    flow, taken, lines = zoo
    ends = np.array(sorted(taken), np.int32)
    strange = [(arc, lines[abs(arc[0]) - 1], lines[abs(arc[1]) - 1]) for arc in ends[~flow.can_go(ends)].tolist()]
    assert len(taken) > 500
    assert strange == []


def test_ways_that_are_usual_are_mostly_taken(zoo):
    """The graph is no mere superset: what the zoo does not take are exceptions to be expected and dead code."""
    flow, taken, _ = zoo
    usual = set(map(tuple, flow.ends[~flow.rare].tolist()))
    assert len(usual - taken) < len(usual) / 10


# each function with its arcs, `rare` ones left out; lines count from the `def`
FUNCTIONS = {
    "while True:\n    a()\n    if b: break\nc()": "-1>2 2>3 3>4 4>2 4>5 5>-1",
    "while a:\n    b()\nelse:\n    c()": "-1>2 2>3 3>2 2>5 5>-1",
    "for a in b:\n    if c:\n        continue\n    d()\nreturn 1": "-1>2 2>3 3>4 4>2 3>5 5>2 2>6 6>-1",
    "try:\n    a()\nexcept B:\n    c()\nelse:\n    d()\ne()": "-1>2 2>3 3>7 7>8 8>-1 4>5 5>8 4>-1",
    "try:\n    return a\nfinally:\n    b()": "-1>2 2>3 3>5 5>-1",
    "for a in b:\n    try:\n        if c:\n            break\n    finally:\n        d()\ne()": (
        "-1>2 2>3 3>4 4>5 4>7 5>7 7>8 7>2 2>8 8>-1"
    ),
    "with a:\n    b()\nc()": "-1>2 2>3 3>2 2>4 4>-1",
    "with a:\n    return b": "-1>2 2>3 3>2 2>-1",
    "match a:\n    case 1:\n        b()\n    case _:\n        c()": "-1>2 2>3 3>4 4>-1 3>5 5>6 6>-1",
    "raise a": "-1>2 2>-1",
    "a = (1,\n     2)\nb = a": "-1>2 2>4 4>-1",
    "global a\na = 1": "-1>3 3>-1",
    "'''Doc.'''\nreturn 1": "-1>3 3>-1",
}


@pytest.mark.parametrize(("body", "arcs"), FUNCTIONS.items())
def test_usual_arcs(body, arcs):
    text = "def f(a, b):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    found = PythonFlow.parse(text.encode()).arcs_of(1)
    expected = {tuple(int(end) for end in arc.split(">")) for arc in arcs.split()}
    assert {arc for arc, rare in found.items() if not rare} == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("if a: b()\n", "line of its condition"),
        ("def f(): return 1\n", "line of its `def`"),
        ("a = b if c else d\n", "conditional expression"),
        ("a = b and c\n", "stop early"),
        ("a = [b for b in c if b]\n", "comprehension"),
    ],
)
def test_what_arcs_cannot_tell_is_listed(text, why):
    assert [line for line, reason in PythonFlow.parse(text.encode()).undecided if why in reason] == [1]


@pytest.mark.parametrize(
    "data", [b"def f(:\n", b"\x00", b"# -*- coding: nonsense -*-\n", b"(" * 10_000 + b")" * 10_000]
)
def test_no_python(data):
    with pytest.raises(SyntaxError):
        PythonFlow.parse(data)


def test_latin_1_and_windows_line_ends():
    text = "# -*- coding: latin-1 -*-\r\ndef f():\r\n    return 'ä'\r\n"
    assert PythonFlow.parse(text.encode("latin-1")).arcs_of(1).keys() >= {(-2, 3), (3, -2)}


# ------------------------------------------------------------------------------------------------------- graphs

SOURCE = """\
def f(a):
    b = a
    c = b
    if c:
        b = g(
            c)
        c = 1
    return b
"""
ARCS = [(-1, 2), (2, 3), (3, 4), (4, 5), (5, 7), (7, 8), (8, -1)]


def tables(arcs: list[tuple[int, int]]) -> tuple[Elements, Edges]:
    line = np.array([1, 2, 3, 4, 5, 7, 8], np.int32)
    zeros = np.zeros(7, np.int32)
    functions = (Function(0, "f", 1, 8),)
    elements = Elements(("f.py",), zeros, line, line, np.array([-1, 0, 0, 0, 0, 0, 0], np.int32), functions)
    source, target = np.array(arcs, np.int32).T
    return elements, Edges(np.zeros(len(arcs), np.int32), source, target, np.zeros(len(arcs), np.int32))


def blocks(graph, elements: Elements) -> list[list[int]]:
    return [elements.line[graph.elements_of(block)].tolist() for block in range(graph.blocks)]


def edges_of(graph) -> set[tuple[int, int, int]]:
    return set(zip(graph.source.tolist(), graph.target.tolist(), graph.edge.tolist(), strict=True))


def test_blocks_of_a_function_from_its_source():
    elements, edges = tables(ARCS)
    (table,), problems = python_graphs(elements, edges, lambda path: SOURCE.encode())
    graph = table.graph(0)
    assert graph.function == 0
    assert blocks(graph, elements) == [[], [], [2, 3, 4], [5, 7], [8]]
    # 4 → 8 was not taken by any test, but it ends the block all the same
    assert edges_of(graph) == {(ENTRY, 2, 0), (2, 3, 3), (2, 4, -1), (3, 4, 5), (4, EXIT, 6)}
    assert problems == ()


def test_an_exception_that_happened_ends_a_block():
    elements, edges = tables([*ARCS, (3, -1)])
    (table,), _ = python_graphs(elements, edges, lambda path: SOURCE.encode())
    graph = table.graph(0)
    assert blocks(graph, elements) == [[], [], [2, 3], [4], [5, 7], [8]]
    assert (2, EXIT, 7) in edges_of(graph)
    assert (2, 3, 2) in edges_of(graph)


def test_without_a_source_the_arcs_alone_make_the_graph_and_it_is_said():
    elements, edges = tables(ARCS)
    (table,), (problem,) = python_graphs(elements, edges, lambda path: None)
    graph = table.graph(0)
    assert blocks(graph, elements) == [[], [], [2, 3, 4, 5, 7, 8]]
    assert edges_of(graph) == {(ENTRY, 2, 0), (2, EXIT, 6)}
    assert graph.function == 0
    assert "only the ways tests took" in problem.cause
    (_, (newer,)) = python_graphs(elements, edges, lambda path: b"def f(:")
    assert "syntax that is newer than Python" in newer.cause
    assert "only the ways tests took" in newer.cause


def test_arcs_that_are_no_way_to_go_are_said_and_left_out():
    elements, edges = tables([*ARCS, (2, 7)])
    (table,), (problem,) = python_graphs(elements, edges, lambda path: SOURCE.encode())
    graph = table.graph(0)
    assert 7 not in graph.edge
    assert problem.place == "f.py:2"
    assert "2 → 7" in problem.cause


def test_scopes_no_test_entered_have_no_graph():
    elements, edges = tables([(-1, 2), (2, 3)])
    more = SOURCE + "\n\ndef g():\n    return 1\n"
    (table,), _ = python_graphs(elements, edges, lambda path: more.encode())
    assert len(table) == 1


def test_sources_that_changed_since_the_run_are_not_used():
    elements, edges = tables(ARCS)
    rows = (np.arange(7, dtype=np.int32), np.arange(7, dtype=np.int32))
    spectrum = Spectrum(("a", "b"), np.array([True, False]), elements, rows, np.ones(7, bool), edges, rows)
    line = elements.line

    def flow(digest: str | None):
        file = MeasuredFile("f.py", digest, line, line, elements.function, (("f", 1, 8),))
        return control_flow("CP", spectrum, Program((file,), (), lambda path: SOURCE.encode()))[1]

    as_run = flow(hashlib.sha256(SOURCE.encode()).hexdigest())
    assert as_run.blocks == 5
    assert flow(None).blocks == 5
    changed = flow("0" * 64)
    assert changed.blocks == 3
    assert "not available as it was run" in changed.problems[0].cause


# -------------------------------------------------------------- arcs that follow from the statements

JOINS = """\
def f(a):
    if a:
        a = 1
    else:
        a = 2
    for b in a:
        g(b)
    with h:
        a = b
    return a
"""
DECISIONS = [(-1, 2), (2, 3), (2, 5), (6, 7), (6, 8), (8, 9)]  # what a recorder of entries and decisions marks


def recorded(*runs: tuple[list[int], list[int]], counts: list[list[int]] | None = None) -> Spectrum:
    """Runs by the lines they execute and the marks they make; the first failed."""
    line = np.array([1, 2, 3, 5, 6, 7, 8, 9, 10], np.int32)
    zeros = np.zeros(9, np.int32)
    elements = Elements(("f.py",), zeros, line, line, zeros - 1, ())
    source, target = np.array(DECISIONS, np.int32).T
    edges = Edges(zeros[:6], source, target, zeros[:6] - 1, complete=False)
    return Spectrum(
        tuple(f"t{i}" for i in range(len(runs))),
        np.arange(len(runs)) == 0,
        elements,
        tuple(np.flatnonzero(np.isin(line, lines)).astype(np.int32) for lines, _ in runs),
        np.ones(9, bool),
        edges,
        tuple(np.array(marks, np.int32) for _, marks in runs),
        tuple(np.array(times) for times in counts) if counts else None,
    )


def arcs_of(spectrum: Spectrum, test: int) -> set[tuple[int, int]]:
    row = spectrum.edge_rows[test]
    return set(zip(spectrum.edges.source[row].tolist(), spectrum.edges.target[row].tolist(), strict=True))


def completed(spectrum: Spectrum) -> Spectrum:
    return Completion(spectrum.elements, spectrum.edges, {0: PythonFlow.parse(JOINS.encode())}).complete(spectrum)


def test_ways_that_decide_nothing_follow_from_the_statements():
    whole = ([2, 3, 6, 7, 8, 9, 10], [0, 1, 3, 4, 5])
    raised = ([2, 5, 6, 7], [0, 2, 3])  # g(b) raised
    spectrum = recorded(whole, raised)
    found = completed(spectrum)
    assert found.edges.complete
    marks = [{DECISIONS[mark] for mark in run[1]} for run in (whole, raised)]
    assert arcs_of(found, 0) == marks[0] | {(3, 6), (7, 6), (9, 8), (8, 10), (10, -1)}
    assert arcs_of(found, 1) == marks[1] | {(5, 6), (7, 6)}
    assert [row.tolist() for row in found.edge_rows] == [sorted(row.tolist()) for row in found.edge_rows]


def test_how_often_they_were_gone_is_what_enters_them():
    whole = ([2, 3, 5, 6, 7, 8, 9, 10], [0, 1, 2, 3, 4, 5])
    spectrum = recorded(whole, counts=[[5, 3, 2, 20, 5, 5]])
    found = completed(spectrum)
    arcs = list(zip(found.edges.source.tolist(), found.edges.target.tolist(), strict=True))
    times = dict(zip([arcs[at] for at in found.edge_rows[0]], found.edge_counts[0].tolist(), strict=True))
    assert {arc: times[arc] for arc in [(3, 6), (5, 6), (7, 6), (9, 8)]} == {
        (3, 6): 3,
        (5, 6): 2,
        (7, 6): 20,
        (9, 8): 5,
    }


def test_some_edges_of_a_test_are_those_of_its_whole_row():
    partial = recorded(([2, 3, 6, 7, 8, 9, 10], [0, 1, 3, 4, 5]), ([2, 5, 6, 7], [0, 2, 3]))
    for spectrum in (partial, completed(partial)):
        each = np.eye(len(spectrum.edges), dtype=bool)
        for wanted in (*each, *~each, each.any(axis=0), ~each.any(axis=0)):
            rows = [spectrum.edge_rows[test] for test in (1, 0)]
            found = [sorted(row.tolist()) for row in spectrum.edges_among(wanted, [1, 0])]
            assert found == [row[wanted[row]].tolist() for row in rows]


def test_techniques_see_the_completed_flow():
    whole, raised = ([2, 3, 6, 7, 8, 9, 10], [0, 1, 3, 4, 5]), ([2, 5, 6, 7], [0, 2, 3])
    program = Program((), (), lambda path: JOINS.encode())
    report = make_technique("cp").localize(recorded(raised, whole), program)
    assert report.spectrum.edges.complete
    assert len(report.details.source) > len(DECISIONS)
    again = make_technique("cp").localize(recorded(raised, whole), Program(()))  # no source: what was marked
    assert not again.spectrum.edges.complete
