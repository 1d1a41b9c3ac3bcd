import pytest
from pages import Pages, shown


@pytest.mark.parametrize(("length", "expected"), [(0, 1), (1, 1), (10, 1), (11, 2), (20, 2)])
def test_count(length, expected):
    assert Pages(list(range(length)), 10).count() == expected


def test_links():
    pages = Pages("abcde", 2)
    assert [pages.links(number) for number in (1, 2, 3)] == [[2], [1, 3], [2]]


def test_beyond():
    with pytest.raises(IndexError):
        Pages("ab", 2).page(2)


def test_zero():
    with pytest.raises(IndexError):
        Pages("ab", 2).page(0)


def test_nothing():
    assert shown([], 5, 1) == ["page 1 of 1"]


def test_first():
    assert Pages("abcde", 2).page(1) == "ab"


def test_last():
    assert shown("abc", 2, 2) == ["- c", "page 2 of 2"]
