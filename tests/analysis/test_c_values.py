"""Values of compiled programs: what the debug information says of variables, and the texts of values."""

from __future__ import annotations

import struct
import subprocess

import pytest

from suspectra.base.location import Location
from suspectra.c.paths.disassembly import Disassembly
from suspectra.c.paths.source_texts import SourceTexts
from suspectra.c.values.frames import CValueType, VariableKind, shown_text, variables_in
from suspectra.c.values.noting import VALUES

SOURCE = """\
enum kind { ONE, TWO };
struct item { int count; double rate; char name[8]; struct item *next; };
int doubled(const char *label, enum kind kind)
{
    struct item one = {1, 1.5, "abc", 0};
    for (unsigned char i = 0; i < 2; i++)
        one.count += label[i];
    return one.count + kind;
}

int main(void) { return doubled("x", TWO); }
"""


@pytest.fixture
def compiled(tmp_path, tool):
    tool("gcc", "gcc")
    (tmp_path / "a.c").write_text(SOURCE)
    flags = ["-O0", "-gdwarf-4", "-fno-omit-frame-pointer", "-fsanitize-coverage=trace-pc"]
    subprocess.run(["gcc", *flags, "-c", "a.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-c", str(VALUES.source), "-o", "recorder.o"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "a.o", "recorder.o", "-pthread", "-o", "a"], cwd=tmp_path, check=True)
    return str(tmp_path / "a")


def test_variables_and_members_have_places_in_the_frame(compiled):
    found = {one.name: one for one in variables_in(compiled)}
    kinds = {name: (one.type.kind, one.type.size, one.is_parameter) for name, one in found.items()}
    assert kinds == {
        "label": (VariableKind.POINTER_TO_TEXT, 8, True),
        "kind": (VariableKind.NUMBER, 4, True),
        "one.count": (VariableKind.NUMBER, 4, False),
        "one.rate": (VariableKind.NUMBER, 8, False),
        "one.name": (VariableKind.TEXT, 8, False),
        "one.next": (VariableKind.NUMBER, 8, False),
        "i": (VariableKind.NUMBER, 1, False),
    }
    assert found["one.rate"].place - found["one.count"].place == 8
    assert found["kind"].type.text(1) == "TWO"


def test_what_a_block_writes_is_known_with_its_lines(compiled):
    program = Disassembly.from_file(compiled)
    places = {one.place: one.name for one in variables_in(compiled)}
    written = [
        (places[store.place], store.line.line)
        for stores in program.stores.values()
        for store in stores
        if store.place in places
    ]
    assert {("one.count", 5), ("i", 6), ("one.count", 7)} <= set(written)


@pytest.mark.parametrize(
    ("kind", "bits", "shown"),
    [
        (CValueType(VariableKind.NUMBER, 4, 5), 0xFFFFFFFF, "-1"),
        (CValueType(VariableKind.NUMBER, 4, 7), 0xFFFFFFFF, "4294967295"),
        (CValueType(VariableKind.NUMBER, 1, 6, is_character=True), ord("x"), "'x'"),
        (CValueType(VariableKind.NUMBER, 1, 2), 1, "true"),
        (CValueType(VariableKind.NUMBER, 8, 4), int.from_bytes(struct.pack("<d", 849.15), "little"), "849.15"),
        (CValueType(VariableKind.NUMBER, 4, 4), int.from_bytes(struct.pack("<f", 0.1), "little"), "0.1"),
        (CValueType(VariableKind.NUMBER, 8), 0, "NULL"),
        (CValueType(VariableKind.NUMBER, 8), 0x7FFF1234, "not NULL"),
        (CValueType(VariableKind.NUMBER, 4, 5), 0xFEFEFEFE, ""),
    ],
)
def test_a_value_is_shown_as_its_type_says(kind, bits, shown):
    assert kind.text(bits) == shown


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"Ann\0\0", '"Ann"'),
        (b'a"b\n\0', '"a\\"b\\n"'),
        (b"\xfe\xfe\0", ""),
        (b"x" * 48, f'"{"x" * 48}…"'),
        (b"\0", '""'),
    ],
)
def test_a_text_is_shown_if_it_is_one(data, shown):
    assert shown_text(data) == shown


@pytest.mark.parametrize(
    ("line", "condition"),
    [
        ("    if (total > 100) {", "total > 100"),
        ("if (!strcmp(a, b)) run(a);", "!strcmp(a, b)"),
        ("for (int i = 0; i < n; i++)", "i < n"),
        ("while (a &&", "while (a &&"),
        ("x = a ? b : c;", "x = a ? b : c;"),
    ],
)
def test_the_condition_of_a_line_is_what_is_in_its_brackets(line, condition):
    assert SourceTexts(lambda path: line.encode()).condition(Location("a.c", 1, 1)) == condition
