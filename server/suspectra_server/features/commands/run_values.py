"""The command that shows the values of one run of a failing test at the ends of its lines, and hides them again."""

from __future__ import annotations

from collections.abc import Iterable

from pygls.exceptions import JsonRpcInvalidParams

from suspectra_server.features import inlay_hints
from suspectra_server.features.commands.finder import Finder
from suspectra_server.features.commands.refusals import CHANGED, RequestFailed
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.features.commands.traced_runs import TracedRuns
from suspectra_server.features.step_messages import StepMessages
from suspectra_server.messages import RunLines, RunValues
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.experiments.shown_run import ShownRun
from suspectra_server.session.experiments.tracing import Tracing
from suspectra_server.session.session import Session


class ValueCommands:
    """Shows a run, one at a time."""

    def __init__(self, session: Session, find: Finder, traced: TracedRuns):
        self._session = session
        self._find = find
        self._traced = traced

    def handlers(self) -> Handlers:
        """By their names."""
        return {"showValues": self.show_values}

    async def show_values(self, uri: object = None, test: object = None, cursor: object = None) -> RunValues | None:
        """Trace a failing test, and show its values; hide them if they are shown."""
        if test is not None and not isinstance(test, str):
            raise JsonRpcInvalidParams("showValues takes the URI of a folder and the name of a failing test")
        shown = self._session.shown_run
        if shown is not None and shown.is_current and test in (None, shown.test):
            self._show(None)
            self._session.notify("The values are hidden.")
            return None
        folder, evidence, failing = self._find.failing_test(uri, test, cursor, "no run to show").first
        trace = await self._traced.trace(Tracing(folder, evidence, failing))
        steps = StepMessages(self._session, folder)
        run = await folder.ask(lambda _: ShownRun.from_trace(folder, evidence, trace))
        if run is None:
            raise RequestFailed(CHANGED)
        await steps.read(file for file, _ in run.lines)
        if not run.is_current:  # the lines of the trace would be taken for those of another text
            raise RequestFailed(CHANGED)
        self._show(run)
        left_out = [plain(sentence, MAX_TEXT) for sentence in trace.left_out]
        files = ", ".join(dict.fromkeys(file for file, _ in run.lines))
        self._session.notify(" ".join([f"The values of {run.test} are at the ends of its lines: {files}.", *left_out]))
        return {"test": plain(run.test, MAX_TEXT), "files": list(_files(run, steps)), "leftOut": left_out}

    def _show(self, run: ShownRun | None) -> None:
        self._session.shown_run = run
        inlay_hints.refresh(self._session, always=True)


def _files(run: ShownRun, steps: StepMessages) -> Iterable[RunLines]:
    """The lines of a run where they are now."""
    for file in dict.fromkeys(file for file, _ in run.lines):
        executed, failed = (
            [where.start.line for _, where in steps.placed(file, places)] for places in (run.lines, run.failed)
        )
        yield {"uri": run.folder.uri_of(file), "executed": executed, "failed": failed}
