"""Observations: what predicates hold for the values of a test that is run again unaltered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

VALUE_PREDICATES = "value-predicates"
"""The technique that needs observations."""

KINDS = ("pair", "sign", "truth", "length", "type", "last", "definition")
"""The kinds of sites: two values, the sign of a number, a truth, a length, a type, a value beside the one before, and
which statement bound a variable."""

_OUTCOMES = {
    frozenset("<"): "<",
    frozenset("="): "=",
    frozenset(">"): ">",
    frozenset("≠"): "≠",
    frozenset("<="): "≤",
    frozenset("=>"): "≥",
    frozenset("<>"): "≠",
}


class PredicateSite(NamedTuple):
    """What is asked about a value at a place; each time, one of its outcomes is true."""

    file: str  # relative to the workspace, with forward slashes
    # the lines of the place, from 1, both included
    line: int
    end_line: int
    kind: str
    left: str  # what has the value, such as `last` or `len(items)`
    right: str  # what it is compared with; empty unless the kind is `pair`

    def in_words(self, outcomes: frozenset[str]) -> str:
        """The predicate that is true where one of some outcomes is.

        As Python would write it where it can be said so.
        """
        left, first = self.left, min(outcomes, default="")
        if self.kind == "type":
            return f"{left} is None" if first == "NoneType" else f"type({left}) is {first}"
        if self.kind == "truth":
            return f"{left} is {first.capitalize()}"
        if self.kind == "length":
            return f"len({left}) {'> 1' if first == 'more' else f'== {first}'}"
        if self.kind == "definition":
            return f"{left} is that of the caller" if first == "0" else f"{left} comes from line {first}"
        relation = {"=": "==", "≤": "<=", "≥": ">=", "≠": "!="}.get(known := _OUTCOMES.get(outcomes, "?"), known)
        right = {"sign": "0", "last": f"the {left} before"}.get(self.kind, self.right)
        return f"{left} {relation} {right}"


@dataclass(frozen=True)
class Observation:
    """A test that was run again with its values observed."""

    test: str  # its name, as the evidence has it
    failed: bool  # whether it failed
    sites: Mapping[PredicateSite, Mapping[str, int]]  # how often each site had which outcome
