"""The figures of paper 002's Tables 2, 3 and 7 agree with each other and with the text."""

from collections import Counter

# by bug: states that were altered, dependences from the report to the fault, statements to read (Table 2)
TABLE_2 = [
    *((3, (1,), 2), (12, (1,), 5), (11, (2,), 13), (12, (0, 1), 3), (15, (1,), 2), (10, (1,), 2), (42, (0,), 1)),
    *((2, (0,), 1), (8, (0,), 1), (4, (0,), 1), (12, (1,), 4), (10, (0,), 1), (33, (0,), 1), (7, (2,), 4)),
    *((8, (1,), 2), (14, (0,), 3)),
]
MISJUDGED = {"correct": {3: 1, 5: 1, 6: 1, 9: 1, 13: 3}, "incorrect": {2: 1, 12: 4}}  # by bug (Table 3)
# states that single-step, bisection and MDFS extract, and the strategy with a star (Table 7)
TABLE_7 = [
    *((6, 17, 3), (20, 10, 12), (23, 12, 11), (50, 8, 12), (25, 37, 15), (1, 39, 10), (2, 30, 42), (16, 63, 2)),
    *((13, 79, 8), (6, 7, 4), (36, 24, 12), (4, 21, 10), (1, 35, 33), (24, 3, 7), (22, 18, 8), (25, 18, 14)),
]
STARS = [2, 1, 2, 1, 2, 0, 0, 2, 2, 2, 2, 0, 0, 1, 2, 2]


def test_all_states_that_were_altered():
    altered = [states for states, _, _ in TABLE_2]
    assert sum(altered) == 203
    assert altered == [mdfs for _, _, mdfs in TABLE_7]


def test_how_often_a_state_is_misjudged():
    states = sum(states for states, _, _ in TABLE_2)
    rates = {kind: round(100 * sum(bugs.values()) / states, 2) for kind, bugs in MISJUDGED.items()}
    assert rates == {"correct": 3.45, "incorrect": 2.46}


def test_how_much_is_read_until_the_fault():
    assert Counter(min(distance) for _, distance, _ in TABLE_2) == {0: 8, 1: 6, 2: 2}
    assert Counter(max(distance) for _, distance, _ in TABLE_2) == {0: 7, 1: 7, 2: 2}
    assert sum(statements <= 2 for _, _, statements in TABLE_2) == 10


def test_which_strategy_extracts_fewest_states():
    assert [min(range(3), key=row.__getitem__) for row in TABLE_7] == STARS
    assert Counter(STARS) == {0: 4, 1: 3, 2: 9}
    assert [sum(row[strategy] for row in TABLE_7) for strategy in range(3)] == [274, 421, 203]
