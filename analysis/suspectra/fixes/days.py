"""Dates that are one day later or earlier: what has to be imported for that, and how it is computed."""

from __future__ import annotations

import ast
from typing import NamedTuple

from suspectra.mutation.edit import Edit
from suspectra.mutation.parsed_source import ParsedSource, TextSpan
from suspectra_recorder.experiments.results.evaluator import ONE_DAY

RUN_DAY = "__import__('datetime').timedelta(days=1)"
"""A day, where nothing is imported."""


class Day(NamedTuple):
    """How a file can write a day."""

    text: str  # the expression
    imports: tuple[Edit, ...] = ()  # what has to be added at the top


def day_in(source: ParsedSource) -> Day | None:
    """How a day is written in a file; None for one that has nothing to do with dates."""
    for node in source.tree.body:
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name == "datetime":
                    return Day(f"{one.asname or 'datetime'}.timedelta(days=1)")
        elif isinstance(node, ast.ImportFrom) and node.module == "datetime" and not node.level:
            known = {one.name: one.asname or one.name for one in node.names}
            if "timedelta" in known:
                return Day(f"{known['timedelta']}(days=1)")
            last = node.names[-1]
            end = TextSpan(*[source.span_end(last)] * 2)
            return Day("timedelta(days=1)", (source.edit(end, ", timedelta"),))
    return None


def shifted(text: str, day: Day) -> list[tuple[str, str, str, str]]:
    """The new text, what is run, what is evaluated, and what is said of a value one day later or earlier."""
    return [
        (
            f"{text} {sign} {day.text}",
            f"{text} {sign} {RUN_DAY}",
            f"{text} {sign} {ONE_DAY}",
            f"`{text}` is one day {word}",
        )
        for sign, word in (("+", "later"), ("-", "earlier"))
    ]
