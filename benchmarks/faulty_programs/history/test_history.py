import pytest
from history import Text


def test_insert():
    text = Text("ac")
    text.insert(1, "b")
    assert text.text == "abc"


def test_insert_beyond():
    with pytest.raises(IndexError):
        Text("a").insert(2, "b")


def test_delete():
    text = Text("abc")
    text.delete(0, 2)
    assert text.text == "c"


def test_nothing_to_undo():
    assert not Text("a").undo()


def test_nothing_to_redo():
    assert not Text("a").redo()


def test_undo():
    text = Text("a")
    text.insert(1, "b")
    assert text.undo()
    assert text.text == "a"


def test_change_forgets_the_future():
    text = Text("a")
    text.insert(0, "b")
    text.undo()
    text.insert(0, "c")
    assert not text.redo()


def test_redo():
    text = Text("a")
    text.insert(1, "b")
    text.undo()
    text.redo()
    assert text.text == "ab"


def test_undo_twice():
    text = Text("")
    for letter in "xy":
        text.insert(0, letter)
    text.undo()
    text.undo()
    assert text.text == ""
