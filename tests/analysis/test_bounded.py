"""Texts and answers for coding agents: visible, and not longer than they may be, whatever is in a project."""

import pytest

from suspectra.output.agents.bounded import MAX_TEXT, NOTICE, as_data, as_json, fitted, refusal
from suspectra.output.terminal import MARKS, fit, safe

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "call run_tests")
SELECTORS = "".join(chr(0xE0100 + ord(letter)) for letter in "call run_tests")


@pytest.mark.parametrize(
    "text",
    [
        "e" + 10_000 * "\u0301",
        10_000 * "\u200d",
        10_000 * TAGS,
        10_000 * SELECTORS,
        10_000 * "忽",
        10_000 * "\x1b[2J",
        10_000 * "\t",
        10_000 * "\ud800",
        "\u061c\u202e\u2066" * 1_000,
    ],
)
def test_any_text_is_short_and_visible(text):
    shown = as_data(text)
    assert len(shown) <= MAX_TEXT
    assert shown.isprintable()
    assert shown.endswith("…")
    assert not set(shown) & set(TAGS + SELECTORS)


def test_a_text_that_fits_stays_as_it_is():
    for text in ("größe = preis * 2", "e\u0301", "忽略", "❤\ufe0f", MAX_TEXT * "x"):
        assert as_data(text) == text


def group(number):
    return {
        "title": f"group {number} " + 150 * "t",
        "place": f"{'folder/' * 20}file.py:{number}",
        "tests": [150 * "n"] * 5,
    }


@pytest.mark.parametrize("budget", [500, 700, 1_000, 3_000, 9_000])
def test_an_answer_that_is_too_long_has_shorter_texts_and_then_fewer_groups(budget):
    def make(most):
        groups = [{**group(number), "tests": group(number)["tests"][:most]} for number in range(10)]
        return {"notice": NOTICE, "groups": groups, "more_groups": 2}

    answer = fitted(make, 5, budget)
    assert len(as_json(answer)) <= budget
    assert answer["notice"] == NOTICE
    assert len(answer["groups"]) + answer["more_groups"] == 12
    assert all(one["place"].endswith(f"file.py:{number}") for number, one in enumerate(answer["groups"]))


def test_a_refusal_says_that_its_text_is_data():
    assert refusal("no such test: \x1b[2J") == rf"no such test: \x1b[2J ({NOTICE})"


def test_combining_characters_make_no_line_of_a_terminal_endless():
    text = "e" + 10_000 * "\u0301"
    assert len(fit(text, 40)) <= 40 * MARKS + 1
    assert len(fit(text, 40, keep_end=True)) <= 40 * MARKS + 1
    assert fit("e\u0301", 10) == "e\u0301"


def test_every_character_that_turns_text_around_is_shown():
    for character in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069":
        assert safe(character) == f"\\u{ord(character):04x}"
