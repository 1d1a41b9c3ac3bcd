import pytest
from census import Household, Person, by_street, oldest


@pytest.fixture
def family():
    return Household("Elm", [Person("ann", 40, 300), Person("bob", 70, 100), Person("cat", 9)])


def test_adults(family):
    assert [person.name for person in family.adults()] == ["ann", "bob"]


def test_income(family):
    assert family.income() == 400


def test_share(family):
    assert family.share() == 133


def test_share_of_nobody():
    assert Household("Elm").share() == 0


def test_oldest(family):
    assert oldest(family) == "bob"


def test_oldest_of_one():
    assert oldest(Household("Oak", [Person("dan", 5)])) == "dan"


def test_oldest_of_nobody():
    assert oldest(Household("Oak")) is None


def test_oldest_earns_most():
    assert oldest(Household("Oak", [Person("eve", 20), Person("fay", 30, 10)])) == "fay"


def test_by_street(family):
    assert by_street([Household("Elm"), Household("Oak", [Person("dan", 5)])]) == {"Elm": [None], "Oak": ["dan"]}
