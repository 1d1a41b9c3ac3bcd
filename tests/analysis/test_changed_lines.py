"""What differs between two texts, line by line."""

from suspectra.output.changed_lines import changed_lines

BEFORE, AFTER = ["if (", "    a", "    or c", "):", "    go()"], ["if (", "    a", "    or d", "):"]


def test_only_lines_that_one_of_two_texts_has():
    assert changed_lines(BEFORE, AFTER, 6) == ["−     or c", "+     or d", "−     go()"]


def test_of_many_lines_some_of_each_text():
    lines = changed_lines(list("abcdef"), list("ghijkl"), 4)
    assert lines == ["− a", "− b", "+ g", "+ h", "… 8 more lines"]
    assert changed_lines([], list("abc"), 2) == ["+ a", "+ b", "… 1 more line"]
