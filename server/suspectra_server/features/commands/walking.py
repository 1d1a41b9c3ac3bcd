"""The commands that lead a reader from one statement to another, and back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra.output.pictures.chain import chance
from suspectra_server.features.commands.arguments import parse_jump_options
from suspectra_server.features.commands.finder import Finder, Found, stop_at
from suspectra_server.features.commands.learning import count_move
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.features.locations import current_location, open_at, to_protocol
from suspectra_server.features.suspect_texts import one_line
from suspectra_server.messages import CodeLocation, Jump, PlannedPlace, ReadingOrder
from suspectra_server.safe_text import plain
from suspectra_server.session.navigation.ranked_statement import RankedStatement
from suspectra_server.session.session import Session
from suspectra_server.state.documents import Reading
from suspectra_server.state.navigation import NavigationModel
from suspectra_server.state.trail import Stop
from suspectra_server.timing import STEPS_TIMEOUT_S

if TYPE_CHECKING:
    from suspectra.markov.move import Move

Offer = tuple["Move", RankedStatement, CodeLocation]  # a move, and where it leads

MAX_CHOICES = 5  # in one question: some clients make each a button
MAX_RANKINGS = 3  # how many rankings are asked for one answer: the first one of all tests is soon replaced by a group's


class WalkCommands:
    """Steps along the ranking or the expected steps, jumps, and the way back."""

    def __init__(self, session: Session, find: Finder):
        self._session = session
        self._find = find

    def handlers(self) -> Handlers:
        """By their names."""
        return {
            "nextSuspect": self.next_suspect,
            "previousSuspect": self.previous_suspect,
            "firstSuspect": self.first_suspect,
            "jump": self.jump,
            "back": self.back,
        }

    async def next_suspect(self, cursor: object = None) -> lsp.Location | None:
        """Go to the next suspect."""
        current = self._find.at_reader(cursor)
        if self._by_steps(current):
            return self._go_to(await self._fewest_steps(current), current)
        found = self._find.in_ranking(cursor, 1)
        count_move(self._session, current, RankedStatement.for_mark(*found) if found else None, returns=True)
        return self._go_to(found, current)

    def previous_suspect(self, cursor: object = None) -> lsp.Location | None:
        """Go to the previous suspect."""
        current = self._find.at_reader(cursor)
        if self._by_steps(current):
            return self.back()
        found = self._find.in_ranking(cursor, -1)
        count_move(self._session, current, RankedStatement.for_mark(*found) if found else None, returns=True)
        return self._go_to(found, current)

    def first_suspect(self) -> lsp.Location | None:
        """Go to the most suspicious line."""
        return self._go_to(next(iter(self._find.unexamined()), None))

    async def jump(self, cursor: object = None, options: object = None) -> Jump | None:
        """List where to look next, and go there if a location is chosen."""
        to, ask, limit = parse_jump_options(options, ask=not self._session.supports_status)
        current = self._find.at_reader(cursor) or self._find.first()
        if current is None:
            if ask:
                self._session.answer("There are no suspects, so there is nowhere to jump to.")
            return None
        current, found = await self._ways_from(current, limit)
        folder, ranking = current.folder, current.ranking
        moves, plan, reading = found or ([], None, None)
        if reading is not None:
            folder.sources.take(reading)
        targets = [(move, RankedStatement(folder, ranking, move.element)) for move in moves]
        offered = [(move, one, where) for move, one in targets if (where := to_protocol(self._session, one))]
        order = self._order(current, plan)
        target = None
        if to is not None:
            target = self._find.statement_at(*to)
            if target is None:
                raise JsonRpcInvalidParams("there is no measured statement on that line")
        elif ask and offered:
            target = await self._ask_where(current, offered[:MAX_CHOICES], order)
        elif ask:
            self._session.answer("There is nowhere to go from here.")
        count_move(self._session, current, target)
        return {
            "origin": to_protocol(self._session, current),
            "moves": [
                {**where, "probability": move.probability, "reasons": list(move.reasons)} for move, _, where in offered
            ],
            "plan": order,
            "chosen": self._visit(target, current) if target else None,
        }

    def back(self) -> lsp.Location | None:
        """Go back to where the reader came from."""
        trail = self._session.trail
        while stop := trail.back():
            folder = self._session.folders.get(stop.folder)
            statement = RankedStatement.for_line(folder, stop.line) if folder else None
            if folder and statement and (location := current_location(self._session, statement)):
                folder.navigation.move_to(statement)
                return self._show(statement, location)
        self._session.notify("This is where you began.")
        return None

    # what comes next

    def _by_steps(self, current: RankedStatement | None) -> bool:
        """Whether the order is that of expected steps."""
        folder = current.folder if current else next(iter(self._session.folders), None)
        return folder is not None and folder.settings.order == "steps"

    async def _fewest_steps(self, current: RankedStatement | None) -> Found | None:
        """The suspect with the fewest expected steps from the current statement that was not visited on this walk."""
        steps = await self._steps_from(current) if current else None
        # nothing is awaited from this line on, so all that follows is of the present ranking
        now = current.now() if current else None
        if current is not now:
            steps = None  # they are in the element numbers of the previous ranking
        trail = self._session.trail
        found = [one for one in self._find.unexamined() if now is None or RankedStatement.for_mark(*one) != now]
        left = [one for one in found if not trail.saw(stop_at(one))]
        if not left:
            trail.begin_again()
            left = found
        if now is None:
            return next(iter(left), None)

        def near(one: Found) -> tuple[bool, float]:
            if one[0] is not now.folder or steps is None:
                return True, 0.0
            return False, float(steps[one[1].suspect.element])

        return min(left, key=near, default=None)

    async def _steps_from(self, current: RankedStatement) -> np.ndarray | None:
        """Expected steps from a statement to every other, in the numbers of its ranking."""
        asked = current.folder.navigation.ask(
            current.ranking, lambda navigation, token: navigation.steps_from(current.element, token), of_steps=True
        )
        try:
            return await asyncio.wait_for(asked, STEPS_TIMEOUT_S)
        except asyncio.TimeoutError:
            return None

    async def _ways_from(self, current: RankedStatement, limit: int) -> tuple[RankedStatement, _Ways | None]:
        """Where to look next from a statement, by the ranking that is present when that is known.

        If rankings come faster than answers, by one of the last ones.
        """
        for _ in range(MAX_RANKINGS):
            asked = current
            ways = await asked.folder.navigation.ask(
                asked.ranking,
                lambda navigation, _: _moves(asked, navigation, limit),  # noqa: B023  # it is awaited
            )
            if (current := asked.now() or asked).ranking is asked.ranking:
                break
        return asked, ways

    def _order(self, current: RankedStatement, plan: _Plan | None) -> ReadingOrder | None:
        """The places of a plan that are in the present text."""
        if plan is None:
            return None
        targets = [(RankedStatement(current.folder, current.ranking, one), reasons) for one, reasons in plan.places]
        places: list[PlannedPlace] = [
            {**where, "reasons": list(reasons)}
            for one, reasons in targets
            if (where := to_protocol(self._session, one))
        ]
        return {"places": places, "saved": plan.saved} if places else None

    async def _ask_where(
        self, current: RankedStatement, offered: list[Offer], order: ReadingOrder | None
    ) -> RankedStatement | None:
        """Let the user choose a move, in a client that has no list of its own."""
        titles = {
            plain(
                f"{where['file']}:{where['line']} · {chance(move.probability)} · {', '.join(move.reasons)}"
            ): statement
            for move, statement, where in offered
        }
        origin = to_protocol(self._session, current)
        text = f"Where to look next from {origin['file']}:{origin['line']}?" if origin else "Where to look next?"
        if order:
            lines = ", ".join(f"{one['file']}:{one['line']}" for one in order["places"][:MAX_CHOICES])
            text += f" To find the fault soon: {lines}. {order['saved']}."
        request = lsp.ShowMessageRequestParams(
            lsp.MessageType.Info, plain(text), [lsp.MessageActionItem(title) for title in titles]
        )
        answer = await self._session.window_show_message_request_async(request)
        return titles.get(answer.title) if answer else None

    # going there

    def _go_to(self, found: Found | None, current: RankedStatement | None = None) -> lsp.Location | None:
        if found is not None:
            return self._visit(RankedStatement.for_mark(*found), current)
        done = any(folder.snapshot.marks for folder in self._session.folders)
        self._session.notify("No other suspect is left." if done else self._session.status()["message"])
        return None

    def _visit(self, target: RankedStatement, current: RankedStatement | None) -> lsp.Location | None:
        """Go to a statement, and remember where the reader came from."""
        to, from_ = target.now(), current and current.now()
        if to is None or (location := current_location(self._session, to)) is None:
            return None
        origin = Stop(from_.folder.uri, from_.recorded_line) if from_ else None
        self._session.trail.go(Stop(to.folder.uri, to.recorded_line), origin)
        to.folder.navigation.move_to(to)
        return self._show(to, location)

    def _show(self, statement: RankedStatement, location: lsp.Location) -> lsp.Location:
        if not open_at(self._session, location):
            file, _ = statement.recorded_line
            suspect = statement.suspect
            why = f": {one_line(statement.ranking, suspect)}" if suspect and suspect.ef else ""
            self._session.notify(f"{file}:{location.range.start.line + 1}{why}")
        return location


class _Plan(NamedTuple):
    """The first elements of the order that leads to the fault soon, each with its reasons, and what that saves."""

    places: list[tuple[int, tuple[str, ...]]]
    saved: str


_Ways = tuple[list["Move"], _Plan, "Reading"]
"""Where to look next: the likeliest moves, the order that leads to the fault soon, and the files of both."""


def _moves(current: RankedStatement, navigation: NavigationModel, limit: int) -> _Ways | None:
    """Where to look next, and the files of these locations; called in the worker thread."""
    model = navigation.model
    if model is None:
        return None
    moves, plan = model.next_moves(current.element, limit), model.plan(current.element)
    order = plan.order[:limit].tolist()
    before = [current.element, *order]
    places = [(one, model.reasons(last, one)) for last, one in zip(before, order, strict=False)]
    ranking = current.ranking
    elements = current.element, *(move.element for move in moves), *order
    paths = {ranking.recorded_line(one)[0] for one in elements}
    reading = current.folder.sources.read_in_worker(path for path in paths if path in ranking.files)
    return moves, _Plan(places, plan.words), reading
