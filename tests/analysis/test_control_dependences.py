"""Control and summary control dependences, against the example of paper 002 and a naive form of its algorithms."""

import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.dependences.control import ControlDependences, NodeCalls
from suspectra.dependences.cuts import minimum_cut
from suspectra.dependences.graph import DependenceGraph, DependenceKind
from suspectra.dependences.instances import InstanceEdges
from suspectra.program.python.point_dependences import PointDependences, joined
from suspectra.program.python.points import ENTRY, EXIT, PointKind, scopes_of

MID = b"""\
def mid(read):
    x = read()
    y = read()
    z = read()
    m = y
    if y < z:
        if x < y:
            m = y
        elif x > z:
            m = x
    else:
        if x > y:
            m = y
        elif x > z:
            m = x
    assert m == 2
"""


def one_call(points):
    points, none = np.array(points, np.int32), np.full(1, -1, np.int32)
    return NodeCalls(points, np.zeros(len(points), np.int32), none, none, none)


def pairs(edges):
    return sorted(zip(edges.source.tolist(), edges.target.tolist(), strict=True))


def points_of(table, places):
    """Statements by (line, column), and decisions by their line alone."""
    decisions = [number for number, kind in enumerate(table.kind) if kind is PointKind.DECISION]
    lines = {table.span[number].line: number for number in decisions}
    return [table.at(*place) if isinstance(place, tuple) else lines[place] for place in places]


def test_the_cuts_of_the_papers_example():
    table = PointDependences.from_source(MID)
    # v1 to v3 read, v4 is m = y; the tests of lines 6, 7 and 9 are v5, v7 and v9; v11 uses m
    nodes = points_of(table, [(2, 4), (3, 4), (4, 4), (5, 4), 6, 7, 9, (16, 4)])
    names = ["v1", "v2", "v3", "v4", "v5", "v7", "v9", "v11"]
    flow = [(1, 3), (1, 4), (2, 4), (0, 5), (1, 5), (0, 6), (2, 6), (3, 7)]
    dependences = ControlDependences(table, one_call(nodes))
    direct = pairs(dependences.direct())
    summary = pairs(dependences.summary(InstanceEdges(*np.array(flow).T)))
    assert [(names[a], names[b]) for a, b in direct] == [("v5", "v7"), ("v5", "v9"), ("v7", "v9")]
    assert [(names[a], names[b]) for a, b in summary] == [("v9", "v11")]
    graph = DependenceGraph.from_edges(
        8,
        [(*edge, DependenceKind.FLOW) for edge in flow]
        + [(*edge, DependenceKind.CONTROL) for edge in direct]
        + [(*edge, DependenceKind.SUMMARY) for edge in summary],
    )

    def cut(begins, end):
        """Between some nodes and another, in what is left of the domain."""
        domain = graph.backward([end])
        usable = domain[graph.source] & domain[graph.target] & ~np.isin(graph.source, begins)
        first = [
            node
            for node in range(8)
            if domain[node]
            and node not in begins
            and node != end
            and (not len(graph.sources_of(node)) or set(graph.sources_of(node).tolist()) & set(begins))
        ]
        source = np.append(graph.source[usable], [8] * len(first))
        target = np.append(graph.target[usable], first)
        found = minimum_cut(source, target, np.append(np.ones(8, int), 0), [8], [end])
        return [names[node] for node in found]

    # {v2, v9} is one, too; the paper takes the one with the shortest chains to the end
    assert cut([], 7) == ["v4", "v9"]
    assert cut([0, 1, 2], 6) == ["v5", "v7"]  # inputs are right


@pytest.mark.parametrize(
    ("source", "places", "expected"),
    [
        # a loop: each round is decided by the one before, and what comes after it by none
        ("def f(a):\n    for b in a:\n        c = b\n    return c\n", [2, (3, 8), 2, (3, 8), (4, 4)], "0-1 0-2 2-3"),
        # after a `break` nothing of the round is executed any more
        (
            "def f(a):\n    while a:\n        if a.b:\n            break\n        c = 1\n",
            [2, 3, (5, 8), 2],
            "0-1 0-2 0-3 1-2 1-3",
        ),
        # an operand decides whether the next one is evaluated
        ("def f(a):\n    return a and g(a)\n", [2, (2, 17)], "0-1"),
        # a condition of a comprehension
        ("def f(a):\n    return [g(b) for b in a if b]\n", [2, (2, 13), 2, (2, 13)], "0-1 2-3"),
        # an arm of `match` is reached only if those before do not fit
        (
            "def f(a):\n    match a:\n        case 1 if a.b:\n            c = 1\n        case _:\n            c = 2\n",
            [3, 5, (6, 12)],
            "0-1 0-2 1-2",
        ),
        # what is in a `try` is executed only if what is before does not raise
        (
            "def f(a):\n    try:\n        b = g(a)\n        c = h(a)\n    except E:\n        c = 1\n",
            [(3, 8), (4, 8)],
            "0-1",
        ),
        ("def f(a):\n    with raises(E):\n        g(a)\n        h(a)\n    i(a)\n", [(3, 8), (4, 8), (5, 4)], "0-1"),
        # what `finally` does is always done
        ("def f(a):\n    try:\n        if a:\n            return\n    finally:\n        b = 1\n", [3, (6, 8)], ""),
        # a `return` keeps all the rest from being executed
        ("def f(a):\n    if a:\n        return\n    b = 1\n", [2, (4, 4)], "0-1"),
    ],
)
def test_what_decides_that_something_is_executed(source, places, expected):
    table = PointDependences.from_source(source.encode())
    found = pairs(ControlDependences(table, one_call(points_of(table, places))).direct())
    assert " ".join(f"{a}-{b}" for a, b in found) == expected


