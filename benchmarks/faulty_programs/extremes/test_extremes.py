import pytest
from extremes import largest, outliers, smallest, spread


@pytest.mark.parametrize(("values", "expected"), [([3, 9, 4], 9), ([1], 1), ([-1, 5], 5), ([-4, -2, -8], -2)])
def test_largest(values, expected):
    assert largest(values) == expected


def test_smallest():
    assert smallest([-3, 2]) == -3


def test_smallest_positive():
    assert smallest([4, 2, 3]) == 2


def test_spread():
    assert spread([-1, 1]) == 2


def test_no_spread():
    assert spread([]) == 0


def test_outliers():
    assert outliers([1, 2, 1, 2, 50]) == [50]


def test_few():
    assert outliers([1, 100]) == []
