"""Keeps the navigation model of a folder current: a worker thread makes it after each ranking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from suspectra.base.cancellation import Token
from suspectra_server.session.jobs import Jobs
from suspectra_server.state.navigation import NavigationBasis, NavigationModel, NavigationModels
from suspectra_server.state.ranking import Ranking
from suspectra_server.timing import NAVIGATION_DEBOUNCE_S

Answer = TypeVar("Answer")


class ReaderPosition(Protocol):
    """A statement that the reader is on."""

    @property
    def ranking(self) -> Ranking:
        """The ranking that numbers the elements."""

    @property
    def element(self) -> int:
        """Its number in that ranking."""

    def now(self) -> ReaderPosition | None:
        """The same statement in the present ranking; None where it is gone or was edited."""


class NavigationService:
    """The navigation model of one workspace folder. All methods are called in the server's loop."""

    def __init__(
        self,
        key: str,
        jobs: Jobs,
        navigation_models: NavigationModels,
        basis: Callable[[], NavigationBasis | None],
        changed: Callable[[], None],  # called when there is another navigation model
    ):
        self._key = key
        self._jobs = jobs
        self._models = navigation_models
        self._basis = basis
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._current_model: NavigationModel | None = None
        self._current: ReaderPosition | None = None
        self._waiting: set[asyncio.Future[Any]] = set()

    def model_for(self, ranking: Ranking) -> NavigationModel | None:
        """The newest navigation model of a ranking, if there is one; it may lack the latest exclusions."""
        made = self._current_model
        return made if made and made.basis.ranking is ranking else None

    def pause(self) -> None:
        """Stop all work, so that it does not delay a ranking."""
        self._cancel_timer()
        self._jobs.cancel(("navigation", self._key))
        self._jobs.cancel(("steps", self._key))

    def renew(self, after: float = NAVIGATION_DEBOUNCE_S) -> None:
        """Make a new navigation model if anything it is computed from has changed."""
        self._cancel_timer()
        if not self._closed:
            self._timer = self._loop.call_later(after, self._make)

    def move_to(self, statement: ReaderPosition | None) -> None:
        """Remember that the reader is on a statement."""
        self._current = statement
        navigation = self._current_model
        if (
            navigation is not None
            and navigation.current != self._element_in(navigation)
            and navigation.basis == self._current_basis()
        ):
            self._take(navigation)

    def follow(self) -> None:
        """Find the reader's statement in a new ranking."""
        self._current = self._current.now() if self._current else None

    def close(self) -> None:
        """Stop for good; pending questions are answered with None."""
        self._closed = True
        self.pause()
        for answer in self._waiting:
            if not answer.done():
                answer.set_result(None)

    async def ask(
        self, ranking: Ranking, question: Callable[[NavigationModel, Token], Answer], *, of_steps: bool = False
    ) -> Answer | None:
        """Answer a question from the navigation model of a ranking, in the worker thread.

        The present ranking may be another one when the answer arrives; element numbers in it are those of `ranking`.

        None if that is no longer the present ranking, or if the question failed.
        """
        basis = self._current_basis()
        if basis is None or basis.ranking is not ranking:
            return None
        answer: asyncio.Future[Answer | None] = self._loop.create_future()

        def work(token: Token) -> tuple[NavigationModel, Answer]:
            navigation = self._models.make(basis, token)
            return navigation, question(navigation, token)

        def done(result: tuple[NavigationModel, Answer] | Exception) -> None:
            self._waiting.discard(answer)
            navigation, found = (None, None) if isinstance(result, Exception) else result
            if not answer.done():
                answer.set_result(found)
            if navigation is not None and navigation.basis == self._current_basis():
                self._take(navigation)

        self._waiting.add(answer)
        if not of_steps:
            self._jobs.cancel(("steps", self._key))
        self._jobs.submit(("ask", self._key, id(answer)), work, done)
        return await answer

    def _make(self) -> None:
        basis = self._current_basis()
        if basis is None or (self._current_model is not None and self._current_model.basis == basis):
            return
        self._jobs.submit(("navigation", self._key), lambda token: self._models.make(basis, token), self._made)

    def _made(self, navigation: object) -> None:
        if isinstance(navigation, NavigationModel) and navigation.basis == self._current_basis():
            self._take(navigation)

    def _take(self, navigation: NavigationModel) -> None:
        """Use a navigation model, and compute the steps that it lacks."""
        if self._current_model is not None and self._current_model.basis == navigation.basis:
            navigation = self._current_model  # it may know more
        navigation = navigation.at(self._element_in(navigation))
        if navigation is not self._current_model:
            self._current_model = navigation
            self._changed()
        if not navigation.complete:
            self._jobs.submit(("steps", self._key), lambda token: self._models.solve(navigation, token), self._solved)

    def _solved(self, navigation: object) -> None:
        if not isinstance(navigation, NavigationModel) or navigation.basis != self._current_basis():
            return
        self._current_model = navigation
        self._changed()
        self._take(navigation)  # the reader may have moved on meanwhile

    def _element_in(self, navigation: NavigationModel) -> int | None:
        """The element that the reader is on, in the numbers of a navigation model."""
        current = self._current
        return current.element if current and current.ranking is navigation.basis.ranking else None

    def _current_basis(self) -> NavigationBasis | None:
        return None if self._closed else self._basis()

    def _cancel_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
