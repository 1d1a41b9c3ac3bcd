"""The request for a picture: the debugging model around a statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pygls.exceptions import JsonRpcInvalidParams

from suspectra.output.chain_svg import Picture
from suspectra_server.convert import plain
from suspectra_server.features.places import place
from suspectra_server.guide import Guide
from suspectra_server.protocol import CHAIN

if TYPE_CHECKING:
    from suspectra_server.server import SuspectraServer
    from suspectra_server.workspace import Folder

LIMIT, MOST = 8, 40  # states that are followed from the statement


def register(server: SuspectraServer) -> None:
    """Answer `suspectra/chain`."""

    @server.feature(CHAIN)
    async def chain(params: Any) -> dict[str, Any] | None:
        uri, line, limit = _read(params)
        found = server.folders.of(uri)
        if found is None:
            return None
        folder, path = found
        element = folder.current().element_at(path, line)
        if element is None:
            return None
        picture = await folder.guidance.ask(lambda guide, token: _picture(folder, guide, element, limit))
        return _answer(server, folder, picture) if picture else None


def _picture(folder: Folder, guide: Guide, element: int, limit: int) -> Picture | None:
    """In the worker thread."""
    if guide.model is None:
        return None
    try:
        around = guide.model.neighbourhood(element, limit)
    except KeyError:
        return None
    folder.read_texts(folder.place_of(node.number)[0] for node in around.nodes if node.kind == "location")
    return Picture.of(
        guide.model,
        element,
        lambda one: _label(folder, one),
        lambda one: _source(folder, one),
        limit,
    )


def _now(folder: Folder, element: int) -> tuple[str, int, str]:
    """File, line counted from 1, and text of a statement: as it stands now where that is known."""
    where = folder.snapshot.ranking.report.spectrum.elements.location(element)
    placement = folder.placement(where.file)
    lines = placement.place(where) if placement else None
    return (where.file, where.line, "") if lines is None else (where.file, lines[0] + 1, placement.now[lines[0]])


def _label(folder: Folder, element: int) -> str:
    file, line, _ = _now(folder, element)
    return f"{file}:{line}"


def _source(folder: Folder, element: int) -> str:
    return _now(folder, element)[2]


def _answer(server: SuspectraServer, folder: Folder, picture: Picture) -> dict[str, Any]:
    return {
        "svg": picture.svg(),
        "nodes": [
            {
                "id": node.state,
                "kind": node.kind,
                "label": plain(node.label),
                "place": None if node.element is None else place(server, folder, node.element),
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


def _read(params: Any) -> tuple[str, int, int]:
    given = params if isinstance(params, Mapping) else {}
    uri, line, limit = given.get("uri"), given.get("line"), given.get("limit")
    limit = LIMIT if limit is None else limit
    counts = [line, limit]
    if not isinstance(uri, str) or any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in counts):
        raise JsonRpcInvalidParams("the params are {uri, line, limit?}, the line counted from 0")
    return uri, line, min(max(limit, 1), MOST)
