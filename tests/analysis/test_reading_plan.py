"""The order of places that leads to a fault in the fewest steps."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.markov.chain import ranked_list
from suspectra.markov.debugging_model import DebuggingModel
from suspectra.markov.jumps import JumpModel
from suspectra.markov.reading_plan import PlacesInOrder, ReadingPlan, fault_chances, plan_reading
from suspectra.markov.structure import Structure
from suspectra.report import RankedReport
from suspectra.spectrum import Spectrum
from suspectra.techniques import make_technique


def expected(order, chance, joined, near=None):
    """Expected steps by the definition: a jump is one step, the way through the ranking two, from its top one."""
    steps, total, before = 0 if near is not None else -1, 0.0, None
    for one in order:
        steps += 1 if (one in (near or ()) if before is None else (before, one) in joined) else 2
        total += chance[one] * steps
        before = one
    return total / sum(chance[one] for one in order)


@st.composite
def cases(draw):
    count = draw(st.integers(1, 6))
    function = draw(st.lists(st.integers(-1, 2), min_size=count, max_size=count))
    place = st.integers(0, count - 1)
    pairs = draw(st.lists(st.tuples(place, place), max_size=5))
    chance = draw(st.lists(st.integers(1, 30), min_size=count, max_size=count))
    return np.array(function), np.array(pairs, int).reshape(-1, 2), np.array(chance, float)


@given(cases(), st.data())
def test_the_plan_is_near_the_best_order_and_never_worse_than_the_ranking(case, data):
    function, pairs, chance = case
    count = len(chance)
    chain = ranked_list(np.unique(-chance, return_inverse=True)[1], Structure(function, pairs))
    near = data.draw(st.none() | st.sets(st.integers(0, count - 1)))
    seen = data.draw(st.sampled_from([None, *range(count)]))
    joined = {(x, y) for x in range(count) for y in range(count) if x != y and function[x] == function[y] >= 0}
    joined |= {one for x, y in pairs.tolist() for one in ((x, y), (y, x)) if x != y}
    plan = plan_reading(chain, chance, near, seen)
    left = [one for one in range(count) if one != seen]
    assert sorted(plan.order.tolist()) == left
    if not left:
        return
    assert plan.expected == pytest.approx(expected(plan.order.tolist(), chance, joined, near))
    ranking = sorted(left, key=lambda one: -chance[one])
    assert plan.by_ranking.expected == pytest.approx(expected(ranking, chance, joined, near))
    best = min(expected(order, chance, joined, near) for order in permutations(left))
    assert best - 1e-9 <= plan.expected <= min(1.5 * best, plan.by_ranking.expected) + 1e-9


def test_without_neighbours_the_plan_is_the_ranking():
    chance = np.array([1.0, 4, 2, 3])
    plan = plan_reading(ranked_list([3, 0, 2, 1], Structure(np.zeros(4, int)), JumpModel(0)), chance)
    assert plan.order.tolist() == [1, 3, 2, 0]
    assert plan.steps.tolist() == [1, 2, 2, 2]
    assert plan.saved == 0


def test_a_neighbour_is_read_while_one_is_there_if_it_is_probable_enough():
    function = np.array([0, 1, 0, 1])
    plan = plan_reading(ranked_list([0, 1, 2, 3], Structure(function)), np.array([10.0, 6, 5, 1]))
    assert plan.order.tolist() == [0, 2, 1, 3]
    assert plan.steps.tolist() == [1, 1, 2, 1]
    # by the ranking 1, 3, 5, 7 steps; by the plan 1, 2, 4, 5
    assert plan.by_ranking.expected == pytest.approx((10 + 18 + 25 + 7) / 22)
    assert plan.expected == pytest.approx((10 + 10 + 24 + 5) / 22)
    far = plan_reading(ranked_list([0, 1, 2, 3], Structure(function)), np.array([10.0, 6, 2, 1]))
    assert far.order.tolist() == [0, 1, 3, 2] or far.order.tolist() == [0, 1, 2, 3]


def test_words_for_what_a_plan_saves():
    order = np.array([1, 0])
    by_ranking = PlacesInOrder(order, order, 19.6)
    assert ReadingPlan(order, order, 5.7, by_ranking).words == (
        "This order saves about 14 steps: about 6 steps until the fault is seen, 20 down the ranking"
    )
    assert ReadingPlan(order, order, 19.4, by_ranking).words.startswith("As good as going down the ranking")


def test_chances_of_a_tie_are_the_mean_over_its_ranks():
    spectrum = Spectrum.from_matrix([[1, 1, 1, 1], [0, 1, 1, 0]], failed=[True, False])
    report = RankedReport.from_scores(make_technique("ochiai"), spectrum, np.array([4.0, 3, 3, 1]))
    middle = (2**-1.5 + 3**-1.5) / 2
    np.testing.assert_allclose(fault_chances(report, np.arange(4)), [1, middle, middle, 4**-1.5])


def test_examined_places_leave_the_plan_and_the_others_keep_their_proportions():
    spectrum = Spectrum.from_matrix([[1, 1, 1, 1], [0, 1, 1, 0]], failed=[True, False])
    report = RankedReport.from_scores(make_technique("ochiai"), spectrum, np.array([4.0, 3, 2, 1]))
    plan = DebuggingModel(report, excluded=[1]).plan(0)
    assert plan.order.tolist() == [2, 3]
    assert plan.expected == pytest.approx((2 * 3**-1.5 + 4 * 4**-1.5) / (3**-1.5 + 4**-1.5))
