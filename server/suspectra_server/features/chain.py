"""The request for a picture: the debugging model around a statement."""

from __future__ import annotations

from collections.abc import Iterable

from pygls.exceptions import JsonRpcInvalidParams

from suspectra.location import Location
from suspectra.output.chain_svg import Picture
from suspectra_server.features.arguments import Json, parse_fields
from suspectra_server.features.locations import to_protocol
from suspectra_server.messages import Chain, CodeLocation
from suspectra_server.protocol import CHAIN
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session
from suspectra_server.session.statement import Statement
from suspectra_server.state.documents import Placement, Reading
from suspectra_server.state.navigation import NavigationModel
from suspectra_server.state.ranking import Ranking
from suspectra_server.state.snapshot import Snapshot
from suspectra_server.text import is_count, plain

DEFAULT_LIMIT, MAX_LIMIT = 8, 40  # states that are followed from the statement


def register(session: Session) -> None:
    """Answer `suspectra/chain`."""

    @session.feature(CHAIN)
    async def chain(params: Json) -> Chain | None:
        uri, line, limit = _read(params)
        found = session.folders.containing(uri)
        if found is None:
            return None
        folder, path = found
        snapshot = folder.current()
        element = snapshot.element_at(path, line)
        if element is None:
            return None
        texts = _Texts(folder, snapshot)
        answer = await folder.navigation.ask(
            snapshot.ranking, lambda navigation, token: _picture(texts, navigation, element, limit)
        )
        if answer is None:
            return None
        picture, reading = answer
        folder.sources.take(reading)
        return _answer(session, folder, snapshot.ranking, picture)


class _Texts:
    """The locations of statements in the texts as they are now, for the picture that a worker thread makes.

    Parameters
    ----------
    folder : Folder
    snapshot : Snapshot
        The one of the moment when the picture was requested.
    """

    def __init__(self, folder: Folder, snapshot: Snapshot):
        self._folder = folder
        self._ranking = snapshot.ranking
        self._placements = dict(snapshot.placements)

    def read(self, elements: Iterable[int]) -> Reading:
        """Read the files of statements; called in a worker thread."""
        files = self._ranking.files
        paths = {self._ranking.recorded_line(element)[0] for element in elements}
        reading = self._folder.sources.read_in_worker(path for path in paths if path in files)
        for path, source in reading.found.items():
            if path not in self._placements and source is not None and files[path].digest in (None, source.digest):
                self._placements[path] = Placement(source.lines, source.lines, path)
        return reading

    def label(self, element: int) -> str:
        """File and line of a statement, as it is now if that is known."""
        where, line = self._now(element)
        return f"{where.file}:{where.line if line is None else line + 1}"

    def source(self, element: int) -> str:
        """The first line of a statement."""
        where, line = self._now(element)
        return "" if line is None else self._placements[where.file].now[line]

    def _now(self, element: int) -> tuple[Location, int | None]:
        where = self._ranking.elements.location(element)
        placement = self._placements.get(where.file)
        lines = placement.current_lines(where) if placement else None
        return where, lines[0] if lines else None


def _picture(texts: _Texts, navigation: NavigationModel, element: int, limit: int) -> tuple[Picture, Reading] | None:
    """The picture, and the files read for it; called in the worker thread."""
    if navigation.model is None:
        return None
    try:
        around = navigation.model.neighbourhood(element, limit)
    except KeyError:
        return None
    reading = texts.read(node.number for node in around.nodes if node.kind == "location")
    return Picture.around(navigation.model, element, texts.label, texts.source, limit), reading


def _answer(session: Session, folder: Folder, ranking: Ranking, picture: Picture) -> Chain:
    def location_of(element: int | None) -> CodeLocation | None:
        return None if element is None else to_protocol(session, Statement(folder, ranking, element))

    return {
        "svg": picture.svg(),
        "nodes": [
            {
                "id": node.state,
                "kind": node.kind,
                "label": plain(node.label),
                "location": location_of(node.element),
            }
            for node in picture.nodes
        ],
        "edges": [
            {
                "source": edge.source,
                "target": edge.target,
                "probability": edge.probability,
                "reasons": list(edge.reasons),
            }
            for edge in picture.edges
        ],
    }


def _read(params: Json) -> tuple[str, int, int]:
    given = parse_fields(params)
    uri, line, limit = given.get("uri"), given.get("line"), given.get("limit")
    limit = DEFAULT_LIMIT if limit is None else limit
    if not isinstance(uri, str) or not is_count(line) or not is_count(limit):
        raise JsonRpcInvalidParams("the params are {uri, line, limit?}, the line counted from 0")
    return uri, line, min(max(limit, 1), MAX_LIMIT)
