import pytest
from quota import House, Room


@pytest.fixture
def house():
    return House([Room(1, 4), Room(2, 2), Room(3, 3, quiet=True)])


def test_smallest(house):
    assert house.book(["a", "b"]) == 2


def test_larger(house):
    assert house.book(["a", "b", "c", "d"]) == 1


def test_none(house):
    assert house.book(list("abcde")) is None


def test_quiet_of_the_right_size(house):
    assert house.book(["a", "b", "c"], quiet=True) == 3


def test_quiet(house):
    assert house.book(["a"], quiet=True) == 3


def test_second_booking(house):
    house.book(["a"])
    assert house.book(["b"]) == 2


def test_leave(house):
    house.book(["a", "b"])
    assert house.leave("a")
    assert house.rooms[1].guests == ["b"]


def test_leave_unknown(house):
    assert not house.leave("x")
