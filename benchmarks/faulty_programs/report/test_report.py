from report import histogram, largest_bar, numbers, report


def test_numbers():
    assert list(numbers(["a 1 b", "22"])) == [1, 22]


def test_no_numbers():
    assert list(numbers(["a b"])) == []


def test_histogram():
    assert histogram([1, 12, 15], 10) == {0: 1, 10: 2}


def test_report():
    assert report(["3 14", "15"]) == ["0: *", "10: **", "total 32"]


def test_empty_report():
    assert report(["nothing"]) == []


def test_zeros():
    assert report(["0 0"]) == ["0: **", "total 0"]


def test_largest_bar():
    assert largest_bar(["1 2 3", "44"]) == 3


def test_no_bar():
    assert largest_bar([]) == 0
