from series import Series, aligned, total


def test_add():
    series = Series("a", [1])
    series.add(2)
    assert series.values == [1, 2]


def test_copy():
    assert Series("a", [1]).copy("b").values == [1]


def test_scaled():
    assert Series("a", [1, 2]).scaled(3).values == [3, 6]


def test_scaled_leaves_the_original():
    series = Series("a", [1, 2])
    series.scaled(3)
    assert series.values == [1, 2]


def test_padded():
    assert Series("a", [1]).padded(3).values == [1, 0, 0]


def test_padded_leaves_the_original():
    series = Series("a", [1])
    series.padded(3)
    assert series.values == [1]


def test_aligned():
    assert [series.name for series in aligned([Series("a", [1]), Series("b")])] == ["a+", "b+"]


def test_total():
    assert total([Series("a", [1, 2]), Series("b", [5])]) == [6, 2]


def test_total_of_nothing():
    assert total([]) == []
