"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable


def code(text: str) -> str:
    """As code, in a cell."""
    return f"`{text}`".replace("|", "\\|")


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """With a row of headings."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
