"""Which characters can't be seen, for every output: what is shown of a project must be all that is there."""

from __future__ import annotations

import re
import unicodedata

_CATEGORIES = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
# shown as nothing, or as a space, in spite of their category: Unicode's default ignorable code points, and blank ones
_BLANK = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0x1D159, 0x1D159),
    (0xE0000, 0xE0FFF),
)


def hidden(character: str) -> bool:
    """Whether a character shows nothing, or acts on others: it controls, reorders, joins or selects."""
    code = ord(character)
    return unicodedata.category(character) in _CATEGORIES or any(first <= code <= last for first, last in _BLANK)


def escaped(character: str) -> str:
    """Write a character as Python's source does."""
    return character.encode("unicode_escape").decode("ascii")


# a selector that asks for the coloured form of a symbol, directly after it
_EMOJI = re.compile("([\u2190-\u27bf\u2900-\u2bff\U0001f000-\U0001faff]\ufe0f)")


class _Table(dict[int, str]):
    """For `str.translate`; each character is looked up once."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = shown = escaped(character) if hidden(character) else character
        return shown


class _Blanks(dict[int, str]):
    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = shown = "\0" if hidden(character) else character
        return shown


_ESCAPES, _BLANKS = _Table(), _Blanks()


def safe(text: str) -> str:
    """Make hidden characters visible; tabs become spaces."""
    if text.isascii() and text.isprintable():
        return text
    pieces = _EMOJI.split(text.expandtabs(4))
    pieces[::2] = [piece.translate(_ESCAPES) for piece in pieces[::2]]
    return "".join(pieces)


def blanked(text: str) -> str:
    """Replace hidden characters, several in a row by one space."""
    if text.isascii() and text.isprintable():
        return text
    pieces = _EMOJI.split(text)
    pieces[::2] = [piece.translate(_BLANKS) for piece in pieces[::2]]
    return re.sub("\0+", " ", "".join(pieces))
