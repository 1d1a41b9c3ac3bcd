"""Code actions on a suspect: the commands that a reader may want to give there."""

from __future__ import annotations

from lsprotocol import types as lsp

from suspectra_server.features.chain_steps import state_at
from suspectra_server.features.compared_runs import CODE
from suspectra_server.features.diagnostics import SOURCE
from suspectra_server.features.failing_tests import (
    CAUSE,
    COMPARE_RUNS,
    COMPARE_VALUES,
    DEBUG,
    DEBUG_HERE,
    FIX,
    INFLUENCED,
    LED_HERE,
    WHICH_CHANGE,
    WHY,
    WOULD_PASS,
    can_be_compared,
    can_be_investigated,
    tests_at,
)
from suspectra_server.features.fixes import fix_actions
from suspectra_server.features.undo_actions import undo_actions
from suspectra_server.protocol import COMMAND_IDS
from suspectra_server.session.session import Session
from suspectra_server.state.marks import Mark

TEST_IT = "Test this suspect"


def register(session: Session) -> None:
    """Answer `textDocument/codeAction`."""
    options = lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix], resolve_provider=False)

    @session.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, options)
    def code_actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction | lsp.Command]:
        uri = params.text_document.uri
        found = session.folders.containing(uri)
        only = params.context.only
        if found is None or not (only is None or any(kind in ("", lsp.CodeActionKind.QuickFix) for kind in only)):
            return []
        folder, path = found
        marks = [
            mark
            for mark in folder.current().by_file.get(path, ())
            if not mark.examined and mark.first <= params.range.end.line and params.range.start.line <= mark.last
        ]
        offered = _actions(session, params, _compared(session) if any(one.code == CODE for one in _own(params)) else [])
        can_run = session.trust.granted and can_be_investigated(folder)
        if can_run and state_at(session, uri, params.range.start.line) is not None:
            offered += _actions(session, params, _judged(uri, params.range.start.line))
        if not marks:
            line = params.range.start.line
            if tests := tests_at(folder, path, line) if can_run else []:
                wanted: list[tuple[str, str, list[object]]] = [
                    (WHY, "why", [folder.uri, tests]),
                    (DEBUG, "debugTest", [folder.uri, tests[0]]),
                    (WOULD_PASS, "investigate", [folder.uri, tests]),
                    (FIX, "findFix", [folder.uri, tests]),
                    (WHICH_CHANGE, "findChange", [folder.uri, tests]),
                    (COMPARE_VALUES, "compareValues", [folder.uri, tests]),
                    (CAUSE, "findCause", [folder.uri, tests[0]]),
                    (COMPARE_RUNS, "comparePassing", [folder.uri, tests[0]]),
                    (LED_HERE, "whatLedHere", [uri, line, tests[0]]),
                ]
                return offered + _actions(session, params, wanted)
            asked = params.context.trigger_kind is not lsp.CodeActionTriggerKind.Automatic  # no light on every line
            there = asked and folder.current().marks and folder.current().element_at(path, line) is not None
            why_not = [("Why not this line?", "whyNot", [uri, line])] if there else []
            return offered + _actions(session, params, why_not)
        mark = marks[0]
        cursor = {"uri": uri, "position": {"line": mark.first, "character": 0}}
        tied = folder.current().ranking.shares_score(mark.suspect)
        can_compare = session.trust.granted and can_be_compared(folder)
        about: list[object] = [folder.uri, list(mark.suspect.failing_tests)]
        wanted = [
            *([(WHY, "why", about)] if can_compare else []),
            ("Explain suspect", "explain", [uri, mark.first]),
            *([("What would tell these apart?", "tellApart", [uri, mark.first])] if tied else []),
            *(_runs(uri, mark.first) if can_run else []),
            *(_for_compiled(folder.uri, uri, mark) if can_compare and not can_run else []),
            ("Mark suspect as examined", "markExamined", [uri, mark.first]),
            ("Mark suspect as innocent", "markInnocent", [uri, mark.first]),
        ]
        if not session.supports_status:  # our own extension has other places for what is of no single line
            wanted += [
                ("Why not this line?", "whyNot", [uri, mark.first]),
                ("Look around from this suspect…", "jump", [cursor]),
                ("Go to the next suspect", "nextSuspect", [cursor]),
                *(_slices(uri, mark.first) if can_run else []),
                ("Rank suspects with another technique…", "selectTechnique", []),
            ]
        offered += _actions(session, params, wanted)
        if session.can("text_document.code_action.code_action_literal_support"):
            elements = [mark.suspect.element for mark in marks]
            own = _own(params)
            offered[:0] = [
                *undo_actions(session, folder, elements, own),
                *fix_actions(session, folder, elements, own),
            ]
        return offered


def _actions(
    session: Session, params: lsp.CodeActionParams, wanted: list[tuple[str, str, list[object]]]
) -> list[lsp.CodeAction | lsp.Command]:
    """Commands by title, name and arguments, in the form that the client takes."""
    commands = [lsp.Command(title, COMMAND_IDS[name], arguments=arguments) for title, name, arguments in wanted]
    if not session.can("text_document.code_action.code_action_literal_support"):
        return list(commands)
    own = _own(params) or None
    return [
        lsp.CodeAction(command.title, kind=lsp.CodeActionKind.QuickFix, diagnostics=own, command=command)
        for command in commands
    ]


def _compared(session: Session) -> list[tuple[str, str, list[object]]]:
    """What can be done with compared runs."""
    lines = session.comparison.lines if session.comparison else None
    return [
        *([("Compare the runs", "compareRuns", list[object]())] if lines is not None else []),
        ("Clear the compared runs", "clearComparison", []),
    ]


def _for_compiled(folder: str, uri: str, mark: Mark) -> list[tuple[str, str, list[object]]]:
    """What runs failing tests of a compiled program again, which have no code actions of their own."""
    tests = list(mark.suspect.failing_tests)
    about: list[object] = [folder, tests]
    compared: list[list[object]] = [[folder, test] for test in tests[:1]]
    return [
        (WOULD_PASS, "investigate", about),
        (TEST_IT, "testSuspect", [uri, mark.first]),
        (COMPARE_VALUES, "compareValues", about),
        *((COMPARE_RUNS, "comparePassing", one) for one in compared),
    ]


def _runs(uri: str, line: int) -> list[tuple[str, str, list[object]]]:
    """What runs failing tests again."""
    return [
        (DEBUG_HERE, "debugHere", [uri, line]),
        (TEST_IT, "testSuspect", [uri, line]),
    ]


def _slices(uri: str, line: int) -> list[tuple[str, str, list[object]]]:
    """What shows how a line is related to others of the failing run."""
    return [
        (LED_HERE, "whatLedHere", [uri, line]),
        (INFLUENCED, "whatThisInfluenced", [uri, line]),
    ]


def _judged(uri: str, line: int) -> list[tuple[str, str, list[object]]]:
    """What a user may know of a state that a search for causes has found."""
    return [
        ("This value is right: search on", "stateIsRight", [uri, line]),
        ("This value is wrong: search before it", "stateIsWrong", [uri, line]),
    ]


def _own(params: lsp.CodeActionParams) -> list[lsp.Diagnostic]:
    """The diagnostics of Suspectra for which a client asks."""
    return [diagnostic for diagnostic in params.context.diagnostics if diagnostic.source == SOURCE]
