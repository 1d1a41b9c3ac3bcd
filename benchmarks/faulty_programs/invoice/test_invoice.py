import pytest
from invoice import discount, gross, net, shown


def test_net():
    assert net([(2, 150), (1, 99)]) == 399


def test_round_number():
    assert gross([(1, 100)]) == 119


def test_half_a_cent():
    assert gross([(1, 50)]) == 60


def test_most_of_a_cent():
    assert gross([(1, 99)], percent=7) == 106


def test_little_of_a_cent():
    assert gross([(1, 105)], percent=20) == 126


@pytest.mark.parametrize(("code", "expected"), [("", 0), ("friend", 600), ("first", 500), ("other", 0)])
def test_discount(code, expected):
    assert discount(6000, code) == expected


def test_first_too_small():
    assert discount(4999, "first") == 0


def test_friend():
    assert gross([(1, 1000)], code="friend", percent=10) == 990


def test_shown():
    assert shown(1205) == "12.05"
