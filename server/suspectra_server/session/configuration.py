"""The client's settings: from its initialization options, its notifications, and its answers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from lsprotocol import types as lsp

from suspectra_server.session.folder import Folder
from suspectra_server.session.trust import Trust
from suspectra_server.settings import RESTRICTED, SECTION, Settings, read_settings, section_of

log = logging.getLogger(__name__)


class Configuration:
    """What the client has sent of its settings so far."""

    def __init__(self, options: object, trust: Trust):
        self._initial: Mapping[str, object] = section_of(options)
        self._pushed: Mapping[str, object] = {}
        self._trust = trust

    def push(self, pushed: object) -> None:
        """Take settings that the client sent in a notification."""
        self._pushed = section_of(pushed)

    async def ask(
        self, folders: Sequence[Folder], ask: Callable[[lsp.ConfigurationParams], Awaitable[Sequence[object] | None]]
    ) -> list[object]:
        """Request the settings of each folder; None for a folder without an answer."""
        items = [lsp.ConfigurationItem(scope_uri=folder.uri, section=SECTION) for folder in folders]
        try:
            answers = list(await ask(lsp.ConfigurationParams(items)) or ())[: len(folders)]
        except Exception as error:  # whatever the client answered
            log.warning("the client's settings can't be read: %s", error)
            answers = []
        return answers + [None] * (len(folders) - len(answers))

    def settings(self, answer: object, defaults: Settings) -> tuple[Settings, list[str]]:
        """The settings of a folder, given the client's answer for it, and what is wrong with them."""
        given = {**self._initial, **self._pushed}
        if isinstance(answer, Mapping):
            given |= {name: value for name, value in answer.items() if value is not None}
        left_out = []
        if not self._trust.granted:
            left_out = [one.name for one in RESTRICTED if given.get(one.name) not in (None, "", [], one.default)]
        # the files and programs may be anywhere, even on other machines
        settings, complaints = read_settings({**given, **dict.fromkeys(left_out)}, defaults)
        if left_out:
            names = ", ".join(f"{SECTION}.{name}" for name in left_out)
            complaints.append(
                f"The workspace is not trusted, so settings that name files or programs, or say when they run, are not"
                f" used: {names}."
                " Trust the workspace in your editor, or give a server on a socket the option --trusted, to use them"
            )
        return settings, complaints
