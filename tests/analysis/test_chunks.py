"""Sequences in chunks: they read like tuples, and what two of them share is left out of comparisons rightly."""

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.spectrum.changes import appended_to, row_changes
from suspectra.spectrum.chunks import Chunks, PerChunk, are_same, chosen, unshared


class Item:
    """Equal to all others, so that only identity tells them apart."""

    def __eq__(self, other):
        return isinstance(other, Item)

    def __hash__(self):
        return 0


@st.composite
def histories(draw):
    """A sequence in small chunks, and what became of it by a few removals and additions, with the tuples of both."""
    sizes = draw(st.lists(st.integers(0, 3), max_size=5))
    before = Chunks([tuple(Item() for _ in range(size)) for size in sizes])
    after, plain = before, tuple(before)
    for _ in range(draw(st.integers(0, 3))):
        places = sorted(draw(st.sets(st.integers(0, len(plain) - 1), max_size=3))) if plain else []
        more = [Item() for _ in range(draw(st.integers(0, 3)))]
        after = after.without(places).with_more(more)
        plain = (*(item for place, item in enumerate(plain) if place not in places), *more)
    return before, after, plain


def same(one, other):
    return [*map(id, one)] == [*map(id, other)]


@given(histories(), st.data())
def test_it_reads_like_a_tuple(history, data):
    _, after, plain = history
    assert same(after, plain)
    assert len(after) == len(plain)
    assert same([after[place] for place in range(-len(plain), len(plain))], [*plain, *plain])
    part = data.draw(st.slices(len(plain)))
    assert same(after[part], plain[part])
    for place in (len(plain), -len(plain) - 1):
        with pytest.raises(IndexError):
            after[place]
    wanted = np.array(data.draw(st.lists(st.booleans(), min_size=len(plain), max_size=len(plain))), bool)
    assert same(chosen(after, wanted), chosen(plain, wanted))


@given(histories())
def test_what_was_removed_is_found_as_without_chunks(history):
    before, after, _ = history
    assert appended_to(before, after) == appended_to(tuple(before), tuple(after))


@given(histories(), st.randoms())
def test_any_other_change_is_found_too(history, random):
    before, after, _ = history
    mixed = [*before, *after]
    random.shuffle(mixed)
    other = Chunks([*after.chunks[: random.randint(0, 3)], tuple(mixed), *after.chunks[3:]])
    removed = appended_to(before, other)
    if removed is not None:
        left = [item for place, item in enumerate(before) if place not in removed]
        assert same(left, other[: len(left)])
    assert are_same(before, other) == same(before, other)
    assert are_same(before, after) == same(before, after)


@given(histories(), st.data())
def test_removed_and_added_rows_make_one_state_of_the_other(history, data):
    def marked(items, failed):
        return Counter(zip(map(id, items), failed.tolist(), strict=True))

    before, after, _ = history
    outcomes = [
        np.array(data.draw(st.lists(st.booleans(), min_size=len(items), max_size=len(items))), bool)
        for items in (before, after)
    ]
    removed, added = (
        Counter((id(row), bad) for row, bad in rows) for rows in row_changes(before, outcomes[0], after, outcomes[1])
    )
    then, now = marked(before, outcomes[0]), marked(after, outcomes[1])
    assert not removed - then
    assert then - removed + added == now


def test_a_change_of_one_item_leaves_the_other_chunks_shared():
    before = Chunks.from_items(range(10_000))
    after = before.without([5_000]).with_more([10_000])
    then, now = unshared(before, after)
    assert len(then.places) < 300
    assert set(then.items) - set(now.items) == {5_000}
    assert set(now.items) - set(then.items) == {10_000}


def test_chunks_that_have_become_empty_are_not_kept_for_ever():
    items = Chunks.from_items(range(1_000))
    for number in range(1_000, 20_000):
        items = items.without([0]).with_more([number])
    assert list(items) == list(range(19_000, 20_000))
    assert len(items.chunks) < 50


def test_sequences_with_equal_items_are_equal():
    items = Chunks([(1, 2), (3,)])
    assert items == (1, 2, 3) == Chunks([(1,), (2, 3)])
    assert hash(items) == hash((1, 2, 3))
    for other in ((1, 2), [1, 2, 3], Chunks([(1, 2), (4,)])):
        assert items != other
    assert pickle.loads(pickle.dumps(items)) == items
    assert (3 in items, items.index(3), [*reversed(items)]) == (True, 2, [3, 2, 1])


@given(histories())
def test_only_new_chunks_are_asked_again(history):
    before, after, plain = history
    asked = []
    per_chunk = PerChunk(lambda items: asked.append(items) or [*items])
    assert same([item for part in per_chunk(before) for item in part], before)
    asked.clear()
    assert same([item for part in per_chunk(after) for item in part], plain)
    assert not {*map(id, asked)} & {*map(id, before.chunks)}
    assert per_chunk(plain) == [[*plain]]
