from matrix import power, product, size, transposed


def test_size():
    assert size([[1, 2]]) == (1, 2)


def test_transposed():
    assert transposed([[1, 2], [3, 4]]) == [[1, 3], [2, 4]]


def test_symmetric():
    assert product([[1, 2], [3, 4]], [[0, 1], [1, 0]]) == [[2, 1], [4, 3]]


def test_identity():
    assert product([[5, 6]], [[1, 0], [0, 1]]) == [[5, 6]]


def test_product():
    assert product([[1, 2], [3, 4]], [[5, 6], [7, 8]]) == [[19, 22], [43, 50]]


def test_zero_times():
    assert power([[2, 3], [4, 5]], 0) == [[1, 0], [0, 1]]


def test_power():
    assert power([[1, 1], [0, 1]], 3) == [[1, 3], [0, 1]]


def test_symmetric_power():
    assert power([[1, 1], [1, 0]], 4) == [[5, 3], [3, 2]]
