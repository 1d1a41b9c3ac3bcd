"""What differs between two texts, line by line."""

from suspectra.base.differing_parts import difference_of
from suspectra.output.changed_lines import changed_lines, said_lines

BEFORE, AFTER = ["if (", "    a", "    or c", "):", "    go()"], ["if (", "    a", "    or d", "):"]


def test_only_lines_that_one_of_two_texts_has():
    assert changed_lines(BEFORE, AFTER, 6) == ["−     or c", "+     or d", "−     go()"]


def test_of_many_lines_some_of_each_text():
    lines = changed_lines(list("abcdef"), list("ghijkl"), 4)
    assert lines == ["− a", "− b", "+ g", "+ h", "… 8 more lines"]
    assert changed_lines([], list("abc"), 2) == ["+ a", "+ b", "… 1 more line"]


def test_of_two_long_texts_what_differs_with_a_few_words_around_it():
    assert difference_of("return size < room", "return size <= room") == ("return size < room", "return size <= room")
    call = "result = self.convert(value, {}, encoding=self.encoding, errors='strict', newline=None)"
    was, now = difference_of(call.format("low"), call.format("-low"))
    assert (was, now) == (
        "…self.convert(value, low, encoding=self.encoding…",
        "…self.convert(value, -low, encoding=self.encoding…",
    )
    assert difference_of("x" * 50, "x" * 50 + "y")[1] == "x" * 50 + "y"


def test_what_is_said_of_a_text_has_neither_empty_lines_nor_common_indentation():
    assert said_lines("\n    if here:\n        go()\n\n") == ["if here:", "    go()"]
