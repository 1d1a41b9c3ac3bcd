"""Why tests failed, where they failed, and what they expected, in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types as lsp

from suspectra.base.english import many
from suspectra.evidence.compared_values import ComparedValues
from suspectra.evidence.failures import failed_in
from suspectra.report import Suspect
from suspectra_recorder.log.stack import Stack
from suspectra_server.features.suspect_texts import (
    named,
    rank_words,
    sentences_about,
    sentences_beyond,
)
from suspectra_server.positions import position, range_of
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.client import Client
from suspectra_server.session.folder import Folder
from suspectra_server.state.documents import Units
from suspectra_server.state.marks import FailureMark
from suspectra_server.state.ranking import Ranking
from suspectra_server.state.snapshot import Snapshot

SOURCE = "suspectra"
CODE = "failing-test"
MAX_RELATED = 1
SENTENCES = 3  # of an explanation, in a hover


def short_name(test: str) -> str:
    """The name of a test without its file and class."""
    name, bracket, parameters = test.partition("[")
    return plain(name.rpartition("::")[2] + bracket + parameters)


def names_of(tests: Sequence[str]) -> str:
    """The first of some tests, and how many more there are."""
    more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
    return short_name(tests[0]) + more


def what_failed(stack: Stack) -> str:
    """What a test expected and what it got, or else by what it failed."""
    compared = ComparedValues.from_stack(stack)
    return plain(str(compared) if compared else stack.what or "it failed", MAX_TEXT)


def what_failed_in(ranking: Ranking, test: str) -> str:
    """The same of a failing test, as far as it is known."""
    if stack := ranking.evidence.stacks.get(test) if ranking.evidence else None:
        return what_failed(stack)
    result = ranking.failing.get(test)
    return plain(result.message, MAX_TEXT) if result else ""


def failure_of(ranking: Ranking, test: str) -> str:
    """The same after the name of the exception."""
    what = what_failed_in(ranking, test)
    stack = ranking.evidence.stacks.get(test) if ranking.evidence else None
    exception = plain(stack.exception) if stack else ""
    return what if not exception or what.startswith(exception) else f"{exception}: {what}"


def tests_executing(ranking: Ranking, suspect: Suspect) -> list[str]:
    """The failing tests that execute a suspect, in the order in which a group has them: the same ones come first."""
    executing = set(suspect.failing_tests)
    return [test for test in ranking.failing if test in executing] or list(suspect.failing_tests)


def first_failing(ranking: Ranking, suspect: Suspect) -> str | None:
    """The failing test to show for a suspect: one that failed in it, or else the first that executes it."""
    tests = tests_executing(ranking, suspect)
    here = failed_in(ranking.evidence, ranking.ranked.spectrum, suspect.element) if ranking.evidence else ()
    return next((test for test in tests if test in here), next(iter(here or tests), None))


def summary(snapshot: Snapshot, suspect: Suspect, *, below_diagnostic: bool = False) -> list[str]:
    """What is to be known of a suspect, in three lines: why, because of which test, and how high it is ranked.

    Below its diagnostic without what that says.
    """
    ranking = snapshot.ranking
    why = sentences_beyond(ranking, suspect) if below_diagnostic else sentences_about(ranking, suspect)
    rank = "" if below_diagnostic else f"{named(ranking, suspect)}."
    group = f"{ranking.group.heading}." if ranking.group else ""
    step = plain(snapshot.next_steps.get(suspect.element, ""), MAX_TEXT)
    lines = [
        " ".join(why[:SENTENCES]),
        _failing(ranking, suspect),
        " ".join(part for part in (rank, step, group) if part),
    ]
    return [line for line in lines if line]


def _failing(ranking: Ranking, suspect: Suspect) -> str:
    """The failing tests, by what the first of them failed, and whether that was raised here."""
    first = first_failing(ranking, suspect)
    if first is None:
        return ""
    what = what_failed_in(ranking, first)
    here = " (raised here)" if ranking.failed_in(suspect) else ""
    names = names_of([first, *(name for name in tests_executing(ranking, suspect) if name != first)])
    return f"✗ {names}: {what}{here}" if what else f"✗ {names}{here}"


def failure_diagnostics(folder: Folder, client: Client) -> dict[str, list[lsp.Diagnostic]]:
    """One error for each line in which tests failed, which leads to the first suspects."""
    relates = bool(client.can("text_document.publish_diagnostics.related_information"))
    met: dict[tuple[str, int], list[FailureMark]] = {}
    for mark in folder.snapshot.failures:
        met.setdefault((mark.file, mark.line), []).append(mark)
    wanted: dict[str, list[lsp.Diagnostic]] = {}
    for (file, _), marks in met.items():
        if (where := range_of_failure(folder, marks[0], client.units)) is not None:
            who = short_name(marks[0].test) if len(marks) == 1 else f"{many(len(marks), 'test')} failed here, first"
            who += f" {short_name(marks[0].test)}" if len(marks) > 1 else ""
            text = f"{who}: {what_failed(marks[0].stack)}"
            diagnostic = lsp.Diagnostic(where, text, severity=lsp.DiagnosticSeverity.Error, code=CODE, source=SOURCE)
            if relates:
                diagnostic.related_information = _first_suspects(folder, marks[0].test, client.units)
            wanted.setdefault(file, []).append(diagnostic)
    return wanted


def _first_suspects(folder: Folder, test: str, units: Units) -> list[lsp.DiagnosticRelatedInformation] | None:
    """The first suspects that a failing test executes."""
    snapshot = folder.snapshot
    related = [
        lsp.DiagnosticRelatedInformation(
            lsp.Location(folder.uri_of(mark.file), range_of(mark, snapshot.placements[mark.file].now, units)),
            plain(f"suspect {rank_words(mark.suspect)}: {mark.suspect.function or mark.file}"),
        )
        for mark in snapshot.first
        if test in mark.suspect.failing_tests
    ]
    return related[:MAX_RELATED] or None


def range_of_failure(folder: Folder, mark: FailureMark, units: Units) -> lsp.Range | None:
    """The line as it is now; None if the text is gone meanwhile."""
    lines = folder.texts.now(mark.file)
    if lines is None or mark.line >= len(lines):
        return None
    return lsp.Range(*(position(mark.line, column, lines, units) for column in (mark.start, mark.end)))
