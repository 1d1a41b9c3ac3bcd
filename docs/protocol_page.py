"""The page of what the server speaks beyond LSP."""

# ruff: noqa: E501 (paragraphs of Markdown)

from __future__ import annotations

import re
from collections.abc import Iterable

from declared_messages import DeclaredType, declared_types
from tables import table

from suspectra_server.protocol import (
    COMMANDS,
    NOTIFICATIONS,
    REQUESTS,
    Argument,
    CommandDeclaration,
    NotificationDeclaration,
    RequestDeclaration,
)

_LSP = "https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/"


def protocol_page() -> str:
    """Commands, requests, notifications, and the types of messages."""
    parts = {
        "commands": map(_command, COMMANDS),
        "requests": map(_request, REQUESTS),
        "notifications": map(_notification, NOTIFICATIONS),
        "types": map(_type, declared_types()),
    }
    texts = {name: "\n\n".join(sections) for name, sections in parts.items()}
    return f"""\
# The protocol

`suspectra server` is a language server over standard input and output (or a [socket](security.md#sockets)). Each feature works
in any client that supports the LSP method:

| LSP | what it shows |
|---|---|
| `textDocument/publishDiagnostics` | suspicious lines: `code` is the technique, `codeDescription` its page, `data` the counts; a warning up to average rank 5, information up to 10, a hint after that; `relatedInformation` the failing tests that execute the line. If a file with suspects was changed before the server saw the text that ran, it gets one diagnostic with the code `changed-since-run` instead of marks on wrong lines. A report of subgraphs (SBBFL) is shown as regions: one diagnostic for each sequence of statements of a subgraph; `data` says which part it is and `relatedInformation` where the others are |
| `textDocument/hover` | on every line that a failing test executes: why the line has its rank, and how many steps a reader is expected to take to it; on tied lines also what would tell them apart |
| `textDocument/codeLens` | rank and score above the most suspicious functions, and where to look next |
| `textDocument/inlayHint` | rank and score at the end of suspicious lines (off by default) |
| `textDocument/codeAction` | explain, why not this line (also on lines that are not suspects, if the client asks for it), what would tell tied lines apart, where to look next, mark as examined or innocent, next suspect, another technique |
| `workspace/symbol` | the suspects |
| `workspace/executeCommand` | the commands below |

Positions are in UTF-8, UTF-16 or UTF-32, whichever the client lists first in `general.positionEncodings`.

The [commands](#commands) and [requests](#requests) below are what Suspectra adds to LSP, together with one
[notification](#notifications). `Location` and `Range` in their [types](#types) are those of [LSP]({_LSP}).

## Commands

{texts["commands"]}

## Requests

{texts["requests"]}

## Notifications

{texts["notifications"]}

## Types

{texts["types"]}
"""


def _command(command: CommandDeclaration) -> str:
    names = ", ".join(argument.name for argument in command.arguments)
    return _section(f"{command.id}({names})", command.result, command.text, _arguments(command.arguments))


def _request(request: RequestDeclaration) -> str:
    names = ", ".join(field.name for field in request.params)
    called = f"{request.method} {{{names}}}" if names else request.method
    return _section(called, request.result, request.text, _arguments(request.params))


def _notification(notification: NotificationDeclaration) -> str:
    return f"### `{notification.method}`\n\nParams: {_linked(notification.params)}. {notification.text}"


def _section(called: str, result: str, text: str, arguments: str) -> str:
    return f"### `{called}`\n\nResult: {_linked(result)}. {text}{arguments}"


def _arguments(arguments: Iterable[Argument]) -> str:
    rows = [(f"`{one.name}`", _cell(one.type), one.text) for one in arguments]
    return f"\n\n{table(('name', 'type', 'meaning'), rows)}" if rows else ""


def _type(declared: DeclaredType) -> str:
    head = f"### `{declared.name}`\n\n{declared.text}"
    if declared.alias and not declared.fields:
        return f"{head} {_linked(declared.alias)}"
    if declared.alias:
        return f"{head}\n\n{table(('value', 'meaning'), [(_cell(one.type), one.text) for one in declared.fields])}"
    more = f" It also has the fields of {_linked(declared.extends)}." if declared.extends else ""
    rows = [(f"`{one.name}`", _cell(one.type), one.text) for one in declared.fields]
    return f"{head}{more}\n\n{table(('name', 'type', 'meaning'), rows)}"


_NAMES = {declared.name for declared in declared_types()}


def _linked(type_: str) -> str:
    """A type as code, which leads to the section of the message in it."""
    type_ = type_.replace("'", '"')
    name = next((name for name in re.findall(r"\b[A-Z]\w+", type_) if name in _NAMES), None)
    return f"[`{type_}`](#{name.lower()})" if name else f"`{type_}`"


def _cell(type_: str) -> str:
    return _linked(type_).replace("|", "\\|")
