"""A failure group as it is shown."""

from __future__ import annotations

from dataclasses import dataclass

from suspectra.failure_groups.ranking import RankedGroup
from suspectra_server.safe_text import MAX_TEXT, plain


@dataclass(frozen=True)
class Group:
    """A failure group as it is shown."""

    number: int  # it stays over re-runs
    title: str  # the exception and a place
    heading: str  # the same with a sign and the number of tests
    sure: bool  # False for compiled programs, and where a test has a much better explanation of its own
    tests: tuple[str, ...]  # its failing tests
    covered: tuple[str, ...]  # those of them that say what it is about, in the same order
    uncovered: tuple[str, ...] = ()  # those of them that executed nothing that may be a suspect

    @classmethod
    def from_ranked(cls, one: RankedGroup) -> Group:
        """A group with texts that are safe to show."""
        group = one.group
        title, heading = plain(one.title, MAX_TEXT), plain(one.heading, MAX_TEXT)
        return cls(group.number, title, heading, one.sure, group.tests, group.covered, group.uncovered)
