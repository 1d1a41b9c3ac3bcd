"""Paths of runs: alignment, distances and generated paths, against the figures and tables of paper 001."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.statement_graph import StatementGraph

from suspectra.base.cancellation import Cancelled, Token, cancellable
from suspectra.paths.distance import Distance, differing_events, distance, parting
from suspectra.paths.generation import PathSearch, TriedPath, sets_of_branches
from suspectra.paths.path import Path, dependents

FIGURE_2 = StatementGraph({1: (2, 3), 2: (3,), 3: (4, 5), 4: (5,), 5: (6, 10), 6: (7, 9), 7: (10,), 9: (10,), 10: ()})
FAILING = (1, 3, 5, 6, 7, 10)
TABLE_2 = [(6,), (3, 6), (1, 3, 6), (1, 6), (5,), (3, 5), (1, 3, 5), (1, 5), (3,), (1, 3), (1,)]


class Judge:
    """A path is right if its turned branches are those; ends may be impossible."""

    def __init__(self, right=(), may_end=lambda turned, begin: True):
        self.right, self.may_end = right, may_end

    def tried(self, turned):
        is_right = turned == self.right
        return TriedPath(turned, feasible=is_right, successful=is_right), ("a run" if is_right else None)


def branches_of(run, fixed=()):
    return [place for place in np.flatnonzero(run.is_branch).tolist() if int(run.statement[place]) not in fixed]


def search(run, judge=None, fixed=()):
    return PathSearch(run.depends_on.tolist(), branches_of(run, fixed), judge or Judge())


def tried(graph, failing, judge=None, fixed=()):
    found = search(graph.path(failing), judge, fixed).candidates()
    return [tuple(failing[place] for place in one.turned) for one, _ in found]


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
    assert tried(FIGURE_2, FAILING) == TABLE_2


@pytest.mark.parametrize("size", [1, 2, 3])
def test_sets_of_branches_are_chosen_in_the_order_of_table_2(size):
    depends_on = FIGURE_2.path(FAILING).depends_on.tolist()
    chosen = [tuple(FAILING[place] for place in one) for one in sets_of_branches(depends_on, [0, 1, 2, 3], size, size)]
    assert chosen == [turned for turned in TABLE_2 if len(turned) == size]


@pytest.mark.parametrize("count", [1, 4, 9])
def test_independent_branches_give_every_combination(count):
    graph = StatementGraph({i: (100 + i, i + 1) for i in range(count)} | {100 + i: (i + 1,) for i in range(count)})
    found = tried(graph, tuple(range(count + 1)))
    assert len(found) == 2**count - 1 == len(set(found))


def test_the_search_ends_with_the_first_path_that_is_right():
    *others, last = search(FIGURE_2.path(FAILING), Judge(right=(1, 3))).candidates()  # the branches of lines 3 and 6
    assert [(one.turned, run) for one, run in others] == [((3,), None)]
    assert last == (TriedPath((1, 3), feasible=True, successful=True), "a run")


def test_an_infeasible_end_is_not_tried_in_other_paths():
    """Line 11 of Figure 3: if 6 can't come out differently, no set with 6 is tried."""
    judge = Judge(may_end=lambda turned, begin: 3 not in turned)
    assert tried(FIGURE_2, FAILING, judge) == [turned for turned in TABLE_2 if 6 not in turned]


def test_paths_are_given_up_once_what_another_branch_keeps_is_infeasible():
    """Line 26: 6 depends on 5, so both can't be turned, and with 5 as it was the rest is infeasible."""
    judge = Judge(may_end=lambda turned, begin: not (turned == (3,) and begin == 2))
    assert tried(FIGURE_2, FAILING, judge) == [(6,), *TABLE_2[4:]]


def test_no_branch_is_turned_that_must_not_be():
    assert tried(FIGURE_2, FAILING, fixed={3}) == [turned for turned in TABLE_2 if 3 not in turned]


def test_a_search_can_be_stopped_and_cancelled():
    run = FIGURE_2.path(FAILING)
    assert list(PathSearch(run.depends_on.tolist(), branches_of(run), Judge(), lambda: True).candidates()) == []
    token = Token()
    token.cancelled = True
    with cancellable(token), pytest.raises(Cancelled):
        list(search(run).candidates())


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


@given(st.data())
def test_generated_paths_never_get_nearer(data):
    """Theorem 1, whichever ends are infeasible; and no turned branch depends on another one."""
    graph, start, loops = data.draw(programs())
    run = graph.path(run_through(graph, start, data.draw, loops, limit=20))
    infeasible = data.draw(st.sets(st.tuples(st.integers(0, len(run)), st.integers(0, len(run))), max_size=9))
    judge = Judge(may_end=lambda turned, begin: (turned[0], turned[-1]) not in infeasible)
    found = [one for (one, _), _ in zip(search(run, judge, loops).candidates(), range(80), strict=False)]
    assert all(Distance(one.turned).nearness <= Distance(other.turned).nearness for one, other in pairwise(found))
    assert len({one.turned for one in found}) == len(found)
    for one in found:
        assert not any(run.dependents(place)[list(one.turned)].any() for place in one.turned)


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