def test_a_value_depends_on_the_decisions_within_it():
    source = b"def f(a):\n    while a():\n        b = [c for c in a if c]\n"
    table = PointDependences.from_source(source)
    calls = one_call(points_of(table, [2, 3, 3, (3, 8), 2, 3, (3, 8)]))
    assert pairs(ControlDependences(table, calls).inside()) == [(1, 3), (2, 3), (5, 6)]


def test_a_called_function_depends_on_what_decided_on_the_call():
    source = b"def f(a):\n    if a:\n        g(a)\n\ndef g(a):\n    b = a\n    if a:\n        b = 2\n"
    table = PointDependences.from_source(source)
    points = np.array([*points_of(table, [2, (5, 0), (6, 4), 7, (8, 8), (3, 8)])])
    calls = NodeCalls(
        points, np.array([0, 1, 1, 1, 1, 0]), np.array([-1, 1]), np.array([-1, 0]), np.array([-1, table.at(3, 8)])
    )
    assert pairs(ControlDependences(table, calls).direct()) == [(0, 1), (0, 5), (1, 2), (1, 3), (3, 4)]


def test_a_call_that_nothing_decided_on_depends_on_the_call_around_it():
    table = PointDependences.from_source(b"def f(a):\n    g(a)\n\ndef g(a):\n    b = a\n")
    points = np.array([*points_of(table, [(1, 0), (4, 0), (5, 4), (2, 4)])])
    calls = NodeCalls(
        points, np.array([0, 1, 1, 0]), np.array([0, 1]), np.array([-1, 0]), np.array([-1, table.at(2, 4)])
    )
    assert pairs(ControlDependences(table, calls).direct()) == [(0, 1), (0, 3), (1, 2)]


@pytest.mark.parametrize(
    ("body", "places", "expected"),
    [
        # a write that did not happen
        ("    if a:\n        m = 1\n    use(m)\n", [2, (4, 4)], "0-1"),
        # all rounds in which it did not happen, but none before the last time it did
        (
            "    for b in a:\n        if b:\n            m = b\n    use(m)\n",
            [2, 3, 2, 3, (4, 12), 2, 3, 2, 3, (5, 4)],
            "6-9 8-9",
        ),
        # one write that is sure to reach is none to be skipped
        ("    m = 1\n    if a:\n        b = 1\n    use(m)\n", [(2, 4), 3, (5, 4)], ""),
        # a container that may have got another item, an attribute
        ("    m = []\n    if a:\n        m.append(1)\n    use(m)\n", [(2, 4), 3, (5, 4)], "1-2"),
        ("    if a.b:\n        m.c = 1\n    use(m.c)\n", [2, (4, 4)], "0-1"),
        ("    if a.b:\n        m.c = 1\n    use(m.d)\n", [2, (4, 4)], ""),
        # the name that a handler binds
        ("    m = 1\n    try:\n        g()\n    except E as m:\n        pass\n    use(m)\n", [(2, 4), (7, 4)], ""),
    ],
)
def test_what_could_have_been_written(body, places, expected):
    table = PointDependences.from_source(f"def f(a, m):\n{body}".encode())
    found = pairs(ControlDependences(table, one_call(points_of(table, places))).summary())
    assert " ".join(f"{a}-{b}" for a, b in found) == expected


def test_of_too_many_summary_dependences_the_latest_stay():
    table = PointDependences.from_source(
        b"def f(a, m):\n    for b in a:\n        if b:\n            m = b\n    use(m)\n"
    )
    calls = one_call(points_of(table, [2, 3] * 10 + [(5, 4)]))
    dependences = ControlDependences(table, calls)
    assert [a for a, _ in pairs(dependences.summary())] == list(range(1, 20, 2))
    assert [a for a, _ in pairs(dependences.summary(limit=6))] == [
        15,
        17,
        19,
    ]  # and those of the loop, which they replace


def test_several_sources_are_numbered_one_after_the_other():
    table = PointDependences.from_source(MID)
    twice = joined([table, table])
    second = points_of(table, [6, 7, 9, (16, 4)])
    calls = one_call([point + len(table) for point in second])
    assert pairs(ControlDependences(twice, calls).summary()) == [(2, 3)]
    assert pairs(ControlDependences(twice, calls).direct()) == [(0, 1), (0, 2), (1, 2)]


