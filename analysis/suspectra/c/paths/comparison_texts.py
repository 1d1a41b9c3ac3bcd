"""What the sides of a comparison are in the source of a C or C++ program.

This reads a line as far as brackets and operators go; it is no parser. Compilers keep the order of the sides, except
that a constant comes first. Where a line leaves open which of its comparisons is meant, nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_TOKEN = re.compile(
    r"""//.*|/\*.*?(?:\*/|$)|L?"(?:\\.|[^"\\])*"|L?'(?:\\.|[^'\\])*'|[A-Za-z_]\w*|\.?\d(?:[\w.]|[eEpP][+-])*
      |->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\S""",
    re.VERBOSE,
)
_COMPARING = frozenset({"<", "<=", ">", ">=", "==", "!="})
_ASSIGNING = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})
_PARTING = frozenset({"&&", "||", "?", ":", ";", ",", "{", "}", "return", "else", "do"}) | _ASSIGNING
_DECIDING = frozenset({"if", "while", "for"})
_PAIRS = {"(": ")", "[": "]"}
_NULL = frozenset({"NULL", "nullptr"})  # pointers are compared unseen
_CHARACTER = re.compile(r"'(?:\\([0abfnrtv\\'\"?])|([ -&(-\[\]-~]))'$")
_ESCAPES = dict(zip("0abfnrtv\\'\"?", (0, 7, 8, 12, 10, 13, 9, 11, 92, 39, 34, 63), strict=True))
_MAX_TEXT = 60


class ComparedTexts(NamedTuple):
    """What the sides of a comparison are."""

    left: str
    right: str  # empty for a value that is asked whether it is zero


class _Token(NamedTuple):
    text: str
    begin: int
    end: int


def comparison_texts(line: str) -> list[ComparedTexts]:
    """Find the comparisons of a line, in their order; those of pointers with a null pointer are left out."""
    tokens = [_Token(match[0], match.start(), match.end()) for match in _TOKEN.finditer(line)]
    code = [token for token in tokens if not token.text.startswith(("//", "/*"))]
    if code and code[0].text == "#":
        return []
    return [one for one in _found(line, code, asked=False) if not _NULL & {one.left, one.right}]


def literal(text: str) -> int | None:
    """The number that a text is; None if it is none."""
    if match := _CHARACTER.match(text):
        return _ESCAPES[match[1]] if match[1] else ord(match[2])
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    digits = re.sub(r"[uUlL]+$", "", digits.strip()) if digits[:1].isdigit() else ""
    try:
        return sign * int(digits, 8 if re.fullmatch(r"0[0-7]+", digits) else 0)
    except ValueError:
        return None


def _found(line: str, tokens: Sequence[_Token], *, asked: bool) -> Iterator[ComparedTexts]:
    """The comparisons of a piece of code; `asked` whether a value in it is asked whether it is zero."""
    part: list[_Token] = []
    joined = {token.text for token, _ in _outer(tokens)} & {"&&", "||", "?"}
    for token, inner in _outer(tokens):
        if token.text in _PARTING and not inner:
            yield from _in_part(line, part, asked=asked or bool({"&&", "||"} & joined) or token.text == "?")
            part = []
        else:
            part += [token, *inner]
    yield from _in_part(line, part, asked=asked or bool({"&&", "||"} & joined))


def _in_part(line: str, part: Sequence[_Token], *, asked: bool) -> Iterator[ComparedTexts]:
    """The comparisons of code without anything that joins conditions."""
    if not part:
        return
    outer = list(_outer(part))
    first, inner = outer[0]
    if first.text in _DECIDING and len(outer) > 1:
        size = 1 + 1 + len(outer[1][1])
        inside = _inside(part[1:size])
        yield from _found(line, _condition(inside) if first.text == "for" else inside, asked=True)
        yield from _found(line, part[size:], asked=False)
    elif first.text == "!":
        yield from _in_part(line, part[1:], asked=True)
    elif first.text == "(" and len(outer) == 1:
        yield from _found(line, _inside([first, *inner]), asked=asked)
    else:
        signs = [number for number, token in enumerate(part) if token in {one for one, _ in outer}]
        at = [number for number in signs if part[number].text in _COMPARING]
        if len(at) == 1 and 0 < at[0] < len(part) - 1:
            left, right = _text(line, part[: at[0]]), _text(line, part[at[0] + 1 :])
            yield ComparedTexts(left, right)
        elif asked and not at:
            yield ComparedTexts(_text(line, part), "")
        elif not at:
            for token, inner in outer:
                if token.text == "(":  # such as what is asserted
                    yield from _found(line, _inside([token, *inner]), asked=False)


def _condition(header: Sequence[_Token]) -> Sequence[_Token]:
    """What is asked before each round of a `for`."""
    ends = [number for number, token in enumerate(header) if token.text == ";"]
    return header[ends[0] + 1 : ends[1] if len(ends) > 1 else None] if ends else ()


def _outer(tokens: Sequence[_Token]) -> Iterator[tuple[_Token, list[_Token]]]:
    """The tokens outside of brackets, an opening one with all that belongs to it."""
    at = 0
    while at < len(tokens):
        end, open_ = at + 1, [_PAIRS[tokens[at].text]] if tokens[at].text in _PAIRS else []
        while open_ and end < len(tokens):
            if tokens[end].text == open_[-1]:
                open_.pop()
            elif tokens[end].text in _PAIRS:
                open_.append(_PAIRS[tokens[end].text])
            end += 1
        yield tokens[at], list(tokens[at + 1 : end])
        at = end


def _inside(tokens: Sequence[_Token]) -> Sequence[_Token]:
    """What is between brackets; the closing one may be on a later line."""
    return tokens[1:-1] if tokens[-1].text == _PAIRS.get(tokens[0].text) else tokens[1:]


def _text(line: str, tokens: Sequence[_Token]) -> str:
    """Code as it is written; an unmatched bracket at its end belongs to an earlier line."""
    while tokens and tokens[-1].text in (")", "]") and _depth(tokens) < 0:
        tokens = tokens[:-1]
    text = line[tokens[0].begin : tokens[-1].end] if tokens else ""
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"


def _depth(tokens: Sequence[_Token]) -> int:
    texts = [token.text for token in tokens]
    return sum(texts.count(one) for one in _PAIRS) - sum(texts.count(one) for one in _PAIRS.values())
