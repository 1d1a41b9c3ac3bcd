import pytest
from fares import fare, group


@pytest.mark.parametrize(
    ("zones", "age", "expected"), [(1, 30, 200), (3, 30, 300), (1, 3, 0), (1, 65, 100), (2, 70, 125), (1, 64, 200)]
)
def test_fare(zones, age, expected):
    assert fare(zones, age) == expected


def test_student():
    assert fare(1, 20, student=True) == 100


def test_late_student():
    assert fare(1, 40, student=True) == 200


def test_disabled():
    assert fare(1, 40, disabled=True) == 100


def test_group():
    assert group([{"age": 30}] * 5, 1) == 800


def test_small_group():
    assert group([{"age": 30}, {"age": 4}], 1) == 200


def test_class():
    assert group([{"age": 20, "student": True}] * 2, 2) == 250
