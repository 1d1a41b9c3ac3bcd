"""Delta debugging: a smallest part of some differences that makes a passing run fail (Zeller 2002)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import NamedTuple

Differences = frozenset[int]
"""Some of the differences between two runs, by their numbers."""


_FEW_PARTS = 8
"""If no part of so many tells more, the next ones are single differences: parts of several would cost as many runs."""


class ConfigurationVerdict(Enum):
    """How a run ends in which some differences are applied."""

    PASSES = "✔"
    FAILS = "✘"
    """In the same way as the failing run."""
    UNRESOLVED = "?"
    """Anything else."""


class Isolated(NamedTuple):
    """What delta debugging has found."""

    passing: Differences  # differences with which the run passes
    failing: Differences  # those and the cause: the run fails
    minimal: bool  # whether nothing can be left out of the cause; False where the search was ended

    @property
    def cause(self) -> Differences:
        """The differences that decide between passing and failing."""
        return self.failing - self.passing


def isolate(
    number: int,
    test: Callable[[Differences], ConfigurationVerdict],
    go_on: Callable[[], bool] = lambda: True,
    *,
    by_leaving_out: bool = False,  # first tries what is nearer to the failing run
    # some differences with those that they need, and some without others and those that need these
    with_needed: Callable[[Differences], Differences] = lambda some: some,
    without: Callable[[Differences, Differences], Differences] = lambda some, others: some - others,
) -> Isolated:
    """Narrow differences down to a cause from which nothing can be left out."""
    known = {frozenset[int](): ConfigurationVerdict.PASSES, frozenset(range(number)): ConfigurationVerdict.FAILS}

    def ask(some: Differences) -> ConfigurationVerdict | None:
        if some not in known:
            if not go_on():
                return None
            known[some] = test(some)
        return known[some]

    low, high, parts = frozenset[int](), frozenset(range(number)), 2
    while len(high - low) > 1:
        left = sorted(high - low)
        parts = min(parts, len(left))
        split = list(_split(left, parts))
        several = [some for part in split for some in (with_needed(low | part), without(high, part))]
        if by_leaving_out:
            several = [*several[1::2], *several[::2]]
        found = _step(low, high, [some for some in several if low < some < high], ask)
        if found is None:
            return Isolated(low, high, False)
        if found == (low, high):
            if parts == len(left):
                break
            parts = min(2 * parts, len(left)) if parts < _FEW_PARTS else len(left)
        else:
            low, high = found
            parts = 2 if len(high - low) <= len(left) // 2 else max(parts - 1, 2)
    return Isolated(low, high, True)


def _step(
    low: Differences,
    high: Differences,
    several: Iterable[Differences],
    ask: Callable[[Differences], ConfigurationVerdict | None],
) -> tuple[Differences, Differences] | None:
    """The next two sets; the same ones if none of several between them tells more, None if the search was ended."""
    for some in several:
        verdict = ask(some)
        if verdict is None:
            return None
        if verdict is ConfigurationVerdict.FAILS:
            return low, some
        if verdict is ConfigurationVerdict.PASSES:
            return some, high
    return low, high


def _split(some: Sequence[int], parts: int) -> Iterable[Differences]:
    size = len(some)
    for part in range(parts):
        yield frozenset(some[part * size // parts : (part + 1) * size // parts])
