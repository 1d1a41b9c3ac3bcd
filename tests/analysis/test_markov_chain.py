"""The chains of paper 003, each against the definition written out densely, and their bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.base.errors import UsageError
from suspectra.markov.chain import (
    JumpModel,
    groups_of,
    ranked_list,
    suspicious_behaviour,
    unordered,
)
from suspectra.markov.structure import Structure


def dense(chain):
    matrix = np.zeros((chain.first_hub, chain.first_hub))
    for state in range(chain.first_hub):
        targets, probabilities = chain.row(state)
        matrix[state, targets] = probabilities
    return matrix


def spine(matrix, groups, weight):
    up, down = (weight - 1) / (2 * weight), 1 / (2 * weight)
    for i in range(groups):
        matrix[i, max(i - 1, 0)] += up
        matrix[i, min(i + 1, groups - 1)] += down


def neighbours(count, function, pairs):
    """Definition 26's J."""
    function = np.asarray(function)
    j = ((function[:, None] == function) & (function[:, None] >= 0)).astype(float)
    for x, y in pairs:
        j[x, y] = j[y, x] = 1
    np.fill_diagonal(j, 0)
    return j


def with_jumps(matrix, first, j, p, back):
    total = j.sum(axis=1)
    for x in range(len(j)):
        jumps = p * (total[x] > 0) if back[x].any() else 1
        matrix[first + x] += back[x] * (1 - jumps)
        if total[x]:
            matrix[first + x, first:] += jumps * j[x] / total[x]


def definition_29(group, function, pairs, p):
    group = np.asarray(group)
    groups, count = group.max() + 1, len(group)
    matrix = np.zeros((groups + count, groups + count))
    spine(matrix, groups, count)
    back = np.zeros((count, groups + count))
    for x, g in enumerate(group):
        matrix[g, groups + x] = 1 / (2 * (group == g).sum())
        back[x, g] = 1
    with_jumps(matrix, groups, neighbours(count, function, pairs), p, back)
    return matrix


def definition_30(group, members, p, function, pairs):
    group = np.asarray(group)
    groups, graphs = group.max() + 1, len(group)
    j = neighbours(len(function), function, pairs)
    inside = np.isin(np.arange(len(function)), [x for one in members for x in one])
    for _ in function if p else ():
        inside = inside | (j[inside].sum(axis=0) > 0)
    locations = np.flatnonzero(inside).tolist()
    first = groups + graphs
    matrix = np.zeros((first + len(locations),) * 2)
    spine(matrix, groups, graphs)
    back = np.zeros((len(locations), len(matrix)))
    for h, (g, inside) in enumerate(zip(group, members, strict=True)):
        matrix[g, groups + h] = 1 / (2 * (group == g).sum())
        matrix[groups + h, g] = 1 / 2
        for x in inside:
            matrix[groups + h, first + locations.index(x)] = 1 / 2 / len(inside)
            back[locations.index(x), groups + h] = 1 / sum(x in other for other in members)
    with_jumps(matrix, first, j[np.ix_(locations, locations)], p, back)
    return matrix


@st.composite
def lists(draw):
    count = draw(st.integers(1, 12))
    group = draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    _, group = np.unique(group, return_inverse=True)
    function = draw(st.lists(st.integers(-1, 3), min_size=count, max_size=count))
    place = st.integers(0, count - 1)
    pairs = draw(st.lists(st.tuples(place, place), max_size=6))
    return group, np.array(function), pairs, draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))


@given(lists())
def test_ranked_list_is_definitions_28_and_29(example):
    group, function, pairs, p = example
    chain = ranked_list(group, Structure(function, np.array(pairs[::2], int), np.array(pairs[1::2], int)), JumpModel(p))
    expected = definition_29(group, function, pairs, p)
    np.testing.assert_allclose(dense(chain), expected, atol=1e-14)
    np.testing.assert_allclose(dense(chain).sum(axis=1), 1, atol=1e-14)


