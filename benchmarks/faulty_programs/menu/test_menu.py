from menu import Menu, run


def test_names():
    assert Menu([5, 1]).names() == ["+1", "+5"]


def test_nothing_chosen():
    assert run([1, 5], []) == 0


def test_last():
    assert run([1, 5], ["+5"]) == 5


def test_first():
    assert run([1, 5], ["+1"]) == 1


def test_several():
    assert run([1, 5], ["+1", "+5", "+1"]) == 7


def test_only_one():
    assert run([2], ["+2", "+2"]) == 4


def test_unknown():
    menu = Menu([1])
    menu.choose("x")
    assert menu.unknown == ["x"]


def test_unknown_changes_nothing():
    assert run([3], ["?", "+3"]) == 3
