"""Candidates that give the same: what is computed in the live frames of the failing test tells which need no run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from suspectra.fixes.candidate import Candidate
from suspectra.fixes.judge import JudgingTest
from suspectra.mutation.excerpt import CodeName

_EQUAL_SO_FAR, LIKE_ANOTHER = 0.8, 0.5
"""What it costs to have given the same as the program, or as another candidate, as far as that is known."""

_OTHER_TYPE = 0.7
"""What it costs to give a value of another type than the program does, or none: that is nearly always wrong."""

_ALWAYS_FALSE = "False"


@dataclass(eq=False)
class Alike:
    """Candidates that give the same in a failing test, so that one run tells for all."""

    members: list[Candidate]
    passes: bool | None = None  # whether the test passes with them; None while nobody knows
    goes_on: bool = False  # whether the test fails in another way than before, so where they may give different values

    def others(self) -> list[Candidate]:
        """Those that the run of the first one tells nothing about, which are taken out."""
        self.goes_on = True
        self.members, left = self.members[:1], self.members[1:]
        return left


@dataclass
class Sorted:
    """What is known of some candidates before they are run."""

    new: list[Alike] = field(default_factory=list)  # one of each has to be run
    passing: list[Candidate] = field(default_factory=list)  # the test passes with those: it did with one like them
    later: list[tuple[float, Alike]] = field(default_factory=list)  # what is less likely, and how much it waits
    pruned: int = 0  # need no run


class EqualResults:
    """Sorts the candidates of a function into classes, each of which needs one run with the failing test."""

    def __init__(self, judge: JudgingTest, file: str, functions: Sequence[CodeName]):
        self._judge, self._file = judge, file
        self._functions = [(one.name, one.line) for one in functions]
        self._classes: dict[object, Alike] = {}

    def sort(self, made: Sequence[Candidate], most_seconds: float) -> Sorted:
        """Compute what these give where they would stand."""
        found = Sorted()
        texts: dict[int, dict[str, int]] = defaultdict(dict)
        for one in made:
            for text in (one.old, one.new) if one.new else ():
                own = texts[one.line]
                own.setdefault(text, len(own))
        known = self._results([(line, list(own)) for line, own in texts.items()], most_seconds)
        for one in made:
            visits, whole, values, truths, types = known.get(one.line, (0, False, [], [], []))
            if not one.new or not visits:
                found.new.append(Alike([one]))
                continue
            results = truths if one.is_condition else values
            numbers = [texts[one.line][text] for text in (one.old, one.new)]
            old, new = (results[number] for number in numbers)
            if not new:
                found.new.append(Alike([one]))
            elif old == new:
                if whole:
                    found.pruned += 1
                else:
                    # of a run that comes to a place very often only the beginning is known
                    found.later.append((_EQUAL_SO_FAR, Alike([one])))
            else:
                # what the program gives is not known where it calls a function of its own
                is_other = not one.is_condition and bool(old) and types[numbers[0]] != types[numbers[1]]
                self._take(found, one, new, whole=whole, waits=_OTHER_TYPE if is_other else 0.0)
        return found

    def is_other(self, one: Candidate, most_seconds: float) -> bool:
        """Whether a candidate is known to give something else than the program."""
        known = self._results([(one.line, [one.old, one.new])], most_seconds).get(one.line)
        if known is None:
            return False
        old, new = known[3] if one.is_condition else known[2]
        return bool(new) and old != new

    def _take(self, found: Sorted, one: Candidate, result: str, *, whole: bool, waits: float) -> None:
        edit = one.edit
        action = one.kind if one.old == _ALWAYS_FALSE else ""
        key = edit.line, edit.column, edit.end_line, edit.end_column, action, one.is_condition, result
        known = self._classes.get(key)
        if known is None:
            known = self._classes[key] = Alike([one])
            if waits:
                found.later.append((waits, known))
            else:
                found.new.append(known)
        elif not whole or known.goes_on:
            found.later.append((LIKE_ANOTHER, Alike([one])))
        else:
            found.pruned += 1
            if known.passes:
                found.passing.append(one)
            elif known.passes is None:
                known.members.append(one)

    def _results(
        self, expressions: Sequence[tuple[int, list[str]]], most_seconds: float
    ) -> dict[int, tuple[int, bool, list[str], list[str], list[str]]]:
        if not expressions:
            return {}
        answer = self._judge.results(self._file, self._functions, expressions, most_seconds)
        return {
            line: (visits, whole, values, truths, types)
            for line, visits, whole, values, truths, types in (answer.get("results", ()) if answer is not None else ())
        }
