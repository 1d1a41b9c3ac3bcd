"""Checks of the arguments of commands: users write them by hand, in key bindings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pygls.exceptions import JsonRpcInvalidParams

DEFAULT_MOVES = 10  # that a jump offers


def checked(method: Callable[..., Any], max_: int) -> Callable[..., Awaitable[Any]]:
    """The method, with an error for a client that sends too many arguments."""

    async def run(*arguments: Any) -> Any:
        if len(arguments) > max_:
            raise JsonRpcInvalidParams(f"at most {max_} arguments, got {len(arguments)}")
        result = method(*arguments)
        return await result if hasattr(result, "__await__") else result

    return run


def parse_location(uri: Any, line: Any) -> tuple[str, int]:
    """A line of a document, counted from 0."""
    if not isinstance(uri, str) or isinstance(line, bool) or not isinstance(line, int) or line < 0:
        raise JsonRpcInvalidParams("the arguments are a document's URI and a line, counted from 0")
    return uri, line


def parse_cursor(cursor: Any) -> tuple[str, int]:
    """The document and the line that the cursor is on."""
    position = cursor.get("position") if isinstance(cursor, Mapping) else None
    line = position.get("line") if isinstance(position, Mapping) else None
    if line is None:
        raise JsonRpcInvalidParams("the argument is {uri, position: {line, character}}, or nothing")
    return parse_location(cursor.get("uri"), line)


def parse_jump_options(options: Any, ask: bool) -> tuple[tuple[str, int] | None, bool, int]:
    """Where to go, whether to ask the user, and how many moves to offer."""
    if options is not None and not isinstance(options, Mapping):
        raise JsonRpcInvalidParams("the options are {to, ask, limit}")
    given = {name: value for name, value in (options or {}).items() if value is not None}
    to, ask, limit = given.get("to"), given.get("ask", ask), given.get("limit", DEFAULT_MOVES)
    if to is not None:
        if not isinstance(to, Mapping):
            raise JsonRpcInvalidParams("the location to go to is {uri, line}")
        to = parse_location(to.get("uri"), to.get("line"))
    if not isinstance(ask, bool) or isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise JsonRpcInvalidParams("ask must be true or false, and limit an integer of at least 1")
    return to, ask, limit


def are_names(names: Any) -> bool:
    """Whether these can be names of tests: they are written to a file, one a line."""
    return isinstance(names, list) and all(isinstance(name, str) and "\n" not in name for name in names)
