import pytest
from primes import factors, is_prime, primes, twins


@pytest.mark.parametrize(("number", "expected"), [(0, False), (1, False), (2, True), (4, False), (7, True), (9, False)])
def test_is_prime(number, expected):
    assert is_prime(number) is expected


@pytest.mark.parametrize(("number", "expected"), [(1, []), (12, [2, 2, 3]), (13, [13])])
def test_factors(number, expected):
    assert factors(number) == expected


def test_primes():
    assert primes(8) == [2, 3, 5, 7]


def test_twins():
    assert twins(8) == [(3, 5), (5, 7)]


def test_more_twins():
    assert twins(14) == [(3, 5), (5, 7), (11, 13)]
