"""The module of the VS Code extension with the types of messages and the names of methods and commands."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from declared_messages import DeclaredType, declared_types

from suspectra_server.protocol import COMMANDS, NOTIFICATIONS, REQUESTS

WIDTH = 120
HEAD = """\
/** The messages between server and extension beyond LSP. Written by docs/generate.py from the server's declarations. */

import type { Location, Range, WorkspaceEdit } from 'vscode-languageclient';
"""


def protocol_module() -> str:
    """Formatted as prettier formats it."""
    methods = [(declared.method.rpartition("/")[2], declared.method) for declared in (*NOTIFICATIONS, *REQUESTS)]
    commands = [(command.name, command.id) for command in COMMANDS]
    ids = (
        "Commands the server executes. The client library registers each of them in VS Code, so the commands of the"
        " extension have other ids, such as `suspectra.nextSuspect`."
    )
    parts = [
        HEAD.rstrip(),
        *(_declaration(declared) for declared in declared_types()),
        "\n".join(_constants("methods", methods)),
        "\n".join([*_comment(ids), *_constants("serverCommands", commands)]),
    ]
    return "\n\n".join(parts) + "\n"


def _declaration(declared: DeclaredType) -> str:
    return "\n".join([*_comment(declared.text), *(_alias(declared) if declared.alias else _interface(declared))])


def _alias(declared: DeclaredType) -> Iterator[str]:
    line = f"export type {declared.name} = {declared.alias};"
    if len(line) <= WIDTH:
        yield line
        return
    *first, last = declared.alias.split(" | ")
    yield f"export type {declared.name} ="
    yield from (f"  | {value}" for value in first)
    yield f"  | {last};"


def _interface(declared: DeclaredType) -> Iterator[str]:
    extends = f" extends {declared.extends}" if declared.extends else ""
    yield f"export interface {declared.name}{extends} {{"
    for field in declared.fields:
        yield from _comment(field.text, "  ")
        yield f"  {field.name}: {field.type};"
    yield "}"


def _comment(text: str, indent: str = "") -> Iterator[str]:
    line = f"{indent}/** {text} */"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"{indent}/**"
    yield from textwrap.wrap(text, WIDTH, initial_indent=f"{indent} * ", subsequent_indent=f"{indent} * ")
    yield f"{indent} */"


def _constants(name: str, values: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"export const {name} = {{"
    yield from (f"  {key}: '{value}'," for key, value in values)
    yield "} as const;"
