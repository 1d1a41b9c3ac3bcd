from suspectra.output.changed_lines import changed_lines


def test_only_lines_that_one_of_two_texts_has():
    before = ["if a and (", "    b", "    or c", "):", "    go()"]
    after = ["if a and (", "    b", "    or d", "):"]
    assert changed_lines(before, after) == [("−", "    or c"), ("+", "    or d"), ("−", "    go()")]
    assert changed_lines([], ["new"]) == [("+", "new")]
    assert changed_lines(after, after) == []
