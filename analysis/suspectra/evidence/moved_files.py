"""Which new files are old ones that were renamed or moved: their texts say so, whether or not git knows of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product

_ALIKE = 0.6  # the least share of lines that a file has in common with the one that it was
_MAX_PAIRS = 2_500  # of more, only equal texts are looked for


def moved_files(before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> dict[str, str]:
    """Find the old path of each file that was moved, by its new one: the most similar ones first, each once."""
    gone, new = _only_in(before, after), _only_in(after, before)
    if len(gone) * len(new) > _MAX_PAIRS:
        same = {text: old for old, text in sorted(gone.items(), reverse=True)}
        pairs = [(same[text], path) for path, text in new.items() if text in same]
    else:
        pairs = list(product(gone, new))
    lines = {path: _lines(text) for path, text in (*gone.items(), *new.items())}
    alike = {(old, path): _likeness(lines[old], lines[path]) for old, path in pairs}
    found: dict[str, str] = {}
    for old, path in sorted(pairs, key=lambda pair: (-alike[pair], _name(pair[0]) != _name(pair[1]), pair)):
        if alike[old, path] >= _ALIKE and path not in found and old not in found.values():
            found[path] = old
    return found


def _only_in(some: Mapping[str, bytes | None], others: Mapping[str, bytes | None]) -> dict[str, bytes]:
    """The files that say something and are in one state only."""
    return {path: text for path, text in some.items() if text is not None and text.strip() and others.get(path) is None}


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _lines(text: bytes) -> Counter[bytes]:
    return Counter(filter(None, map(bytes.strip, text.splitlines())))


def _likeness(one: Counter[bytes], other: Counter[bytes]) -> float:
    return 2 * (one & other).total() / (one.total() + other.total())
