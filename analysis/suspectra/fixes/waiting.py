"""What waits for its turn in a search: drafts of candidates, and what makes more of them when that may be the next."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from itertools import count

from suspectra.fixes.candidate import Candidate
from suspectra.fixes.candidates import Stage
from suspectra.fixes.results import Alike

MAX_WAITING = 200_000
"""Drafts that wait at a time: more than are run in minutes, and each takes half a kilobyte."""


class WaitingCandidates:
    """The cheapest first."""

    def __init__(self) -> None:
        self.cost = 0.0  # of what was taken last
        self.forgot = False  # whether there were too many
        self._heap: list[tuple[float, int, Callable[[], Candidate | Alike | None]]] = []
        self._numbers = count()
        self._seen: set[object] = set()

    def put(self, cost: float, make: Callable[[], Candidate | Alike | None]) -> None:
        """Add something that costs as much as this, or that makes what does."""
        heapq.heappush(self._heap, (cost, next(self._numbers), make))
        if len(self._heap) > MAX_WAITING:
            self._heap = heapq.nsmallest(MAX_WAITING // 2, self._heap)  # which is a heap, too
            self.forgot = True

    def put_drafts(self, more: float, stage: Stage, *, costs: bool = True) -> None:
        """Add what a template makes, which costs so much more here."""
        for draft in stage.drafts():
            self.put(more + draft.cost if costs else more, draft.write)

    def put_again(self, more: float, alike: Alike) -> None:
        """Let candidates whose results are known wait longer."""
        self.put(self.cost + more, lambda: alike)

    def take(self, most: int, end: float) -> list[Candidate | Alike]:
        """The next ones, as far as there is time."""
        taken: list[Candidate | Alike] = []
        while self._heap and len(taken) < most and time.monotonic() < end:
            cost, _, make = heapq.heappop(self._heap)
            one = make()
            if one is None:
                continue
            if isinstance(one, Candidate):
                if one.key in self._seen or one.is_roundabout:
                    continue
                self._seen.add(one.key)
            self.cost = cost
            taken.append(one)
        return taken
