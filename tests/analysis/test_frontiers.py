"""The search by minimum debugging frontier sets, on the example of the paper (Figures 1 and 4)."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from suspectra.dependences.carried import carried_contents
from suspectra.dependences.frontiers import FrontierSearch
from suspectra.dependences.graph import DependenceGraph, DependenceKind
from suspectra.dependences.narrowing import PASSES, FailingRun
from suspectra.dependences.strategies import BisectionSearch, SingleStepSearch

FLOW, CONTROL, SUMMARY, _ = DependenceKind
# the inputs, which the test gives, and v1 to v5, v7, v9 and v11 of the paper
GIVEN_X, GIVEN_Y, GIVEN_Z, X, Y, Z, ASSIGNED, FIRST, SECOND, THIRD, PRINTED = range(11)
STATEMENT = {ASSIGNED: 2, FIRST: 3, SECOND: 4, THIRD: 6}


def middle(alter=None):
    """The faulty program of Figure 1: what it prints for 2, 1 and 3, and the outcomes of its decisions."""
    alter = alter or {}
    decided = {}

    def value(node, found):
        return alter.get(node, found)

    def decide(node, found):
        decided[node] = alter.get(node, found)
        return decided[node]

    x, y, z = value(X, 2), value(Y, 1), value(Z, 3)
    m = value(ASSIGNED, y)  # it should be z
    if decide(FIRST, y < z):
        if decide(SECOND, x < y):
            m = y
        elif decide(THIRD, x > z):  # it should be x < z
            m = x
    elif x > y:
        m = y
    elif x > z:
        m = x
    return m, decided


class Middle:
    """Alters the program. The values that are tried are those of the inputs, and what should have been printed."""

    def __init__(self):
        self.made = []

    def polluted(self, nodes, wanted):
        self.made.append(nodes)
        decisions = {node: not OUTCOME[node] for node in nodes if DECISION[node]}
        assigned = [node for node in nodes if not DECISION[node]]
        tried = [{**decisions, **dict.fromkeys(assigned, value)} for value in (1, 2, 3)]
        return any(contains(wanted, *middle(alter)) for alter in tried)


def contains(wanted, printed, decided):
    if wanted is PASSES:
        return printed == 2
    return any(all(decided.get(node) == way for node, way in one.items()) for one in wanted.alternatives)


NODES = 11
GRAPH = DependenceGraph.from_edges(
    NODES,
    [
        *[(GIVEN_X + n, X + n, FLOW) for n in range(3)],
        (Y, ASSIGNED, FLOW),
        *[(read, FIRST, FLOW) for read in (Y, Z)],
        *[(read, SECOND, FLOW) for read in (X, Y)],
        *[(read, THIRD, FLOW) for read in (X, Z)],
        (FIRST, SECOND, CONTROL),
        *[(branch, THIRD, CONTROL) for branch in (FIRST, SECOND)],
        (ASSIGNED, PRINTED, FLOW),
        (THIRD, PRINTED, SUMMARY),
    ],
)
DECISION = np.isin(np.arange(NODES), (FIRST, SECOND, THIRD))
OUTCOME = np.isin(np.arange(NODES), (FIRST,))
NO = np.zeros(NODES, bool)


GIVEN = np.arange(NODES) < X
READ = np.isin(np.arange(NODES), (X, Y, Z))


def search(alterations, graph=GRAPH):
    return FrontierSearch(FailingRun(graph, PRINTED, DECISION, OUTCOME, GIVEN, READ, NO), alterations)


def test_the_program_of_the_paper_fails_as_it_says():
    assert middle() == (1, {FIRST: True, SECOND: False, THIRD: False})


def test_the_search_makes_the_cuts_of_the_paper():
    """Of the two first cuts, that of Figure 4 has the read of y; the text asks for the one nearest to the failure."""
    made = Middle()
    search_of_both = search(made)
    steps = list(search_of_both.steps())
    assert [step.cut for step in steps] == [(ASSIGNED, THIRD), (FIRST, SECOND)]
    assert [step.polluted for step in steps] == [((ASSIGNED,), (THIRD,)), ()]
    assert made.made == [(ASSIGNED,), (THIRD,), (FIRST,), (SECOND,), (FIRST, SECOND)]


def test_both_faults_of_the_program_are_root_causes():
    search_of_both = search(Middle())
    list(search_of_both.steps())
    assert [STATEMENT[node] for node in search_of_both.causes.roots] == [2, 6]
    assert search_of_both.causes.transitive == ()


def test_what_is_known_can_be_used_before_the_end():
    search_of_both = search(Middle())
    next(search_of_both.steps())
    assert [STATEMENT[node] for node in search_of_both.causes.roots] == [2, 6]


class OneCause:
    """Only altering the cause, or what depends on it, makes the failure disappear."""

    def __init__(self, graph, cause):
        self.after = graph.forward([cause])

    def polluted(self, nodes, wanted):
        return any(self.after[node] for node in nodes)


@given(st.data())
def test_one_cause_is_found_where_all_states_after_it_are_wrong(data):
    """Every node but the first depends on one before it, so all lead from the input; the last one fails."""
    count = data.draw(st.integers(4, 12))
    edges = {(data.draw(st.integers(0, node - 1)), node, FLOW) for node in range(1, count)}
    edges |= {(node, count - 1, FLOW) for node in range(count - 1) if node not in {source for source, _, _ in edges}}
    graph = DependenceGraph.from_edges(count, sorted(edges))
    slice_of_failure = np.flatnonzero(graph.backward([count - 1]))
    cause = data.draw(st.sampled_from([int(node) for node in slice_of_failure if 0 < node < count - 1] or [0]))
    if cause == 0:
        return
    no = np.zeros(count, bool)
    found = FrontierSearch(FailingRun(graph, count - 1, no, no, np.arange(count) == 0, no, no), OneCause(graph, cause))
    list(found.steps())
    assert cause in found.causes.roots


def test_a_node_of_which_only_a_part_can_be_altered_does_not_count_as_right():
    """Node 1 is at fault; altering a part of node 2 behind it is in vain."""

    class OnlyTheFirst:
        def polluted(self, nodes, wanted):
            return nodes == (1,)

    graph = DependenceGraph.from_edges(4, [(0, 1, 0), (1, 2, 0), (2, 3, 0)])
    no = np.zeros(4, bool)
    run = FailingRun(graph, 3, no, no, np.arange(4) == 0, no, no)
    for is_partial, cuts, roots in ((None, [(2,)], ()), (np.arange(4) == 2, [(2,), (1,)], (1,))):
        search = FrontierSearch(replace(run, is_partial=is_partial), OnlyTheFirst())
        assert [step.cut for step in search.steps()] == cuts
        assert search.causes.roots == roots
    for technique in (SingleStepSearch, BisectionSearch):
        search = technique(replace(run, is_partial=np.arange(4) == 2), OnlyTheFirst())
        assert len(list(search.steps())) <= 4


def test_contents_belong_to_what_carries_an_object():
    """2 makes a list, 3 appends 1 to it, 4 returns it, and 5 reads it: whoever alters 4 alters all that 5 reads."""
    graph = DependenceGraph.from_edges(
        6, [(0, 1, FLOW), (1, 3, FLOW), (2, 3, FLOW), (2, 4, FLOW), (2, 5, FLOW), (3, 5, FLOW), (4, 5, FLOW)]
    )
    value = ["7", "7", "[]", "None", "[7]", ""]
    is_new, can_alter = np.arange(6) == 3, np.isin(np.arange(6), (1, 4))
    carried = carried_contents(graph, value, is_new, can_alter, graph.backward([5]))
    assert {node: carried.sources_of(node).tolist() for node in (3, 4, 5)} == {3: [1, 2], 4: [2, 3], 5: [4]}
    run = FailingRun(carried, 5, *[np.zeros(6, bool)] * 2, np.arange(6) == 0, np.zeros(6, bool), ~can_alter)
    (first, second) = FrontierSearch(run, OneCause(carried, 1)).steps()
    assert (first.cut, second.cut) == ((4,), (1,))


def test_objects_of_two_parameters_keep_their_own_contents():
    """2 and 3 make objects of one class, which 4 and 5 pass on; 6 reads both."""
    graph = DependenceGraph.from_edges(
        7, [(0, 2, FLOW), (1, 3, FLOW), (2, 4, FLOW), (3, 5, FLOW), *((node, 6, FLOW) for node in (2, 3, 4, 5))]
    )
    value = ["1", "2", "Money", "Money", "Money", "Money", ""]
    is_new, can_alter = np.isin(np.arange(7), (2, 3)), np.isin(np.arange(7), (4, 5))
    carried = carried_contents(graph, value, is_new, can_alter, graph.backward([6]))
    assert {node: carried.sources_of(node).tolist() for node in (4, 5, 6)} == {4: [2], 5: [3], 6: [4, 5]}


def test_a_step_without_polluted_states_does_not_end_single_steps():
    graph = DependenceGraph.from_edges(5, [(0, 1, FLOW), (1, 2, FLOW), (2, 3, FLOW), (3, 4, FLOW)])

    class NotTheSecond:
        def polluted(self, nodes, wanted):
            return nodes[0] in (1, 3)

    no = np.zeros(5, bool)
    single = SingleStepSearch(FailingRun(graph, 4, no, no, np.arange(5) == 0, no, no), NotTheSecond())
    assert [step.cut for step in single.steps()] == [(3,), (2,), (1,)]
    assert single.causes.roots == (1,)


def test_more_values_than_are_combined_are_altered_all_at_once():
    """Four of five values are wrong, and none repairs without the others."""
    wrong = {1, 2, 4, 5}

    class All:
        def polluted(self, nodes, wanted):
            return wrong <= {*nodes}

    graph = DependenceGraph.from_edges(7, [*[(0, n, FLOW) for n in range(1, 6)], *[(n, 6, FLOW) for n in range(1, 6)]])
    none, given = np.zeros(7, bool), np.arange(7) < 1
    (step,) = FrontierSearch(FailingRun(graph, 6, none, none, given, none, none), All()).steps()
    assert step.polluted == ((1, 2, 4, 5),)
