import pytest
from windows import averages, rising, trend, windows


def test_windows():
    assert windows([1, 2, 3], 2) == [[1, 2], [2, 3]]


def test_too_large():
    assert windows([1], 2) == []


def test_no_size():
    with pytest.raises(ValueError, match="at least"):
        windows([1], 0)


def test_averages():
    assert averages([1, 3, 5], 1) == [1, 3, 5]


def test_rising():
    assert rising([1, 2, 2]) == [True, False]


def test_up():
    assert trend([1, 2, 3, 4, 5], 2) == "up"


def test_down():
    assert trend([5, 4, 3, 2], 1) == "down"


def test_unknown():
    assert trend([5, 4], 2) == "unknown"


def test_just_enough():
    assert trend([5, 4, 9], 2) == "up"
