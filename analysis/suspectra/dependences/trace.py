"""What the run of one failing test depended on: its nodes, with places, values and dependences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from suspectra.base.arrays import Bools, Ints
from suspectra.dependences.graph import DependenceGraph
from suspectra.program.python.decision_texts import OwnText


class TraceSite(NamedTuple):
    """A place of the program that has nodes."""

    file: str  # relative to the workspace
    # from 1, both included
    line: int
    end_line: int
    column: int  # in bytes, from 0
    # `decision`; `end`: that a `for` has no further round; `value`: what is assigned, returned, yielded or passed;
    # `argument`: what is passed, without a number; `parameter`: what no traced argument was found for; `nothing`: that
    # a function ended without returning a value, though it can return one; `entry`: the beginning of a call; `target`:
    # what a loop, a pattern or `with` binds; `native`: a call of code that is not traced; `assert`; `handler`; `raise`:
    # where an exception comes from; `statement`: anything else
    kind: str
    number: int  # which decision or assigned value of its file it is, as altered runs number them; -1 for none
    # of a decision that is only a part of a line, or goes over several: where it begins, and its text
    own: OwnText | None = None

    @property
    def place(self) -> tuple[str, int, int, str]:
        """What names it: file, line, and of a decision that its line does not name the column and the text."""
        return self.file, *(self.own or (self.line, 0, ""))


@dataclass(frozen=True, eq=False)
class DependenceTrace:
    """The run of one failing test."""

    test: str  # its name
    sites: tuple[TraceSite, ...]  # the places that `graph` names
    graph: DependenceGraph  # instances of the places, and what each of them depends on
    call: Ints  # the number of the call that each node belongs to; shape (nodes,)
    outcome: Ints  # how each decision came out: 0 false, 1 true; -1 for a node that is no decision; shape (nodes,)
    value: Sequence[str]  # short literals; the name of the type where a value has none; empty for nodes without value
    failure: int  # the node at which the test fails; -1 if it passes
    is_test: Bools  # whether each node is in test code, which counts as right; shape (nodes,)
    left_out: tuple[str, ...]  # what is missing, in sentences

    def without_values(self) -> DependenceTrace:
        """The same run, where values of the program must not be shown."""
        return replace(self, value=("",) * len(self.value))
