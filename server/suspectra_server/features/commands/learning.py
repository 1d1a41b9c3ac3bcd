"""What is learned from the moves of a reader who agrees to that: they are counted, shown and forgotten."""

from __future__ import annotations

import asyncio
from functools import partial

from suspectra.base.cancellation import Token
from suspectra.markov.learning import JumpHabit
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.messages import Learned
from suspectra_server.session.navigation.ranked_statement import RankedStatement
from suspectra_server.session.session import Session
from suspectra_server.settings import Settings
from suspectra_server.state.navigation import NavigationModel


class LearnCommands:
    """Showing and forgetting the counts."""

    def __init__(self, session: Session):
        self._session = session

    def handlers(self) -> Handlers:
        """By their names."""
        return {
            "showLearned": self.show_learned,
            "resetLearned": self.reset_learned,
        }

    def show_learned(self) -> Learned:
        """Say what was learned from the reader's moves."""
        settings = next((folder.settings for folder in self._session.folders), Settings())
        learned = self._session.learned
        habit, prior = learned.habit, settings.p_jump
        low, high = habit.interval(prior)
        if not self._session.supports_status:
            moves = f"{habit.jumps} of {habit.jumps + habit.returns} moves" if habit != JumpHabit() else "No moves"
            use = "" if settings.learn_jumps else " It is not used, as the setting learnJumps is off."
            self._session.answer(
                f"{moves} seen so far were jumps: the probability is {habit.estimate(prior):.2f}"
                f" ({low:.2f} to {high:.2f}).{use} The counts are in {learned.file}"
            )
        return {
            "consent": settings.learn_jumps,
            "jumps": habit.jumps,
            "returns": habit.returns,
            "pJump": habit.estimate(prior),
            "low": low,
            "high": high,
            "file": str(learned.file),
        }

    async def reset_learned(self) -> bool:
        """Delete what was learned."""
        existed = await self._session.files.run(self._session.learned.reset)
        for folder in self._session.folders:
            folder.navigation.renew(after=0)
        self._session.notify(
            "What was learned from your moves is forgotten." if existed else "Nothing was learned yet."
        )
        return existed


def count_move(
    session: Session, current: RankedStatement | None, target: RankedStatement | None, *, returns: bool = False
) -> None:
    """Count a move, if the reader agreed to that: as a jump where it leads to a neighbour, not to the ranking."""
    current, target = current and current.now(), target and target.now()
    if current is None or target is None or not current.folder.settings.learn_jumps:
        return
    folder, element = current.folder, current.element
    last = session.trail.current
    visited = folder.element_of(last.line) if last and last.folder == folder.uri else None

    def count(navigation: NavigationModel, token: Token) -> list[bool]:
        model = navigation.model
        if model is None:
            return []
        # a reader who is not where they were led has moved there without a command
        by_hand = visited is not None and visited != element and model.is_neighbour(visited, element)
        moves = [True] if by_hand else []
        if model.has_neighbours(element):
            near = target.folder is folder and model.is_neighbour(element, target.element)
            moves.append(not returns and near)
        return moves

    async def learn() -> None:
        for jumped in await folder.navigation.ask(current.ranking, count) or []:
            await session.files.run(partial(session.learned.add, jumped))
        for one in session.folders:
            one.navigation.renew()

    session.keep_running(asyncio.ensure_future(learn()))
