"""Checks of the arguments of commands and requests: users write those of commands by hand, in key bindings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import TypeAlias, TypeGuard

from pygls.exceptions import JsonRpcInvalidParams

DEFAULT_MOVES = 10  # that a jump offers

Json: TypeAlias = Mapping[str, object] | Sequence[object] | str | float | bool | None
"""The params of a request that is not LSP's. They are not `object`: pygls passes the server to handlers of that."""


def checked(method: Callable[..., object], max_: int) -> Callable[..., Awaitable[object]]:
    """The method, with an error for a client that sends too many arguments."""

    async def run(*arguments: object) -> object:
        if len(arguments) > max_:
            raise JsonRpcInvalidParams(f"at most {max_} arguments, got {len(arguments)}")
        result = method(*arguments)
        return await result if isawaitable(result) else result

    run.__annotations__.clear()  # pygls looks there for a parameter that the server can be passed as
    return run


def parse_fields(params: object) -> Mapping[str, object]:
    """The fields of an object; none if a client sent something else."""
    return params if isinstance(params, Mapping) else {}


def parse_location(uri: object, line: object) -> tuple[str, int]:
    """A line of a document, counted from 0."""
    if not isinstance(uri, str) or isinstance(line, bool) or not isinstance(line, int) or line < 0:
        raise JsonRpcInvalidParams("the arguments are a document's URI and a line, counted from 0")
    return uri, line


def parse_scope(scope: object) -> str:
    """What a mark is about."""
    if scope not in ("line", "function"):
        raise JsonRpcInvalidParams('the scope is "line" or "function"')
    return str(scope)


def parse_cursor(cursor: object) -> tuple[str, int]:
    """The document and the line that the cursor is on."""
    given = parse_fields(cursor)
    line = parse_fields(given.get("position")).get("line")
    if line is None:
        raise JsonRpcInvalidParams("the argument is {uri, position: {line, character}}, or nothing")
    return parse_location(given.get("uri"), line)


def parse_jump_options(options: object, ask: bool) -> tuple[tuple[str, int] | None, bool, int]:
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


def parse_flag(options: object, name: str, default: bool) -> bool:
    """One of the options that are true or false; `default` where the client does not say."""
    flag = parse_fields(options).get(name, default)
    if (options is not None and not isinstance(options, Mapping)) or not isinstance(flag, bool):
        raise JsonRpcInvalidParams(f"the option {name} must be true or false")
    return flag


def parse_tests(tests: object) -> dict[str, list[str]]:
    """The names of tests, by the URI of their folder; nothing counts as no folder."""
    given = {} if tests is None else tests
    if not isinstance(given, Mapping) or not all(map(are_names, given.values())):
        raise JsonRpcInvalidParams("runTests takes the names of tests by the URI of their folder")
    return dict(given)


def are_names(names: object) -> TypeGuard[list[str]]:
    """Whether these can be names of tests: they are written to a file, one a line."""
    return isinstance(names, list) and all(isinstance(name, str) and "\n" not in name for name in names)


def is_count(value: object) -> TypeGuard[int]:
    """Whether a value of a message is a non-negative integer."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
