import pytest
from board import Board, play


def test_empty():
    assert Board(3, 2).lines() == ["...", "..."]


def test_one_row():
    board = Board(2, 1)
    board.put(1, 0, "x")
    assert board.lines() == [".x"]


def test_taken():
    board = Board(2, 1)
    board.put(1, 0, "x")
    assert not board.put(1, 0, "o")


def test_two_rows():
    board = Board(2, 2)
    board.put(1, 0, "x")
    assert board.lines() == [".x", ".."]


def test_count():
    board = Board(3, 1)
    board.put(0, 0, "x")
    board.put(2, 0, "x")
    assert board.count("x") == 2


def test_nobody():
    assert play(Board(3, 3), []) is None


def test_row():
    assert play(Board(3, 3), [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]) == "x"


def test_again_after_a_taken_field():
    assert play(Board(3, 2), [(0, 0), (0, 0)]) is None


def test_diagonal_does_not_count():
    assert play(Board(2, 2), [(0, 0), (0, 1)]) is None


@pytest.mark.parametrize("size", [1, 2])
def test_not_won(size):
    assert not Board(size, size).won("x")
