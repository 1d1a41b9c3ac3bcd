"""Texts, positions and the lines between two versions of a file."""

import hashlib
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp
from pygls.workspace import PositionCodec

from suspectra.base.location import Location
from suspectra.base.visible import hidden
from suspectra.runs.measured_file import MeasuredFile
from suspectra_server.features.suspect_texts import json_number
from suspectra_server.positions import path_of
from suspectra_server.safe_text import code, markdown, plain
from suspectra_server.state.code_lines import code_lines
from suspectra_server.state.documents import Disk, Document, Placement, Texts, Units, moved_lines

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "    d"]), max_size=12)
TEXT = st.text(st.sampled_from("ab\n\r\x0c\u2028é😀"), max_size=30)


@given(LINES, LINES)
def test_moved_lines_are_the_same_lines_in_the_same_order(old, new):
    moved = moved_lines(old, new)
    kept = [(i, j) for i, j in enumerate(moved) if j >= 0]
    assert len(moved) == len(old)
    assert all(old[i] == new[j] for i, j in kept)
    assert [j for _, j in kept] == sorted({j for _, j in kept})


@given(LINES)
def test_a_text_that_did_not_change_moves_nothing(lines):
    assert moved_lines(lines, lines) == list(range(len(lines)))
    assert not Placement(lines, list(lines), "f.py").changed


@given(LINES, LINES, LINES)
def test_lines_around_an_insertion_move_with_it(head, inserted, tail):
    unique = [f"head {i} {line}" for i, line in enumerate(head)], [f"tail {i} {line}" for i, line in enumerate(tail)]
    moved = moved_lines([*unique[0], *unique[1]], [*unique[0], *inserted, *unique[1]])
    assert moved == [*range(len(head)), *range(len(head) + len(inserted), len(head) + len(inserted) + len(tail))]


def test_a_statement_is_placed_whole_or_not_at_all():
    run = ["x = [", "    1,", "]", "y = 2"]
    placement = Placement(run, ["# new", *run], "f.py")
    assert placement.current_lines(Location("f", 1, 3)) == (1, 3)
    assert placement.origin(0) is None
    assert placement.origin(4) == 4
    torn = Placement(run, ["x = [", "    1,", "    2,", "]", "y = 2"], "f.py")
    assert torn.current_lines(Location("f", 1, 3)) is None
    assert torn.current_lines(Location("f", 4, 4)) == (4, 4)
    assert torn.current_lines(Location("f", 99, 99)) is None


PYTHON = ["def f(a):", "    total = sum([", "        a,", "    ])", "    return total"]
C = ["int f(int a) {", "    int total = g(a,", "                  a);", "    return total;", "}"]


@pytest.mark.parametrize(
    ("path", "run", "now"),
    [
        ("f.py", PYTHON, [*PYTHON[:4], "    return total  # why"]),
        ("f.py", [*PYTHON[:4], "    return total  # why"], PYTHON),
        ("f.py", PYTHON, ["def f(a):", "    total = sum([  # all", "        # of", "        a,", "    ])", PYTHON[4]]),
        ("f.py", PYTHON, ["def f( a ):  ", "    total  =  sum([", "        a,   ", "    ])", "    return   total"]),
        (
            "f.c",
            C,
            ["int f(int a) {", "  int total = g(a, /* why */", "    // this", "    a);", " return total; // so", "}"],
        ),
        ("f.cpp", C, ["#include <new>", C[0], "", *C[1:]]),
    ],
)
def test_comments_and_white_space_are_not_edits(path, run, now):
    statements = [(2, 4), (5, 5)] if path.endswith("py") else [(2, 3), (4, 4)]
    for first, last in statements:
        placed = Placement(run, now, path).current_lines(Location(path, first, last))
        assert placed is not None
        parts = (code_lines(text[a : b + 1], path) for text, (a, b) in ((run, (first - 1, last - 1)), (now, placed)))
        one, other = (list(filter(None, part)) for part in parts)
        assert one == other


@pytest.mark.parametrize(
    ("path", "line", "now"),
    [
        ("f.py", "    return x", "    # return x"),
        ("f.py", "    return x", "return x"),
        ("f.py", "x = 'a'  # b", "x = 'a  # b'"),
        ("f.py", "x = 'a  b'", "x = 'a b'"),
        ("f.py", "return not x", "return notx"),
        ("f.c", "return x;", "// return x;"),
        ("f.c", 'x = "a // b";', 'x = "a // c";'),
        ("f.c", "x = a / *b;", "x = a /* b; */;"),
    ],
)
def test_other_code_is_an_edit(path, line, now):
    assert Placement([line], [now], path).current_lines(Location(path, 1, 1)) is None


@pytest.mark.parametrize("path", ["f.py", "f.c"])
@given(text=st.text(st.sampled_from("ab #/*\"'\\\n\t()R"), max_size=60))
def test_any_text_has_as_many_lines_of_code_as_lines(path, text):
    lines = text.split("\n")
    assert len(code_lines(lines, path)) == len(lines)


def test_huge_changes_are_compared_in_reasonable_time():
    old, new = ["same"] * 20_000, ["same", "other"] * 10_000
    assert len(moved_lines(old, new)) == 20_000


# documents


