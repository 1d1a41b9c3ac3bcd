import pytest
from pool import Busy, Pool, send_all


def test_send():
    assert Pool(1).send("abc") == 3


def test_twice():
    pool = Pool(1)
    pool.send("a")
    pool.send("b")
    assert pool.free[0].sent == ["a", "b"]


def test_in_turn():
    pool = Pool(2)
    pool.send("a")
    pool.send("b")
    assert [connection.sent for connection in pool.free] == [["a"], ["b"]]


def test_busy():
    pool = Pool(1)
    pool.lend()
    with pytest.raises(Busy):
        pool.send("a")


def test_refused():
    with pytest.raises(ValueError, match="nothing"):
        Pool(1).send("")


def test_all():
    assert send_all(Pool(3), ["a", "bc"]) == (3, 0)


def test_one_refused():
    assert send_all(Pool(2), ["a", "", "bc"]) == (3, 1)


def test_all_refused():
    assert send_all(Pool(1), ["", ""]) == (0, 2)


def test_back():
    pool = Pool(1)
    connection = pool.lend()
    pool.back(connection)
    assert (pool.free, pool.lent) == ([connection], [])
