"""A failure group as it is shown."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

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

    def without(self, apart: Collection[str]) -> Group:
        """The same without some of its tests."""
        tests, covered, uncovered = (
            tuple(test for test in some if test not in apart) for some in (self.tests, self.covered, self.uncovered)
        )
        return replace(self, tests=tests, covered=covered, uncovered=uncovered)

    @classmethod
    def from_ranked(cls, one: RankedGroup) -> Group:
        """A group with texts that are safe to show."""
        group = one.group
        title, heading = plain(one.title, MAX_TEXT), plain(one.heading, MAX_TEXT)
        return cls(group.number, title, heading, one.sure, group.tests, group.covered, group.uncovered)
