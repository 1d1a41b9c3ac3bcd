"""The commands that rank now, or with another technique."""

from __future__ import annotations

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra.base.errors import UsageError
from suspectra.techniques import make_technique, technique_infos
from suspectra_server.features.commands.arguments import parse_fields
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.safe_text import plain
from suspectra_server.session.session import Session


class RankCommands:
    """Rankings of all folders."""

    def __init__(self, session: Session):
        self._session = session

    def handlers(self) -> Handlers:
        """By their names."""
        return {
            "localize": self.localize,
            "selectTechnique": self.select_technique,
        }

    async def localize(self) -> None:
        """Read the evidence again and rank now; a client without `suspectra/status` is told how that ended.

        It is told before the answer: Emacs leaves what comes in one piece with an answer, behind it, until more comes.
        """
        self._session.rank()
        if not self._session.supports_status:
            await self._report_state()

    async def _report_state(self) -> None:
        for folder in list(self._session.folders):
            await folder.rankings.settled()
        self._session.notify(self._session.status()["message"])

    async def select_technique(self, name: object = None, options: object = None) -> str | None:
        """Rank with another technique."""
        if name is None and (name := await self._ask_for_technique()) is None:
            return None
        clone = parse_fields(options).get("cloneFailed")
        if not isinstance(name, str) or not isinstance(clone, (bool, type(None))):
            raise JsonRpcInvalidParams("selectTechnique takes a name and {cloneFailed: boolean}")
        try:
            technique = make_technique(name, clone_failed=bool(clone))
        except UsageError as error:
            raise JsonRpcInvalidParams(plain(str(error))) from None
        for folder in self._session.folders:
            folder.choose(name, clone)
        self._session.notify(f"The suspects are ranked with {technique.info.title}.")
        return name

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
