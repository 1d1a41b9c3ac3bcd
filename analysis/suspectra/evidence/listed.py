"""Lists of things in messages."""

from __future__ import annotations

from collections.abc import Sequence

_NAMED = 10  # the largest number of items that a message names


def listed(items: Sequence[object], noun: str) -> str:
    """Say how many items there are, and name the first ones."""
    names = ", ".join(str(item) for item in items[:_NAMED])
    more = f" and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
    return f"{len(items)} {noun}{'s' if len(items) != 1 else ''} ({names}{more})"
