"""The explanation of one line's rank."""

from __future__ import annotations

from typing import TextIO

from suspectra.base.errors import Problem, UsageError
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.failures import failure_sentence
from suspectra.evidence.sources import Sources
from suspectra.output.terminal import Style, safe
from suspectra.report import RankedReport

_MAX_TESTS = 10


def write_explanation(
    report: RankedReport,
    evidence: Evidence,
    file: str,
    line: int,
    out: TextIO,
    sources: Sources,
    *,
    verbose: bool = False,
) -> None:
    """Explain the statement on a line; only if it is to be `verbose` with the score, and how that is computed.

    Raises UsageError when there is no ranked statement on the line.
    """
    element = element_at(report, file, line)
    suspect = report.suspect_of(element)
    explanation = report.explain(int(report.position[element]))
    style = Style(out)
    where = f"{suspect.location}" + (f" in {suspect.function}" if suspect.function else "")
    out.write(f"{style(safe(where), 'bold')}\n")
    source = safe(sources.line(file, suspect.location.line).strip())
    out.write(f"    {source}\n\n" if source else "\n")  # it may be gone
    out.write(f"{safe(explanation.headline if verbose else f'{explanation.rank}.')}\n")
    for sentence in explanation.sentences:
        out.write(f"{safe(sentence)}\n")
    if failed := failure_sentence(evidence, report.spectrum, element):
        out.write(f"{safe(failed)}\n")
    if suspect.failing_tests:
        out.write(f"\nFailing tests that {suspect.involvement}:\n")
        shown = len(suspect.failing_tests) if verbose else _MAX_TESTS
        for name in suspect.failing_tests[:shown]:
            out.write(f"    {safe(name)}\n")
            if (stack := evidence.stacks.get(name)) is not None:
                out.write(f"        {safe(str(stack))}\n")
        if len(suspect.failing_tests) > shown:
            out.write(f"    and {len(suspect.failing_tests) - shown:,} more\n")
    if verbose and explanation.formula:
        out.write(f"\nHow the score is computed:\n    {explanation.formula}\n")
        if explanation.substituted:
            out.write(f"    {explanation.substituted}\n")


def element_at(report: RankedReport, file: str, line: int) -> int:
    """The ranked statement on a line.

    Raises UsageError when there is no statement that was ranked.
    """
    element = report.spectrum.elements.at(file, line)
    if element is None:
        raise UsageError(_no_statement(report, file, line))
    if not report.spectrum.candidates[element]:
        cause, cure = "it is test code, which is not suspected", "add --include-tests to rank it too"
        raise UsageError(Problem(file, f"line {line}", cause, cure))
    return element


def _no_statement(report: RankedReport, file: str, line: int) -> Problem:
    elements = report.spectrum.elements
    lines = elements.line[elements.in_file(file)]
    if not len(lines):
        return Problem(file, "", "it was not measured", "name a file of the ranking, as `suspectra rank` prints it")
    near = int(min(lines.tolist(), key=lambda one: abs(one - line)))  # `line` may be too large for an array
    return Problem(file, f"line {line}", "there is no statement on it", f"name line {near}, the nearest one")
