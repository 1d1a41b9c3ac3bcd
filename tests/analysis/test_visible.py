"""Which characters are shown as they are, whatever the output."""

import sys
import unicodedata

import pytest

from suspectra.base.visible import blanked, hidden, safe

# default ignorable code points of Unicode that are not of the categories for control and format
IGNORABLE = [0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)]


def test_no_hidden_character_gets_through():
    categories = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
    unseen = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in categories]
    unseen += [chr(code) for code in (*IGNORABLE, 0x2800, *range(0xE0000, 0xE1000))]
    text = "a".join(unseen)
    assert not set(unseen) & set(safe(text))
    assert not set(unseen) & set(blanked(text))


@pytest.mark.parametrize(
    "text", ["größe = preis * 2", "e\u0301", "忽略", "❤\ufe0f", "日本\u3000語", "עברית", "नमस्ते", "👩🏽"]
)
def test_what_people_write_stays(text):
    assert safe(text) == blanked(text) == text


def test_hidden_characters_are_spelled_or_left_out():
    assert safe("a\u061cb\tc\ufe0f") == "a\\u061cb c\\ufe0f"
    assert blanked("a\u061c\n\u2066b") == "a b"
    assert hidden("\u3164")
    assert not hidden(" ")
