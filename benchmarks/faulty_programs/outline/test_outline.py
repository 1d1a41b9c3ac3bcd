from outline import contents, level_of, numbered


def test_levels():
    assert [level_of(line) for line in ("a", "# a", "### a")] == [0, 1, 3]


def test_one():
    assert numbered(["# A"]) == ["1 A"]


def test_two_levels():
    assert numbered(["# A", "## B", "## C", "# D", "## E"]) == ["1 A", "1.1 B", "1.2 C", "2 D", "2.1 E"]


def test_text_stays():
    assert numbered(["hello", "# A"]) == ["hello", "1 A"]


def test_skipped():
    assert numbered(["# A", "# Thanks", "# B"], skip=("Thanks",)) == ["1 A", "Thanks", "2 B"]


def test_skipped_first():
    assert numbered(["# Preface"], skip=("Preface",)) == ["Preface"]


def test_contents():
    assert contents(["# A", "text", "## B"]) == ["1 A", "1.1 B"]


def test_missing_level():
    assert numbered(["### A"]) == ["0.0.1 A"]
