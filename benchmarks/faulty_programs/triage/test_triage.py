import pytest
from triage import level, names


def patient(name="p", pain=0, fever=37, age=30, waiting=0):
    return {"name": name, "pain": pain, "fever": fever, "age": age, "waiting": waiting}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"pain": 9, "age": 1}, 0),
        ({"fever": 41, "age": 85}, 0),
        ({"pain": 8}, 1),
        ({"age": 90}, 2),
        ({"waiting": 121}, 2),
        ({"waiting": 120}, 3),
        ({}, 3),
    ],
)
def test_level(given, expected):
    assert level(patient(**given)) == expected


def test_longest_first():
    assert names([patient("a", waiting=1), patient("b", waiting=5)]) == ["b", "a"]


def test_urgent_first():
    assert names([patient("a", waiting=130), patient("b", pain=9, age=1)]) == ["b", "a"]
