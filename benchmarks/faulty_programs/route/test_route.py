from route import neighbours, shortest

ROADS = [("a", "b", 1), ("b", "c", 1), ("a", "c", 5), ("c", "d", 2)]


def test_neighbours():
    assert list(neighbours(ROADS, "b")) == [("a", 1), ("c", 1)]


def test_direct():
    assert shortest(ROADS, "a", "b") == (1, ["a", "b"])


def test_same_place():
    assert shortest(ROADS, "a", "a") == (0, ["a"])


def test_no_way():
    assert shortest(ROADS, "a", "x") == (None, [])


def test_detour():
    assert shortest(ROADS, "a", "c") == (2, ["a", "b", "c"])


def test_detour_and_on():
    assert shortest(ROADS, "a", "d") == (4, ["a", "b", "c", "d"])


def test_length_of_detour():
    assert shortest(ROADS, "a", "d")[0] == 4


def test_backwards():
    assert shortest(ROADS, "c", "b") == (1, ["c", "b"])


def test_straight():
    assert shortest([("a", "b", 2), ("b", "c", 2)], "a", "c") == (4, ["a", "b", "c"])
