import pytest
from versions import choose, matches, newest


def test_newest():
    assert newest(["1.2", "1.3", "1.1"]) == "1.3"


def test_none():
    assert newest([]) is None


def test_two_digits():
    assert newest(["1.9", "1.10"]) == "1.10"


def test_label_is_older():
    assert newest(["2.0-rc", "2.0"]) == "2.0"


def test_longer():
    assert newest(["1.2.1", "1.2.0"]) == "1.2.1"


@pytest.mark.parametrize(
    ("version", "pattern", "expected"),
    [("1.2", "1.2", True), ("1.2", "1.*", True), ("2.2", "1.*", False), ("1.2-rc", "1.*", False), ("1.2.3", "1.2", False)],
)
def test_matches(version, pattern, expected):
    assert matches(version, pattern) is expected


def test_choose():
    assert choose(["1.1", "1.2", "2.0"], "1.*") == "1.2"


def test_choose_two_digits():
    assert choose(["3.8", "3.12", "2.7"], "3.*") == "3.12"


def test_choose_none():
    assert choose(["1.1"], "2.*") is None
