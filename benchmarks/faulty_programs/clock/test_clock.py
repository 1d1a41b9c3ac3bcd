import pytest
from clock import seconds, spoken, words


@pytest.mark.parametrize(("text", "expected"), [("5", 5), ("2m", 120), ("1h", 3600), ("1h2m3", 3723), ("", 0)])
def test_seconds(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize(("amount", "expected"), [(0, "nothing"), (61, "1 minute, 1 second"), (86400, "1 day")])
def test_words(amount, expected):
    assert words(amount) == expected


@pytest.mark.parametrize(("text", "expected"), [("90m", "1 hour, 30 minutes"), ("1d", "1 day"), ("2d12h", "2 days, 12 hours")])
def test_spoken(text, expected):
    assert spoken(text) == expected