@given(lists(), st.data())
def test_suspicious_behaviour_is_definition_30(example, data):
    group, function, pairs, p = example
    inside = st.sets(st.integers(0, len(function) - 1), min_size=1)
    members = [data.draw(inside) for _ in group]
    chain = suspicious_behaviour(
        group, [list(m) for m in members], len(function), Structure(function, np.array(pairs, int)), JumpModel(p)
    )
    np.testing.assert_allclose(dense(chain), definition_30(group, members, p, function, pairs), atol=1e-14)
    assert (chain.state_of_location >= 0).sum() == len(chain.location)


def test_unordered_names_first_and_the_rest_together():
    chain = unordered([3, 1, 3], 5)
    assert chain.group_of_location.tolist() == [1, 0, 1, 0, 1]
    assert unordered([], 3).groups == unordered([0, 1, 2], 3).groups == 1


def test_two_locations_joined_twice_get_the_larger_weight():
    structure = Structure(np.array([0, 0, 0]), np.array([[0, 1]]), np.array([[1, 0], [1, 1]]))
    chain = ranked_list([0, 0, 0], structure, JumpModel(0.5, same_function=1, control_flow=2, calls=3))
    targets, probabilities = chain.row(chain.first_location)
    assert targets.tolist() == [0, 2, 3]
    assert probabilities.tolist() == [0.5, 0.375, 0.125]
    nobody = ranked_list([0, 0, 0], structure, JumpModel(0.5, 0, 0, 0))
    assert nobody.is_ranked_list


def test_a_large_function_stays_sparse():
    chain = ranked_list(np.arange(10_000) % 7, Structure(np.zeros(10_000, int)))
    assert chain.rates.nnz < 41_000
    targets, probabilities = chain.row(chain.first_location + 5)
    assert len(targets) == 10_000
    assert probabilities.sum() == pytest.approx(1)


def test_groups_of_scores():
    nan, inf = float("nan"), float("inf")
    assert groups_of([nan, 1, -inf, inf, 0, 1]).tolist() == [3, 1, 3, 0, 2, 1]
    assert groups_of([nan, nan]).tolist() == [0, 0]


def test_p_jump_one_is_not_ergodic_and_says_why():
    reason = ranked_list([0, 1], Structure(np.array([0, 0])), JumpModel(1)).not_ergodic_because()
    assert "p_jump is 1" in reason
    assert ranked_list([0, 1], Structure(np.array([0, 1])), JumpModel(1)).not_ergodic_because() is None


def test_disconnected_parts_are_joined_by_the_ranking():
    parts = Structure(np.array([0, 0, 1, 1]), np.array([[0, 1], [2, 3]]))
    assert ranked_list([0, 1, 2, 2], parts).not_ergodic_because() is None
    assert suspicious_behaviour([0, 1], [[0], [3]], 4, parts).not_ergodic_because() is None


@pytest.mark.parametrize(
    ("build", "part"),
    [
        (lambda: ranked_list([]), "no location"),
        (lambda: ranked_list([0.5, 1.0]), "whole numbers"),
        (lambda: ranked_list([0, 1], Structure(np.array([0]))), "1 locations have a function and 2 have a rank"),
        (lambda: ranked_list([0, 1], Structure(control_flow=np.array([[0, 2]]))), "not in the program"),
        (lambda: unordered([7], 3), "not in the program"),
        (lambda: suspicious_behaviour([], [], 3), "no subgraph"),
        (lambda: suspicious_behaviour([0], [[]], 3), "no location"),
        (lambda: suspicious_behaviour([0], [[3]], 3), "unknown location"),
        (lambda: JumpModel(float("nan")), "p_jump is nan"),
        (lambda: JumpModel(1.5), "p_jump is 1.5"),
        (lambda: JumpModel(0.5, calls=-1), "weight calls is -1"),
        (lambda: JumpModel(0.5, control_flow=float("inf")), "weight control_flow is inf"),
    ],
)
def test_bad_input_says_what_and_how_to_mend_it(build, part):
    with pytest.raises(UsageError) as error:
        build()
    assert part in error.value.problem.cause
    assert error.value.problem.cure


def test_rows_of_states_that_are_none():
    chain = ranked_list([0, 1], Structure(np.array([0, 0])))
    for state in (-1, chain.first_hub):
        with pytest.raises(IndexError):
            chain.row(state)
