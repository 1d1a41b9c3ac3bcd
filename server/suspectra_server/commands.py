"""The commands, as :data:`suspectra_server.protocol.COMMANDS` declares them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from suspectra.errors import UsageError
from suspectra.techniques import make_technique, technique_infos
from suspectra_server.convert import plain, range_of, whole_line
from suspectra_server.features.wording import as_markdown, as_text, headline
from suspectra_server.protocol import COMMANDS
from suspectra_server.snapshot import Mark

if TYPE_CHECKING:
    from suspectra.report import Suspect
    from suspectra_server.server import SuspectraServer
    from suspectra_server.workspace import Folder

Found = tuple["Folder", Mark]


class RequestFailed(JsonRpcException):
    """A request that was understood and can't be done (LSP's RequestFailed)."""

    CODE = -32803


class Commands:
    """One method for each command; arguments are checked here, since clients bind them to keys by hand."""

    def __init__(self, server: SuspectraServer):
        self._server = server

    def localize(self) -> None:
        """Read the evidence again and rank now."""
        self._server.rank()

    def next_suspect(self, cursor: Any = None) -> lsp.Location | None:
        """Go to the next suspect."""
        return self._step(cursor, 1)

    def previous_suspect(self, cursor: Any = None) -> lsp.Location | None:
        """Go to the previous suspect."""
        return self._step(cursor, -1)

    def first_suspect(self, cursor: Any = None) -> lsp.Location | None:
        """Go to the most suspicious line."""
        return self._go_to(next(iter(self._unexamined()), None))

    def explain(self, uri: Any = None, line: Any = None) -> dict[str, Any] | None:
        """Say why a line stands where it stands."""
        found = self._current() if uri is None else self._suspect_at(*_place(uri, line))
        if found is None:
            if not self._server.takes_status:
                self._server.answer("There is no suspect here." if uri else "There are no suspects.")
            return None
        folder, suspect, where = found
        ranking = folder.snapshot.ranking
        if not self._server.takes_status:
            text = lsp.ShowMessageParams(lsp.MessageType.Info, as_text(ranking, suspect))
            self._server.window_show_message(text)
        return {"markdown": as_markdown(ranking, suspect), "location": where}

    def mark_examined(self, uri: Any = None, line: Any = None) -> bool:
        """Take the suspect on a line off the marks."""
        found = self._marked(*_place(uri, line))
        if found is None:
            return False
        found[0].examine(found[1])
        return True

    def clear_examined(self) -> None:
        """Bring all examined suspects back."""
        for folder in self._server.folders:
            folder.clear_examined()

    async def select_technique(self, name: Any = None, options: Any = None) -> str | None:
        """Rank with another technique."""
        if name is None and (name := await self._ask_for_technique()) is None:
            return None
        clone = options.get("cloneFailed") if isinstance(options, Mapping) else None
        if not isinstance(name, str) or not isinstance(clone, (bool, type(None))):
            raise JsonRpcInvalidParams("selectTechnique takes a name and {cloneFailed: boolean}")
        try:
            make_technique(name)
        except UsageError as error:
            raise JsonRpcInvalidParams(plain(str(error))) from None
        for folder in self._server.folders:
            used = folder.snapshot.ranking.technique.clone_failed
            folder.choose(name, used if clone is None else clone)
        return name

    async def run_tests(self) -> bool:
        """Record the tests in each folder."""
        if not self._server.trusted:
            raise RequestFailed("Tests are run only in a workspace you trust: trust it in your editor first.")
        if self._server.test_run.running:
            raise RequestFailed("The tests are running already.")
        if not len(self._server.folders):
            raise RequestFailed("No folder is open.")
        await self._server.test_run.start(list(self._server.folders))
        return True

    # finding suspects

    def _all(self) -> list[Found]:
        found = [(folder, mark) for folder in self._server.folders for mark in folder.current().marks]
        return sorted(found, key=lambda pair: pair[1].suspect.rank_best)

    def _unexamined(self) -> list[Found]:
        return [found for found in self._all() if not found[1].examined]

    def _marked(self, uri: str, line: int) -> Found | None:
        """The best mark on a line."""
        place = self._server.folders.of(uri)
        if place is None:
            return None
        folder, path = place
        mark = next(iter(folder.current().marks_at(path, line)), None)
        return (folder, mark) if mark else None

    def _suspect_at(self, uri: str, line: int) -> tuple[Folder, Suspect, lsp.Location] | None:
        """The suspect on a line, marked or further down the ranking."""
        if marked := self._marked(uri, line):
            return marked[0], marked[1].suspect, self._location(*marked)
        place = self._server.folders.of(uri)
        suspect = place[0].current().suspect_at(place[1], line) if place else None
        return (place[0], suspect, lsp.Location(uri, whole_line(line))) if suspect else None

    def _visited(self) -> Found | None:
        """The suspect visited last, if it still is one."""
        return next((found for found in self._all() if _key(found) == self._server.visited), None)

    def _current(self) -> tuple[Folder, Suspect, lsp.Location] | None:
        found = self._visited() or next(iter(self._unexamined()), None)
        return (found[0], found[1].suspect, self._location(*found)) if found else None

    # going there

    def _step(self, cursor: Any, direction: int) -> lsp.Location | None:
        everything = self._all()
        here = (self._marked(*_cursor(cursor)) if cursor is not None else None) or self._visited()
        if here is None:
            order = everything if direction > 0 else everything[::-1]
        else:
            keys = [_key(found) for found in everything]
            at = keys.index(_key(here))
            after, before = everything[at + 1 :], everything[: at + 1]
            order = after + before if direction > 0 else before[-2::-1] + everything[at:][::-1]
        return self._go_to(next((found for found in order if not found[1].examined), None))

    def _go_to(self, found: Found | None) -> lsp.Location | None:
        if found is None:
            return None
        self._server.visited = _key(found)
        folder, mark = found
        location = self._location(folder, mark)
        if self._server.can("window.show_document.support"):
            show = lsp.ShowDocumentParams(location.uri, take_focus=True, selection=location.range)
            self._server.window_show_document(show)
        elif not self._server.takes_status:
            text = f"{mark.file}:{mark.first + 1}: {headline(folder.snapshot.ranking, mark.suspect)}"
            self._server.answer(text)
        return location

    def _location(self, folder: Folder, mark: Mark) -> lsp.Location:
        lines = folder.snapshot.placements[mark.file].now
        return lsp.Location(folder.uri_of(mark.file), range_of(mark, lines, self._server.units))

    async def _ask_for_technique(self) -> str | None:
        """Let the user choose, where the client has nothing of its own for it: the techniques with advice."""
        choices = {f"{info.title} ({info.name})": info for info in technique_infos() if info.advice}
        request = lsp.ShowMessageRequestParams(
            lsp.MessageType.Info,
            "Rank the suspects with which technique?",
            [lsp.MessageActionItem(title) for title in choices],
        )
        answer = await self._server.window_show_message_request_async(request)
        info = choices.get(answer.title) if answer else None
        return info.name if info else None


def register(server: SuspectraServer) -> None:
    """Register every declared command."""
    commands = Commands(server)
    for command in COMMANDS:
        method = getattr(commands, "".join(f"_{c.lower()}" if c.isupper() else c for c in command.name))
        server.command(command.id)(_checked(method, len(command.arguments)))


def _checked(method: Callable, most: int) -> Callable:
    """The method with its arguments as JSON; a client that sends too many is told so."""

    async def run(*arguments: Any) -> Any:
        if len(arguments) > most:
            raise JsonRpcInvalidParams(f"at most {most} arguments, got {len(arguments)}")
        result = method(*arguments)
        return await result if hasattr(result, "__await__") else result

    return run


def _place(uri: Any, line: Any) -> tuple[str, int]:
    if not isinstance(uri, str) or isinstance(line, bool) or not isinstance(line, int) or line < 0:
        raise JsonRpcInvalidParams("the arguments are a document's URI and a line, counted from 0")
    return uri, line


def _cursor(cursor: Any) -> tuple[str, int]:
    position = cursor.get("position") if isinstance(cursor, Mapping) else None
    line = position.get("line") if isinstance(position, Mapping) else None
    if line is None:
        raise JsonRpcInvalidParams("the argument is {uri, position: {line, character}}, or nothing")
    return _place(cursor.get("uri"), line)


def _key(found: Found) -> tuple[str, tuple[str, int]]:
    return found[0].uri, found[1].place
