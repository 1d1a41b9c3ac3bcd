"""Exact hitting times against extended precision, the ranks of paper 003, and where float64 ends."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from suspectra.base.errors import UsageError
from suspectra.markov import elimination, elimination_plan
from suspectra.markov.chain import (
    JumpModel,
    groups_of,
    ranked_list,
    suspicious_behaviour,
    unordered,
)
from suspectra.markov.hitting_times import HittingTimeSolver, hitting_times, ht_rank
from suspectra.markov.structure import Structure


def rows(chain):
    return [dict(zip(*(v.tolist() for v in chain.row(i)), strict=True)) for i in range(chain.first_hub)]


def dense_times(chain, target):
    """E_i[T_target] for every i, in 40 digits."""
    others = [i for i in range(chain.first_hub) if i != target]
    place = {state: k for k, state in enumerate(others)}
    with mpmath.workdps(40):
        system = mpmath.eye(len(others))
        for i, row in enumerate(rows(chain)):
            for j, p in row.items():
                if i != target and j != target:
                    system[place[i], place[j]] -= mpmath.mpf(p)
        times = mpmath.lu_solve(system, mpmath.ones(len(others), 1))
    return {state: float(times[k]) for state, k in place.items()}


def log_time(chain, target):
    """log E_0[T_target] by taking one state after the other out of the chain, with unlimited exponents."""
    with mpmath.workdps(30):
        step = [{j: mpmath.mpf(p) for j, p in row.items() if j != i} for i, row in enumerate(rows(chain))]
        cost = [mpmath.mpf(1)] * len(step)
        into = [set() for _ in step]
        for i, row in enumerate(step):
            for j in row:
                into[j].add(i)
        for k in range(len(step) - 1, 0, -1):
            if k == target:
                continue
            leaving = sum(step[k].values())
            for i in into[k]:
                share = step[i].pop(k) / leaving
                cost[i] += share * cost[k]
                for j, p in step[k].items():
                    if j != i:
                        step[i][j] = step[i].get(j, mpmath.mpf(0)) + share * p
                        into[j].add(i)
            for j in step[k]:
                into[j].discard(k)
        return float(mpmath.log(cost[0] / step[0][target]))


def random_chain(rng):
    count = int(rng.integers(1, 9))
    group = rng.integers(0, 4, count)
    structure = Structure(rng.integers(-1, 3, count), rng.integers(0, count, (rng.integers(0, 4), 2)))
    jumps = JumpModel(float(rng.choice([0, 1e-6, 0.1, 0.5, 0.99])), *rng.integers(0, 3, 3).astype(float))
    if rng.random() < 0.3:
        members = [rng.integers(0, count, rng.integers(1, 4)) for _ in range(rng.integers(1, 5))]
        return suspicious_behaviour(rng.integers(0, 3, len(members)), members, count, structure, jumps)
    return ranked_list(group, structure, jumps)


@pytest.mark.parametrize("few_states_left_to_blas", [False, True])
def test_two_hundred_random_chains_agree_with_extended_precision(monkeypatch, few_states_left_to_blas):
    if few_states_left_to_blas:  # so that small chains go through the sparse levels, too
        monkeypatch.setattr(elimination, "SMALL", 2)
        monkeypatch.setattr(elimination_plan, "SMALL", 2)
        monkeypatch.setattr(elimination_plan, "SECONDS_DENSE", 1e9)
    rng = np.random.default_rng(3)
    for _ in range(100):
        chain = random_chain(rng)
        solver = HittingTimeSolver(chain)
        target = int(rng.choice(chain.location))
        state = int(chain.state_of_location[target])
        exact = dense_times(chain, state)
        assert hitting_times(chain).steps[target] == pytest.approx(exact[0], rel=1e-9)
        for start in {0, int(rng.integers(chain.first_hub)), chain.first_hub - 1} - {state}:
            assert solver.from_state(start).steps[target] == pytest.approx(exact[start], rel=1e-9)
        assert solver.from_location(target).steps[target] == 0


@pytest.mark.parametrize(("p", "locations", "groups"), [(0.5, 500, 450), (1e-3, 400, 390), (0.1, 450, 350)])
def test_right_far_beyond_the_range_of_float64(p, locations, groups):
    rng = np.random.default_rng(locations)
    group = np.sort(rng.integers(0, groups, locations))
    group[::5] = np.clip(group[::5] + rng.integers(-2, 3, len(group[::5])), 0, groups - 1)
    chain = ranked_list(group, Structure(np.arange(locations) // 3), JumpModel(p))
    times = hitting_times(chain)
    assert times.log_steps.max() > 450  # about 1e200, visits to hubs and squares of them are beyond
    for target in (0, locations // 2, locations - 1):
        expected = log_time(chain, chain.first_location + target)
        assert times.log_steps[target] == pytest.approx(expected, rel=1e-12, abs=1e-10)
        assert np.isinf(times.steps[target]) == (expected > 709.78)
    from_the_end = HittingTimeSolver(chain).from_location(locations - 1)
    assert np.isfinite(np.delete(from_the_end.log_steps, locations - 1)).all()
    assert from_the_end.steps[0] < 1e6


def test_many_passes_and_many_equally_short_ways():
    # 10 functions join each group to the next, and nothing leads further: one pass after the other
    groups, width = 400, 10
    function = np.repeat(np.arange((groups - 1) * width), 2)
    group = np.stack([np.repeat(np.arange(groups - 1), width), np.repeat(np.arange(1, groups), width)], 1).ravel()
    times = hitting_times(ranked_list(group, Structure(function), JumpModel(0.001)))
    first_of_group = np.unique(group, return_index=True)[1]
    assert (np.diff(times.log_steps[first_of_group]) > 0).all()
    assert times.log_steps.max() > 2000
    assert len(np.unique(times.rank)) == 2 * groups - 2  # in a group, those next to a better one are found sooner


@given(hnp.arrays(float, st.integers(1, 40), elements=st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, float("nan")])))
def test_without_jumps_it_is_the_standard_rank(scores):
    group = groups_of(scores)
    standard = np.array([(group < g).sum() + (group == g).sum() / 2 for g in group])
    structure = Structure(np.zeros(len(group), int))
    for chain in (ranked_list(group), ranked_list(group, structure, JumpModel(0))):
        assert hitting_times(chain).rank.tolist() == standard.tolist()
        assert HittingTimeSolver(chain).from_start().rank.tolist() == standard.tolist()


def test_ten_thousand_distinct_scores():
    group = np.random.default_rng(0).permutation(10_000)
    times = hitting_times(ranked_list(group))
    assert times.rank.tolist() == (group + 0.5).tolist()
    assert np.isfinite(times.log_steps).all()
    assert times.log_steps.max() > 9_000 * np.log(9_999)


def test_the_avl_example():
    scores = [0.98, 0.98, 0.98, 0.97, 0.97, 0.95, 0.94, 0.94, 0.94]
    ranks = hitting_times(ranked_list(groups_of(scores))).rank
    assert ranks.tolist() == [1.5, 1.5, 1.5, 4, 4, 5.5, 7.5, 7.5, 7.5]


def test_closed_form_agrees_with_elimination():
    for group in ([0], [0, 0], [0, 1], [0, 0, 1], [0, 1, 2, 2, 3], [0] * 50 + [1] + [2] * 20):
        chain = ranked_list(group)
        np.testing.assert_allclose(hitting_times(chain).steps, HittingTimeSolver(chain).from_start().steps, rtol=1e-12)


def test_one_location():
    assert hitting_times(ranked_list([0])).steps[0] == pytest.approx(2)
    assert hitting_times(ranked_list([0], Structure(np.array([0])))).rank.tolist() == [0.5]


def test_a_function_of_ten_thousand_lines():
    group = np.arange(10_000) % 50
    times = hitting_times(ranked_list(group, Structure(np.zeros(10_000, int))))
    ranks = times.rank
    # every group and every member of it looks the same from inside one clique, but for the place in the list
    assert len(np.unique(ranks)) == 50
    assert ranks[0] < ranks[49]


def test_reports_of_different_kinds_share_one_scale():
    structure = Structure(np.array([0, 0, 1, 1, 2, 2]))
    fault = 2
    ranks = [
        hitting_times(chain).rank[fault]
        for chain in (
            ranked_list([0, 1, 2, 3, 4, 5], structure),
            unordered([1, 2], 6, structure),
            suspicious_behaviour([0, 1], [[2, 3], [0]], 6, structure),
        )
    ]
    assert ranks[2] == ranks[1] == 1 < ranks[0]
    left_out = hitting_times(suspicious_behaviour([0], [[2, 3]], 6, structure))
    assert left_out.rank[[0, 1, 4, 5]].tolist() == [4] * 4
    assert np.isinf(left_out.steps[0])


def test_a_jump_leads_to_locations_that_no_subgraph_contains():
    one_function = Structure(np.array([0, 0, 0]))
    steps = hitting_times(suspicious_behaviour([0], [[0]], 3, one_function)).steps
    np.testing.assert_allclose(steps, [6, 44 / 3, 44 / 3])
    quiet = hitting_times(suspicious_behaviour([0], [[0]], 3, one_function, JumpModel(0))).steps
    assert np.isinf(quiet).tolist() == [False, True, True]


def test_p_jump_one_is_refused_with_the_reason():
    with pytest.raises(UsageError, match="never comes back") as error:
        hitting_times(ranked_list([0, 1], Structure(np.array([0, 0])), JumpModel(1)))
    assert error.value.problem.cure == "set p_jump below 1"


def test_starting_where_the_report_has_nothing():
    solver = HittingTimeSolver(suspicious_behaviour([0], [[2, 3]], 6))
    with pytest.raises(KeyError):
        solver.from_location(0)
    with pytest.raises(IndexError):
        solver.from_state(99)


def large(rng, count=3000, groups=80):
    function = np.sort(rng.integers(0, count // 10, count))
    group = np.clip(rng.integers(0, groups, count // 10)[function] + rng.integers(-2, 3, count), 0, groups - 1)
    return group, Structure(function, calls=rng.integers(0, count, (count // 20, 2)))


def test_after_a_small_change_the_elimination_is_corrected():
    group, structure = large(np.random.default_rng(5))
    solver = HittingTimeSolver(ranked_list(group, structure))
    for location in (7, 400):  # one change on top of the other
        group = group.copy()
        group[location] = (group[location] + 40) % 80
        chain = ranked_list(group, structure)
        before, solver = solver, HittingTimeSolver(chain, previous=solver)
        assert solver._eliminated is before._eliminated
        anew = HittingTimeSolver(chain)
        np.testing.assert_allclose(solver.from_start().log_steps, anew.from_start().log_steps, rtol=1e-12)
        np.testing.assert_allclose(solver.from_location(9).steps, anew.from_location(9).steps, rtol=1e-10)
        assert solver.from_start().rank.tolist() == anew.from_start().rank.tolist()


def test_after_other_changes_it_is_eliminated_again():
    group, structure = large(np.random.default_rng(6))
    solver = HittingTimeSolver(ranked_list(group, structure))
    bolder = ranked_list(group, structure, JumpModel(0.7))
    again = HittingTimeSolver(bolder, previous=solver)
    assert again._plan is solver._plan
    np.testing.assert_array_equal(again.from_start().steps, HittingTimeSolver(bolder).from_start().steps)
    other = ranked_list(group[:-1], Structure(structure.function[:-1]))
    assert HittingTimeSolver(other, previous=solver)._plan is not solver._plan
    same = HittingTimeSolver(ranked_list(group, structure), previous=solver)
    np.testing.assert_array_equal(same.from_start().steps, solver.from_start().steps)


def test_progress_rises_and_may_cancel():
    group, structure = large(np.random.default_rng(7))
    seen = []
    hitting_times(ranked_list(group, structure), progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1

    class Cancelled(Exception):
        pass

    def cancel(fraction):
        raise Cancelled

    with pytest.raises(Cancelled):
        hitting_times(ranked_list(group, structure), progress=cancel)


def test_too_interwoven_says_so(monkeypatch):
    monkeypatch.setattr(elimination_plan, "MAX_DENSE", 40)
    group, structure = large(np.random.default_rng(8))
    with pytest.raises(UsageError, match="estimate them by sampling"):
        hitting_times(ranked_list(group, structure))


def test_ht_rank_of_ties_and_infinities():
    assert ht_rank(np.array([])).tolist() == []
    inf = np.inf
    assert ht_rank(np.array([inf, 2.0, -inf, 2.0 + 1e-12, inf, 2.1])).tolist() == [5, 2, 0.5, 2, 5, 3.5]
