"""Keeping a folder's guide current: made after each ranking, in the worker thread, and never in anybody's way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from suspectra.cancellation import Token
from suspectra_server.session.jobs import Jobs
from suspectra_server.state.navigation import Guide, Guides, Terms
from suspectra_server.state.ranking import Ranking
from suspectra_server.timing import NAVIGATION_DEBOUNCE_S

Answer = TypeVar("Answer")


class Position(Protocol):
    """A statement that the reader is on."""

    @property
    def ranking(self) -> Ranking:
        """Which gives the number its meaning."""

    @property
    def element(self) -> int:
        """Its number."""

    def now(self) -> Position | None:
        """The same statement in the present ranking; None where it is gone or was edited."""


class Guidance:
    """The guide of one workspace folder. All methods are called in the server's loop.

    Parameters
    ----------
    key : str
        What tells the folder's jobs from those of others.
    jobs : Jobs
    guides : Guides
    terms : callable
        What a guide would follow from now; None where there is no ranking.
    changed : callable
        Called when there is another guide.
    """

    def __init__(
        self, key: str, jobs: Jobs, guides: Guides, terms: Callable[[], Terms | None], changed: Callable[[], None]
    ):
        self._key = key
        self._jobs = jobs
        self._guides = guides
        self._terms = terms
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._guide: Guide | None = None
        self._here: Position | None = None
        self._waiting: set[asyncio.Future] = set()

    def guide_of(self, ranking: Ranking) -> Guide | None:
        """The guide of a ranking as far as it is known; it may not know yet what was examined just now."""
        made = self._guide
        return made if made and made.terms.ranking is ranking else None

    def hold(self) -> None:
        """Make way for a ranking."""
        self._wait_no_more()
        self._jobs.cancel(("guide", self._key))
        self._jobs.cancel(("steps", self._key))

    def renew(self, after: float = NAVIGATION_DEBOUNCE_S) -> None:
        """Make a new guide if anything it follows from has changed."""
        self._wait_no_more()
        if not self._closed:
            self._timer = self._loop.call_later(after, self._make)

    def stand(self, statement: Position | None) -> None:
        """The reader is on this statement."""
        self._here = statement
        guide = self._guide
        if guide is not None and guide.here != self._element_in(guide) and guide.terms == self._current_terms():
            self._take(guide)

    def follow(self) -> None:
        """There is another ranking: find in it where the reader is."""
        self._here = self._here.now() if self._here else None

    def close(self) -> None:
        """Stop everything for good; who still asks gets no answer."""
        self._closed = True
        self.hold()
        for answer in self._waiting:
            if not answer.done():
                answer.set_result(None)

    async def ask(
        self, ranking: Ranking, question: Callable[[Guide, Token], Answer], *, of_steps: bool = False
    ) -> Answer | None:
        """Have a question answered in the worker thread by the guide of a ranking.

        Another ranking may be the present one when the answer is there: element numbers in it are those of `ranking`.

        Parameters
        ----------
        ranking : Ranking
            Whose elements the question speaks of.
        question : callable
        of_steps : bool
            The answer needs expected steps. Any other question does not wait until these are known.

        Returns
        -------
        object
            None where that is not the present ranking any more, or the question failed.
        """
        terms = self._current_terms()
        if terms is None or terms.ranking is not ranking:
            return None
        answer: asyncio.Future = self._loop.create_future()

        def work(token: Token) -> tuple[Guide, Answer]:
            guide = self._guides.make(terms, token)
            return guide, question(guide, token)

        def done(result: object) -> None:
            self._waiting.discard(answer)
            failed = isinstance(result, Exception)
            if not answer.done():
                answer.set_result(None if failed else result[1])
            if not failed and result[0].terms == self._current_terms():
                self._take(result[0])

        self._waiting.add(answer)
        if not of_steps:
            self._jobs.cancel(("steps", self._key))
        self._jobs.submit(("ask", self._key, id(answer)), work, done)
        return await answer

    def _make(self) -> None:
        terms = self._current_terms()
        if terms is None or (self._guide is not None and self._guide.terms == terms):
            return
        self._jobs.submit(("guide", self._key), lambda token: self._guides.make(terms, token), self._made)

    def _made(self, guide: object) -> None:
        if isinstance(guide, Guide) and guide.terms == self._current_terms():
            self._take(guide)

    def _take(self, guide: Guide) -> None:
        """Use a guide, and have it work out the steps it does not know."""
        if self._guide is not None and self._guide.terms == guide.terms:
            guide = self._guide  # it may know more
        guide = guide.at(self._element_in(guide))
        if guide is not self._guide:
            self._guide = guide
            self._changed()
        if not guide.complete:
            self._jobs.submit(("steps", self._key), lambda token: self._guides.solve(guide, token), self._solved)

    def _solved(self, guide: object) -> None:
        if not isinstance(guide, Guide) or guide.terms != self._current_terms():
            return
        self._guide = guide
        self._changed()
        self._take(guide)  # the reader may have moved on meanwhile

    def _element_in(self, guide: Guide) -> int | None:
        """The element the reader is on, in the numbers of a guide."""
        here = self._here
        return here.element if here and here.ranking is guide.terms.ranking else None

    def _current_terms(self) -> Terms | None:
        return None if self._closed else self._terms()

    def _wait_no_more(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
