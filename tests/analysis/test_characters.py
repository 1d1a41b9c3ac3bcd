"""Symbolic texts: they do what plain ones do, and what is asked of their characters is noted as it came out."""

import operator
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suspectra.causes.solver import SmtSolver
from suspectra_recorder.experiments.inputs.characters import codes_of, plain, text_of
from suspectra_recorder.experiments.inputs.input_marks import InputMarks
from suspectra_recorder.experiments.inputs.symbols import SymbolicPath

TEXTS = st.text(alphabet="aB1 -=\t", max_size=6)
SHORT = st.text(alphabet="aB1 -=", min_size=1, max_size=2)
MARKS = InputMarks(lambda file: False)
OPERATIONS = {
    **{name: lambda text, other, name=name: getattr(text, name)() for name in (
        "upper", "lower", "casefold", "strip", "lstrip", "rstrip", "split", "isdigit", "isalpha", "isalnum", "isspace",
        "isupper", "islower", "isdecimal", "isnumeric",
    )},
    **{name: lambda text, other, name=name: getattr(text, name)(other) for name in (
        "find", "rfind", "count", "startswith", "endswith", "partition", "rpartition", "split", "strip",
    )},
    "words": lambda text, other: text.split(None, 1),
    "once": lambda text, other: text.split(other, 1),
    "replace": lambda text, other: text.replace(other, "xy"),
    "compare": lambda text, other: (text < other, text <= other, text > other, text >= other, text == other),
    "not equal": lambda text, other: text != other,
    "in": lambda text, other: (other in text, MARKS.contains(text[:1], "a-B"), MARKS.contains(text, {"a": 1, "1": 2})),
    "add": lambda text, other: (text + other, other + text, 2 * text),
    "join": lambda text, other: MARKS.join(text, [other, text, "z"]),
    "items": lambda text, other: [*text, *reversed(text), text[1:], text[::-1]],
    "int": lambda text, other: MARKS.call(int, text) if text.lstrip("-").isdigit() and "-" not in text[1:] else None,
    "codes": lambda text, other: [MARKS.call(chr, MARKS.call(ord, letter)) for letter in text],
    "looked up": lambda text, other: [MARKS.item({"a": 3, "B": 4, "1": 5}, one) for one in text if one in set("aB1")],
}  # fmt: skip
SIGNS = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "negative": operator.neg,
    "not": operator.not_,
    "and": operator.and_,
    "or": operator.or_,
    "if": lambda truth, yes, no: yes if truth else no,
}


def evaluated(term, values):
    """A term with values in the place of symbols."""
    if not isinstance(term, tuple):
        return term
    sign, *operands = term
    if sign == "symbol":
        return values[operands[0]]
    return SIGNS[sign](*(evaluated(operand, values) for operand in operands))


def deeply_plain(value):
    return type(value)(map(deeply_plain, value)) if isinstance(value, (list, tuple)) else plain(value)


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=25)
@given(TEXTS, SHORT)
def test_a_symbolic_text_does_what_a_plain_one_does_and_notes_what_is_true(name, value, other):
    path = SymbolicPath()
    text = text_of(path, value, [("symbol", f"t[{place}]", "int") for place in range(len(value))])
    assert deeply_plain(OPERATIONS[name](text, other)) == OPERATIONS[name](value, other)
    codes = {f"t[{place}]": ord(letter) for place, letter in enumerate(value)}
    assert all(evaluated(term, codes) is truth for term, truth in path.constraints)


@pytest.mark.parametrize("operation", ["upper", "split", "add", "join", "items", "replace", "strip", "looked up"])
def test_results_are_symbolic_where_their_characters_are_known(operation):
    path = SymbolicPath()
    text = text_of(path, "aB", [("symbol", "t[0]", "int"), ("symbol", "t[1]", "int")])
    found = OPERATIONS[operation](text, "-")
    first = found[0] if isinstance(found, (list, tuple)) else found
    codes = codes_of(first) if isinstance(first, str) else (first.term,)
    assert any(isinstance(code, tuple) for code in codes)


def test_a_solver_finds_the_character_that_a_lookup_needs():
    path = SymbolicPath()
    text = text_of(path, "a", [("symbol", "t[0]", "int")])
    prices = dict(zip(string.ascii_lowercase, range(26), strict=True))
    assert not MARKS.item(prices, text) > 20
    near = {"t[0]": ord("a")}
    *_, (_, values) = SmtSolver().alternatives(path.constraints, range(len(path.constraints)), near)
    assert chr(values["t[0]"]) in "vwxyz"
