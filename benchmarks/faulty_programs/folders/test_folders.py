from folders import depth, from_paths, walk


def test_flat():
    assert walk({"b": None, "a": None}) == ["a", "b"]


def test_empty():
    assert walk({}) == []


def test_empty_folder():
    assert walk({"a": {}, "b": None}) == ["b"]


def test_nested():
    assert walk(from_paths(["a/b", "c"])) == ["a/b", "c"]


def test_deep():
    assert walk(from_paths(["a/b/c", "a/d"])) == ["a/b/c", "a/d"]


def test_tree():
    assert from_paths(["a/b", "a/c"]) == {"a": {"b": None, "c": None}}


def test_depth():
    assert depth(from_paths(["a/b/c", "d"])) == 3


def test_depth_flat():
    assert depth({"a": None}) == 1
