import pytest
from runs import longest, packed, runs, unpacked


def test_nothing():
    assert runs("") == []


def test_one_run():
    assert runs("aaa") == [("a", 3)]


def test_single_items():
    assert runs("ab") == [("a", 1), ("b", 1)]


def test_runs():
    assert runs([1, 1, 2]) == [(1, 2), (2, 1)]


@pytest.mark.parametrize(("text", "expected"), [("", ""), ("a", "a"), ("abb", "a2b"), ("aab", "2ab")])
def test_packed(text, expected):
    assert packed(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("3a", "aaa"), ("a2b", "abb"), ("12c", "c" * 12)])
def test_unpacked(text, expected):
    assert unpacked(text) == expected


def test_longest():
    assert longest("abbb") == 3
