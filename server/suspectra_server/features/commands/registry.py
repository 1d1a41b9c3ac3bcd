"""The commands by name: each group of them says which it handles."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeAlias

from suspectra_server.features.commands.arguments import checked
from suspectra_server.protocol import COMMANDS
from suspectra_server.session.session import Session

Handlers: TypeAlias = Mapping[str, Callable[..., object]]
"""Handlers by the names that `suspectra_server.protocol` declares."""


class CommandGroup(Protocol):
    """Commands that share a noun. They check their arguments, as users write those by hand in key bindings."""

    def handlers(self) -> Handlers:
        """By their names."""


def register_groups(session: Session, groups: Iterable[CommandGroup]) -> None:
    """Register the handler of each declared command."""
    handlers = ChainMap(*(dict(group.handlers()) for group in groups))
    for command in COMMANDS:
        session.command(command.id)(checked(handlers[command.name], len(command.arguments)))
