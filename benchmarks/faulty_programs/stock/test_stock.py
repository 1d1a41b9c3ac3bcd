import pytest
from stock import Store, delivery


@pytest.fixture
def store():
    return Store(10)


def test_put(store):
    assert store.put("a", "nails", 3) == 3


def test_used(store):
    store.put("a", "nails", 3)
    store.put("a", "screws", 4)
    assert store.used("a") == 7


def test_same_goods(store):
    store.put("a", "nails", 3)
    store.put("a", "nails", 3)
    assert store.shelves == {"a": {"nails": 6}}


def test_too_much(store):
    assert store.put("a", "nails", 12) == 10


def test_full_after_too_much(store):
    store.put("a", "nails", 12)
    assert store.used("a") == 10


def test_left(store):
    assert delivery(store, [("a", "nails", 8), ("a", "screws", 4), ("b", "screws", 4)]) == [("screws", 2)]


def test_take_after_too_much(store):
    delivery(store, [("a", "nails", 15)])
    assert store.take("nails", 15) == 10


def test_take(store):
    store.put("a", "nails", 2)
    store.put("b", "nails", 2)
    assert store.take("nails", 3) == 3


def test_take_unknown(store):
    assert store.take("nails", 3) == 0
