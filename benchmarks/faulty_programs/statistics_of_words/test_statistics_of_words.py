from statistics_of_words import common_to, concordance, counts, most_common, words

TEXT = "The cat and the Cat. A dog, (of course)!"


def test_words():
    assert words("Hi, you!") == ["hi", "you"]


def test_only_signs():
    assert words("- ! ...") == ["-"]


def test_counts():
    assert counts(TEXT) == {"cat": 2, "dog": 1, "course": 1}


def test_most_common():
    assert most_common(TEXT, 2) == ["cat", "course"]


def test_common_to():
    assert common_to(TEXT, "Dog and course") == ["course", "dog"]


def test_concordance():
    assert concordance(TEXT, "dog", 1) == ["a dog of"]


def test_concordance_upper():
    assert concordance(TEXT, "Dog", 1) == ["a dog of"]


def test_concordance_unknown():
    assert concordance(TEXT, "cow") == []


def test_concordance_with_sign():
    assert concordance(TEXT, "course!", 1) == ["of course"]
