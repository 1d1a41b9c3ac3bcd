"""Why not a line, and what would tell the lines of a tie apart: for people, and as JSON."""

from __future__ import annotations

import json
import textwrap
from typing import TextIO

from suspectra.distinctions.comparison import SuspectComparison
from suspectra.distinctions.steps import in_bits
from suspectra.distinctions.tie import TieAdvice
from suspectra.evidence.sources import Sources
from suspectra.output.terminal import Style, fit, safe, terminal_width
from suspectra.spectrum import Spectrum

_MEMBERS = 12  # of a tie, that are listed


def write_comparison(comparison: SuspectComparison, advice: TieAdvice | None, out: TextIO, sources: Sources) -> None:
    """Say why a line is not the first suspect."""
    spectrum, style = comparison.report.spectrum, Style(out)
    location = spectrum.elements.location(comparison.element)
    function = spectrum.elements.function_name(comparison.element)
    out.write(f"{style(safe(f'{location} in {function}' if function else str(location)), 'bold')}\n")
    out.write(f"    {safe(fit(sources.line(location.file, location.line).strip(), terminal_width(out) - 4))}\n\n")
    for sentence in comparison.sentences:
        _write_sentence(sentence, out)
    if advice is not None:
        out.write(f"\n{style(_tied(advice), 'bold')}\n")
        _write_steps(advice, out)


def write_tie(advice: TieAdvice, out: TextIO, sources: Sources) -> None:
    """List the lines of a tie, and say what would tell them apart."""
    spectrum, style = advice.tie.report.spectrum, Style(out)
    out.write(f"{style(_tied(advice), 'bold')}\n")
    members = advice.tie.members.tolist()
    places = [spectrum.elements.location(member) for member in members[:_MEMBERS]]
    width = max(len(safe(str(location))) for location in places)
    for location in places:
        source = fit(safe(sources.line(location.file, location.line).strip()), max(terminal_width(out) - width - 6, 8))
        out.write(f"    {safe(str(location)):{width}}  {source}\n")
    if len(members) > _MEMBERS:
        out.write(f"    and {len(members) - _MEMBERS:,} more\n")
    out.write("\n")
    _write_steps(advice, out)


def write_comparison_json(comparison: SuspectComparison, advice: TieAdvice | None, out: TextIO) -> None:
    """Write a comparison as one JSON object."""
    spectrum, report = comparison.report.spectrum, comparison.report
    own = report.suspect_of(comparison.element)
    turn = comparison.turn
    found = {
        **_location(spectrum, comparison.element),
        "standing": comparison.standing.value,
        "rank_best": own.rank_best,
        "rank_worst": own.rank_worst,
        "compared_with": _location(spectrum, comparison.rival) if comparison.rival >= 0 else None,
        "reason": comparison.reason,
        "sentences": comparison.sentences,
        "passing": comparison.passing,
        "apart": comparison.apart,
        "passing_witnesses": [
            {"test": spectrum.tests[pair.passing], "like": spectrum.tests[pair.failing], "similarity": pair.similarity}
            for pair in comparison.passing_witnesses
        ],
        "failing_apart": comparison.failing_apart,
        "failing_witnesses": [spectrum.tests[test] for test in comparison.failing_witnesses],
        "turn": None if turn is None else {**_location(spectrum, turn[0]), "not_to": turn[1]},
        "tie": None if advice is None else tie_as_dict(advice),
    }
    out.write(json.dumps(found, indent=1, allow_nan=False) + "\n")


def write_tie_json(advice: TieAdvice, out: TextIO) -> None:
    """Write a tie, and what would tell its lines apart, as one JSON object."""
    out.write(json.dumps(tie_as_dict(advice), indent=1, allow_nan=False) + "\n")


def tie_as_dict(advice: TieAdvice) -> dict[str, object]:
    """A tie, and what would tell its lines apart, as in JSON."""
    tie, spectrum = advice.tie, advice.tie.report.spectrum
    return {
        "members": [_location(spectrum, member) for member in tie.members.tolist()],
        "rank_best": tie.rank_best,
        "rank_worst": tie.rank_worst,
        "bits": tie.bits,
        "agreeing": advice.agreeing,
        "partial": [spectrum.tests[test] for test in advice.partial],
        "steps": [
            {
                "kind": step.kind,
                "sentence": step.sentence(spectrum),
                "gain": step.gain,
                "members": step.members,
            }
            for step in advice.steps
        ],
    }


def heading(advice: TieAdvice) -> str:
    """The tie in one line."""
    tie = advice.tie
    if len(tie.members) == 1:
        return f"{tie.report.spectrum.elements.location(int(tie.members[0]))} has its score alone."
    return f"{len(tie.members):,} statements at ranks {tie.rank_best} to {tie.rank_worst} have the same score."


def sentences(advice: TieAdvice) -> list[str]:
    """The sentences about a tie, most important first."""
    tie, spectrum = advice.tie, advice.tie.report.spectrum
    found = []
    if len(tie.members) > 1 and advice.agreeing:
        found.append("Every test executes all of them or none.")
    elif len(tie.members) > 1:
        names = " and ".join(spectrum.tests[test] for test in advice.partial)
        found.append(f"Tests tell some of them apart, though their scores are equal: compare {names}.")
    for step in advice.steps:
        gain = in_bits(step, tie.bits)
        found.append(step.sentence(spectrum) + (f" That gains {gain}." if gain else ""))
    if not advice.steps:
        what = "them" if len(tie.members) > 1 else "it"
        found.append(f"No test passes that executes {'any of ' if what == 'them' else ''}{what}: add one that is near.")
    return found


def _tied(advice: TieAdvice) -> str:
    return safe(heading(advice))


def _write_steps(advice: TieAdvice, out: TextIO) -> None:
    for sentence in sentences(advice):
        _write_sentence(sentence, out)


def _write_sentence(sentence: str, out: TextIO) -> None:
    lines = textwrap.wrap(
        safe(sentence),
        terminal_width(out) - 2,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    out.write("\n".join(lines) + "\n")


def _location(spectrum: Spectrum, element: int) -> dict[str, object]:
    location = spectrum.elements.location(element)
    return {
        "file": location.file,
        "line": location.line,
        "end_line": location.end_line,
        "function": spectrum.elements.function_name(element),
    }
