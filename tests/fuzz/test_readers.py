"""Readers against what nobody wrote on purpose: the seeds as they are, and damaged at random.

`make fuzz` does the same for longer, led by coverage.
"""

import re
import tempfile
from pathlib import Path

import fuzz_targets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

NAMES = sorted(fuzz_targets.TARGETS)
TOKENS = [
    b"\0",
    b"\xff" * 4,
    b"\x7f\xff\xff\xff",
    b"-1",
    b"1e999",
    b"9" * 30,
    b"../",
    b"\x1b[2J",
    b"<",
    b'"',
    b"\n",
    b"[",
]
ABSOLUTE = re.compile(rb"(?<![\w.<:*/)-])/[A-Za-z][\w.-]*/[\w./-]+")
PIECE = st.one_of(st.binary(max_size=12), st.sampled_from(TOKENS))
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), PIECE), max_size=6)


def damaged(data, edits):
    """Pieces cut out and others put in, at shares of the length."""
    for share, cut, piece in edits:
        at = int(share * len(data))
        data = data[:at] + piece + data[at + cut :]
    return data


@pytest.mark.parametrize("name", NAMES)
def test_there_are_seeds_and_they_do_no_harm(name, tmp_path):
    found = fuzz_targets.seeds(name)
    assert found
    for number, data in enumerate(found):
        folder = tmp_path / str(number)
        folder.mkdir()
        fuzz_targets.run(name, data, folder)


def test_no_seeds_are_left_over():
    assert {path.name for path in fuzz_targets.CORPUS.iterdir()} == {*NAMES, "lsp"}
    assert sum(path.stat().st_size for path in fuzz_targets.CORPUS.rglob("*")) < 300_000


def test_seeds_do_not_tell_on_which_machine_they_were_made():
    """A seed that is made or found anew has its paths replaced by others of the same length, below /src."""
    reported = {
        (path.name, found)
        for path in fuzz_targets.CORPUS.rglob("*")
        if path.is_file()
        for found in ABSOLUTE.findall(path.read_bytes())
        if not found.startswith(b"/src/")
    }
    assert not reported


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_damage_is_read_or_refused_in_words(name, data):
    seed = data.draw(st.sampled_from([b"", *fuzz_targets.seeds(name)]))
    edits = data.draw(EDITS)
    with tempfile.TemporaryDirectory() as folder:
        fuzz_targets.run(name, damaged(seed, edits), Path(folder))
