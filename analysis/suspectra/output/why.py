"""The answer to why tests fail: for people, for agents and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import Enum
from typing import TextIO

from suspectra.base.english import many
from suspectra.output.agents.bounded import NOTICE, as_data
from suspectra.output.changed_lines import changed_lines, said_lines
from suspectra.output.terminal import Style, fit, pad, safe, terminal_width, width
from suspectra.program.languages import is_python
from suspectra.why.answer import AnswerFix, AnswerLine, Certainty, Remedy, WhyAnswer


class Reader(Enum):
    """Where an answer is read: what is said of the next step has to be possible there."""

    TERMINAL = 1
    EDITOR = 2
    PROGRAM = 3


MAX_LINES = 15
"""Lines of an answer."""

_MAX_CHANGED = 4  # lines of a change
_MAX_AGENT = 2_000  # characters
_IN_WORDS = {
    Certainty.SHOWN: "This is certain",
    Certainty.HIGH: "This is nearly certain",
    Certainty.MEDIUM: "This is likely",
    Certainty.LOW: "This is only a hint",
}


def write_answer_json(answer: WhyAnswer, out: TextIO) -> None:
    """Write one JSON object."""
    out.write(json.dumps(answer_object(answer), indent=1, allow_nan=False) + "\n")


def answer_object(answer: WhyAnswer) -> dict[str, object]:
    """The answer with its lines, `text`, for other tools."""
    return {**answer.to_json(), "text": answer_lines(answer, Reader.PROGRAM)}


def write_answer(answer: WhyAnswer, out: TextIO) -> None:
    """Write the conclusion first, then what speaks for it, in at most `MAX_LINES` lines."""
    style, columns = Style(out), terminal_width(out)
    first, *others = answer_lines(answer, Reader.TERMINAL)
    out.write(style(fit(first, columns) if len(first) > 2 * columns else first, "bold") + "\n")
    for line in others:
        out.write((fit(line, columns) if line.startswith(" ") else line) + "\n")
    suspect = answer.suspect
    if suspect is not None and is_python(suspect.location.file) and len(others) + 1 < MAX_LINES:
        name = f" {answer.tests[0].rpartition('::')[2]}" if answer.others else ""
        passes = "it passes" if len(answer.tests) == 1 else "they pass"
        what = f"looks for {'other changes' if answer.fix else 'a change'} with which {passes}"
        if answer.fix and answer.fix.number and not answer.others:
            what = f"{what}; with --apply {answer.fix.number} it writes this one"
        out.write(safe(f"`suspectra fix{name}` {what}.") + "\n")


def write_answer_for_agents(answer: WhyAnswer, out: TextIO) -> None:
    """Write the same as text of at most 2,000 characters, in which texts of the project are data."""
    text = "\n".join([NOTICE, *(as_data(line) for line in answer_lines(answer, Reader.TERMINAL))])
    out.write(text[: _MAX_AGENT - 1] + "\n")


def answer_lines(answer: WhyAnswer, reader: Reader) -> list[str]:
    """The lines of an answer, all of them fit to be shown; those that begin with spaces may be cut."""
    end = list(_certainty(answer, reader))
    lines = list(_conclusion(answer))[: MAX_LINES - len(end)]
    chain = list(_chain(answer))
    if len(lines) + len(chain) + len(end) <= MAX_LINES:
        lines += chain
    return [safe(line) for line in (*lines, *end)]


def lines_so_far(answer: WhyAnswer) -> list[str]:
    """The lines of an answer while more is found out: without how sure it is, which may change with each step."""
    return [safe(line) for line in (*_conclusion(answer), answer.failure)]


def _conclusion(answer: WhyAnswer) -> Iterator[str]:
    yield answer.conclusion
    for change in answer.changes[:2]:
        if change.moved_from:
            yield f"    {change.location.file}  moved from {change.moved_from}; to undo this, move it back"
        before, after = (said_lines("\n".join(text)) for text in (change.before, change.after))
        for number, line in enumerate(changed_lines(before, after, _MAX_CHANGED)):
            yield f"    {str(change.location) if not number else ' ' * len(str(change.location))}  {line}"
    if answer.suspect is not None and not (answer.fix and answer.fix.is_at(answer.suspect.location)):
        yield f"    {answer.suspect.code}"
    if answer.fix is not None:
        yield from _fix(answer.fix, answer.suspect)
    yield from answer.reasons[:3]


def _fix(fix: AnswerFix, suspect: AnswerLine | None) -> Iterator[str]:
    """The change, with its line where it is not that of the suspect."""
    there = "" if suspect and fix.is_at(suspect.location) else f" ({fix.location.short})"
    yield f"{fix.said[0].upper()}{fix.said[1:]}{there}:"
    yield from (f"    {line}" for line in fix.lines[:_MAX_CHANGED])
    if len(fix.lines) > _MAX_CHANGED:
        yield f"    … {many(len(fix.lines) - _MAX_CHANGED, 'more line')}"


def _chain(answer: WhyAnswer) -> Iterator[str]:
    if len(answer.chain) < 2:
        return
    test = answer.chain_of.rpartition("::")[2]
    yield f"How it leads to the failure of {test}:" if answer.leads_to_failure else f"How it comes about in {test}:"
    widest = max(width(line.location.short) for line in answer.chain)
    for line in answer.chain:
        yield f"    {pad(line.location.short, widest)}  {_with_value(line)}"


def _with_value(line: AnswerLine) -> str:
    return line.code + (f"  → {line.value}" if line.value else "")


def _certainty(answer: WhyAnswer, reader: Reader) -> Iterator[str]:
    surer = f" {_for(reader, answer.surer)}" if answer.surer else ""
    yield f"{_IN_WORDS[answer.certainty]}: {answer.because}.{surer}"
    yield answer.failure
    if answer.others:
        verb = "fails" if answer.others == 1 else "fail"
        name = answer.another.rpartition("::")[2]
        more = "" if answer.others == 1 else " and more"
        how = f"`suspectra why {name}`" if reader is Reader.TERMINAL else f"{name}{more}"
        yield f"{many(answer.others, 'other test')} {verb}, too: {how}"


def _for(reader: Reader, remedy: Remedy) -> str:
    return {
        Reader.TERMINAL: remedy.in_terminal,
        Reader.EDITOR: remedy.in_editor,
        Reader.PROGRAM: remedy.for_programs,
    }[reader]
