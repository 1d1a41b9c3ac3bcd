"""The statements of a recorded file, found again in another text of it."""

import dataclasses
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.cli.main import run
from suspectra.evidence.recording.recorded_file import RecordedFile

OLD = """\
import math


def area(radius):
    squared = radius * radius
    return math.pi * squared


def circumference(
    radius,
):
    return (
        2
        * math.pi
        * radius
    )
"""
STATEMENTS = st.lists(
    st.sampled_from(["a = 1", "b = a", "c = b + a", "print(c)", "d = [a, b]", "# nothing"]), max_size=12
)


def found(old: str, new: str) -> dict[int, int]:
    """The lines of the old text that were found, each with its line in the new one."""
    lines = RecordedFile.from_text("m.py", old.encode()).lines_in(new.encode())
    assert lines is not None
    return {line: int(there) for line, there in enumerate(lines) if there}


def test_statements_are_found_where_they_moved_to_and_in_another_layout():
    assert set(found(OLD, OLD)) == {1, 4, 5, 6, 9, 10, 11, *range(12, 17)}  # a definition with its parameters
    assert found(OLD, f"# a comment\n{OLD}") == {line: line + 1 for line in found(OLD, OLD)}
    # where a statement takes fewer lines, its first one is found
    short = OLD.replace("(\n        2\n        * math.pi\n        * radius\n    )", "2 * math.pi * radius")
    assert set(found(OLD, OLD)) - set(found(OLD, short)) == {13, 14, 15, 16}


def test_an_edited_statement_is_not_found_and_the_others_are():
    edited = OLD.replace("radius * radius", "radius ** 2")
    assert set(found(OLD, OLD)) - set(found(OLD, edited)) == {5}


def test_a_text_that_is_no_python_has_none():
    file = RecordedFile.from_text("m.py", OLD.encode())
    assert file.lines_in(b"def (") is None
    assert file.lines_in(b"\0") is None
    assert file.lines_in(b"(" * 5000) is None


def test_a_recording_with_impossible_lines_takes_no_memory():
    file = RecordedFile.from_text("m.py", OLD.encode())
    far = dataclasses.replace(file, end_line=np.append(file.end_line[:-1], 2**31 - 1).astype(np.int32))
    assert far.lines_in(OLD.encode()) is None


@given(STATEMENTS, STATEMENTS)
def test_a_line_is_found_only_with_the_same_text_and_in_the_same_order(old, new):
    pairs = found("\n".join(old), "\n".join(new))
    assert all(old[line - 1] == new[there - 1] for line, there in pairs.items())
    assert sorted(pairs.values()) == list(pairs.values())
    kept = found("\n".join(old), "\n".join(old))
    assert kept == {line: line for line, text in enumerate(old, 1) if not text.startswith("#")}


@pytest.fixture
def edited(recorded_ledger, tmp_path):
    """A recorded project, with one suspect edited and the others moved."""
    folder = tmp_path / "ledger"
    shutil.copytree(recorded_ledger, folder)
    tax = folder / "src/ledger/tax.py"
    text = tax.read_text()
    assert text.count("whole = sum(days)") == 1
    tax.write_text("# moved\n" + text.replace("whole = sum(days)", "whole = sum(days) + 1"))
    return folder


@pytest.mark.parametrize("form", ["table", "markdown", "agent"])
def test_a_line_is_shown_as_it_is_now_and_not_at_all_where_it_was_edited(edited, capsys, monkeypatch, form):
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["rank", "--workspace", str(edited), "--lines", "--format", form]) == 0
    out, err = capsys.readouterr()
    assert "ends = [*starts[1:], last]" in out
    assert "whole = sum" not in out
    assert "tax.py:61" in out or form == "agent"  # which lists functions with two lines of each
    assert err.count("src/ledger/tax.py: it was changed after the tests ran, so line numbers may be off") == 1


def test_other_commands_show_no_wrong_line_either(edited, capsys):
    for place, source in (("src/ledger/tax.py:59", "ends = [*starts[1:], last]"), ("src/ledger/tax.py:61", "")):
        assert run(["explain", "--workspace", str(edited), place]) == 0
        assert capsys.readouterr().out.splitlines()[1].strip() == source
        assert run(["markov", "--workspace", str(edited), place]) == 0
        assert capsys.readouterr().out.splitlines()[1].strip() == source


def test_of_many_changed_files_the_first_is_named_with_their_number(recorded_ledger, tmp_path, capsys):
    folder = tmp_path / "ledger"
    shutil.copytree(recorded_ledger, folder)
    for file in (folder / "src" / "ledger").glob("*.py"):
        file.write_text(f"# new\n{file.read_text()}")
    assert run(["rank", "--workspace", str(folder)]) == 0
    err = capsys.readouterr().err
    assert err.count("after the tests ran") == 1
    assert "more files were changed after the tests ran" in err
