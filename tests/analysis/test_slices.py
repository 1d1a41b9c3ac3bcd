"""Slices as trees and pictures, by the example of paper 002."""

import io
import json
import xml.dom.minidom

import numpy as np
import pytest

from suspectra.dependences.graph import DependenceGraph
from suspectra.dependences.node_places import points_of, with_control
from suspectra.dependences.slice_tree import slice_tree
from suspectra.dependences.slices import backward, chop, forward, nodes_at
from suspectra.dependences.trace import DependenceTrace, TraceSite
from suspectra.output.pictures.slice import slice_svg
from suspectra.output.slices import slice_object, write_slice, write_slice_json

MID = b"""\
def mid(x, y, z):
    m = y
    if y < z:
        if x < y:
            m = y
        elif x > z:
            m = x
    return m


def test_mid():
    assert mid(2, 1, 3) == 2
"""
LINES = MID.decode().split("\n")


def line_of(file, line):
    return LINES[line - 1]


@pytest.fixture(scope="module")
def trace():
    """What a tracer notes of ``mid(2, 1, 3)``; three arguments, which pass on nothing but constants."""
    sites = (
        TraceSite("mid.py", 1, 1, 0, "entry", -1),
        TraceSite("mid.py", 12, 12, 15, "argument", -1),
        TraceSite("mid.py", 12, 12, 18, "argument", -1),
        TraceSite("mid.py", 12, 12, 21, "argument", -1),
        TraceSite("mid.py", 2, 2, 4, "value", 0),
        TraceSite("mid.py", 3, 3, 7, "decision", 0),
        TraceSite("mid.py", 4, 4, 11, "decision", 1),
        TraceSite("mid.py", 6, 6, 13, "decision", 2),
        TraceSite("mid.py", 8, 8, 4, "value", 3),
        TraceSite("mid.py", 12, 12, 4, "assert", -1),
    )
    #         a  b  c  entry m  3  4  6  return assert
    order = [1, 2, 3, 0, 4, 5, 6, 7, 8, 9]
    flow = [(1, 4), (1, 5), (2, 5), (0, 6), (1, 6), (0, 7), (2, 7), (4, 8), (8, 9)]
    made = DependenceGraph.from_edges(10, [(*edge, 0) for edge in flow])
    once = np.ones(10, np.int32)
    graph = DependenceGraph(np.array(order, np.int32), once, made.start, made.source, made.kind)
    call = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1, 0], np.int32)
    outcome = np.array([-1] * 5 + [1, 0, 0] + [-1] * 2, np.int8)
    values = ["2", "1", "3", "", "1", "True", "False", "False", "1", ""]
    is_test = np.array([True] * 3 + [False] * 6 + [True])
    raw = DependenceTrace("test_mid", sites, graph, call, outcome, values, 9, is_test, ("threads are left out",))
    return with_control(raw, {"mid.py": MID}.get, np.array([-1, 0]), np.array([-1, 9]))


def test_sites_are_found_in_their_source(trace):
    table, points = points_of(trace.sites, {"mid.py": MID}.get)
    assert [table.span[point].line for point in points.tolist()] == [site.line for site in trace.sites]
    assert [table.kind[point].value for point in points[5:8].tolist()] == ["decision"] * 3


def test_what_led_to_the_failure(trace):
    found = backward(trace)
    assert found.lines(tests=False) == {"mid.py": [2, 3, 4, 6, 8]}
    (root,) = slice_tree(found).roots
    assert root.step.place == "mid.py:12"
    (returned,) = root.branches
    assert (returned.step.value, returned.why.name) == ("1", "FLOW")
    below = [(branch.step.line, branch.why.name, branch.step.result) for branch in returned.branches]
    assert below == [(6, "SUMMARY", "false"), (2, "FLOW", "1")]
    above = [(branch.step.line, branch.why.name) for branch in returned.branches[0].branches]
    assert above == [(4, "CONTROL"), (3, "CONTROL")]
    # arguments only pass on, so they are not shown
    assert all(site.kind != "argument" for branch in (root, returned) for site in [branch.step])


def test_what_a_line_influenced(trace):
    found = forward(trace, nodes_at(trace, "mid.py", 3).tolist())
    assert found.lines(tests=False) == {"mid.py": [3, 4, 6, 8]}
    (root,) = slice_tree(found).roots
    assert [(branch.step.line, branch.why.name) for branch in root.branches] == [(4, "CONTROL"), (6, "CONTROL")]


def test_what_lies_between(trace):
    found = chop(trace, nodes_at(trace, "mid.py", 4), [trace.failure])
    assert found.lines() == {"mid.py": [4, 6, 8, 12]}
    assert [step.line for step in found.chain(int(nodes_at(trace, "mid.py", 4)[0]))] == [4, 6, 8, 12]
    assert len(chop(trace, [trace.failure], nodes_at(trace, "mid.py", 4))) == 0


