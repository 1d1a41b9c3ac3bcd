"""Slices and cuts of dependence graphs, against what their definitions say."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.dependences.cuts import minimum_cut
from suspectra.dependences.graph import DependenceGraph

NODES = 7
EDGES = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)).filter(lambda edge: edge[0] < edge[1]),
    unique=True,
    max_size=14,
)


def reached(begin, edges, without=()):
    found, waiting = set(), [node for node in begin if node not in without]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [target for source, target in edges if source == node and target not in without]
    return found


@given(EDGES, st.integers(0, NODES - 1), st.integers(0, NODES - 1))
def test_slices_are_what_paths_lead_to(edges, begin, end):
    graph = DependenceGraph.from_edges(NODES, [(*edge, 0) for edge in edges])
    turned = [(target, source) for source, target in edges]
    assert set(np.flatnonzero(graph.forward([begin]))) == reached([begin], edges)
    assert set(np.flatnonzero(graph.backward([end]))) == reached([end], turned)
    assert set(np.flatnonzero(graph.chop([begin], [end]))) == reached([begin], edges) & reached([end], turned)


@given(EDGES, st.integers(0, NODES - 1))
def test_the_distance_grows_by_one_with_each_dependence(edges, end):
    graph = DependenceGraph.from_edges(NODES, [(*edge, 0) for edge in edges])
    expected, level, distance = {end: 0}, {end}, 0
    while level:
        distance += 1
        level = {source for source, target in edges if target in level} - expected.keys()
        expected |= dict.fromkeys(level, distance)
    assert graph.distance([end]).tolist() == [expected.get(node, -1) for node in range(NODES)]


def test_nothing_depends_on_what_comes_later():
    with pytest.raises(ValueError, match="earlier"):
        DependenceGraph.from_edges(2, [(1, 0, 0)])


@given(EDGES, st.sets(st.integers(1, NODES - 2)), st.lists(st.integers(1, 3), min_size=NODES, max_size=NODES))
def test_a_cut_is_the_cheapest_and_of_several_the_nearest_to_the_end(edges, fixed, costs):
    capacity = np.array([0 if node in fixed else costs[node] for node in range(NODES)])
    inner = [node for node in range(1, NODES - 1) if node not in fixed]
    separating = [
        set(cut)
        for size in range(len(inner) + 1)
        for cut in combinations(inner, size)
        if NODES - 1 not in reached([0], edges, without=cut)
    ]
    source, target = np.array(edges, np.int64).reshape(-1, 2).T
    nodes = minimum_cut(source, target, capacity, [0], [NODES - 1])
    if nodes is None:
        assert not separating
        return
    least = min(sum(costs[node] for node in cut) for cut in separating)
    cheapest = [cut for cut in separating if sum(costs[node] for node in cut) == least]
    found = set(nodes.tolist())
    assert found in cheapest
    distance = DependenceGraph.from_edges(NODES, [(*edge, 0) for edge in edges]).distance([NODES - 1])
    chains = {cut: sum(max(distance[node], 0) for node in cut) for cut in map(frozenset, cheapest)}
    assert chains[frozenset(found)] == min(chains.values())
    cheapest = [cut for cut in cheapest if chains[frozenset(cut)] == chains[frozenset(found)]]
    turned = [(target, source) for source, target in edges]
    behind = reached([NODES - 1], turned, without=found)
    assert all(behind <= reached([NODES - 1], turned, without=cut) for cut in cheapest)


def test_the_last_cut_is_not_always_the_nearest():
    """Nodes 1 and 4 are together three dependences from the end; 3 and 4, the last cut, are four from it."""
    edges = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 4), (3, 5), (3, 6), (5, 7), (6, 8), (7, 9), (8, 9), (4, 9)]
    source, target = np.array(edges).T
    assert minimum_cut(source, target, np.ones(10, int), [0], [9]).tolist() == [1, 4]
