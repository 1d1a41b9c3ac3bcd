from datetime import datetime

from calendar_line import line_of, parse, repeated, weekly


def test_parse():
    assert parse("2024-03-05 Lunch @home")["on"] == datetime(2024, 3, 5)


def test_place():
    assert parse("2024-03-05 Lunch @home")["place"] == "home"


def test_no_place():
    assert parse("2024-03-05 Lunch")["place"] is None


def test_there_and_back():
    assert line_of(parse("2024-03-03 Lunch @home")) == "2024-03-03 Lunch @home"


def test_line():
    assert line_of({"on": datetime(2024, 3, 5), "title": "Lunch", "place": None}) == "2024-03-05 Lunch"


def test_repeated():
    entries = repeated(parse("2024-02-28 Lunch"), 2, days=2)
    assert [entry["on"].day for entry in entries] == [28, 1]


def test_weekly():
    assert weekly("2024-05-01 Lunch", 2) == ["2024-05-01 Lunch", "2024-05-08 Lunch"]


def test_never():
    assert weekly("2024-05-01 Lunch", 0) == []