def reference(text, start, end, inserted):
    """What an edit does, found by splitting the text into lines first."""
    lines, line = [], ""
    i = 0
    while i < len(text):
        line += text[i]
        if text[i] == "\n" or (text[i] == "\r" and text[i + 1 : i + 2] != "\n"):
            lines.append(line)
            line = ""
        i += 1
    lines.append(line)

    def offset(position):
        if position[0] >= len(lines):
            return len(text)
        return sum(map(len, lines[: position[0]])) + min(position[1], len(lines[position[0]].rstrip("\r\n")))

    a, b = offset(start), offset(end)
    return text[:a] + inserted + text[max(a, b) :]


@given(
    TEXT,
    TEXT,
    st.tuples(st.integers(0, 6), st.integers(0, 8)),
    st.tuples(st.integers(0, 6), st.integers(0, 8)),
)
def test_an_edit_of_a_document_is_the_edit_of_its_text(text, inserted, start, end):
    codec = PositionCodec(lsp.PositionEncodingKind.Utf32)
    document = Document("file:///x.py", text, 1, position_codec=codec)
    where = lsp.Range(lsp.Position(*start), lsp.Position(*end))
    document.apply_change(lsp.TextDocumentContentChangePartial(where, inserted))
    assert document.source == reference(text, start, end, inserted)


@given(TEXT, st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_units_count_what_they_convert(text, encoding):
    units = Units.for_encoding(encoding)
    for column in range(len(text) + 1):
        assert units.code_points(text, units.count(text[:column])) == column
    assert units.code_points(text, 10**6) == len(text)
    assert units.code_points(text, -1) == 0


def test_lines_end_only_where_lsp_says():
    document = Document("file:///x.py", "a\x0cb\u2028c\r\nd\re\n", 1)
    assert list(document.lines) == ["a\x0cb\u2028c", "d", "e", ""]
    assert document.lines is document.lines


# texts


@pytest.fixture
def texts():
    return Texts()


@pytest.fixture
def load(texts, tmp_path):
    """Read a measured file, as a worker thread does, and have the loop take it."""
    disk = Disk(tmp_path)
    return lambda file: texts.take([file], disk.read([file.path]))


def measured(path, data, *, digest=""):
    none = np.zeros(0, np.int32)
    return MeasuredFile(path, hashlib.sha256(data).hexdigest() if digest == "" else digest, none, none, none, ())


def test_a_text_is_kept_from_the_moment_its_digest_fits(texts, load, tmp_path):
    (tmp_path / "a.py").write_bytes(b"x\n")
    file = measured("a.py", b"x\n")
    load(file)
    (tmp_path / "a.py").write_bytes(b"new\nx\n")
    load(file)
    assert texts.placement(file).current_lines(Location("a.py", 1, 1)) == (1, 1)
    # another run, of the new text: the old one is of no use once nothing is shown of it
    again = measured("a.py", b"new\nx\n")
    load(again)
    assert texts.placement(again).current_lines(Location("a.py", 1, 1)) == (0, 0)
    texts.forget_except([again])
    assert texts.placement(file) is None


def test_evidence_without_digests_is_taken_at_the_text_met_first(texts, load, tmp_path):
    (tmp_path / "a.py").write_bytes(b"x\n")
    file = measured("a.py", b"", digest=None)
    load(file)
    (tmp_path / "a.py").write_bytes(b"new\nx\n")
    load(file)
    assert texts.placement(file).current_lines(Location("a.py", 1, 1)) == (1, 1)


@pytest.mark.parametrize("path", ["../outside.py", "gone.py", "folder.py"])
def test_what_can_not_be_read_has_no_placement(texts, load, tmp_path, path):
    (tmp_path.parent / "outside.py").write_bytes(b"x\n")
    (tmp_path / "folder.py").mkdir()
    file = measured(path, b"x\n")
    load(file)
    assert texts.placement(file) is None


# text that is safe to show


@given(st.text() | st.text(st.sampled_from("ab`*_[]<>&\\~$| .,")))
def test_foreign_text_can_not_become_markup_or_control_anything(text):
    assert not any(map(hidden, re.sub("[\u2190-\u27bf\u2900-\u2bff\U0001f000-\U0001faff]\ufe0f", "", plain(text))))
    shown = code(text)
    fence = shown[: len(shown) - len(shown.lstrip("`"))]
    assert fence not in shown[len(fence) : -len(fence)].replace("`" * (len(fence) + 1), "")
    shown = markdown(text)
    outside = re.sub(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", shown)
    assert not set("`*_[]<>\\~$|") & set(outside)
    # nothing is added to it but marks of code
    assert re.sub("[` ]", "", shown) == re.sub("[` ]", "", plain(text))


def test_code_in_a_message_ends_where_its_brackets_and_quotes_do():
    assert (
        markdown('SIGABRT: trace_of(parse_text("1 2; 3 4")) == 5') == 'SIGABRT: `trace_of(parse_text("1 2; 3 4"))` == 5'
    )
    assert markdown('no end: a_b("1 2') == 'no end: `a_b("1` 2'


def test_infinite_scores_and_foreign_uris():
    assert json_number(float("-inf")) < -1e308
    assert json_number(0.5) == 0.5
    assert path_of("untitled:Untitled-1") is None
    assert path_of("file:///a%00b") is None
    assert path_of("not a uri") is None
