"""Messages that tests print in colours."""

import pytest

from suspectra.evidence.failure_text import python_failure
from suspectra.evidence.formats.outcomes import read_outcomes
from suspectra_recorder.log.collection import one_line
from suspectra_recorder.log.colours import without_colours

PLAIN = "expected 1, got 2"


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mexpected\x1b[0m 1, got \x1b[1;38;5;196m2\x1b[m",
        "#x1B[31mexpected 1#x1B[0m, got 2",
        "\x9b31mexpected 1, got 2\x9b0m",
        "\x1b]8;;https://example.org\x1b\\expected\x1b]8;;\x07 1, got 2",
        "\x1b]0;title\x07expected 1\x1b(B, got 2",
        "\x1b[2K\x1b[1Gexpected 1, got 2",
        PLAIN,
    ],
)
def test_colours_go_as_a_whole(text, tmp_path):
    assert without_colours(text) == PLAIN
    assert one_line(text) == PLAIN
    failure = python_failure(f'File "a.py", line 3, in f\nValueError: {text}', text, "ValueError")
    assert failure.message == PLAIN
    if "#" not in text and text.isprintable():
        (tmp_path / "r.xml").write_text(
            f'<testsuite><testcase name="t"><failure message="{text}"/></testcase></testsuite>'
        )
        assert read_outcomes(tmp_path / "r.xml")["t"].message == PLAIN


def test_what_is_no_colour_stays():
    for text in ("a[31m", "items[0]", "#x1", "100% [ok]"):
        assert without_colours(text) == text
