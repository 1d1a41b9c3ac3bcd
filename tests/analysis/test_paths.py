"""Paths of runs: alignment, distances and generated paths, against the figures and tables of paper 001."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.base.cancellation import Cancelled, Token, cancellable
from suspectra.paths.distance import Distance, differing_events, distance, parting
from suspectra.paths.generation import PathSearch, sets_of_branches
from suspectra.paths.path import Path, dependents
from suspectra.paths.statement_graph import StatementGraph

FIGURE_2 = StatementGraph({1: (2, 3), 2: (3,), 3: (4, 5), 4: (5,), 5: (6, 10), 6: (7, 9), 7: (10,), 9: (10,), 10: ()})
FAILING = (1, 3, 5, 6, 7, 10)
TABLE_2 = [
    ((6,), (1, 3, 5, 6, 9, 10)),
    ((3, 6), (1, 3, 4, 5, 6, 9, 10)),
    ((1, 3, 6), (1, 2, 3, 4, 5, 6, 9, 10)),
    ((1, 6), (1, 2, 3, 5, 6, 9, 10)),
    ((5,), (1, 3, 5, 10)),
    ((3, 5), (1, 3, 4, 5, 10)),
    ((1, 3, 5), (1, 2, 3, 4, 5, 10)),
    ((1, 5), (1, 2, 3, 5, 10)),
    ((3,), (1, 3, 4, 5, 6, 7, 10)),
    ((1, 3), (1, 2, 3, 4, 5, 6, 7, 10)),
    ((1,), (1, 2, 3, 5, 6, 7, 10)),
]


class Judge:
    """Knows no infeasible part of a path; a whole one is feasible if a function says so, and then right."""

    def __init__(self, is_right=lambda statements: False, is_feasible=lambda statements, whole: not whole):
        self.is_right, self.is_feasible, self.asked = is_right, is_feasible, []

    def feasible(self, statements, whole):
        self.asked.append((statements, whole))
        return self.is_feasible(statements, whole) or (whole and self.is_right(statements))

    def successful(self, statements):
        return self.is_right(statements)


def tried(graph, failing, judge=None, **options):
    search = PathSearch(graph, failing, judge or Judge(), **options)
    return [
        (tuple(failing[place] for place in one.turned), one.statements) for one in search.candidates()
    ], search.left_out


def test_the_only_other_way_of_figure_1_is_reported():
    graph = StatementGraph({1: (3,), 3: (4, 8), 4: (10,), 8: (10,), 10: ()})
    found = list(PathSearch(graph, (1, 3, 8, 10), Judge(lambda statements: 4 in statements)).candidates())
    assert [(one.turned, one.statements, one.successful) for one in found] == [((1,), (1, 3, 4, 10), True)]


def test_distances_of_figure_2():
    failing = FIGURE_2.path(FAILING)
    one = distance(failing, FIGURE_2.path((1, 3, 4, 5, 6, 9, 10)))
    other = distance(failing, FIGURE_2.path((1, 2, 3, 5, 6, 9, 10)))
    assert [FAILING[place] for place in one.events] == [3, 6]
    assert [FAILING[place] for place in other.events] == [1, 6]
    assert one.nearness < other.nearness


def test_events_of_figure_2_align_as_in_table_1():
    counterpart = FIGURE_2.path(FAILING).aligned(FIGURE_2.path((1, 3, 4, 5, 6, 9, 10)))
    assert counterpart.tolist() == [0, 1, 3, 4, -1, 6]


def test_table_2_row_for_row():
    assert tried(FIGURE_2, FAILING) == (TABLE_2, 0)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_sets_of_branches_are_chosen_in_the_order_of_table_2(size):
    depends_on = FIGURE_2.path(FAILING).depends_on.tolist()
    chosen = [tuple(FAILING[place] for place in one) for one in sets_of_branches(depends_on, [0, 1, 2, 3], size)]
    assert chosen == [turned for turned, _ in TABLE_2 if len(turned) == size]


def test_nested_branches_come_before_any_other_branch_is_turned():
    found, _ = tried(FIGURE_2, (1, 2, 3, 4, 5, 10))
    assert found[:2] == [((5,), (1, 2, 3, 4, 5, 6, 7, 10)), ((5,), (1, 2, 3, 4, 5, 6, 9, 10))]


@pytest.mark.parametrize("count", [1, 4, 9])
def test_independent_branches_give_every_combination(count):
    graph = StatementGraph({i: (100 + i, i + 1) for i in range(count)} | {100 + i: (i + 1,) for i in range(count)})
    found, _ = tried(graph, tuple(range(count + 1)))
    assert len(found) == 2**count - 1 == len(set(found))


def test_the_search_ends_with_the_first_path_that_is_right():
    judge = Judge(lambda statements: 4 in statements and 9 in statements)
    found = list(PathSearch(FIGURE_2, FAILING, judge).candidates())
    assert [one.successful for one in found] == [False, True]
    assert found[-1].statements == (1, 3, 4, 5, 6, 9, 10)


def test_an_infeasible_end_is_not_tried_in_other_paths():
    infeasible = (5, 6, 9, 10)
    judge = Judge(is_feasible=lambda statements, whole: statements[-4:] != infeasible)
    found, _ = tried(FIGURE_2, FAILING, judge)
    assert [turned for turned, _ in found] == [(6,), (5,), (3, 5), (1, 3, 5), (1, 5), (3,), (1, 3), (1,)]


def test_no_branch_is_turned_that_must_not_be():
    assert all(3 not in turned for turned, _ in tried(FIGURE_2, FAILING, fixed=frozenset({3}))[0])


def test_paths_that_are_left_out_are_counted():
    successors = {0: (1, 2), 1: (9,)}  # ten arms behind the branch that is turned
    graph = StatementGraph(successors | {2: tuple(range(10, 20)), 9: ()} | dict.fromkeys(range(10, 20), (9,)))
    found, left_out = tried(graph, (0, 1, 9), max_per_set=4)
    assert (len(found), left_out) == (4, 1)


def test_a_search_can_be_cancelled():
    token = Token()
    token.cancelled = True
    with cancellable(token), pytest.raises(Cancelled):
        list(PathSearch(FIGURE_2, FAILING, Judge()).candidates())


def test_iterations_of_a_loop_align_one_by_one():
    graph = StatementGraph({1: (2,), 2: (3, 9), 3: (4, 5), 4: (5,), 5: (2,), 9: ()})
    twice = graph.path((1, 2, 3, 5, 2, 3, 4, 5, 2, 9))
    thrice = graph.path((1, 2, 3, 5, 2, 3, 5, 2, 3, 5, 2, 9))
    places = distance(twice, thrice).events
    assert [int(twice.statement[place]) for place in places] == [3, 2]
    assert places == (5, 8)


def test_two_calls_in_one_statement_are_told_apart():
    run = Path.from_events([(1, -1, -1), (7, 0, 0), (7, 0, 1)])
    assert run.aligned(run).tolist() == [0, 1, 2]
    assert distance(run, Path.from_events([(1, -1, -1), (7, 0, 0), (7, 0, 0)])).events == (2,)


def test_a_run_that_ends_early_differs_in_no_branch_and_still_in_its_path():
    run, early = Path.from_events([(1, -1, 0), (2, 0, -1), (3, -1, -1)]), Path.from_events([(1, -1, 0), (2, 0, -1)])
    assert distance(run, early) == Distance(())
    assert (parting(run, early), parting(early, run)) == ((2, -1), (2, -1))
    assert differing_events(run, early) == 1


def test_an_event_can_not_depend_on_a_later_one():
    with pytest.raises(ValueError, match="earlier"):
        Path.from_events([(1, 0, -1)])


# structured programs: sequences, branches with one arm or two, loops


@st.composite
def programs(draw, depth=3):
    """The successors of a program, and its branches with the loops among them."""
    successors, loops, numbers = {}, set(), iter(range(1, 10_000))

    def block(following, level):
        """Statements that lead to another one; returns the first of them."""
        for _ in range(draw(st.integers(1, 3))):
            following = statement(following, level)
        return following

    def statement(following, level):
        kind = draw(st.sampled_from(["plain", "if", "else", "while"] if level else ["plain"]))
        number = next(numbers)
        if kind == "plain":
            successors[number] = (following,)
        elif kind == "while":
            loops.add(number)
            successors[number] = (block(number, level - 1), following)
        else:
            successors[number] = (
                block(following, level - 1),
                following if kind == "if" else block(following, level - 1),
            )
        return number

    end = next(numbers)
    successors[end] = ()
    return StatementGraph(successors), block(end, depth), frozenset(loops)


def run_through(graph, start, draw, loops, limit=60):
    """A run: branches come out at random, and loops end in time."""
    statements = [start]
    while after := graph.successors[statements[-1]]:
        is_long = statements[-1] in loops and len(statements) > limit
        statements.append(after[-1] if is_long else draw(st.sampled_from(after)))
    return tuple(statements)


@pytest.mark.slow
@given(st.data())
def test_generated_paths_never_get_nearer_and_differ_by_the_branches_turned(data):
    graph, start, loops = data.draw(programs())
    failing = run_through(graph, start, data.draw, loops, limit=20)
    run = graph.path(failing)
    search = PathSearch(graph, failing, Judge(), fixed=loops, max_per_set=8)
    found = [one for one, _ in zip(search.candidates(), range(60), strict=False)]
    distances = [distance(run, graph.path(one.statements)) for one in found]
    assert [one.events for one in distances] == [one.turned for one in found]
    assert all(one.nearness <= other.nearness for one, other in pairwise(distances))
    for one in found:
        assert all(after in graph.successors[before] for before, after in pairwise(one.statements))


@pytest.mark.slow
@given(st.data())
def test_events_align_as_the_definition_says(data):
    graph, start, loops = data.draw(programs())
    one, other = (graph.path(run_through(graph, start, data.draw, loops, limit=25)) for _ in range(2))
    aligned = set()
    for i, j in product(range(len(one)), range(len(other))):
        reasons = int(one.depends_on[i]), int(other.depends_on[j])
        if one.statement[i] == other.statement[j] and (reasons == (-1, -1) or reasons in aligned):
            aligned.add((i, j))
    counterpart = one.aligned(other)
    assert {(i, int(j)) for i, j in enumerate(counterpart) if j >= 0} == aligned
    assert other.aligned(one)[counterpart[counterpart >= 0]].tolist() == np.flatnonzero(counterpart >= 0).tolist()
    assert distance(one, one).events == (0,)
    assert differing_events(one, other) == differing_events(other, one)
    assert (parting(one, other) is None) == one.same_flow(other) == (differing_events(one, other) == 0)


@given(st.data())
def test_dependents_are_found_along_the_chains(data):
    depends_on = [data.draw(st.integers(-1, place - 1)) for place in range(data.draw(st.integers(1, 30)))]
    root = data.draw(st.integers(0, len(depends_on) - 1))

    def leads_to_root(place):
        return place >= 0 and (depends_on[place] == root or leads_to_root(depends_on[place]))

    assert dependents(depends_on, root).tolist() == [leads_to_root(place) for place in range(len(depends_on))]
