"""The command that says why a test fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra.base.location import Location
from suspectra_server.features.commands.arguments import are_names, parse_flag
from suspectra_server.features.commands.finder import Failing, Finder
from suspectra_server.features.commands.refusals import RequestFailed
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.features.commands.repeated_runs import RepeatedRuns
from suspectra_server.messages import Answer, AnswerSoFar
from suspectra_server.protocol import COMMAND_IDS
from suspectra_server.safe_text import MAX_TEXT, markdown, plain
from suspectra_server.session.experiments.why_search import WhySearch
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session

if TYPE_CHECKING:
    from suspectra.why.answer import AnswerFix, WhyAnswer


class WhyCommands:
    """One answer: which change broke it, what is wrong, how that leads to the failure."""

    def __init__(self, session: Session, find: Finder, runs: RepeatedRuns):
        self._session = session
        self._find = find
        self._runs = runs

    def handlers(self) -> Handlers:
        """By their names."""
        return {"why": self.why}

    async def why(
        self, uri: object = None, tests: object = None, cursor: object = None, options: object = None
    ) -> Answer | None:
        """Find out why tests fail, and return the answer once that has ended."""
        show = parse_flag(options, "show", not self._session.supports_status)
        so_far = parse_flag(options, "soFar", self._session.supports_status)
        if tests is not None and not are_names(tests):
            raise JsonRpcInvalidParams("why takes the URI of a folder and the names of failing tests")
        wanted = self._find.failing(uri, tests, cursor, "nothing to explain")
        failing: Failing | None = wanted
        if wanted.folder.rankings.build:  # nothing is altered but in a copy: changes of the user are taken back
            self._runs.refuse_unless_possible(wanted.folder, compiled=True)
        else:
            failing = await self._runs.may_alter(wanted.folder, wanted.tests)
        if failing is None:
            return None
        search = WhySearch(self._session, *failing)
        if so_far:
            search.on_news = self._sender(failing.folder)
        await self._runs.until_ended(search)
        return self._answer(search, show=show)

    def _answer(self, search: WhySearch, *, show: bool) -> Answer | None:
        from suspectra.output.why import Reader, answer_lines

        if search.answer is None:
            problems = search.outcome.problems if search.outcome is not None else ()
            if problems:
                raise RequestFailed(plain(str(problems[0]), MAX_TEXT))
            self._session.notify("The search was cancelled before anything was found.")
            return None
        lines = answer_lines(search.answer, Reader.EDITOR)
        changes, fix = search.answer.changes, search.answer.fix
        if show:
            self._session.answer("\n".join(map(plain, lines)))
        return {
            **_message(search.folder, search.answer, lines),
            "fix": self._edit(search.folder, fix) if fix is not None else None,
            "change": _located(search.folder, next((one.location for one in changes if not one.moved_from), None)),
        }

    def _sender(self, folder: Folder) -> Callable[[WhyAnswer, str], None]:
        """What sends the client the news of a search; each once."""
        from suspectra.output.why import lines_so_far

        last: AnswerSoFar | None = None

        def send(known: WhyAnswer, sentence: str) -> None:
            nonlocal last
            answer = _message(folder, known, lines_so_far(known))
            news: AnswerSoFar = {"command": COMMAND_IDS["why"], "answer": answer, "doing": sentence.rstrip(".…")}
            if news != last:
                last = news
                self._session.send_so_far(news)

        return send

    def _edit(self, folder: Folder, fix: AnswerFix) -> lsp.WorkspaceEdit | None:
        """The edit that applies a change; None where the text is no longer the one that was run."""
        from suspectra_server.features.found_fixes import workspace_edit

        return workspace_edit(self._session, folder, fix.edits, plain(f"{fix.location}: {fix.said}.", MAX_TEXT))


def _message(folder: Folder, answer: WhyAnswer, lines: Sequence[str]) -> Answer:
    """An answer with nothing that can be done but to go to its line."""
    headline, *others = lines
    return {
        "markdown": "\n\n".join([f"**{markdown(headline)}**", *map(_markdown, others)]),
        "headline": plain(headline),
        "sentences": [plain(line) for line in others],
        "location": _located(folder, answer.place),
        "fix": None,
        "change": None,
    }


def _located(folder: Folder, at: Location | None) -> lsp.Location | None:
    """Where a line is for the client. Tests ran on the present sources, so it has not moved."""
    if at is None:
        return None
    first, last = lsp.Position(at.line - 1, 0), lsp.Position(max(at.end_line, at.line - 1), 0)
    return lsp.Location(folder.uri_of(at.file), lsp.Range(first, last))


def _markdown(line: str) -> str:
    """A sentence as text, and a line of the program as it is."""
    return f"`{line.strip()}`" if line.startswith("    ") and "`" not in line else markdown(line.strip())