# random programs, and random ways through them


@st.composite
def blocks(draw, depth=2, in_loop=False):
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = [
            "assign",
            "use",
            *(["jump"] if in_loop else []),
            *(["if", "while", "for", "try", "or"] if depth else []),
        ]
        kind = draw(st.sampled_from(kinds))
        name, other = draw(st.sampled_from("xyz")), draw(st.sampled_from("xyz"))
        inner = []
        if kind in ("if", "while", "for", "try"):
            inner = [f"    {line}" for line in draw(blocks(depth - 1, in_loop or kind in ("while", "for")))]
        rest = []
        if kind == "if" and draw(st.booleans()):
            rest = ["else:", *[f"    {line}" for line in draw(blocks(depth - 1, in_loop))]]
        lines += {
            "assign": [f"{name} = {other}"],
            "use": [f"use({name})"],
            "or": [f"{name} = {other} or x or y"],
            "jump": [draw(st.sampled_from(["break", "continue", "return x"]))],
            "if": [f"if {name}:", *inner, *rest],
            "while": [f"while {name}:", *inner],
            "for": [f"for {name} in {other}:", *inner],
            "try": ["try:", *inner, "except E:", f"    {name} = 1"],
        }[kind]
    return lines


@st.composite
def walks(draw):
    source = "def f(x, y, z):\n" + "".join(f"    {line}\n" for line in draw(blocks()))
    module, scope = scopes_of(ast.parse(source))
    after = {}
    for a, b in sorted(scope.edges):
        after.setdefault(a, []).append(b)
    point, walk = ENTRY, []
    while point != EXIT and len(walk) < 60:
        point = draw(st.sampled_from(after[point]))
        walk.append(point)
    nodes = [point for point in walk if scope.points[point].kind is not PointKind.JOIN]
    return source, len(module.points), scope, nodes


def naive_live(table, nodes):
    """Algorithm 1: a stack of live branches. What is left on it below the branch that is found is live, too."""
    stack, found = [], set()
    for node, point in enumerate(nodes):
        above = set(table.controlling.listed(point).tolist())
        while stack and nodes[stack[-1]] not in above:
            stack.pop()
        latest = {nodes[branch]: branch for branch in stack}
        for at, branch in latest.items():
            if at in above and (branch == stack[-1] or table.kind[at] is PointKind.DECISION):
                found.add((branch, node))
        stack.append(node)
    return sorted(found)


def naive_summary(table, first, scope, nodes):
    """Algorithms 2 and 3 by following paths, without leaving out what a chain replaces."""
    after = {}
    for a, b in scope.edges:
        after.setdefault(a, []).append(b)

    def arrives(writer, name, reader):
        waiting, seen = list(after.get(writer, [])), set()
        while waiting:
            at = waiting.pop()
            if at == reader:
                return True
            if at not in seen:
                seen.add(at)
                if (name,) not in scope.points[at].names.writes:
                    waiting += after.get(at, [])
        return False

    found = set()
    for node, point in enumerate(nodes):
        reader = point - first
        for (name,) in (path for path in scope.points[reader].names.reads if len(path) == 1):
            writers = [at for at, one in enumerate(scope.points) if (name,) in one.names.writes | one.names.changes]
            reaching = [writer for writer in writers if arrives(writer, name, reader)]
            if len(reaching) + arrives(ENTRY, name, reader) < 2:
                continue
            above = {
                at
                for writer in reaching
                for at in table.controlling.listed(writer + first).tolist()
                if table.kind[at] is PointKind.DECISION
            }
            written = max(
                (n for n in range(node) if (name,) in scope.points[nodes[n] - first].names.writes), default=-1
            )
            found |= {(n, node) for n in range(written + 1, node) if nodes[n] in above}
    return found


@pytest.mark.slow
@given(walks())
def test_against_naive_algorithms(walk):
    source, first, scope, nodes = walk
    table = PointDependences.from_source(source.encode())
    nodes = [first + point for point in nodes]
    dependences = ControlDependences(table, one_call(nodes))
    assert pairs(dependences.direct()) == naive_live(table, nodes)
    direct, summary = set(pairs(dependences.direct())), set(pairs(dependences.summary()))
    naive = naive_summary(table, first, scope, nodes)
    assert summary <= naive
    # where a decision led to a change, what it decided on wrote something that is read
    led_to = DependenceGraph.from_edges(len(nodes), [(*edge, 0) for edge in direct])
    edges = dependences.summary()
    for branch, node, changed in zip(edges.source, edges.target, dependences.changed(edges), strict=True):
        between = np.flatnonzero(led_to.forward([branch])[:node])
        names = [scope.points[nodes[one] - first].names for one in between]
        written = {path for one in names for path in one.writes | one.changes}
        assert not changed or written & scope.points[nodes[node] - first].names.reads
    # what is left out is replaced by a chain
    reached = DependenceGraph.from_edges(len(nodes), [(*edge, 0) for edge in direct | summary])
    for branch, node in naive - summary:
        assert reached.forward([branch])[node]
