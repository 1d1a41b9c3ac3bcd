from itertools import islice

import pytest
from retry import GaveUp, retry, succeeds, waits


def failing(until, error=OSError):
    def work(attempt):
        if attempt < until:
            raise error(attempt)
        return attempt

    return work


def test_waits():
    assert list(islice(waits(1, 3, 20), 4)) == [1, 3, 9, 20]


def test_at_once():
    assert retry(failing(0), 3, None) == 0


def test_later():
    slept = []
    assert retry(failing(2), 3, slept.append) == 2
    assert slept == [1, 2]


def test_gives_up():
    with pytest.raises(GaveUp, match="2 failures"):
        retry(failing(9), 2, lambda wait: None)


def test_no_wait_at_the_end():
    slept = []
    with pytest.raises(GaveUp):
        retry(failing(9), 1, slept.append)
    assert slept == []


def test_other_errors():
    with pytest.raises(KeyError):
        retry(failing(1, KeyError), 3, lambda wait: None)


def test_succeeds():
    assert succeeds(failing(1), 2)


def test_does_not_succeed():
    assert not succeeds(failing(5), 2)
