import pytest
from shift import at_night, minutes, overlap, parse


@pytest.mark.parametrize(("text", "expected"), [("7", 420), ("7:30", 450), ("00:05", 5)])
def test_parse(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("7-12", 300), ("0-24", 1440), ("8:15-8:45", 30), ("22-6", 480)])
def test_minutes(text, expected):
    assert minutes(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("7-12", 0), ("5-7", 60), ("23-1", 60)])
def test_at_night(text, expected):
    assert at_night(text) == expected


def test_no_overlap():
    assert overlap((0, 3), (3, 5)) == 0
