"""What is known of the cause of a failure, and of compared runs, in messages: the requests for them, and the steps.

Whether the sources are still those of the search is asked each time: after another recording its places would be wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from suspectra_server.features.commands.arguments import Json
from suspectra_server.features.compared_runs import compared_runs
from suspectra_server.features.step_messages import StepMessages
from suspectra_server.messages import Causes, ComparedRuns, Step
from suspectra_server.protocol import CAUSES, COMPARISON
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.session import Session

if TYPE_CHECKING:
    from suspectra.causes.report import CauseState
    from suspectra_server.session.folder import Folder


def register(session: Session) -> None:
    """Answer `suspectra/causes` and `suspectra/comparison`."""

    @session.feature(CAUSES)
    async def causes(params: Json) -> Causes | None:
        return await causes_of(session)

    @session.feature(COMPARISON)
    async def comparison(params: Json) -> ComparedRuns | None:
        return await compared_runs(session)


async def causes_of(session: Session) -> Causes | None:
    """What the last search has found by now; None if there was none, or if the sources changed since."""
    search = session.cause_search
    if search is None or not search.is_current:
        return None
    report, steps = search.report, StepMessages(session, search.folder)
    states = (*report.roots, *report.chain, *report.transitive, *report.around) if report else ()
    await steps.read(state.file for state in states)
    if not search.is_current:
        return None
    return {
        "folder": search.folder.uri,
        "test": plain(search.test.name, MAX_TEXT),
        "searching": search.outcome is None,
        "found": search.sentence,
        "roots": list(steps.from_states(report.roots if report else ())),
        "chain": list(steps.from_states(report.chain if report else ())),
        "transitive": list(steps.from_states(report.transitive if report else ())),
        "around": list(steps.from_states(report.around if report else ())),
        "alterations": report.alterations if report else 0,
        "complete": report.complete if report else False,
        "seconds": report.seconds if report else 0.0,
        "problems": [plain(str(problem), MAX_TEXT) for problem in (search.outcome.problems if search.outcome else ())],
    }


def state_at(session: Session, uri: str, line: int) -> CauseState | None:
    """The state that the last search has on a line of a document, from 0; the cause rather than what is near it."""
    search = session.cause_search
    if search is None or search.report is None or not search.is_current:
        return None
    report, steps = search.report, StepMessages(session, search.folder)
    for state in (*report.roots, *report.chain, *report.transitive, *report.around):
        for step in steps.from_states([state]):
            if step["uri"] == uri and step["range"].start.line <= line <= step["range"].end.line:
                return state
    return None


def judgement_at(session: Session, folder: Folder, path: str, line: int) -> str:
    """What the user has said of the state on a line, from 0; empty if nothing, or if sources changed since."""
    search = session.cause_search
    if search is None or search.folder is not folder or not search.is_current:
        return ""
    said = [one.right for one in search.judgements if (one.file, one.line) == (path, line + 1)]
    return f"You said that this value is {'right' if said[-1] else 'wrong'}." if said else ""


def chain_now(session: Session) -> list[Step]:
    """The chain from the first root cause to the failure, where its states are now."""
    search = session.cause_search
    if search is None or search.report is None or not search.is_current:
        return []
    return list(StepMessages(session, search.folder).from_states(search.report.chain or search.report.roots))
