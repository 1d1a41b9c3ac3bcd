import pytest
from lookup import Missing, collect, get, get_or

DATA = {"a": {"b": [10, 20]}, "c": 1}


def test_get():
    assert get(DATA, "a.b.1") == 20


def test_top():
    assert get(DATA, "c") == 1


def test_missing():
    with pytest.raises(Missing):
        get(DATA, "a.x")


def test_default():
    assert get_or(DATA, "x", 7) == 7


def test_beyond_a_list():
    assert get_or(DATA, "a.b.2", 7) == 7


def test_not_a_number():
    with pytest.raises(Missing):
        get(DATA, "a.b.first")


def test_collect():
    assert collect([{"n": 1}, {}, {"n": 2}], "n") == [1, 2]


def test_collect_from_lists():
    assert collect([{"n": [1]}, {"n": [3]}], "n.0") == [1, 3]
