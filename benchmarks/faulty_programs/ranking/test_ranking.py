import pytest
from ranking import order, points, table, winner


@pytest.mark.parametrize(("own", "other", "expected"), [(1, 0, 3), (2, 2, 1), (0, 4, 0)])
def test_points(own, other, expected):
    assert points(own, other) == expected


def test_table():
    assert table([("a", "b", 2, 1)])["b"] == {"name": "b", "points": 0, "goals": -1}


def test_two_games():
    assert table([("a", "b", 2, 1), ("b", "a", 0, 0)])["a"]["points"] == 4


def test_order():
    assert order([("a", "b", 1, 0), ("b", "c", 5, 0)]) == ["b", "a", "c"]


def test_equal_teams():
    assert order([("b", "a", 1, 1)]) == ["a", "b"]


def test_winner():
    assert winner([("a", "b", 0, 3)]) == "b"


def test_no_games():
    assert winner([]) is None


def test_draw():
    assert winner([("b", "a", 2, 2)]) == "a"