def test_a_tree_shows_each_node_once_and_says_how_many_are_left_out(trace):
    (root,) = slice_tree(backward(trace), limit=3).roots
    assert [branch.step.line for branch in root.branches[0].branches] == [6]
    assert root.branches[0].more == 1


def test_a_tree_on_the_terminal(trace):
    out = io.StringIO()
    write_slice(backward(trace), "test_mid fails", line_of, 50, out)
    assert out.getvalue().splitlines() == [
        "test_mid fails",
        "mid.py:12  assert mid(2, 1, 3) == 2",
        "└─ from mid.py:8  return m → 1",
        "   ├─ not changed by mid.py:6  elif x > z: → false",
        "   │  ├─ decided by mid.py:4  if x < y: → false",
        "   │  └─ decided by mid.py:3  if y < z: → true",
        "   └─ from mid.py:2  m = y → 1",
        "10 values and decisions of the run, on 5 lines outside the tests",
        "threads are left out",
    ]


def test_rounds_of_a_loop_are_one_line():
    """Nine rounds of a loop: a decision, and a value made of the one of the round before."""
    kinds = ((1, "decision"), (2, "value"), (4, "assert"))
    sites = tuple(TraceSite("sums.py", line, line, 0, kind, -1) for line, kind in kinds)
    flow, control = 0, 1
    edges = [(node - 2, node, flow if node % 2 else control) for node in range(2, 18)]
    edges += [(node - 1, node, control) for node in range(1, 18, 2)]
    made = DependenceGraph.from_edges(19, [*edges, (17, 18, flow)])
    rounds = np.array([*np.repeat(np.arange(1, 10), 2), 1], np.int32)
    graph = DependenceGraph(np.array([0, 1] * 9 + [2], np.int32), rounds, made.start, made.source, made.kind)
    values = [text for number in range(1, 10) for text in ("", str(number))]
    outcome, is_test = np.array([1, -1] * 9 + [-1], np.int8), np.array([False] * 18 + [True])
    trace = DependenceTrace("test_sum", sites, graph, np.zeros(19, np.int32), outcome, [*values, ""], 18, is_test, ())
    out = io.StringIO()
    write_slice(backward(trace), "", lambda _, line: ("for x in xs:", "n += x", "", "assert n == 1")[line - 1], 3, out)
    assert out.getvalue().splitlines()[1:] == [
        "sums.py:4  assert n == 1",
        "└─ from sums.py:2  n += x  (9 times) → 9, 8, 7, 6, 5, 4, 3, 2, 1",
        "   └─ decided by sums.py:1  for x in xs:  (9 times) → true",
        "19 values and decisions of the run, on 2 lines outside the tests",
    ]
    summed = slice_object(backward(trace), 3)["tree"][0]["branches"][0]
    assert (summed["rounds"], summed["results"]) == (9, list("987654321"))
    picture = slice_svg(backward(trace), lambda _, line: "")
    assert picture.count('class="box"') == 3
    assert ">sums.py:2  9 times</text>" in picture


def test_a_slice_as_json(trace):
    out = io.StringIO()
    write_slice_json(backward(trace), 50, out)
    told = json.loads(out.getvalue())
    assert (told["test"], told["direction"], told["nodes"]) == ("test_mid", "backward", 10)
    assert told["lines"] == {"mid.py": [2, 3, 4, 6, 8, 12]}
    returned = told["tree"][0]["branches"][0]
    wanted = {"file": "mid.py", "line": 8, "value": "1", "outcome": None, "why": "flow", "is_test": False, "more": 0}
    assert {name: returned[name] for name in wanted} == wanted


def test_a_picture_tells_dependences_apart_without_colours(trace):
    picture = xml.dom.minidom.parseString(slice_svg(backward(trace), line_of))
    ways = {path.getAttribute("class") for path in picture.getElementsByTagName("path")}
    assert {"way flow", "way control", "way summary"} <= ways
    texts = [text.firstChild.data for text in picture.getElementsByTagName("text")]
    assert "mid.py:6" in texts
    assert "→ false" in texts
    assert picture.getElementsByTagName("title")[0].firstChild.data == "What led to this: test_mid"


def test_a_slice_of_very_many_steps_after_each_other_is_cut_where_nobody_could_read_it():
    many = 3_000
    sites = tuple(TraceSite("deep.py", line, line, 0, "value", -1) for line in range(1, many + 1))
    made = DependenceGraph.from_edges(many, [(node, node + 1, 0) for node in range(many - 1)])
    order, ones = np.arange(many, dtype=np.int32), np.ones(many, np.int32)
    graph = DependenceGraph(order, ones, made.start, made.source, made.kind)
    deep = DependenceTrace(
        "test_deep", sites, graph, ones * 0, np.full(many, -1, np.int8), ["1"] * many, many - 1, ones > 1, ()
    )
    out = io.StringIO()
    write_slice_json(backward(deep), many, out)
    depth, below = 0, json.loads(out.getvalue())["tree"]
    while below:
        depth, more, below = depth + 1, below[0]["more"], below[0]["branches"]
    assert 100 <= depth < many
    assert more == 1
