"""What is known of a failing and a passing run, in messages: where they part, and both as text."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from suspectra.base.location import Location
from suspectra.output.paths import in_words
from suspectra.paths.report import STATEMENT, PathReport, ReportedPlace
from suspectra.paths.transition_search import Transition
from suspectra_server.features.diagnostics import SOURCE
from suspectra_server.features.step_messages import StepMessages
from suspectra_server.messages import ComparedRuns, RunTexts, Step
from suspectra_server.positions import whole_line
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.experiments.run_comparison import ComparedLines, RunComparison
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session

CODE = "nearest-path"


async def compared_runs(session: Session) -> ComparedRuns | None:
    """What the last comparison has found; None if there was none, or if the sources changed since."""
    comparison = session.comparison
    if comparison is None or not comparison.is_current:
        return None
    report, steps = comparison.report, StepMessages(session, comparison.folder)
    await _read(steps, comparison)
    if not comparison.is_current:
        return None
    reported = report.report if report else ()
    places = [steps.step(one.location, _value(one), one.instance, text=one.operand) for one in reported]
    chain = [steps.step(*_from_chain(one)) for one in report.transitions] if report else []
    problems = comparison.outcome.problems if comparison.outcome else ()
    return {
        "folder": comparison.folder.uri,
        "test": plain(comparison.test.name, MAX_TEXT),
        "technique": comparison.technique,
        "similar": report is None or report.similar,
        "passing": plain(report.other, MAX_TEXT) if report and report.other is not None else None,
        "found": plain(report.summary, MAX_TEXT) if report else "",
        "report": [place for place in places if place is not None],
        "chain": [step for step in chain if step is not None],
        "after": list(_after(steps, comparison.lines)),
        "notes": [plain(note, MAX_TEXT) for note in report.notes] if report else [],
        "candidates": report.candidates if report else 0,
        "complete": report.complete if report else False,
        "seconds": report.seconds if report else 0.0,
        "problems": [plain(str(problem), MAX_TEXT) for problem in problems],
    }


async def run_texts(session: Session, comparison: RunComparison) -> RunTexts | None:
    """The lines of both runs, one below the other; None where no passing run is known."""
    from suspectra.paths.searches.executed_lines import as_text

    report, lines = comparison.report, comparison.lines
    if report is None or report.other is None or lines is None:
        return None
    steps = StepMessages(session, comparison.folder)
    await _read(steps, comparison)
    first = report.parts or next(iter(report.report), None)
    where = f"{first.location.short} {in_words(first)}" if first is not None else "one of them goes on"
    names = f"{_short(report.test)} ↔ {_short(report.other)}"
    return {
        "heading": plain(f"{names}: {where}", MAX_TEXT),
        "failing": {"title": plain(f"{_short(report.test)} (fails)"), "text": as_text(lines.failing, steps.source)},
        "passing": {"title": plain(f"{_short(report.other)} (passes)"), "text": as_text(lines.passing, steps.source)},
        "line": lines.common,
    }


def diagnostics_of(session: Session, folder: Folder) -> dict[str, list[lsp.Diagnostic]]:
    """The diagnostic at the first decision that came out differently, by file."""
    comparison = session.comparison
    if comparison is None or comparison.folder is not folder or not comparison.is_current:
        return {}
    report, steps = comparison.report, StepMessages(session, folder)
    if report is None or not report.report or not report.similar or report.transitions:
        return {}
    first = report.parts or report.report[0]
    range_ = steps.range_of(first.location)
    if range_ is None:
        return {}
    text = report.summary
    if report.other is not None:
        text = f"{report.other} passes and went the same way up to here. {_outcomes(first)}"
    diagnostic = lsp.Diagnostic(
        range_, plain(text, MAX_TEXT), severity=lsp.DiagnosticSeverity.Information, code=CODE, source=SOURCE
    )
    if session.can("text_document.publish_diagnostics.related_information"):
        diagnostic.related_information = list(_related(steps, comparison, report.other or "")) or None
    return {first.location.file: [diagnostic]}


def _places_of(report: PathReport | None) -> Iterator[Location]:
    if report is not None:
        yield from (one.location for one in report.report)
        if report.parts is not None:
            yield report.parts.location
        yield from (one.location for one in report.transitions)


def _value(place: ReportedPlace) -> str:
    """How an event came out in both runs; nothing of a statement, which has no outcome."""
    return "" if place.kind == STATEMENT else in_words(place)


def _from_chain(one: Transition) -> tuple[Location, str, int, str]:
    """Where a cause is there, what it is, and since when."""
    causes = " and ".join(map(str, one.places))
    return one.location, causes or "the test fails", one.instance, "before" if one.first else "since"


def _outcomes(place: ReportedPlace) -> str:
    """Such as ``In the failing test this is false the 2nd time, there true.``."""
    return f"In the failing test {f'`{place.operand}`' if place.operand else 'this'} is {in_words(place)}."


def _related(
    steps: StepMessages, comparison: RunComparison, passing: str
) -> Iterator[lsp.DiagnosticRelatedInformation]:
    """Both tests, and where each goes on."""
    folder = comparison.folder
    tests = {test.name: test.location for test in comparison.evidence.tests}
    same = f"{passing} passes and went the same way up to here"
    for name, text in ((passing, same), (comparison.test.name, f"{comparison.test.name} fails")):
        location = tests.get(name)
        if location is not None and location.file in folder.snapshot.ranking.inside:
            place = lsp.Location(folder.uri_of(location.file), whole_line(location.line - 1))
            yield lsp.DiagnosticRelatedInformation(place, plain(text, MAX_TEXT))
    names = ("the failing test goes on here", "the passing test goes on here")
    for text, step in zip(names, _after(steps, comparison.lines), strict=False):
        yield lsp.DiagnosticRelatedInformation(lsp.Location(step["uri"], step["range"]), text)


def _after(steps: StepMessages, lines: ComparedLines | None) -> Iterator[Step]:
    """Where the failing run goes on, and where the passing one does; nothing where one of them has ended."""
    if lines is None or lines.common >= min(len(lines.failing), len(lines.passing)):
        return
    ways = [steps.step(run[lines.common].location, "", 1) for run in (lines.failing, lines.passing)]
    if None not in ways:
        yield from (step for step in ways if step is not None)


async def _read(steps: StepMessages, comparison: RunComparison) -> None:
    report, lines = comparison.report, comparison.lines
    places = [*_places_of(report)]
    if lines is not None:
        places += [one.location for one in (*lines.failing, *lines.passing)]
    await steps.read(dict.fromkeys(place.file for place in places))


def _short(test: str) -> str:
    return test.rpartition("::")[2]
