"""The commands, as :data:`suspectra_server.protocol.COMMANDS` declares them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra.base.cancellation import Token
from suspectra.base.errors import UsageError
from suspectra.markov.learning import JumpHabit
from suspectra.output.pictures.chain import chance
from suspectra.techniques import make_technique, technique_infos
from suspectra_server import messages
from suspectra_server.features.commands.arguments import (
    checked,
    parse_fields,
    parse_jump_options,
    parse_location,
    parse_scope,
    parse_tests,
)
from suspectra_server.features.commands.debugging import DebugCommands
from suspectra_server.features.commands.named_places import Finder, Found, stop_at
from suspectra_server.features.commands.refusals import RequestFailed
from suspectra_server.features.distinctions import DistinctionText, tell_apart, why_not
from suspectra_server.features.locations import current_location, to_protocol
from suspectra_server.features.wording import as_markdown, as_text, headline
from suspectra_server.protocol import COMMANDS
from suspectra_server.session.folder import Folder
from suspectra_server.session.navigation.statement import RankedStatement
from suspectra_server.session.session import Session
from suspectra_server.session.tests.test_run import RequestedRun
from suspectra_server.session.trust import NotTrusted
from suspectra_server.settings import Settings
from suspectra_server.state.documents import Reading
from suspectra_server.state.navigation import NavigationModel
from suspectra_server.state.trail import Stop
from suspectra_server.text import plain
from suspectra_server.timing import STEPS_TIMEOUT_S

if TYPE_CHECKING:
    from suspectra.markov.move import Move

Offer = tuple["Move", RankedStatement, messages.CodeLocation]  # a move, and where it leads

MAX_CHOICES = 5  # in one question: some clients make each a button


class Commands(DebugCommands):
    """One method for each command."""

    def __init__(self, session: Session):
        super().__init__(session)
        self._find = Finder(session)

    def localize(self) -> None:
        """Read the evidence again and rank now."""
        self._session.rank()

    async def next_suspect(self, cursor: object = None) -> lsp.Location | None:
        """Go to the next suspect."""
        current = self._find.at_reader(cursor)
        if self._by_steps(current):
            return self._go_to(await self._fewest_steps(current), current)
        found = self._find.in_ranking(cursor, 1)
        self._learn(current, RankedStatement.for_mark(*found) if found else None, returns=True)
        return self._go_to(found, current)

    def previous_suspect(self, cursor: object = None) -> lsp.Location | None:
        """Go to the previous suspect."""
        current = self._find.at_reader(cursor)
        if self._by_steps(current):
            return self.back()
        found = self._find.in_ranking(cursor, -1)
        self._learn(current, RankedStatement.for_mark(*found) if found else None, returns=True)
        return self._go_to(found, current)

    def first_suspect(self) -> lsp.Location | None:
        """Go to the most suspicious line."""
        return self._go_to(next(iter(self._find.unexamined()), None))

    async def jump(self, cursor: object = None, options: object = None) -> messages.Jump | None:
        """List where to look next, and go there if a location is chosen."""
        to, ask, limit = parse_jump_options(options, ask=not self._session.supports_status)
        current = self._find.at_reader(cursor) or self._find.first()
        if current is None:
            if ask:
                self._session.answer("There are no suspects, so there is nowhere to jump to.")
            return None
        folder, ranking = current.folder, current.ranking
        found = await folder.navigation.ask(ranking, lambda navigation, _: _moves(current, navigation, limit))
        moves, reading = found or ([], None)
        if reading is not None:
            folder.sources.take(reading)
        targets = [(move, RankedStatement(folder, ranking, move.element)) for move in moves]
        offered = [(move, one, where) for move, one in targets if (where := to_protocol(self._session, one))]
        target = None
        if to is not None:
            target = self._find.statement_at(*to)
            if target is None:
                raise JsonRpcInvalidParams("there is no measured statement on that line")
        elif ask and offered:
            target = await self._ask_where(current, offered[:MAX_CHOICES])
        elif ask:
            self._session.answer("There is nowhere to go from here.")
        self._learn(current, target)
        return {
            "origin": to_protocol(self._session, current),
            "moves": [
                {**where, "probability": move.probability, "reasons": list(move.reasons)} for move, _, where in offered
            ],
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
        return None

    def explain(self, uri: object = None, line: object = None) -> messages.Explained | None:
        """Say why a line has its rank."""
        found = self._find.current() if uri is None else self._find.suspect_at(*parse_location(uri, line))
        if found is None:
            if not self._session.supports_status:
                self._session.answer("There is no suspect here." if uri else "There are no suspects.")
            return None
        folder, suspect, where = found
        if not self._session.supports_status:
            text = lsp.ShowMessageParams(lsp.MessageType.Info, as_text(folder.snapshot, suspect))
            self._session.window_show_message(text)
        return {"markdown": as_markdown(folder.snapshot, suspect), "location": where}

    async def why_not(self, uri: object = None, line: object = None) -> messages.Answer | None:
        """Compare a line with the first suspect."""
        found = self._find.statement_at(*parse_location(uri, line))
        if found is None:
            self._notify("Nothing is measured on this line.")
            return None
        element = found.element
        return self._answer(found, await found.folder.ask(lambda ranking: why_not(ranking, element)))

    async def tell_apart(self, uri: object = None, line: object = None) -> messages.Answer | None:
        """Say what would tell the lines of a tie apart."""
        found = self._find.first() if uri is None else self._find.statement_at(*parse_location(uri, line))
        if found is None or not found.ranking.ranked.spectrum.counts.ef[found.element] or found.suspect is None:
            self._notify("There is no suspect here." if uri else "There are no suspects.")
            return None
        element = None if uri is None else found.element
        return self._answer(found, await found.folder.ask(lambda ranking: tell_apart(ranking, element)))

    def _answer(self, statement: RankedStatement, answer: DistinctionText | None) -> messages.Answer | None:
        if answer is None:
            return None
        self._notify(answer.text)
        now = replace(statement, element=answer.element).now()
        return answer.to_protocol(current_location(self._session, now) if now else None)

    def _notify(self, text: str) -> None:
        if not self._session.supports_status:
            self._session.answer(text)

    def mark_examined(self, uri: object = None, line: object = None, scope: object = "line") -> bool:
        """Mark the suspect on a line, or its function, as examined."""
        whole = parse_scope(scope) == "function"
        found = self._find.marked(*parse_location(uri, line))
        if found is None:
            return False
        folder, element = found[0], found[1].suspect.element
        folder.exclude(folder.snapshot.ranking.with_function(element) if whole else [element], "examined")
        return True

    def mark_innocent(self, uri: object = None, line: object = None, scope: object = "line") -> bool:
        """Declare a statement, or its function, innocent."""
        whole = parse_scope(scope) == "function"
        found = self._find.statement_at(*parse_location(uri, line))
        if found is None or found.suspect is None:
            return False
        found.folder.exclude(found.ranking.with_function(found.element) if whole else [found.element], "innocent")
        return True

    def show_learned(self) -> messages.Learned:
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
        if not self._session.supports_status:
            self._session.answer(
                "What was learned from your moves is forgotten." if existed else "Nothing was learned yet."
            )
        return existed

    def clear_examined(self) -> None:
        """Show all examined and innocent suspects again."""
        for folder in self._session.folders:
            folder.clear_exclusions()

    async def select_technique(self, name: object = None, options: object = None) -> str | None:
        """Rank with another technique."""
        if name is None and (name := await self._ask_for_technique()) is None:
            return None
        clone = parse_fields(options).get("cloneFailed")
        if not isinstance(name, str) or not isinstance(clone, (bool, type(None))):
            raise JsonRpcInvalidParams("selectTechnique takes a name and {cloneFailed: boolean}")
        try:
            make_technique(name, clone_failed=bool(clone))
        except UsageError as error:
            raise JsonRpcInvalidParams(plain(str(error))) from None
        for folder in self._session.folders:
            folder.choose(name, clone)
        return name

    async def run_tests(self, uris: object = None, tests: object = None) -> bool:
        """Record all tests, or some, in each folder or in some."""
        if uris is not None and not (isinstance(uris, list) and all(isinstance(uri, str) for uri in uris)):
            raise JsonRpcInvalidParams("runTests takes a list of the URIs of workspace folders")
        await self._run_tests(
            [folder for folder in self._session.folders if uris is None or folder.uri in uris], parse_tests(tests)
        )
        return True

    async def _run_tests(
        self, folders: list[Folder], tests: Mapping[str, Sequence[str]], *, affected: bool | None = None
    ) -> RequestedRun:
        try:
            self._session.trust.require()
        except NotTrusted as error:
            raise RequestFailed(str(error)) from None
        if self._session.test_run.running and not self._session.test_run.on_save:
            raise RequestFailed("Tests are already running.")
        if not folders:
            opened = any(True for _ in self._session.folders)
            raise RequestFailed("None of these is a folder of the workspace." if opened else "No folder is open.")
        self._session.experiment_run.cancel()  # they would be about a run that is over
        return await self._session.test_run.start(folders, tests, affected=affected)

    def cancel_tests(self) -> bool:
        """Stop the tests that run."""
        running = self._session.test_run.running
        if running:
            self._session.test_run.cancel()
        return running

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

    async def _ask_where(self, current: RankedStatement, offered: list[Offer]) -> RankedStatement | None:
        """Let the user choose a move, in a client that has no list of its own."""
        titles = {
            plain(
                f"{where['file']}:{where['line']} · {chance(move.probability)} · {', '.join(move.reasons)}"
            ): statement
            for move, statement, where in offered
        }
        origin = to_protocol(self._session, current)
        text = f"Where to look next from {origin['file']}:{origin['line']}?" if origin else "Where to look next?"
        request = lsp.ShowMessageRequestParams(
            lsp.MessageType.Info, plain(text), [lsp.MessageActionItem(title) for title in titles]
        )
        answer = await self._session.window_show_message_request_async(request)
        return titles.get(answer.title) if answer else None

    def _learn(self, current: RankedStatement | None, target: RankedStatement | None, returns: bool = False) -> None:
        """Count a move, if the reader agreed to that: as a jump where it leads to a neighbour, not to the ranking."""
        current, target = current and current.now(), target and target.now()
        if current is None or target is None or not current.folder.settings.learn_jumps:
            return
        folder, element = current.folder, current.element
        last = self._session.trail.current
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
                await self._session.files.run(partial(self._session.learned.add, jumped))
            for one in self._session.folders:
                one.navigation.renew()

        self._session.keep_running(asyncio.ensure_future(learn()))

    # going there

    def _go_to(self, found: Found | None, current: RankedStatement | None = None) -> lsp.Location | None:
        if found is not None:
            return self._visit(RankedStatement.for_mark(*found), current)
        if not self._session.supports_status:
            done = any(folder.snapshot.marks for folder in self._session.folders)
            self._session.answer("No other suspect is left." if done else self._session.status()["message"])
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
        if self._session.can("window.show_document.support"):
            # nothing is selected, so that a key can't replace the statement
            start = location.range.start
            show = lsp.ShowDocumentParams(location.uri, take_focus=True, selection=lsp.Range(start, start))
            self._session.window_show_document(show)
        elif not self._session.supports_status:
            file, _ = statement.recorded_line
            suspect = statement.suspect
            why = f": {headline(statement.ranking, suspect)}" if suspect else ""
            self._session.answer(f"{file}:{location.range.start.line + 1}{why}")
        return location

    async def _ask_for_technique(self) -> str | None:
        """Let the user choose among the techniques with advice, in a client that has no list of its own."""
        choices = {f"{info.title} ({info.name})": info for info in technique_infos() if info.advice}
        request = lsp.ShowMessageRequestParams(
            lsp.MessageType.Info,
            "Rank the suspects with which technique?",
            [lsp.MessageActionItem(title) for title in choices],
        )
        answer = await self._session.window_show_message_request_async(request)
        info = choices.get(answer.title) if answer else None
        return info.name if info else None


def register(session: Session) -> None:
    """Register every declared command."""
    commands = Commands(session)
    for command in COMMANDS:
        method = getattr(commands, "".join(f"_{c.lower()}" if c.isupper() else c for c in command.name))
        session.command(command.id)(checked(method, len(command.arguments)))


def _moves(current: RankedStatement, navigation: NavigationModel, limit: int) -> tuple[list[Move], Reading] | None:
    """Where to look next, and the files of these locations; called in the worker thread."""
    if navigation.model is None:
        return None
    moves = navigation.model.next_moves(current.element, limit)
    ranking = current.ranking
    paths = {ranking.recorded_line(one)[0] for one in (current.element, *(move.element for move in moves))}
    return moves, current.folder.sources.read_in_worker(path for path in paths if path in ranking.files)
