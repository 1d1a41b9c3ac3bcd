from groups import anagram, anagrams, compare, first_letter, grouped


def test_letter():
    assert first_letter("Ape") == "a"


def test_empty_word():
    assert first_letter("") == ""


def test_anagram():
    assert anagram("Tea") == "aet"


def test_anagrams():
    assert anagrams(["tea", "ten", "eat"]) == [["eat", "tea"]]


def test_no_anagrams():
    assert anagrams(["a", "b"]) == []


def test_grouped():
    assert grouped(["ab", "a"], len, {}) == {2: ["ab"], 1: ["a"]}


def test_compare_nothing():
    assert compare([], []) == {}


def test_compare():
    assert compare(["ape", "bee"], ["bat", "bug"]) == {"a": -1, "b": 1}
