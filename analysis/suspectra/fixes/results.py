"""Candidates that give the same: what is computed in the live frames of the failing test tells which need no run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from suspectra.fixes.candidate import Candidate
from suspectra.fixes.judge import JudgingTest
from suspectra.mutation.excerpt import CodeName

_MAX_EXPRESSIONS = 20_000
_EQUAL_SO_FAR, _LIKE_ANOTHER = 0.8, 0.5
"""What it costs to have given the same as the program, or as another candidate, as far as that is known."""

_ALWAYS_FALSE = "False"


class EqualResults:
    """Sorts the candidates of a function into classes, each of which needs one run with the failing test."""

    def __init__(
        self,
        judge: JudgingTest,
        file: str,
        functions: Sequence[CodeName],
        made: Sequence[Candidate],
        most_seconds: float,
    ):
        self.pruned = 0  # candidates that need no run
        self.classes: list[list[Candidate]] = []
        # how much longer candidates wait: of a run that comes to a place very often only the beginning is known
        self.waits: dict[Candidate, float] = {}
        texts: dict[int, dict[str, int]] = defaultdict(dict)
        for one in made[:_MAX_EXPRESSIONS]:
            for text in (one.old, one.new):
                if one.new:
                    own = texts[one.line]
                    own.setdefault(text, len(own))
        expressions = [(line, list(own)) for line, own in texts.items()]
        answer = judge.results(file, [(one.name, one.line) for one in functions], expressions, most_seconds)
        known = {
            line: (visits, whole, values, truths)
            for line, visits, whole, values, truths in (answer.get("results", ()) if answer is not None else ())
        }
        by_class: dict[object, list[Candidate]] = {}
        for one in made:
            visits, whole, values, truths = known.get(one.line, (0, False, [], []))
            if not one.new or not visits or not {one.old, one.new} <= texts[one.line].keys():
                self.classes.append([one])
                continue
            numbers = truths if one.is_condition else values
            old, new = (numbers[texts[one.line][text]] for text in (one.old, one.new))
            if new < 0:
                self.classes.append([one])
            elif old == new and whole:
                self.pruned += 1
            elif old == new:
                self.classes.append([one])
                self.waits[one] = _EQUAL_SO_FAR
            else:
                edit = one.edit
                action = one.kind if one.old == _ALWAYS_FALSE else ""
                key = edit.line, edit.column, edit.end_line, edit.end_column, action, one.is_condition, new
                if key in by_class and not whole:
                    self.classes.append([one])
                    self.waits[one] = _LIKE_ANOTHER
                elif key in by_class:
                    by_class[key].append(one)
                    self.pruned += 1
                else:
                    by_class[key] = [one]
                    self.classes.append(by_class[key])
