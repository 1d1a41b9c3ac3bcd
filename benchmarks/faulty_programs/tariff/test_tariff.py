import pytest
from tariff import price, total


@pytest.mark.parametrize(
    ("weight", "country", "expected"),
    [(1, "home", 4), (5, "home", 7), (8, "home", 13), (1, "near", 7), (5, "island", 10), (1, "far", 13), (6, "far", 18)],
)
def test_price(weight, country, expected):
    assert price(weight, country) == expected


def test_express():
    assert price(1, "near", express=True) == 14


def test_total():
    assert total([(1, "home"), (5, "near", True)]) == 24


def test_no_parcels():
    assert total([]) == 0
