"""Dominators and control dependences, against what their definitions say."""

from hypothesis import given
from hypothesis import strategies as st

from suspectra.program.dominance import DominatorTree, control_dependences

NODES = 8
NUMBERS = st.integers(0, NODES - 1)
EDGES = st.lists(st.tuples(NUMBERS, NUMBERS), unique=True, max_size=20)


def reached(starts, edges, without=-1):
    found, waiting = set(), [start for start in starts if start != without]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [target for source, target in edges if source == node and target != without]
    return found


@given(EDGES, st.lists(NUMBERS, unique=True, min_size=1, max_size=3))
def test_without_a_dominator_no_way_leads_to_a_node(edges, roots):
    tree = DominatorTree.from_edges(NODES, edges, roots)
    there = reached(roots, edges)
    for node in range(NODES):
        expected = {one for one in there if node not in reached(roots, edges, without=one)} if node in there else set()
        assert set(tree.dominators(node)) == expected | {node}


@given(EDGES)
def test_a_decision_says_whether_what_depends_on_it_is_executed(edges):
    last = NODES - 1
    edges = [(source, target) for source, target in edges if source != last]
    edges += [(node, last) for node in range(last) if last not in reached([node], edges)]  # every way ends

    def always_after(node, other):
        """Whether every way from a node leads through another one."""
        return node == other or last not in reached([node], edges, without=other)

    expected = {
        (decision, node)
        for decision, target in edges
        for node in range(NODES)
        if always_after(target, node) and (node == decision or not always_after(decision, node))
    }
    several = {source for source, _ in edges if len({t for s, t in edges if s == source}) > 1}
    assert control_dependences(NODES, edges, [last]) == {(a, b) for a, b in expected if a in several}


def test_a_loop_without_end_is_no_obstacle():
    # 0 decides between the end, 3, and a loop of 1 and 2, in which 1 decides
    edges = [(0, 3), (0, 1), (1, 2), (2, 1), (1, 1)]
    assert control_dependences(4, edges, [3]) >= {(0, 1), (0, 3), (1, 2)}


@given(EDGES, st.lists(NUMBERS, unique=True, max_size=2))
def test_the_first_node_of_a_loop_that_leads_nowhere_else_counts_as_an_exit(edges, exits):
    after = [reached([node], edges) for node in range(NODES)]
    stays = [node for node in range(NODES) if all(node in after[one] for one in after[node])]
    firsts = {min(after[node]) for node in stays if not after[node] & {*exits}}
    ended = [*exits, *sorted(firsts - {*exits})]
    assert control_dependences(NODES, edges, exits) == control_dependences(NODES, edges, ended)
